//! Finds the gates that an outcome must pass, and starts a round of them. `checking` acts on
//! the reports.

use super::gates::{Claim, Claims, claims, report, report_of, wrong_sources, wrong_with};
use super::jobs::Job;
use super::message_record::MessageNo;
use super::round::{Pending, Reported, Reporter, Round};
use super::state::State;
use crate::model::{
    Address, Check, Gate, GateReport, GateTime, GateVerdict, MANIFEST_GATE, Mesh, OnGateError,
    OutcomeWord,
};

/// What a gate does when it is started.
enum GateStart {
    /// It reports at once.
    Reports(GateReport),
    /// Its report comes later. `warns`: a failure is only told to the author.
    Waits { by: Reporter, warns: bool },
}

impl GateStart {
    fn waits_for(by: Reporter) -> GateStart {
        let warns = false;
        GateStart::Waits { by, warns }
    }
}

impl State {
    /// The gates that an outcome must pass. A gate whose evaluator is the author is left out:
    /// no agent judges itself.
    pub(super) fn gates_of(&self, who: &Address, outcome: MessageNo) -> Vec<Gate> {
        let word = self
            .messages
            .facts(outcome)
            .and_then(|facts| facts.status.clone());
        let (Some(mesh), Some(word)) = (self.mesh(&who.mesh), word) else {
            return Vec::new();
        };
        let judges_itself = |gate: &Gate| gate.check.evaluator() == Some(&who.agent);
        let is_meant = |gate: &&Gate| {
            gate.time.words().contains(&word)
                && gate.agent.as_ref().is_none_or(|name| *name == who.agent)
                && !judges_itself(gate)
        };
        let gates = mesh.gates.iter().filter(is_meant).cloned();
        gates.chain(manifest_gate(mesh, who, &word)).collect()
    }

    /// Must an outcome pass gates, of the mesh or of the machine state that it leaves?
    pub(super) fn is_gated(&self, who: &Address, outcome: MessageNo) -> bool {
        !self.gates_of(who, outcome).is_empty() || self.stage_gates(who, outcome).is_some()
    }

    /// Start a round. Gates that need no job report at once.
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
        for outcome in outcomes {
            for gate in self.gates_of(who, *outcome) {
                if !round.has_report(*outcome, &gate.name) {
                    self.begin_gate(who, *outcome, gate, about, &mut round);
                }
            }
            self.begin_stage_gates(who, *outcome, &mut round);
        }
        round.time = round.time.max(Job::time_of(&round.jobs));
        if !round.jobs.is_empty() {
            // The jobs of a worker run one after the other, including those of its other
            // rounds.
            round.time = round.time.saturating_add(self.time_of_rounds(who));
            let about = about.first().or(outcomes.first()).copied();
            self.run_jobs(who, job, about, round.jobs.clone(), outcomes, false);
        }
        round
    }

    /// The timeouts of a worker's other rounds whose jobs are still running.
    fn time_of_rounds(&self, who: &Address) -> i64 {
        let worker = self.workers.get(who).into_iter();
        let rounds = worker.flat_map(|worker| {
            let late = worker.late.iter().map(|late| &late.round);
            worker.status.round().into_iter().chain(late)
        });
        let times = rounds.filter(|round| round.waits_for_jobs());
        times.map(|round| round.time).fold(0, i64::saturating_add)
    }

    /// Start the gates of the machine state that an outcome leaves.
    fn begin_stage_gates(&mut self, who: &Address, outcome: MessageNo, round: &mut Round) {
        for (gate, job) in self.stage_gate_jobs(who, outcome) {
            if round.has_report(outcome, &gate) {
                continue;
            }
            let start = match job {
                Ok(job) => {
                    round.jobs.push(job);
                    GateStart::waits_for(Reporter::Jobs(1))
                }
                Err(why) => GateStart::Reports(report(&gate, GateVerdict::Fail, why)),
            };
            self.expect_report(round, outcome, gate, OnGateError::Block, start);
        }
    }

    /// Start a gate. Programs become jobs of the round, an evaluator is asked, and a check of
    /// the rearmatter reports at once.
    fn begin_gate(
        &mut self,
        who: &Address,
        outcome: MessageNo,
        gate: Gate,
        about: &[MessageNo],
        round: &mut Round,
    ) {
        let Gate {
            name,
            check,
            on_error,
            ..
        } = gate;
        let held = self.messages.get(outcome);
        let said = held.map(|held| held.rearmatter.clone()).unwrap_or_default();
        let start = match check {
            Check::Rearmatter(check) => {
                GateStart::Reports(report_of(&name, &wrong_with(&check, &said)))
            }
            Check::Accuracy(check) => {
                GateStart::Reports(report_of(&name, &wrong_sources(&check, &said)))
            }
            Check::Commands(programs) => {
                let (count, stdin) = (programs.len(), None);
                let programs = programs.into_iter();
                let jobs = programs.map(|program| Job::Gate { program, stdin });
                round.jobs.extend(jobs);
                GateStart::waits_for(Reporter::Jobs(count))
            }
            Check::Command(program) => {
                let stdin = Some(outcome);
                round.jobs.push(Job::Gate { program, stdin });
                GateStart::waits_for(Reporter::Jobs(1))
            }
            Check::Evidence(checks) => {
                let Claims { wrong, jobs } =
                    claims(&said, &checks, outcome, self.run_began(outcome));
                match jobs.is_empty() {
                    true => GateStart::Reports(report_of(&name, &wrong)),
                    false => GateStart::waits_for(look_into(round, wrong, jobs)),
                }
            }
            Check::Files { files, strict } => {
                let began = self.run_began(outcome);
                let jobs = files.into_iter().map(|file| {
                    let job = Job::File {
                        since: if file.fresh { began } else { 0 },
                        path: file.path,
                        not_empty: true,
                    };
                    (job, 0, Claim::File(file.id))
                });
                GateStart::Waits {
                    by: look_into(round, Vec::new(), jobs),
                    warns: !strict,
                }
            }
            Check::Evaluation(evaluation) => {
                round.allow(evaluation.timeout);
                match self.ask_evaluator(who, &name, &evaluation, Some(outcome), about) {
                    Ok(by) => GateStart::waits_for(by),
                    Err(why) => GateStart::Reports(report(&name, GateVerdict::Error, why)),
                }
            }
        };
        self.expect_report(round, outcome, name, on_error, start);
    }

    /// Add a pending gate, or the report that it gave at once.
    fn expect_report(
        &mut self,
        round: &mut Round,
        outcome: MessageNo,
        gate: String,
        on_error: OnGateError,
        start: GateStart,
    ) {
        match start {
            GateStart::Waits { by, warns } => round.pending.push(Pending {
                outcome,
                gate,
                on_error,
                warns,
                by,
            }),
            GateStart::Reports(report) => {
                self.note_report(outcome, &report);
                round.report_at_once(outcome, report, on_error);
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
}

/// Add jobs that verify claims to a round.
fn look_into(
    round: &mut Round,
    wrong: Vec<String>,
    jobs: impl IntoIterator<Item = (Job, i32, Claim)>,
) -> Reporter {
    let mut claims = Vec::new();
    for (job, exit, claim) in jobs {
        round.jobs.push(job);
        claims.push((exit, claim));
    }
    Reporter::Claims { wrong, claims }
}

/// The gate for the files that an agent has to leave, if the manifest lists some.
fn manifest_gate(mesh: &Mesh, who: &Address, word: &OutcomeWord) -> Option<Gate> {
    let files = mesh.manifest.checks_after(&who.agent);
    let is_meant = !word.is_failure() && !files.is_empty();
    let strict = mesh.manifest.rules.strict;
    is_meant.then(|| Gate {
        name: MANIFEST_GATE.into(),
        agent: Some(who.agent.clone()),
        time: GateTime::Outcome(vec![word.clone()]),
        check: Check::Files { files, strict },
        on_error: match strict {
            true => OnGateError::Block,
            false => OnGateError::Pass,
        },
    })
}
