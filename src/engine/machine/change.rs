//! One change of state: what is evaluated on the way out of a state and into the next.
//!
//! A change is data. It goes on as far as no job is needed, is told what its jobs came to, and
//! touches nothing but itself: the machine has its old state and variables until all is decided.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{HeldValue, Machine, MachineId, VariableValue};
use crate::engine::jobs::{Job, JobEnd, JobResult};
use crate::engine::message_record::{MessageNo, MessageRecord};
use crate::engine::open_messages::OpenMessages;
use crate::engine::worker::{is_false, is_none};
use crate::model::{
    Address, Assignment, Count, Evaluated, ExitRun, Expression, Facts, Kind, MachineRules, Members,
    Name, PathSource, Script, Seconds, StateGate, StateGates, StateKind, StateName, StateRules,
    Target, TextPart, VariableName,
};

/// How long a script may take, in seconds.
const SCRIPT: u64 = 30;
/// The most members of a state's ensemble.
const MEMBERS: u32 = 100;

/// A change of state that is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateChange {
    /// What leaves the state, and enters the next.
    pub messages: Vec<MessageNo>,
    /// Who did the work of the state, if that was a stage: it can be sent back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Address>,
    /// The word is `error` or `blocked`: only a condition on `status` lets it pass.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failing: bool,
    /// How far it is.
    pub point: ChangePoint,
    /// What the variables hold so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<VariableName, VariableValue>,
    /// The next state, as a script named it, and the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<(StateName, String)>,
    /// The next state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<StateName>,
    /// Why that one: `when 2: signal == "REFINE"`, `default`, `run: r`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The number of the jobs that run.
    #[serde(default, skip_serializing_if = "is_none")]
    pub job: u32,
    /// The jobs that run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// How often jobs could not tell.
    #[serde(default, skip_serializing_if = "is_none")]
    pub errors: u32,
    /// When the time of the jobs is over.
    #[serde(default)]
    pub due: i64,
    /// What people are told of it, until that is on the ladder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// How far a change of state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangePoint {
    /// The gates on the way out, where no author's check has run them.
    ExitGates,
    /// This assignment on the way out.
    ExitSet(usize),
    /// This script on the way out.
    ExitRun(usize),
    /// Which state is next.
    Decide,
    /// The gates on the way in.
    EntryGates,
    /// This assignment on the way in.
    EntrySet(usize),
    /// This script on the way in.
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
    /// The record that sets variables now.
    pub(super) record: u64,
}

/// What a change comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    /// These jobs have to be run first.
    Jobs(Vec<Job>),
    /// The next state is entered.
    Enter,
    /// It cannot be.
    Park {
        why: String,
        /// A person can grant one more step.
        steps: bool,
    },
    /// The gates of the next state send the outcome back to its author.
    SendBack(String),
}

impl StateChange {
    /// A change of the state that the machine is in.
    pub(super) fn leaving(machine: &Machine, messages: Vec<MessageNo>, point: ChangePoint) -> Self {
        StateChange {
            messages,
            author: None,
            failing: false,
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

    /// From its first job, by the rules as they are now.
    pub(super) fn started_over(&self, machine: &Machine, rules: Option<&MachineRules>) -> Self {
        let first = match machine.state {
            Some(_) => {
                let gated = self.author.is_none() && !self.failing && machine.block.is_none();
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
            ..first
        }
    }

    /// Go on as far as no job is needed.
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

    /// Take the results of its jobs in; `Err`: they could not tell.
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

    fn park(&self, why: String) -> Next {
        Next::Park { why, steps: false }
    }

    fn no_target(&self) -> String {
        match &self.target {
            Some(target) => format!("the state `{target}` does not exist"),
            None => "there is no state to enter".into(),
        }
    }

    /// The rules of the state that is left.
    fn exit<'a>(&self, around: &Around<'a>) -> Result<&'a StateRules, String> {
        let Some(state) = &around.machine.state else {
            return Err("there is no state to leave".into());
        };
        let rules = around.rules.states.get(state);
        rules.ok_or_else(|| format!("the state `{state}` does not exist"))
    }

    /// The rules of the state that is entered.
    fn entry<'a>(&self, around: &Around<'a>) -> Option<&'a StateRules> {
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
        match self.author.is_some() && around.machine.sent_back < around.iterations {
            true => Next::SendBack(why),
            false => self.park(why),
        }
    }

    /// Assign from this one on. A value that bash computes is a job.
    fn set(&mut self, around: &Around, set: &[Assignment], from: usize) -> Option<Job> {
        let rest = set.get(from..).unwrap_or_default();
        if rest.is_empty() {
            return None;
        }
        let wants_all = rest.iter().any(|it| wants_all(&it.value, &self.variables));
        let given = OutcomeFacts::of(self, around, wants_all);
        for (place, assignment) in set.iter().enumerate().skip(from) {
            let name = &assignment.name;
            if let Some(text) = with_workspace(&assignment.value, &self.variables) {
                self.at_set(place);
                return Some(script_job(text));
            }
            let value = {
                let lookup = |name: &VariableName| self.text_of(around, name);
                match assignment.value.evaluate(&given.facts(around), &lookup) {
                    Evaluated::Script(text) => {
                        let job = script_job(text.to_owned());
                        self.at_set(place);
                        return Some(job);
                    }
                    Evaluated::Text(text) => Ok(HeldValue::Text(text)),
                    Evaluated::Copy(from) => {
                        let held = self.variables.get(from).map(|held| held.value.clone());
                        Ok(held.unwrap_or_default())
                    }
                    Evaluated::EnsembleOutput => Ok(HeldValue::Messages(self.messages.clone())),
                    Evaluated::Failed(why) => Err(why),
                }
            };
            self.assign(around, name, value);
        }
        None
    }

    fn at_set(&mut self, place: usize) {
        self.point = match self.point {
            ChangePoint::EntrySet(_) => ChangePoint::EntrySet(place),
            ChangePoint::ExitGates
            | ChangePoint::ExitSet(_)
            | ChangePoint::ExitRun(_)
            | ChangePoint::Decide
            | ChangePoint::EntryGates
            | ChangePoint::EntryRun(_)
            | ChangePoint::Enter => ChangePoint::ExitSet(place),
        };
    }

    fn set_by_script(
        &mut self,
        around: &Around,
        assignment: Option<&Assignment>,
        results: &[JobResult],
    ) {
        let (Some(assignment), Some(result)) = (assignment, results.first()) else {
            return;
        };
        self.note_job("set", assignment.name.as_str(), result);
        let value = match result.end == JobEnd::Code(0) {
            true => Ok(HeldValue::Text(result.output.trim().to_owned())),
            false => Err(format!("its script failed: {}", said(result))),
        };
        self.assign(around, &assignment.name, value);
    }

    /// A value that cannot be computed is nothing: a stale value never routes.
    fn assign(&mut self, around: &Around, name: &VariableName, value: Result<HeldValue, String>) {
        let value = match (value, around.rules.variables.get(name)) {
            (Err(why), _) => {
                self.notes.push(format!("set {}: {why}", name.as_str()));
                HeldValue::default()
            }
            (Ok(HeldValue::Text(text)), Some(variable)) => {
                let taken = variable.take(&text);
                if let Some(problem) = taken.problem {
                    self.notes.push(format!("set {}: {problem}", name.as_str()));
                }
                HeldValue::Text(taken.text)
            }
            (Ok(HeldValue::Messages(_)), Some(variable)) if variable.numeric => {
                let why = "it refers to messages, and the variable is numeric";
                self.notes.push(format!("set {}: {why}", name.as_str()));
                HeldValue::default()
            }
            (Ok(value), _) => value,
        };
        let record = around.record;
        self.variables
            .insert(name.clone(), VariableValue { value, record });
    }

    /// `name=value` lines set variables; a line that is a state names the next one.
    fn read_output(&mut self, around: &Around, output: &str, script: Option<&str>) {
        for line in output.lines() {
            let line = line.trim();
            let named = line.strip_prefix("next_state=").unwrap_or(line);
            if let (Some(script), Some((state, _))) = (script, around.rules.state_named(named)) {
                self.named = Some((state.clone(), script.to_owned()));
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            let name = VariableName::new(name.trim());
            let known = name.filter(|name| around.rules.variables.contains_key(name));
            if let Some(name) = known {
                self.assign(around, &name, Ok(HeldValue::Text(value.trim().to_owned())));
            }
        }
    }

    fn note_job(&mut self, what: &str, name: &str, result: &JobResult) {
        let end = match &result.end {
            JobEnd::Code(code) => format!("exit {code}"),
            JobEnd::Failed { why } => why.clone(),
        };
        let line = first_line(&result.output);
        self.notes.push(match line.is_empty() {
            true => format!("{what} {name}: {end}"),
            false => format!("{what} {name}: {end}: {line}"),
        });
    }

    /// Which state is next, and why.
    fn decide(&mut self, around: &Around) -> Result<(), String> {
        let exit = &self.exit(around)?.exit;
        let (target, reason) = match (&exit.run, &self.named) {
            (ExitRun::State(state), _) if !self.failing => (state.clone(), format!("run: {state}")),
            (_, Some((state, script))) if !self.failing => {
                (state.clone(), format!("run: {script}"))
            }
            (ExitRun::State(_) | ExitRun::Scripts(_), _) => {
                let given = OutcomeFacts::of(self, around, false);
                let lookup = |name: &VariableName| self.text_of(around, name);
                let facts = given.facts(around);
                let mut ways = exit.when.iter().zip(1..);
                let way = ways.find(|(when, _)| {
                    (!self.failing || when.condition.is_on_status())
                        && when.condition.holds(&facts, &lookup)
                });
                match (way, &exit.default) {
                    (Some((when, number)), _) => {
                        let text = when.text.trim();
                        (when.target.clone(), format!("when {number}: {text}"))
                    }
                    (None, Some(default)) if !self.failing => (default.clone(), "default".into()),
                    (None, _) => return Err("no way out of its state holds".into()),
                }
            }
        };
        (self.target, self.reason) = (Some(target), reason);
        Ok(())
    }

    /// What keeps the next state from being entered at all.
    fn may_enter(&self, around: &Around) -> Option<Next> {
        if self.entry(around).is_none() {
            return Some(self.park(self.no_target()));
        }
        let (machine, most) = (around.machine, around.rules.max_steps);
        (machine.step >= most.saturating_add(machine.granted)).then(|| Next::Park {
            why: format!("it has made {} steps (max_steps: {most})", machine.step),
            steps: true,
        })
    }

    /// How many members the ensemble of the next state has, if that is counted.
    pub(super) fn members(&self, around: &Around) -> Result<Option<u32>, String> {
        let Some(StateKind::Ensemble { block, .. }) = self.entry(around).map(|entry| &entry.kind)
        else {
            return Ok(None);
        };
        let Members::Copies { count, .. } = &block.members else {
            return Ok(None);
        };
        let (text, of) = match count {
            Count::Number(number) => return Ok(Some(*number)),
            Count::Bad(text) => (text.clone(), "count".to_owned()),
            Count::Variable(name) => (
                self.text_of(around, name).unwrap_or_default(),
                format!("count: ${}", name.as_str()),
            ),
        };
        let number = text.trim().parse::<u32>().ok();
        let number = number.filter(|number| *number <= MEMBERS);
        number.map(Some).ok_or_else(|| {
            let text: String = text.chars().take(60).collect();
            format!("{of} must be a whole number from 0 to {MEMBERS}, and is `{text}`")
        })
    }

    /// What a variable holds, as text: messages by their ids.
    fn text_of(&self, around: &Around, name: &VariableName) -> Option<String> {
        let held = self.variables.get(name)?;
        Some(held.value.as_text(around.messages))
    }

    /// Does a condition on `status` let this word pass? Values that need bash count as nothing.
    pub(super) fn passes_on_status(&self, around: &Around) -> bool {
        let mut dry = self.clone();
        dry.failing = true;
        let Ok(exit) = dry.exit(around) else {
            return false;
        };
        let set = &exit.exit.set;
        let mut from = 0;
        while dry.set(around, set, from).is_some() {
            let (ChangePoint::ExitSet(at) | ChangePoint::EntrySet(at)) = dry.point else {
                break;
            };
            if let Some(assignment) = set.get(at) {
                dry.assign(around, &assignment.name, Ok(HeldValue::default()));
            }
            from = at + 1;
        }
        dry.decide(around).is_ok()
    }

    /// The message that the outcome is, if it is one alone.
    fn only(&self, around: &Around) -> Option<MessageNo> {
        let of_block = around.machine.block.is_some();
        match self.messages.as_slice() {
            [one] if !of_block || self.target.is_some() => Some(*one),
            _ => None,
        }
    }

    /// What jobs get in their environment, and the variables that are files with messages.
    pub(super) fn environment(&self, around: &Around) -> JobEnvironment {
        let mut env = OutcomeFacts::of(self, around, true).environment;
        let mut files = Vec::new();
        for (name, held) in &self.variables {
            if name.is_reserved() {
                continue;
            }
            match &held.value {
                HeldValue::Text(text) => env.push((name.as_str().to_owned(), text.clone())),
                HeldValue::Messages(numbers) => {
                    files.push((name.as_str().to_owned(), numbers.clone()));
                }
            }
        }
        JobEnvironment { env, files }
    }
}

/// What tx adds to the environment of jobs.
pub(super) struct JobEnvironment {
    pub(super) env: Vec<(String, String)>,
    pub(super) files: Vec<(String, Vec<MessageNo>)>,
}

/// What is known beside the variables, as [`Facts`] borrow it.
struct OutcomeFacts {
    status: String,
    state: String,
    visit: u32,
    headline: String,
    message: Map<String, Value>,
    rearmatter: Map<String, Value>,
    environment: Vec<(String, String)>,
}

impl OutcomeFacts {
    /// Of the outcome, or of what enters. `all`: also the frontmatter and the environment.
    fn of(change: &StateChange, around: &Around, all: bool) -> OutcomeFacts {
        let only = change.only(around).and_then(|one| around.messages.get(one));
        let first = change.messages.first();
        let first = first.and_then(|first| around.messages.facts(*first));
        let machine = around.machine;
        let state = machine.state.as_ref().map_or("", StateName::as_str);
        let status = only.and_then(|one| one.facts.status.as_ref());
        let mut given = OutcomeFacts {
            status: status.map_or("complete", |word| word.as_str()).to_owned(),
            state: state.to_owned(),
            visit: machine.visit(),
            headline: only.map_or(String::new(), |one| one.facts.headline.to_string()),
            message: Map::new(),
            rearmatter: only.map_or_else(Map::new, |one| one.rearmatter.0.clone()),
            environment: Vec::new(),
        };
        if !all {
            return given;
        }
        let envelope = only.and_then(|one| one.envelope.as_deref());
        given.message = envelope.map_or_else(Map::new, crate::model::Envelope::frontmatter);
        let (now, before) = match &change.target {
            Some(target) => (target.as_str(), Some(state)),
            None => (state, machine.previous.as_ref().map(StateName::as_str)),
        };
        let target = change.target.as_ref().map_or("", StateName::as_str);
        let text = |map: &Map<String, Value>| Value::Object(map.clone()).to_string();
        let of_first = |read: fn(&MessageRecord) -> String| first.map(read).unwrap_or_default();
        given.environment = [
            ("FSM_STATE", now.to_owned()),
            ("FSM_PREVIOUS_STATE", before.unwrap_or_default().to_owned()),
            ("FSM_TRANSITION", format!("{state}->{target}")),
            ("FSM_MESH_NAME", around.id.mesh.to_string()),
            ("MSG_ID", of_first(|facts| facts.id.to_string())),
            ("MSG_FROM", of_first(|facts| facts.from.to_string())),
            ("MSG_TO", around.id.address().to_string()),
            ("MSG_HEADLINE", of_first(|facts| facts.headline.to_string())),
            ("rearmatter", text(&given.rearmatter)),
            ("message", text(&given.message)),
        ]
        .map(|(name, value)| (name.to_owned(), without_nul(value)))
        .to_vec();
        given
    }

    fn facts<'a>(&'a self, _: &Around<'a>) -> Facts<'a> {
        Facts {
            status: &self.status,
            state: &self.state,
            visit: self.visit,
            headline: &self.headline,
            message: &self.message,
            rearmatter: &self.rearmatter,
            environment: &self.environment,
        }
    }
}

impl HeldValue {
    /// As text: messages by their ids.
    pub(super) fn as_text(&self, messages: &OpenMessages) -> String {
        match self {
            HeldValue::Text(text) => text.clone(),
            HeldValue::Messages(numbers) => {
                let ids = numbers.iter().filter_map(|number| messages.facts(*number));
                let ids: Vec<&str> = ids.map(|facts| facts.id.as_str()).collect();
                ids.join(" ")
            }
        }
    }
}

/// The gates of a state as jobs; `Err`: one of them cannot pass.
pub(super) fn gate_jobs<'g>(
    gates: impl Iterator<Item = &'g StateGate>,
    around: &Around,
) -> Result<Vec<Job>, String> {
    let jobs = gates.map(|gate| gate_job(gate, around.machine.began));
    jobs.collect()
}

/// A gate of a state as a job; `Err`: it cannot pass.
pub(super) fn gate_job(gate: &StateGate, began: i64) -> Result<Job, String> {
    match gate {
        StateGate::File(parts) => Ok(Job::File {
            path: parts.iter().map(written).collect(),
            since: began,
            not_empty: false,
        }),
        StateGate::Script(script) => Ok(job_of(script)),
        StateGate::Missing(name) => Err(format!("there is no script `{name}`")),
    }
}

/// What people call a gate of a state.
pub(super) fn gate_name(gate: &StateGate) -> String {
    match gate {
        StateGate::File(parts) => parts.iter().map(written).collect(),
        StateGate::Script(script) => script.name.clone().unwrap_or_else(|| "script".into()),
        StateGate::Missing(name) => name.clone(),
    }
}

fn written(part: &TextPart) -> String {
    match part {
        TextPart::Literal(text) => text.clone(),
        TextPart::Variable(name) => format!("${{{}}}", name.as_str()),
    }
}

fn job_of(script: &Script) -> Job {
    script_job(script.text.clone())
}

fn script_job(text: String) -> Job {
    Job::Script {
        text,
        timeout: Seconds(SCRIPT),
    }
}

fn name_of(script: Option<&Script>) -> String {
    let name = script.and_then(|script| script.name.clone());
    name.unwrap_or_else(|| "script".into())
}

/// The agent that the work of a state is given to first.
fn first_agent(kind: &StateKind) -> Option<&Name> {
    match kind {
        StateKind::Work(agent) | StateKind::Last(Some(agent)) => Some(agent),
        StateKind::Ensemble { block, .. } => match block.members.agents().first() {
            Some(Target::Agent(address)) => Some(&address.agent),
            Some(Target::Core) | None => None,
        },
        StateKind::Choice | StateKind::Core | StateKind::Last(None) => None,
    }
}

/// Does a value read the frontmatter or a name that is no variable?
fn wants_all(value: &Expression, variables: &BTreeMap<VariableName, VariableValue>) -> bool {
    match value {
        Expression::Path { source, .. } => *source == PathSource::Message,
        Expression::Text(parts) => parts.iter().any(|part| match part {
            TextPart::Variable(name) => !variables.contains_key(name),
            TextPart::Literal(_) => false,
        }),
        Expression::Arithmetic(_) | Expression::EnsembleOutput | Expression::Script(_) => false,
    }
}

/// Only the daemon knows the folder of a run's output: a text with it is computed by a job. Its
/// literals are the mesh's own, and what the variables hold comes by the environment.
fn with_workspace(
    value: &Expression,
    variables: &BTreeMap<VariableName, VariableValue>,
) -> Option<String> {
    let Expression::Text(parts) = value else {
        return None;
    };
    let is_workspace = |part: &TextPart| match part {
        TextPart::Variable(name) => name.as_str() == "workspace" && !variables.contains_key(name),
        TextPart::Literal(_) => false,
    };
    if !parts.iter().any(is_workspace) {
        return None;
    }
    let parts = parts.iter().map(|part| match part {
        TextPart::Literal(text) => format!("'{}'", text.replace('\'', r"'\''")),
        TextPart::Variable(name) => format!("\"${{{}}}\"", name.as_str()),
    });
    Some(format!("printf %s {}", parts.collect::<String>()))
}

fn said(result: &JobResult) -> String {
    let line = first_line(&result.output);
    match (&result.end, line.is_empty()) {
        (JobEnd::Code(code), true) => format!("exit {code}"),
        (JobEnd::Code(_), false) => result.output.trim().to_owned(),
        (JobEnd::Failed { why }, _) => why.clone(),
    }
}

fn first_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().unwrap_or_default();
    line.chars().take(160).collect()
}

/// No environment can have a NUL.
fn without_nul(text: String) -> String {
    match text.contains('\0') {
        true => text.replace('\0', ""),
        false => text,
    }
}

/// What a message is to the agent of a stage.
pub(super) fn kind_in_stage(kind: Kind) -> Kind {
    match kind {
        Kind::TaskComplete => Kind::TaskComplete,
        Kind::Task
        | Kind::Ask
        | Kind::AskHuman
        | Kind::AskResponse
        | Kind::Update
        | Kind::Lifecycle => Kind::Task,
    }
}
