//! Decisions: what a message is, where it goes, and what its worker does next.
//!
//! Pure and deterministic: the same facts give the same decision, today and in a
//! replay. This room knows only `model`; it touches no file, process or clock,
//! and matches name every variant.

mod accept;
mod act;
mod asks;
mod effect;
mod event;
mod explain;
mod failures;
mod fanout;
mod foresee;
mod give;
mod holds;
mod identity;
mod infer;
mod meshes;
mod message_record;
mod notes;
mod open_messages;
mod outcomes;
mod plan;
mod promises;
mod queue;
mod recovery;
mod references;
mod reload;
mod replay;
mod route;
mod runs;
mod signal_data;
mod signals;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod timers;
mod transitions;
mod turns;
mod usage;
mod work;
mod worker;
mod workers;

pub use asks::Ask;
pub use effect::{Effect, SystemMessage, Turn};
pub use event::{
    Alive, Arrived, Command, Decision, Dialog, DialogKind, Event, Exit, Loaded, Pane, Rejected,
    Sent, Timer, Traits, Unsigned, Used, Verdict, exited_with,
};
pub use foresee::{Unsendable, foresee};
pub use holds::{LIMITED, MOST_LIMITED};
pub use infer::{Context, Inferred, NotAccepted, Reply, Row, Work, infer, kind_of_outcome};
pub use message_record::{Delivery, DeliveryStep, MessageNo, MessageRecord, Source, Step, Totals};
pub use promises::Broken;
pub use replay::Judged;
pub use route::{Outcome, Refusal, Route, Rule, Wanted, route};
pub use state::{Counts, OpenMessage, State, Touched, TransitionRecord};
pub use table::decide;
pub use transitions::{Signal, Transition};
pub use work::{Item, Last, Member, Owes, Routed, Way, Work as InHand};
pub use worker::{Giving, Phase, Place, Shows, WaitingOn, Worker, WorkerState};

/// The version of the rules that this engine decides by.
pub const RULES: u32 = 2;
