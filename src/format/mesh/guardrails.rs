//! The limits of a mesh, and whether they can be enforced.

use indexmap::IndexMap;

use super::document::{Document, at};
use super::raw::RawGuardrails;
use super::resolve::Scope;
use super::scalars::duration;
use super::shapes::{RawAmount, RawLimit};
use crate::format::yaml::PathSegment;
use crate::model::{
    Agent, Budget, Code, Guardrails, Name, Pool, RoutingError, RoutingMode, UsageFormat,
};
use crate::runtime::Runtimes;

impl Scope<'_, '_, '_> {
    pub(super) fn guardrails(&mut self, raw: RawGuardrails) -> Guardrails {
        let strict = raw.strict.unwrap_or(false);
        let at = at!["guardrails", "ask_timeout"];
        let ask_timeout = raw
            .ask_timeout
            .and_then(|text| duration(self.document, &at, &text.0));
        let mut agents = IndexMap::new();
        for (name, raw) in raw.agents.unwrap_or_default() {
            match self.own_agent(&name) {
                Some(agent) => {
                    let budget = budget(raw.max_tokens, raw.max_cost_usd);
                    agents.extend((!budget.is_open()).then_some((agent, budget)));
                }
                None => {
                    let message = format!("guardrails: there is no agent `{name}`");
                    let hint = self.did_you_mean(&name, &[]);
                    let at = at!["guardrails", "agents", &name];
                    self.document
                        .about_key(Code::UnknownField, &at, message, hint);
                }
            }
        }
        let routing_error = raw.routing_error.unwrap_or_default();
        let at = at!["guardrails", "routing_error", "routing_fallback"];
        Guardrails {
            strict,
            ask_timeout: ask_timeout.unwrap_or(Guardrails::default().ask_timeout),
            max_messages: raw.max_messages.and_then(limit),
            budget: budget(raw.max_tokens, raw.max_cost_usd),
            agents,
            routing_error: RoutingError {
                strict: routing_error.strict.unwrap_or(strict),
                max_retries: routing_error
                    .max_retries
                    .or(routing_error.routing_retry_max),
                fallback: routing_error
                    .routing_fallback
                    .and_then(|text| self.target(RoutingMode::Agent, &text.0, &at)),
            },
            max_instances: raw
                .max_instances
                .unwrap_or(Guardrails::default().max_instances)
                .clamp(1, Pool::MAX),
        }
    }
}

/// The limits of one agent that its own fields can set too.
#[derive(Default)]
pub(super) struct OwnLimits {
    pub(super) max_messages: Option<u32>,
    pub(super) max_turns: Option<u32>,
}

impl Scope<'_, '_, '_> {
    /// The limits that the guardrails set for single agents and for all agents.
    pub(super) fn agent_limits(&mut self, raw: &mut RawGuardrails) -> IndexMap<Name, OwnLimits> {
        let mut limits: IndexMap<Name, OwnLimits> = IndexMap::new();
        for (name, own) in raw.agents.iter_mut().flatten() {
            // An unknown agent is reported elsewhere.
            if let Some(agent) = self.own_agent(name) {
                let known = limits.entry(agent).or_default();
                known.max_messages = own.max_messages.take().and_then(limit);
                known.max_turns = own.max_turns.take().and_then(limit);
            }
        }
        let messages = self.by_agent("max_messages", raw.max_messages.as_mut());
        for (agent, most) in messages {
            let known = limits.entry(agent).or_default();
            known.max_messages = known.max_messages.or(Some(most));
        }
        let mut turns = self.by_agent("max_turns", raw.max_turns.as_mut());
        if let Some(most) = raw.max_turns.take().and_then(limit) {
            for agent in self.agents.keys() {
                turns.entry(agent.clone()).or_insert(most);
            }
        }
        for (agent, most) in turns {
            let known = limits.entry(agent).or_default();
            known.max_turns = known.max_turns.or(Some(most));
        }
        limits
    }

    /// The agents that are keys of a limit.
    fn by_agent(&mut self, field: &str, raw: Option<&mut RawLimit>) -> IndexMap<Name, u32> {
        let mut found = IndexMap::new();
        let Some(RawLimit::Rules(rules)) = raw else {
            return found;
        };
        for (name, most) in std::mem::take(&mut rules.agents) {
            match (self.own_agent(&name), most) {
                (Some(agent), Some(most)) => drop(found.insert(agent, most)),
                (Some(_), None) => {}
                (None, _) => {
                    let message = format!("guardrails.{field}: there is no agent `{name}`");
                    let hint = self.did_you_mean(&name, &["limit", "max", "strict", "warning"]);
                    let at = at!["guardrails", field, &name];
                    self.document
                        .about_key(Code::UnknownField, &at, message, hint);
                }
            }
        }
        found
    }
}

fn limit(raw: RawLimit) -> Option<u32> {
    match raw {
        RawLimit::Number(number) => Some(number),
        RawLimit::Rules(rules) => rules.limit.or(rules.max),
    }
}

fn budget(tokens: Option<RawLimit>, cost: Option<RawAmount>) -> Budget {
    let cost = cost.and_then(|cost| match cost {
        RawAmount::Number(number) => Some(number),
        RawAmount::Rules(rules) => rules.limit.or(rules.max),
    });
    Budget {
        max_tokens: tokens.and_then(limit).map(u64::from),
        max_cost_usd_micros: cost.map(|cost| (cost * 1e6).round() as u64),
    }
}

/// Report agents that have a budget but do not report usage.
pub(super) fn check_budgets(
    document: &mut Document,
    rails: &Guardrails,
    agents: &IndexMap<Name, Agent>,
    runtimes: &Runtimes,
) {
    let mut check = |budget: &Budget, of: Option<&Name>| {
        let limits = [
            ("max_tokens", budget.max_tokens, false),
            ("max_cost_usd", budget.max_cost_usd_micros, true),
        ];
        for (field, limit, money) in limits {
            let tells = |format: UsageFormat| !money || format.has_cost();
            let held = agents.values().filter(|agent| {
                let runtime = runtimes.of(agent);
                let blind = runtime.is_some_and(|runtime| !runtime.usage.is_some_and(tells));
                blind && limit.is_some() && of.is_none_or(|of| agent.name == *of)
            });
            let names: Vec<String> = held
                .map(|agent| format!("`{}` ({})", agent.name, agent.runtime))
                .collect();
            if names.is_empty() {
                continue;
            }
            let at: Vec<PathSegment> = match of {
                Some(name) => at!["guardrails", "agents", name.as_str(), field].into(),
                None => at!["guardrails", field].into(),
            };
            let message = format!(
                "{field}: the runtime does not report this of {}",
                names.join(", ")
            );
            let hint = "what they use is unknown, and never reaches the limit";
            document.about_key(Code::NoUsage, &at, message, hint);
        }
    };
    check(&rails.budget, None);
    for (name, budget) in &rails.agents {
        check(budget, Some(name));
    }
}

/// Report agents whose runtime cannot limit model calls, although the guardrails do.
pub(super) fn check_max_turns(
    document: &mut Document,
    agents: &IndexMap<Name, Agent>,
    runtimes: &Runtimes,
) {
    let untold = agents.iter().filter(|(_, agent)| {
        let runtime = runtimes.of(agent);
        let told = runtime.is_none_or(|runtime| runtime.has_place_for(agent, &["max_turns"]));
        agent.max_turns.is_some() && !told
    });
    let (own, all): (Vec<&Name>, Vec<&Name>) = untold
        .map(|(name, _)| name)
        .partition(|name| document.has_at(&own_turns(name)));
    let hint = "their runtime has no such setting in this mode: they run as if it were not there";
    for name in own {
        let message = format!("max_turns: `{name}` cannot be told");
        document.about_key(Code::NotObeyedYet, &own_turns(name), message, hint);
    }
    let at = at!["guardrails", "max_turns"];
    if document.has_at(&at) && !all.is_empty() {
        let names: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
        let message = format!("max_turns: {} cannot be told", names.join(", "));
        document.about_key(Code::NotObeyedYet, &at, message, hint);
    }
}

/// The path of one agent's turn limit in the guardrails.
fn own_turns(name: &Name) -> [PathSegment; 4] {
    at!["guardrails", "agents", name.as_str(), "max_turns"]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::mesh::parse_with;
    use crate::format::settings;

    /// What is found in a mesh with these limits, where one runtime tells tokens, one money too.
    fn found(rails: &str) -> (Guardrails, Vec<String>) {
        let runtimes = "runtimes:\n  mute: { run: [x] }\n  counts: { run: [x], usage: codex }\n  pays: { run: [x], usage: claude }\n";
        let runtimes = Runtimes::with(&settings::parse(runtimes).unwrap());
        let agents = ["mute", "counts", "pays", "claude"]
            .map(|name| format!("  - {{ name: {name}, prompt: p, runtime: {name} }}\n"));
        let text = format!(
            "mesh: m\nentry_point: mute\nrouting: {{ mute: [counts, pays, claude] }}\nagents:\n{}guardrails: {{ {rails} }}\n",
            agents.concat()
        );
        let loaded = parse_with(text.as_bytes(), &runtimes);
        let about = loaded.diagnostics.into_iter();
        let about =
            about.filter(|said| said.code != Code::NoJoin && said.code != Code::NeverCompletes);
        let about = about.map(|said| format!("{} {}", said.code.id(), said.message));
        (loaded.mesh.unwrap().guardrails, about.collect())
    }

    #[test]
    fn budgets_are_read_in_every_shape() {
        let (rails, _) = found(
            "max_tokens: 1000, max_cost_usd: { limit: 2.5 }, agents: { pays: { max_tokens: { max: 5 }, max_cost_usd: 1 }, counts: {} }",
        );
        let budget = |tokens: u64, micros: u64| Budget {
            max_tokens: Some(tokens),
            max_cost_usd_micros: Some(micros),
        };
        assert_eq!(rails.budget, budget(1_000, 2_500_000));
        let own = rails.agents.into_iter().collect::<Vec<_>>();
        assert_eq!(own, [("pays".parse().unwrap(), budget(5, 1_000_000))]);
    }

    #[test]
    fn a_budget_for_an_agent_that_reports_nothing_is_a_warning() {
        // This tx cannot run `claude` yet, and says so elsewhere.
        let mute = "the runtime does not report this of `mute` (mute)";
        for (rails, said) in [
            ("max_tokens: 5", vec![format!("TX0321 max_tokens: {mute}")]),
            (
                "max_cost_usd: 5",
                vec![format!("TX0321 max_cost_usd: {mute}, `counts` (counts)")],
            ),
            (
                "agents: { mute: { max_tokens: 5 } }",
                vec![format!("TX0321 max_tokens: {mute}")],
            ),
            (
                "agents: { counts: { max_tokens: 5 }, pays: { max_cost_usd: 5 } }",
                vec![],
            ),
            ("max_messages: 5", vec![]),
        ] {
            assert_eq!(found(rails).1, said, "{rails}");
        }
    }
}
