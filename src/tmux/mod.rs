//! A private tmux server, reached through one control-mode client. tx never touches the user's own
//! server.
//!
//! Commands are built with tmux_interface and quoted here. Replies are matched in order, on bytes.
//! Panes are addressed by their ids only.

mod client;
mod environment;
mod panes;
mod protocol;
mod quote;
mod server;
mod typing;

pub use client::{Client, Error, OutputLines};
pub use environment::is_of_tx;
pub use panes::{PaneId, PaneInfo, Person, Window, session_name};
pub use quote::literal;
pub use server::{HUB, Server, ServerId};
pub use typing::{CORE, Mark, PaneSnapshot, Paste, PasteContent};
