//! Outcomes go through gates: a round of all of them, then on, back to their author, or no
//! further.

use super::accept::AcceptedMessage;
use super::gates::{claims, report, report_of, wrong_sources, wrong_with};
use super::jobs::{Job, JobResult};
use super::message_record::{MessageNo, Source, Step};
use super::notes::Note;
use super::round::{Pending, Reported, Reporter, Round, RoundPurpose};
use super::signal_data::SignalData;
use super::state::State;
use super::table::decide;
use super::transitions::{Signal, Transition};
use super::work::Work;
use super::worker::WorkerState;
use crate::model::{
    Address, Check, Envelope, Gate, GateReport, GateVerdict, Iteration, Kind, Line, MANIFEST_GATE,
    Mesh, OnFail, OnGateError, OutcomeWord, Quality, Rearmatter, utc,
};

/// How often gates may not be able to tell before work is parked.
pub(super) const CHECK_ERRORS: u32 = 3;
/// What a job may take besides its own time.
const JOB_EXTRA: i64 = 60_000;
/// As much of the findings as a headline has.
const HEADLINE: usize = 160;

impl State {
    /// The gates that an outcome of a worker must pass. One that its own evaluator would judge is
    /// left out: nobody judges itself.
    pub(super) fn gates_of(&self, who: &Address, outcome: MessageNo) -> Vec<Gate> {
        let word = self
            .messages
            .facts(outcome)
            .and_then(|facts| facts.status.clone());
        let (Some(mesh), Some(word)) = (self.mesh(&who.mesh), word) else {
            return Vec::new();
        };
        let judges_itself = |gate: &Gate| match &gate.check {
            Check::Evaluation(evaluation) => evaluation.evaluator == who.agent,
            Check::Rearmatter(_)
            | Check::Accuracy(_)
            | Check::Commands(_)
            | Check::Command(_)
            | Check::Evidence(_)
            | Check::Files { .. } => false,
        };
        let is_meant = |gate: &&Gate| {
            gate.words.contains(&word)
                && gate.agent.as_ref().is_none_or(|name| *name == who.agent)
                && !judges_itself(gate)
        };
        let gates = mesh.gates.iter().filter(is_meant).cloned();
        gates.chain(manifest_gate(mesh, who, &word)).collect()
    }

    /// Must an outcome pass gates: of the mesh, or of the state that it leaves?
    pub(super) fn is_gated(&self, who: &Address, outcome: MessageNo) -> bool {
        !self.gates_of(who, outcome).is_empty() || self.stage_gates(who, outcome).is_some()
    }

    /// Must an outcome of work pass gates?
    pub(super) fn must_be_checked(&self, who: &Address, work: &Work) -> bool {
        let mut outcomes = work.outcomes.iter();
        outcomes.any(|outcome| self.is_gated(who, outcome.number))
    }

    /// The next number for jobs of a worker.
    pub(super) fn next_job(&mut self, who: &Address) -> u32 {
        let worker = self.worker_mut(who);
        worker.jobs += 1;
        worker.jobs
    }

    /// Have its outcomes checked. Of those that were before, some reports stand.
    pub(super) fn check(&mut self, who: &Address, mut work: Box<Work>, kept: Vec<Reported>) {
        work.job = self.next_job(who);
        let outcomes: Vec<MessageNo> = work.outcomes.iter().map(|it| it.number).collect();
        let about: Vec<MessageNo> = work.messages().collect();
        let round = self.begin_round(who, work.job, &outcomes, &about, kept);
        match round.is_complete() {
            true => self.judge(who, work, round),
            false => self.set(who, WorkerState::Checking { work, round }),
        }
    }

    /// Begin a round: what can be said at once is, the rest is asked for.
    pub(super) fn begin_round(
        &mut self,
        who: &Address,
        job: u32,
        outcomes: &[MessageNo],
        about: &[MessageNo],
        kept: Vec<Reported>,
    ) -> Round {
        let mut round = Round {
            reports: kept,
            ..Round::default()
        };
        let mut jobs = Vec::new();
        for outcome in outcomes {
            for gate in self.gates_of(who, *outcome) {
                let mut known = round.reports.iter();
                if known.any(|it| it.outcome == *outcome && it.report.gate == gate.name) {
                    continue;
                }
                self.begin_gate(who, *outcome, gate, about, &mut round, &mut jobs);
            }
            self.begin_stage_gates(who, *outcome, &mut round, &mut jobs);
        }
        let times = jobs.iter().map(|job: &Job| job.time() + JOB_EXTRA);
        round.time = round.time.max(times.sum());
        round.jobs.clone_from(&jobs);
        if !jobs.is_empty() {
            let about = about.first().or(outcomes.first()).copied();
            self.run_jobs(who, job, about, jobs, outcomes, false);
        }
        round
    }

    /// The gates of the state that an outcome leaves.
    fn begin_stage_gates(
        &mut self,
        who: &Address,
        outcome: MessageNo,
        round: &mut Round,
        jobs: &mut Vec<Job>,
    ) {
        for (gate, job) in self.stage_gate_jobs(who, outcome) {
            let mut known = round.reports.iter();
            if known.any(|it| it.outcome == outcome && it.report.gate == gate) {
                continue;
            }
            let on_error = OnGateError::Block;
            match job {
                Ok(job) => {
                    jobs.push(job);
                    let by = Reporter::Jobs(1);
                    round.pending.push(Pending {
                        outcome,
                        gate,
                        on_error,
                        by,
                        warns: false,
                    });
                }
                Err(why) => {
                    let report = report(&gate, GateVerdict::Fail, why);
                    self.note_report(outcome, &report);
                    let repeats = false;
                    round.reports.push(Reported {
                        outcome,
                        report,
                        on_error,
                        repeats,
                    });
                }
            }
        }
    }

    fn begin_gate(
        &mut self,
        who: &Address,
        outcome: MessageNo,
        gate: Gate,
        about: &[MessageNo],
        round: &mut Round,
        jobs: &mut Vec<Job>,
    ) {
        let Gate {
            name,
            check,
            on_error,
            ..
        } = gate;
        let mut warns = false;
        let said = self
            .messages
            .get(outcome)
            .map(|held| held.rearmatter.clone());
        let said = said.unwrap_or_default();
        let by = match check {
            Check::Rearmatter(check) => Err(report_of(&name, &wrong_with(&check, &said))),
            Check::Accuracy(check) => Err(report_of(&name, &wrong_sources(&check, &said))),
            Check::Commands(programs) => {
                let stdin = None;
                jobs.extend(
                    programs
                        .iter()
                        .cloned()
                        .map(|program| Job::Gate { program, stdin }),
                );
                Ok(Reporter::Jobs(programs.len()))
            }
            Check::Command(program) => {
                let stdin = Some(outcome);
                jobs.push(Job::Gate { program, stdin });
                Ok(Reporter::Jobs(1))
            }
            Check::Evidence(checks) => {
                let found = claims(&said, &checks, outcome, self.run_began(outcome));
                match found.jobs.is_empty() {
                    true => Err(report_of(&name, &found.wrong)),
                    false => {
                        let mut expected = Vec::new();
                        for (job, exit, claim) in found.jobs {
                            jobs.push(job);
                            expected.push((exit, claim));
                        }
                        let (wrong, claims) = (found.wrong, expected);
                        Ok(Reporter::Claims { wrong, claims })
                    }
                }
            }
            Check::Files { files, strict } => {
                warns = !strict;
                let began = self.run_began(outcome);
                let claims = files.iter().map(|file| (0, format!("file {}", file.id)));
                let claims = claims.collect();
                jobs.extend(files.into_iter().map(|file| Job::File {
                    since: if file.fresh { began } else { 0 },
                    path: file.path,
                    not_empty: true,
                }));
                let wrong = Vec::new();
                Ok(Reporter::Claims { wrong, claims })
            }
            Check::Evaluation(evaluation) => {
                round.allow(evaluation.timeout);
                let asked = self.ask_evaluator(who, &name, &evaluation, Some(outcome), about);
                asked.map_err(|why| report(&name, GateVerdict::Error, why))
            }
        };
        match by {
            Ok(by) => round.pending.push(Pending {
                outcome,
                gate: name,
                on_error,
                warns,
                by,
            }),
            Err(report) => {
                self.note_report(outcome, &report);
                let repeats = false;
                round.reports.push(Reported {
                    outcome,
                    report,
                    on_error,
                    repeats,
                });
            }
        }
    }

    /// When the run of a message began.
    fn run_began(&self, number: MessageNo) -> i64 {
        let facts = self.messages.facts(number);
        let run = facts
            .and_then(|facts| facts.run)
            .and_then(|run| self.messages.facts(run));
        run.or(facts).map_or(self.at, |facts| facts.at)
    }

    /// A report goes with its outcome: on its ladder, and with what is known of its quality.
    fn note_report(&mut self, outcome: MessageNo, report: &GateReport) {
        let first = report.findings.lines().next().unwrap_or_default();
        let first: String = first.chars().take(HEADLINE).collect();
        let words = match first.is_empty() {
            true => format!("gate {}: {}", report.gate, report.verdict.as_str()),
            false => format!("gate {}: {}: {first}", report.gate, report.verdict.as_str()),
        };
        let Some(held) = self.messages.get_mut(outcome) else {
            return;
        };
        let quality = held
            .facts
            .quality
            .get_or_insert_with(Box::<Quality>::default);
        quality.reports.push(report.clone());
        self.note_on_outcome(outcome, &words);
    }

    /// A word on the ladder of an outcome that waits for its work.
    pub(super) fn note_on_outcome(&mut self, outcome: MessageNo, words: &str) {
        let Some(held) = self.messages.get(outcome) else {
            return;
        };
        let waits = held.facts.deliveries.iter().filter(|d| d.waits_for_work());
        let to: Vec<Address> = waits.map(|delivery| delivery.to.clone()).collect();
        for to in to {
            self.record_step(outcome, &to, Step::Accepted, Some(words.to_owned().into()));
        }
    }

    /// Jobs for a worker have ended.
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

    /// An evaluator has reported on an outcome of a worker, under the number it was asked by.
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

    pub(super) fn note_reports(&mut self, reports: &[Reported]) {
        for reported in reports {
            self.note_report(reported.outcome, &reported.report);
            self.tell_of_files(reported);
        }
    }

    /// A missing file that does not fail the work: its author is told.
    fn tell_of_files(
        &mut self,
        Reported {
            outcome, report, ..
        }: &Reported,
    ) {
        let is_warning = report.gate == MANIFEST_GATE && report.verdict == GateVerdict::Pass;
        let from = self
            .messages
            .facts(*outcome)
            .map(|facts| facts.from.clone());
        if let Some(from) = from.filter(|_| is_warning && !report.findings.is_empty()) {
            self.warn(
                &from,
                &format!("your work should leave files:\n{}", report.findings),
                *outcome,
            );
        }
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

    /// The checks take too long.
    pub(super) fn checks_timed_out(&mut self, who: &Address, work: Box<Work>, mut round: Round) {
        self.withdraw_evaluations(who, &round);
        let late = round.give_up();
        if round.purpose == RoundPurpose::Outcomes {
            self.note_reports(&late);
        }
        match round.reports.is_empty() {
            // It was begun by rules that knew no rounds.
            true => self.check(who, work, Vec::new()),
            false => self.judge(who, work, round),
        }
    }

    /// Something changed while outcomes are checked: all is checked again.
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

    /// After a start: jobs that are waited for are asked for again, by the numbers they had.
    pub(super) fn run_checks_again(&mut self, who: &Address) {
        let worker = self.worker_mut(who);
        let about = worker.status.work().and_then(|work| work.messages().next());
        let outcomes = worker.status.work();
        let outcomes = outcomes.map(|work| work.outcomes.iter().map(|it| it.number).collect());
        let outcomes: Vec<MessageNo> = outcomes.unwrap_or_default();
        let mut again = Vec::new();
        let mut until_failure = false;
        if let Some((job, round)) = worker
            .status
            .round_mut()
            .filter(|(_, r)| r.waits_for_jobs())
        {
            until_failure = round.is_before();
            again.push((job, about, round.jobs.clone(), outcomes));
        }
        for late in worker
            .late
            .iter()
            .filter(|late| late.round.waits_for_jobs())
        {
            let about = late.parked.first().copied().unwrap_or(late.outcome.number);
            let outcome = vec![late.outcome.number];
            again.push((late.job, Some(about), late.round.jobs.clone(), outcome));
        }
        for (job, about, jobs, outcomes) in again {
            self.run_jobs(who, job, about, jobs, &outcomes, until_failure);
        }
        // One that was begun by rules that knew no rounds is begun again.
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
        // An edit may have taken away what was checked.
        if !work.is_done() {
            return self.settle(who, work, None);
        }
        match self.worker_mut(who).asking.is_empty() {
            true => self.complete_work(who, work),
            false => self.wait(who, work),
        }
    }

    /// Gates failed: all findings go back to the author, unless that was done often enough.
    fn send_back(&mut self, who: &Address, mut work: Box<Work>, round: &Round) {
        work.check_errors = 0;
        work.iteration += 1;
        for outcome in std::mem::take(&mut work.outcomes) {
            self.end_outcome(outcome.number, Step::Refused, "it failed its gates");
        }
        let findings = round.findings();
        work.findings.push(findings.clone());
        let rules = self
            .mesh(&who.mesh)
            .map(|mesh| match round.failed_by_files_alone() {
                // The manifest has its own rules.
                true => Iteration {
                    max: mesh.manifest.rules.max_retry,
                    on_fail: OnFail::Loop,
                },
                false => mesh.iteration,
            })
            .unwrap_or_default();
        if work.iteration > rules.max {
            let why = self.history(&work);
            return match rules.on_fail {
                OnFail::Loop => self.park_with(who, *work, &why, Some(&findings)),
                OnFail::Halt => self.halt(who, work, &why, &findings),
            };
        }
        let left = rules.max - work.iteration;
        let body = format!(
            "{findings}\n\nFix this, then give your outcome again. It was sent back {} times; it is sent back {left} times more.",
            work.iteration
        );
        let note = self.write_message(&Note {
            to: who,
            kind: Kind::Lifecycle,
            headline: "your outcome failed its gates",
            body,
            about: work.messages().next(),
            hops: 0,
        });
        self.record_step(note, who, Step::Queued, None);
        work.waiting.push(note);
        self.settle(who, work, None);
    }

    /// What the gates found, round by round.
    fn history(&self, work: &Work) -> String {
        let rounds = work.findings.iter().enumerate();
        let rounds: Vec<String> = rounds
            .map(|(n, findings)| format!("Round {}:\n{findings}", n + 1))
            .collect();
        let times = work.findings.len();
        format!(
            "its outcome failed its gates {times} times\n\n{}",
            rounds.join("\n\n")
        )
    }

    /// The author never passed: its mesh goes on with the outcome `error`.
    fn halt(&mut self, who: &Address, work: Box<Work>, why: &str, findings: &str) {
        let status: OutcomeWord = "error".parse().expect("a word is a status");
        let headline = format!("gates failed: {}", first_line(findings));
        let number = self.next_number();
        let body = format!("tx wrote this for {who}: {why}");
        let id = self.letter_of_output(number, who, &status, &headline, &body);
        let now = utc(self.at).fixed_offset();
        let envelope = Envelope {
            status: Some(status),
            ..Envelope::new(who.clone(), id.clone(), Line::from(headline), now)
        };
        self.worker_mut(who).status = WorkerState::Working { work };
        let plan = self.plan(&envelope, &[], &[], &Rearmatter::default(), true);
        let planned = plan.is_ok();
        if let Ok(plan) = plan {
            let source = Source::Own {
                record: self.seq,
                body,
            };
            let taken = AcceptedMessage {
                number,
                id,
                written: None,
                envelope,
                rearmatter: Rearmatter::default(),
                source,
            };
            self.accept(taken, plan, &[], false);
        }
        if let Some(work) = self.take_status(who).into_work() {
            match planned {
                true => self.settle(who, work, None),
                false => self.park_with(who, *work, why, Some(findings)),
            }
        }
    }
}

/// The gate of the files that an agent has to leave, if the mesh lists some.
fn manifest_gate(mesh: &Mesh, who: &Address, word: &OutcomeWord) -> Option<Gate> {
    let files = mesh.manifest.checks_after(&who.agent);
    let is_meant = !matches!(word.as_str(), "error" | "blocked") && !files.is_empty();
    let strict = mesh.manifest.rules.strict;
    is_meant.then(|| Gate {
        name: MANIFEST_GATE.into(),
        agent: Some(who.agent.clone()),
        words: vec![word.clone()],
        check: Check::Files { files, strict },
        on_error: match strict {
            true => OnGateError::Block,
            false => OnGateError::Pass,
        },
    })
}

/// The first line of findings, as long as a headline.
pub(super) fn first_line(findings: &str) -> String {
    let mut lines = findings
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    lines
        .next()
        .unwrap_or_default()
        .chars()
        .take(HEADLINE)
        .collect()
}
