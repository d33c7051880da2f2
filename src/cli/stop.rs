//! `tx stop`: end the daemon. Unfinished work is kept, and agents keep running.

use std::collections::BTreeSet;

use super::output::talk;
use super::{Context, Exit, Refused};
use crate::actions::{StopView, stop};
use crate::format::report::many;
use crate::model::Address;

/// Stop the daemon; work is kept, and agents keep running
#[derive(clap::Args)]
#[command(after_help = "Example: tx stop")]
pub(super) struct StopArgs {
    /// End the agents' processes too; their work is kept
    #[arg(long)]
    kill_agents: bool,
}

pub(super) fn run(context: &Context, verb: &StopArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let stopped = stop(&project, verb.kill_agents, || {
        talk("waiting for the daemon to end\n");
    })?;
    if !stopped.stopped {
        talk("tx is not running here\n");
    }
    if !stopped.left.is_empty() {
        let ends = "`tx stop --kill-agents` ends them, `tx start` takes them over";
        talk(&format!(
            "still running: {}; {ends}\n",
            names(&stopped.left)
        ));
    }
    context.output.answer(&stopped, as_text)
}

fn as_text(stopped: &StopView) -> String {
    let agents = match stopped.agents {
        0 => String::new(),
        1 => "; 1 agent may keep running in its pane".into(),
        live => format!("; {live} agents may keep running in their panes"),
    };
    match (stopped.kept, &stopped.ended) {
        (Some(kept), _) => format!(
            "stopped; {} kept{agents}\n",
            many(kept, "unfinished message")
        ),
        (None, Some(ended)) if !ended.is_empty() => {
            format!("ended: {}; their work is kept\n", names(ended))
        }
        (None, _) => String::new(),
    }
}

fn names(agents: &BTreeSet<Address>) -> String {
    let names: Vec<String> = agents.iter().map(ToString::to_string).collect();
    names.join(", ")
}
