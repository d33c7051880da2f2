//! `tx worktree`: the worktrees of features, their changes, and their removal.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;

use super::output::{dim, findings, paint};
use super::{Context, Exit, Refused, open_journal};
use crate::actions::{CleanedView, clean_worktrees};
use crate::format::report::{many, printable, printable_lines};
use crate::view::{WorktreeView, worktree_difference, worktrees};

/// The worktrees of features
#[derive(clap::Subcommand)]
pub(super) enum WorktreeArgs {
    /// List the worktrees: what each has changed, and whether it is safe to remove (the default)
    #[command(after_help = "Example: tx worktree list")]
    List,
    /// Show everything that a feature has changed, uncommitted changes too
    #[command(after_help = "Example: tx worktree diff login --stat")]
    Diff {
        /// The feature
        #[arg(value_name = "FEATURE")]
        feature: String,
        /// Only the files and the number of lines
        #[arg(long)]
        stat: bool,
    },
    /// Remove worktrees; branches stay, and uncommitted work is kept on a ref
    #[command(after_help = "Example: tx worktree clean login")]
    Clean {
        /// The features, even with uncommitted work [default: all that are safe to remove]
        #[arg(value_name = "FEATURE")]
        features: Vec<String>,
    },
}

pub(super) fn run(context: &Context, verb: &WorktreeArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    match verb {
        WorktreeArgs::List => {
            let past = open_journal(&project)?;
            let all = worktrees(&project, past.as_ref())?;
            context.output.answer(&all, |all| match all.is_empty() {
                true => "no worktrees\n".into(),
                false => all.iter().map(line).collect(),
            })
        }
        WorktreeArgs::Diff { feature, stat } => {
            let found = worktree_difference(&project, feature, *stat)?;
            context
                .output
                .answer(&found, |found| match found.diff.is_empty() {
                    true => "nothing has changed\n".into(),
                    false => printable_lines(&found.diff) + "\n",
                })
        }
        WorktreeArgs::Clean { features } => {
            let past = open_journal(&project)?;
            let done = clean_worktrees(&project, past.as_ref(), features)?;
            let left = done.iter().any(|one| !one.removed) && !features.is_empty();
            context.output.answer(&done, |done| match done.is_empty() {
                true => "no worktrees\n".into(),
                false => done.iter().map(cleaned).collect(),
            })?;
            Ok(findings(left))
        }
    }
}

fn line(one: &WorktreeView) -> String {
    let mut text = format!(
        "{}  {}  {}: {} in {}, +{} -{}\n",
        one.feature,
        printable(&one.path),
        one.branch,
        many(one.commits as usize, "commit"),
        many(one.files as usize, "file"),
        one.added,
        one.removed
    );
    if one.uncommitted > 0 {
        let what = format!("{} not committed", many(one.uncommitted as usize, "file"));
        let _ = writeln!(text, "  {}", paint(AnsiColor::Yellow, &what));
    }
    let _ = match &one.reason {
        None => writeln!(text, "  {}", paint(AnsiColor::Green, "safe to remove")),
        Some(why) => {
            let why = format!("not safe to remove: {}", printable(why));
            writeln!(text, "  {}", dim(&why))
        }
    };
    text
}

fn cleaned(done: &CleanedView) -> String {
    let path = printable(&done.path);
    let feature = &done.feature;
    match (&done.reason, &done.kept) {
        (Some(why), _) => format!("{feature}  {path} stays: {}\n", printable(why)),
        (None, Some(kept)) => {
            format!("{feature}  {path} is removed; uncommitted work is on {kept}\n")
        }
        (None, None) => format!("{feature}  {path} is removed\n"),
    }
}
