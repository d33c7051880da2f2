//! What is seen of a pane, and what is asked of it.

use std::path::PathBuf;

use crate::engine::{Decision, Dialog, ProcessExit};
use crate::runtime::screen::Screen;

/// Something that was seen of a pane, or that is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saw {
    /// Start its process.
    Start {
        /// The turn that the process is started with.
        turn: Option<u32>,
    },
    /// Its process runs.
    Started,
    /// Its process was running before tx was started.
    Adopted {
        /// The last turn that was delivered; 0: none.
        turn: u32,
        /// The number of the last report of what the pane shows.
        told: u32,
        /// The process is thought to be in a turn.
        busy: bool,
    },
    /// Its line in the list of all panes.
    Title {
        /// The title that its program has set.
        title: String,
        /// When its screen last changed, in seconds since 1970.
        shown: i64,
        /// The mark of the last text that was delivered.
        mark: String,
    },
    /// A look at its screen.
    Screen(View),
    /// Looking at it failed, for this reason; `None`: there is no such pane.
    NotSeen(Option<String>),
    /// A hook of its program has reported something.
    Hook(Hook),
    /// A hook of its program waits for an answer.
    Request {
        /// The hook, counted from 1 since tx was started.
        request: u32,
        /// What it waits for.
        wants: HookWants,
    },
    /// The hook that made this request is gone.
    Withdrawn(u32),
    /// The human has decided on a permission.
    Decided {
        /// The number of the dialog.
        request: u32,
        /// What was decided.
        decision: Decision,
    },
    /// Deliver a text, in place of one that waits.
    Deliver(Text),
    /// The engine knows of the end of the turn and has no text to deliver.
    NothingFollows,
    /// Interrupt the program, and give it this note.
    Interrupt(Option<Text>),
    /// Report what it shows.
    Look,
    /// End its process.
    End,
    /// The result of [`Act::Paste`](super::Act::Paste), [`Act::Send`](super::Act::Send), or
    /// [`Act::Answer`](super::Act::Answer) with a text.
    Pasted(Pasted),
    /// Were the keys of [`Act::Enter`](super::Act::Enter) or
    /// [`Act::Press`](super::Act::Press) pressed?
    Pressed(bool),
    /// The time of [`Pane::due`](super::Pane::due) has come.
    Due,
    /// Is its terminal still there?
    Terminal(bool),
    /// Its process has ended, or was never started.
    Exited {
        /// How it ended, as its record says, or as must be assumed without one.
        exit: ProcessExit,
        /// The loss of its terminal cannot be the cause.
        by_itself: bool,
    },
}

impl Saw {
    /// When the screen last changed, if this was a look at the pane.
    pub(super) fn shown(&self) -> Option<i64> {
        match self {
            Saw::Title { shown, .. } => Some(*shown),
            Saw::Screen(view) => Some(view.shown),
            _ => None,
        }
    }
}

/// What a hook reports of its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// It has taken up the text of this turn; `None`: a text that is not from tx.
    TakenUp(Option<u32>),
    /// It has ended this turn; `None`: which one is not known.
    Ended(Option<u32>),
    /// It asks a person.
    Asked(Dialog),
    /// The limit of its account is reached; until when, in milliseconds since 1970, if known.
    Limited(Option<i64>),
    /// Its turn has failed; the screen says how.
    Failed,
    /// Its turn has failed because nobody is logged in, in its own words.
    LoggedOut(String),
    /// The text that it was started with waits in its own queue, and needs no delivery.
    Queued,
}

/// What a hook waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookWants {
    /// The program is about to end its turn, and can be given a text.
    EndOfTurn,
    /// The program is idle, and can be woken with a text.
    Wake,
    /// The human's decision.
    Permission(Dialog),
}

/// A look at the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What it shows.
    pub screen: Screen,
    /// When it last changed, in seconds since 1970.
    pub shown: i64,
    /// The mark of the last text that was delivered.
    pub mark: String,
    /// The process that was started in it.
    pub pid: i32,
    /// When a key was last pressed in its session; only for comparison.
    pub keys: u64,
    /// Nobody has typed for a while, and the pane is not in copy mode.
    pub quiet: bool,
    /// Its own program has the terminal, and is not a shell.
    pub free: bool,
}

impl View {
    /// Is the line of the cursor the same, and has nobody typed? The rest may change.
    pub(super) fn is_like(&self, other: &View) -> bool {
        let at = |view: &View| (view.pid, view.keys, view.screen.cursor);
        at(self) == at(other) && self.screen.line() == other.screen.line()
    }

    /// Is the whole screen the same, and has nobody typed?
    pub(super) fn is_same(&self, other: &View) -> bool {
        self.is_like(other) && self.screen.lines == other.screen.lines && self.mark == other.mark
    }
}

/// Do two lists of marks have one in common?
pub(super) fn is_marked(marks: &str, of: &str) -> bool {
    let mut had = marks.split_whitespace();
    had.any(|had| of.split_whitespace().any(|one| one == had))
}

/// A text for a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The turn that it begins; `None`: it is a note, and its delivery is not reported.
    pub turn: Option<u32>,
    /// Words that are written to the pane in one step with the text, so that they are found
    /// there after a crash. Empty for a note.
    pub mark: String,
    /// The text itself.
    pub content: Content,
    /// Its last line, which identifies it on the screen.
    pub last_line: String,
    /// When to give up, if it was not delivered by then.
    pub until: Option<i64>,
}

impl Text {
    /// A note of one line.
    pub(super) fn note(line: &str) -> Text {
        Text {
            turn: None,
            mark: String::new(),
            content: Content::Line(line.into()),
            last_line: line.into(),
            until: None,
        }
    }
}

/// Where a text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The content of a file.
    File(PathBuf),
    /// One line.
    Line(String),
}

/// The result of a paste.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pasted {
    /// The text and its mark are in the pane.
    There,
    /// The pane had changed since the look: nothing was pasted.
    Changed,
    /// It was refused, for this reason: nothing was pasted.
    Refused(String),
    /// Nobody can tell.
    Unknown,
    /// There is no such pane.
    NoPane,
}
