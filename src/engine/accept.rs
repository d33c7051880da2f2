//! Accepts or refuses a message file: whether it is new, who gets it, which kind it has for
//! each recipient, and whether its run is within its limits.
//!
//! A message is accepted or refused as a whole. A refused message is recorded, and its author
//! is told the reason.

use std::borrow::Cow;

use super::event::Arrived;
use super::identity::{Ancestry, Named};
use super::message_record::{Delivery, MessageNo, MessageRecord, Source, Step};
use super::notes::RejectedFile;
use super::plan::Plan;
use super::plan_outcome::ends_in_spite_of_asks;
use super::runs::BudgetCheck;
use super::state::{OpenMessage, State};
use super::work::{Forwarding, Routed, Work, WorkflowPlace};
use super::worker::Phase;
use crate::model::{Address, Envelope, Kind, MsgId, OutcomeWord, Quality, Rearmatter};

/// How many messages may follow from each other.
pub(super) const HOPS: u32 = 50;

/// An accepted message with its number and id.
pub(super) struct AcceptedMessage {
    pub(super) number: MessageNo,
    pub(super) id: MsgId,
    /// The id as the author wrote it, if another message already had that id.
    pub(super) written: Option<MsgId>,
    pub(super) envelope: Envelope,
    pub(super) rearmatter: Rearmatter,
    pub(super) source: Source,
}

impl State {
    pub(super) fn arrived(&mut self, arrived: Arrived) {
        let Some(arrived) = self.with_writer(arrived) else {
            return;
        };
        let bound = self.output.bound.take();
        let Arrived {
            path,
            hash,
            text: _,
            envelope,
            body: _,
            rearmatter,
            warnings: _,
            turn,
            known,
            parts,
        } = arrived;
        let parts: Vec<u32> = parts.iter().map(|part| part.number).collect();
        self.touch_agent(&envelope.from);
        let outside = self.is_outside(&envelope, turn);
        self.output.outside = outside.then(|| envelope.from.clone());
        self.output.written = turn;
        let seen = self.newest_at(&path, &known);
        if seen.is_some_and(|facts| facts.hash() == Some(&hash)) {
            self.counts.duplicates += 1;
            return;
        }
        // The same path with a different text edits the earlier message. If that was refused,
        // the file is a new message.
        let amended = seen.filter(|facts| !facts.is_refused()).map(|f| f.number);
        if let Some(number) = amended.filter(|number| self.is_waiting_answer(*number))
            && self.says_the_same_to_the_same(number, &envelope)
        {
            return self.amend_answer(number, path, hash, envelope);
        }
        if amended.is_some_and(|number| !self.is_retractable(number)) {
            let reason = "it was changed after it had been delivered: write a new one".into();
            return self.refuse_arrived(&path, &hash, &envelope, reason);
        }
        let (id, written) = match self.name(&envelope, &hash, &known, amended) {
            Named::As(id, written) => (id, written),
            Named::Own => return,
            Named::Refused(reason) => {
                return self.refuse_arrived(&path, &hash, &envelope, reason);
            }
            Named::Duplicate(of) => {
                self.counts.duplicates += 1;
                return self.remember_duplicate(&path, &hash, &envelope, &of);
            }
        };
        let mut plan = match self.plan(&envelope, &known, &parts, &rearmatter, false) {
            Ok(plan) => plan,
            Err(reason) => return self.refuse_arrived(&path, &hash, &envelope, reason),
        };
        if written.is_some() {
            plan.warnings.push(format!(
                "you have sent `{}` before, in other work: this one is known as `{id}`",
                envelope.id
            ));
        }
        if let Some(bound) = bound {
            let first_steps = plan.deliveries.iter_mut();
            for step in first_steps.filter_map(|delivery| delivery.ladder.first_mut()) {
                step.why = Some(Cow::Borrowed(bound));
            }
        }
        if let Some(number) = amended {
            self.retract(number);
        }
        let record = self.seq;
        let source = Source::File { path, hash, record };
        let number = amended.unwrap_or_else(|| self.next_number());
        let author = envelope.from.clone();
        let costs = amended.is_none();
        let taken = AcceptedMessage {
            number,
            id,
            written,
            envelope,
            rearmatter,
            source,
        };
        self.accept(taken, plan, &known, costs);
        if amended.is_some() {
            self.runs.remove_if_empty(number);
            if self.workers.contains(&author) {
                self.after_ask(&author);
            }
        }
    }

    /// Change the text of an answer that its asker has not received because other answers are
    /// still open. The recipient cannot change: the ask is already closed.
    fn amend_answer(&mut self, number: MessageNo, path: String, hash: String, envelope: Envelope) {
        self.touch_message(number);
        let record = self.seq;
        let Some(held) = self.messages.get_mut(number) else {
            return;
        };
        held.facts.headline = envelope.headline.clone();
        held.facts.source = Source::File { path, hash, record };
        held.envelope = Some(Box::new(envelope));
    }

    fn says_the_same_to_the_same(&self, number: MessageNo, new: &Envelope) -> bool {
        let old = self.messages.envelope(number);
        old.is_some_and(|old| {
            let whom = |e: &Envelope| (e.from.clone(), e.to.clone(), e.in_reply_to.clone());
            let what = |e: &Envelope| (e.id.clone(), e.kind, e.status.clone());
            whom(old) == whom(new) && what(old) == what(new)
        })
    }

    fn refuse_arrived(&mut self, path: &str, hash: &str, envelope: &Envelope, reason: String) {
        let known = self.is_somebody(&envelope.from);
        if envelope.status.is_some() && self.is_misrouted_too_often(envelope) {
            let why = format!("the table refused its outcomes too often: {reason}");
            self.give_up(&envelope.from, why);
        }
        self.refuse(RejectedFile {
            path,
            hash,
            id: Some(&envelope.id),
            author: known.then_some(&envelope.from),
            reason,
        });
    }

    /// Count an outcome that the table refused. Returns whether the mesh's retries are used up,
    /// if the mesh has no fallback. An outcome that came before all answers does not count, and
    /// neither does one of a worker that owes nothing. Work that has all it owes is not given up.
    fn is_misrouted_too_often(&mut self, envelope: &Envelope) -> bool {
        let from = &envelope.from;
        let asking = self.workers.get(from).is_some_and(|w| !w.asking.is_empty());
        if asking && !ends_in_spite_of_asks(envelope.status.as_ref()) {
            return false;
        }
        let rails = self
            .mesh(&from.mesh)
            .map(|mesh| &mesh.guardrails.routing_error);
        let most = rails
            .filter(|r| r.fallback.is_none())
            .and_then(|r| r.max_retries);
        if !self.given(from).is_some_and(Work::owes) {
            return false;
        }
        let worker = self.workers.get_mut(from);
        let Some(work) = worker.and_then(|worker| worker.status.work_mut()) else {
            return false;
        };
        work.misrouted += 1;
        !work.is_done() && most.is_some_and(|most| work.misrouted > most)
    }

    /// May this address send messages? An agent that was removed from its mesh may finish its
    /// work.
    pub(super) fn is_somebody(&self, from: &Address) -> bool {
        let agent = from.without_slot();
        let ended = || self.workers.contains(from) && self.meshes.directory().knows(&agent);
        self.meshes.directory().knows(from) || self.work_of(from).is_some() || ended()
    }

    /// The first message of an agent's current work.
    pub(super) fn work_of(&self, agent: &Address) -> Option<MessageNo> {
        self.given(agent)?.messages().next()
    }

    /// Record an accepted message and act on it.
    pub(super) fn accept(
        &mut self,
        taken: AcceptedMessage,
        plan: Plan,
        known: &[MessageRecord],
        costs: bool,
    ) {
        let (number, from) = (taken.number, taken.envelope.from.clone());
        let Plan {
            mut deliveries,
            ancestry,
            answers,
            late,
            way,
            warnings,
            fallback,
            parts,
            from: _,
            rearmatter: _,
        } = plan;
        if let Some(Forwarding::FanOut { .. }) = &way {
            number_block(&mut deliveries, number);
        }
        let ancestry = self.begin_thread(number, &from, ancestry, &deliveries, known);
        let budget = self.check_budget(&from, &ancestry, costs);
        let names_it = self.names_what_it_has(&taken.envelope);
        let headless = taken.envelope.headless;
        let status = taken.envelope.status.as_ref();
        let gives_up = status.is_some_and(OutcomeWord::is_error);
        self.hold_accepted(taken, deliveries, ancestry, parts);
        if !from.is_core() {
            self.acknowledge_by_message(&from, names_it);
        }
        for warning in warnings {
            self.warn(&from, &warning, number);
        }
        if way.is_some() && gives_up {
            self.withdraw_asks(&from);
        }
        match budget {
            BudgetCheck::Within => {}
            BudgetCheck::Warned(why) => self.tell_core("a limit is passed", why, Some(number)),
            BudgetCheck::Over(why) => {
                self.park_over_budget(number, &from, way, &answers, &why);
                return self.answered_late(&from, &late);
            }
        }
        if !from.is_core() {
            self.heard_from(&from, fallback);
        }
        // The asker needs its answer, so an answer is delivered even if it is headless.
        let is_result = matches!(way, Some(Forwarding::Join(_) | Forwarding::Machine(_)));
        if headless && is_result {
            let warning = "`headless` does nothing here: your outcome continues in the workflow";
            self.warn(&from, warning, number);
        }
        if headless && answers.is_empty() && !is_result {
            return self.end_headless(number, &from, way);
        }
        match way {
            Some(way) => {
                self.dispatch_besides(number, &from, &answers);
                self.outcome(number, &from, way, known);
            }
            None => self.dispatch(number, &from, &answers),
        }
        self.answered_late(&from, &late);
    }

    /// Complete the ancestry of a message: one that follows from nothing begins a thread, and a
    /// task of core a run.
    fn begin_thread(
        &mut self,
        number: MessageNo,
        from: &Address,
        mut ancestry: Ancestry,
        deliveries: &[Delivery],
        known: &[MessageRecord],
    ) -> Ancestry {
        if ancestry.thread.is_empty() {
            ancestry.thread.push(number);
        }
        if from.is_core() && deliveries.iter().any(|d| d.kind == Kind::Task) {
            ancestry.run = Some(number);
        }
        if let Some(run) = ancestry.run {
            let mesh = deliveries.first().map(|delivery| &delivery.to.mesh);
            self.open_run(run, mesh.filter(|_| run == number), known);
        }
        ancestry
    }

    /// Count a message for its run, and say whether it is within the limits.
    fn check_budget(&mut self, from: &Address, ancestry: &Ancestry, costs: bool) -> BudgetCheck {
        match from.is_core() {
            true => BudgetCheck::Within,
            false if ancestry.hops > HOPS => {
                BudgetCheck::Over(format!("it follows from {HOPS} messages in a row"))
            }
            // An edit costs nothing: the first version was already counted.
            false if !costs => BudgetCheck::Within,
            false => self.spend(ancestry.run, from),
        }
    }

    fn hold_accepted(
        &mut self,
        taken: AcceptedMessage,
        deliveries: Vec<Delivery>,
        ancestry: Ancestry,
        parts: Vec<u32>,
    ) {
        let AcceptedMessage {
            number,
            id,
            written,
            envelope,
            rearmatter,
            source,
        } = taken;
        let Ancestry {
            cause,
            thread,
            hops,
            run,
        } = ancestry;
        let from = envelope.from.clone();
        let claimed = Quality {
            grade: rearmatter.grade(),
            confidence: rearmatter.confidence(),
            reports: Vec::new(),
        };
        let is_outcome_of_agent = envelope.status.is_some() && !from.is_core();
        let is_claimed = is_outcome_of_agent && claimed != Quality::default();
        self.hold(OpenMessage {
            facts: MessageRecord {
                number,
                id,
                written,
                headline: envelope.headline.clone(),
                status: envelope.status.clone(),
                source,
                at: self.at,
                cause,
                thread,
                hops,
                run,
                work: self.work_of(&from),
                from,
                deliveries,
                refused: None,
                way: None,
                machines: Vec::new(),
                totals: None,
                inject_response: envelope.inject_response,
                wanted: false,
                quotes: Vec::new(),
                feature: envelope.feature.clone(),
                criteria: None,
                quality: is_claimed.then(|| Box::new(claimed)),
                read: None,
            },
            envelope: Some(Box::new(envelope)),
            rearmatter,
            parts,
            repair: false,
        });
    }

    /// End a message that is only to be recorded.
    fn end_headless(&mut self, number: MessageNo, from: &Address, way: Option<Forwarding>) {
        let why = "headless: recorded, not dispatched";
        self.end_all(number, Step::Finished, why);
        self.pay(from, number, way);
        if !from.is_core() {
            self.after_ask(from);
        }
    }

    /// An outcome that goes nowhere still finishes the work.
    fn pay(&mut self, from: &Address, number: MessageNo, way: Option<Forwarding>) {
        let given = self.given(from).is_some_and(Work::owes);
        let work = self.workers.get_mut(from).and_then(|w| w.status.work_mut());
        if let (Some(work), Some(way)) = (work.filter(|_| given), way) {
            work.outcomes.push(Routed { number, way });
            self.settle_outside_of_a_turn(from);
        }
    }

    /// The asks are closed, but the author now owes no answer to them.
    fn answered_late(&mut self, from: &Address, late: &[MessageNo]) {
        if late.is_empty() {
            return;
        }
        if let Some(work) = self.worker_mut(from).status.work_mut() {
            work.answered.extend(late);
        }
        self.settle_if_answered(from);
    }

    /// An accepted message resets the count of repair notes.
    fn heard_from(&mut self, from: &Address, fallback: bool) {
        let (outside, written) = (self.output.outside.is_some(), self.output.written);
        let worker = self.worker_mut(from);
        worker.notes = 0;
        // A message may arrive before the report that its turn was delivered.
        let in_turn = worker.status.is() == Phase::Working || written == Some(worker.turn);
        if let Some(work) = worker.status.work_mut() {
            work.spoke |= in_turn && !outside;
            if fallback {
                work.misrouted = 0;
            }
        }
    }

    pub(super) fn warn(&mut self, from: &Address, warning: &str, about: MessageNo) {
        if from.is_core() {
            self.tell_core("about your message", warning.to_owned(), Some(about));
        } else {
            self.hint(from, "about your message", warning.to_owned(), Some(about));
        }
    }

    /// Park a message that is over a limit. Nobody may wait for it.
    fn park_over_budget(
        &mut self,
        number: MessageNo,
        from: &Address,
        way: Option<Forwarding>,
        answers: &[MessageNo],
        why: &str,
    ) {
        if let Some(held) = self.messages.get_mut(number) {
            held.facts.way.clone_from(&way);
        }
        let body = format!("{from}: {why}");
        let headline = self.parked_headline("a message was parked", Some(number), &body);
        self.tell_core_of_parked(&headline, body, Some(number));
        if let Some(Forwarding::Machine(stage)) = &way {
            self.outcome_over_budget(stage, from, number, why);
        }
        self.end_all(number, Step::Parked, why);
        if way.is_some() {
            // The author's work is finished anyway: the chain ends here.
            self.pay(from, number, way);
            // The author may have waited only for the asks that it has just withdrawn.
            return self.after_ask(from);
        }
        for ask in answers {
            let body = format!("The answer of {from} was parked: {why}.");
            self.close_with_note(*ask, from, "the answer to your question was parked", body);
        }
        if answers.is_empty() {
            let body = format!("Your message was parked: {why}. Give your outcome.");
            self.repair_note(from, "your message was parked", body);
        } else {
            self.answered_late(from, answers);
        }
    }

    /// End an outcome that is not routed. Deliveries that did not wait for the end of the work
    /// continue.
    pub(super) fn end_outcome(&mut self, number: MessageNo, step: Step, why: &str) {
        let held = self.messages.get(number).into_iter();
        let deliveries = held.flat_map(|held| &held.facts.deliveries);
        let waits = deliveries.filter(|delivery| delivery.waits_for_work());
        let keys: Vec<Delivery> = waits.cloned().collect();
        for delivery in keys {
            self.end(number, delivery.key(), step, Some(why.to_owned().into()));
        }
    }

    pub(super) fn end_all(&mut self, number: MessageNo, step: Step, why: &str) {
        let Some(held) = self.messages.get(number) else {
            return;
        };
        for delivery in held.facts.deliveries.clone() {
            self.end(number, delivery.key(), step, Some(why.to_owned().into()));
        }
    }
}

/// The number of the outcome that opens a block identifies the block.
fn number_block(deliveries: &mut [Delivery], number: MessageNo) {
    for delivery in deliveries {
        if let Some(WorkflowPlace::Member(member)) = &mut delivery.place {
            member.block = number;
        }
    }
}
