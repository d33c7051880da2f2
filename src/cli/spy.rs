//! `tx spy`: events and their effects, as they happen.

use super::layout::{local, rest_of_terminal_line};
use super::output::{dim, talk};
use super::{Context, Exit, Refused, require_journal};
use crate::actions::{ended, follow};
use crate::view::{EventFilter, EventView, Events};

/// How many of the last events are shown.
const LAST: usize = 20;

/// Show events, one per line; with --json, also all their effects
#[derive(clap::Args)]
#[command(after_help = "Example: tx spy -f --agent dev/worker")]
pub(super) struct SpyArgs {
    /// Keep running, and show new events
    #[arg(short, long)]
    follow: bool,

    /// Only events about this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Only events about this mesh
    #[arg(long, value_name = "MESH")]
    mesh: Option<String>,

    /// Only events of this kind: arrived, pane-idle, command…; or those that moved a machine or a block
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// How many of the last events are shown
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = LAST)]
    last: usize,
}

pub(super) fn run(context: &Context, verb: &SpyArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let mut followed = match verb.follow {
        true => Some(follow(&project)?),
        false => None,
    };
    let (agent, mesh, kind) = (&verb.agent, &verb.mesh, &verb.kind);
    if !project.journal().exists() {
        require_journal(&project)?;
    }
    let mut events = Events::open(&project.journal(), verb.last, |state| {
        EventFilter::of(state, agent.as_deref(), mesh.as_deref(), kind.as_deref())
    })?;
    let show = |event: &EventView| context.output.shown(event, as_text);
    let count = events.count()?;
    if count > verb.last as u64 && agent.is_none() && mesh.is_none() && kind.is_none() {
        let last = verb.last;
        talk(&format!(
            "the last {last} of {count} events: `tx spy -n {count}` shows all\n"
        ));
    }
    context.output.say(&events.show(verb.last, show)?)?;
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

/// An event on one line, with its first effect and the number of others.
fn as_text(event: &EventView) -> String {
    let EventView { seq, words, .. } = event;
    let head = format!("{}  {seq:>6}  ", local(event.at));
    let led_to = match &event.effects_in_words[..] {
        [] => String::new(),
        [only] => format!("  → {only}"),
        [first, more @ ..] => format!("  → {first} (+{})", more.len()),
    };
    let rest = rest_of_terminal_line(&format!("{words}{led_to}"), head.len());
    format!("{}{rest}\n", dim(&head))
}
