//! The worker's state machine in docs/architecture.md is the one in the code.

use std::collections::BTreeMap;
use std::fmt::Write;

use tx::engine::{Phase, Signal, Transition, decide};

use crate::pages::same_in_page;

fn name(is: Phase) -> String {
    format!("{is:?}")
}

/// What leads from where to where, and by what.
fn edges() -> BTreeMap<(Phase, Phase), Vec<&'static str>> {
    let mut edges: BTreeMap<(Phase, Phase), Vec<&str>> = BTreeMap::new();
    for from in Phase::ALL {
        for signal in Signal::ALL {
            let by = decide(from, signal);
            // What holds a worker is over: that is its own line of text.
            if by == Transition::AsBefore {
                continue;
            }
            for to in by.leads_to(from).iter().filter(|to| **to != from) {
                edges.entry((from, *to)).or_default().push(signal.as_str());
            }
        }
    }
    edges
}

fn drawn() -> String {
    let mut text = String::from("```mermaid\nstateDiagram-v2\n    [*] --> Idle\n");
    for ((from, to), labels) in edges() {
        let _ = writeln!(
            text,
            "    {} --> {}: {}",
            name(from),
            name(to),
            labels.join(", ")
        );
    }
    text += "```\n\nWhat each signal does in each state. Brackets mean that it does nothing, and say why:\n\n| |";
    for is in Phase::ALL {
        let _ = write!(text, " {} |", name(is));
    }
    text += "\n|---|---|---|---|---|---|---|---|---|---|\n";
    for signal in Signal::ALL {
        let _ = write!(text, "| {} |", signal.as_str());
        for is in Phase::ALL {
            let by = decide(is, signal);
            let word = words(by);
            let _ = match by.is_nothing() {
                true => write!(text, " ({word}) |"),
                false => write!(text, " {word} |"),
            };
        }
        text.push('\n');
    }
    text
}

/// `TurnEnded` as `turn ended`.
fn words(by: Transition) -> String {
    let mut words = String::new();
    for c in format!("{by:?}").chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

#[test]
fn the_diagram_of_the_worker_is_the_code() {
    let comment = "the worker, drawn by a test";
    same_in_page("docs/architecture.md", comment, &drawn());
}

#[test]
fn every_state_is_reached_and_left() {
    let edges = edges();
    for is in Phase::ALL {
        assert!(edges.keys().any(|(from, _)| *from == is), "{is:?} is left");
        assert!(edges.keys().any(|(_, to)| *to == is), "{is:?} is reached");
    }
}
