//! `tx greet`: the greeting of the core session.

use std::fmt::Write;

use super::output::{bold, dim};
use super::{Context, Exit, Refused};
use crate::format::report::printable;
use crate::project::{Catalogue, MeshSource};

/// The commands that a person needs first.
const COMMANDS: [(&str, &str); 5] = [
    ("tx send MESH \"…\"", "give a task"),
    ("tx status", "see the status"),
    (
        "tx asks, tx answer",
        "see what waits for you, and answer it",
    ),
    ("tx inbox, tx runs", "see new messages, and every task"),
    ("tx attach AGENT", "go to the window of an agent"),
];
/// It fits a terminal of 80 columns.
const KEYS: &str = "Ctrl-b, then  a: asks  i: inbox  b: back here  w: all windows  d: detach";

pub(super) fn run(context: &Context) -> Result<Exit, Refused> {
    let project = context.project()?;
    let entries = Catalogue::load(Some(&project)).entries;
    let own = entries
        .iter()
        .filter(|entry| entry.place != MeshSource::BuiltIn);
    let meshes: Vec<&str> = own.map(|entry| entry.name.as_str()).collect();
    let name = project.root.file_name().unwrap_or_default();
    let mut text = bold(&format!("tx in {}", printable(&name.to_string_lossy())));
    match meshes.is_empty() {
        true => text += "  no meshes yet: `tx mesh list` lists the shipped ones\n",
        false => {
            let _ = writeln!(text, "  meshes: {}", printable(&meshes.join(", ")));
        }
    }
    for (command, what) in COMMANDS {
        let _ = writeln!(text, "  {command:<18}  {}", dim(what));
    }
    let _ = writeln!(text, "{}", dim(KEYS));
    context.output.say(&text)?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_fits_a_terminal_of_80_columns() {
        assert!(KEYS.chars().count() < 80);
        let widest = COMMANDS.iter().map(|(_, what)| 22 + what.chars().count());
        assert!(widest.max() < Some(80));
    }
}
