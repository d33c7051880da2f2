//! Every spelling of a block becomes one: `parallelism`, `ensemble`, `task_distribution`, the
//! ensemble of a state, and fan-out rows of the table.

use indexmap::IndexMap;

use super::document::at;
use super::raw_workflow::{RawDistribution, RawEnsemble, RawParallel, RawParallels};
use super::resolve::Scope;
use super::shapes::{OneOrMany, Scalar};
use crate::format::yaml::PathSegment;
use crate::model::{
    Address, Block, BlockTime, Code, Count, Gather, Give, Join, Members, MinSuccesses, Name,
    Opener, Row, StateName, Target, VariableName,
};

/// The maximum number of members of a block.
pub(super) const MAX_MEMBERS: u32 = 100;

/// The times that TX allows, in milliseconds.
const TIMES: std::ops::RangeInclusive<u64> = 100..=600_000;

const STRATEGIES: [&str; 5] = ["concat", "deduplicate", "voting", "consensus", "custom"];

impl Scope<'_, '_, '_> {
    /// The blocks that outcomes open, in the order in which they are tried.
    pub(super) fn blocks(
        &mut self,
        rows: &IndexMap<Name, Row>,
        parallelism: Option<RawParallels>,
        ensemble: Option<RawEnsemble>,
        distribution: Option<RawDistribution>,
    ) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        for (index, raw) in parallelism.into_iter().flat_map(|raw| raw.0).enumerate() {
            blocks.extend(raw.and_then(|raw| self.parallel(index, raw)));
        }
        blocks.extend(ensemble.and_then(|raw| self.ensemble(raw)));
        blocks.extend(distribution.and_then(|raw| self.distribution(raw)));
        blocks.extend(rows.iter().filter_map(|(agent, row)| match row {
            Row::FanOut { members, join } => Some(Block {
                source: format!("routing.{agent}"),
                opens_for: vec![Opener::AnyWord(agent.clone())],
                members: Members::Each(members.clone()),
                join: Join::To(join.clone()),
                min: MinSuccesses::Number(0),
                time: None,
                give: Give::Whole,
                gather: Gather::Concat,
            }),
            Row::Always(_) | Row::ByStatus { .. } => None,
        }));
        blocks
    }

    fn parallel(&mut self, index: usize, raw: RawParallel) -> Option<Block> {
        let at = at!["parallelism", index];
        let entry = self.named(raw.entry, &[&at[..], &at!["entry"]].concat())?;
        let members = self.members(raw.agents, &[&at[..], &at!["agents"]].concat(), None);
        let join_at = [&at[..], &at!["exit"]].concat();
        let join = self.named(raw.exit, &join_at)?;
        let min = match raw.on_partial.as_ref().map(|word| word.0.as_str()) {
            None | Some("continue") => MinSuccesses::Number(0),
            Some("abort") => MinSuccesses::All,
            Some(word) => {
                let message = format!("on_partial: `{word}` is unknown; it is `continue`");
                let hint = "write `continue` or `abort`";
                let at = [&at[..], &at!["on_partial"]].concat();
                self.document
                    .about_value(Code::BadBlock, &at, message, hint);
                MinSuccesses::Number(0)
            }
        };
        let time = self.time(raw.timeout, &[&at[..], &at!["timeout"]].concat());
        if join.is_none() {
            let message = "this block does not say who gets the results; core does";
            self.document
                .about_key(Code::NoJoin, &at, message, "add `exit: agent`");
        }
        let join = join.map_or(Target::Core, |name| self.own_target(&name));
        let complete = entry.map(Opener::Complete);
        Some(Block {
            source: format!("parallelism[{index}]"),
            opens_for: complete.into_iter().chain([Opener::RowOfAll]).collect(),
            members: Members::Each(self.some_members(members, &at)?),
            join: Join::To(join),
            min,
            time,
            give: Give::Whole,
            gather: Gather::Concat,
        })
    }

    /// Report a block that nothing opens, and leave it out.
    fn never_opens(
        &mut self,
        at: &[PathSegment],
        what: &str,
        field: &str,
        members: &[Name],
    ) -> Option<Block> {
        let mentioned = members.iter().map(ToString::to_string);
        self.document.mentioned.extend(mentioned);
        let message = format!("the {what} has no `{field}`, so it never opens");
        let hint = format!("add `{field}: agent`: the block opens with its `complete`");
        self.document.about_key(Code::NeverOpens, at, message, hint);
        None
    }

    fn ensemble(&mut self, raw: RawEnsemble) -> Option<Block> {
        let at = at!["ensemble"];
        if raw.agents.is_none() && raw.agent.is_none() && raw.coordinator.is_none() {
            return None;
        }
        let within = |field: &str| [&at[..], &at![field]].concat();
        let coordinator = self.named(raw.coordinator, &within("coordinator"))?;
        let reviewer = self.named(raw.reviewer, &within("reviewer"))?;
        let members = self.members(raw.agents, &within("agents"), coordinator.as_ref());
        let Some(coordinator) = coordinator else {
            return self.never_opens(&at, "ensemble", "coordinator", &members);
        };
        let gather = self.gather(
            raw.aggregation_strategy.or(raw.aggregation),
            raw.aggregation_prompt,
            &within("aggregation_strategy"),
        );
        let counted = raw
            .fault_tolerance
            .and_then(|rules| rules.min_success_count);
        let members = self.some_members(members, &at)?;
        self.check_min(counted, members.len(), &within("fault_tolerance"));
        let join = reviewer.as_ref().unwrap_or(&coordinator);
        Some(Block {
            source: "ensemble".into(),
            join: Join::To(self.own_target(join)),
            opens_for: vec![Opener::Complete(coordinator)],
            members: Members::Each(members),
            min: min_successes(counted, raw.allow_partial_failure),
            time: self.time(raw.timeout_ms, &within("timeout_ms")),
            give: Give::PartsIfMatching,
            gather,
        })
    }

    fn distribution(&mut self, raw: RawDistribution) -> Option<Block> {
        let at = at!["task_distribution"];
        let within = |field: &str| [&at[..], &at![field]].concat();
        if raw.spawner.is_none() && raw.subagents.is_none() {
            return None;
        }
        let spawner = self.named(raw.spawner, &within("spawner"))?;
        let reviewer = self.named(raw.reviewer, &within("reviewer"))?;
        let members = self.members(raw.subagents, &within("subagents"), spawner.as_ref());
        if let Some(strategy) = raw.distribution_strategy.filter(|word| word.0 != "equal") {
            let message = format!(
                "distribution_strategy: `{}` is treated as `equal`",
                strategy.0
            );
            let hint = "each part goes to the next agent in turn";
            self.document.about_value(
                Code::BadBlock,
                &within("distribution_strategy"),
                message,
                hint,
            );
        }
        let Some(spawner) = spawner else {
            return self.never_opens(&at, "distribution", "spawner", &members);
        };
        if reviewer.is_none() {
            let message = "this block does not say who gets the results; core does";
            self.document
                .about_key(Code::NoJoin, &at, message, "add `reviewer: agent`");
        }
        let join = reviewer.map_or(Target::Core, |name| self.own_target(&name));
        Some(Block {
            source: "task_distribution".into(),
            opens_for: vec![Opener::Complete(spawner)],
            members: Members::PerPart(self.some_members(members, &at)?),
            join: Join::To(join),
            min: min_successes(None, raw.allow_partial_failure),
            time: self.time(raw.timeout_ms, &within("timeout_ms")),
            give: Give::Parts(raw.subtask_count),
            gather: Gather::Concat,
        })
    }

    /// The block of a state. Without members, which is reported, the state is not entered.
    pub(super) fn state_block(
        &mut self,
        state: &StateName,
        raw: RawEnsemble,
        at: &[PathSegment],
    ) -> Block {
        let within = |field: &str| [at, &at![field]].concat();
        let agent = self.named(raw.agent, &within("agent")).flatten();
        let listed = self.members(raw.agents, &within("agents"), None);
        let counted = raw
            .fault_tolerance
            .and_then(|rules| rules.min_success_count);
        let members = match (agent, listed.is_empty()) {
            (Some(agent), alone) => {
                if !alone {
                    let message = "the ensemble has both `agents` and `agent`; `agent` is used";
                    self.document.about_key(
                        Code::BadBlock,
                        &within("agent"),
                        message,
                        "keep one of them",
                    );
                }
                let count = self.count(raw.count, at);
                if let Count::Number(number) = count {
                    self.check_min(counted, number as usize, &within("fault_tolerance"));
                }
                let agent = self.own_target(&agent);
                Members::Copies { agent, count }
            }
            (None, _) => {
                let members = self.some_members(listed, at).unwrap_or_default();
                if !members.is_empty() {
                    self.check_min(counted, members.len(), &within("fault_tolerance"));
                }
                Members::Each(members)
            }
        };
        let gather = self.gather(
            raw.aggregation.or(raw.aggregation_strategy),
            raw.aggregation_prompt,
            &within("aggregation"),
        );
        Block {
            source: format!("fsm.states.{state}.ensemble"),
            opens_for: vec![Opener::State(state.clone())],
            members,
            join: Join::Machine,
            min: min_successes(counted, raw.allow_partial_failure),
            time: self.time(raw.timeout_ms, &within("timeout_ms")),
            give: Give::PartsIfMatching,
            gather,
        }
    }

    fn count(&mut self, raw: Option<Scalar>, at: &[PathSegment]) -> Count {
        let (at, text) = match raw {
            Some(text) => ([at, &at!["count"]].concat(), text.0.trim().to_owned()),
            None => (at.to_vec(), String::new()),
        };
        let name = text.strip_prefix('$').unwrap_or(&text);
        let name = name
            .strip_prefix('{')
            .and_then(|t| t.strip_suffix('}'))
            .unwrap_or(name);
        if let Ok(number) = text.parse::<u32>()
            && number <= MAX_MEMBERS
        {
            return Count::Number(number);
        }
        if let Some(name) = VariableName::new(name) {
            return Count::Variable(name);
        }
        let message = match text.as_str() {
            "" => "`agent` needs `count`: how many members there are".into(),
            text => format!(
                "count: `{text}` is neither a number from 0 to {MAX_MEMBERS} nor a variable"
            ),
        };
        let hint = "the state is not entered until there is one";
        self.document
            .about_value(Code::BadBlock, &at, message, hint);
        Count::Bad(text)
    }

    fn gather(
        &mut self,
        strategy: Option<Scalar>,
        prompt: Option<Scalar>,
        at: &[PathSegment],
    ) -> Gather {
        let prompt = prompt.map(|prompt| prompt.0).unwrap_or_default();
        match strategy.as_ref().map(|word| word.0.as_str()) {
            None if !prompt.trim().is_empty() => Gather::Custom(prompt),
            None | Some("concat") => Gather::Concat,
            Some("deduplicate") => Gather::Deduplicate,
            Some("voting") => Gather::Voting,
            Some("consensus") => Gather::Consensus,
            Some("custom") => Gather::Custom(prompt),
            Some(word) => {
                let message = format!("there is no strategy `{word}`; it is `concat`");
                let hint = crate::model::did_you_mean(word, STRATEGIES, || {
                    format!("one of: {}", STRATEGIES.join(", "))
                });
                self.document.about_value(Code::BadBlock, at, message, hint);
                Gather::Concat
            }
        }
    }

    fn time(&mut self, raw: Option<Scalar>, at: &[PathSegment]) -> Option<BlockTime> {
        let text = raw?.0;
        let time = text.trim().parse::<u64>().ok();
        if !time.is_some_and(|time| TIMES.contains(&time)) {
            let message = format!(
                "expected a time from {} to {} milliseconds, found {text:?}",
                TIMES.start(),
                TIMES.end()
            );
            let hint = match time {
                Some(0) | None => "until then there is no limit",
                Some(_) => "it is obeyed; is it in milliseconds?",
            };
            self.document.about_value(Code::BadBlock, at, message, hint);
        }
        time.filter(|time| *time > 0).map(BlockTime)
    }

    fn check_min(&mut self, min: Option<u32>, members: usize, at: &[PathSegment]) {
        if let Some(min) = min.filter(|min| *min as usize > members) {
            let message = format!("min_success_count: {min} is more than the {members} members");
            let hint = "then all of them must succeed";
            let at = [at, &at!["min_success_count"]].concat();
            self.document
                .about_value(Code::BadBlock, &at, message, hint);
        }
    }

    /// An agent that a block names: `Some(None)` if it names none, and `None` if there is no such
    /// agent, which is reported.
    fn named(&mut self, raw: Option<Scalar>, at: &[PathSegment]) -> Option<Option<Name>> {
        let Some(Scalar(text)) = raw else {
            return Some(None);
        };
        let found = self.own_agent(&text);
        if found.is_none() {
            self.unknown_member(&text, at);
        }
        found.map(Some)
    }

    fn unknown_member(&mut self, text: &str, at: &[PathSegment]) {
        let message = format!("there is no agent `{text}` in this mesh");
        let hint = self.did_you_mean(text, &[]);
        self.document
            .about_value(Code::UnknownMember, at, message, hint);
    }

    /// The agents of a list, without the one that opens the block.
    fn members(
        &mut self,
        raw: Option<OneOrMany>,
        at: &[PathSegment],
        opener: Option<&Name>,
    ) -> Vec<Name> {
        let mut members = Vec::new();
        for (index, text) in raw
            .map(OneOrMany::into_vec)
            .into_iter()
            .flatten()
            .enumerate()
        {
            match self.own_agent(&text) {
                Some(name) if Some(&name) == opener => {
                    let message = format!("`{name}` opens this block, so it is not a member of it");
                    let hint = "leave it out of the list";
                    let at = [at, &at![index]].concat();
                    self.document
                        .about_value(Code::NeverOpens, &at, message, hint);
                }
                Some(name) => members.push(name),
                None => self.unknown_member(&text, at),
            }
        }
        members
    }

    fn some_members(&mut self, members: Vec<Name>, at: &[PathSegment]) -> Option<Vec<Target>> {
        if members.is_empty() {
            let message = "this block has no members";
            let hint = "list the agents that work side by side";
            self.document
                .about_key(Code::LeadsNowhere, at, message, hint);
            return None;
        }
        Some(members.iter().map(|name| self.own_target(name)).collect())
    }

    pub(super) fn own_target(&self, name: &Name) -> Target {
        Target::Agent(Address::new(self.mesh.clone(), name.clone()))
    }
}

/// How many members must succeed: the number that is set, one if failures are allowed, or all.
fn min_successes(counted: Option<u32>, allow_failure: Option<bool>) -> MinSuccesses {
    match (counted, allow_failure) {
        (Some(number), _) => MinSuccesses::Number(number),
        (None, Some(true)) => MinSuccesses::Number(1),
        (None, Some(false) | None) => MinSuccesses::All,
    }
}
