//! The real `Pane` over a fake terminal, beside a person who types there: nothing is typed over
//! a draft, a dialog or a program that works, nothing is submitted twice, and what is told of a
//! text is true. `TX_SIM_SEEDS` says how many lives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tx::engine::{Decision, Dialog, DialogKind, ProcessExit, Sent};
use tx::pane::{
    Act, Content, Hook, Pane, PanePhase, PaneSignal, Pasted, Report, Saw, Setup, Text, View,
};

use crate::rng::Rng;
use crate::terminal::{Does, Noted, Terminal};

/// How long a life is, in milliseconds, and what it is looked at by.
const LIFE: i64 = 200_000;
/// In calm every text is told of by then: work, limits and dialogs take less.
const TOLD_BY: i64 = 80_000;
const TICK: i64 = 50;
const BEGIN: i64 = 1_800_000_000_000;

/// A pane, its terminal, and who is there.
struct Life {
    seed: u64,
    rng: Rng,
    now: i64,
    has_prompt: bool,
    has_hooks: bool,
    one_turn: bool,
    pane: Pane,
    terminal: Terminal,
    /// How it was when it was looked at last.
    view: Option<View>,
    /// The turn that is being given.
    given: Option<u32>,
    /// Since when it is wanted.
    given_at: i64,
    turn: u32,
    told: u32,
    /// What was told of each turn.
    told_of: BTreeMap<u32, Report>,
    /// Turns that nobody can tell of, since a dialog hides what became of them.
    assumed: BTreeSet<u32>,
    /// The newest dialog that a person was told of: its number, and what it says.
    asked: Option<(u32, String)>,
    /// The dialogs that a person has decided on.
    decided: BTreeSet<String>,
    /// How many were answered by keys.
    answered: u64,
    /// It runs, its terminal is there.
    alive: bool,
    exits: bool,
    calm: bool,
    pairs: BTreeMap<(PanePhase, PaneSignal), u64>,
    log: VecDeque<String>,
}

impl Life {
    fn new(seed: u64) -> Life {
        let mut rng = Rng::new(seed ^ 0x7e47);
        let has_prompt = rng.percent(70);
        let one_turn = !has_prompt && rng.percent(20);
        let slow = if rng.percent(30) { 2_500 } else { 150 };
        let setup = Setup {
            screen: Terminal::rules(has_prompt),
            one_turn,
            apart: 500,
            answers: Terminal::answers(),
            has_hooks: true,
            ..Setup::default()
        };
        Life {
            seed,
            now: BEGIN,
            has_prompt,
            has_hooks: rng.percent(40),
            one_turn,
            pane: Pane::new(setup),
            terminal: Terminal::new(has_prompt, slow),
            view: None,
            given: None,
            given_at: 0,
            turn: 0,
            told: 0,
            told_of: BTreeMap::new(),
            assumed: BTreeSet::new(),
            asked: None,
            decided: BTreeSet::new(),
            answered: 0,
            alive: false,
            exits: rng.percent(60),
            calm: false,
            pairs: BTreeMap::new(),
            log: VecDeque::new(),
            rng,
        }
    }

    fn live(&mut self) {
        let turn = self.one_turn.then_some(1);
        if self.one_turn {
            self.turn = 1;
            self.terminal.does = Does::Works(self.now + 20_000);
        }
        self.see(Saw::Start { turn });
        while self.now < BEGIN + LIFE && self.pane.phase() != PanePhase::Gone {
            self.now += TICK;
            self.calm = self.now > BEGIN + LIFE / 2 && !self.exits;
            self.terminal.advance(self.now, &mut self.rng);
            self.hooks();
            self.person();
            self.decide();
            self.world();
            if self.pane.phase() == PanePhase::Submitted && self.rng.percent(10) {
                self.worst_moment();
            }
            self.tx();
            let second = self.now % 1_000 == 0;
            if second && self.pane.is_watched() && self.alive {
                let title = self.title();
                self.see(title);
            }
            if self.pane.due().is_some_and(|due| due <= self.now) {
                self.see(Saw::Due);
            }
        }
        self.check_end();
    }

    /// What the program says of itself.
    fn hooks(&mut self) {
        let took_up = self.terminal.took_up.take();
        let ended = std::mem::take(&mut self.terminal.ended);
        if let Some(turn) = took_up.filter(|_| self.has_hooks && self.rng.percent(80)) {
            self.see(Saw::Hook(Hook::TakenUp(turn)));
        }
        // Its outcome says so too, of the turn that it had.
        if ended && (self.has_hooks || !self.has_prompt) && self.rng.percent(80) {
            let turn = (!self.has_hooks).then_some(self.pane.turn());
            self.see(Saw::Hook(Hook::Ended(turn)));
        }
        if self.has_hooks && self.rng.percent(1) {
            if let Does::Asks(_) = self.terminal.does {
                let kind = DialogKind::Question;
                let text = "Which?".into();
                self.see(Saw::Hook(Hook::Asked(Dialog {
                    kind,
                    text,
                    request: None,
                })));
            } else if let Does::Limited(until) = self.terminal.does {
                self.see(Saw::Hook(Hook::Limited(Some(until))));
            }
        }
    }

    /// Somebody is at the terminal.
    fn person(&mut self) {
        let now = self.now;
        let often = if self.calm { 20 } else { 6 };
        let asks = matches!(self.terminal.does, Does::Asks(_));
        if !self.has_prompt || !self.rng.percent(often) || !self.rng.percent(10) {
            return;
        }
        match self.rng.below(10) {
            // When all is calm, dialogs are answered and drafts removed.
            _ if self.calm && asks => self.terminal.person_enters(now, &mut self.rng),
            _ if self.calm && self.terminal.has_draft() => self.terminal.person_clears(now),
            _ if self.calm => {}
            0..=2 => self.terminal.person_types(now),
            3 | 4 => self.terminal.person_enters(now, &mut self.rng),
            5 | 6 => self.terminal.person_clears(now),
            7 => self.terminal.scrolled ^= true,
            8 => self.terminal.works_by_itself(now, &mut self.rng),
            _ => self.terminal.asks(now, &mut self.rng),
        }
        if self.calm {
            self.terminal.scrolled = false;
        }
    }

    /// A person who was told of a dialog decides on it, also when it is gone by now.
    fn decide(&mut self) {
        let late = self.rng.percent(1) && self.rng.percent(40);
        let Some((request, text)) = self.asked.clone().filter(|_| late) else {
            return;
        };
        self.decided.insert(text);
        let decision = match self.rng.below(3) {
            0 => Decision::Allow,
            1 => Decision::Deny {
                text: String::new(),
            },
            _ => Decision::Deny {
                text: "use mv".into(),
            },
        };
        self.see(Saw::Decided { request, decision });
    }

    /// Things go wrong around it.
    fn world(&mut self) {
        if self.calm || !self.rng.percent(1) {
            return;
        }
        match self.rng.below(64) {
            0 if self.exits => {
                self.alive = false;
                let exit = ProcessExit::Lost {
                    why: "it was killed".into(),
                };
                let by_itself = self.rng.percent(50);
                self.see(Saw::Exited { exit, by_itself });
            }
            1 if self.exits && self.alive => {
                self.see(Saw::End);
                if self.has_prompt {
                    // Somebody is at it all the same.
                    self.terminal.person_types(self.now);
                    self.terminal.person_enters(self.now, &mut self.rng);
                }
            }
            2 if self.exits && self.alive => self.see(Saw::Terminal(false)),
            3..=8 => self.see(Saw::Look),
            9..=11 => {
                let note = self.text(None, "you are paused, and this is why");
                self.see(Saw::Interrupt(Some(note)));
            }
            12..=15 => self.crash(),
            // What is told twice, or by somebody who is behind.
            16 => self.see(Saw::Started),
            17 => self.see(Saw::Terminal(true)),
            18 => self.see(Saw::Hook(Hook::Ended(Some(u32::MAX)))),
            19 => self.see(Saw::Start { turn: None }),
            20 => self.see(Saw::Hook(Hook::TakenUp(Some(u32::MAX)))),
            21..=23 if self.has_hooks && self.has_prompt => match self.terminal.does {
                Does::Waits | Does::Limited(_) => self.see(Saw::Hook(Hook::Ended(None))),
                Does::Boots | Does::Works(_) | Does::Asks(_) => {}
            },
            _ => {}
        }
    }

    /// tx is killed, and another finds the pane.
    fn crash(&mut self) {
        if !self.alive || self.one_turn || self.pane.phase() == PanePhase::Ending {
            return;
        }
        self.note("killed".into());
        self.pane = Pane::new(Setup {
            screen: Terminal::rules(self.has_prompt),
            apart: 500,
            answers: Terminal::answers(),
            has_hooks: true,
            ..Setup::default()
        });
        let turn: u32 = self.terminal.mark.parse().unwrap_or(0);
        // A program that reads lines has what was pasted; the mark says so.
        if !self.has_prompt && self.given == Some(turn) {
            self.given = None;
        }
        // Of one that shows what it does, what was known may be wrong.
        let busy = match self.has_prompt {
            true => self.rng.percent(50),
            false => self.terminal.does != Does::Waits,
        };
        let told = self.told;
        let known = match self.has_prompt {
            true => self.submitted().max().unwrap_or(0),
            false => turn,
        };
        self.see(Saw::Adopted {
            turn: known,
            told,
            busy,
        });
        if let Some(turn) = self.given {
            let text = self.text(Some(turn), "read the message");
            self.see(Saw::Deliver(text));
        }
    }

    /// tx has something to give.
    fn tx(&mut self) {
        if self.alive && !self.one_turn && self.given.is_none() && self.rng.percent(1) {
            self.turn += 1;
            (self.given, self.given_at) = (Some(self.turn), self.now);
            let text = self.text(Some(self.turn), "read the message");
            self.see(Saw::Deliver(text));
        }
    }

    fn text(&self, turn: Option<u32>, says: &str) -> Text {
        let number = turn.map_or_else(String::new, |turn| turn.to_string());
        let patience = self.rng.clone().percent(50);
        Text {
            turn,
            last_line: format!("{says} {number}"),
            mark: number,
            content: Content::Line(String::new()),
            until: (self.has_prompt && patience).then_some(self.now + 30_000),
        }
    }

    fn title(&self) -> Saw {
        Saw::Title {
            title: self.terminal.title.clone(),
            shown: self.terminal.shown,
            mark: self.terminal.mark.clone(),
        }
    }

    /// The pane sees something, and has done what it wants done.
    fn see(&mut self, saw: Saw) {
        let mut acts: VecDeque<Act> = VecDeque::new();
        let mut next = Some(saw);
        loop {
            if let Some(saw) = next.take() {
                self.note(format!("{saw:?}"));
                let decided = self.pane.step(self.now, saw);
                let (phase, seen, by) = self.pane.moved().unwrap();
                self.note(format!(
                    "   {phase:?} {seen:?} {by:?} -> {:?}",
                    self.pane.phase()
                ));
                *self.pairs.entry((phase, seen)).or_default() += 1;
                // What comes of an act is seen before the next is done.
                for act in decided.into_iter().rev() {
                    acts.push_front(act);
                }
            }
            let Some(act) = acts.pop_front() else { return };
            self.note(format!("      {act:?}"));
            next = self.perform(act);
        }
    }

    fn perform(&mut self, act: Act) -> Option<Saw> {
        match act {
            Act::Start => {
                if self.rng.percent(5) {
                    let why = "no such program".into();
                    let (exit, by_itself) = (ProcessExit::NotStarted { why }, true);
                    return Some(Saw::Exited { exit, by_itself });
                }
                if self.exits && self.rng.percent(5) {
                    return Some(Saw::End);
                }
                self.alive = true;
                Some(Saw::Started)
            }
            Act::Revoke => Some(match self.rng.percent(50) {
                true => {
                    self.alive = true;
                    Saw::Started
                }
                false => {
                    let why = "stopped".into();
                    let (exit, by_itself) = (ProcessExit::NotStarted { why }, true);
                    Saw::Exited { exit, by_itself }
                }
            }),
            Act::Look if !self.alive => Some(Saw::NotSeen(None)),
            Act::Look if self.rng.percent(2) => Some(Saw::NotSeen(Some("slow".into()))),
            Act::Look if self.pane.is_typed_to() => {
                let view = self.terminal.look(self.now);
                self.view = Some(view.clone());
                Some(Saw::Screen(view))
            }
            Act::Look => Some(self.title()),
            Act::Paste { text, as_seen } => Some(Saw::Pasted(self.paste(&text, as_seen))),
            // These programs have no hooks that wait.
            Act::Send(_) | Act::Answer { .. } => None,
            Act::Press(_) => {
                self.worst_moment();
                let then = self.view.clone().unwrap();
                let pressed = self.terminal.press(&self.decided, &then, self.now);
                self.answered += u64::from(pressed);
                Some(Saw::Pressed(pressed))
            }
            Act::Enter => {
                self.worst_moment();
                let then = self.view.clone().unwrap();
                let pressed = self.terminal.enter(&then, self.now, &mut self.rng);
                Some(Saw::Pressed(pressed && !self.rng.percent(1)))
            }
            Act::Interrupt => {
                self.terminal.interrupt(self.now);
                None
            }
            Act::Signal(_) => {
                if self.rng.percent(40) {
                    self.alive = false;
                    let why = "it was ended".into();
                    let (exit, by_itself) = (ProcessExit::Lost { why }, false);
                    return Some(Saw::Exited { exit, by_itself });
                }
                None
            }
            Act::FindTerminal => Some(Saw::Terminal(self.rng.percent(50))),
            Act::Fence => None,
            Act::Tell(report) => {
                self.hear(report);
                None
            }
        }
    }

    fn paste(&mut self, text: &Text, as_seen: bool) -> Pasted {
        if self.has_prompt {
            self.worst_moment();
        }
        match self.rng.below(60) {
            0 => return Pasted::Refused("no room".into()),
            // Its end is told soon.
            1 if self.exits => return Pasted::NoPane,
            2 => return Pasted::Unknown,
            3..=9 if text.turn.is_none() => return Pasted::Refused("no room".into()),
            _ => {}
        }
        let then = as_seen.then(|| self.view.clone().unwrap());
        let pasted = self
            .terminal
            .paste(text, then.as_ref(), self.now, &mut self.rng);
        match self.rng.below(15) {
            // It is there, and nobody knows.
            0 if pasted == Pasted::There => Pasted::Unknown,
            _ => pasted,
        }
    }

    /// Between a look and what follows from it.
    fn worst_moment(&mut self) {
        let now = self.now;
        if self.calm || !self.rng.percent(15) {
            return;
        }
        match self.rng.below(4) {
            0 => self.terminal.person_types(now),
            1 => self.terminal.person_enters(now, &mut self.rng),
            2 => self.terminal.works_by_itself(now, &mut self.rng),
            _ => self.terminal.asks(now, &mut self.rng),
        }
    }

    /// The turns that the program was really given.
    fn submitted(&self) -> impl Iterator<Item = u32> {
        let notes = self.terminal.notes.iter();
        notes
            .filter_map(|note| match note {
                Noted::Submitted { turns, .. } => Some(turns),
                Noted::Pasted(_) | Noted::Cleared(_) => None,
            })
            .flatten()
            .copied()
    }

    /// Has the program this turn, as far as anybody can tell?
    fn has(&self, turn: u32) -> bool {
        self.assumed.contains(&turn) || self.submitted().any(|given| given == turn)
    }

    /// What is told has to be true.
    fn hear(&mut self, report: Report) {
        let newer = |no: u32, told: &mut u32| {
            assert!(no > *told, "number {no} is told after {told}");
            *told = no;
        };
        if let Report::Asked { dialog, .. } = &report {
            self.asked = dialog.request.map(|request| (request, dialog.text.clone()));
        }
        match &report {
            Report::Ready { no }
            | Report::Idle { no, .. }
            | Report::Busy { no, .. }
            | Report::Asked { no, .. }
            | Report::Limited { no, .. } => newer(*no, &mut self.told),
            Report::Delivered { turn } => {
                // A dialog after an Enter is taken for what came of it: nobody can tell.
                if matches!(self.terminal.does, Does::Asks(_)) {
                    self.assumed.insert(*turn);
                }
                let was = self.one_turn || self.has(*turn);
                assert!(was, "turn {turn} is told to be delivered, and was not");
                self.tell_of(*turn, report.clone());
            }
            Report::NotDelivered { turn, sent, .. } => {
                let pasted = self.terminal.notes.contains(&Noted::Pasted(*turn));
                assert!(
                    *sent == Sent::Perhaps || !pasted,
                    "turn {turn} is told not to be there, and is"
                );
                self.tell_of(*turn, report.clone());
            }
            Report::Started | Report::Exited(_) => {}
        }
        if let Report::Idle { turn, .. } = &report
            && *turn > 0
            && !self.one_turn
        {
            let was = self.has(*turn);
            assert!(
                was,
                "it is told to be idle after turn {turn}, which it never had"
            );
        }
        // Where nothing flickers for longer than it is looked at apart, idle is idle.
        if let Report::Idle { .. } | Report::Ready { .. } = &report
            && self.has_prompt
            && self.pane.phase() == PanePhase::Ready
        {
            // A turn that a limit has ended is over too.
            let waits = matches!(self.terminal.does, Does::Waits | Does::Limited(_));
            assert!(waits, "it is told to be idle: {:?}", self.terminal.does);
        }
    }

    fn tell_of(&mut self, turn: u32, report: Report) {
        // Only of one that nobody knew of more may come to be known.
        let delivered = matches!(report, Report::Delivered { .. });
        let known = match self.told_of.insert(turn, report) {
            Some(Report::NotDelivered { sent, .. }) => sent == Sent::Nothing || !delivered,
            before => before.is_some(),
        };
        assert!(!known, "turn {turn} is told of twice");
        if self.given == Some(turn) {
            self.given = None;
        }
    }

    /// In calm every text that was wanted is told of.
    fn check_end(&mut self) {
        if !self.calm || self.pane.phase() == PanePhase::Gone {
            return;
        }
        let waited = self.now - self.given_at;
        let phase = self.pane.phase();
        assert!(
            self.given.is_none() || waited < TOLD_BY,
            "a turn still waits: {phase:?} {:?}",
            self.terminal.does
        );
    }

    fn note(&mut self, line: String) {
        self.log
            .push_back(format!("{:>7} {line}", self.now - BEGIN));
        if self.log.len() > 60 {
            self.log.pop_front();
        }
    }
}

fn set(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_is_typed_where_it_does_not_belong() {
    let lives = set("TX_SIM_SEEDS").unwrap_or(1_000);
    let from = set("TX_SIM_FROM").unwrap_or(0);
    let mut pairs: BTreeMap<(PanePhase, PaneSignal), u64> = BTreeMap::new();
    let mut failed = BTreeMap::<String, Vec<u64>>::new();
    let (mut delivered, mut unsure, mut not, mut answered) = (0, 0, 0, 0);
    std::panic::set_hook(Box::new(|_| {}));
    for seed in from..from + lives {
        let mut life = Life::new(seed);
        let lived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| life.live()));
        if let Err(why) = lived {
            let why = why
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| why.downcast_ref::<&str>().map(ToString::to_string))
                .unwrap_or_default();
            let sort: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
            let seeds = failed.entry(sort).or_default();
            if seeds.is_empty() {
                eprintln!("life {}: {why}", life.seed);
                life.log.iter().for_each(|line| eprintln!("{line}"));
            }
            seeds.push(seed);
        }
        answered += life.answered;
        for (pair, times) in life.pairs {
            *pairs.entry(pair).or_default() += times;
        }
        for report in life.told_of.values() {
            match report {
                Report::Delivered { .. } => delivered += 1,
                Report::NotDelivered { sent, .. } if *sent == Sent::Perhaps => unsure += 1,
                _ => not += 1,
            }
        }
    }
    let _ = std::panic::take_hook();
    eprintln!(
        "{lives} lives: {delivered} delivered, {unsure} unsure, {not} not; {answered} dialogs answered"
    );
    for (sort, seeds) in &failed {
        eprintln!(
            "{} lives failed, {:?}: {sort}",
            seeds.len(),
            &seeds[..seeds.len().min(6)]
        );
    }
    assert!(failed.is_empty(), "lives failed");
    if lives >= 1_000 {
        let all: BTreeSet<(PanePhase, PaneSignal)> = PanePhase::ALL
            .into_iter()
            .flat_map(|phase| PaneSignal::ALL.map(|seen| (phase, seen)))
            .collect();
        let met: BTreeSet<(PanePhase, PaneSignal)> = pairs.keys().copied().collect();
        let missing: Vec<_> = all
            .difference(&met)
            .filter(|pair| !is_never(**pair))
            .collect();
        eprintln!("{} of {} pairs were met", met.len(), all.len());
        assert!(missing.is_empty(), "never met: {missing:?}");
        assert!(answered > 0, "no dialog was answered");
    }
}

/// What nobody ever shows a pane in this phase.
fn is_never((phase, seen): (PanePhase, PaneSignal)) -> bool {
    let is = |phases: &[PanePhase]| phases.contains(&phase);
    match seen {
        // These programs have no hooks that wait.
        PaneSignal::CanWake => true,
        // Nobody is asked any more, or nothing at all.
        PaneSignal::Decided => is(&[PanePhase::Gone]),
        // What comes of an act is seen before anything else. A note may be pasted into work.
        PaneSignal::Pasted | PaneSignal::NotPasted | PaneSignal::PasteUnknown => {
            !is(&[PanePhase::Delivering, PanePhase::Busy])
        }
        PaneSignal::Pressed | PaneSignal::NotPressed => {
            !is(&[PanePhase::Submitted, PanePhase::Dialog])
        }
        PaneSignal::Adopted => !is(&[PanePhase::Starting]),
        // It is not watched then.
        PaneSignal::Changed => is(&[
            PanePhase::Ready,
            PanePhase::Delivering,
            PanePhase::Submitted,
            PanePhase::Ending,
            PanePhase::Gone,
        ]),
        // It is not looked at any more.
        PaneSignal::Idle => is(&[PanePhase::Ending, PanePhase::Gone]),
        PaneSignal::Terminal | PaneSignal::NoTerminal => false,
        // One text is given after the other.
        PaneSignal::Wanted => is(&[PanePhase::Submitted, PanePhase::Gone]),
        // Nobody has anything to do with one that is gone.
        PaneSignal::Start
        | PaneSignal::Started
        | PaneSignal::Interrupt
        | PaneSignal::Look
        | PaneSignal::End
        | PaneSignal::Busy
        | PaneSignal::Dialog
        | PaneSignal::Limited
        | PaneSignal::Unknown
        | PaneSignal::TakenUp
        | PaneSignal::Ended
        | PaneSignal::Due
        | PaneSignal::Exited => is(&[PanePhase::Gone]),
    }
}
