//! A state change: everything that is evaluated while a machine leaves a state and enters the
//! next.
//!
//! A change is data. It advances until it needs a job, gets the results of its jobs, and
//! changes nothing but itself: the machine keeps its old state and variables until everything
//! is decided.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::state_jobs::{first_agent, gate_jobs, job_of, name_of, said};
use super::{Machine, MachineId, VariableValue};
use crate::engine::jobs::{Job, JobEnd, JobResult};
use crate::engine::message_record::MessageNo;
use crate::engine::open_messages::OpenMessages;
use crate::engine::skipped::{is_false, is_zero};
use crate::model::{
    Address, ExitRun, MachineRules, StateGates, StateKind, StateName, StateRules, VariableName,
};

/// A state change in progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateChange {
    /// The messages that leave the state and enter the next.
    pub messages: Vec<MessageNo>,
    /// The author of the outcome, if the state was a stage. The outcome can be sent back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Address>,
    /// The outcome word is `error` or `blocked`. Only a condition on `status` accepts it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failing: bool,
    /// The results of the state's block leave it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub of_block: bool,
    /// How far the change is.
    pub point: ChangePoint,
    /// The values of the variables so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<VariableName, VariableValue>,
    /// The next state that a script named, and the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<(StateName, String)>,
    /// The next state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<StateName>,
    /// Why that state: `when 2: signal == "REFINE"`, `default`, `run: r`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The number of the running job batch.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub job: u32,
    /// The running jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// How often jobs gave no verdict.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub errors: u32,
    /// The deadline of the jobs, in milliseconds since 1970.
    #[serde(default)]
    pub due: i64,
    /// Remarks for people, until they are on the ladder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// How far a state change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangePoint {
    /// The exit gates, if no check of an author's outcome has run them.
    ExitGates,
    /// The exit assignment with this index.
    ExitSet(usize),
    /// The exit script with this index.
    ExitRun(usize),
    /// The choice of the next state.
    Decide,
    /// The entry gates.
    EntryGates,
    /// The entry assignment with this index.
    EntrySet(usize),
    /// The entry script with this index.
    EntryRun(usize),
    /// Everything is decided.
    Enter,
}

/// What a change needs to know.
pub(super) struct Around<'a> {
    pub(super) id: &'a MachineId,
    pub(super) machine: &'a Machine,
    pub(super) rules: &'a MachineRules,
    pub(super) messages: &'a OpenMessages,
    /// How often a stage may be sent back.
    pub(super) iterations: u32,
    /// The current journal record, which sets variables.
    pub(super) record: u64,
}

/// What follows for a change.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// These jobs have to run first.
    Jobs(Vec<Job>),
    /// The next state can be entered.
    Enter,
    /// The change is not possible.
    Park {
        why: String,
        /// A person can grant one more step.
        one_more_step: bool,
    },
    /// The gates of the next state send the outcome back to its author.
    SendBack(String),
}

impl StateChange {
    /// A change that leaves the machine's current state.
    pub(super) fn leaving(machine: &Machine, messages: Vec<MessageNo>, point: ChangePoint) -> Self {
        StateChange {
            messages,
            author: None,
            failing: false,
            of_block: false,
            point,
            variables: machine.variables.clone(),
            named: None,
            target: None,
            reason: String::new(),
            job: 0,
            jobs: Vec::new(),
            errors: 0,
            due: 0,
            notes: Vec::new(),
        }
    }

    /// The change that begins a machine.
    pub(super) fn beginning(machine: &Machine, initial: StateName) -> Self {
        StateChange {
            target: Some(initial),
            reason: "begin".into(),
            ..Self::leaving(machine, machine.entered.clone(), ChangePoint::EntryGates)
        }
    }

    /// The change from its beginning, by the current rules.
    pub(super) fn started_over(&self, machine: &Machine, rules: Option<&MachineRules>) -> Self {
        let first = match machine.state {
            Some(_) => {
                let gated = self.author.is_none() && !self.failing && !self.of_block;
                let point = match gated {
                    true => ChangePoint::ExitGates,
                    false => ChangePoint::ExitSet(0),
                };
                Self::leaving(machine, self.messages.clone(), point)
            }
            None => {
                let initial = rules.and_then(|rules| rules.initial.clone());
                let initial = initial.or_else(|| self.target.clone());
                let begun = Self::leaving(machine, self.messages.clone(), ChangePoint::EntryGates);
                StateChange {
                    target: initial,
                    reason: "begin".into(),
                    ..begun
                }
            }
        };
        StateChange {
            author: self.author.clone(),
            failing: self.failing,
            of_block: self.of_block,
            ..first
        }
    }

    /// Advance until a job is needed or the change is decided.
    pub(super) fn go_on(&mut self, around: &Around) -> Next {
        loop {
            let (next, jobs) = match self.point {
                ChangePoint::ExitGates => match self.exit_gates(around) {
                    Ok(jobs) => (ChangePoint::ExitSet(0), jobs),
                    Err(why) => return self.park(why),
                },
                ChangePoint::ExitSet(at) => match self.exit(around) {
                    Ok(exit) => match self.set(around, &exit.exit.set, at) {
                        Some(job) => (ChangePoint::ExitSet(at), vec![job]),
                        None => (ChangePoint::ExitRun(0), Vec::new()),
                    },
                    Err(why) => return self.park(why),
                },
                ChangePoint::ExitRun(at) => match self.exit(around) {
                    Ok(exit) => match &exit.exit.run {
                        ExitRun::Scripts(scripts) if !self.failing => match scripts.get(at) {
                            Some(script) => (ChangePoint::ExitRun(at), vec![job_of(script)]),
                            None => (ChangePoint::Decide, Vec::new()),
                        },
                        ExitRun::Scripts(_) | ExitRun::State(_) => {
                            (ChangePoint::Decide, Vec::new())
                        }
                    },
                    Err(why) => return self.park(why),
                },
                ChangePoint::Decide => match self.decide(around) {
                    Ok(()) => (ChangePoint::EntryGates, Vec::new()),
                    Err(why) => return self.park(why),
                },
                ChangePoint::EntryGates => {
                    if let Some(next) = self.may_enter(around) {
                        return next;
                    }
                    match self.entry_gates(around) {
                        Ok(jobs) => (ChangePoint::EntrySet(0), jobs),
                        Err(findings) => return self.refused_entry(around, findings),
                    }
                }
                ChangePoint::EntrySet(at) => match self.entry(around) {
                    Some(entry) => match self.set(around, &entry.entry.set, at) {
                        Some(job) => (ChangePoint::EntrySet(at), vec![job]),
                        None => (ChangePoint::EntryRun(0), Vec::new()),
                    },
                    None => return self.park(self.no_target()),
                },
                ChangePoint::EntryRun(at) => match self.entry(around) {
                    Some(entry) => match entry.entry.run.get(at) {
                        Some(script) => (ChangePoint::EntryRun(at), vec![job_of(script)]),
                        None => (ChangePoint::Enter, Vec::new()),
                    },
                    None => return self.park(self.no_target()),
                },
                ChangePoint::Enter => {
                    return match self.members(around) {
                        Ok(_) => Next::Enter,
                        Err(why) => self.park(why),
                    };
                }
            };
            if jobs.is_empty() {
                self.point = next;
                continue;
            }
            return Next::Jobs(jobs);
        }
    }

    /// Apply the results of its jobs. `Err` means that they gave no verdict.
    pub(super) fn absorb(
        &mut self,
        around: &Around,
        results: &[JobResult],
    ) -> Result<Option<Next>, String> {
        for result in results {
            if let JobEnd::Failed { why } = &result.end {
                return Err(why.clone());
            }
        }
        if results.len() < self.jobs.len() {
            return Err("a result is lost".into());
        }
        self.errors = 0;
        let failed = results.iter().find(|result| result.end != JobEnd::Code(0));
        match self.point {
            ChangePoint::ExitGates => {
                if let Some(failed) = failed {
                    let why = format!("its gates on the way out failed: {}", said(failed));
                    return Ok(Some(self.park(why)));
                }
                self.point = ChangePoint::ExitSet(0);
            }
            ChangePoint::EntryGates => {
                if let Some(failed) = failed {
                    return Ok(Some(self.refused_entry(around, said(failed))));
                }
                self.point = ChangePoint::EntrySet(0);
            }
            ChangePoint::ExitSet(at) => {
                let set = self
                    .exit(around)
                    .ok()
                    .and_then(|exit| exit.exit.set.get(at));
                self.set_by_script(around, set, results);
                self.point = ChangePoint::ExitSet(at + 1);
            }
            ChangePoint::EntrySet(at) => {
                let set = self.entry(around);
                let set = set.and_then(|entry| entry.entry.set.get(at));
                self.set_by_script(around, set, results);
                self.point = ChangePoint::EntrySet(at + 1);
            }
            ChangePoint::ExitRun(at) => {
                let script = self
                    .exit(around)
                    .ok()
                    .and_then(|exit| match &exit.exit.run {
                        ExitRun::Scripts(scripts) => scripts.get(at),
                        ExitRun::State(_) => None,
                    });
                let name = name_of(script);
                for result in results {
                    self.note_job("run", &name, result);
                    if result.end == JobEnd::Code(0) {
                        self.read_output(around, &result.output, Some(&name));
                    }
                }
                self.point = ChangePoint::ExitRun(at + 1);
            }
            ChangePoint::EntryRun(at) => {
                let entry = self.entry(around);
                let name = name_of(entry.and_then(|entry| entry.entry.run.get(at)));
                for result in results {
                    self.note_job("run", &name, result);
                    self.read_output(around, &result.output, None);
                }
                if let Some(failed) = failed {
                    let why = format!("`{name}` on the way in failed: {}", said(failed));
                    return Ok(Some(self.park(why)));
                }
                self.point = ChangePoint::EntryRun(at + 1);
            }
            ChangePoint::Decide | ChangePoint::Enter => {}
        }
        Ok(None)
    }

    pub(super) fn park(&self, why: String) -> Next {
        Next::Park {
            why,
            one_more_step: false,
        }
    }

    pub(super) fn no_target(&self) -> String {
        match &self.target {
            Some(target) => format!("the state `{target}` does not exist"),
            None => "there is no state to enter".into(),
        }
    }

    /// The rules of the state that is left.
    pub(super) fn exit<'a>(&self, around: &Around<'a>) -> Result<&'a StateRules, String> {
        let Some(state) = &around.machine.state else {
            return Err("there is no state to leave".into());
        };
        let rules = around.rules.states.get(state);
        rules.ok_or_else(|| format!("the state `{state}` does not exist"))
    }

    /// The rules of the state that is entered.
    pub(super) fn entry<'a>(&self, around: &Around<'a>) -> Option<&'a StateRules> {
        around.rules.states.get(self.target.as_ref()?)
    }

    fn exit_gates(&mut self, around: &Around) -> Result<Vec<Job>, String> {
        let gates = &self.exit(around)?.exit.gates;
        let all = gates.everyone.iter().chain(gates.agents.values().flatten());
        gate_jobs(all, around).map_err(|why| format!("its gates on the way out failed: {why}"))
    }

    fn entry_gates(&self, around: &Around) -> Result<Vec<Job>, String> {
        let Some(entry) = self.entry(around) else {
            return Ok(Vec::new());
        };
        let agent = first_agent(&entry.kind);
        let gates: &StateGates = &entry.entry.gates;
        match agent {
            Some(agent) => gate_jobs(gates.of(agent), around),
            None => gate_jobs(gates.everyone.iter(), around),
        }
    }

    fn refused_entry(&self, around: &Around, findings: String) -> Next {
        let target = self.target.as_ref().map_or("", StateName::as_str);
        let why = format!("the gates of `{target}` failed: {findings}");
        // A reload may have made something else of the state.
        let is_stage = |left: &StateRules| matches!(left.kind, StateKind::Work(_));
        let is_stage = self.author.is_some() && self.exit(around).is_ok_and(is_stage);
        match is_stage && around.machine.sent_back < around.iterations {
            true => Next::SendBack(why),
            false => self.park(why),
        }
    }
}
