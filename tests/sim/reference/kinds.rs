//! Section 2 of the protocol: what a message is to each of its recipients.

use std::collections::{BTreeMap, BTreeSet};

use tx::model::{Address, Envelope, Kind, Mesh, Opener, OutcomeWord};

use super::names::Means;
use super::route::{Goes, Opens, Outcome, Wanted, goes, table};
use super::{Hand, Message, Model};

/// What may come of a message, seen from one state of things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum May {
    /// The protocol leaves it open.
    Any,
    Refused,
    Accepted(Accepted),
}

/// What an accepted message is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) to: BTreeMap<Address, Kind>,
    /// The asks that it answers.
    pub(crate) answers: BTreeSet<Message>,
    /// It is an outcome, and finishes work.
    pub(crate) outcome: bool,
    /// It opens a fan-out.
    pub(crate) opens: Option<Opens>,
    /// It belongs to this fan-out.
    pub(crate) member: Option<Message>,
    /// It may belong to one of several.
    pub(crate) may_be_result: bool,
}

/// What `in-reply-to` comes to.
enum Reply {
    Nothing,
    Open(BTreeSet<Message>, Address),
    Closed(Address),
    Refused,
    Any,
}

impl Model {
    /// Everything that may come of a message, if its author has this in hand.
    pub(crate) fn may(&self, said: &Envelope, hand: Option<&Hand>) -> Vec<May> {
        let from = &said.from;
        if from.is_system() || said.kind == Some(Kind::Lifecycle) {
            return vec![May::Refused];
        }
        if !self.knows(from) {
            // Who was removed may end what it has in hand.
            return match self.ever.contains(from) {
                true => vec![May::Any],
                false => vec![May::Refused],
            };
        }
        let mut recipients: Vec<Option<Address>> = Vec::new();
        for written in &said.to {
            let to = match self.means(written, from, said.status.is_some()) {
                // Whom an opener names is not read, unless it works for another block itself.
                Means::Nobody if self.may_open(said) => return vec![May::Any],
                Means::To(to) if to == *from && self.may_open(said) => return vec![May::Any],
                Means::To(to) if to == *from => return vec![May::Refused],
                Means::To(to) => Some(to),
                Means::Table => None,
                Means::Nobody => return vec![May::Refused],
                Means::Any => return vec![May::Any],
            };
            if !recipients.contains(&to) {
                recipients.push(to);
            }
        }
        if recipients.is_empty() {
            recipients.push(None);
        }
        let mut all = vec![Accepted::default()];
        let several = recipients.len() > 1;
        let mut refused = false;
        for to in recipients {
            let mut next = Vec::new();
            for one in self.to_one(said, hand, to.as_ref()) {
                match one {
                    May::Any => return vec![May::Any],
                    May::Refused => refused = true,
                    // Whether it may open a fan-out and go elsewhere at once is not said.
                    May::Accepted(one) if several && one.opens.is_some() => return vec![May::Any],
                    May::Accepted(one) => next.extend(all.iter().map(|before| before.and(&one))),
                }
            }
            all = next;
        }
        let mut all: Vec<May> = all.into_iter().map(May::Accepted).collect();
        if refused || all.is_empty() {
            all.push(May::Refused);
        }
        all
    }

    /// Does a block of its mesh open for `complete` of its author, and is it that?
    fn may_open(&self, said: &Envelope) -> bool {
        let opener = Opener::Complete(said.from.agent.clone());
        let mesh = self.meshes.get(&said.from.mesh);
        let mut blocks = mesh.into_iter().flat_map(|mesh| &mesh.blocks);
        let complete = said.status.as_ref().is_some_and(OutcomeWord::is_complete);
        complete && blocks.any(|block| block.opens_for.contains(&opener))
    }

    fn to_one(&self, said: &Envelope, hand: Option<&Hand>, to: Option<&Address>) -> Vec<May> {
        let from = &said.from;
        match to {
            Some(to) if to.is_core() && from.is_core() => return vec![May::Refused],
            None if from.is_core() => return vec![May::Refused],
            Some(_) | None => {}
        }
        let only = |to: &Address, kind: Kind| {
            vec![May::Accepted(Accepted {
                to: BTreeMap::from([(to.clone(), kind)]),
                ..Accepted::default()
            })]
        };
        let answer = |to: &Address, answers: BTreeSet<Message>| {
            let answer = May::Accepted(Accepted {
                to: BTreeMap::from([(to.clone(), Kind::AskResponse)]),
                answers,
                ..Accepted::default()
            });
            // Who was removed since the last commit may have given up its asks with its work:
            // that is only seen when it is committed.
            let late = match self.knows(to) {
                true => Vec::new(),
                false => only(to, Kind::Update),
            };
            [vec![answer], late].concat()
        };
        let reply = self.reply(said, to);
        let implied = self.implied(said, hand, to);
        if let Some(kind) = said.kind {
            return match (kind, &reply, to) {
                (_, Reply::Any, _) => vec![May::Any],
                // What an explicit kind makes of a wrong `in-reply-to` is not said.
                (_, Reply::Refused, _) => vec![May::Any],
                (Kind::TaskComplete, _, _) if !from.is_core() => self.outcome(said, hand, to),
                (Kind::Ask | Kind::AskHuman, _, Some(to)) if from.is_core() => only(to, Kind::Task),
                (Kind::Ask, _, Some(to)) if to.is_core() => only(to, Kind::AskHuman),
                (Kind::AskHuman, _, Some(to)) if !to.is_core() => only(to, Kind::Ask),
                (Kind::AskResponse, Reply::Open(asks, asker), _) => answer(asker, asks.clone()),
                (Kind::AskResponse, Reply::Closed(asker), _) => only(asker, Kind::Update),
                (Kind::AskResponse, _, to) => match (implied, to) {
                    (Some((asker, ask)), _) if self.asks.contains_key(&(ask, from.clone())) => {
                        answer(&asker, BTreeSet::from([ask]))
                    }
                    (Some((asker, _)), _) => only(&asker, Kind::Update),
                    (None, Some(to)) => only(to, Kind::Update),
                    (None, None) => vec![May::Any],
                },
                (_, _, Some(to)) => only(to, kind),
                (_, _, None) => vec![May::Any],
            };
        }
        // 1
        match reply {
            Reply::Open(asks, asker) => return answer(&asker, asks),
            Reply::Closed(asker) => return only(to.unwrap_or(&asker), Kind::Update),
            Reply::Refused => return vec![May::Refused],
            Reply::Any => return vec![May::Any],
            Reply::Nothing => {}
        }
        // 2 and 3
        if let Some((asker, ask)) = implied {
            return match self.asks.contains_key(&(ask, from.clone())) {
                true => answer(&asker, BTreeSet::from([ask])),
                // It was closed meanwhile.
                false => only(&asker, Kind::Update),
            };
        }
        match to {
            // 4
            _ if said.status.is_some() && !from.is_core() => self.outcome(said, hand, to),
            // 5
            Some(to) if to.is_core() => only(to, Kind::AskHuman),
            // 6
            Some(to) if from.is_core() => only(to, Kind::Task),
            // 7
            Some(to) => only(to, Kind::Ask),
            None => self.outcome(said, hand, to),
        }
    }

    /// What `in-reply-to` names, for one recipient.
    fn reply(&self, said: &Envelope, to: Option<&Address>) -> Reply {
        let from = &said.from;
        let mut open = BTreeSet::new();
        let mut askers = BTreeSet::new();
        let (mut closed, mut other, mut own) = (None, false, false);
        for id in &said.in_reply_to {
            let named = self.named(id);
            let mut any = false;
            for (number, message) in named {
                let asked = message.is_ask_of(from);
                let by_recipient = to.is_none_or(|to| message.from == *to);
                if asked && by_recipient && self.asks.contains_key(&(number, from.clone())) {
                    open.insert(number);
                    askers.insert(message.from.clone());
                } else if asked && by_recipient {
                    closed = Some(message.from.clone());
                } else if message.went_to(from) || message.from == *from {
                    // It names what it follows from.
                    own = true;
                } else {
                    other = true;
                }
                any = true;
            }
            other |= !any;
        }
        let asker = askers.first().cloned();
        match (asker, closed) {
            (Some(_), _) if askers.len() > 1 => Reply::Any,
            (Some(_), _) if other || own => Reply::Any,
            (Some(asker), _) => Reply::Open(open, asker),
            (None, Some(_)) if other || own => Reply::Any,
            (None, Some(asker)) => Reply::Closed(asker),
            (None, None) if other && own => Reply::Any,
            (None, None) if own && from.is_core() => Reply::Any,
            (None, None) if other => Reply::Refused,
            (None, None) => Reply::Nothing,
        }
    }

    /// Rows 2 and 3: who asked, and what, where nothing is named.
    fn implied(
        &self,
        said: &Envelope,
        hand: Option<&Hand>,
        to: Option<&Address>,
    ) -> Option<(Address, Message)> {
        if said.from.is_core() {
            let asker = to?;
            let mut asks = self.asks.iter();
            let oldest = asks.find(|((_, asked), ask)| asked.is_core() && ask.asker == *asker);
            return oldest.map(|((number, _), _)| (asker.clone(), *number));
        }
        let ask = hand?.only_ask()?;
        let asker = &self.sent.get(&ask)?.from;
        to.is_none_or(|to| to == asker)
            .then(|| (asker.clone(), ask))
    }

    /// Whose work is judged, if that is what is in hand: one of these.
    fn judged_by(&self, hand: &Hand) -> Option<&BTreeSet<Address>> {
        let mut items = hand.items.iter();
        items.find_map(|(item, _)| self.sent.get(item)?.judges.as_ref())
    }

    /// Does an outcome name what was parked at its author?
    fn names_dead_letter(&self, said: &Envelope) -> bool {
        let mut named = said.in_reply_to.iter().flat_map(|id| self.named(id));
        named.any(|(_, sent)| {
            let delivery = sent.to.get(&said.from);
            delivery.is_some_and(|delivery| delivery.step == super::At::Parked)
        })
    }

    /// Row 4: an outcome, and where it goes.
    fn outcome(&self, said: &Envelope, hand: Option<&Hand>, to: Option<&Address>) -> Vec<May> {
        let from = &said.from;
        let word = match (&said.status, said.kind) {
            (Some(word), _) => Some(word.as_str()),
            (None, Some(Kind::TaskComplete)) => Some("complete"),
            (None, _) => None,
        };
        let failed = matches!(word, Some("error" | "blocked"));
        let asking = self.asks.values().any(|ask| ask.asker == *from);
        if asking && !failed {
            // The parity gate.
            return vec![May::Refused];
        }
        let Some(mesh) = self.meshes.get(&from.mesh) else {
            return vec![May::Any];
        };
        let accepted = |to: &Address, kind: Kind| Accepted {
            to: BTreeMap::from([(to.clone(), kind)]),
            outcome: kind != Kind::AskHuman,
            ..Accepted::default()
        };
        let core = Address::core();
        if let Some(authors) = hand.and_then(|hand| self.judged_by(hand)) {
            // What an evaluator says is its verdict, and goes nowhere else; but it can always get
            // to the human.
            let verdict = |author| May::Accepted(accepted(author, Kind::TaskComplete));
            return match word {
                Some("blocked") => vec![May::Accepted(accepted(&core, Kind::AskHuman))],
                Some(_) => authors.iter().map(verdict).collect(),
                None => authors.iter().map(verdict).chain([May::Refused]).collect(),
            };
        }
        let route_to = match &said.route_to {
            None => None,
            Some(written) => match self.means(written, from, false) {
                Means::To(address) => Some(Wanted::of(&address)),
                Means::Table => None,
                Means::Nobody => return vec![May::Refused],
                Means::Any => return vec![May::Any],
            },
        };
        let outcome = Outcome {
            sender: from,
            word,
            to: to.map_or(Wanted::Table, Wanted::of),
            route_to,
        };
        let found = goes(mesh, &outcome);
        if self.names_dead_letter(said) {
            // It finishes that after all, and is of the fan-out that it was in.
            return vec![May::Any];
        }
        // A member's outcome goes to the join and nowhere else, unless it needs the human.
        let member = match hand {
            Some(hand) if self.is_unsure(from, hand) => return vec![May::Any],
            // A member is given its work alone. Which of these that is, is not known here.
            Some(hand) if hand.items.len() > 1 && self.member(from, hand).is_some() => {
                return vec![May::Any];
            }
            Some(hand) => self.member(from, hand),
            None if self.was_member(from) => return vec![May::Any],
            None => None,
        };
        if let Some(set) = member {
            return match (word, self.sets.get(&set)) {
                (Some("blocked"), _) => vec![May::Accepted(accepted(&core, Kind::AskHuman))],
                (Some("escalate"), _) | (_, None) => vec![May::Any],
                (_, Some(open)) => vec![May::Accepted(Accepted {
                    member: Some(set),
                    ..accepted(&open.join, Kind::TaskComplete)
                })],
            };
        }
        let (mut all, mut past) = (Vec::new(), Vec::new());
        // Which of several fan-outs of a run new work re-opens is not said.
        let run = hand.and_then(Hand::first);
        let run = run.and_then(|first| self.sent.get(&first)?.run);
        let sets = self
            .sets
            .values()
            .filter(|set| run.is_some() && set.run == run);
        // What is joined has no work under way.
        let sets = sets.filter(|set| !set.joined || set.unsure);
        for set in sets.filter(|set| set.members.contains(from)) {
            all.push(May::Accepted(Accepted {
                may_be_result: true,
                ..accepted(&set.join, Kind::TaskComplete)
            }));
        }
        for goes in found {
            match goes {
                Goes::To(to) if to.is_core() && word == Some("blocked") => {
                    all.push(May::Accepted(accepted(&to, Kind::AskHuman)));
                }
                Goes::To(to) => all.push(May::Accepted(accepted(&to, Kind::TaskComplete))),
                Goes::Asks => all.push(May::Accepted(accepted(&core, Kind::AskHuman))),
                Goes::FanOut { members, opens } => {
                    let own = match hand {
                        Some(hand) => self.is_own_join(from, hand),
                        None => Some(false),
                    };
                    // Joined results of its own go past a fan-out.
                    if own != Some(false) {
                        past.extend(self.past_block(mesh, &outcome, word));
                    }
                    if own == Some(true) {
                        continue;
                    }
                    if members.is_empty() {
                        all.extend(refused(mesh, from, word));
                        continue;
                    }
                    let members = members.into_iter().map(|m| (m, Kind::TaskComplete));
                    all.push(May::Accepted(Accepted {
                        to: members.collect(),
                        opens: Some(opens),
                        outcome: true,
                        ..Accepted::default()
                    }));
                }
                Goes::Refused => all.extend(refused(mesh, from, word)),
            }
        }
        all.extend(past);
        all
    }

    /// Where the outcome of joined results goes that their recipient opened a block for: past a
    /// block of the mesh by its table, and past a row that is a fan-out to core.
    fn past_block(&self, mesh: &Mesh, outcome: &Outcome, word: Option<&str>) -> Vec<May> {
        let core = Address::core();
        let by_table = table(mesh, outcome).into_iter().map(|goes| match goes {
            Goes::To(to) => (to, Kind::TaskComplete),
            Goes::Asks => (core.clone(), Kind::AskHuman),
            Goes::FanOut { .. } => (core.clone(), Kind::TaskComplete),
            Goes::Refused => (outcome.sender.clone(), Kind::Task),
        });
        let by_table = by_table.map(|(to, kind)| match kind {
            Kind::Task => May::Refused,
            _ if to.is_core() && word == Some("blocked") => accepted_at(to, Kind::AskHuman),
            kind => accepted_at(to, kind),
        });
        by_table.collect()
    }
}

/// An outcome that the table refuses, and after so many of them where the mesh says.
fn refused(mesh: &Mesh, from: &Address, word: Option<&str>) -> Vec<May> {
    let fallback = mesh.guardrails.routing_error.fallback.as_ref();
    let fallback = fallback.map(super::route::address);
    let fallback = fallback.filter(|to| to != from).map(|to| {
        let kind = match to.is_core() && word == Some("blocked") {
            true => Kind::AskHuman,
            false => Kind::TaskComplete,
        };
        accepted_at(to, kind)
    });
    [May::Refused].into_iter().chain(fallback).collect()
}

fn accepted_at(to: Address, kind: Kind) -> May {
    May::Accepted(Accepted {
        to: BTreeMap::from([(to, kind)]),
        outcome: kind != Kind::AskHuman,
        ..Accepted::default()
    })
}

impl Accepted {
    /// Both, for one recipient each.
    fn and(&self, other: &Accepted) -> Accepted {
        let mut both = self.clone();
        for (to, kind) in &other.to {
            both.to.entry(to.clone()).or_insert(*kind);
        }
        both.answers.extend(&other.answers);
        both.outcome |= other.outcome;
        both.opens = both.opens.or_else(|| other.opens.clone());
        both.member = both.member.or(other.member);
        both.may_be_result |= other.may_be_result;
        both
    }
}
