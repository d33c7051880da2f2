//! Sends outcomes through gates. All gates run in one round. Then the outcomes are routed, sent
//! back to their author, or parked.

use super::jobs::JobResult;
use super::message_record::MessageNo;
use super::round::{Reported, Round, RoundPurpose};
use super::signal_data::SignalData;
use super::state::State;
use super::table::decide;
use super::transitions::{Signal, Transition};
use super::work::Work;
use super::worker::WorkerState;
use crate::model::{Address, GateReport};

/// How often gates may give no verdict before the work is parked.
pub(super) const CHECK_ERRORS: u32 = 3;

impl State {
    /// Must an outcome of the work pass gates?
    pub(super) fn must_be_checked(&self, who: &Address, work: &Work) -> bool {
        let mut outcomes = work.outcomes.iter();
        outcomes.any(|outcome| self.is_gated(who, outcome.number))
    }

    /// The next job number of a worker.
    pub(super) fn next_job(&mut self, who: &Address) -> u32 {
        let worker = self.worker_mut(who);
        worker.jobs += 1;
        worker.jobs
    }

    /// Check the outcomes of a worker. `kept` has reports of the previous round that still
    /// count.
    pub(super) fn check(&mut self, who: &Address, mut work: Box<Work>, kept: Vec<Reported>) {
        work.job = self.next_job(who);
        let outcomes: Vec<MessageNo> = work.outcomes.iter().map(|it| it.number).collect();
        let about: Vec<MessageNo> = work.messages().collect();
        let round = self.begin_round(who, work.job, &outcomes, &about, kept);
        // A reload may have removed the gates that gave no verdict before.
        match round.pending.is_empty() {
            true => self.judge(who, work, round),
            false => self.set(who, WorkerState::Checking { work, round }),
        }
    }

    /// Jobs of a worker have ended.
    pub(super) fn checked(&mut self, who: &Address, job: u32, results: &[JobResult]) {
        let Some(worker) = self.workers.get_mut(who) else {
            return;
        };
        let from = worker.status.is();
        if let Some(place) = worker.late.iter().position(|late| late.job == job) {
            let reports = worker.late[place].round.absorb(results);
            self.note_reports(&reports);
            self.touch_agent(who);
            return self.judge_late_if_complete(who, job);
        }
        let round = worker.status.round_mut().filter(|(known, _)| *known == job);
        let Some((_, round)) = round.filter(|(_, round)| round.waits_for_jobs()) else {
            return self.record_transition(
                who.clone(),
                from,
                Signal::Checked,
                Transition::OldCheck,
            );
        };
        let reports = round.absorb(results);
        let (complete, checks) = (round.is_complete(), round.purpose == RoundPurpose::Outcomes);
        if checks {
            self.note_reports(&reports);
        }
        self.act_on_round(who, complete);
    }

    /// An evaluator has reported on an outcome of `who`. `job` is the number under which it was
    /// asked.
    pub(super) fn evaluated(&mut self, who: &Address, job: u32, found: &GateReport) {
        let Some(worker) = self.workers.get_mut(who) else {
            return;
        };
        let late = worker.late.iter_mut().find_map(|late| {
            let reported = late.round.evaluated(job, found)?;
            Some((late.job, reported))
        });
        if let Some((of, reported)) = late {
            self.note_reports(&[reported]);
            return self.judge_late_if_complete(who, of);
        }
        let round = worker.status.round_mut();
        let Some((reported, complete)) = round.and_then(|(_, round)| {
            let reported = round.evaluated(job, found)?;
            let checks = round.purpose == RoundPurpose::Outcomes;
            Some((Some(reported).filter(|_| checks), round.is_complete()))
        }) else {
            return;
        };
        self.note_reports(reported.as_slice());
        self.act_on_round(who, complete);
    }

    fn act_on_round(&mut self, who: &Address, complete: bool) {
        let from = self.worker_mut(who).status.is();
        let by = match complete {
            true => decide(from, Signal::Checked),
            false => Transition::Later,
        };
        self.act(who, by, SignalData::Checked);
        self.record_transition(who.clone(), from, Signal::Checked, by);
    }

    /// The checks have timed out.
    pub(super) fn checks_timed_out(&mut self, who: &Address, work: Box<Work>, mut round: Round) {
        self.withdraw_evaluations(who, &round);
        let late = round.give_up();
        if round.purpose == RoundPurpose::Outcomes {
            self.note_reports(&late);
        }
        match round.reports.is_empty() {
            // The check was started under rules that had no rounds.
            true => self.check(who, work, Vec::new()),
            false => self.judge(who, work, round),
        }
    }

    /// The outcomes changed during their check. Check all of them again.
    pub(super) fn check_again(&mut self, who: &Address) {
        match self.take_status(who) {
            WorkerState::Checking { work, round } if round.purpose == RoundPurpose::Outcomes => {
                self.withdraw_evaluations(who, &round);
                match work.is_done() && self.must_be_checked(who, &work) {
                    true => self.check(who, work, Vec::new()),
                    false => self.settle(who, work, None),
                }
            }
            status => self.worker_mut(who).status = status,
        }
    }

    /// After a start, run pending jobs again, with their old numbers.
    pub(super) fn run_checks_again(&mut self, who: &Address) {
        let worker = self.worker_mut(who);
        let about = worker.status.work().and_then(|work| work.messages().next());
        let outcomes = worker.status.work();
        let outcomes = outcomes.map(|work| work.outcomes.iter().map(|it| it.number).collect());
        let outcomes: Vec<MessageNo> = outcomes.unwrap_or_default();
        let mut again = Vec::new();
        if let Some((job, round)) = worker
            .status
            .round_mut()
            .filter(|(_, r)| r.waits_for_jobs())
        {
            let until_failure = round.is_before();
            again.push((job, about, round.jobs.clone(), outcomes, until_failure));
        }
        for late in worker
            .late
            .iter()
            .filter(|late| late.round.waits_for_jobs())
        {
            let about = late.parked.first().copied().unwrap_or(late.outcome.number);
            let outcome = vec![late.outcome.number];
            again.push((
                late.job,
                Some(about),
                late.round.jobs.clone(),
                outcome,
                false,
            ));
        }
        for (job, about, jobs, outcomes, until_failure) in again {
            self.run_jobs(who, job, about, jobs, &outcomes, until_failure);
        }
        // A check that was started under rules without rounds starts again.
        let round = self.worker_mut(who).status.round_mut();
        if round.is_some_and(|(_, round)| *round == Round::default()) {
            self.check_again(who);
        }
    }

    /// All gates have reported.
    pub(super) fn judge(&mut self, who: &Address, mut work: Box<Work>, round: Round) {
        match &round.purpose {
            RoundPurpose::Outcomes => {}
            RoundPurpose::Before { why } => {
                let why = why.clone();
                return self.judge_before(who, work, &round, why);
            }
            RoundPurpose::After { outcomes } => {
                let outcomes = outcomes.clone();
                return self.judge_after(who, work, &round, &outcomes);
            }
        }
        if round.failed() {
            return self.send_back(who, work, &round);
        }
        let error = round.errors().next();
        if let Some(Reported {
            report, repeats, ..
        }) = error
        {
            work.check_errors += 1;
            return match *repeats && work.check_errors < CHECK_ERRORS {
                true => self.check(who, work, round.kept()),
                false => {
                    let why = format!("gate {} cannot tell: {}", report.gate, report.findings);
                    self.park_with(who, *work, &why, Some(&why));
                }
            };
        }
        // An edit may have withdrawn the outcome that was checked.
        if !work.is_done() {
            return self.settle(who, work, None);
        }
        match self.worker_mut(who).asking.is_empty() {
            true => self.complete_work(who, work),
            false => self.wait(who, work),
        }
    }
}
