//! The human: gives tasks, answers what it was told of, and does not always do it well.

use std::collections::BTreeMap;

use tx::engine::{Command, Event, MessageNo};
use tx::model::{Address, Kind, MsgId, Priority, Recipient};

use crate::files::{Written, envelope};
use crate::world::{Thing, World};

/// How often the human answers a question again whose answer was refused.
const PATIENCE: u32 = 5;

/// What the human knows: what it was told, and what it wrote.
#[derive(Debug, Default)]
pub(crate) struct Human {
    /// The questions that it was told of.
    questions: BTreeMap<MessageNo, Question>,
    /// The answers, by their files.
    answers: BTreeMap<String, MessageNo>,
    /// It is going to look.
    looks: bool,
    /// What tx was killed before telling: shown after its start.
    pub(crate) missed: Vec<(MessageNo, Option<Address>)>,
    /// What it has read, and the records of what it said.
    pub(crate) read: BTreeMap<MessageNo, u64>,
}

#[derive(Clone, Debug)]
struct Question {
    id: MsgId,
    asker: Address,
    /// Who wrote it: for a machine that asks, tx or an agent.
    from: Address,
    /// It was answered, by its name.
    answered: bool,
    times: u32,
    /// The last answer was refused, and the human has given up for now.
    refused: bool,
}

impl Human {
    /// Has it ever answered somebody?
    pub(crate) fn has_answered(&self, asker: &Address) -> bool {
        let mut answered = self.answers.values().filter_map(|n| self.questions.get(n));
        answered.any(|question| question.asker == *asker || question.from == *asker)
    }
}

impl World {
    /// A task, and another one later.
    pub(crate) fn give_task(&mut self) {
        if self.tasks_left == 0 {
            return;
        }
        self.tasks_left -= 1;
        if self.tasks_left > 0 {
            let delay = match self.rng.percent(60) {
                true => self.rng.within(0, 1_000),
                false => self.rng.within(0, 300_000),
            };
            self.after(delay, Thing::Task);
        }
        let Some(somebody) = self.somebody(None) else {
            return;
        };
        let core = Address::core();
        let id = self.new_id();
        let mut task = envelope(&core, id.as_str(), self.now);
        task.to = vec![match self.rng.below(10) {
            0..=2 => somebody.mesh.as_str().parse().unwrap(),
            3 => Recipient::Full(Address::dispatch(&somebody.mesh)),
            4 => Recipient::Full(core.clone()),
            _ => Recipient::Full(somebody),
        }];
        if self.rng.percent(20)
            && let Some(other) = self.somebody(None)
        {
            task.to.push(Recipient::Full(other));
        }
        task.priority = match self.rng.below(6) {
            0 => Priority::High,
            1 => Priority::Low,
            _ => Priority::Normal,
        };
        if self.rng.percent(10) {
            task.kind = self.rng.pick(&Kind::ALL).copied();
        }
        if self.rng.percent(5) {
            task.status = Some("complete".parse().unwrap());
        }
        self.dress(&mut task);
        if self.rng.percent(10) {
            task.session_id = Some("session-9".into());
        }
        if self.rng.percent(10) {
            let features = ["login", "search"].map(|name| name.parse().unwrap());
            task.feature = self.rng.pick(&features).cloned();
        }
        self.send(task);
    }

    /// The human is told that something has come, and who waits for an answer: for a question of a
    /// machine that is its address.
    pub(crate) fn notify(&mut self, number: MessageNo, asker: Option<Address>) {
        let Some(message) = self.seen_by_human(number) else {
            panic!("the human is told of {number:?}, which nobody knows");
        };
        self.record.tell(number);
        if message.kind == Kind::AskHuman {
            let question = Question {
                id: message.id,
                asker: asker.unwrap_or_else(|| message.from.clone()),
                from: message.from,
                answered: false,
                times: 0,
                refused: false,
            };
            self.human.questions.insert(number, question);
        } else if message.headline.starts_with("a file was refused") {
            // An answer that was not accepted is given again.
            let path = message.body.split(": ").next().unwrap_or_default();
            let question = self.human.answers.get(path);
            let question = question.and_then(|n| self.human.questions.get_mut(n));
            if let Some(question) = question {
                question.refused = question.times >= PATIENCE;
                question.answered = question.refused;
            }
        }
        self.call_human();
    }

    /// Something has come for the human, who will look at it.
    fn call_human(&mut self) {
        if !self.human.looks {
            self.human.looks = true;
            let delay = self.rng.within(1_000, 120_000);
            self.after(delay, Thing::Look);
        }
    }

    /// The human goes through its questions once more.
    pub(crate) fn look_again(&mut self) {
        for question in self.human.questions.values_mut() {
            question.times = 0;
            question.answered &= !std::mem::take(&mut question.refused);
        }
        self.call_human();
    }

    /// Answer what there is to answer, or some of it.
    pub(crate) fn look(&mut self) {
        self.human.looks = false;
        let open = self.human.questions.iter().filter(|(_, q)| !q.answered);
        let open: Vec<(MessageNo, Question)> = open.map(|(n, q)| (*n, q.clone())).collect();
        let mut left = false;
        for (number, question) in open {
            if !self.calm && self.rng.percent(30) {
                left = true;
                continue;
            }
            let own = self.new_id();
            let mut answer = envelope(&Address::core(), own.as_str(), self.now);
            answer.to = vec![Recipient::Full(question.asker.clone())];
            // A bare word answers the oldest, which may be another; for a machine it is a task.
            let named = self.calm
                || question.asker.is_dispatch()
                || question.times > PATIENCE
                || self.rng.percent(50);
            if named {
                answer.in_reply_to = vec![question.id.clone()];
            } else if self.rng.percent(20) {
                answer.in_reply_to = self.wrong_ask();
            }
            left |= !named;
            let path = self.send(answer);
            self.human.answers.insert(path, number);
            if let Some(question) = self.human.questions.get_mut(&number) {
                question.answered = named;
                question.times += 1;
            }
        }
        if left {
            self.call_human();
        }
        self.go_on_without_failed();
        if self.rng.percent(30) {
            self.read();
        }
    }

    /// What is no ask of theirs: a typo, another's ask, or a task of core's own.
    fn wrong_ask(&mut self) -> Vec<MsgId> {
        let named = match self.rng.below(3) {
            0 => Some("no-such-ask".parse().unwrap()),
            1 => {
                let asks: Vec<MsgId> = self
                    .human
                    .questions
                    .values()
                    .map(|q| q.id.clone())
                    .collect();
                self.rng.pick(&asks).cloned()
            }
            _ => {
                let own = self.files.of(&Address::core()).into_iter();
                let own = own.filter_map(|(_, written)| match written {
                    Written::Good { envelope, .. } => Some(envelope.id.clone()),
                    Written::Bad { .. } => None,
                });
                let own: Vec<MsgId> = own.collect();
                self.rng.pick(&own).cloned()
            }
        };
        named.into_iter().collect()
    }

    /// Read what has come, or some of it.
    fn read(&mut self) {
        self.commit_all();
        if self.full {
            return;
        }
        let mut facts = self.book.unread();
        if self.rng.percent(50) {
            facts.truncate(facts.len().div_ceil(2));
        }
        self.seen.read += facts.len() as u64;
        let read: Vec<_> = facts.iter().map(|f| (f.number, f.record())).collect();
        self.take(Event::Command(Command::Read { facts }));
        self.commit_all();
        self.human.read.extend(read);
    }
}
