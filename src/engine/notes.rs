//! Messages that tx writes: repair notes, reminders, notifications for core.
//!
//! Such a message is accepted in the step that decides it. Its id comes from the event, so that
//! a fold writes the same message again.

use indexmap::IndexSet;

use super::accept::HOPS;
use super::effect::{Effect, SystemMessage};
use super::event::Rejected;
use super::failures::FAILURES;
use super::identity::Ancestry;
use super::lines::headline_of;
use super::message_record::{Delivery, DeliveryStep, MessageNo, MessageRecord, Source, Step};
use super::state::{OpenMessage, State};
use super::work::{Item, Owes, Work};
use crate::model::{Address, Kind, Line, MsgId, Name, OutcomeWord, Priority, Rearmatter};

/// After this many repair notes in a row, the work is parked.
const NOTES: u32 = 3;

/// A message for tx to write.
pub(super) struct Note<'a> {
    pub(super) to: &'a Address,
    pub(super) kind: Kind,
    pub(super) headline: &'a str,
    pub(super) body: String,
    pub(super) about: Option<MessageNo>,
    /// Added to the hops of the message that it follows from. 1 for repair notes, so that a
    /// chain of mistakes ends.
    pub(super) hops: u32,
}

/// A file that is refused.
pub(super) struct RejectedFile<'a> {
    pub(super) path: &'a str,
    pub(super) hash: &'a str,
    pub(super) id: Option<&'a MsgId>,
    /// Who gets the repair note; `None` notifies core.
    pub(super) author: Option<&'a Address>,
    pub(super) reason: String,
}

/// How the human is notified.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CoreNotification {
    /// As new.
    Plain,
    /// As new, and also in the core session.
    Wanted,
    /// In the inbox, already marked as read.
    Known,
}

impl State {
    /// Write a message and hold it. The caller delivers it.
    pub(super) fn write_message(&mut self, note: &Note) -> MessageNo {
        self.write_about(note, note.about.as_slice())
    }

    /// Write a message about several others. `note.about` is ignored.
    pub(super) fn write_about(&mut self, note: &Note, about: &[MessageNo]) -> MessageNo {
        let number = self.next_number();
        let (cause, thread, hops, run) = self.ancestry_of_own(number, note.to, about);
        let ancestry = Ancestry {
            cause,
            thread,
            hops,
            run,
        };
        self.write_numbered(number, note, about, ancestry)
    }

    /// Write a task that begins its own run.
    pub(super) fn write_task(&mut self, to: &Address, headline: &str, body: String) -> MessageNo {
        let number = self.next_number();
        self.open_run(number, Some(&to.mesh), &[]);
        let task = Note {
            to,
            kind: Kind::Task,
            headline,
            body,
            about: None,
            hops: 0,
        };
        let ancestry = Ancestry {
            thread: vec![number],
            run: Some(number),
            ..Ancestry::default()
        };
        self.write_numbered(number, &task, &[], ancestry)
    }

    fn write_numbered(
        &mut self,
        number: MessageNo,
        note: &Note,
        about: &[MessageNo],
        ancestry: Ancestry,
    ) -> MessageNo {
        let Ancestry {
            cause,
            thread,
            hops,
            run,
        } = ancestry;
        let id = self.own_id();
        let from = system("dispatcher");
        let hops = (hops + note.hops).min(HOPS);
        let about = about.iter().filter_map(|about| self.messages.facts(*about));
        let about = about.map(|facts| facts.id.clone()).collect();
        let source = Source::Own {
            record: self.seq,
            body: note.body.clone(),
        };
        self.hold(OpenMessage {
            facts: MessageRecord {
                headline: Line::from(note.headline.to_owned()),
                cause,
                thread,
                hops,
                run,
                deliveries: vec![self.accepted(note.to, note.kind)],
                ..MessageRecord::new(number, id.clone(), from.clone(), source, self.at)
            },
            envelope: None,
            rearmatter: Rearmatter::default(),
            parts: Vec::new(),
            repair: false,
        });
        self.effect(Effect::Write(Box::new(SystemMessage {
            number,
            id,
            from,
            to: Some(note.to.clone()),
            kind: note.kind,
            status: None,
            headline: note.headline.to_owned(),
            body: note.body.clone(),
            at: self.at,
            about,
        })));
        number
    }

    /// Write the outcome that a `command` agent printed.
    pub(super) fn message_of_output(
        &mut self,
        number: MessageNo,
        from: &Address,
        status: &OutcomeWord,
        headline: &str,
        body: &str,
    ) -> MsgId {
        let id = self.own_id();
        self.effect(Effect::Write(Box::new(SystemMessage {
            number,
            id: id.clone(),
            from: from.clone(),
            to: None,
            kind: Kind::TaskComplete,
            status: Some(status.clone()),
            headline: headline.to_owned(),
            body: body.to_owned(),
            at: self.at,
            about: Vec::new(),
        })));
        id
    }

    fn own_id(&mut self) -> MsgId {
        self.output.own_messages += 1;
        own_id(self.seq, self.output.own_messages)
    }

    /// A delivery that was just decided, without a row or rule.
    pub(super) fn accepted(&self, to: &Address, kind: Kind) -> Delivery {
        Delivery {
            to: to.clone(),
            kind,
            row: None,
            rule: None,
            place: None,
            slot: None,
            ladder: vec![DeliveryStep {
                step: Step::Accepted,
                at: self.at,
                record: self.seq,
                why: None,
            }],
        }
    }

    /// What a message of tx follows from: the messages that it is about, or else the work of
    /// its recipient.
    fn ancestry_of_own(
        &mut self,
        number: MessageNo,
        to: &Address,
        about: &[MessageNo],
    ) -> (Vec<MessageNo>, Vec<MessageNo>, u32, Option<MessageNo>) {
        let worker = self.workers.get(to);
        let work = worker.and_then(|worker| worker.status.work());
        let hops = work.map_or(0, |work| work.hops);
        let facts = |number: MessageNo| self.messages.facts(number);
        let about: Vec<&MessageRecord> = about.iter().filter_map(|about| facts(*about)).collect();
        let in_hand = work.and_then(|work| facts(work.messages().next()?));
        let about = match about.is_empty() {
            true => in_hand.into_iter().collect(),
            false => about,
        };
        match about.first() {
            Some(first) => {
                let hops = about.iter().fold(hops, |hops, facts| hops.max(facts.hops));
                let cause = about.iter().map(|facts| facts.number).collect();
                let threads = about.iter().flat_map(|facts| facts.thread.iter().copied());
                let threads: IndexSet<MessageNo> = threads.collect();
                (cause, threads.into_iter().collect(), hops, first.run)
            }
            // The recipient has no work: the message follows from its previous work.
            None => match worker.and_then(|worker| worker.last.as_ref()) {
                Some(last) => {
                    let hops = hops.max(last.hops);
                    (vec![last.number], last.thread.clone(), hops, last.run)
                }
                None => (Vec::new(), vec![number], hops, None),
            },
        }
    }

    /// Notify the human.
    pub(super) fn tell_core(&mut self, headline: &str, body: String, about: Option<MessageNo>) {
        self.inform_core(headline, body, about, CoreNotification::Plain);
    }

    /// Report something that the human already knows from another message.
    pub(super) fn tell_core_again(
        &mut self,
        headline: &str,
        body: String,
        about: Option<MessageNo>,
    ) {
        self.inform_core(headline, body, about, CoreNotification::Known);
    }

    /// Notify the human that a message was parked; in the core session too if the result was
    /// wanted there.
    pub(super) fn tell_core_of_parked(
        &mut self,
        headline: &str,
        body: String,
        about: Option<MessageNo>,
    ) {
        let notification = match about.is_some_and(|about| self.is_wanted_in_core(about)) {
            true => CoreNotification::Wanted,
            false => CoreNotification::Plain,
        };
        self.inform_core(headline, body, about, notification);
    }

    /// A headline that says what was parked and why.
    pub(super) fn parked_headline(
        &self,
        what: &str,
        about: Option<MessageNo>,
        why: &str,
    ) -> String {
        let why = headline_of(why);
        match about.and_then(|about| self.messages.facts(about)) {
            Some(facts) => format!("{what}: {}: {why}", facts.headline),
            None => format!("{what}: {why}"),
        }
    }

    fn inform_core(
        &mut self,
        headline: &str,
        body: String,
        about: Option<MessageNo>,
        notification: CoreNotification,
    ) {
        let core = Address::core();
        let kind = Kind::Lifecycle;
        let number = self.write_message(&Note {
            to: &core,
            kind,
            headline,
            body,
            about,
            hops: 0,
        });
        if let Some(held) = self.messages.get_mut(number) {
            held.facts.wanted = notification == CoreNotification::Wanted;
            held.facts.read = (notification == CoreNotification::Known).then_some(self.at);
        }
        self.end(number, &core, Step::Finished, None);
        self.effect(Effect::NotifyHuman {
            number,
            kind,
            asker: None,
            inject: notification == CoreNotification::Wanted,
        });
    }

    /// Deliver a note with the worker's current work, or wake an idle worker for one turn.
    fn attach(&mut self, to: &Address, number: MessageNo) {
        match self.worker_mut(to).status.work_mut() {
            Some(work) => {
                work.waiting.push(number);
                self.record_step(number, to, Step::Queued, Some("with its work".into()));
            }
            None => self.enqueue(to, number, Owes::Nothing, None),
        }
    }

    /// Send a worker a hint with its next turn.
    pub(super) fn hint(
        &mut self,
        to: &Address,
        headline: &str,
        body: String,
        about: Option<MessageNo>,
    ) {
        let number = self.write_message(&Note {
            to,
            kind: Kind::Lifecycle,
            headline,
            body,
            about,
            hops: 0,
        });
        self.keep_update(to, number);
    }

    /// Refuse a file: record it, and send its author a repair note.
    pub(super) fn refuse(&mut self, refused: RejectedFile) {
        let number = self.next_number();
        self.counts.refused += 1;
        let name = refused.path.rsplit('/').next().unwrap_or(refused.path);
        let id = refused.id.cloned().or_else(|| name.parse().ok());
        let id = id.unwrap_or_else(|| {
            let id = format!("refused-{}", self.seq);
            id.parse().expect("letters and digits are an id")
        });
        let author = refused.author.filter(|author| !author.is_core());
        let source = Source::File {
            path: refused.path.to_owned(),
            hash: refused.hash.to_owned(),
            record: self.seq,
        };
        let from = refused.author.cloned();
        let from = from.unwrap_or_else(|| system("consumer"));
        let why = refused.reason.clone();
        let facts = MessageRecord::of_refused(number, id.clone(), from, source, self.at, why);
        self.archive(facts);
        self.output.touched.messages.push((number, id));
        let body = format!("{}: {}", refused.path, refused.reason);
        match author {
            Some(author) => {
                self.repair_note(&author.clone(), "a message of yours was refused", body);
            }
            None => {
                let what = match name.ends_with(".md") {
                    true => "a file was refused",
                    false => "a mesh has problems",
                };
                let headline = format!("{what}: {}", gist_of_report(&body));
                self.tell_core(&headline, body, None);
            }
        }
    }

    /// Send a repair note to an agent. The third in a row parks its work. After that only core
    /// is notified, until the agent gets other work or sends an accepted message.
    pub(super) fn repair_note(&mut self, author: &Address, headline: &str, body: String) {
        self.touch_agent(author);
        let worker = self.worker_mut(author);
        worker.notes = worker.notes.saturating_add(1);
        let work = worker.status.work();
        let (notes, hops) = (worker.notes, work.map_or(0, |work| work.hops));
        let owes = work.is_some_and(Work::owes);
        let chain_ends = hops >= HOPS;
        if !chain_ends && notes <= NOTES {
            let number = self.write_message(&Note {
                to: author,
                kind: Kind::Lifecycle,
                headline,
                body: body.clone(),
                about: None,
                hops: 1,
            });
            if let Some(held) = self.messages.get_mut(number) {
                held.repair = true;
            }
            self.attach(author, number);
        }
        let why = match (chain_ends, notes) {
            (true, _) => "too many hops, with a message that was refused",
            (false, NOTES) => "three repair notes in a row, and no good message",
            (false, _) if notes > NOTES => "again a message that was refused",
            (false, _) => return,
        };
        if owes {
            self.give_up(author, format!("{why}: {body}"));
        } else {
            self.tell_core(why, format!("{author}: {body}"), None);
        }
    }

    /// The work ended before these repair notes were delivered. Wake their author for one turn,
    /// or notify core if that is not possible.
    pub(super) fn pass_on_notes(&mut self, author: &Address, notes: Vec<MessageNo>, wake: bool) {
        if notes.is_empty() {
            return;
        }
        let there = self.agent(author).is_some();
        let worker = self.worker_mut(author);
        let wake = wake && there && !worker.stopped && worker.failures < FAILURES;
        if wake {
            let item = Item {
                messages: notes,
                owes: Owes::Nothing,
                place: None,
                granted: false,
                verdict: None,
            };
            return self.enqueue_item(author, item, Priority::High);
        }
        for number in notes {
            let held = self.messages.get(number);
            let body = held.and_then(|held| match &held.facts.source {
                Source::Own { body, .. } => Some(body.clone()),
                Source::File { .. } | Source::Output { .. } => None,
            });
            let body = format!("{author}: {}", body.unwrap_or_default());
            self.tell_core("a repair note could not be given", body, Some(number));
            let why = "core was told: its author cannot be woken";
            self.end(number, author, Step::Finished, Some(why.into()));
        }
    }

    /// Is it a repair note that was not delivered to its author?
    pub(super) fn is_untold_note(&self, author: &Address, number: MessageNo) -> bool {
        let held = self.messages.get(number).filter(|held| held.repair);
        let delivery = held.and_then(|held| held.facts.delivery(author));
        delivery.is_some_and(|delivery| {
            let mut ladder = delivery.ladder.iter();
            !delivery.is_over() && ladder.all(|entry| entry.step < Step::Delivered)
        })
    }

    pub(super) fn rejected(&mut self, rejected: Rejected) {
        let Some(rejected) = self.with_author(rejected) else {
            return;
        };
        let seen = self.newest_at(&rejected.path, &rejected.known);
        if seen.is_some_and(|facts| facts.hash() == Some(&rejected.hash)) {
            self.counts.duplicates += 1;
            return;
        }
        let author = rejected
            .author
            .filter(|author| self.meshes.directory().knows(author));
        self.refuse(RejectedFile {
            path: &rejected.path,
            hash: &rejected.hash,
            id: None,
            author: author.as_ref(),
            reason: rejected.report,
        });
    }
}

/// The first error of a report, or else its first line.
fn gist_of_report(body: &str) -> String {
    let (path, report) = body.split_once(": ").unwrap_or(("", body));
    let error = report.lines().find(|line| line.starts_with("error["));
    headline_of(&format!("{path}: {}", error.unwrap_or(report)))
}

fn system(part: &str) -> Address {
    let name = |name: &str| -> Name { name.parse().expect("a word in lower case is a name") };
    Address::new(name("system"), name(part))
}

/// The id of the first message that tx writes at a record.
pub(super) fn first_own_id(record: u64) -> MsgId {
    own_id(record, 1)
}

fn own_id(record: u64, message: u32) -> MsgId {
    let id = format!("tx-{record}-{message}");
    id.parse().expect("letters and digits are an id")
}
