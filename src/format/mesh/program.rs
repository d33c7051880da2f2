//! The runtime and the program of an agent, and the placeholders in its arguments.

use super::document::{Document, at};
use super::passed_on::check_passed_on;
use super::shapes::OneOrMany;
use crate::format::yaml::PathSegment;
use crate::model::{Agent, Code, Piece, Placeholder, Runtime, did_you_mean, pieces};
use crate::runtime::Runtimes;

pub(super) fn check_runtime(
    document: &mut Document,
    index: usize,
    agent: &Agent,
    runtimes: &Runtimes,
) {
    let at = at!["agents", index, "runtime"];
    let name = &agent.runtime;
    let nothing_runs = |runtime: &Runtime| runtime.run_of(agent).is_empty();
    if runtimes.of(agent).is_some_and(nothing_runs) {
        let message = format!("a `{name}` agent needs a program");
        let hint = "add `run: [program, argument]`";
        document.about_value(Code::Runtime, &at, message, hint);
    } else if !runtimes.names().any(|known| known == name) {
        let message = format!("there is no runtime `{name}`");
        let hint = did_you_mean(name, runtimes.names(), || {
            let names: Vec<&str> = runtimes.names().collect();
            format!("tx has {}; a project may add its own", names.join(", "))
        });
        document.about_value(Code::Runtime, &at, message, hint);
    }
    if let Some(runtime) = runtimes.of(agent) {
        check_passed_on(document, index, agent, runtime);
    }
}

/// The arguments of a program. A text is split like a shell would do it, before anything is filled
/// in; for a shell it stays one text.
pub(super) fn run(
    document: &mut Document,
    index: usize,
    shell: bool,
    run: Option<OneOrMany>,
) -> Vec<String> {
    let at = at!["agents", index, "run"];
    match &run {
        Some(OneOrMany::One(line)) => check_placeholders(document, &at, &line.0),
        Some(OneOrMany::Many(arguments)) => {
            for (number, argument) in arguments.iter().enumerate() {
                let at = at!["agents", index, "run", number];
                if let Some(argument) = argument {
                    check_placeholders(document, &at, &argument.0);
                }
            }
        }
        None => {}
    }
    if let Some(OneOrMany::One(line)) = run.as_ref().filter(|_| !shell) {
        check_shell_words(document, &at, &line.0);
    }
    match run {
        Some(OneOrMany::One(line)) if !shell => shlex::split(&line.0).unwrap_or_else(|| {
            let message = "run: a quote is never closed";
            let hint = "write a list: `run: [program, argument]`";
            document.about_value(Code::WrongShape, &at, message, hint);
            Vec::new()
        }),
        Some(run) => run.into_vec(),
        None => Vec::new(),
    }
}

/// Words such as `>` are arguments like any other if no shell reads the line.
pub(super) fn check_shell_words(document: &mut Document, at: &[PathSegment], line: &str) {
    let arguments = shlex::split(line).unwrap_or_default();
    // A quoted word is meant as it stands, and so is one inside quotes.
    let mut unquoted = line.split_whitespace();
    let word = unquoted.find(|word| is_for_a_shell(word) && arguments.iter().any(|it| it == word));
    if let Some(word) = word {
        let message = format!("`{word}` is passed on as an argument: no shell runs this line");
        let hint = format!("add `shell: true`, or quote it if that is meant: '{word}'");
        document.about_value(Code::ShellCharacters, at, message, hint);
    }
}

fn is_for_a_shell(word: &str) -> bool {
    let operators = [
        "|", "||", "&", "&&", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>",
    ];
    let is_variable = word.strip_prefix('$').is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '(' | '{'))
    });
    operators.contains(&word) || is_variable || word.ends_with(';')
}

fn check_placeholders(document: &mut Document, at: &[PathSegment], text: &str) {
    for piece in pieces(text) {
        let (name, default) = match piece {
            Piece::Slot { name, default, .. } if name.parse::<Placeholder>().is_err() => {
                (name, default)
            }
            Piece::Slot { .. } | Piece::Text(_) => continue,
        };
        let message = match default {
            None => format!("run: `{{{name}}}` is not a placeholder; the agent cannot start"),
            Some(default) => {
                format!("run: `{{{name}}}` is not a placeholder; `{default}` always stands there")
            }
        };
        let hint = did_you_mean(name, Placeholder::names(), || {
            let names: Vec<&str> = Placeholder::names().collect();
            let names = names.join(", ");
            format!("there are {names}; for the text itself write `{{{{{name}}}}}`")
        });
        document.about_value(Code::UnknownPlaceholder, at, message, hint);
    }
}
