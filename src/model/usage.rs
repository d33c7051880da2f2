//! What agents use: tokens and money, as far as their programs report them.

use serde::{Deserialize, Serialize};

/// Tokens and money. What was not reported is `None`, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read, with those from a cache and those put into one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens written, with those of reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// The part of `input` that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<u64>,
    /// The part of `input` that was put into a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// In millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd_micros: Option<u64>,
}

impl Usage {
    /// All tokens, read and written; `None` if neither was reported.
    pub fn tokens(&self) -> Option<u64> {
        sum(self.input, self.output)
    }

    /// Whether nothing is known to be used.
    pub fn is_nothing(&self) -> bool {
        let counts = [self.input, self.output, self.cost_usd_micros];
        counts.into_iter().all(|count| count.unwrap_or(0) == 0)
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Usage) -> Usage {
        self.with(other, sum)
    }

    /// The increase of a counter since `before`. A smaller value belongs to an older report and
    /// counts as no increase.
    #[must_use]
    pub fn since(&self, before: &Usage) -> Usage {
        self.with(before, |now, before| {
            Some(now?.saturating_sub(before.unwrap_or(0)))
        })
    }

    /// The larger value of each counter.
    #[must_use]
    pub fn max(&self, other: &Usage) -> Usage {
        self.with(other, Option::max)
    }

    fn with(&self, other: &Usage, each: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Usage {
        Usage {
            input: each(self.input, other.input),
            output: each(self.output, other.output),
            cached_input: each(self.cached_input, other.cached_input),
            cache_write: each(self.cache_write, other.cache_write),
            cost_usd_micros: each(self.cost_usd_micros, other.cost_usd_micros),
        }
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// The total usage, and how many turns did not report any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// What was reported.
    pub usage: Usage,
    /// The number of turns without a report.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreported: u32,
}

impl Spent {
    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Spent) -> Spent {
        Spent {
            usage: self.usage.plus(&other.usage),
            unreported: self.unreported.saturating_add(other.unreported),
        }
    }

    /// Whether there is nothing to show.
    pub fn is_nothing(&self) -> bool {
        *self == Spent::default()
    }
}

/// How much may be used; `None` is no limit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct Budget {
    /// Tokens, read and written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// In millionths of a US dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd_micros: Option<u64>,
}

impl Budget {
    /// Whether there is no limit.
    pub fn is_open(&self) -> bool {
        *self == Budget::default()
    }

    /// The limit that is reached, with the figures. Unknown usage does not count.
    pub fn reached(&self, used: &Usage) -> Option<String> {
        let tokens = used.tokens().zip(self.max_tokens);
        let cost = used.cost_usd_micros.zip(self.max_cost_usd_micros);
        let tokens = tokens.filter(|(used, most)| used >= most);
        let cost = cost.filter(|(used, most)| used >= most);
        let tokens = tokens.map(|(used, most)| {
            let (used, most) = (grouped(used), grouped(most));
            format!("{used} tokens of {most} (max_tokens)")
        });
        tokens.or_else(|| {
            let (used, most) = cost?;
            let (used, most) = (dollars(used), dollars(most));
            Some(format!("{used} of {most} (max_cost_usd)"))
        })
    }
}

/// A number as people read it: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Millionths of a dollar as people read them: `$1.25`, `$0.0004`.
pub fn dollars(micros: u64) -> String {
    let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
    let part = format!("{part:06}");
    let part = part.trim_end_matches('0');
    format!("${}.{part:0<2}", grouped(whole))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> Usage {
        Usage {
            input: Some(input),
            output: Some(output),
            ..Usage::default()
        }
    }

    #[test]
    fn what_is_unknown_stays_unknown() {
        let nothing = Usage::default();
        assert_eq!(nothing.plus(&nothing), nothing);
        assert_eq!(nothing.tokens(), None);
        let some = tokens(10, 2);
        assert_eq!(some.plus(&nothing).cost_usd_micros, None);
        assert_eq!(some.since(&nothing), some);
        assert_eq!(nothing.since(&some), nothing);
        assert_eq!(Budget::default().reached(&some), None);
        let poor = Budget {
            max_tokens: None,
            max_cost_usd_micros: Some(1),
        };
        assert_eq!(poor.reached(&some), None, "its cost is not known");
    }

    #[test]
    fn an_older_report_of_a_counter_takes_nothing_back() {
        let (old, new) = (tokens(10, 2), tokens(30, 3));
        assert_eq!(new.since(&old), tokens(20, 1));
        assert_eq!(old.since(&new), tokens(0, 0));
        assert_eq!(old.max(&new), new);
        assert!(old.since(&new).is_nothing());
    }

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(dollars(0), "$0.00");
        assert_eq!(dollars(1_250_000), "$1.25");
        assert_eq!(dollars(400), "$0.0004");
        assert_eq!(dollars(2_000_000_500_000), "$2,000,000.50");
    }

    #[test]
    fn a_budget_is_reached_with_its_last_token() {
        let budget = Budget {
            max_tokens: Some(1_000),
            max_cost_usd_micros: Some(500_000),
        };
        assert_eq!(budget.reached(&tokens(990, 9)), None);
        let why = budget.reached(&tokens(990, 10));
        assert_eq!(why.as_deref(), Some("1,000 tokens of 1,000 (max_tokens)"));
        let dear = Usage {
            cost_usd_micros: Some(520_000),
            ..tokens(1, 1)
        };
        let why = budget.reached(&dear);
        assert_eq!(why.as_deref(), Some("$0.52 of $0.50 (max_cost_usd)"));
    }
}
