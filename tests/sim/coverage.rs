//! What was seen: every row, rule, refusal, move, fault and act must occur somewhere.
//! A check that never meets what it checks proves nothing.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::time::Duration;

use tx::engine::{KindRow, MessageRecord, Phase, Rule, Signal, Transition, TransitionRecord};
use tx::pane;

use crate::settings::{Act, Fault};

/// Why messages are refused, by words that only that reason has.
const REFUSALS: [&str; 22] = [
    "has several targets",
    "is not a status you can give",
    "is not a target of",
    "there is no `status`",
    "core does not write to itself",
    "is tx itself and takes no messages",
    "only tx writes",
    "is not an ask that the recipient made",
    "changed after it had been delivered",
    "already sent another message with the id",
    "an agent cannot write to itself",
    "there is no agent `",
    "sends this back to yourself",
    "not all is answered",
    "there is no agent or mesh",
    "has no entry point",
    "is disabled",
    "it repeats `",
    "names no message that is known",
    "is no ask, and the recipient waits",
    "less than 60 seconds from now",
    "it asks for a permission",
];

/// What was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) lives: u64,
    pub(crate) messages: u64,
    pub(crate) events: u64,
    pub(crate) commits: u64,
    pub(crate) crashes: u64,
    /// What the human has read.
    pub(crate) read: u64,
    rows: BTreeMap<KindRow, u64>,
    rules: BTreeMap<Rule, u64>,
    refusals: BTreeMap<&'static str, u64>,
    pairs: BTreeMap<(Phase, Signal), u64>,
    transitions: BTreeMap<Transition, u64>,
    led: BTreeMap<(Transition, Phase, Phase), u64>,
    faults: BTreeMap<Fault, u64>,
    acts: BTreeMap<Act, u64>,
    met: BTreeMap<&'static str, u64>,
    panes: BTreeMap<(pane::PanePhase, pane::PaneSignal), u64>,
}

/// What only comes about by the doing of several.
pub(crate) const CIRCLE: &str = "a circle of three or more";
pub(crate) const TWO_ASKS: &str = "two asks in one hand";
pub(crate) const NEWS_OF_FEATURE: &str = "news of a feature";
pub(crate) const STARTED_WITH_TURN: &str = "a program that stays is started with its first turn";
pub(crate) const LATE_SESSION: &str = "a session that is known late";
pub(crate) const MORE_AT_THE_END: &str = "more at the end of a turn, by a hook";
pub(crate) const WOKEN: &str = "a program that is woken by a hook";
pub(crate) const DECIDED: &str = "a permission that the human decides on";
pub(crate) const ONLY_SCREEN: &str = "a wrong hook that only the screen corrects";
pub(crate) const STAYS_AWAY: &str = "a mesh that is removed to the end";
const MET: [&str; 10] = [
    CIRCLE,
    TWO_ASKS,
    NEWS_OF_FEATURE,
    STARTED_WITH_TURN,
    LATE_SESSION,
    MORE_AT_THE_END,
    WOKEN,
    DECIDED,
    ONLY_SCREEN,
    STAYS_AWAY,
];

/// What tx says where blocks and pools are at work.
pub(crate) const BLOCKS: [&str; 5] = [
    "a block is short",
    "the results of the block, gathered",
    "the results are not gathered",
    "not all members of the block have a result",
    "about your message",
];

impl Seen {
    /// What never came about, of all that blocks and pools can come to.
    pub(crate) fn missing_of_blocks(&self) -> Vec<&'static str> {
        let never = BLOCKS
            .into_iter()
            .filter(|what| !self.met.contains_key(what));
        never.collect()
    }

    pub(crate) fn met(&mut self, what: &'static str) {
        *self.met.entry(what).or_default() += 1;
    }

    /// A pane has seen something.
    pub(crate) fn pane(&mut self, phase: pane::PanePhase, seen: pane::PaneSignal) {
        *self.panes.entry((phase, seen)).or_default() += 1;
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        *self.faults.entry(fault).or_default() += 1;
    }

    pub(crate) fn act(&mut self, act: Act) {
        *self.acts.entry(act).or_default() += 1;
    }

    /// Count moves, and hold them against what the table says of them.
    pub(crate) fn transitions(&mut self, transitions: &[TransitionRecord]) {
        for moved in transitions {
            let TransitionRecord {
                from,
                signal,
                by,
                to,
                ..
            } = *moved;
            *self.pairs.entry((from, signal)).or_default() += 1;
            *self.transitions.entry(by).or_default() += 1;
            if from != to {
                *self.led.entry((by, from, to)).or_default() += 1;
                assert!(
                    by.leads_to(from).contains(&to),
                    "{by:?} leads from {from:?} to {to:?} by {signal:?}"
                );
            }
        }
    }

    pub(crate) fn facts(&mut self, facts: &MessageRecord) {
        for delivery in &facts.deliveries {
            if let Some(row) = delivery.row {
                *self.rows.entry(row).or_default() += 1;
            }
            if let Some(rule) = delivery.rule {
                *self.rules.entry(rule).or_default() += 1;
            }
        }
        if let Some(reason) = &facts.refused {
            for words in REFUSALS.iter().filter(|words| reason.contains(**words)) {
                *self.refusals.entry(words).or_default() += 1;
            }
        }
    }

    /// Put together what was seen in two lives.
    pub(crate) fn add(&mut self, other: &Seen) {
        fn join<K: Ord + Copy>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
            for (key, count) in from {
                *to.entry(*key).or_default() += count;
            }
        }
        self.lives += other.lives;
        self.messages += other.messages;
        self.events += other.events;
        self.commits += other.commits;
        self.crashes += other.crashes;
        self.read += other.read;
        join(&mut self.rows, &other.rows);
        join(&mut self.rules, &other.rules);
        join(&mut self.refusals, &other.refusals);
        join(&mut self.pairs, &other.pairs);
        join(&mut self.transitions, &other.transitions);
        join(&mut self.led, &other.led);
        join(&mut self.faults, &other.faults);
        join(&mut self.acts, &other.acts);
        join(&mut self.met, &other.met);
        join(&mut self.panes, &other.panes);
    }

    /// How far it is, in a line.
    pub(crate) fn line(&self, elapsed: Duration) -> String {
        let faults: u64 = self.faults.values().sum();
        format!(
            "{:>5.0} s: {} lives, {} messages, {} events, {} commits, {} crashes, {faults} faults",
            elapsed.as_secs_f64(),
            self.lives,
            self.messages,
            self.events,
            self.commits,
            self.crashes,
        )
    }

    /// What was never seen. Rare pairs are only wanted where there were many lives.
    pub(crate) fn missing(&self, many: bool) -> Vec<String> {
        let mut missing = Vec::new();
        none_of("row", &self.rows, &KindRow::ALL, &mut missing);
        none_of("rule", &self.rules, &Rule::ALL, &mut missing);
        none_of("refusal", &self.refusals, &REFUSALS, &mut missing);
        none_of("move", &self.transitions, &Transition::ALL, &mut missing);
        none_of("fault", &self.faults, Fault::ALL, &mut missing);
        none_of("act", &self.acts, Act::ALL, &mut missing);
        // Every pair of them is wanted of the lives of one pane.
        let panes = self.panes.iter();
        let phases = panes.clone().map(|((phase, _), count)| (*phase, *count));
        let seen = panes.map(|((_, seen), count)| (*seen, *count));
        none_of(
            "phase of a pane",
            &phases.collect(),
            &pane::PanePhase::ALL,
            &mut missing,
        );
        none_of(
            "sight of a pane",
            &seen.collect(),
            &pane::PaneSignal::ALL,
            &mut missing,
        );
        let pairs = Phase::ALL
            .iter()
            .flat_map(|is| Signal::ALL.iter().map(|signal| (*is, *signal)));
        // Who is idle owes nothing, and who waits to be tried again has no process.
        let never = [
            (Phase::Idle, Signal::Paid),
            (Phase::Idle, Signal::GivenUp),
            (Phase::Backoff, Signal::Found),
            (Phase::Backoff, Signal::NotFound),
        ];
        let pairs: Vec<(Phase, Signal)> = pairs.filter(|pair| !never.contains(pair)).collect();
        if many {
            none_of("pair", &self.pairs, &pairs, &mut missing);
        }
        none_of("meeting", &self.met, &MET, &mut missing);
        missing.extend((self.read == 0).then(|| "a message that was read".into()));
        missing
    }

    /// Everything, for people.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        rows(&mut text, "faults", &self.faults);
        rows(&mut text, "acts", &self.acts);
        rows(&mut text, "met", &self.met);
        rows(&mut text, "rows", &self.rows);
        rows(&mut text, "rules", &self.rules);
        rows(&mut text, "refusals", &self.refusals);
        rows(&mut text, "moves", &self.transitions);
        rows(&mut text, "what panes have seen", &self.panes);
        let all = pane::PanePhase::ALL.len() * pane::PaneSignal::ALL.len();
        let pairs = self.panes.len();
        writeln!(
            text,
            "pairs of a pane's phase and what was seen: {pairs} of {all}"
        )
        .unwrap();
        let (pairs, all) = (self.pairs.len(), Phase::ALL.len() * Signal::ALL.len());
        writeln!(text, "pairs of status and what happened: {pairs} of {all}").unwrap();
        let unled = Transition::ALL.iter().flat_map(|by| {
            let from = Phase::ALL.iter();
            from.flat_map(move |from| by.leads_to(*from).iter().map(move |to| (*by, *from, *to)))
        });
        let from_somewhere = |by: &Transition, from: &Phase| {
            let mut pairs = self.led.keys();
            pairs.any(|(known, was, _)| known == by && was == from)
        };
        let unled: Vec<String> = unled
            .filter(|(by, from, to)| {
                from != to && from_somewhere(by, from) && !self.led.contains_key(&(*by, *from, *to))
            })
            .map(|(by, from, to)| format!("{by:?}: {from:?} to {to:?}"))
            .collect();
        writeln!(
            text,
            "said to be possible, never seen: {}",
            unled.join("; ")
        )
        .unwrap();
        text
    }
}

fn none_of<K: Ord + Debug>(
    sort: &str,
    seen: &BTreeMap<K, u64>,
    all: &[K],
    missing: &mut Vec<String>,
) {
    let unseen = all.iter().filter(|key| !seen.contains_key(key));
    missing.extend(unseen.map(|key| format!("{sort} {key:?}")));
}

fn rows<K: Debug>(text: &mut String, title: &str, seen: &BTreeMap<K, u64>) {
    writeln!(text, "{title}:").unwrap();
    let cells: Vec<String> = seen
        .iter()
        .map(|(key, count)| format!("{} {count}", format!("{key:?}").trim_matches('"')))
        .collect();
    for line in cells.chunks(5) {
        writeln!(text, "  {}", line.join(", ")).unwrap();
    }
}
