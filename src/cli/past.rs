//! What the journal tells: the state now or then, and what is known of every message.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Utc};

use super::exit::{Exit, Failure};
use super::output::many;
use crate::engine::{
    Command, Effect, Event, Exit as Ended, Facts, Number, Sent, State, Step, Timer, Verdict,
};
use crate::journal::{Error, Ledger, Reader, Record, StoredMessage};
use crate::model::{Diagnostic, MsgId, Rearmatter, nearest};
use crate::project::Project;

/// The past of a project, up to some point.
pub(super) struct Past {
    pub(super) reader: Reader,
    pub(super) state: State,
}

impl Past {
    /// All of it; `None` if nothing has happened yet.
    pub(super) fn open(project: &Project) -> Result<Option<Past>, Failure> {
        let reader = match Reader::open(&project.journal()) {
            Ok(reader) => reader,
            Err(Error::Missing(_)) => return Ok(None),
            Err(error) => return Err(Failure::new(error.to_string())),
        };
        let state = Ledger::fold_to(&reader, reader.last()?)?;
        Ok(Some(Past { reader, state }))
    }

    /// All of it, where it is known up to some point.
    pub(super) fn of(project: &Project, known: Option<Past>) -> Result<Option<Past>, Failure> {
        let Some(mut past) = known else {
            return Past::open(project);
        };
        let last = past.reader.last()?;
        Ledger::fold_on(&past.reader, &mut past.state, last, |_, _, _, _| {})?;
        Ok(Some(past))
    }

    /// What is known of a message, unfinished or not.
    pub(super) fn message(&self, number: Number) -> Result<Option<Facts>, Failure> {
        match self.state.message(number) {
            Some(held) => Ok(Some(held.facts.clone())),
            None => Ok(self.reader.message(number)?),
        }
    }

    /// The messages of an id or a number, the newest first.
    pub(super) fn named(&self, name: &str) -> Result<Vec<Facts>, Failure> {
        let mut found: Vec<Facts> = Vec::new();
        if let Ok(id) = name.parse::<MsgId>() {
            let held = self.state.held().map(|held| &held.facts);
            let same = |facts: &&Facts| facts.id == id || facts.written.as_ref() == Some(&id);
            found.extend(held.filter(same).cloned());
            found.extend(self.reader.messages_named(&id, 8)?);
        }
        if found.is_empty()
            && let Ok(number) = name.parse()
        {
            found.extend(self.message(Number(number))?);
        }
        found.sort_by_key(|facts| std::cmp::Reverse(facts.number));
        found.dedup_by_key(|facts| facts.number);
        Ok(found)
    }

    /// The messages that came in a file, the newest first.
    pub(super) fn at_path(&self, path: &str) -> Result<Vec<Facts>, Failure> {
        let held = self.state.held().map(|held| &held.facts);
        let mut found: Vec<Facts> = held.filter(|f| f.path() == Some(path)).cloned().collect();
        found.extend(self.reader.messages_at(path, 8)?);
        found.sort_by_key(|facts| std::cmp::Reverse(facts.number));
        Ok(found)
    }

    /// The messages of an id, a number or the name of a file, the newest first.
    pub(super) fn named_or_in(&self, what: &str) -> Result<Vec<Facts>, Failure> {
        let named = self.named(what)?;
        if !named.is_empty() {
            return Ok(named);
        }
        let name = Path::new(what).file_name().unwrap_or_default();
        self.at_path(&name.to_string_lossy())
    }

    /// The dead letters: every message with a delivery that was parked.
    pub(super) fn dead_letters(&self) -> Result<Vec<Facts>, Failure> {
        let held = self.state.held().map(|held| &held.facts);
        let parked = |facts: &&Facts| facts.deliveries.iter().any(|d| d.step() == Step::Parked);
        let mut found: Vec<Facts> = held.filter(parked).cloned().collect();
        let remembered = self.reader.at_step(Step::Parked)?.into_iter();
        let gone = |facts: &Facts| self.state.message(facts.number).is_none();
        found.extend(remembered.filter(gone));
        found.sort_by_key(|facts| facts.number);
        Ok(found)
    }

    /// What has come for the human, in that order; all of it, or what is unread.
    pub(super) fn inbox(&self, all: bool) -> Result<Vec<Facts>, Failure> {
        let held = self.state.held().map(|held| &held.facts);
        let wanted =
            |facts: &&Facts| facts.reached_core().is_some() && (all || facts.read.is_none());
        let mut found: Vec<Facts> = held.filter(wanted).cloned().collect();
        let remembered = match all {
            true => self.reader.inbox()?,
            false => self.reader.unread()?,
        };
        let gone = |facts: &Facts| self.state.message(facts.number).is_none();
        found.extend(remembered.into_iter().filter(gone));
        let came = |facts: &Facts| facts.reached_core().map(|rung| rung.record);
        found.sort_by_key(|facts| (came(facts), facts.number));
        Ok(found)
    }

    /// Carry it on to now: what has come for the human since.
    pub(super) fn come_since(&mut self) -> Result<Vec<Facts>, Failure> {
        let last = self.reader.last()?;
        let mut numbers = Vec::new();
        Ledger::fold_on(&self.reader, &mut self.state, last, |_, _, _, effects| {
            numbers.extend(effects.iter().filter_map(|effect| match effect {
                Effect::NotifyHuman { number, .. } => Some(*number),
                Effect::Spawn { .. }
                | Effect::Deliver { .. }
                | Effect::Interrupt { .. }
                | Effect::Look { .. }
                | Effect::Kill { .. }
                | Effect::Write(_)
                | Effect::ShowDialog { .. }
                | Effect::RunHook { .. }
                | Effect::Remember(_) => None,
            }));
        })?;
        let mut come = Vec::new();
        for number in numbers {
            come.extend(self.message(number)?);
        }
        Ok(come)
    }

    /// The messages of these threads, in order.
    pub(super) fn threads(&self, threads: &[Number]) -> Result<BTreeMap<Number, Facts>, Failure> {
        let mut messages: BTreeMap<Number, Facts> = BTreeMap::new();
        for thread in threads {
            let held = self.state.held().map(|held| &held.facts);
            let held = held.filter(|facts| facts.thread.contains(thread)).cloned();
            let all = self.reader.thread(*thread)?.into_iter().chain(held);
            messages.extend(all.map(|facts| (facts.number, facts)));
        }
        Ok(messages)
    }

    /// The body and the rearmatter of a message, from the journal: its file may be gone.
    pub(super) fn content(&self, facts: &Facts) -> Result<(String, Rearmatter), Failure> {
        Ok(match self.reader.contents(facts)? {
            None => ("(its text was archived)".into(), Rearmatter::default()),
            Some(StoredMessage::Own(text)) => (text, Rearmatter::default()),
            Some(StoredMessage::File(arrived)) => (arrived.body().to_owned(), arrived.rearmatter),
        })
    }

    /// The id of a message, or its number if it was pruned.
    pub(super) fn id(&self, number: Number) -> Result<String, Failure> {
        let facts = self.message(number)?;
        Ok(facts.map_or_else(|| number.0.to_string(), |facts| facts.id.to_string()))
    }

    /// There is no such message; these are near.
    pub(super) fn unknown(&self, name: &str) -> Failure {
        let ids: Vec<String> = self.state.held().map(|h| h.facts.id.to_string()).collect();
        let near = nearest(name, ids.iter().map(String::as_str));
        let failure = Failure::new(format!("there is no message or agent `{name}` here"));
        let failure = match near.first() {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure.hint("a msg-id, the name of a message file, or mesh/agent"),
        };
        failure.exit(Exit::NoSuchThing)
    }

    /// What was not as its author may think, when it was accepted.
    pub(super) fn warnings(&self, facts: &Facts) -> Result<Vec<Diagnostic>, Failure> {
        let arrived = self.reader.arrival(facts)?;
        Ok(arrived.map_or_else(Vec::new, |arrived| arrived.warnings))
    }

    /// What proves a step: its record, in words.
    pub(super) fn evidence(&self, record: u64) -> Result<String, Failure> {
        let found = self.reader.record(record)?;
        Ok(match found {
            Some(found) => format!("record {record}: {}", in_words(&found)),
            None => format!("record {record}, archived"),
        })
    }
}

/// Nothing has happened here yet.
pub(super) fn nothing_yet() -> Failure {
    Failure::new("nothing has happened in this project yet: there is no journal")
        .hint("`tx send` writes a message")
        .exit(Exit::NoSuchThing)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(error.to_string())
    }
}

/// A time as people read it.
pub(super) fn time(at: i64) -> String {
    let time: DateTime<Utc> = DateTime::from_timestamp_millis(at).unwrap_or_default();
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// How long ago that was, as people say it.
pub(super) fn ago(at: i64) -> String {
    let seconds = (Utc::now().timestamp_millis() - at).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How far off that is, as people say it.
pub(super) fn until(at: i64) -> String {
    let seconds = (at - Utc::now().timestamp_millis()) / 1_000;
    match seconds {
        ..=0 => "now".into(),
        1..120 => format!("in {seconds} s"),
        120..7_200 => format!("in {} min", seconds / 60),
        7_200..172_800 => format!("in {} h", seconds / 3_600),
        _ => format!("in {} days", seconds / 86_400),
    }
}

/// A record in a few words.
pub(super) fn in_words(record: &Record) -> String {
    let event = match record.event() {
        Ok(event) => event,
        Err(_) => return format!("{}, of a form that this tx does not know", record.kind),
    };
    let turn = |attempt: u32, turn: u32| format!("attempt {attempt}, turn {turn}");
    match event {
        Event::Arrived(arrived) => format!("{} arrived", arrived.path),
        Event::Rejected(rejected) => format!("{} was rejected", rejected.path),
        Event::PaneStarted { pane, .. } => {
            format!("{} started, attempt {}", pane.worker, pane.attempt)
        }
        Event::PaneReady { pane, .. } => {
            format!("{} was ready, attempt {}", pane.worker, pane.attempt)
        }
        Event::PaneIdle { pane, turn: t, .. } => {
            format!("{} was idle, {}", pane.worker, turn(pane.attempt, t))
        }
        Event::PaneBusy { pane, .. } => {
            format!("{} was busy, attempt {}", pane.worker, pane.attempt)
        }
        Event::PaneAsked { pane, .. } => format!("{} showed a dialog", pane.worker),
        Event::PaneLimited { pane, until, .. } => {
            format!("{} has no room until {}", pane.worker, time(until))
        }
        Event::PaneExited { pane, exit } => {
            let how = match exit {
                Ended::Code { code, .. } => format!("exited with {code}"),
                Ended::Lost { why } | Ended::CutOff { why } => format!("was lost: {why}"),
                Ended::NotStarted { why } => format!("did not start: {why}"),
                Ended::Unstartable { why } => format!("cannot be started with this: {why}"),
            };
            format!("{} {how}, attempt {}", pane.worker, pane.attempt)
        }
        Event::Delivered { pane, turn: t } => {
            format!("delivered to {}, {}", pane.worker, turn(pane.attempt, t))
        }
        Event::DeliveryFailed {
            pane, sent, why, ..
        } => {
            let how = match sent {
                Sent::Nothing => "not delivered",
                Sent::Perhaps => "perhaps delivered",
            };
            format!("{how} to {}: {why}", pane.worker)
        }
        Event::TimerFired { timer, .. } => match timer {
            Timer::State(who) => format!("{who} was due"),
            Timer::Pause(who) => format!("{who} had asked, and was busy too long"),
            Timer::Silence(who) => format!("{who} was silent too long"),
            Timer::Ask(_, who) => format!("{who} did not answer in time"),
            Timer::Expires(_) => "the human did not answer in time".into(),
        },
        Event::HookFinished {
            worker, verdict, ..
        } => match verdict {
            Verdict::Pass => format!("the checks of {worker} passed"),
            Verdict::Fail { .. } => format!("the checks of {worker} failed"),
            Verdict::Error { why } => format!("the checks of {worker} could not tell: {why}"),
        },
        Event::MeshLoaded(loaded) => format!("mesh {} was loaded", loaded.mesh.name),
        Event::MeshRemoved { mesh } => format!("mesh {mesh} was removed"),
        Event::Command(command) => match command {
            Command::Stop { worker } => format!("a person stopped {worker}"),
            Command::Restart { worker } => format!("a person restarted {worker}"),
            Command::Retry { facts, .. } => format!("a person retried {}", facts.id),
            Command::Drop { facts } => format!("a person dropped {}", facts.id),
            Command::Read { facts } => format!("a person read {}", many(facts.len(), "message")),
        },
        Event::Recovered { .. } => "tx was started".into(),
    }
}
