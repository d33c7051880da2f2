//! The data types that all other rooms share: addresses, messages, meshes, runtimes, diagnostics.
//!
//! No IO, no clock, no async. Values are parsed into these types at the border
//! and never checked again inside.

mod address;
mod agent;
mod diagnostic;
mod directory;
mod gate;
mod kind;
mod lifecycle;
mod limits;
mod mesh;
mod message;
mod nearest;
mod placeholder;
mod routing;
mod runtime;
mod settings;
mod time;
mod usage;
mod workflow;

pub use address::{Address, BadName, Name, Recipient};
pub use agent::{Agent, Deliver, Mode, Permissions, Prompt, Variables};
pub use diagnostic::{Code, Diagnostic, Location, Severity};
pub use directory::{Directory, Resolved, Unresolved};
pub use gate::{
    Accuracy, Check, Evaluation, Gate, GateReport, GateTime, GateVerdict, OnGateError, Program,
    Quality, RearmatterCheck,
};
pub use kind::{BadWord, Kind, OutcomeWord};
pub use lifecycle::{HookAction, Lifecycle, LifecycleHook, WORKTREE_MARK, WORKTREES, Worktree};
pub use limits::{Guardrails, Iteration, OnFail, Seconds};
pub use mesh::{Mesh, OnAsk, RearmatterRules, SessionRules, Workspace};
pub use message::{
    Body, Envelope, Feature, Grade, Line, Message, MsgId, Priority, Rearmatter, body_span,
};
pub use nearest::{did_you_mean, nearest};
pub use placeholder::{Piece, Placeholder, pieces};
pub use routing::{Routing, RoutingError, RoutingMode, Row, Target};
pub use runtime::{
    AnswerKeys, Argument, HookMeaning, ProgramInfo, Runtime, ScreenRules, TitleRules, UsageFormat,
};
pub use settings::{Core, Notify, Pattern, Settings};
pub use time::{to_the_millisecond, to_the_second, utc};
pub use usage::{Budget, Spent, Usage, dollars, grouped};
pub use workflow::{
    Arithmetic, Assignment, Block, BlockTime, Comparison, Condition, Count, EntryRules, ExitRules,
    ExitRun, Expression, Gather, Give, Join, MANIFEST_GATE, MachineRules, Manifest, ManifestCheck,
    ManifestEntry, ManifestPath, ManifestRules, Members, MinSuccesses, Opener, Operand, Operator,
    Part, PathSource, PathStep, Pool, Script, StateGate, StateGates, StateKind, StateName,
    StateRules, TextPart, Tier, Variable, VariableName, When,
};
pub use workflow::{Evaluated, Facts, Lookup, MAX_TEXT, Taken, as_text, filled, is_number};
