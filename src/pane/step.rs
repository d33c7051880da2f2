//! The state of one pane, and the step from what was seen to what is done. The other files of this
//! module have the parts: `meaning` reads what was seen, `table` decides, `life` has the process,
//! `looks` the screen, `texts` and `submitted` what is delivered, `requests` and `answers` the
//! hooks and dialogs.

use super::act::{Act, Report};
use super::answers::Answering;
use super::requests::Requests;
use super::saw::{Hook, Saw, Text, View};
use super::submitted::Submitted;
use super::table::{PanePhase, PaneSignal, PaneTransition, decide};
use super::texts::{Delivering, SENT};
use super::waiting::WaitingTexts;
use crate::engine::{Dialog, ProcessExit};
use crate::model::{AnswerKeys, ScreenRules};

/// What is known of a pane before it starts. It never changes.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// How to read the screen of its program.
    pub screen: ScreenRules,
    /// Its process runs one turn, which it is started with.
    pub one_turn: bool,
    /// The time between the two looks that must both find it idle, in milliseconds.
    pub apart: i64,
    /// The runtime has a program of its own that delivers texts (`codex queue`).
    pub sends: bool,
    /// The keys that answer its dialogs.
    pub answers: Vec<AnswerKeys>,
    /// Its program says by a hook when it takes a text up.
    pub has_hooks: bool,
    /// How long after the reset of a limit the program may go on by itself, in milliseconds.
    pub limit_grace: i64,
    /// How far the local time is ahead of UTC, in seconds. Programs show local times.
    pub utc_offset: i32,
    /// The command that logs the user in.
    pub login: String,
}

/// One pane.
#[derive(Clone, Debug)]
pub struct Pane {
    pub(super) setup: Setup,
    pub(super) state: PaneState,
    pub(super) at: i64,
    /// The last turn that was delivered; 0: none.
    pub(super) turn: u32,
    /// A turn that was given and not confirmed: its text may be in the pane.
    pub(super) perhaps: Option<u32>,
    /// The mark on the pane at the last look: what was delivered last.
    pub(super) mark: String,
    /// The program works on `turn`, and not on something that a person typed.
    pub(super) ours: bool,
    /// The number of the last report of what the pane shows.
    pub(super) told: u32,
    /// The turn that the process was started with, until something shows that it has begun.
    pub(super) launched: Option<u32>,
    /// Hooks that wait for an answer.
    pub(super) requests: Requests,
    /// The human's answer to the dialog on the screen, until its keys are pressed.
    pub(super) answering: Option<Answering>,
    /// The texts that wait until the pane is idle.
    pub(super) texts: WaitingTexts,
    /// When its process was started; `None`: it has shown what it does since.
    pub(super) starts: Option<i64>,
    /// Since when the pane was seen idle, and its screen, if it was idle at the last look.
    pub(super) idle: Option<(i64, View)>,
    /// The time of the last change on the screen that was reported; 0: none was.
    pub(super) shown: i64,
    /// When it was last reported that a text waits because somebody uses the pane.
    pub(super) held: i64,
    /// The pane does not count as idle before this time: a text may not show yet.
    pub(super) settled: i64,
    /// tx may have typed a note without submitting it, perhaps before it was killed.
    pub(super) may_hold_note: bool,
    /// The result of the next look is to be reported, whatever it is.
    pub(super) asked: bool,
    /// When to look at the pane again.
    pub(super) next_look: Option<i64>,
    /// Why the text that waits was not delivered yet.
    pub(super) why: &'static str,
    /// What the screen says if nobody is logged in. The process is ended for that.
    pub(super) logged_out: Option<String>,
    pub(super) has_terminal: bool,
    /// The turn that the process is started with.
    pub(super) start: Option<u32>,
    last_title: LastTitle,
    moved: Option<(PanePhase, PaneSignal, PaneTransition)>,
}

/// The title of a pane at the last look.
#[derive(Clone, Debug, Default)]
struct LastTitle {
    title: String,
    /// The time of the last change of the pane.
    shown: i64,
    /// How many looks before it saw the same.
    repeats: u32,
}

/// A phase, with what belongs to it.
#[derive(Clone, Debug)]
pub(super) enum PaneState {
    Starting {
        runs: bool,
    },
    Ready,
    Delivering(Delivering),
    Submitted(Box<Submitted>),
    Busy,
    Dialog(Dialog),
    Limited {
        until: i64,
        wait: i64,
        guessed: bool,
    },
    Ending {
        step: usize,
        due: Option<i64>,
    },
    Gone {
        untold: Option<ProcessExit>,
    },
}

impl Pane {
    /// A pane that is to be started, or was found alive.
    pub fn new(setup: Setup) -> Pane {
        Pane {
            setup,
            state: PaneState::Starting { runs: false },
            at: 0,
            turn: 0,
            perhaps: None,
            mark: String::new(),
            ours: false,
            told: 0,
            launched: None,
            requests: Requests::default(),
            answering: None,
            texts: WaitingTexts::default(),
            starts: None,
            idle: None,
            shown: 0,
            held: 0,
            settled: 0,
            may_hold_note: false,
            asked: false,
            next_look: None,
            why: "it was never seen to wait",
            logged_out: None,
            has_terminal: true,
            start: None,
            last_title: LastTitle::default(),
            moved: None,
        }
    }

    /// Take in what was seen, and return what to do, in order. A time before the last one counts
    /// as the last one.
    pub fn step(&mut self, at: i64, saw: Saw) -> Vec<Act> {
        self.at = self.at.max(at);
        let mut acts = Vec::new();
        self.requests.note(self.at, &saw, &mut acts);
        if saw == Saw::NothingFollows {
            // Only the hook that waits at the end of the turn needs this.
            return acts;
        }
        self.notice_answer_in_pane(&saw, &mut acts);
        let (phase, seen) = (self.phase(), self.seen(&saw));
        let by = decide(phase, seen);
        self.moved = Some((phase, seen, by));
        let shown = saw.shown();
        let looked = shown.is_some() || matches!(saw, Saw::NotSeen(_));
        // The look failed: the pane was idle, and may not be any more.
        let is_hidden = matches!(saw, Saw::NotSeen(Some(_))) && self.is_typed_to();
        if let Saw::Title { mark, .. } | Saw::Screen(View { mark, .. }) = &saw {
            self.mark.clone_from(mark);
        }
        if seen == PaneSignal::End {
            self.logged_out = self.says_logged_out(&saw);
        }
        if let Saw::Hook(Hook::Queued) = &saw {
            self.settled = self.at + SENT;
        }
        let shows = matches!(
            seen,
            PaneSignal::Idle
                | PaneSignal::Busy
                | PaneSignal::Dialog
                | PaneSignal::Limited
                | PaneSignal::TakenUp
        );
        if shows {
            self.starts = None;
        }
        self.act(by, seen, saw, &mut acts);
        if !matches!(self.state, PaneState::Dialog(_)) {
            // The dialog was answered, or is gone.
            self.answering = None;
        }
        // The title of a pane that is typed to is only a reason to look.
        if looked && seen != PaneSignal::Changed {
            match is_hidden && self.asked && matches!(self.state, PaneState::Ready) {
                true => self.look_soon(),
                false => self.answer(shown.unwrap_or(0), &mut acts),
            }
            self.give_up(&mut acts);
        }
        if self.requests.is_in_doubt() {
            self.next_look = Some(self.at + self.setup.apart);
        }
        acts
    }

    /// Its phase.
    pub fn phase(&self) -> PanePhase {
        match &self.state {
            PaneState::Starting { .. } => PanePhase::Starting,
            PaneState::Ready => PanePhase::Ready,
            PaneState::Delivering(_) => PanePhase::Delivering,
            PaneState::Submitted(_) => PanePhase::Submitted,
            PaneState::Busy => PanePhase::Busy,
            PaneState::Dialog(_) => PanePhase::Dialog,
            PaneState::Limited { .. } => PanePhase::Limited,
            PaneState::Ending { .. } => PanePhase::Ending,
            PaneState::Gone { .. } => PanePhase::Gone,
        }
    }

    /// The phase, signal and transition of the last step.
    pub fn moved(&self) -> Option<(PanePhase, PaneSignal, PaneTransition)> {
        self.moved
    }

    /// The last turn that was delivered; 0: none.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// When the pane wants [`Saw::Due`].
    pub fn due(&self) -> Option<i64> {
        match &self.state {
            PaneState::Ending { due, .. } => *due,
            PaneState::Gone { .. } => None,
            PaneState::Starting { .. }
            | PaneState::Ready
            | PaneState::Delivering(_)
            | PaneState::Submitted(_)
            | PaneState::Busy
            | PaneState::Dialog(_)
            | PaneState::Limited { .. } => {
                let due = [self.next_look, self.requests.due()];
                due.into_iter().flatten().min()
            }
        }
    }

    /// Are texts typed into it? Then a look must show its screen.
    pub fn is_typed_to(&self) -> bool {
        self.setup.screen.is_typed_to() && !self.setup.one_turn
    }

    /// Does the pane want [`Saw::Title`] once a second?
    pub fn is_watched(&self) -> bool {
        match &self.state {
            PaneState::Busy => true,
            PaneState::Starting { runs: true }
            | PaneState::Dialog(_)
            | PaneState::Limited { .. } => self.is_typed_to(),
            PaneState::Starting { runs: false }
            | PaneState::Ready
            | PaneState::Delivering(_)
            | PaneState::Submitted(_)
            | PaneState::Ending { .. }
            | PaneState::Gone { .. } => false,
        }
    }

    /// Carry out a transition. The table allows it only in a phase that can.
    fn act(&mut self, by: PaneTransition, seen: PaneSignal, saw: Saw, acts: &mut Vec<Act>) {
        match by {
            PaneTransition::Start => {
                if let Saw::Start { turn } = saw {
                    self.start = turn;
                    acts.push(Act::Start);
                }
            }
            PaneTransition::Run => self.run(acts),
            PaneTransition::Adopt => {
                if let Saw::Adopted { turn, told, busy } = saw {
                    self.adopt(turn, told, busy, acts);
                }
            }
            PaneTransition::Keep | PaneTransition::Deliver => {
                if let Saw::Deliver(text) = saw {
                    self.want(text, acts);
                } else {
                    // A hook can be answered with what waits.
                    self.deliver(None, acts);
                }
            }
            PaneTransition::Interrupt => {
                if let Saw::Interrupt(note) = saw {
                    self.interrupt(note, acts);
                }
            }
            PaneTransition::TellAgain => self.tell_again(acts),
            PaneTransition::LookCloser => self.look_closer(&saw, acts),
            PaneTransition::SeemsIdle => self.seems_idle(saw, acts),
            PaneTransition::GoesOn => self.goes_on(&saw, acts),
            PaneTransition::Ask => self.ask(saw, acts),
            PaneTransition::Limit => self.limit(&saw, acts),
            PaneTransition::Hold => self.hold(&saw, acts),
            PaneTransition::Judge => self.judge(seen, saw, acts),
            PaneTransition::Confirm => self.confirm(seen, saw, acts),
            PaneTransition::TakeUp => self.taken_up(&saw, acts),
            PaneTransition::EndTurn => {
                if let Saw::Hook(Hook::Ended(turn)) = saw {
                    self.end_turn(turn, acts);
                } else if let Saw::Request { .. } = saw {
                    self.hook_ends_turn(acts);
                }
            }
            PaneTransition::PassOn => {
                if let Saw::Decided { request, decision } = saw {
                    self.pass_on(request, decision, acts);
                }
            }
            PaneTransition::Given => self.given(acts),
            PaneTransition::NotGiven => {
                if let Saw::Pasted(pasted) = saw {
                    self.not_given(pasted, acts);
                }
            }
            PaneTransition::FindOut => self.find_out(acts),
            PaneTransition::Enter => self.entered(),
            PaneTransition::Answered => self.answered(seen == PaneSignal::Pressed, &mut *acts),
            PaneTransition::Unsure => self.unsure(acts),
            PaneTransition::BeginEnding => self.begin_ending(acts),
            PaneTransition::NextSignal => self.next_signal(acts),
            PaneTransition::LoseTerminal => self.lose_terminal(acts),
            PaneTransition::Exit => {
                if let Saw::Exited { exit, by_itself } = saw {
                    self.exit(exit, by_itself, acts);
                }
            }
            PaneTransition::TellExit => self.tell_exit(seen == PaneSignal::Terminal, acts),
            PaneTransition::AlreadyKnown
            | PaneTransition::TooEarly
            | PaneTransition::TooLate
            | PaneTransition::NotUnderWay => {}
        }
    }

    /// Interrupt the program, and give it a note that says why. A program that is typed to gets
    /// the note once it has stopped; one that reads lines gets it at once.
    fn interrupt(&mut self, note: Option<Text>, acts: &mut Vec<Act>) {
        acts.push(Act::Interrupt);
        let Some(note) = note.filter(|_| !self.setup.one_turn) else {
            return;
        };
        if self.is_typed_to() {
            self.texts.interrupt(note);
            self.look_soon();
        } else {
            let as_seen = false;
            let text = note;
            acts.push(Act::Paste { text, as_seen });
        }
    }

    /// Report what the pane shows, if that is known, with the next number. `lives`: the screen
    /// has changed, which is a sign of life.
    pub(super) fn tell_level(&mut self, lives: bool, acts: &mut Vec<Act>) {
        let (no, turn) = (self.told + 1, self.turn);
        let report = match &self.state {
            PaneState::Ready | PaneState::Delivering(_) if turn == 0 => Report::Ready { no },
            PaneState::Ready | PaneState::Delivering(_) => Report::Idle { turn, no },
            PaneState::Submitted(_) | PaneState::Busy => Report::Busy {
                turn: (turn > 0 && self.ours).then_some(turn),
                unchanged: !lives,
                no,
            },
            PaneState::Dialog(dialog) => Report::Asked {
                dialog: dialog.clone(),
                no,
            },
            PaneState::Limited { until, guessed, .. } => Report::Limited {
                until: *until,
                guessed: *guessed,
                no,
            },
            PaneState::Starting { .. } | PaneState::Ending { .. } | PaneState::Gone { .. } => {
                return;
            }
        };
        self.told = no;
        acts.push(Act::Tell(report));
    }

    /// Were its title and the time of its last change the same at the last three looks?
    pub(super) fn is_unchanged(&mut self, saw: &Saw) -> bool {
        let Saw::Title { title, shown, .. } = saw else {
            return false;
        };
        let last = &mut self.last_title;
        if (&last.title, last.shown) == (title, *shown) {
            last.repeats += 1;
        } else {
            *last = LastTitle {
                title: title.clone(),
                shown: *shown,
                repeats: 0,
            };
        }
        last.repeats > 2
    }
}
