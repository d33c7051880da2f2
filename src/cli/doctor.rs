//! `tx doctor`: check everything that tx needs, with the commands that fix problems.

use std::fmt::Write;
use std::path::PathBuf;

use clap::builder::styling::AnsiColor;
use schemars::JsonSchema;
use serde::Serialize;

use super::layout::in_local_time;
use super::output::{findings, paint};
use super::{Context, Exit, Refused, daemon_path, short};
use crate::actions::{CheckView, checks, export_unreadable};
use crate::format::report::printable;

/// Check everything that tx needs, and say how to fix problems
#[derive(clap::Args)]
#[command(after_help = "Example: tx doctor\n         tx doctor --export unreadable")]
pub(super) struct DoctorArgs {
    /// Write the records of the journal that cannot be read to files in this folder
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
}

/// The results of all checks.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChecksView {
    checks: Vec<CheckView>,
}

/// The files that unreadable records were written to.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExportView {
    exported: Vec<String>,
}

pub(super) fn run(context: &Context, verb: &DoctorArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    if let Some(folder) = &verb.export {
        let files = export_unreadable(&project, folder)?;
        let exported = files.iter().map(|path| path.to_string_lossy().into());
        let exported = exported.collect();
        return context.output.answer(&ExportView { exported }, |_| {
            let lines = files.iter().map(|path| format!("{}\n", short(path)));
            match files.is_empty() {
                true => "every record can be read: nothing was written\n".into(),
                false => lines.collect(),
            }
        });
    }
    let checks = checks(&project, &daemon_path(&project), short);
    let bad = checks.iter().any(|check| !check.ok);
    context.output.answer(&ChecksView { checks }, |view| {
        view.checks.iter().map(as_text).collect()
    })?;
    Ok(findings(bad))
}

fn as_text(check: &CheckView) -> String {
    let symbol = match (check.ok, &check.fix) {
        (true, None) => paint(AnsiColor::Green, "✓"),
        (true, Some(_)) => paint(AnsiColor::Yellow, "!"),
        (false, _) => paint(AnsiColor::Red, "✗"),
    };
    let (name, detail) = (printable(&check.name), in_local_time(&check.detail));
    let detail = printable(&detail);
    let mut text = format!("{symbol} {name:<18}  {detail}\n");
    if let Some(fix) = &check.fix {
        let _ = writeln!(text, "{:22}{}", "", printable(fix));
    }
    text
}
