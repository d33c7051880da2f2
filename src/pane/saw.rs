//! What is seen of a pane, and what is asked of it.

use std::path::PathBuf;

use crate::engine::{Decision, Dialog, ProcessExit};
use crate::runtime::screen::Screen;

/// Something that was seen, or is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saw {
    /// It is to be started.
    Start {
        /// What it is started with, if its process lives for one turn.
        turn: Option<u32>,
    },
    /// Its process runs.
    Started,
    /// Its process runs, and did so before tx was started.
    Adopted {
        /// The last turn that it was given; 0 if none.
        turn: u32,
        /// The newest number of what was told of it.
        told: u32,
        /// It is thought to be in the middle of something.
        busy: bool,
    },
    /// What a list of all panes says of it.
    Title {
        /// What its program calls it.
        title: String,
        /// When it last showed something new, in seconds since 1970.
        shown: i64,
        /// The mark of the last text that it was given.
        mark: String,
    },
    /// A look at its screen.
    Screen(View),
    /// It could not be looked at; `None`: there is no such pane.
    NotSeen(Option<String>),
    /// Its program says something of itself.
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
        /// The dialog, by the number that was told of it.
        request: u32,
        /// What was decided.
        decision: Decision,
    },
    /// A text for it, in place of one that waits.
    Deliver(Text),
    /// The end of its turn is known, and no text follows from that.
    NothingFollows,
    /// It is to be interrupted, and told why.
    Interrupt(Option<Text>),
    /// Somebody wants to know what it shows.
    Look,
    /// It is to be ended.
    End,
    /// What came of [`Act::Paste`](super::Act::Paste), [`Act::Send`](super::Act::Send), or of
    /// a text that was the answer of [`Act::Answer`](super::Act::Answer).
    Pasted(Pasted),
    /// Was it pressed? What came of [`Act::Enter`](super::Act::Enter) or
    /// [`Act::Press`](super::Act::Press).
    Pressed(bool),
    /// The time of [`Pane::due`](super::Pane::due) has come.
    Due,
    /// Is its terminal still there?
    Terminal(bool),
    /// Its process is gone, or never came.
    Exited {
        /// As its record says, or as is to be assumed without one.
        exit: ProcessExit,
        /// That cannot have come of losing its terminal.
        by_itself: bool,
    },
}

impl Saw {
    /// When the pane last showed something new, if this was a look at it.
    pub(super) fn shown(&self) -> Option<i64> {
        match self {
            Saw::Title { shown, .. } => Some(*shown),
            Saw::Screen(view) => Some(view.shown),
            Saw::Start { .. }
            | Saw::Started
            | Saw::Adopted { .. }
            | Saw::NotSeen(_)
            | Saw::Hook(_)
            | Saw::Request { .. }
            | Saw::Withdrawn(_)
            | Saw::Decided { .. }
            | Saw::Deliver(_)
            | Saw::NothingFollows
            | Saw::Interrupt(_)
            | Saw::Look
            | Saw::End
            | Saw::Pasted(_)
            | Saw::Pressed(_)
            | Saw::Due
            | Saw::Terminal(_)
            | Saw::Exited { .. } => None,
        }
    }
}

/// What a program says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hook {
    /// It has taken up a text: that of this turn, or somebody else's.
    TakenUp(Option<u32>),
    /// It has ended a turn: this one, if that is known.
    Ended(Option<u32>),
    /// It asks a person.
    Asked(Dialog),
    /// Its account has no room until then, in milliseconds since 1970, if it says so.
    Limited(Option<i64>),
    /// Its turn went wrong: its screen says how.
    Failed,
    /// What it was started with waits in its own queue, and comes by itself.
    Queued,
}

/// What a hook waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookWants {
    /// Its program is about to end its turn: it may be given more.
    EndOfTurn,
    /// Its program waits, and can be woken with a text.
    Wake,
    /// The human's decision.
    Permission(Dialog),
}

/// A look at the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What it shows.
    pub screen: Screen,
    /// When it last showed something new, in seconds since 1970.
    pub shown: i64,
    /// The mark of the last text that it was given.
    pub mark: String,
    /// The process that was started in it.
    pub pid: i32,
    /// When something was last typed in its session: a stamp to compare.
    pub keys: u64,
    /// Nobody has typed for a while, and nobody reads back in it.
    pub quiet: bool,
    /// No other program has its terminal, and its own is no shell.
    pub free: bool,
}

impl View {
    /// Is all the same at the cursor? What else the screen shows may move.
    pub(super) fn is_like(&self, other: &View) -> bool {
        let at = |view: &View| (view.pid, view.keys, view.screen.cursor);
        at(self) == at(other) && self.screen.line() == other.screen.line()
    }

    /// Is all of the screen the same, and nobody has typed?
    pub(super) fn is_same(&self, other: &View) -> bool {
        self.is_like(other) && self.screen.lines == other.screen.lines && self.mark == other.mark
    }
}

/// Does a pane with these marks have something that has one of them?
pub(super) fn is_marked(marks: &str, of: &str) -> bool {
    let mut had = marks.split_whitespace();
    had.any(|had| of.split_whitespace().any(|one| one == had))
}

/// A text for a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Which turn it is; `None`: a note, and nobody is told what became of it.
    pub turn: Option<u32>,
    /// Noted on the pane in one step with the text, so that it is known there after a crash:
    /// words. Nothing is noted for a note.
    pub mark: String,
    /// What is given.
    pub content: Content,
    /// Its last line, by which it is known on the screen.
    pub last_line: String,
    /// When it is given up, if it could not be given until then.
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

/// What is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// All that is in a file.
    File(PathBuf),
    /// One line.
    Line(String),
}

/// What came of pasting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pasted {
    /// It is there, and its mark too.
    There,
    /// The pane was not as it was seen: nothing was touched.
    Changed,
    /// It was refused: nothing was touched.
    Refused(String),
    /// Nobody can tell.
    Unknown,
    /// There is no such pane.
    NoPane,
}
