//! Gates that an agent judges: `checklist`, `rubric`, `adversarial`, `summarizer`, and `preflight`,
//! which comes before the work.

use serde_json::{Map, Value};

use super::{GateReader, texts};
use crate::format::yaml::PathSegment;
use crate::model::{Check, Code, Evaluation, GateTime, Name, OutcomeWord, Seconds};

/// The gates that an evaluator judges, with the first part of its instructions.
pub(super) const JUDGED: [(&str, &str); 4] = [
    (
        "checklist",
        "Check the work below against every item. It passes only if each item is met.",
    ),
    (
        "rubric",
        "Grade the work below by these criteria, with a score from 0.0 to 1.0.",
    ),
    (
        "adversarial",
        "Try to refute the work below: look for what is wrong, missing or untested. It passes only if you find nothing serious.",
    ),
    (
        "summarizer",
        "Summarize the work below for the human in a few sentences, as `findings`. It fails if it does not do what the task asks.",
    ),
];
/// The last part of an evaluator's instructions.
const ANSWER: &str = "The task and the work follow. Answer with one message, `status: complete`, that ends with\n\n    ---\n    verdict: pass        # or fail\n    score: 0.9           # from 0.0 to 1.0\n    findings: []         # what is wrong, an item each\n    ---";
/// The gate before the work, and its evaluator's instructions.
pub(super) const PREFLIGHT: &str = "preflight";
const BEFORE_THE_WORK: &str = "The work below is not done yet. Say what it must fulfil to be good: criteria that can be checked, each in one line.";
const ANSWER_CRITERIA: &str = "The task follows. Answer with one message, `status: complete`, that ends with\n\n    ---\n    criteria:            # a line each\n      - every test passes\n    ---";
/// How long an evaluation may take, with the time that the task waits for the evaluator.
const EVALUATION_TIME: Seconds = Seconds(1800);

impl GateReader<'_, '_, '_> {
    /// A gate that an agent judges.
    pub(super) fn judged(
        &mut self,
        at: &[PathSegment],
        agent: Option<&Name>,
        kind: &str,
        value: &Value,
    ) {
        let nothing = Map::new();
        let (map, items) = match value {
            Value::Object(map) => (map, map.get("items").or(map.get("criteria"))),
            Value::Array(_) => (&nothing, Some(value)),
            Value::Bool(true) | Value::Null => (&nothing, None),
            Value::Bool(false) => return,
            other => return self.wrong(at, "a map", other),
        };
        let evaluator = match map.get("evaluator").or(map.get("agent")) {
            Some(name) => self.agent(&[at, &[PathSegment::from("evaluator")]].concat(), name),
            None => self.evaluator.clone(),
        };
        let Some(evaluator) = evaluator else {
            let message = format!("quality.{kind} has no evaluator: it checks nothing");
            let hint = "name an agent of the mesh: `evaluator: NAME`";
            return self.document.about_key(Code::WrongShape, at, message, hint);
        };
        let told = JUDGED
            .iter()
            .find(|(name, _)| *name == kind)
            .map_or(BEFORE_THE_WORK, |(_, told)| told);
        let mut instructions = told.to_owned();
        if let Some(items) = items {
            instructions += "\n\n";
            instructions += &listed(items);
        }
        if let Some(more) = map.get("prompt").and_then(Value::as_str) {
            instructions += &format!("\n\n{more}");
        }
        let (answer, time) = match kind == PREFLIGHT {
            true => (ANSWER_CRITERIA, GateTime::BeforeWork),
            false => (ANSWER, GateTime::Outcome(vec![OutcomeWord::complete()])),
        };
        instructions += &format!("\n\n{answer}");
        let min_score = self.number(at, map.get("threshold").or(map.get("min_score")));
        let timeout = self.time(at, map.get("timeout")).unwrap_or(EVALUATION_TIME);
        let check = Check::Evaluation(Evaluation {
            evaluator,
            instructions,
            min_score,
            timeout,
        });
        self.add_at(time, &format!("quality:{kind}"), agent, Some(check));
    }
}

/// Criteria as a list for people.
fn listed(items: &Value) -> String {
    let lines: Vec<String> = match items {
        Value::Array(_) => texts(Some(items))
            .iter()
            .map(|item| format!("- {item}"))
            .collect(),
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| {
                format!(
                    "- {name}: {}",
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                )
            })
            .collect(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    };
    lines.join("\n")
}
