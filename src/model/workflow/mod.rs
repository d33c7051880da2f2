//! Workflows: blocks (fan-outs with a join), pools, and machines.
//!
//! Every spelling of a config loads into these types. Values and conditions are parsed when
//! the mesh loads: the engine evaluates them and never reads their text.

mod block;
mod evaluate;
mod machine;
mod manifest;
mod value;

pub use block::{Block, BlockTime, Count, Gather, Give, Join, Members, MinSuccesses, Opener};
pub use block::{Part, Pool, Tier};
pub use evaluate::{Evaluated, Facts, Lookup, MAX_TEXT, Taken, as_text, filled, is_number};
pub use machine::{
    Assignment, EntryRules, ExitRules, ExitRun, MachineRules, Script, StateGate, StateGates,
    StateKind, StateName, StateRules, Variable, When,
};
pub use manifest::{
    MANIFEST_GATE, Manifest, ManifestCheck, ManifestEntry, ManifestPath, ManifestRules,
};
pub use value::{
    Arithmetic, Comparison, Condition, Expression, Operand, Operator, PathSource, PathStep,
    TextPart, VariableName,
};
