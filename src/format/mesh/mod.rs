//! Mesh configs: raw YAML becomes a resolved [`Mesh`], and its table is checked like a program.
//!
//! `raw` parses every shape. `resolve` and the modules that it calls make one shape of them. `lint`
//! walks the routing table as a graph, `graph` draws it, and `schema` describes it to editors. Few
//! mistakes keep a mesh from loading; all others are warnings.

mod agents;
mod document;
mod edges;
mod expression;
mod graph;
mod graph_states;
mod guardrails;
mod lifecycle;
mod lint;
mod machine;
mod machine_lint;
mod machine_state;
mod manifest;
mod passed_on;
mod pool;
mod program;
mod quality;
mod raw;
mod raw_workflow;
mod rearmatter;
mod resolve;
mod scalars;
mod schema;
mod sessions;
mod shapes;
mod table;
#[cfg(test)]
mod tests;
mod words_lint;
mod workflow_blocks;
#[cfg(test)]
mod workflow_tests;
mod workspace;

use std::ops::Range;

use serde_json::Value;

use super::findings::{Findings, too_large};
use super::yaml;
use crate::model::{Address, Code, Diagnostic, Mesh};
use crate::runtime::Runtimes;
use document::{Document, at};

pub(super) use edges::opened;
pub use graph::{Drawing, draw, in_words, states_in_words};
pub use schema::schema;

/// The largest mesh config, in bytes.
pub const MAX_FILE: usize = 256 * 1024;

/// A parsed mesh config.
#[derive(Debug, Default)]
pub struct ParsedMesh {
    /// The mesh; `None` if it does not load, and the diagnostics say why.
    pub mesh: Option<Mesh>,
    /// The findings about it.
    pub diagnostics: Vec<Diagnostic>,
    /// Routes into other meshes, and their spans. The caller looks them up.
    pub elsewhere: Vec<(Address, Range<usize>)>,
}

/// A finding of a caller about a config that loads.
#[derive(Clone, Debug)]
pub struct Remark {
    /// The part of the config that it is about.
    pub part: ConfigPart,
    /// The code of the finding.
    pub code: Code,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// A part of a config.
#[derive(Clone, Debug)]
pub enum ConfigPart {
    /// The mesh's name.
    Name,
    /// The prompt of the agent with this index.
    Prompt(usize),
    /// The name of the agent with this index.
    Agent(usize),
    /// The gates.
    Quality,
    /// A span of the text.
    Span(Range<usize>),
}

/// Parse a mesh config, with tx's own runtimes.
pub fn parse(bytes: &[u8]) -> ParsedMesh {
    parse_with(bytes, Runtimes::builtin())
}

/// The same with the runtimes of a project.
pub fn parse_with(bytes: &[u8], runtimes: &Runtimes) -> ParsedMesh {
    parse_in(bytes, runtimes, &|_| None)
}

/// The same, where scripts can be files: `read` returns the text of a file in the mesh's folder.
pub fn parse_in(
    bytes: &[u8],
    runtimes: &Runtimes,
    read: &dyn Fn(&str) -> Option<String>,
) -> ParsedMesh {
    let failed = |diagnostics| ParsedMesh {
        diagnostics,
        ..ParsedMesh::default()
    };
    if bytes.len() > MAX_FILE {
        return failed(vec![too_large(MAX_FILE)]);
    }
    let text = match super::text::utf8(bytes) {
        Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
        Err((diagnostic, _)) => return failed(vec![diagnostic]),
    };
    let mut findings = Findings::new(text);
    let mut value = match yaml::parse(text) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => {
            let end = text.find('\n').unwrap_or(text.len());
            let message = "expected a mapping with `mesh` and `agents`";
            let hint = "see docs/mesh-format.md, or start from `tx init`";
            findings.say(Code::NotAMapping, 0..end, message, hint);
            return failed(findings.finish());
        }
        Err(fault) => {
            findings.yaml_fault(fault.at, &fault);
            return failed(findings.finish());
        }
    };
    yaml::merge(&mut value);
    let mut document = Document::new(text);
    let raw = document.raw(value);
    let resolved = resolve::resolve(&mut document, raw, runtimes, read);
    if let Some((mesh, places)) = &resolved {
        lint::lint(&mut document, mesh);
        machine_lint::lint(&mut document, mesh, places);
    }
    ParsedMesh {
        mesh: resolved.map(|(mesh, _)| mesh),
        diagnostics: document.findings.finish(),
        elsewhere: document.elsewhere,
    }
}

/// Remarks as diagnostics, each at its part of the config.
pub fn diagnose(text: &str, remarks: impl IntoIterator<Item = Remark>) -> Vec<Diagnostic> {
    let mut document = Document::new(text);
    for Remark {
        part,
        code,
        message,
        hint,
    } in remarks
    {
        match part {
            ConfigPart::Name => document.about_value(code, &at!["mesh"], message, hint),
            ConfigPart::Prompt(index) => {
                document.about_value(code, &at!["agents", index, "prompt"], message, hint);
            }
            ConfigPart::Agent(index) => {
                document.about_value(code, &at!["agents", index, "name"], message, hint);
            }
            ConfigPart::Quality => {
                document.about_key(code, &at!["quality"], message, hint);
            }
            ConfigPart::Span(span) => document.findings.say(code, span, message, hint),
        }
    }
    document.findings.finish()
}
