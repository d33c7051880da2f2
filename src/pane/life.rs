//! The process of a pane, from its start to its end.

use super::act::{Act, Force, Report};
use super::step::{Pane, PaneState};
use crate::engine::ProcessExit;

/// The signals that end a process, and the time after each, in milliseconds.
pub const STEPS: [(Force, i64); 3] = [
    (Force::Interrupt, 2_000),
    (Force::Terminate, 3_000),
    (Force::Kill, 2_000),
];
/// After that the wrapper is killed, again each time this has passed, in milliseconds.
const AGAIN: i64 = 5_000;

impl Pane {
    /// The process runs.
    pub(super) fn run(&mut self, acts: &mut Vec<Act>) {
        if let PaneState::Ending { due: Some(_), .. } = self.state {
            // It was known to run.
            return;
        }
        acts.push(Act::Tell(Report::Started));
        let one_turn = self.start.filter(|_| self.setup.one_turn);
        (self.starts, self.held) = (Some(self.at), self.at);
        if let Some(turn) = one_turn {
            (self.turn, self.ours) = (turn, true);
            acts.push(Act::Tell(Report::Delivered { turn }));
        }
        if let PaneState::Ending { due, .. } = &mut self.state {
            *due = Some(self.at);
            return;
        }
        if one_turn.is_some() {
            self.state = PaneState::Busy;
        } else if self.start.is_some() {
            // It begins its turn by itself; a look or a hook confirms that.
            (self.launched, self.perhaps) = (self.start, self.start);
            self.state = PaneState::Starting { runs: true };
            acts.push(Act::Look);
        } else if self.is_typed_to() {
            self.state = PaneState::Starting { runs: true };
            acts.push(Act::Look);
        } else {
            // A program that reads lines is idle when it has started.
            self.state = PaneState::Ready;
            self.tell_level(true, acts);
            self.deliver(None, acts);
        }
    }

    pub(super) fn adopt(&mut self, turn: u32, told: u32, busy: bool, acts: &mut Vec<Act>) {
        (self.turn, self.told, self.ours) = (turn, told, busy);
        if self.is_typed_to() {
            // What the screen shows counts, and not what was known.
            self.state = PaneState::Starting { runs: true };
            self.asked = true;
            self.may_hold_note = true;
            acts.push(Act::Look);
            return;
        }
        self.state = match busy || self.setup.one_turn {
            true => PaneState::Busy,
            false => PaneState::Ready,
        };
        // The screen may not have changed since.
        self.tell_level(false, acts);
    }

    pub(super) fn begin_ending(&mut self, acts: &mut Vec<Act>) {
        let begins = matches!(self.state, PaneState::Starting { runs: false });
        let due = (!begins).then_some(self.at);
        self.state = PaneState::Ending { step: 0, due };
        match begins {
            true => acts.push(Act::Revoke),
            false => self.next_signal(acts),
        }
    }

    /// Send the next signal that should end the process.
    pub(super) fn next_signal(&mut self, acts: &mut Vec<Act>) {
        let PaneState::Ending { step, due } = &mut self.state else {
            return;
        };
        let (force, patience) = STEPS.get(*step).map_or((Force::KillWrapper, AGAIN), |s| *s);
        *step = (*step + 1).min(STEPS.len());
        *due = Some(self.at + patience);
        acts.push(Act::Signal(force));
    }

    /// The terminal is gone. A process of one turn goes on without it; any other is ended.
    pub(super) fn lose_terminal(&mut self, acts: &mut Vec<Act>) {
        self.has_terminal = false;
        let ends = match &self.state {
            PaneState::Starting { runs } => *runs,
            PaneState::Ending { .. } | PaneState::Gone { .. } => false,
            PaneState::Ready
            | PaneState::Delivering(_)
            | PaneState::Submitted(_)
            | PaneState::Busy
            | PaneState::Dialog(_)
            | PaneState::Limited { .. } => true,
        };
        if ends && !self.setup.one_turn {
            let due = Some(self.at);
            self.state = PaneState::Ending { step: 1, due };
            self.next_signal(acts);
        }
    }

    /// The process has ended. If it may have died with its terminal, find that out first: that is
    /// no failure of the work.
    pub(super) fn exit(&mut self, exit: ProcessExit, by_itself: bool, acts: &mut Vec<Act>) {
        // If tx has ended it, the terminal was not the cause.
        let was_ended = matches!(self.state, PaneState::Ending { .. }) && self.has_terminal;
        let exit = match self.logged_out.take() {
            Some(said) => ProcessExit::logged_out(&said, &self.setup.login),
            None => exit,
        };
        if by_itself || was_ended {
            self.state = PaneState::Gone { untold: None };
            acts.extend([Act::Fence, Act::Tell(Report::Exited(exit))]);
        } else {
            self.state = PaneState::Gone { untold: Some(exit) };
            acts.push(Act::FindTerminal);
        }
    }

    pub(super) fn tell_exit(&mut self, has_terminal: bool, acts: &mut Vec<Act>) {
        let PaneState::Gone { untold } = &mut self.state else {
            return;
        };
        let Some(exit) = untold.take() else { return };
        let exit = match has_terminal {
            true => exit,
            false => ProcessExit::CutOff {
                why: "the tmux server went away".into(),
            },
        };
        acts.extend([Act::Fence, Act::Tell(Report::Exited(exit))]);
    }
}
