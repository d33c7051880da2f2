//! Help: the commands in groups, and the command line that clap parses.

use std::fmt::Write;

use clap::builder::styling::Styles;
use clap::{Command, CommandFactory};

use super::Args;

/// The commands, grouped by purpose.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    ("Begin", &["init", "start", "attach", "demo", "doctor"]),
    ("Work", &["send", "asks", "answer", "inbox"]),
    (
        "Look",
        &[
            "status", "runs", "show", "worker", "mesh", "runtime", "check",
        ],
    ),
    ("History", &["why", "trace", "spy", "quality", "replay"]),
    (
        "Care",
        &[
            "stop",
            "run",
            "dlq",
            "worktree",
            "prune",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// The options that every command takes.
pub(super) const EVERYWHERE: [(&str, &str); 4] = [
    (
        "-C, --root DIR",
        "The project's folder, or TX_ROOT [default: the nearest with .ai/tx or meshes]",
    ),
    (
        "    --json",
        "Answer in JSON: one document, or one per line where it streams",
    ),
    (
        "    --color WHEN",
        "auto, always or never; NO_COLOR is obeyed",
    ),
    (
        "-h, --help",
        "Help for tx, or for a verb: the same as `tx help VERB`",
    ),
];

/// The command line, with its own overview.
pub(super) fn command() -> Command {
    let command = Args::command();
    let overview = overview(&command);
    command.override_help(overview)
}

/// What a command does, on one line.
pub(super) fn summary(command: &Command, verb: &str) -> String {
    if verb == "help" {
        return "Print help for tx or for a verb".into();
    }
    let found = command.find_subcommand(verb);
    let about = found.and_then(Command::get_about);
    about.map(ToString::to_string).unwrap_or_default()
}

fn overview(command: &Command) -> String {
    let styles = Styles::styled();
    let (head, word) = (styles.get_header(), styles.get_literal());
    let about = command.get_about().map(ToString::to_string);
    let mut text = format!(
        "{}\n\n{head}Usage:{head:#} {word}tx{word:#} [OPTIONS] VERB …\n",
        about.unwrap_or_default()
    );
    text += "       In a project, tx alone shows its status.\n";
    for (group, verbs) in GROUPS {
        let _ = writeln!(text, "\n{head}{group}:{head:#}");
        for verb in verbs {
            let summary = summary(command, verb);
            let _ = writeln!(text, "  {word}{verb:<12}{word:#} {summary}");
        }
    }
    let _ = writeln!(text, "\n{head}Everywhere:{head:#}");
    for (option, what) in EVERYWHERE {
        let _ = writeln!(text, "  {word}{option:<16}{word:#} {what}");
    }
    text + "  -V, --version    Print the version\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_in_one_group() {
        let command = command();
        let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut known: Vec<&str> = verbs.map(Command::get_name).collect();
        known.push("help");
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| verbs.iter().copied())
            .collect();
        known.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
        for line in overview(&command).lines() {
            let plain = anstream::adapter::strip_str(line).to_string();
            assert!(plain.chars().count() <= 100, "{plain}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }
}
