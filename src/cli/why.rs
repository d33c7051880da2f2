//! `tx why`: how far a message has got, the evidence, and what it waits for.

use std::fmt::Write;

use super::layout::{hanging, in_local_time, local};
use super::{Context, Exit, Refused, gates, machines, require_journal};
use crate::actions::{Panes, typing_now};
use crate::daemon::running;
use crate::format::report::{many, printable_lines};
use crate::model::Address;
use crate::project::Project;
use crate::view::{AgentView, Explained, MachineView, MessageView, UsageView};

/// Show how far a message has got, what an agent waits for, or where a mesh's runs are
#[derive(clap::Args)]
#[command(after_help = "Example: tx why fix-the-login-3f9a1c")]
pub(super) struct WhyArgs {
    /// A msg-id or the beginning of one, the name of a message file, an agent, or a mesh with a workflow
    #[arg(value_name = "MSG|FILE|AGENT|MESH")]
    what: String,
}

pub(super) fn run(context: &Context, verb: &WhyArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let past = require_journal(&project)?;
    let mesh = verb.what.trim_end_matches("/dispatch");
    match Explained::of(past.history(), &verb.what, running(&project).is_some())? {
        // Scripts only get the newest one.
        Explained::Messages(views) => context.output.answer(&views[0], |_| {
            let blocks: Vec<String> = views.iter().map(as_text).collect();
            blocks.join("\n")
        }),
        Explained::Agent(agent) => context.output.answer(&*agent, |agent| {
            let pane = pane_now(&project, &agent.agent);
            let pane = pane.map(|shows| format!("  its pane: {shows}\n"));
            agent_text(agent) + &printable_lines(&pane.unwrap_or_default())
        }),
        Explained::Workflow(runs) => {
            let text = |runs: &Vec<_>| machines::of_mesh(mesh, runs);
            context.output.answer(&runs, text)
        }
        Explained::Runs(tasks) => {
            // Scripts get machines, and there are none.
            let text = |_: &_| machines::without_workflow(mesh, &tasks);
            context.output.answer(&Vec::<MachineView>::new(), text)
        }
    }
}

/// What the pane of an agent shows, where that tells whether a text can be delivered.
fn pane_now(project: &Project, agent: &Address) -> Option<String> {
    running(project)?;
    let panes = Panes::of(project).ok()?;
    let agents = panes.agents();
    let (pane, _) = agents.need(agent).ok()?;
    typing_now(project, &panes, agent, pane)
}

fn agent_text(agent: &AgentView) -> String {
    let AgentView {
        agent: address,
        state,
        work,
        queue,
        waiting_for,
        ..
    } = agent;
    let since = agent.since.map(|at| format!(" since {}", local(at)));
    let is = format!(
        "{}{}: {}",
        state.as_str(),
        since.unwrap_or_default(),
        in_local_time(waiting_for)
    );
    let mut text = match agent.as_of {
        None => format!("{address}: {is}\n"),
        Some(at) => format!("{address}, as of {}: was {is}\n", local(at)),
    };
    if let Some(workflow) = &agent.workflow {
        let _ = writeln!(text, "  works on {workflow}");
    }
    for (what, ids) in [("works on", work), ("queued", queue)] {
        if !ids.is_empty() {
            let _ = writeln!(text, "  {what}: {}", ids.join(", "));
        }
    }
    let used = UsageView::in_words(agent.usage.as_ref());
    let _ = writeln!(text, "  usage: {used}");
    printable_lines(&text)
}

/// A message with the steps of its deliveries.
pub(super) fn as_text(message: &MessageView) -> String {
    let gist = &message.gist;
    let mut text = format!("{}  from {}\n  {}\n", gist.id, gist.from, gist.headline);
    let cause = match gist.cause.is_empty() {
        true => "nothing".to_owned(),
        false => gist.cause.join(", "),
    };
    let thread = message.thread.join(", ");
    let hops = many(message.hops as usize, "hop");
    let _ = writeln!(text, "  follows from {cause}; thread {thread}; {hops}");
    if let Some(run) = message.run.as_ref().filter(|run| run.usage.is_some()) {
        let _ = writeln!(text, "  run {} has used: {}", run.run, run.in_words());
    }
    for warning in &message.warnings {
        let (line, column) = (warning.line.unwrap_or(0), warning.column.unwrap_or(0));
        let _ = writeln!(
            text,
            "  warning {}, at {line}:{column}: {}; {}",
            warning.code.as_deref().unwrap_or_default(),
            warning.message,
            warning.hint
        );
    }
    if let (Some(why), Some((at, evidence))) = (&message.refused, &message.refusal) {
        let _ = writeln!(text, "  refused at {}: {why}\n    {evidence}", local(*at));
    }
    if let Some(transition) = &message.transition {
        let _ = writeln!(text, "  moved the workflow: {transition}");
    }
    for (place, (to, kind, by)) in message.deliveries.iter().enumerate() {
        let by = by.as_ref().map(|by| format!(" ({by})"));
        let _ = writeln!(text, "\n  to {to} as {kind}{}", by.unwrap_or_default());
        for entry in message
            .ladder
            .0
            .iter()
            .filter(|entry| entry.delivery == place)
        {
            let (at, step) = (local(entry.at), entry.step.as_str());
            let evidence = hanging(&entry.evidence, 8);
            let _ = writeln!(text, "    {at}  {step:<12}  {evidence}");
        }
    }
    text += &gates::reports(&message.gates);
    if let Some(criteria) = &message.criteria {
        let _ = writeln!(text, "\n  must fulfil:");
        for line in criteria.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    for waits in &message.waiting_for {
        let _ = writeln!(text, "\n  waits for {}", in_local_time(waits));
    }
    printable_lines(&text)
}
