//! Claims and verdicts, coloured by how good they are.

use std::fmt::Write;

use super::inbox::{grade_colour, sureness_colour, verdict_colour};
use super::output::{bold, dim, paint};
use crate::format::report::{many, printable};
use crate::model::{GateVerdict, Grade};
use crate::view::{CheckingView, GateView};

/// A claimed grade.
fn grade(grade: Grade) -> String {
    paint(grade_colour(grade), &format!("{grade:?}"))
}

/// A claimed confidence.
fn confidence(confidence: f64) -> String {
    paint(sureness_colour(confidence), &confidence.to_string())
}

/// A word in the colour of a verdict.
fn verdict(verdict: GateVerdict, word: &str) -> String {
    paint(verdict_colour(verdict), word)
}

/// What gates and hooks are working on, for `tx status`.
pub(super) fn checking(all: &[CheckingView]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", bold("gates and hooks"));
    for one in all {
        let _ = write!(text, "  {}  {}", one.agent, printable(one.message.as_str()));
        let claims = one.grade.map(grade).into_iter();
        for claim in claims.chain(one.confidence.map(confidence)) {
            let _ = write!(text, "  {claim}");
        }
        if one.sent_back > 0 {
            let times = many(one.sent_back as usize, "time");
            let _ = write!(text, "  {}", dim(&format!("sent back {times}")));
        }
        text.push('\n');
        for gate in &one.gates {
            text += &line(gate);
        }
    }
    text
}

/// A gate on one line: its verdict and its first finding.
fn line(gate: &GateView) -> String {
    let word = match gate.verdict {
        Some(found) => verdict(found, found.as_str()),
        None => dim("runs"),
    };
    let first = gate.findings.lines().next().unwrap_or_default();
    let first = match first.is_empty() {
        true => String::new(),
        false => format!("  {}", printable(first)),
    };
    format!("    {word}  {}{first}\n", printable(&gate.gate))
}

/// The full reports of gates about an outcome.
pub(super) fn reports(gates: &[GateView]) -> String {
    let mut text = String::new();
    for gate in gates {
        let word = gate.verdict.map_or("runs", GateVerdict::as_str);
        let score = gate.score.map(|score| format!(", score {score}"));
        let score = score.unwrap_or_default();
        let _ = writeln!(text, "\n  gate {}: {word}{score}", gate.gate);
        for line in gate.findings.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}
