//! Decisions about one pane: when it is idle, may be typed into, has taken a text, shows a
//! dialog, and how it is ended. What was seen goes in, what is to be done comes out.
//!
//! ```text
//!   Saw                        Pane::step(at, Saw)                   Act
//!   the process runs, ended    ┌───────────────────────────────┐     start it, signal it
//!   the title, the screen ────►│ PaneSignal: what that means   │────► look again
//!   a hook of the agent CLI    │ decide(PanePhase, PaneSignal) │     paste, press Enter
//!   a text to deliver, orders  │ PaneTransition: what follows  │     interrupt
//!   what came of an act        └───────────────────────────────┘     tell what became of it
//! ```
//!
//! Phases: Starting → Ready → Delivering → Submitted → Busy → Ready …, with Dialog and Limited
//! beside Busy, and Ending → Gone from anywhere.
//!
//! A program with hooks says itself when it takes a text up, ends its turn and asks for a
//! permission, and its hooks can be answered with a text: at the end of its turn, or while it
//! waits. That comes first, since it leaves the screen alone.
//!
//! A permission dialog of a program whose hooks do not ask is answered by keys, where its runtime
//! says which: only while the dialog that the human has answered is still all that is shown.
//!
//! Else there are two ways to be given a text. A program with a prompt is *typed* to: its prompt is
//! seen empty twice, apart, with nobody typing; the text is pasted in one step with looking
//! again; Enter is pressed while the text is seen there; and it counts when it has left the
//! prompt. A program without one *reads lines*: it says itself, or its outcome does, that it is
//! idle, and the text is pasted at once. The human's own pane is typed to like any other.
//!
//! Pure: nothing here looks at a terminal, waits, or knows whose pane it is.

mod act;
mod adopt;
mod answers;
mod life;
mod looks;
mod meaning;
mod requests;
mod saw;
mod step;
mod submitted;
mod table;
#[cfg(test)]
mod tests;
mod texts;

pub use act::{Act, Force, HookAnswer, Report};
pub use life::STEPS;
pub use saw::{Content, Hook, HookWants, Pasted, Saw, Text, View};
pub use step::{Pane, Setup};
pub use table::{PanePhase, PaneSignal, PaneTransition, decide};
