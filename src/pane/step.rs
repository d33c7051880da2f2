//! One pane, and what each thing that is seen of it leads to. What that means, its process, what
//! it shows and what it is given have files of their own.

use super::act::{Act, Report};
use super::answers::Answering;
use super::requests::Requests;
use super::saw::{Hook, Saw, Text, View};
use super::submitted::Submitted;
use super::table::{PanePhase, PaneSignal, PaneTransition, decide};
use super::texts::{Delivering, SENT};
use crate::engine::{Dialog, ProcessExit};
use crate::model::{AnswerKeys, ScreenRules};

/// What a pane is to tx, as long as it lives.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What its program shows.
    pub screen: ScreenRules,
    /// Its process lives for one turn, and is given it with its start.
    pub one_turn: bool,
    /// How far apart two looks are that both find it idle, in milliseconds.
    pub apart: i64,
    /// Another program passes texts on to it.
    pub sends: bool,
    /// The keys that answer its dialogs.
    pub answers: Vec<AnswerKeys>,
    /// Its program says by itself when it takes a text up.
    pub has_hooks: bool,
    /// How long after a reset that it names it may go on by itself, in milliseconds.
    pub limit_grace: i64,
    /// How far the clock of this machine is ahead of UTC, in seconds: programs tell their times
    /// by it.
    pub utc_offset: i32,
    /// The command that logs somebody in.
    pub login: String,
}

/// One pane.
#[derive(Clone, Debug)]
pub struct Pane {
    pub(super) setup: Setup,
    pub(super) state: PaneState,
    pub(super) at: i64,
    /// The last turn that it was given; 0 if none.
    pub(super) turn: u32,
    /// The turn whose text may be in it.
    pub(super) perhaps: Option<u32>,
    /// The mark of what it was given last, as it was seen.
    pub(super) mark: String,
    /// What it does is that turn.
    pub(super) ours: bool,
    /// How often it was told what it shows.
    pub(super) told: u32,
    /// The turn that its process was started with, while nothing shows that it has it.
    pub(super) launched: Option<u32>,
    /// The hooks of its program that wait for an answer.
    pub(super) requests: Requests,
    /// The human's answer to the dialog that it shows, until its keys are pressed.
    pub(super) answering: Option<Answering>,
    /// What waits for it to be idle.
    pub(super) wanted: Option<Text>,
    /// When it was seen idle, and how, if that was the last that was seen of it.
    pub(super) idle: Option<(i64, View)>,
    /// When it last showed something new, as far as that was told; 0: not looked at.
    pub(super) shown: i64,
    /// When it was last told that somebody uses it while a text waits.
    pub(super) held: i64,
    /// Something may have been typed that does not show yet: it is not idle before then.
    pub(super) settled: i64,
    /// A tx that was killed may have typed a note, and not sent it off.
    pub(super) may_hold_note: bool,
    /// Somebody wants to know what the next look finds.
    pub(super) asked: bool,
    /// When it is looked at again.
    pub(super) next_look: Option<i64>,
    /// What kept a text from being given.
    pub(super) why: &'static str,
    /// Nobody is logged in, as its screen says: it ends for that.
    pub(super) logged_out: Option<String>,
    pub(super) has_terminal: bool,
    /// What it is started with.
    pub(super) start: Option<u32>,
    /// The last title and time of a change, and how often they were the same.
    title: (String, i64, u32),
    moved: Option<(PanePhase, PaneSignal, PaneTransition)>,
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
            wanted: None,
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
            title: (String::new(), 0, 0),
            moved: None,
        }
    }

    /// Take in what was seen, and say what is to be done, in order. The time never runs
    /// backwards.
    pub fn step(&mut self, at: i64, saw: Saw) -> Vec<Act> {
        self.at = self.at.max(at);
        let mut acts = Vec::new();
        self.requests.note(self.at, &saw, &mut acts);
        if saw == Saw::NothingFollows {
            // It concerns the hook that waited for this, and nothing else.
            return acts;
        }
        self.notice_answer_in_pane(&saw, &mut acts);
        let (phase, seen) = (self.phase(), self.seen(&saw));
        let by = decide(phase, seen);
        self.moved = Some((phase, seen, by));
        let shown = saw.shown();
        let looked = shown.is_some() || matches!(saw, Saw::NotSeen(_));
        // It was idle, and nobody could see whether it still is.
        let is_hidden = matches!(saw, Saw::NotSeen(Some(_))) && self.is_typed_to();
        if let Saw::Title { mark, .. } | Saw::Screen(View { mark, .. }) = &saw {
            self.mark.clone_from(mark);
        }
        if let (Saw::Screen(view), PaneSignal::End) = (&saw, seen) {
            self.logged_out = self.says_logged_out(view);
        }
        if let Saw::Hook(Hook::Queued) = &saw {
            self.settled = self.at + SENT;
        }
        self.act(by, seen, saw, &mut acts);
        if !matches!(self.state, PaneState::Dialog(_)) {
            // It was answered, or is gone.
            self.answering = None;
        }
        // A title of one that is typed to is only a reason to look.
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

    /// What the last step was.
    pub fn moved(&self) -> Option<(PanePhase, PaneSignal, PaneTransition)> {
        self.moved
    }

    /// The last turn that it was given; 0 if none.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// When [`Saw::Due`] is to be seen.
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

    /// Is it typed to, so that a look has to show its screen?
    pub fn is_typed_to(&self) -> bool {
        self.setup.screen.is_typed_to() && !self.setup.one_turn
    }

    /// Does it want its title to be told once a second?
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

    /// Do what the table says, which has seen to it that the phase is one that can do it.
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
            PaneTransition::Keep | PaneTransition::Deliver => match saw {
                Saw::Deliver(text) => self.want(text, acts),
                // A hook can be answered with what waits.
                _ => self.deliver(None, acts),
            },
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
            PaneTransition::EndTurn => match saw {
                Saw::Hook(Hook::Ended(turn)) => self.end_turn(turn, acts),
                Saw::Request { .. } => self.hook_ends_turn(acts),
                _ => {}
            },
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

    /// A program that is typed to is told why when it shows that it has stopped; one that reads
    /// lines reads it when it wants to.
    fn interrupt(&mut self, note: Option<Text>, acts: &mut Vec<Act>) {
        acts.push(Act::Interrupt);
        let Some(note) = note.filter(|_| !self.setup.one_turn) else {
            return;
        };
        if self.is_typed_to() {
            self.wanted.get_or_insert(note);
            self.look_soon();
        } else {
            let as_seen = false;
            let text = note;
            acts.push(Act::Paste { text, as_seen });
        }
    }

    /// Tell what it shows, if that is known: a newer number than all that was told before. Is
    /// that a sign of life?
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

    /// Has its title, or the time of its last change, been the same for the last two times?
    pub(super) fn is_unchanged(&mut self, saw: &Saw) -> bool {
        let Saw::Title { title, shown, .. } = saw else {
            return false;
        };
        let (known, at, times) = &mut self.title;
        if (&*known, *at) == (title, *shown) {
            *times += 1;
        } else {
            self.title = (title.clone(), *shown, 0);
        }
        self.title.2 > 2
    }
}
