//! The reference page docs/cli.md. It is generated from clap's definitions and the answers' types,
//! so it cannot be out of date.

use std::fmt::Write;

use clap::{Arg, Command};
use serde_json::{Map, Value};

use super::exit::Exit;
use super::help::{EVERYWHERE, GROUPS, command};
use super::schema;

/// The environment that tx reads, and that agents get.
const ENVIRONMENT: [(&str, &str); 10] = [
    (
        "TX_ROOT",
        "The project's folder, unless `-C` names one. Agents get it too.",
    ),
    (
        "TX_AGENT",
        "In an agent's environment: its `mesh/agent`. `tx send` speaks as that agent; `tx answer` \
         refuses, because only the human answers.",
    ),
    (
        "TX_MSG_ID",
        "In an agent's environment: the message it works on, which is the cause of what it sends.",
    ),
    ("TX_SESSION_ID", "In an agent's environment: its session."),
    (
        "TX_WORKDIR",
        "In an agent's environment: the folder it works in.",
    ),
    (
        "TX_WORKSPACE",
        "In an agent's environment: the workspace of its mesh, if it has one.",
    ),
    (
        "TX_LOG",
        "`debug` makes the daemon log more. The log is in `.ai/tx/logs/`.",
    ),
    (
        "NO_COLOR",
        "If it has a value: no colours, like `--color never`.",
    ),
    (
        "TMUX",
        "Set by tmux: tells `tx start` and `tx attach` that they run inside tmux.",
    ),
    (
        "SHELL",
        "What the core session runs, unless `core.run` in `.ai/tx/config.yaml` says otherwise.",
    ),
];

/// How many levels of an answer's shape are shown.
const DEPTH: usize = 3;

/// The text of the page.
pub fn reference() -> String {
    let mut all = command();
    all.build();
    let mut page = String::from(
        "# The command line\n\n\
         This page is generated from the program (`TX_UPDATE=1 cargo test --test cli reference`). \
         `tx help VERB` prints the same.\n\n\
         Answers go to standard output, progress and errors to standard error. Verbs that only read \
         work without a daemon. `tx` alone in a project is `tx status`.\n\n\
         ## Every verb\n\n| option | |\n|---|---|\n",
    );
    for (option, what) in EVERYWHERE {
        let _ = writeln!(page, "| `{}` | {what} |", option.trim());
    }
    for (group, verbs) in GROUPS {
        let _ = writeln!(page, "\n## {group}");
        for verb in verbs.iter().filter(|verb| **verb != "help") {
            if let Some(found) = all.find_subcommand(verb) {
                page += &of_verb(&format!("tx {verb}"), found);
            }
        }
    }
    page += "\n## Exit codes\n\n| code | |\n|---|---|\n";
    for (exit, what) in Exit::ALL {
        let _ = writeln!(page, "| {} | {what} |", exit as u8);
    }
    page += "\n## Environment\n\n| variable | |\n|---|---|\n";
    for (name, what) in ENVIRONMENT {
        let _ = writeln!(page, "| `{name}` | {what} |");
    }
    page += "\n## JSON\n\n\
             With `--json` an answer is one document, or one per line where it streams. New versions may \
             add fields and never remove one. [answers.schema.json](answers.schema.json) has the types; in short \
             (`?`: may be null or absent; `[…]`: a list):\n\n";
    let schema = schema();
    let none = Map::new();
    let verbs = schema["properties"].as_object().unwrap_or(&none);
    for (verb, answer) in verbs {
        let shape = shape(answer, &schema["$defs"], DEPTH);
        let _ = writeln!(page, "- **{verb}** `{shape}`");
    }
    page
}

/// A command and its subcommands.
fn of_verb(name: &str, verb: &Command) -> String {
    let mut page = format!("\n### {name}\n\n");
    let about = verb.get_long_about().or(verb.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let about = about.trim_end_matches('.');
    let _ = writeln!(page, "{about}.");
    let visible = || {
        verb.get_arguments()
            .filter(|arg| !arg.is_hide_set() && arg.get_id() != "help")
    };
    if verb.get_subcommands().next().is_none() {
        let words = visible().filter(|arg| arg.is_positional()).map(|arg| {
            let word = value(arg);
            if arg.is_required_set() {
                word
            } else {
                format!("[{word}]")
            }
        });
        let words: Vec<String> = words.collect();
        let options = match visible().any(|arg| !arg.is_positional()) {
            true => " [OPTIONS]",
            false => "",
        };
        let usage = format!("{name}{options} {}", words.join(" "));
        let _ = writeln!(page, "\n    {}", usage.trim());
    }
    if visible().next().is_some() {
        page += "\n| | |\n|---|---|\n";
    }
    for arg in visible() {
        let _ = writeln!(page, "| `{}` | {} |", cell(&term(arg)), cell(&help(arg)));
    }
    if let Some(example) = verb.get_after_help() {
        let lines = example.to_string();
        let _ = writeln!(page, "\n{}", indented(&lines));
    }
    for below in verb
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
    {
        page +=
            &of_verb(&format!("{name} {}", below.get_name()), below).replace("\n### ", "\n#### ");
    }
    page
}

/// `Example: …` with the command as a code block.
fn indented(lines: &str) -> String {
    let (head, rest) = lines.split_once(':').unwrap_or(("Example", lines));
    let rest: String = rest
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("\n    {}", line.trim()))
        .collect();
    format!("{head}:\n{rest}")
}

/// An argument as it is written.
fn term(arg: &Arg) -> String {
    let mut names: Vec<String> = Vec::new();
    names.extend(arg.get_short().map(|short| format!("-{short}")));
    names.extend(arg.get_long().map(|long| format!("--{long}")));
    let takes = arg.is_positional() || arg.get_action().takes_values();
    let value = if takes { value(arg) } else { String::new() };
    format!("{} {value}", names.join(", ")).trim().to_owned()
}

fn value(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    match names.first() {
        Some(name) => name.to_string(),
        None => arg.get_id().as_str().to_uppercase(),
    }
}

fn help(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    help.replace('\n', " ")
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The shape of an answer: `{"id", "to": […]}`.
fn shape(schema: &Value, parts: &Value, depth: usize) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        return shape(&parts[name], parts, depth);
    }
    if let Some(options) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let mut shapes: Vec<String> = Vec::new();
        for option in options.iter().filter(|option| option["type"] != "null") {
            let shape = shape(option, parts, depth);
            if !shape.is_empty() && !shapes.contains(&shape) {
                shapes.push(shape);
            }
        }
        return shapes.join(" or ");
    }
    if let Some(items) = schema.get("items") {
        let inside = shape(items, parts, depth);
        return format!("[{}]", if inside.is_empty() { "…" } else { &inside });
    }
    let Some(fields) = schema["properties"].as_object() else {
        return String::new();
    };
    if depth == 0 {
        return "{…}".into();
    }
    let required = schema["required"].as_array();
    let fields = fields.iter().map(|(name, field)| {
        let is_required = required.is_some_and(|names| names.iter().any(|n| n == name.as_str()));
        let may_be_null = field["type"]
            .as_array()
            .is_some_and(|types| types.iter().any(|t| t == "null"))
            || field["anyOf"]
                .as_array()
                .is_some_and(|any| any.iter().any(|t| t["type"] == "null"));
        let mark = if is_required && !may_be_null { "" } else { "?" };
        let inside = shape(field, parts, depth - 1);
        match inside.is_empty() {
            true => format!("\"{name}\"{mark}"),
            false => format!("\"{name}\"{mark}: {inside}"),
        }
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}
