//! The world: what the engine decides is done here, and what happens is told to it.
//!
//! One loop owns the state; everything else sends it events. This is the only room that
//! waits for anything.

mod answer_lock;
mod attempt;
mod attempts;
mod blocking;
mod clock;
mod commit;
mod consumer;
mod control;
mod delivered_message;
mod exit;
mod exit_patterns;
mod fatal;
mod hooks;
mod injector;
mod input_builder;
mod jobs;
mod launch;
mod lock;
mod meshes;
mod notifier;
mod notify;
mod orphans;
mod pane_tag;
mod perform;
mod platform;
mod process;
mod processes;
mod queue;
mod queued;
mod recover;
mod requests;
mod run;
mod screens;
mod shutdown;
mod signals;
mod status_line;
mod survivors;
mod system_messages;
mod terminal;
mod test_settings;
mod turn;
mod turn_input;
mod turn_starts;
mod usage;
mod versions;

pub use answer_lock::AnswerLock;
pub use attempt::{Attempt, Ended, LaunchSpec, Stand};
pub use control::{
    Asked, Control, Follow, Heard, NoAnswer, NoDaemon, Refusal, Reply, Request, command_for,
    listen, may_ask, serve, stop_listening,
};
pub use fatal::FatalError;
pub use lock::{DaemonLock, LockTaken, Lost, Running, running};
pub use orphans::{end_orphans, orphans};
pub use pane_tag::pane_of;
pub use run::run;
pub use system_messages::file_with;
pub use turn::{become_program, wrap};
pub(crate) use versions::{check_versions, program_output, program_version};

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
