//! Agent programs as data: the known runtimes, how a program is called, and what its screen means.
//!
//! Pure: nothing here starts a process, looks at a pane or touches a file.

mod abilities;
pub mod hook;
mod known;
mod reset;
pub mod screen;
mod shell;
pub mod stream;
mod template;
mod toml;
pub mod usage;

pub use abilities::{asks, cannot};
pub use known::Runtimes;
pub use reset::reset;
pub use shell::shell;
pub use template::{Unfilled, Values, arguments, file, fill, text_with, uses_session};
pub use toml::toml;
