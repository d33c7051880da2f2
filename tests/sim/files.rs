//! The bus: files that agents and the human write, and when tx notices them.

use std::collections::BTreeMap;

use tx::engine::{Arrived, Event, Rejected, SystemMessage};
use tx::journal::PrunedMessages;
use tx::model::{Address, Envelope, Line, MsgId, Rearmatter};

use crate::coverage::CIRCLE;
use crate::settings::Fault;
use crate::world::{Thing, World};

/// The files on the bus.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// What each file says now.
    now: BTreeMap<String, Written>,
    /// Taken in, and not yet durable.
    taken: Vec<String>,
    /// What each path was noticed with, the last time, and how often that was new.
    noticed: BTreeMap<String, (String, u32)>,
    /// The last turn that the author of each file had begun to be given.
    turns: BTreeMap<String, u32>,
    count: usize,
}

/// What a file says.
#[derive(Clone, Debug)]
pub(crate) enum Written {
    Good {
        envelope: Box<Envelope>,
        text: String,
    },
    Bad {
        author: Option<Address>,
        text: String,
    },
}

impl Files {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn committed(&mut self) {
        self.taken.clear();
    }

    pub(crate) fn uncommitted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.taken)
    }

    /// What each path was noticed with last.
    pub(crate) fn noticed(&self) -> impl Iterator<Item = (&str, &str)> {
        let noticed = self.noticed.iter();
        noticed.map(|(path, (hash, _))| (path.as_str(), hash.as_str()))
    }

    /// The files of what is put away leave the bus.
    pub(crate) fn put_away(&mut self, put: &PrunedMessages) {
        self.now.retain(|path, written| {
            let own = match written {
                Written::Good { envelope, .. } => {
                    let key = (envelope.from.clone(), envelope.id.clone());
                    put.own.contains(&key)
                }
                Written::Bad { .. } => false,
            };
            !own && !put.paths.contains(path)
        });
    }

    /// What was noticed and lies on the bus as it was.
    pub(crate) fn on_the_bus(&self) -> impl Iterator<Item = (&str, &str)> {
        let same = |path: &str, hash: &str| match self.now.get(path) {
            Some(Written::Good { text, .. } | Written::Bad { text, .. }) => hash_of(text) == hash,
            None => false,
        };
        self.noticed().filter(move |(path, hash)| same(path, hash))
    }

    /// The files of a sender, oldest first.
    pub(crate) fn of(&self, from: &Address) -> Vec<(&String, &Written)> {
        let own = |written: &Written| match written {
            Written::Good { envelope, .. } => envelope.from == *from,
            Written::Bad { author, .. } => author.as_ref() == Some(from),
        };
        self.now.iter().filter(|(_, w)| own(w)).collect()
    }
}

/// An envelope that says as little as possible.
pub(crate) fn envelope(from: &Address, id: &str, at: i64) -> Envelope {
    let at = chrono::DateTime::from_timestamp_millis(at).unwrap();
    let headline = Line::from("made up".to_owned());
    Envelope::new(
        from.clone(),
        id.parse().unwrap(),
        headline,
        at.fixed_offset(),
    )
}

impl World {
    /// A new id.
    pub(crate) fn new_id(&mut self) -> MsgId {
        format!("id-{}", self.files.count).parse().unwrap()
    }

    /// A new file, noticed soon.
    pub(crate) fn write(&mut self, envelope: Envelope, text: String) -> String {
        let envelope = Box::new(envelope);
        self.put(None, Written::Good { envelope, text })
    }

    /// A file, at a path that is there or at a new one.
    pub(crate) fn put(&mut self, path: Option<String>, written: Written) -> String {
        let delay = match self.fault(Fault::LateFile, 5) {
            true => self.rng.within(1_000, 90_000),
            false => self.rng.within(0, 50),
        };
        self.put_later(delay, path, written)
    }

    /// The same, noticed so much later.
    pub(crate) fn put_later(
        &mut self,
        delay: i64,
        path: Option<String>,
        written: Written,
    ) -> String {
        self.files.count += 1;
        let path = path.unwrap_or_else(|| format!("{:06}.md", self.files.count));
        let turn = match &written {
            Written::Good { envelope, .. } => self.begun.get(&envelope.from),
            Written::Bad { .. } => None,
        };
        match turn {
            Some(turn) => self.files.turns.insert(path.clone(), *turn),
            None => self.files.turns.remove(&path),
        };
        self.files.now.insert(path.clone(), written);
        self.after(delay, Thing::File(path.clone()));
        path
    }

    /// The consumer reads a file, as it is now.
    pub(crate) fn notice(&mut self, path: &str) {
        let Some(written) = self.files.now.get(path).cloned() else {
            return;
        };
        self.files.taken.push(path.to_owned());
        let path = path.to_owned();
        let own = match &written {
            Written::Good { envelope, .. } => envelope.id.as_str().starts_with("tx-"),
            Written::Bad { .. } => false,
        };
        let (hash, event) = match written {
            Written::Good { envelope, text } => {
                let hash = hash_of(&text);
                self.record.file(&path, &hash, &envelope);
                let arrived = Arrived {
                    parts: Vec::new(),
                    path: path.clone(),
                    hash: hash.clone(),
                    text,
                    envelope: *envelope,
                    body: 0..0,
                    rearmatter: claim(&hash),
                    warnings: Vec::new(),
                    turn: self.files.turns.get(&path).copied(),
                    known: Vec::new(),
                };
                (hash, Event::Arrived(Box::new(arrived)))
            }
            Written::Bad { author, text } => {
                let hash = hash_of(&text);
                let rejected = Rejected {
                    path: path.clone(),
                    hash: hash.clone(),
                    author,
                    report: "it is bad".into(),
                    known: Vec::new(),
                    unsigned: None,
                };
                (hash, Event::Rejected(Box::new(rejected)))
            }
        };
        // What tx wrote itself is known by its id.
        if !own {
            let entry = self.files.noticed.entry(path.clone()).or_default();
            if entry.0 != hash {
                *entry = (hash, entry.1 + 1);
            }
        }
        if self.fault(Fault::Twice, 5) {
            let delay = self.rng.within(0, 20_000);
            self.after(delay, Thing::File(path));
        }
        self.take(event);
    }

    pub(crate) fn write_system_message(&mut self, system_message: SystemMessage) {
        if self.fault(Fault::OwnFile, 10) {
            let mut envelope =
                crate::files::envelope(&system_message.from, system_message.id.as_str(), self.now);
            envelope.to = system_message
                .to
                .clone()
                .map(tx::model::Recipient::Full)
                .into_iter()
                .collect();
            envelope.kind = Some(system_message.kind);
            let text = format!("letter {}", system_message.id);
            self.write(envelope, text);
        }
        let circle = system_message.headline == "a circle of asks was broken";
        if circle && system_message.body.matches('/').count() > 2 {
            self.seen.met(CIRCLE);
        }
        self.system_messages.insert(system_message.id.clone());
        self.record.system_message(system_message);
    }
}

fn hash_of(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// What a file says of its quality: one in three says too little, whenever it is read. An
/// evaluator gives its verdict with it, and one in five has none.
fn claim(hash: &str) -> Rearmatter {
    let sum = hash.bytes().map(u32::from).sum::<u32>();
    let confidence = if sum.is_multiple_of(3) { 0.2 } else { 0.9 };
    let mut said = serde_json::json!({"confidence": confidence});
    if !sum.is_multiple_of(5) {
        let verdict = if sum.is_multiple_of(4) {
            "fail"
        } else {
            "pass"
        };
        said["verdict"] = verdict.into();
        said["criteria"] = "it works".into();
    }
    serde_json::from_value(said).unwrap()
}
