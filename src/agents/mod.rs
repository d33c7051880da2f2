//! Agents as data: how a program is called, and what it is given.
//!
//! Pure: nothing here starts a process or touches a file.

mod shell;
mod template;

pub use shell::shell;
pub use template::{Unfilled, Values, arguments, fill, uses_session};
