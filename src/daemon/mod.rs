//! The world: what the engine decides is done here, and what happens is told to it.
//!
//! One loop owns the state; everything else sends it events. This is the only room that
//! waits for anything.

mod answering;
mod aside;
mod attempt;
mod attempts;
mod bar;
mod beginning;
mod begun;
mod clock;
mod consumer;
mod control;
mod ending;
mod handout;
mod handover;
mod hooks;
mod injector;
mod last_words;
mod leave;
mod leftovers;
mod letters;
mod lock;
mod meshes;
mod news;
mod notices;
mod orders;
mod perform;
mod process;
mod processes;
mod queue;
mod queued;
mod recover;
mod run;
mod screens;
mod settle;
mod signals;
mod stopped;
mod survivors;
mod tag;
mod terminal;
mod turn;
mod usage;

pub use answering::Answering;
pub use attempt::{Attempt, Ended, Order, Stand};
pub use control::{
    Asked, Control, Follow, Heard, NoAnswer, NoDaemon, Refusal, Reply, Request, command_for,
    listen, may_ask, serve, stop_listening,
};
pub use leftovers::{end_leftovers, leftovers};
pub use letters::file_with;
pub use lock::{DaemonLock, Lost, Running, Taken, running};
pub use run::run;
pub use stopped::Stopped;
pub use tag::pane_of;
pub use turn::{become_program, wrap};

/// What the loop is told.
enum Input {
    /// Something happened.
    Event(crate::engine::Event),
    /// Files were found on the bus.
    Found(Vec<crate::engine::Event>),
    /// The human was shown these.
    Read(Vec<crate::engine::MessageNo>),
    /// Files can be watched again, or not any more: then they are looked for.
    Watching(bool),
    /// Files are not looked at any more.
    Blind,
    /// Every file that was there at the start has been seen.
    Scanned,
    /// The meshes were read.
    Meshes(Box<meshes::Read>),
}
