//! Parses and renders text: message files, mesh YAML, reports on both, and prompts.
//!
//! Pure: bytes come in, values and diagnostics go out. A bad text is data here: a diagnostic with a
//! place and a hint, never an `Err` that is passed up. These parsers never guess where a message
//! goes, never read past their limits, and never panic.

mod blocks;
mod findings;
pub mod gather;
pub mod mesh;
pub mod message;
pub mod parts;
pub mod prompt;
#[cfg(test)]
pub(crate) mod properties;
pub mod render;
pub mod report;
pub mod settings;
mod text;
mod yaml;

pub(crate) use findings::too_large;
pub use text::SourceText;
