//! Mesh configs: raw YAML to a resolved [`Mesh`], and the table checked as a program.
//!
//! `raw` parses every shape, `resolve` and `table` make one shape of them, `lint`
//! walks the routing table as a graph, `graph` draws it, `schema` describes it to
//! editors. Few things keep a mesh from loading; all else is a warning.

mod document;
mod graph;
mod lint;
mod raw;
mod resolve;
mod schema;
mod shapes;
mod table;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Text;
use super::message::{too_large, yaml_fault};
use super::yaml;
use crate::model::{Code, Diagnostic, Directory, Mesh};
use document::Document;

pub use graph::{Drawing, draw, in_words};
pub use schema::schema;

/// The largest mesh config, in bytes.
pub const MAX_FILE: usize = 256 * 1024;

/// Parse a mesh config. `None` if it does not load; the diagnostics say why.
pub fn parse(bytes: &[u8]) -> (Option<Mesh>, Vec<Diagnostic>) {
    if bytes.len() > MAX_FILE {
        return (None, vec![too_large(bytes.len() as u64, MAX_FILE)]);
    }
    let text = match super::text::utf8(bytes) {
        Ok(text) => text,
        Err((diagnostic, _)) => return (None, vec![diagnostic]),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut value = match yaml::parse(text) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => return (None, vec![not_a_mapping(text)]),
        Err(fault) => return (None, vec![yaml_fault(text, 0, &fault)]),
    };
    yaml::merge(&mut value);
    let mut document = Document::new(text);
    let raw = document.raw(value);
    let mesh = resolve::resolve(&mut document, raw);
    if let Some(mesh) = &mesh {
        lint::lint(&mut document, mesh);
    }
    let mut diagnostics = document.diagnostics;
    diagnostics.sort_by_key(|d| (d.place.line, d.place.column));
    (mesh, diagnostics)
}

/// Routes into other meshes, looked up among those that there are.
pub fn check_targets(text: &str, mesh: &Mesh, directory: &Directory) -> Vec<Diagnostic> {
    let mut document = Document::new(text);
    lint::targets_elsewhere(&mut document, mesh, directory);
    document.diagnostics
}

fn not_a_mapping(text: &str) -> Diagnostic {
    let text = Text(text);
    text.diagnose(
        Code::NotAMapping,
        text.line_at(0),
        "expected a mapping with `mesh` and `agents`",
        "see docs/mesh-format.md, or start from `tx init`",
    )
}
