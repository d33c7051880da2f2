//! What follows when a turn has ended: the rules of work and turns, in their order.

use std::collections::BTreeSet;

use indexmap::IndexSet;

use super::accept::AcceptedMessage;
use super::effect::Effect;
use super::event::{OUTPUT_CUT, ProcessExit, Traits};
use super::exit_text::{exited_with, last_words};
use super::lines::{error_line, first_line, headline_of};
use super::message_record::{MessageNo, Source, Step};
use super::notes::Note;
use super::state::State;
use super::work::{Last, Owes, Routed, Work, WorkflowPlace};
use super::worker::{QueuePosition, WorkerState};
use crate::model::{Address, Envelope, Kind, Line, Mode, OutcomeWord, Part, Rearmatter, utc};

/// How much of an agent's last answer is told with a dead letter, in characters.
const SAID: usize = 200;

/// What a program printed as its outcome.
struct Printed<'a> {
    text: &'a str,
    rearmatter: Rearmatter,
    parts: Vec<u32>,
}

impl State {
    /// A turn has ended: what it was given besides its work has been read, unless its
    /// process did not come to its end.
    pub(super) fn end_turn(&mut self, who: &Address, work: Box<Work>, exit: Option<ProcessExit>) {
        let Some(mut work) = self.bind_at_end(who, work, exit.as_ref()) else {
            return;
        };
        let Traits { mode, prints, .. } = self.started_as(who);
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

    /// A program that stays, and shows nothing, has ended its turn when what it owes is there. A
    /// turn for a note owes nothing: there, any message ends it.
    pub(super) fn end_turns(&mut self) {
        for who in self.output.touched.agents.clone() {
            let stays = self.started_as(&who).mode == Mode::Pane;
            let Some(worker) = self.workers.get_mut(&who).filter(|_| stays) else {
                continue;
            };
            let (pane, turn) = (worker.pane(&who), worker.turn);
            if let WorkerState::Working { work } = &mut worker.status
                && work.is_said()
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
            if work.verdict_for().is_some() {
                return self.settle_evaluation(who, work);
            }
            return match self.must_be_checked(who, &work) {
                true => self.check(who, work, Vec::new()),
                false => self.complete_work(who, work),
            };
        }
        if !work.waiting.is_empty() {
            let new = std::mem::take(&mut work.waiting);
            return self.next_turn(who, work, new, None);
        }
        if !work.owes() {
            return self.finish(who, work);
        }
        let prints = self.started_as(who).prints;
        let one_turn = self.started_as(who).mode == Mode::Turn;
        match exit {
            Some(ProcessExit::Code {
                code,
                stdout,
                stderr,
                rearmatter,
                parts,
            }) if prints && one_turn => {
                return match code {
                    0 => {
                        let said = first_line(&stdout);
                        let printed = Printed {
                            text: &stdout,
                            rearmatter: *rearmatter,
                            parts: numbers(&parts),
                        };
                        self.printed(who, work, OutcomeWord::complete(), said, printed);
                    }
                    _ => {
                        let text = exited_with(code, &stdout, &stderr);
                        let said = error_line(last_words(&stdout, &stderr));
                        let said = said.or_else(|| first_line(&text));
                        let printed = Printed {
                            text: &text,
                            rearmatter: Rearmatter::default(),
                            parts: Vec::new(),
                        };
                        self.printed(who, work, OutcomeWord::error(), said, printed);
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
            let said = self.worker_mut(who).said.take();
            let said = said.map_or_else(String::new, |said| {
                let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
                let short: String = line.chars().take(SAID).collect();
                let more = if short.len() < line.len() { "…" } else { "" };
                format!(". Its last answer: {short}{more}")
            });
            let why = format!("it ended its turn, and gave no outcome when reminded{said}");
            self.park(who, *work, &why);
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
                    Owes::Verdict => format!(
                        "- a verdict on `{id}` (status: complete, and `verdict`, `score`, `findings` in the rearmatter)"
                    ),
                    Owes::Outcome | Owes::Nothing => format!("- an outcome of `{id}` (status: …)"),
                }
            })
            .collect();
        let said = self.worker_mut(who).said.take();
        let said = said.map_or_else(String::new, |said| {
            let quoted: Vec<String> = said.lines().map(|line| format!("> {line}")).collect();
            format!(
                "\n\nYour last answer was this, and no message:\n\n{}",
                quoted.join("\n")
            )
        });
        let note = Note {
            to: who,
            kind: Kind::Lifecycle,
            headline: "you still owe something",
            body: format!(
                "Your turn has ended, but a message is still owed:\n\n{}{said}",
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
        status: OutcomeWord,
        headline: Option<&str>,
        printed: Printed,
    ) {
        let Printed {
            text,
            rearmatter,
            parts,
        } = printed;
        let headline: String = match headline {
            Some(headline) => headline.chars().take(120).collect(),
            None => "it printed nothing".into(),
        };
        let is_text = headline
            .chars()
            .any(|c| !c.is_control() && !c.is_whitespace());
        let headline = match is_text {
            true => headline,
            false => "it printed no readable text".into(),
        };
        let headline = match text.ends_with(OUTPUT_CUT) {
            true => format!("{headline} (it printed too much: the end was cut)"),
            false => headline,
        };
        let number = self.next_number();
        let id = self.message_of_output(number, who, &status, &headline, text);
        let now = utc(self.at).fixed_offset();
        let envelope = Envelope {
            status: Some(status),
            ..Envelope::new(who.clone(), id.clone(), Line::from(headline), now)
        };
        self.worker_mut(who).status = WorkerState::Working { work };
        match self.plan(&envelope, &[], &parts, &rearmatter, true) {
            Ok(plan) => {
                let source = Source::Output { record: self.seq };
                let taken = AcceptedMessage {
                    number,
                    id,
                    written: None,
                    envelope,
                    rearmatter,
                    source,
                };
                self.accept(taken, plan, &[], true);
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

    /// All that was owed is there: the outcomes go on, and the work is over.
    pub(super) fn finish(&mut self, who: &Address, mut work: Box<Work>) {
        let ended = self.in_words(&work);
        let verdict = self.verdict_for(who, &work);
        for also in std::mem::take(&mut work.also) {
            let mut outcomes = work.outcomes.iter();
            if let Some(outcome) = outcomes.find(|outcome| outcome.number == also.outcome) {
                for parked in also.parked {
                    self.finish_parked(who, parked, outcome, &also.known);
                }
            }
        }
        let outcomes = work.outcomes.iter();
        let outcomes = outcomes.filter_map(|outcome| self.messages.facts(outcome.number));
        if outcomes.into_iter().any(|facts| !facts.is_error()) {
            for run in self.runs_of(&work) {
                self.runs.finished(run, who);
            }
        }
        let failed = self.release_all(who, std::mem::take(&mut work.outcomes));
        self.worker_mut(who).failures = 0;
        self.over(who, &work, &ended, &[], "", failed);
        if let Some((asked, found)) = verdict {
            self.evaluated(&asked.author, asked.job, &found);
        }
    }

    /// Work that nobody will go on with: what is not paid is parked, and core is told.
    /// Outcomes that no gate has passed do not go on.
    pub(super) fn park(&mut self, who: &Address, work: Work, why: &str) {
        self.park_with(who, work, why, None);
    }

    /// The same, where gates have found something: the headline says what.
    pub(super) fn park_with(
        &mut self,
        who: &Address,
        mut work: Work,
        why: &str,
        findings: Option<&str>,
    ) {
        self.withdraw_asks(who);
        let judges = work.verdict_for().is_some();
        // Who waits for a verdict is told that there is none.
        if work.owes() && !judges {
            let about = work.messages().next();
            let body = format!("{who}: {why}");
            let headline = match findings {
                Some(findings) => format!("gates parked work: {}", headline_of(findings)),
                None => self.parked_headline("work was parked", about, &body),
            };
            self.tell_core_of_parked(&headline, body, about);
        }
        let verdict = self.verdict_for(who, &work).filter(|_| work.is_done());
        let outcomes = std::mem::take(&mut work.outcomes).into_iter();
        let (unchecked, checked): (Vec<Routed>, Vec<Routed>) =
            outcomes.partition(|outcome| !judges && self.is_gated(who, outcome.number));
        work.outcomes = checked;
        for outcome in unchecked {
            self.end_outcome(outcome.number, Step::Parked, why);
        }
        let items = work.items.iter();
        let unpaid = items.filter(|(_, item)| !work.is_paid(item));
        let unpaid: Vec<QueuePosition> = unpaid.map(|(place, _)| *place).collect();
        let ended = self.in_words(&work);
        let failed = self.release_all(who, std::mem::take(&mut work.outcomes));
        self.over(who, &work, &ended, &unpaid, why, failed);
        if let Some((asked, found)) = verdict {
            self.evaluated(&asked.author, asked.job, &found);
        }
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

    /// The end of work, and of each item in it: those in `unpaid` are parked. `failed`: the work
    /// of a member ended with `error`.
    fn over(
        &mut self,
        who: &Address,
        work: &Work,
        ended: &str,
        unpaid: &[QueuePosition],
        why: &str,
        failed: bool,
    ) {
        let failed_stage = failed && work.stage().is_some();
        self.remember_last(who, work, !unpaid.is_empty() || failed_stage);
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
            let stage = item.place.as_ref().and_then(WorkflowPlace::stage);
            if failed && stage.is_some() {
                self.park_messages(who, item, "it ended with `error`");
                continue;
            }
            if let Some(member) = item.place.as_ref().and_then(WorkflowPlace::member) {
                if failed && self.hold_failed(member, who, item) {
                    continue;
                }
                self.close_member(member, who, Ok(()));
            }
            for number in &item.messages {
                // A note that nobody could be given is core's.
                let untold = self.is_untold_note(who, *number);
                self.pass_on_notes(who, untold.then_some(*number).into_iter().collect(), false);
                let key = (who, item.place.as_ref());
                self.end(*number, key, Step::Finished, None);
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
            place: work.place().cloned(),
        };
        self.worker_mut(who).last = Some(last);
    }
}

fn numbers(parts: &[Part]) -> Vec<u32> {
    parts.iter().map(|part| part.number).collect()
}
