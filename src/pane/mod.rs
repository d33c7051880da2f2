//! Decisions about one pane: when it is idle, when to type into it, whether it has taken a text,
//! which dialog it shows, and how to end it. What was seen goes in, what to do comes out.
//!
//! ```text
//!   Saw                        Pane::step(at, Saw)                   Act
//!   the process runs, ended    ┌───────────────────────────────┐     start it, signal it
//!   the title, the screen ────►│ PaneSignal: what that means   │────► look again
//!   a hook of the agent CLI    │ decide(PanePhase, PaneSignal) │     paste, press Enter
//!   a text to deliver, orders  │ PaneTransition: what follows  │     interrupt
//!   the result of an act       └───────────────────────────────┘     report to the engine
//! ```
//!
//! Phases: Starting → Ready → Delivering → Submitted → Busy → Ready …, with Dialog and Limited
//! beside Busy, and Ending → Gone from anywhere.
//!
//! There are three ways to deliver a text, in this order:
//!
//! - A hook that waits, at the end of a turn or while the program is idle, is *answered* with it.
//!   That leaves the screen alone. Hooks also say when a text is taken up, when a turn ends, and
//!   when a permission is asked for.
//! - A program with a prompt is *typed* to. Two looks apart find the prompt empty with nobody
//!   typing. The text is pasted if the pane has not changed since. Enter is pressed while the
//!   screen shows the text. The text counts as taken when it has left the prompt. The human's own
//!   pane is typed to like any other.
//! - A program without a prompt *reads lines*. It is idle when its title or its outcome says so,
//!   and the text is pasted at once.
//!
//! A permission dialog of a program whose hooks do not ask is answered by keys, if its runtime
//! has some, and only while the screen shows the dialog that the human has answered.
//!
//! Pure: nothing here looks at a terminal, waits, or knows which agent the pane belongs to.

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
mod waiting;

pub use act::{Act, Force, HookAnswer, Report};
pub use life::STEPS;
pub use saw::{Content, Hook, HookWants, Pasted, Saw, Text, View};
pub use step::{Pane, Setup};
pub use table::{PanePhase, PaneSignal, PaneTransition, decide};
