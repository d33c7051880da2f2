//! Agent programs as data: which runtimes there are, how a program is called, and what its
//! screen tells.
//!
//! Pure: nothing here starts a process, looks at a pane or touches a file.

mod known;
pub mod screen;
mod shell;
mod template;
pub mod usage;

pub use known::Runtimes;
pub use shell::shell;
pub use template::{Unfilled, Values, arguments, fill, uses_session};
