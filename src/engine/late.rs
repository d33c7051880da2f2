//! Late outcomes, which come after their work was over. They pass the gates like any other, and
//! then finish the parked work.

use super::checking::CHECK_ERRORS;
use super::event::Timer;
use super::lines::headline_of;
use super::message_record::{Delivery, DeliveryStep, MessageNo, MessageRecord, Step};
use super::round::{LateCheck, Reported, Round};
use super::state::State;
use super::work::{Member, Routed, WorkflowPlace};
use crate::model::Address;

impl State {
    /// Check a late outcome. If it passes, it finishes the parked work.
    pub(super) fn check_late(
        &mut self,
        who: &Address,
        outcome: Routed,
        parked: Vec<MessageNo>,
        known: &[MessageRecord],
    ) {
        let is_parked = |facts: &&MessageRecord| parked.contains(&facts.number);
        let known: Vec<MessageRecord> = known.iter().filter(is_parked).cloned().collect();
        let late = LateCheck {
            outcome,
            parked,
            known,
            job: 0,
            round: Round::default(),
            errors: 0,
            due: 0,
        };
        self.begin_late(who, late, Vec::new());
    }

    fn begin_late(&mut self, who: &Address, mut late: LateCheck, kept: Vec<Reported>) {
        late.job = self.next_job(who);
        let number = late.outcome.number;
        late.round = self.begin_round(who, late.job, &[number], &late.parked, kept);
        if late.round.pending.is_empty() {
            self.touch_agent(who);
            return self.judge_late(who, late);
        }
        late.due = self.at + late.round.time.max(super::dispatch::CHECKING);
        let (job, due) = (late.job, late.due);
        self.timers
            .change(Timer::Check(who.clone(), job), None, Some(due));
        self.worker_mut(who).late.push(late);
        self.touch_agent(who);
    }

    fn take_late(&mut self, who: &Address, job: u32) -> Option<LateCheck> {
        let all = &mut self.worker_mut(who).late;
        let place = all.iter().position(|late| late.job == job)?;
        let late = all.remove(place);
        self.timers
            .change(Timer::Check(who.clone(), job), Some(late.due), None);
        Some(late)
    }

    /// The check of a late outcome has timed out.
    pub(super) fn late_check_due(&mut self, who: &Address, job: u32) {
        self.touch_agent(who);
        if let Some(mut late) = self.take_late(who, job) {
            self.withdraw_evaluations(who, &late.round);
            let reports = late.round.give_up();
            self.note_reports(&reports);
            self.judge_late(who, late);
        }
    }

    pub(super) fn judge_late_if_complete(&mut self, who: &Address, job: u32) {
        let all = self
            .workers
            .get(who)
            .into_iter()
            .flat_map(|worker| &worker.late);
        let mut complete = all.filter(|late| late.job == job && late.round.is_complete());
        if complete.next().is_some()
            && let Some(late) = self.take_late(who, job)
        {
            self.judge_late(who, late);
        }
    }

    fn judge_late(&mut self, who: &Address, mut late: LateCheck) {
        let number = late.outcome.number;
        if late.round.failed() {
            let findings = late.round.findings();
            self.end_outcome(number, Step::Refused, "it failed its gates");
            let headline = "your late outcome failed its gates";
            self.hint(who, headline, findings.clone(), None);
            let body = format!(
                "{who}: an outcome that came late failed its gates, and its work stays parked.\n\n{findings}"
            );
            let headline = format!(
                "a late outcome failed its gates: {}",
                headline_of(&findings)
            );
            return self.tell_core(&headline, body, late.parked.first().copied());
        }
        let error = late.round.errors().next().cloned();
        if let Some(Reported {
            report, repeats, ..
        }) = error
        {
            late.errors += 1;
            if repeats && late.errors < CHECK_ERRORS {
                let kept = late.round.kept();
                return self.begin_late(who, late, kept);
            }
            let why = format!("gate {} cannot tell: {}", report.gate, report.findings);
            if let Some(held) = self.messages.get_mut(number) {
                held.facts.way = Some(late.outcome.way.clone());
            }
            let body = format!("{who}: {why}");
            let headline = self.parked_headline("an outcome was parked", Some(number), &body);
            self.tell_core_of_parked(&headline, body, Some(number));
            return self.end_outcome(number, Step::Parked, &why);
        }
        self.finish_late(who, late.outcome, &late.parked, &late.known);
    }

    /// Finish parked work with a late outcome. Returns whether the outcome was about that work.
    pub(super) fn finish_parked(
        &mut self,
        who: &Address,
        number: MessageNo,
        by: &Routed,
        known: &[MessageRecord],
    ) -> bool {
        let held = self.messages.facts(number);
        // The record of a message that has left comes from the journal.
        let facts = held.or_else(|| known.iter().find(|facts| facts.number == number));
        let parked = facts.and_then(|facts| self.parked_of(who, facts, by));
        let parked = parked.cloned();
        if let Some(parked) = &parked
            && let Some(late) = self.stays_parked(who, parked, by)
        {
            return late;
        }
        let is_known = facts.is_some();
        let last = self.worker_mut(who).last.as_mut();
        if let Some(last) = last.filter(|last| last.number == number) {
            last.parked = false;
        }
        let Some(parked) = parked else {
            return is_known;
        };
        let why = "an outcome came after all";
        if self.end_parked_item(number, &parked.to, Step::Finished, why) {
            return true;
        }
        if self.messages.facts(number).is_some() {
            self.record_step(number, parked.key(), Step::Finished, Some(why.into()));
            return true;
        }
        let known = known.iter().find(|facts| facts.number == number);
        let Some(mut facts) = known.cloned() else {
            return false;
        };
        let (at, record) = (self.at, self.seq);
        if let Some(delivery) = facts.delivery_at_mut(parked.key()) {
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

    /// The parked delivery that an outcome is about: that of its member, or else of its
    /// author's previous work, or else any.
    fn parked_of<'f>(
        &self,
        who: &Address,
        facts: &'f MessageRecord,
        by: &Routed,
    ) -> Option<&'f Delivery> {
        let is_parked = |delivery: &&Delivery| delivery.step() == Step::Parked;
        let member = by.way.member().cloned().map(WorkflowPlace::Member);
        let own = member.and_then(|place| facts.delivery_at((who, Some(&place))));
        let last = self
            .workers
            .get(who)
            .and_then(|worker| worker.last.as_ref());
        let last = last.filter(|last| last.number == facts.number);
        let last = last.and_then(|last| facts.delivery_at((who, last.place.as_ref())));
        let own = own.filter(is_parked).or_else(|| last.filter(is_parked));
        own.or_else(|| facts.parked_at(who))
    }

    /// The work of a member of an open block is finished only by a success of that member, so
    /// that a person can retry or drop it until then. `None`: the outcome finishes the work.
    /// `Some`: the work stays parked, and the value says whether the outcome is an `error` of
    /// the same member, which is kept with its failures.
    fn stays_parked(&self, who: &Address, parked: &Delivery, by: &Routed) -> Option<bool> {
        let member = parked.member()?;
        if !self.fan_outs.is_undecided(member, who) {
            return None;
        }
        let own = by.way.member().map(Member::id) == Some(member.id());
        let outcome = self.messages.facts(by.number);
        let failed = outcome.is_some_and(MessageRecord::is_error);
        (!own || failed).then_some(own)
    }

    /// A parked message was dropped or retried, so a late outcome no longer finishes it.
    pub(super) fn forget_late(&mut self, number: MessageNo) {
        for worker in self.workers.values_mut() {
            for late in &mut worker.late {
                late.parked.retain(|parked| *parked != number);
            }
            let also = worker.status.work_mut().map(|work| &mut work.also);
            for also in also.into_iter().flatten() {
                also.parked.retain(|parked| *parked != number);
            }
        }
    }
}
