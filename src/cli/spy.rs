//! `tx spy`: what happens, and what is done about it, as it happens.

use std::fmt::Write;

use super::output::dim;
use super::{Context, Exit, Refused};
use crate::actions::{ended, follow};
use crate::format::report::printable;
use crate::view::{EventFilter, EventView, Events};

/// How many of the last events are shown.
const LAST: usize = 20;

/// Show what happens, and what is done about it
#[derive(clap::Args)]
#[command(after_help = "Example: tx spy -f --agent dev/worker")]
pub(super) struct SpyArgs {
    /// Go on as it happens
    #[arg(short, long)]
    follow: bool,

    /// Only what has to do with this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Only what has to do with this mesh
    #[arg(long, value_name = "MESH")]
    mesh: Option<String>,

    /// Only events of this kind: arrived, pane-idle, command…
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
}

pub(super) fn run(context: &Context, verb: &SpyArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let mut followed = match verb.follow {
        true => Some(follow(&project)?),
        false => None,
    };
    let (agent, mesh, kind) = (&verb.agent, &verb.mesh, &verb.kind);
    let mut events = Events::open(&project.journal(), LAST, |state| {
        EventFilter::of(state, agent.as_deref(), mesh.as_deref(), kind.as_deref())
    })?;
    let show = |event: &EventView| context.output.shown(event, as_text);
    context.output.say(&events.show(LAST, show)?)?;
    let Some(followed) = &mut followed else {
        return Ok(Exit::Done);
    };
    loop {
        followed.next().ok_or_else(ended)?;
        let text = events.show(usize::MAX, show)?;
        if !text.is_empty() && !context.output.say_on(&text)? {
            return Ok(Exit::Done);
        }
    }
}

fn as_text(event: &EventView) -> String {
    let EventView { seq, words, .. } = event;
    let at = dim(&event.at.to_string());
    let mut text = format!("{at}  {seq:>6}  {}\n", printable(words));
    for words in &event.effects_in_words {
        let _ = writeln!(text, "{:36}{} {}", "", dim("→"), printable(words));
    }
    text
}
