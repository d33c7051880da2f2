//! Evaluates what an author reports: thresholds, sources, claims, verdicts. Pure functions of
//! rearmatter and job results.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::jobs::{Job, JobEnd, JobResult};
use super::message_record::MessageNo;
use crate::model::{
    Accuracy, Evaluation, GateReport, GateVerdict, Grade, Program, Rearmatter, RearmatterCheck,
};

/// The maximum number of claims of an outcome.
const MOST_CLAIMS: usize = 50;

/// A report of a gate.
pub(super) fn report(gate: &str, verdict: GateVerdict, findings: String) -> GateReport {
    GateReport {
        gate: gate.to_owned(),
        verdict,
        findings,
        score: None,
    }
}

/// A report of these problems. Without any, the gate passes.
pub(super) fn report_of(gate: &str, wrong: &[String]) -> GateReport {
    match wrong.is_empty() {
        true => report(gate, GateVerdict::Pass, String::new()),
        false => report(gate, GateVerdict::Fail, wrong.join("\n")),
    }
}

/// The problems of a rearmatter by the rules of its mesh.
pub(super) fn wrong_with(check: &RearmatterCheck, said: &Rearmatter) -> Vec<String> {
    if said.is_empty() && check.required {
        return vec!["there is no rearmatter: end your message with it".into()];
    }
    let missing = check
        .fields
        .iter()
        .filter(|field| !said.0.contains_key(*field));
    let mut wrong: Vec<String> = missing
        .map(|field| format!("`{field}` is missing"))
        .collect();
    for (field, least) in &check.thresholds {
        match said.0.get(field) {
            None if check.fields.contains(field) => {}
            None => wrong.push(format!(
                "`{field}` is missing, and must be {} at least",
                plain(least)
            )),
            Some(value) => wrong.extend(below(field, value, least)),
        }
    }
    wrong
}

/// A message if the value is below its threshold.
fn below(field: &str, value: &Value, least: &Value) -> Option<String> {
    let (said, wanted) = (plain(value), plain(least));
    let reaches = match (value.as_f64(), least.as_f64()) {
        (Some(value), Some(least)) => value >= least,
        // Grades: A is the best.
        (None, None) => match (said.parse::<Grade>(), wanted.parse::<Grade>()) {
            (Ok(value), Ok(least)) => value <= least,
            (Err(_), _) | (_, Err(_)) => said == wanted,
        },
        (Some(_), None) | (None, Some(_)) => false,
    };
    (!reaches).then(|| format!("`{field}` is {said}, and must be {wanted} at least"))
}

/// A value as people write it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => value.to_string(),
    }
}

/// The problems of an outcome's sources.
pub(super) fn wrong_sources(check: &Accuracy, said: &Rearmatter) -> Vec<String> {
    let sources = said.0.get("sources").and_then(Value::as_array);
    let sources = sources.map_or(&[][..], Vec::as_slice);
    let mut wrong = Vec::new();
    let count = sources.len();
    if count < check.sources as usize {
        let wanted = check.sources;
        wrong.push(format!(
            "there are {count} sources, and must be {wanted} at least"
        ));
    }
    let first_party = |source: &&Value| source["type"] == "first-party";
    let own = sources.iter().filter(first_party).count();
    let share = if count == 0 {
        0.0
    } else {
        own as f64 / count as f64
    };
    if share < check.first_party {
        let wanted = check.first_party;
        wrong.push(format!(
            "{own} of {count} sources are first-party, and the share must be {wanted} at least"
        ));
    }
    if check.verified {
        let unverified = sources.iter().filter(|source| source["verified"] != true);
        wrong.extend(unverified.map(|source| {
            let url = source
                .as_str()
                .or(source["url"].as_str())
                .unwrap_or("a source");
            format!("{url} is not verified")
        }));
    }
    wrong
}

/// The claims of an outcome: problems that need no job, and jobs that verify the rest, each
/// with the claimed exit code and the claim.
pub(super) struct Claims {
    pub(super) wrong: Vec<String>,
    pub(super) jobs: Vec<(Job, i32, Claim)>,
}

/// What an author claims. It is serialized as words, such as `file src/x.rs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Claim {
    /// This file was written.
    File(String),
    /// This commit exists.
    Commit(String),
    /// The check with this name ends with the claimed exit code.
    Check(String),
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Claim::File(path) => write!(f, "file {path}"),
            Claim::Commit(id) => write!(f, "commit {id}"),
            Claim::Check(name) => write!(f, "check {name}"),
        }
    }
}

impl From<Claim> for String {
    fn from(claim: Claim) -> String {
        claim.to_string()
    }
}

impl From<String> for Claim {
    fn from(words: String) -> Claim {
        match words.split_once(' ') {
            Some(("check", name)) => Claim::Check(name.into()),
            Some(("commit", id)) => Claim::Commit(id.into()),
            Some(("file", path)) => Claim::File(path.into()),
            Some(_) | None => Claim::File(words),
        }
    }
}

/// The claims of an outcome. `began` is when its run began, in milliseconds since 1970.
pub(super) fn claims(
    said: &Rearmatter,
    checks: &indexmap::IndexMap<String, Program>,
    outcome: MessageNo,
    began: i64,
) -> Claims {
    let mut found = Claims {
        wrong: Vec::new(),
        jobs: Vec::new(),
    };
    let claims = said.0.get("evidence").and_then(Value::as_array);
    let Some(claims) = claims.filter(|claims| !claims.is_empty()) else {
        let text =
            "`evidence` is missing: list what proves your work, such as `- {file: src/x.rs}`";
        found.wrong.push(text.into());
        return found;
    };
    if claims.len() > MOST_CLAIMS {
        found.wrong.push(format!(
            "there are {} claims: {MOST_CLAIMS} are enough",
            claims.len()
        ));
        return found;
    }
    for claim in claims {
        if let Some(path) = claim["file"].as_str() {
            let (path, since) = (path.to_owned(), began);
            let claim = Claim::File(path.clone());
            let not_empty = false;
            let job = Job::File {
                path,
                since,
                not_empty,
            };
            found.jobs.push((job, 0, claim));
        } else if let Some(id) = claim["commit"].as_str() {
            let is_hash = (4..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit());
            match is_hash {
                true => {
                    let commit = id.to_ascii_lowercase();
                    found
                        .jobs
                        .push((Job::Commit { commit }, 0, Claim::Commit(id.into())));
                }
                false => found
                    .wrong
                    .push(format!("commit {id}: that is no commit hash")),
            }
        } else if let Some(name) = claim["check"].as_str() {
            let exit = claim["exit"]
                .as_i64()
                .and_then(|code| i32::try_from(code).ok());
            match checks.get(name) {
                Some(program) => {
                    let (program, stdin) = (program.clone(), Some(outcome));
                    let job = Job::Gate { program, stdin };
                    found
                        .jobs
                        .push((job, exit.unwrap_or(0), Claim::Check(name.into())));
                }
                None => {
                    let known: Vec<&str> = checks.keys().map(String::as_str).collect();
                    let known = known.join(", ");
                    found
                        .wrong
                        .push(format!("check {name}: this mesh defines {known}"));
                }
            }
        } else {
            found.wrong.push(format!(
                "{claim}: a claim names a `file`, a `commit` or a `check`"
            ));
        }
    }
    found
}

/// The report for claims, by the results of their jobs.
pub(super) fn proven(
    gate: &str,
    wrong: &[String],
    claims: &[(i32, Claim)],
    results: &[JobResult],
) -> GateReport {
    let mut wrong = wrong.to_vec();
    for ((exit, claim), result) in claims.iter().zip(results) {
        match &result.end {
            JobEnd::Failed { why } => {
                return report(gate, GateVerdict::Error, format!("{claim}: {why}"));
            }
            JobEnd::Code(code) if code == exit => {}
            JobEnd::Code(code) => {
                let output = result.output.trim();
                wrong.push(match claim {
                    Claim::File(_) | Claim::Commit(_) => format!("{claim}: {output}"),
                    Claim::Check(_) => {
                        format!("{claim}: it exits with {code}, not {exit}\n{output}")
                    }
                });
            }
        }
    }
    report_of(gate, &wrong)
}

/// The report for programs, by their results.
pub(super) fn ran(gate: &str, results: &[JobResult]) -> GateReport {
    let mut wrong = Vec::new();
    for result in results {
        match &result.end {
            JobEnd::Failed { why } => return report(gate, GateVerdict::Error, why.clone()),
            JobEnd::Code(0) => {}
            JobEnd::Code(code) => {
                let said = match result.rearmatter.0.get("findings") {
                    Some(findings) => in_words(findings),
                    None => result.output.trim().to_owned(),
                };
                wrong.push(match said.is_empty() {
                    true => format!("it exited with {code}"),
                    false => said,
                });
            }
        }
    }
    GateReport {
        score: results
            .iter()
            .find_map(|result| result.rearmatter.0.get("score")?.as_f64()),
        ..report_of(gate, &wrong)
    }
}

/// The verdict in an evaluator's rearmatter, or the problem with it.
pub(super) fn verdict(
    gate: &str,
    rules: Option<&Evaluation>,
    said: &Rearmatter,
) -> Result<GateReport, String> {
    let word = said.0.get("verdict").map(plain);
    let verdict = match word.as_deref().map(str::trim) {
        Some("pass") => GateVerdict::Pass,
        Some("fail") => GateVerdict::Fail,
        Some(other) => {
            return Err(format!(
                "`verdict` is {other}, and must be `pass` or `fail`"
            ));
        }
        None => return Err("`verdict` is missing: it must be `pass` or `fail`".into()),
    };
    let score = said.0.get("score").and_then(Value::as_f64);
    let mut findings = said.0.get("findings").map(in_words).unwrap_or_default();
    let least = rules.and_then(|rules| rules.min_score);
    let verdict = match (verdict, least) {
        (GateVerdict::Pass, Some(least)) if score.is_none_or(|score| score < least) => {
            let score = score.map_or("missing".to_owned(), |score| score.to_string());
            findings = format!("the score is {score}, and must be {least} at least\n{findings}");
            GateVerdict::Fail
        }
        (verdict, _) => verdict,
    };
    Ok(GateReport {
        score,
        ..report(gate, verdict, findings.trim().to_owned())
    })
}

/// The criteria in an evaluator's rearmatter, or the problem with them.
pub(super) fn criteria(gate: &str, said: &Rearmatter) -> Result<GateReport, String> {
    let text = said.0.get("criteria").map(in_words).unwrap_or_default();
    match text.trim() {
        "" => Err("`criteria` is missing: list what the work must fulfil".into()),
        text => Ok(report(gate, GateVerdict::Pass, text.to_owned())),
    }
}

/// Findings as text, one line per entry of a list.
fn in_words(findings: &Value) -> String {
    match findings {
        Value::Array(all) => {
            let lines: Vec<String> = all.iter().map(|one| format!("- {}", plain(one))).collect();
            lines.join("\n")
        }
        Value::Null => String::new(),
        one => plain(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_stored_in_words() {
        for (claim, words) in [
            (Claim::File("a file".into()), "file a file"),
            (Claim::Commit("abcd".into()), "commit abcd"),
            (Claim::Check("tests".into()), "check tests"),
        ] {
            let stored = serde_json::to_value(&claim).unwrap();
            assert_eq!(stored, words);
            assert_eq!(serde_json::from_value::<Claim>(stored).unwrap(), claim);
        }
    }
}
