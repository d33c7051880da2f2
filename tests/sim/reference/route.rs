//! Section 5 of the protocol: where an outcome goes.

use std::collections::BTreeSet;

use tx::model::{Address, Gather, Join, Mesh, MinSuccesses, Opener, RoutingMode, Row, Target};

/// What the author of an outcome named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Nothing, the sentinel, or its own mesh.
    Table,
    Core,
    Agent(Address),
}

/// Where it may go. Several, where the protocol leaves it open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    To(Address),
    /// To core, as a question.
    Asks,
    /// Without members it is refused, unless it is joined results that go past it.
    FanOut {
        members: Vec<Address>,
        opens: Opens,
    },
    Refused,
}

/// What opens with an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opens {
    pub(crate) join: Address,
    /// How many members must succeed.
    pub(crate) min: usize,
    /// The results become one message.
    pub(crate) gathers: bool,
}

/// An outcome as its author wrote it.
pub(crate) struct Outcome<'a> {
    pub(crate) sender: &'a Address,
    pub(crate) word: Option<&'a str>,
    pub(crate) to: Wanted,
    pub(crate) route_to: Option<Wanted>,
}

/// Everywhere that it may go.
pub(crate) fn goes(mesh: &Mesh, outcome: &Outcome) -> Vec<Goes> {
    let sender = outcome.sender;
    let found = match blocks(mesh, outcome) {
        Some((block, true)) => vec![block],
        Some((block, false)) => [vec![block], anywhere(mesh, outcome)].concat(),
        None => anywhere(mesh, outcome),
    };
    // Nobody wakes by their own message.
    let not_back = |goes: Goes| match goes {
        Goes::To(to) if to == *sender => Goes::Refused,
        Goes::FanOut { members, opens } => Goes::FanOut {
            members: members.into_iter().filter(|m| m != sender).collect(),
            opens,
        },
        other => other,
    };
    found.into_iter().map(not_back).collect()
}

/// Everywhere that it may go by the table alone.
pub(crate) fn table(mesh: &Mesh, outcome: &Outcome) -> Vec<Goes> {
    let sender = outcome.sender;
    let found = anywhere(mesh, outcome).into_iter();
    let found = found.map(|goes| match goes {
        Goes::To(to) if to == *sender => Goes::Refused,
        other => other,
    });
    found.collect()
}

/// The block that a mesh says opens for an outcome, and whether that is certain.
fn blocks(mesh: &Mesh, outcome: &Outcome) -> Option<(Goes, bool)> {
    let (agent, word) = (&outcome.sender.agent, outcome.word?);
    mesh.blocks.iter().find_map(|block| {
        let agents = block.members.agents();
        let certain = block.opens_for.iter().find_map(|opener| match opener {
            Opener::Complete(opener) => (opener == agent && word == "complete").then_some(true),
            Opener::RowOfAll => {
                let row = mesh.routing.rows.get(agent);
                let listed = listed(row, word);
                let is_listed = |target: &Target| {
                    let member = address(target);
                    listed.contains(&member) || member == *outcome.sender
                };
                // "Any word whose row lists all of `agents`": one that is not listed has no row.
                let all = matches!(row, Some(Row::ByStatus { .. }))
                    && !listed.is_empty()
                    && !agents.is_empty()
                    && agents.iter().all(is_listed);
                // A target that is named may be a choice.
                let plain = outcome.to == Wanted::Table && outcome.route_to.is_none();
                all.then_some(plain)
            }
            Opener::AnyWord(_) | Opener::State(_) => None,
        })?;
        let Join::To(join) = &block.join else {
            return None;
        };
        let min = match block.min {
            MinSuccesses::All => usize::MAX,
            MinSuccesses::Number(min) => usize::try_from(min).unwrap(),
        };
        let opens = Opens {
            join: address(join),
            min,
            gathers: block.gather != Gather::Concat,
        };
        let members = agents.iter().map(address).collect();
        Some((Goes::FanOut { members, opens }, certain))
    })
}

fn anywhere(mesh: &Mesh, outcome: &Outcome) -> Vec<Goes> {
    let dispatcher = mesh.routing.mode == RoutingMode::Dispatcher;
    let row = mesh.routing.rows.get(&outcome.sender.agent);
    let overrides = outcome.route_to.as_ref().and_then(Wanted::address);
    let Some(word) = outcome.word else {
        return match (row, overrides) {
            (_, Some(target)) if dispatcher => vec![Goes::To(target)],
            (Some(Row::Always(target)), _) if dispatcher => vec![to(target)],
            (Some(Row::ByStatus { default, .. }), _) if dispatcher => {
                vec![default.as_ref().map_or(Goes::Refused, to)]
            }
            _ => vec![Goes::Refused],
        };
    };
    let fails = matches!(word, "error" | "blocked");
    // 5: an agent can always get to the human.
    if word == "blocked" && outcome.to == Wanted::Core {
        return vec![Goes::To(Address::core())];
    }
    let listed = listed(row, word);
    // 1: a target that is named, and listed for this word.
    let named = [outcome.to.address(), overrides.clone()];
    if let Some(target) = named.into_iter().flatten().find(|t| listed.contains(t)) {
        return vec![Goes::To(target)];
    }
    let rails = &mesh.guardrails.routing_error;
    // 4: a target that is not.
    let unlisted = |target: &Address| match rails.strict {
        true => Goes::Refused,
        false => Goes::To(target.clone()),
    };
    match (&outcome.to, overrides) {
        (Wanted::Agent(_), Some(target)) if dispatcher => vec![
            Goes::To(target.clone()),
            unlisted(&outcome.to.address().unwrap_or(target)),
        ],
        (Wanted::Agent(target), _) => vec![unlisted(target)],
        (Wanted::Table | Wanted::Core, Some(target)) if dispatcher => vec![Goes::To(target)],
        (Wanted::Table | Wanted::Core, Some(target)) => {
            let mut all = by_table(row, dispatcher, word, fails);
            if !target.is_core() {
                all.push(unlisted(&target));
            }
            all
        }
        (Wanted::Table | Wanted::Core, None) => by_table(row, dispatcher, word, fails),
    }
}

/// 2 and 3: the table alone decides.
fn by_table(row: Option<&Row>, dispatcher: bool, word: &str, fails: bool) -> Vec<Goes> {
    let core = || Goes::To(Address::core());
    let escalates = dispatcher && word == "escalate";
    match row {
        Some(Row::Always(target)) => {
            let mut all = vec![to(target)];
            all.extend(escalates.then_some(Goes::Asks));
            all
        }
        Some(Row::FanOut { .. }) if escalates => vec![Goes::Asks],
        Some(Row::FanOut { members, join }) => {
            let opens = Goes::FanOut {
                members: members.iter().map(address).collect(),
                opens: Opens {
                    join: address(join),
                    min: 0,
                    gathers: false,
                },
            };
            match fails {
                true => vec![core()],
                false => vec![opens],
            }
        }
        Some(Row::ByStatus { words, default }) => {
            let mut rows = words.iter();
            let targets = rows.find(|(known, _)| known.as_str() == word);
            match targets.map(|(_, targets)| targets.keys().collect::<Vec<_>>()) {
                Some(targets) => match targets.as_slice() {
                    [only] => vec![to(only)],
                    [] | [..] => vec![Goes::Refused],
                },
                None if escalates => vec![Goes::Asks],
                None => match default {
                    Some(target) if fails => vec![to(target), core()],
                    Some(target) => vec![to(target)],
                    None => not_listed(dispatcher, word, fails),
                },
            }
        }
        None if escalates => vec![Goes::Asks],
        None if dispatcher => vec![core()],
        None => not_listed(dispatcher, word, fails),
    }
}

fn not_listed(dispatcher: bool, word: &str, fails: bool) -> Vec<Goes> {
    match fails || (word == "complete" && !dispatcher) {
        true => vec![Goes::To(Address::core())],
        false => vec![Goes::Refused],
    }
}

fn listed(row: Option<&Row>, word: &str) -> BTreeSet<Address> {
    match row {
        Some(Row::Always(target)) => BTreeSet::from([address(target)]),
        Some(Row::ByStatus { words, .. }) => {
            let mut words = words.iter();
            let row = words.find(|(known, _)| known.as_str() == word);
            row.into_iter()
                .flat_map(|(_, targets)| targets.keys().map(address))
                .collect()
        }
        Some(Row::FanOut { .. }) | None => BTreeSet::new(),
    }
}

impl Wanted {
    pub(crate) fn of(address: &Address) -> Wanted {
        match address.is_core() {
            true => Wanted::Core,
            false => Wanted::Agent(address.clone()),
        }
    }

    fn address(&self) -> Option<Address> {
        match self {
            Wanted::Table => None,
            Wanted::Core => Some(Address::core()),
            Wanted::Agent(address) => Some(address.clone()),
        }
    }
}

pub(crate) fn address(target: &Target) -> Address {
    match target {
        Target::Core => Address::core(),
        Target::Agent(address) => address.clone(),
    }
}

fn to(target: &Target) -> Goes {
    Goes::To(address(target))
}
