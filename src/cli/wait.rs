//! `--wait`: wait for the result of a message.

use std::path::Path;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::exit::FailureView;
use super::layout::in_local_time;
use super::output::talk;
use super::status::caught_up;
use super::{Context, Exit, Refused, exit, inbox};
use crate::actions::{ended, follow};
use crate::daemon::Heard;
use crate::format::report::printable_lines;
use crate::model::MsgId;
use crate::project::Project;
use crate::view::{Reason, ResultView, RunView, held_back, run_of, shell_word};

/// The option to wait.
#[derive(clap::Args)]
pub(super) struct Wait {
    /// Wait for the result, at most this many seconds [default: 600]
    #[arg(
        long,
        value_name = "SECS",
        num_args = 0..=1,
        default_missing_value = "600"
    )]
    wait: Option<u64>,
}

/// What was sent, and the result if it was waited for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Waited{T}")]
pub(super) struct Waited<T> {
    #[serde(flatten)]
    sent: T,
    #[serde(flatten)]
    run: Option<RunView>,
    /// Why there is no result.
    #[serde(flatten)]
    failed: Option<FailureView>,
}

impl Wait {
    /// Whether the user wants to wait.
    pub(super) fn is_wanted(&self) -> bool {
        self.wait.is_some()
    }

    /// Print what was sent, and wait for the result if wanted.
    pub(super) fn then_say<T: Serialize>(
        &self,
        context: &Context,
        project: &Project,
        path: &str,
        id: &MsgId,
        sent: T,
    ) -> Result<Exit, Refused> {
        let file = Path::new(path).file_name().unwrap_or_default();
        let came = self.wait.map(|seconds| {
            let patience = Duration::from_secs(seconds);
            wait(project, &file.to_string_lossy(), id, patience)
        });
        let (run, failed) = match came {
            Some(Ok(run)) => (Some(run), None),
            Some(Err(refused)) => (None, Some(refused)),
            None => (None, None),
        };
        // The message was sent, even if waiting failed.
        let view = failed.as_ref().map(FailureView::of);
        let waited = Waited {
            sent,
            run,
            failed: view,
        };
        context.output.answer(&waited, |waited| {
            printable_lines(&waited.run.as_ref().map(as_text).unwrap_or_default())
        })?;
        if let Some(refused) = failed {
            return Ok(exit::tell(refused));
        }
        let run = waited.run.unwrap_or_default();
        let parked = run.over.as_ref();
        let parked = parked.filter(|over| over.step == "parked" && !over.why.contains("tx dlq"));
        if let Some(over) = parked {
            let letter = shell_word(over.id.as_str());
            talk(&format!(
                "  help: `tx dlq retry {letter}` tries it again, `tx dlq drop {letter}` drops it\n"
            ));
        }
        if run.has_failed {
            talk(&format!(
                "  help: `tx runs {id}` shows all that led to it\n"
            ));
        }
        let seen = run.over.is_none() && !context.output.json;
        let results = run.result.into_iter().chain(run.others);
        let unread: Vec<_> = results
            .filter_map(|result| result.unread)
            .filter(|_| seen)
            .collect();
        inbox::mark(project, &unread)?;
        Ok(super::output::findings(run.has_failed))
    }
}

fn as_text(run: &RunView) -> String {
    let mut text = String::new();
    if let Some(ask) = &run.ask {
        text = format!("{} waits for you: {}\n", ask.from, ask.headline);
        text.extend(ask.more().map(|more| format!("\n{more}\n")));
        text.push('\n');
        text.extend(ask.decides().map(|exit| exit + "\n"));
        text += &format!("{}\n", ask.command());
    }
    if let Some(over) = &run.over {
        text = format!("{}: {}\n", over.step, over.why);
        text.extend(run.result.as_ref().map(|_| "\n"));
    }
    text.extend(run.result.iter().chain(&run.others).map(result_text));
    text
}

fn result_text(result: &ResultView) -> String {
    let status = result.status.as_ref().map(|status| format!("  {status}"));
    let status = status.unwrap_or_default();
    let mut text = format!("{}{status}  {}\n", result.from, result.headline);
    text.extend(result.more().map(|more| format!("\n{more}\n")));
    text
}

fn wait(project: &Project, file: &str, id: &MsgId, patience: Duration) -> Result<RunView, Refused> {
    let until = Instant::now() + patience;
    let mut follow = follow(project).map_err(kept)?;
    let (mut past, mut told) = (None, None);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match follow.heard(Some(left)) {
            Heard::Seq(_) => {}
            Heard::Nothing => {
                let why = format!("there was no result within {} s", patience.as_secs());
                let hint = format!("it is still under way: `tx why {id}` shows how far it is");
                return Err(Refused::new(why).hint(hint).because(Reason::TimedOut));
            }
            Heard::End => return Err(kept(ended())),
        }
        past = caught_up(project, past)?;
        let run = past.as_ref().map(|past| run_of(past.history(), file));
        if let Some(run) = run.transpose()?.flatten() {
            return Ok(run);
        }
        let why = past.as_ref().map(|past| held_back(past.history(), file));
        let why = why.transpose()?.flatten();
        if let Some(why) = why.as_ref().filter(|_| why != told) {
            talk(&printable_lines(&format!("{}\n", in_local_time(why))));
        }
        told = why;
    }
}

fn kept(refused: Refused) -> Refused {
    refused.hint("the message is kept; `tx start` starts the daemon, which delivers it")
}
