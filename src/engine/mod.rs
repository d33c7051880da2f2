//! Decisions: what a message is and where it goes.
//!
//! Pure and deterministic: the same facts give the same decision, today and in a
//! replay. This room knows only `model`; it touches no file, process or clock,
//! and matches name every variant.

mod infer;
mod route;

pub use infer::{Context, Inferred, NotAccepted, Reply, Row, Work, infer, kind_of_outcome};
pub use route::{Outcome, Refusal, Route, Rule, Wanted, route};
