//! What follows when a turn has ended: the rules of work and turns, in their order.

use std::collections::BTreeSet;

use indexmap::IndexSet;

use super::effect::Effect;
use super::event::{ProcessExit, Traits, Verdict, exited_with};
use super::message_record::{DeliveryStep, MessageNo, MessageRecord, Source, Step};
use super::notes::Note;
use super::state::State;
use super::work::{Last, Owes, Work};
use super::worker::{QueuePosition, WorkerState};
use crate::model::{Address, Envelope, Kind, Line, Mode, OnFail, OutcomeWord, utc};

/// Checks that could not tell before work is parked.
const CHECK_ERRORS: u32 = 3;

impl State {
    /// A turn has ended: what it was given besides its work has been read, unless its
    /// process did not come to its end.
    pub(super) fn end_turn(
        &mut self,
        who: &Address,
        mut work: Box<Work>,
        exit: Option<ProcessExit>,
    ) {
        let Traits { mode, prints, .. } = self.process(who);
        let whole = match &exit {
            None => true,
            Some(ProcessExit::Code { code, .. }) => mode == Mode::Turn && (prints || *code == 0),
            Some(
                ProcessExit::Lost { .. }
                | ProcessExit::CutOff { .. }
                | ProcessExit::NotStarted { .. }
                | ProcessExit::SessionGone { .. }
                | ProcessExit::Unstartable { .. },
            ) => false,
        };
        if whole {
            self.worker_mut(who).limits = 0;
            self.read(who, &mut work);
        }
        let ran = !matches!(
            exit,
            Some(ProcessExit::NotStarted { .. } | ProcessExit::Unstartable { .. })
        );
        if ran {
            self.turn_counted(who, &work);
        }
        self.settle(who, work, exit);
    }

    /// A program that stays, and shows nothing, has ended its turn when what it owes is there.
    pub(super) fn end_turns(&mut self) {
        for who in self.output.touched.agents.clone() {
            let stays = self.process(&who).mode == Mode::Pane;
            let Some(worker) = self.workers.get_mut(&who).filter(|_| stays) else {
                continue;
            };
            let (pane, turn) = (worker.pane(&who), worker.turn);
            if let WorkerState::Working { work } = &mut worker.status
                && work.is_done()
                && !std::mem::replace(&mut work.ended, true)
            {
                self.effect(Effect::EndTurn { pane, turn });
            }
        }
    }

    /// What it was given in this turn besides its work has been read.
    pub(super) fn read(&mut self, who: &Address, work: &mut Work) {
        for number in std::mem::take(&mut work.turn) {
            let item = work.items.iter().any(|(_, i)| i.messages.contains(&number));
            if !item {
                self.end(number, who, Step::Finished, None);
            }
        }
    }

    /// What follows, the first that fits.
    pub(super) fn settle(&mut self, who: &Address, mut work: Box<Work>, exit: Option<ProcessExit>) {
        if !self.worker_mut(who).asking.is_empty() {
            return self.wait(who, work);
        }
        if work.is_done() {
            return match self.meshes.has_gates(who) && !work.outcomes.is_empty() {
                true => self.check(who, work),
                false => self.finish(who, work),
            };
        }
        if !work.waiting.is_empty() {
            let new = std::mem::take(&mut work.waiting);
            return self.next_turn(who, work, new, None);
        }
        if !work.owes() {
            return self.finish(who, work);
        }
        let prints = self.process(who).prints;
        let one_turn = self.process(who).mode == Mode::Turn;
        match exit {
            Some(ProcessExit::Code {
                code,
                stdout,
                stderr,
            }) if prints && one_turn => {
                return match code {
                    0 => self.printed(who, work, "complete", first_line(&stdout), &stdout),
                    _ => {
                        let text = exited_with(code, &stderr);
                        let said = last_line(&stderr).or_else(|| first_line(&text));
                        self.printed(who, work, "error", said, &text);
                    }
                };
            }
            Some(ProcessExit::Code { code: 0, .. }) if one_turn => {}
            Some(ProcessExit::Code { code, .. }) => {
                return self.fail(
                    who,
                    work,
                    format!("it exited with {code} and gave no outcome"),
                );
            }
            Some(ProcessExit::Lost { why } | ProcessExit::NotStarted { why }) => {
                return self.fail(who, work, why);
            }
            Some(ProcessExit::CutOff { why }) => return self.cut_off(who, work, why),
            Some(ProcessExit::SessionGone { why }) => return self.session_gone(who, work, &why),
            Some(ProcessExit::Unstartable { why }) => return self.park(who, *work, &why),
            None => {}
        }
        if work.reminded {
            self.park(
                who,
                *work,
                "it ended its turn, and gave no outcome when reminded",
            );
        } else {
            self.remind(who, work);
        }
    }

    fn remind(&mut self, who: &Address, mut work: Box<Work>) {
        work.reminded = true;
        let owed: Vec<String> = work
            .items
            .iter()
            .filter(|(_, item)| !work.is_paid(item))
            .flat_map(|(_, item)| item.messages.iter().map(|number| (item.owes, *number)))
            .map(|(owes, number)| {
                let id = self
                    .messages
                    .get(number)
                    .map(|held| held.facts.id.to_string());
                let id = id.unwrap_or_default();
                match owes {
                    Owes::Answer(_) => format!("- an answer to `{id}` (in-reply-to: {id})"),
                    Owes::Outcome | Owes::Nothing => format!("- an outcome of `{id}` (status: …)"),
                }
            })
            .collect();
        let note = Note {
            to: who,
            kind: Kind::Lifecycle,
            headline: "you still owe something",
            body: format!(
                "Your turn has ended, but a message is still owed:\n\n{}",
                owed.join("\n")
            ),
            about: work.messages().next(),
            hops: 0,
        };
        let number = self.write_message(&note);
        self.record_step(number, who, Step::Queued, None);
        self.next_turn(who, work, vec![number], None);
    }

    /// What a `command` agent printed is its outcome, or its answer.
    fn printed(
        &mut self,
        who: &Address,
        work: Box<Work>,
        word: &str,
        headline: Option<&str>,
        text: &str,
    ) {
        let status: OutcomeWord = word.parse().expect("a word is a status");
        let headline: String = headline.unwrap_or(word).chars().take(120).collect();
        let number = self.next_number();
        let id = self.letter_of_output(number, who, &status, &headline, text);
        let now = utc(self.at).fixed_offset();
        let envelope = Envelope {
            status: Some(status),
            ..Envelope::new(who.clone(), id.clone(), Line::from(headline), now)
        };
        self.worker_mut(who).status = WorkerState::Working { work };
        match self.plan(&envelope, &[], true) {
            Ok(plan) => {
                let source = Source::Output { record: self.seq };
                self.accept(number, id, None, envelope, source, plan, &[], true);
            }
            Err(reason) => {
                self.repair_note(who, "what you printed was refused", reason);
            }
        }
        match self.take_status(who) {
            WorkerState::Working { work } => self.settle(who, work, None),
            status @ (WorkerState::Idle
            | WorkerState::Starting { .. }
            | WorkerState::Awaiting { .. }
            | WorkerState::AwaitingHuman { .. }
            | WorkerState::Limited { .. }
            | WorkerState::Checking { .. }
            | WorkerState::Backoff { .. }
            | WorkerState::Stopping { .. }) => self.worker_mut(who).status = status,
        }
    }

    /// Have its outcomes checked.
    pub(super) fn check(&mut self, who: &Address, mut work: Box<Work>) {
        work.checks += 1;
        self.effect(Effect::RunHook {
            worker: who.clone(),
            check: work.checks,
            outcomes: work.outcomes.iter().map(|outcome| outcome.number).collect(),
        });
        self.set(
            who,
            WorkerState::Checking {
                work,
                verdict: None,
            },
        );
    }

    /// The checks have a verdict.
    pub(super) fn judge(&mut self, who: &Address, mut work: Box<Work>, verdict: Verdict) {
        match verdict {
            // An edit may have taken away what was checked.
            Verdict::Pass if !work.is_done() => self.settle(who, work, None),
            Verdict::Pass if self.worker_mut(who).asking.is_empty() => self.finish(who, work),
            Verdict::Pass => self.wait(who, work),
            Verdict::Fail { findings } => {
                work.check_errors = 0;
                work.iteration += 1;
                for outcome in std::mem::take(&mut work.outcomes) {
                    self.end_outcome(outcome.number, Step::Refused, "it failed its checks");
                }
                let rules = self
                    .mesh(&who.mesh)
                    .map(|mesh| mesh.iteration)
                    .unwrap_or_default();
                if rules.on_fail == OnFail::Halt || work.iteration > rules.max {
                    let why = format!("its outcome failed its checks: {findings}");
                    return self.park(who, *work, &why);
                }
                let note = self.write_message(&Note {
                    to: who,
                    kind: Kind::Lifecycle,
                    headline: "your outcome failed its checks",
                    body: findings,
                    about: work.messages().next(),
                    hops: 0,
                });
                self.record_step(note, who, Step::Queued, None);
                work.waiting.push(note);
                self.settle(who, work, None);
            }
            Verdict::Error { why } => {
                work.check_errors += 1;
                match work.check_errors < CHECK_ERRORS {
                    true => self.check(who, work),
                    false => {
                        self.park(who, *work, &format!("its checks cannot tell: {why}"));
                    }
                }
            }
        }
    }

    /// All that was owed is there: the outcomes go on, and the work is over.
    pub(super) fn finish(&mut self, who: &Address, mut work: Box<Work>) {
        let ended = self.in_words(&work);
        for outcome in std::mem::take(&mut work.outcomes) {
            self.release(who, outcome);
        }
        self.worker_mut(who).failures = 0;
        self.over(who, &work, &ended, &[], "");
    }

    /// Work that nobody will go on with: what is not paid is parked, and core is told.
    /// Outcomes that no gate has passed do not go on.
    pub(super) fn park(&mut self, who: &Address, mut work: Work, why: &str) {
        self.withdraw_asks(who);
        if work.owes() {
            let about = work.messages().next();
            let body = format!("{who}: {why}");
            self.tell_core_of_parked("work was parked", body, about);
        }
        if self.meshes.has_gates(who) {
            for outcome in std::mem::take(&mut work.outcomes) {
                self.end_outcome(outcome.number, Step::Parked, why);
            }
        }
        let items = work.items.iter();
        let unpaid = items.filter(|(_, item)| !work.is_paid(item));
        let unpaid: Vec<QueuePosition> = unpaid.map(|(place, _)| *place).collect();
        let ended = self.in_words(&work);
        for outcome in std::mem::take(&mut work.outcomes) {
            self.release(who, outcome);
        }
        self.over(who, &work, &ended, &unpaid, why);
    }

    /// The outcomes of work, for who asked and gets them as the end of its question.
    fn in_words(&self, work: &Work) -> String {
        let held = work
            .outcomes
            .iter()
            .filter_map(|o| self.messages.get(o.number));
        let said: Vec<String> = held
            .map(|held| {
                let facts = &held.facts;
                let status = facts.status.as_ref().map(|word| format!(" ({word})"));
                let status = status.unwrap_or_default();
                format!("`{}`{status}: {}", facts.id, facts.headline)
            })
            .collect();
        said.join("\n")
    }

    /// The end of work, and of each item in it: those in `unpaid` are parked.
    fn over(
        &mut self,
        who: &Address,
        work: &Work,
        ended: &str,
        unpaid: &[QueuePosition],
        why: &str,
    ) {
        self.remember_last(who, work, !unpaid.is_empty());
        let runs = self.runs_of(work);
        for (place, item) in &work.items {
            if unpaid.contains(place) {
                self.park_messages(who, item, why);
                continue;
            }
            let open = item.ask().filter(|ask| !work.answered.contains(ask));
            if let Some(ask) = open {
                let body =
                    format!("{who} ended its work on your question in another way.\n\n{ended}");
                self.close_with_note(ask, who, "your question has no answer", body);
            }
            if let Some(member) = &item.set {
                self.vacate(member.set, who, Ok(()));
            }
            for number in &item.messages {
                // A note that nobody could be given is core's.
                let untold = self.is_untold_note(who, *number);
                self.pass_on_notes(who, untold.then_some(*number).into_iter().collect(), false);
                self.end(*number, who, Step::Finished, None);
            }
        }
        let late = "its work was over before it could be given";
        let rest = work.waiting.iter().chain(&work.turn).copied();
        let rest: IndexSet<MessageNo> = rest.collect();
        let notes = |number: &MessageNo| self.is_untold_note(who, *number);
        let (notes, rest): (Vec<MessageNo>, Vec<MessageNo>) = rest.into_iter().partition(notes);
        for number in rest {
            self.end(number, who, Step::Finished, Some(late.into()));
        }
        self.set(who, WorkerState::Idle);
        self.pass_on_notes(who, notes, true);
        for run in runs {
            self.end_run_if_complete(run);
        }
        self.end_if_removed(who);
    }

    pub(super) fn runs_of(&self, work: &Work) -> BTreeSet<MessageNo> {
        let facts = work
            .messages()
            .filter_map(|number| self.messages.get(number));
        facts.filter_map(|held| held.facts.run).collect()
    }

    fn remember_last(&mut self, who: &Address, work: &Work, parked: bool) {
        let Some(first) = work.messages().next() else {
            return;
        };
        let Some(held) = self.messages.get(first).filter(|_| work.owes()) else {
            return;
        };
        let facts = &held.facts;
        let last = Last {
            number: first,
            thread: facts.thread.clone(),
            hops: work.hops,
            run: facts.run,
            parked,
            set: work.set().cloned(),
        };
        self.worker_mut(who).last = Some(last);
    }

    /// An outcome came after its work was parked: it finishes it after all.
    /// Did it?
    pub(super) fn finish_parked(
        &mut self,
        who: &Address,
        number: MessageNo,
        known: &[MessageRecord],
    ) -> bool {
        let last = self.worker_mut(who).last.as_mut();
        if let Some(last) = last.filter(|last| last.number == number) {
            last.parked = false;
        }
        let why = "an outcome came after all";
        if self.messages.contains(number) {
            self.record_step(number, who, Step::Finished, Some(why.into()));
            return true;
        }
        // It has left: the journal tells of it.
        let Some(facts) = known.iter().find(|facts| facts.number == number) else {
            return false;
        };
        let mut facts = facts.clone();
        let (at, record) = (self.at, self.seq);
        for delivery in facts.deliveries.iter_mut().filter(|d| d.to == *who) {
            delivery.ladder.push(DeliveryStep {
                step: Step::Finished,
                at,
                record,
                why: Some(why.into()),
            });
        }
        self.runs.update_first(&facts);
        self.archive(facts);
        true
    }
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Where programs say what went wrong.
fn last_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().rev().map(str::trim);
    lines.find(|line| !line.is_empty())
}
