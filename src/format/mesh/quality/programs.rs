//! Gates that run programs: `deterministic`, `command`, and the checks that evidence may name.

use serde_json::{Map, Value};

use super::{GateReader, texts};
use crate::format::mesh::program::check_shell_words;
use crate::format::mesh::scalars::COMMAND_TIME;
use crate::format::yaml::PathSegment;
use crate::model::{Check, Name, Program};

impl GateReader<'_, '_, '_> {
    /// Commands that must exit with 0: a list, or a map with a list.
    pub(super) fn deterministic(&mut self, at: &[PathSegment], value: &Value) -> Option<Check> {
        let (list, rest) = match value {
            Value::Object(map) => (
                map.get("commands").cloned().unwrap_or_default(),
                map.clone(),
            ),
            other => (other.clone(), Map::new()),
        };
        let Some(all) = list.as_array().filter(|all| !all.is_empty()) else {
            self.wrong(at, "a list of commands", value);
            return None;
        };
        let shell = [at, &[PathSegment::from("shell")]].concat();
        let shell = self.flag(&shell, rest.get("shell"));
        let mut programs = Vec::new();
        for (index, one) in all.iter().enumerate() {
            let at = [at, &[PathSegment::from(index)]].concat();
            let Some(mut program) = self.program(&at, one, shell) else {
                continue;
            };
            if let Some(time) = self.time(&at, rest.get("timeout")) {
                program.timeout = time;
            }
            programs.push(program);
        }
        (!programs.is_empty()).then_some(Check::Commands(programs))
    }

    /// The user's own gates: one, or a list, each with `run` and a name.
    pub(super) fn commands(&mut self, at: &[PathSegment], agent: Option<&Name>, value: &Value) {
        let one = [value.clone()];
        let is_argv = |all: &[Value]| all.iter().all(Value::is_string);
        let all: &[Value] = match value {
            Value::Array(all) if !is_argv(all) => all,
            Value::Array(_) | Value::Object(_) | Value::String(_) => &one,
            other => return self.wrong(at, "a command", other),
        };
        for (index, one) in all.iter().enumerate() {
            let at = match value {
                Value::Array(_) => [at, &[PathSegment::from(index)]].concat(),
                _ => at.to_vec(),
            };
            let Some(program) = self.program(&at, one, false) else {
                continue;
            };
            let name = match (one.get("name"), program.run.first()) {
                (Some(Value::String(name)), _) => name.clone(),
                (None, Some(program)) if !self.has_gate(program) => program.clone(),
                (None, _) => program.run.join(" "),
                (Some(other), _) => {
                    self.wrong(&at, "a name", other);
                    continue;
                }
            };
            self.add(&name, agent, Some(Check::Command(program)));
        }
    }

    /// A program: a list of arguments, a text that is split at spaces, or a map with `run`.
    pub(super) fn program(
        &mut self,
        at: &[PathSegment],
        value: &Value,
        shell: bool,
    ) -> Option<Program> {
        let (run, shell, timeout) = match value {
            Value::Object(map) => {
                let shell = [at, &[PathSegment::from("shell")]].concat();
                let shell = self.flag(&shell, map.get("shell"));
                (
                    map.get("run").cloned().unwrap_or_default(),
                    shell,
                    map.get("timeout"),
                )
            }
            other => (other.clone(), shell, None),
        };
        if let Value::String(line) = &run
            && !shell
        {
            check_shell_words(self.document, at, line);
        }
        let run = match &run {
            Value::String(text) if shell => Some(vec![text.clone()]),
            Value::String(text) => shlex::split(text),
            Value::Array(all) if !all.is_empty() => Some(texts(Some(&Value::Array(all.clone())))),
            _ => None,
        };
        let Some(run) = run.filter(|run| !run.is_empty()) else {
            self.wrong(at, "a command, such as [cargo, test]", value);
            return None;
        };
        let timeout = self.time(at, timeout).unwrap_or(COMMAND_TIME);
        Some(Program {
            run,
            shell,
            timeout,
        })
    }
}
