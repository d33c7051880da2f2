//! The outside world: this module carries out what the engine decides, and tells the engine what
//! happens.
//!
//! One loop owns the state; everything else sends it events. This is the only room with async code.

mod answer_lock;
mod attempt;
mod attempt_processes;
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
mod input_queue;
mod job_input;
mod job_record;
mod job_wrapper;
mod jobs;
mod kept_output;
mod launch;
mod launch_spec;
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
mod queued_text;
mod recover;
mod requests;
mod run;
mod screens;
mod setup;
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
pub use attempt::{AttemptFolder, AttemptState, Ended};
pub use control::{
    Asked, Control, Follow, Heard, NoAnswer, NoDaemon, Refusal, Reply, Request, command_for,
    listen, may_ask, serve, stop_listening,
};
pub use fatal::FatalError;
pub use job_wrapper::{JOB_WRAPPER, wrap_jobs};
pub use launch_spec::LaunchSpec;
pub use lock::{DaemonLock, LockTaken, Lost, Running, running};
pub use orphans::{end_orphans, orphans};
pub use pane_tag::pane_of;
pub use run::run;
pub use system_messages::file_with;
pub use turn::{become_program, wrap};
pub(crate) use versions::{check_versions, program_output, program_version};

/// An input of the loop.
enum Input {
    /// An event for the engine.
    Event(crate::engine::Event),
    /// Files were found on the bus.
    Found(Vec<crate::engine::Event>),
    /// These messages were shown to the human.
    Read(Vec<crate::engine::MessageNo>),
    /// Whether the bus can be watched. If not, it is scanned.
    Watching(bool),
    /// The thread that looks at files has ended.
    Blind,
    /// Every file that was there at the start has been seen.
    Scanned,
    /// The meshes were read.
    Meshes(Box<meshes::Read>),
}
