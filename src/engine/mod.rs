//! The engine decides what kind a message is, where it goes, and what its worker does next.
//!
//! The engine is pure and deterministic: the same events give the same decisions, live and in a
//! replay. It imports only `model`, touches no file, process or clock, and every match names
//! every variant.

mod accept;
mod act;
mod asks;
mod blocks;
mod checking;
mod commands;
mod completed;
mod dispatch;
mod effect;
mod evaluation;
mod event;
mod exit_text;
mod explain;
mod failures;
mod fanout;
mod findings;
mod gate_rounds;
mod gates;
mod gathering;
mod hooks;
mod identity;
mod infer;
mod jobs;
mod late;
mod lifetimes;
mod lines;
mod machine;
mod meshes;
mod message_record;
mod notes;
mod open_messages;
mod outcomes;
mod parked_items;
mod plan;
mod plan_outcome;
mod preview;
mod promises;
mod queue;
mod recipients;
mod recovery;
mod references;
mod reload;
mod replay;
mod round;
mod route;
mod runs;
mod signal_data;
mod signals;
mod skipped;
mod slots;
mod state;
mod suspended;
mod table;
#[cfg(test)]
mod tests;
mod timers;
mod transitions;
mod turns;
mod unbound;
mod usage;
mod work;
mod worker;
mod worker_state;
mod workers;

pub use asks::Ask;
pub use effect::{Effect, SystemMessage, Turn};
pub use event::{
    Alive, Arrived, AttemptId, Command, Decision, Dialog, DialogKind, Event, LoadedMesh,
    OUTPUT_CUT, ProcessExit, Rejected, Sent, Timer, Traits, Unsigned, Used,
};
pub use exit_text::exited_with;
pub use fanout::{BlockPhase, BlockRules};
pub use infer::{
    InferContext, Inferred, KindRow, NotAccepted, ReplyTarget, WorkKind, infer, kind_of_outcome,
};
pub use jobs::{GitJob, Job, JobEnd, JobEnvironment, JobOwner, JobPlace, JobResult};
pub use machine::{
    ChangePoint, HeldValue, Machine, MachineEnd, MachineId, MachineMember, MachinePhase,
    MachineStatus, MachineStep, ParkedWork, StageFacts, StateChange, StateExit, StateWork,
    VariableValue,
};
pub use message_record::{Delivery, DeliveryStep, MessageNo, MessageRecord, Source, Step, Totals};
pub use preview::{Unsendable, preview};
pub use promises::Broken;
pub use replay::Judged;
pub use round::{LateCheck, Pending, Reported, Reporter, Round, RoundPurpose};
pub use route::{Addressee, Outcome, Route, Rule, Unroutable, route};
pub use state::{Counts, OpenMessage, State, Touched, TransitionRecord};
pub use suspended::{LIMITED, MAX_LIMITED};
pub use table::decide;
pub use timers::PAUSED;
pub use transitions::{Signal, Transition};
pub use work::{
    AlsoFinished, DeliveryKey, Forwarding, Item, Joined, Last, Member, Owes, Routed, VerdictFor,
    Work, WorkflowPlace,
};
pub use worker::{Giving, Phase, QueuePosition, Shows, WaitingOn, Worker, WorkerState};

/// The version of the rules that this engine decides by.
pub const RULES: u32 = 3;
