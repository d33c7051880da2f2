//! The world: what the engine decides is done here, and what happens is told to it.
//!
//! One loop owns the state; everything else sends it events. This is the only room that
//! waits for anything.

mod attempt;
mod processes;
mod turn;

pub use attempt::{Attempt, Ended, Order, Stand, clear_old, running};
pub use turn::{become_program, wrap};
