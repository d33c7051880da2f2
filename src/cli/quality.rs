//! `tx quality`: what agents claim about their work, compared with what gates found.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;

use super::output::{dim, paint};
use super::{Context, Exit, Refused, open_journal};
use crate::format::report::{many, printable};
use crate::model::GateVerdict;
use crate::view::{Calibration, FEW, calibration};

/// Compare what agents claim about their work with what gates found
#[derive(clap::Args)]
#[command(after_help = "Example: tx quality dev")]
pub(super) struct QualityArgs {
    /// A mesh or an agent [default: all]
    #[arg(value_name = "MESH|AGENT")]
    of: Option<String>,
}

pub(super) fn run(context: &Context, verb: &QualityArgs) -> Result<Exit, Refused> {
    let past = open_journal(&context.project()?)?;
    let found = past.map(|past| calibration(past.history(), verb.of.as_deref()));
    let found = found.transpose()?.unwrap_or_default();
    context
        .output
        .answer(&found, |found| match found.is_empty() {
            true => "no gate has checked anything yet\n".into(),
            false => found.iter().map(as_text).collect(),
        })
}

fn as_text(found: &Calibration) -> String {
    let Calibration {
        agent,
        gate,
        cases,
        passed,
        failed,
        errors,
        ..
    } = found;
    let mut text = format!(
        "{agent}  {}  {}: {passed} passed, {failed} failed, {errors} could not tell\n",
        printable(gate),
        many(*cases, "case")
    );
    if found.too_few {
        let few = format!("fewer than {FEW} cases: these figures say little");
        let _ = writeln!(text, "  {}", dim(&few));
    }
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let rate = found.pass_rate.map_or("nothing".into(), percent);
    let claimed = found.claimed_confidence.map(percent);
    let claimed = claimed.map_or("no confidence claimed".into(), |mean| {
        format!("claimed {mean}")
    });
    let _ = writeln!(text, "  passes {rate}, {claimed}");
    for grade in &found.grades {
        let (name, claims, good) = (grade.grade, grade.claimed, grade.passed);
        let _ = writeln!(text, "  grade {name:?}: {good} of {claims} passed");
    }
    let marks: String = found
        .trend
        .iter()
        .map(|verdict| match verdict {
            GateVerdict::Pass => paint(AnsiColor::Green, "█"),
            GateVerdict::Fail => paint(AnsiColor::Red, "▁"),
            GateVerdict::Error => paint(AnsiColor::Yellow, "·"),
        })
        .collect();
    let _ = writeln!(text, "  {marks}");
    text
}
