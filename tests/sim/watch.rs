//! What tx says it did, told to the reference in the order of the journal, after each commit.

use std::collections::{BTreeMap, BTreeSet};

use tx::engine::{Command, Event, MessageNo, MessageRecord, Source, Step};
use tx::model::{Address, Envelope};

use crate::reference::{At, Made, Message, Model, Stepped};
use crate::world::World;

/// What was seen of tx so far.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    model: Model,
    /// What was taken in since the last commit, with its place in the journal.
    events: Vec<(u64, Event)>,
    touched: BTreeSet<MessageNo>,
    /// The steps that are known of each message, and the record that holds its text.
    known: BTreeMap<MessageNo, Known>,
    /// The turn that each worker is in.
    turns: BTreeMap<Address, u32>,
    /// What each worker had in hand.
    taken: BTreeMap<Address, BTreeSet<Message>>,
}

#[derive(Debug, Default)]
struct Known {
    record: u64,
    steps: BTreeMap<Address, usize>,
}

/// What is new of the messages, by the record that made it so.
#[derive(Default)]
struct News {
    made: BTreeMap<u64, Vec<MessageRecord>>,
    steps: BTreeMap<u64, Vec<Stepped>>,
}

impl Watch {
    /// tx has taken something in.
    pub(crate) fn took(
        &mut self,
        seq: u64,
        event: &Event,
        touched: &[(MessageNo, tx::model::MsgId)],
    ) {
        // What is said of a message that has left touches nothing that is held.
        if let Event::Command(Command::Drop { facts, .. } | Command::Retry { facts, .. }) = event {
            self.touched.insert(facts.number);
        }
        self.events.push((seq, event.clone()));
        self.touched
            .extend(touched.iter().map(|(number, _)| *number));
    }

    /// Is it, or may it be, one of the results that a join gets together?
    pub(crate) fn is_result(&self, number: MessageNo) -> bool {
        self.model.is_result(number.0)
    }

    /// What was finished is not known any more.
    pub(crate) fn put_away(&mut self, gone: BTreeSet<Message>) {
        self.model.put_away(&gone);
    }

    /// tx was killed before this was durable.
    pub(crate) fn forget(&mut self) {
        self.events.clear();
        self.touched.clear();
    }

    fn news(&mut self, facts: Vec<MessageRecord>) -> News {
        let mut news = News::default();
        for facts in facts {
            let known = self.known.entry(facts.number).or_default();
            if known.record != facts.record() {
                *known = Known {
                    record: facts.record(),
                    steps: BTreeMap::new(),
                };
                news.made
                    .entry(facts.record())
                    .or_default()
                    .push(facts.clone());
            }
            for delivery in &facts.deliveries {
                let seen = known.steps.entry(delivery.to.clone()).or_default();
                for entry in delivery.ladder.iter().skip(*seen) {
                    let stepped = Stepped {
                        number: facts.number.0,
                        to: delivery.to.clone(),
                        step: step(entry.step),
                        record: entry.record,
                    };
                    news.steps.entry(entry.record).or_default().push(stepped);
                }
                *seen = delivery.ladder.len();
            }
        }
        news
    }

    fn follow(&mut self, seq: u64, event: &Event, news: &mut News) {
        let made = news.made.remove(&seq).unwrap_or_default();
        match event {
            Event::MeshLoaded(loaded) => {
                let mesh = loaded.mesh.clone();
                self.model.mesh(mesh.name.clone(), Some(mesh));
            }
            Event::MeshRemoved { mesh } => self.model.mesh(mesh.clone(), None),
            Event::Arrived(arrived) => {
                let file = made.iter().find(|facts| {
                    facts.path() == Some(&arrived.path) && facts.hash() == Some(&arrived.hash)
                });
                let made = file.map(of);
                let (path, hash) = (&arrived.path, &arrived.hash);
                let turn = self.turns.get(&arrived.envelope.from);
                let late = arrived.turn.is_some() && arrived.turn < turn.copied();
                let said = &arrived.envelope;
                self.model.file(path, hash, said, late, made.as_ref());
            }
            Event::Rejected(rejected) => {
                let author = rejected.author.as_ref();
                self.model.spoiled(&rejected.path, &rejected.hash, author);
            }
            Event::PaneStarted { .. }
            | Event::PaneReady { .. }
            | Event::PaneSession { .. }
            | Event::PaneSaid { .. }
            | Event::PaneIdle { .. }
            | Event::PaneBusy { .. }
            | Event::PaneAsked { .. }
            | Event::PaneLimited { .. }
            | Event::PaneExited { .. }
            | Event::PaneUsed(_)
            | Event::Delivered { .. }
            | Event::DeliveryFailed { .. }
            | Event::TimerFired { .. }
            | Event::JobsFinished { .. }
            | Event::Command(_)
            | Event::Recovered { .. } => {}
        }
        for facts in &made {
            match &facts.source {
                Source::File { .. } => {}
                Source::Own { .. } if facts.status.is_some() => {
                    self.model.printed(&outcome(facts), &of(facts), false);
                }
                Source::Own { .. } => self.model.own(&facts.from, &of(facts)),
                Source::Output { .. } => {
                    self.model.printed(&outcome(facts), &of(facts), true);
                }
            }
        }
        let steps = news.steps.remove(&seq).unwrap_or_default();
        self.model.steps(&steps);
    }
}

impl World {
    /// What was decided is durable: hold it against the reference.
    pub(crate) fn hold_against_reference(&mut self) {
        let events = std::mem::take(&mut self.watch.events);
        let touched = std::mem::take(&mut self.watch.touched);
        if self.settings.pools || self.settings.machines {
            return;
        }
        let facts = touched.into_iter().filter_map(|number| {
            let held = self.state().message(number).map(|held| held.facts.clone());
            held.or_else(|| self.book.facts(number))
        });
        let facts: Vec<MessageRecord> = facts.collect();
        let mut news = self.watch.news(facts);
        let turns = self.state().workers();
        let turns = turns.map(|(who, worker)| (who.clone(), worker.turn));
        self.watch.turns = turns.collect();
        let last = events.last().map_or(0, |(seq, _)| *seq);
        for (seq, event) in &events {
            self.watch.follow(*seq, event, &mut news);
        }
        let state = self.book.state();
        let open = state
            .asks()
            .map(|(number, asked, _)| (number.0, asked.clone()));
        self.watch.model.compare_asks(&open.collect(), state.at());
        let due = state.next_timer().is_some_and(|(due, _)| due <= self.now);
        if !due {
            self.watch.model.check_overdue(state.at());
        }
        let mut all = BTreeMap::new();
        for (who, worker) in state.workers() {
            let items = worker
                .status
                .work()
                .into_iter()
                .flat_map(tx::engine::Work::messages);
            let items: BTreeSet<Message> = items.map(|number| number.0).collect();
            let before = self.watch.taken.get(who);
            let new = items
                .iter()
                .filter(|item| before.is_none_or(|b| !b.contains(item)));
            let new: BTreeSet<Message> = new.copied().collect();
            // Of several events at once nobody knows which came before.
            if !new.is_empty() && events.len() == 1 {
                self.watch.model.check_order(who, &new, last);
            }
            all.insert(who.clone(), items);
        }
        self.watch.taken = all;
    }
}

/// An outcome that is no file.
fn outcome(facts: &MessageRecord) -> Envelope {
    Envelope {
        status: facts.status.clone(),
        ..crate::files::envelope(&facts.from, facts.id.as_str(), facts.at)
    }
}

fn of(facts: &MessageRecord) -> Made {
    let record = facts.record();
    let parked = facts.deliveries.iter().all(|delivery| {
        let mut first = delivery
            .ladder
            .iter()
            .filter(|entry| entry.record == record);
        first.any(|entry| entry.step == Step::Parked)
    });
    Made {
        number: facts.number.0,
        id: facts.id.clone(),
        written: facts.written.clone(),
        to: facts
            .deliveries
            .iter()
            .map(|delivery| (delivery.to.clone(), delivery.kind))
            .collect(),
        refused: facts.refused.is_some(),
        parked: parked && !facts.deliveries.is_empty(),
        cause: facts.cause.iter().map(|number| number.0).collect(),
        run: facts.run.map(|run| run.0),
        hops: facts.hops,
        at: facts.at,
    }
}

fn step(step: Step) -> At {
    match step {
        Step::Accepted => At::Accepted,
        Step::Queued => At::Queued,
        Step::Leased => At::Leased,
        Step::Delivered | Step::Acknowledged => At::Delivered,
        Step::Finished => At::Finished,
        Step::Refused => At::Refused,
        Step::Parked => At::Parked,
    }
}
