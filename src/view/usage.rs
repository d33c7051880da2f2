//! The usage of agents and runs, as far as their programs report it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::MessageNo;
use crate::format::report::many;
use crate::journal::{Error, History};
use crate::model::{Address, Spent, Usage, dollars, grouped};

/// Tokens and money. What was not reported is null, never 0.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UsageView {
    /// Tokens read and written.
    tokens: Option<u64>,
    /// Tokens read, with those that came from a cache or were put into one.
    input: Option<u64>,
    output: Option<u64>,
    cached_input: Option<u64>,
    cache_write: Option<u64>,
    cost_usd: Option<f64>,
    /// The number of turns without a report. Their usage is missing here.
    unreported_turns: u32,
    #[serde(skip)]
    spent: Spent,
}

/// The usage of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunUsage {
    /// The id of the message that began it.
    pub(crate) run: String,
    pub(crate) usage: Option<UsageView>,
    /// The usage of each agent that reported any.
    pub(crate) agents: Vec<AgentUsage>,
}

/// The usage of an agent in a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgentUsage {
    pub(crate) agent: Address,
    pub(crate) usage: UsageView,
}

impl UsageView {
    /// `None` if nothing was reported.
    pub(crate) fn of(spent: &Spent) -> Option<UsageView> {
        let usage = &spent.usage;
        (!spent.is_nothing()).then(|| UsageView {
            tokens: usage.tokens(),
            input: usage.input,
            output: usage.output,
            cached_input: usage.cached_input,
            cache_write: usage.cache_write,
            cost_usd: usage.cost_usd_micros.map(|micros| micros as f64 / 1e6),
            unreported_turns: spent.unreported,
            spent: *spent,
        })
    }

    /// `1,234 tokens, $0.12`
    pub(crate) fn in_short(&self) -> String {
        let usage = &self.spent.usage;
        let tokens = usage
            .tokens()
            .map(|tokens| format!("{} tokens", grouped(tokens)));
        let cost = usage.cost_usd_micros.map(dollars);
        let known: Vec<String> = tokens.into_iter().chain(cost).collect();
        known.join(", ")
    }

    /// The usage in words.
    pub(crate) fn in_words(usage: Option<&UsageView>) -> String {
        let Some(UsageView { spent, .. }) = usage else {
            return "unknown".into();
        };
        let known = usage_in_words(&spent.usage);
        match spent.unreported {
            0 => known,
            turns => {
                let turns = many(turns as usize, "turn");
                format!("{known}; {turns} reported nothing")
            }
        }
    }
}

impl RunUsage {
    /// The usage of a run.
    pub(crate) fn of(history: History, run: MessageNo) -> Result<RunUsage, Error> {
        let spent = history.spent_in_run(run)?;
        let all = spent.iter();
        let all = all.fold(Spent::default(), |sum, (_, spent)| sum.plus(spent));
        let agents = spent.into_iter().filter_map(|(agent, spent)| {
            let usage = UsageView::of(&spent)?;
            Some(AgentUsage { agent, usage })
        });
        Ok(RunUsage {
            run: history.ids([run])?.concat(),
            usage: UsageView::of(&all),
            agents: agents.collect(),
        })
    }

    /// The usage of several runs, each once.
    pub(crate) fn all(
        history: History,
        runs: impl IntoIterator<Item = MessageNo>,
    ) -> Result<Vec<RunUsage>, Error> {
        let runs: BTreeSet<MessageNo> = runs.into_iter().collect();
        let runs = runs.into_iter().map(|run| RunUsage::of(history, run));
        runs.collect()
    }

    /// The usage in words: the total, and by agent if there are several.
    pub(crate) fn in_words(&self) -> String {
        let all = UsageView::in_words(self.usage.as_ref());
        match &self.agents[..] {
            [] | [_] => all,
            agents => {
                let agents: Vec<String> = agents
                    .iter()
                    .map(|one| {
                        let used = UsageView::in_words(Some(&one.usage));
                        format!("{} {used}", one.agent)
                    })
                    .collect();
                format!("{all} ({})", agents.join("; "))
            }
        }
    }
}

/// `1,234 tokens (1,000 in, 800 of it cached; 234 out), $0.12`
pub(super) fn usage_in_words(usage: &Usage) -> String {
    let Some(tokens) = usage.tokens() else {
        let cost = usage.cost_usd_micros.map(dollars);
        return cost.unwrap_or_else(|| "unknown".into());
    };
    let known = |count: Option<u64>| count.map_or("unknown".into(), grouped);
    let cached = usage.cached_input.filter(|cached| *cached > 0);
    let cached = cached.map(|cached| format!(", {} of it cached", grouped(cached)));
    let cost = usage
        .cost_usd_micros
        .map(|cost| format!(", {}", dollars(cost)));
    format!(
        "{} tokens ({} in{}; {} out){}",
        grouped(tokens),
        known(usage.input),
        cached.unwrap_or_default(),
        known(usage.output),
        cost.unwrap_or_default()
    )
}
