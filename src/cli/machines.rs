//! Machines and short blocks as text, for `tx status` and `tx why`.

use std::fmt::Write;

use super::output::{bold, dim};
use super::runs;
use crate::format::report::{printable, printable_lines};
use crate::view::{MachineView, Now, ShortBlock, TaskView};

/// The maximum length of a variable's value on a line.
const SHOWN: usize = 40;

/// One line for each run in a workflow.
pub(super) fn under_way(now: &Now) -> String {
    if now.machines.is_empty() {
        return String::new();
    }
    let lines: String = now
        .machines
        .iter()
        .map(|it| format!("  {}\n", line(it)))
        .collect();
    format!("{}\n{lines}", bold("workflows"))
}

/// The machines and blocks that wait for a person, with the command.
pub(super) fn wait_for_person(now: &Now) -> Vec<String> {
    let parked = now.machines.iter().filter_map(|machine| {
        let command = machine
            .command
            .as_ref()
            .filter(|it| !it.starts_with("tx answer"))?;
        let what = format!("{}  {}  {}", machine.mesh, machine.run, machine.waits_for);
        Some(format!(
            "{}  {}",
            printable(&what),
            dim(&printable(command))
        ))
    });
    let short = now.short_blocks.iter().map(short_block);
    parked.chain(short).collect()
}

/// A block with too few results, with the command that a person can use.
pub(super) fn short_block(block: &ShortBlock) -> String {
    let what = format!("the block of {} {}", block.id, block.in_words());
    format!(
        "{}  {}",
        printable(&what),
        dim(&printable(&block.command()))
    )
}

/// The runs of a mesh without a workflow.
pub(super) fn without_workflow(mesh: &str, tasks: &[TaskView]) -> String {
    if tasks.is_empty() {
        return format!("no run is under way in {mesh}\n");
    }
    let mut text = String::new();
    for task in tasks {
        let _ = writeln!(
            text,
            "{}  {}  {}",
            task.id,
            runs::held_by(task),
            task.headline
        );
        if let Some(reason) = &task.reason {
            let _ = writeln!(text, "  {}", printable(reason));
        }
    }
    printable_lines(&text)
}

/// `bug-fixer  do-it-41ab  fixing (visit 2)  step 6  3 of 5 members: fixer#2 working  n=1`.
fn line(machine: &MachineView) -> String {
    let state = machine.state.as_deref().unwrap_or("(begins)");
    let mut text = format!("{}  {}  {state}", machine.mesh, machine.run);
    if machine.visit > 1 {
        let _ = write!(text, " (visit {})", machine.visit);
    }
    let _ = write!(text, "  step {}", machine.step);
    if !machine.members.is_empty() {
        let done = machine
            .members
            .iter()
            .filter(|it| it.state == "done")
            .count();
        let _ = write!(text, "  {done} of {} members", machine.members.len());
        let working = machine.members.iter().filter(|it| it.state == "working");
        let working: Vec<String> = working
            .map(|it| {
                let agent = it.agent.to_string();
                agent
                    .split_once('/')
                    .map_or(agent.clone(), |(_, agent)| agent.to_owned())
            })
            .collect();
        if !working.is_empty() {
            let _ = write!(text, ": {} working", working.join(", "));
        }
    } else if machine.command.is_none() {
        let _ = write!(text, "  {}", machine.waits_for);
    }
    for (name, value) in &machine.context {
        let mut value: String = value.split_whitespace().collect::<Vec<_>>().join(" ");
        if value.chars().count() > SHOWN {
            value = value.chars().take(SHOWN).collect::<String>() + "…";
        }
        let _ = write!(text, "  {name}={value}");
    }
    printable(&text)
}

/// The machines of a mesh, each with its variables and members.
pub(super) fn of_mesh(mesh: &str, machines: &[MachineView]) -> String {
    if machines.is_empty() {
        return format!("no run is under way in the workflow of {mesh}\n");
    }
    let mut text = String::new();
    for machine in machines {
        let state = machine.state.as_deref().unwrap_or("(begins)");
        let (run, visit, step) = (&machine.run, machine.visit, machine.step);
        let _ = writeln!(text, "{mesh}  {run}  {state}, visit {visit}, step {step}");
        let _ = writeln!(text, "  came by: {}", machine.last_change);
        let _ = writeln!(text, "  waits for {}", machine.waits_for);
        if let Some(command) = &machine.command {
            let _ = writeln!(text, "  {command}");
        }
        for (name, record) in &machine.set_by {
            let value = machine.context.get(name).map_or("", String::as_str);
            let _ = writeln!(text, "  {name} = {value}  (record {record})");
        }
        for member in &machine.members {
            let _ = writeln!(
                text,
                "  member {}: {} {}",
                member.index, member.agent, member.state
            );
        }
    }
    printable_lines(&text)
}
