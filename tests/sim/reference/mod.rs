//! The protocol once more, written apart from the engine and from its text alone: what
//! each message is, who gets it, what it answers, when a join may fire, what a run may cost.
//!
//! It follows what tx says it did, in the order of the journal, and says where that is not
//! what the protocol says. Where the protocol is silent it takes what it is told.

mod asks;
mod ends;
mod joins;
mod judge;
mod kinds;
mod names;
mod route;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use ends::Stepped;
pub(crate) use judge::Made;
use route::Opens;

use tx::model::{Address, Kind, Mesh, MsgId, Name, Priority};

/// The place of a message among all of them.
pub(crate) type Message = u64;

/// What the protocol says of what has happened so far.
#[derive(Debug, Default)]
pub(crate) struct Model {
    meshes: BTreeMap<Name, Mesh>,
    /// All agents that there ever were.
    ever: BTreeSet<Address>,
    /// What each file said last, and the message that it is.
    paths: BTreeMap<String, (String, Option<Message>)>,
    sent: BTreeMap<Message, Sent>,
    ids: BTreeMap<MsgId, BTreeSet<Message>>,
    /// The open asks: the message and who is asked.
    asks: BTreeMap<(Message, Address), Ask>,
    hands: BTreeMap<Address, Hand>,
    /// What waits for each worker.
    waiting: BTreeMap<Address, BTreeSet<Message>>,
    /// What was in hand last.
    last: BTreeMap<Address, Hand>,
    /// The work of members that ended with `error`, while another work is in hand.
    kept: BTreeSet<(Message, Address)>,
    sets: BTreeMap<Message, Set>,
    runs: BTreeMap<Message, Run>,
    /// Runs that may have fan-outs which are not known here.
    unsure_runs: BTreeSet<Message>,
    /// Asks that were closed, so often, by a message of tx to who asked.
    closing: Vec<(Message, Address)>,
    /// Asks that tx closed by a message of tx.
    closed: Vec<((Message, Address), Ask)>,
    /// Asks of these may have been given up: it was not said.
    unsure: BTreeSet<Address>,
    /// How many files of each author were refused since one was accepted.
    refused: BTreeMap<Address, u32>,
}

/// A message that was accepted.
#[derive(Clone, Debug)]
struct Sent {
    id: MsgId,
    written: Option<MsgId>,
    from: Address,
    hash: Option<String>,
    priority: Priority,
    to: BTreeMap<Address, Delivery>,
    /// What its author may have had in hand.
    works: BTreeSet<Option<Message>>,
    run: Option<Message>,
    hops: u32,
    /// It was changed, and may have kept its place in a queue.
    amended: bool,
    /// Nobody knows here which fan-out it belongs to.
    unsure: bool,
    /// The fan-out that it is a result of.
    member: Option<Message>,
    /// It says that something has failed.
    error: bool,
    /// tx asks for a verdict on the work of one of these.
    judges: Option<BTreeSet<Address>>,
}

/// How far a message is on its way to somebody.
#[derive(Clone, Debug)]
struct Delivery {
    kind: Kind,
    step: At,
    /// It was being given once.
    leased: bool,
    /// It was a dead letter once.
    parked: bool,
    /// The record of its last place in a queue.
    queued: u64,
}

/// The steps of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum At {
    Accepted,
    Queued,
    Leased,
    Delivered,
    Finished,
    Refused,
    Parked,
}

/// An open ask.
#[derive(Clone, Debug)]
struct Ask {
    asker: Address,
    opened: i64,
    /// How long it may stay open while nobody works on it, in milliseconds.
    time: Option<i64>,
}

/// What a worker has in hand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hand {
    /// The messages that want something, and what they are.
    items: Vec<(Message, Kind)>,
    /// It is known to have arrived.
    delivered: bool,
    outcomes: BTreeSet<Message>,
    answered: BTreeSet<Message>,
    /// Something was accepted of which the protocol does not say what it pays.
    unsure: bool,
    /// Its first outcome is an `error`, and it is the work of a member: when its turn has ended, it
    /// is kept until the block is decided.
    failed: bool,
}

/// A fan-out.
#[derive(Clone, Debug)]
struct Set {
    join: Address,
    members: BTreeSet<Address>,
    /// How many members must succeed.
    min: usize,
    /// The join gets one message that tx makes of the results.
    gathers: bool,
    run: Option<Message>,
    /// Its members have it.
    released: bool,
    /// New work for members that came before it was joined.
    reopened: BTreeSet<(Message, Address)>,
    /// Every place is closed: these results go to the join together.
    results: Option<BTreeSet<Message>>,
    /// They have got there.
    joined: bool,
    /// Who belongs to it is not known here: it is let be.
    unsure: bool,
}

/// What a run has come to.
#[derive(Clone, Debug, Default)]
struct Run {
    mesh: Option<Name>,
    messages: u32,
    by_agent: BTreeMap<Address, u32>,
    /// It is not known here what it has cost.
    unsure: bool,
}

impl Sent {
    fn is_ask_of(&self, asked: &Address) -> bool {
        let delivery = self.to.get(asked);
        delivery.is_some_and(|d| matches!(d.kind, Kind::Ask | Kind::AskHuman))
    }

    fn went_to(&self, who: &Address) -> bool {
        self.to.contains_key(who)
    }
}

impl Hand {
    fn only_ask(&self) -> Option<Message> {
        match self.items.as_slice() {
            [(ask, Kind::Ask)] => Some(*ask),
            [] | [..] => None,
        }
    }

    fn first(&self) -> Option<Message> {
        self.items.first().map(|(number, _)| *number)
    }
}

impl At {
    fn is_over(self) -> bool {
        matches!(self, At::Finished | At::Refused | At::Parked)
    }
}

impl Model {
    pub(crate) fn mesh(&mut self, name: Name, mesh: Option<Mesh>) {
        for agent in mesh.iter().flat_map(|mesh| mesh.agents.keys()) {
            self.ever.insert(Address::new(name.clone(), agent.clone()));
        }
        match mesh {
            Some(mesh) => self.meshes.insert(name.clone(), mesh),
            None => self.meshes.remove(&name),
        };
        // Who is no longer there gives up what it asked.
        let asks = self.asks.values().map(|ask| &ask.asker);
        let gone = asks.filter(|asker| asker.mesh == name && !self.knows(asker));
        let gone: BTreeSet<Address> = gone.cloned().collect();
        self.unsure.extend(gone);
    }

    /// What is not known to tx any more can be named by nobody. What its runs have cost is
    /// forgotten where nothing of them is under way.
    pub(crate) fn put_away(&mut self, gone: &BTreeSet<Message>) {
        for numbers in self.ids.values_mut() {
            numbers.retain(|number| !gone.contains(number));
        }
        for (run, cost) in &mut self.runs {
            cost.unsure |= gone.contains(run);
        }
    }

    /// The messages of an id.
    fn named(&self, id: &MsgId) -> impl Iterator<Item = (Message, &Sent)> {
        let numbers = self.ids.get(id).into_iter().flatten();
        numbers.filter_map(|number| Some((*number, self.sent.get(number)?)))
    }

    /// What an author may have had in hand when it wrote: both, where that is not known to
    /// have arrived; anything, where it wrote in an older turn.
    fn hands_of(&self, who: &Address, late: bool) -> Vec<Option<&Hand>> {
        let hand = self.hands.get(who);
        if late {
            return vec![None, hand, self.last.get(who)];
        }
        match hand {
            None => vec![None],
            Some(hand) if hand.delivered => vec![Some(hand)],
            Some(hand) => vec![None, Some(hand)],
        }
    }
}
