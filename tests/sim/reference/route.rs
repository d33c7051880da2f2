//! Section 5 of the protocol: where an outcome goes.

use std::collections::BTreeSet;

use tx::model::{Address, Mesh, RoutingMode, Row, Target};

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
    FanOut {
        members: Vec<Address>,
        join: Address,
    },
    Refused,
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
    let mut found = anywhere(mesh, outcome);
    past_its_own(&mut found, sender);
    // Nobody wakes by their own message.
    let not_back = |goes: Goes| match goes {
        Goes::To(to) if to == *sender => Goes::Refused,
        Goes::FanOut { members, join } => {
            let members: Vec<Address> = members.into_iter().filter(|m| m != sender).collect();
            match members.is_empty() {
                true => Goes::Refused,
                false => Goes::FanOut { members, join },
            }
        }
        other => other,
    };
    found.into_iter().map(not_back).collect()
}

/// What goes past a fan-out of its own: an agent that gets the results which it asked for.
fn past_its_own(found: &mut Vec<Goes>, sender: &Address) {
    let own = |goes: &Goes| matches!(goes, Goes::FanOut { join, .. } if join == sender);
    if found.iter().any(own) {
        found.push(Goes::To(Address::core()));
    }
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
                join: address(join),
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
