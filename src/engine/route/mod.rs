//! Routing by status: where an outcome goes.
//!
//! Total: every outcome goes somewhere or is refused with the reason. The table
//! is the sender's mesh's; targets in it were looked up when it was loaded.

mod blocks;
#[cfg(test)]
mod tests;

pub(super) use blocks::{block_for, opening};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::model::{Address, Mesh, Name, OutcomeWord, RoutingMode, Row, Target};

/// What the author of an outcome named as its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// Nothing, the sentinel, or the sender's own mesh: "route this for me".
    Routing,
    /// The human.
    Core,
    /// This agent.
    Agent(Address),
}

impl From<&Address> for Addressee {
    fn from(address: &Address) -> Addressee {
        match address {
            address if address.is_core() => Addressee::Core,
            address if address.is_dispatch() => Addressee::Routing,
            address => Addressee::Agent(address.clone()),
        }
    }
}

/// An outcome to be routed.
#[derive(Clone, Debug)]
pub struct Outcome<'a> {
    /// The agent that gives it.
    pub sender: &'a Name,
    /// Its word; `None` only for what a dispatcher table routes without one.
    pub status: Option<&'a OutcomeWord>,
    /// Its `to`.
    pub to: Addressee,
    /// Its `route_to`.
    pub route_to: Option<Addressee>,
}

/// Where an outcome goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// To one target.
    To {
        /// The target.
        target: Target,
        /// The rule that decided.
        rule: Rule,
    },
    /// To all members; their results go to the join together.
    FanOut {
        /// Who works side by side.
        members: Vec<Target>,
        /// Who gets the results.
        join: Target,
    },
    /// Nowhere; the sender is told why.
    Refused(Unroutable),
}

/// The rule that sent an outcome to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// `blocked` addressed to core always reaches core.
    BlockedToCore,
    /// The target was named, and the table lists it for the status.
    Listed,
    /// The one target listed for the status.
    OnlyTarget,
    /// The row is one target.
    Always,
    /// The row's `default`.
    Default,
    /// Dispatcher form: there is no row, so it goes to core.
    NoRow,
    /// Dispatcher form: `route_to` names an agent, which overrides the table.
    Overridden,
    /// Dispatcher form: the word `escalate` asks the human.
    Escalated,
    /// `error` and `blocked` go to core where they are not listed.
    FailureUnlisted,
    /// Agent form: `complete` goes to core where it is not listed.
    CompleteUnlisted,
    /// The table does not list the target, and the mesh is not strict about it.
    PassedUnlisted,
    /// The table refused it too often: it goes where the mesh says it should then.
    Fallback,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Rule; 12] = [
        Rule::BlockedToCore,
        Rule::Listed,
        Rule::OnlyTarget,
        Rule::Always,
        Rule::Default,
        Rule::NoRow,
        Rule::Overridden,
        Rule::Escalated,
        Rule::FailureUnlisted,
        Rule::CompleteUnlisted,
        Rule::PassedUnlisted,
        Rule::Fallback,
    ];
}

/// Why an outcome goes nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unroutable {
    /// Several targets are listed, and none was named.
    #[error(
        "`{status}` has several targets; name one of them in `to`: {}",
        with_reasons(targets)
    )]
    SeveralTargets {
        /// The word.
        status: OutcomeWord,
        /// The targets as the sender would write them, with their reasons.
        targets: IndexMap<String, String>,
    },
    /// The table does not know the word.
    #[error("`{status}` is not a status you can give; the valid ones are: {}", words.join(", "))]
    UnknownWord {
        /// The word.
        status: OutcomeWord,
        /// The words it may be.
        words: Vec<String>,
    },
    /// The mesh is strict, and the table does not list the target.
    #[error(
        "`{target}` is not a target of `{status}`; the table has: {}",
        with_reasons(targets)
    )]
    NotListed {
        /// The word.
        status: OutcomeWord,
        /// The target named.
        target: String,
        /// The targets listed for the word.
        targets: IndexMap<String, String>,
    },
    /// A dispatcher table needs a word to go by.
    #[error("there is no `status`; give one of: {}", words.join(", "))]
    NoStatus {
        /// The words it may be.
        words: Vec<String>,
    },
}

fn with_reasons(targets: &IndexMap<String, String>) -> String {
    if targets.is_empty() {
        return "none".into();
    }
    let targets = targets
        .iter()
        .map(|(target, reason)| match reason.as_str() {
            "" => format!("`{target}`"),
            reason => format!("`{target}` ({reason})"),
        });
    targets.collect::<Vec<_>>().join(", ")
}

/// Decide where an outcome goes.
pub fn route(mesh: &Mesh, outcome: &Outcome) -> Route {
    Table {
        mesh,
        row: mesh.routing.rows.get(outcome.sender),
        dispatcher: mesh.routing.mode == RoutingMode::Dispatcher,
    }
    .route(outcome)
}

struct Table<'m> {
    mesh: &'m Mesh,
    row: Option<&'m Row>,
    dispatcher: bool,
}

impl Table<'_> {
    fn route(&self, outcome: &Outcome) -> Route {
        let Some(status) = outcome.status else {
            return self.without_status(outcome);
        };
        if status.is_blocked() && outcome.to == Addressee::Core {
            return to(Target::Core, Rule::BlockedToCore);
        }
        let listed = self.listed(status);
        let wanted = [Some(&outcome.to), outcome.route_to.as_ref()];
        for target in wanted.into_iter().flatten().filter_map(Addressee::target) {
            if listed.contains(&&target) {
                return to(target, Rule::Listed);
            }
        }
        match (
            outcome.route_to.as_ref().and_then(Addressee::target),
            &outcome.to,
        ) {
            (Some(target), _) if self.dispatcher => to(target, Rule::Overridden),
            (_, Addressee::Agent(address)) => self.unlisted_target(status, address),
            (Some(Target::Agent(address)), _) => self.unlisted_target(status, &address),
            (Some(Target::Core) | None, Addressee::Routing | Addressee::Core) => {
                self.by_table(status)
            }
        }
    }

    /// The table alone decides.
    fn by_table(&self, status: &OutcomeWord) -> Route {
        if self.dispatcher && status.as_str() == "escalate" && self.listed(status).is_empty() {
            return to(Target::Core, Rule::Escalated);
        }
        match self.row {
            Some(Row::Always(target)) => to(target.clone(), Rule::Always),
            // Others cannot continue with what failed.
            Some(Row::FanOut { .. }) if status.is_failure() => {
                to(Target::Core, Rule::FailureUnlisted)
            }
            Some(Row::FanOut { members, join }) => Route::FanOut {
                members: members.clone(),
                join: join.clone(),
            },
            Some(Row::ByStatus { words, default }) => match (words.get(status), default) {
                (Some(targets), _) => self.one_of(status, targets),
                (None, Some(target)) => to(target.clone(), Rule::Default),
                (None, None) if status.is_failure() => to(Target::Core, Rule::FailureUnlisted),
                (None, None) => self.unlisted_word(status),
            },
            None if self.dispatcher => to(Target::Core, Rule::NoRow),
            None if status.is_failure() => to(Target::Core, Rule::FailureUnlisted),
            None => self.unlisted_word(status),
        }
    }

    fn one_of(&self, status: &OutcomeWord, targets: &IndexMap<Target, String>) -> Route {
        match targets.keys().next() {
            Some(only) if targets.len() == 1 => to(only.clone(), Rule::OnlyTarget),
            _ => Route::Refused(Unroutable::SeveralTargets {
                status: status.clone(),
                targets: self.as_written(targets),
            }),
        }
    }

    fn unlisted_word(&self, status: &OutcomeWord) -> Route {
        if status.is_complete() && !self.dispatcher {
            return to(Target::Core, Rule::CompleteUnlisted);
        }
        Route::Refused(Unroutable::UnknownWord {
            status: status.clone(),
            words: self.words(),
        })
    }

    fn unlisted_target(&self, status: &OutcomeWord, address: &Address) -> Route {
        let target = Target::Agent(address.clone());
        if !self.mesh.guardrails.routing_error.strict {
            return to(target, Rule::PassedUnlisted);
        }
        let none = IndexMap::new();
        let targets = match self.row {
            Some(Row::ByStatus { words, .. }) => words.get(status).unwrap_or(&none),
            Some(Row::Always(_) | Row::FanOut { .. }) | None => &none,
        };
        Route::Refused(Unroutable::NotListed {
            status: status.clone(),
            target: target.within(&self.mesh.name),
            targets: self.as_written(targets),
        })
    }

    /// Only a dispatcher table can route what has no word.
    fn without_status(&self, outcome: &Outcome) -> Route {
        if let Some(target) = outcome.route_to.as_ref().and_then(Addressee::target)
            && self.dispatcher
        {
            return to(target, Rule::Overridden);
        }
        match self.row {
            Some(Row::Always(target)) if self.dispatcher => to(target.clone(), Rule::Always),
            Some(Row::ByStatus {
                default: Some(target),
                ..
            }) if self.dispatcher => to(target.clone(), Rule::Default),
            Some(Row::Always(_) | Row::ByStatus { .. } | Row::FanOut { .. }) | None => {
                Route::Refused(Unroutable::NoStatus {
                    words: self.words(),
                })
            }
        }
    }

    fn listed(&self, status: &OutcomeWord) -> Vec<&Target> {
        match self.row {
            Some(Row::Always(target)) => vec![target],
            Some(Row::ByStatus { words, .. }) => words
                .get(status)
                .into_iter()
                .flat_map(IndexMap::keys)
                .collect(),
            Some(Row::FanOut { .. }) | None => Vec::new(),
        }
    }

    /// The words that the sender may give.
    fn words(&self) -> Vec<String> {
        let listed: Vec<String> = match self.row {
            Some(Row::ByStatus { words, .. }) => words.keys().map(OutcomeWord::to_string).collect(),
            Some(Row::Always(_) | Row::FanOut { .. }) | None => Vec::new(),
        };
        let always = if self.dispatcher {
            &["error", "blocked"][..]
        } else {
            &["complete", "error", "blocked"]
        };
        let unlisted = always
            .iter()
            .map(|word| (*word).to_owned())
            .filter(|word| !listed.contains(word));
        let unlisted: Vec<String> = unlisted.collect();
        [listed, unlisted].concat()
    }

    fn as_written(&self, targets: &IndexMap<Target, String>) -> IndexMap<String, String> {
        let targets = targets.iter();
        targets
            .map(|(target, reason)| (target.within(&self.mesh.name), reason.clone()))
            .collect()
    }
}

impl Addressee {
    fn target(&self) -> Option<Target> {
        match self {
            Addressee::Routing => None,
            Addressee::Core => Some(Target::Core),
            Addressee::Agent(address) => Some(address.clone().into()),
        }
    }
}

fn to(target: Target, rule: Rule) -> Route {
    Route::To { target, rule }
}
