//! How many workers an agent has.

use indexmap::IndexMap;

use super::document::{Document, at};
use super::raw_workflow::RawTier;
use super::shapes::OneOrMany;
use crate::model::{Code, Pool, Tier};

pub(super) fn pool(
    document: &mut Document,
    index: usize,
    count: Option<u32>,
    tiers: Option<IndexMap<String, Option<RawTier>>>,
) -> Pool {
    let raw = tiers.unwrap_or_default().into_iter();
    let tiers: IndexMap<String, Tier> = raw
        .filter_map(|(name, raw)| {
            let tier = match raw? {
                RawTier::Model(model) => Tier {
                    count: 1,
                    model: Some(model),
                    runtime: None,
                    run: Vec::new(),
                },
                RawTier::Rules(raw) => Tier {
                    count: raw.count.unwrap_or(1),
                    model: raw.model.map(|model| model.0),
                    runtime: raw.runtime.or(raw.cli).map(|runtime| runtime.0),
                    run: match raw.run {
                        Some(OneOrMany::One(line)) => shlex::split(&line.0).unwrap_or_default(),
                        Some(many @ OneOrMany::Many(_)) => many.into_vec(),
                        None => Vec::new(),
                    },
                },
            };
            Some((name, tier))
        })
        .collect();
    let (field, wanted) = if tiers.is_empty() {
        ("count", u64::from(count.unwrap_or(1)))
    } else {
        let counts = tiers.values().map(|tier| u64::from(tier.count));
        ("tiers", counts.sum())
    };
    if (1..=u64::from(Pool::MAX)).contains(&wanted) {
        let count = u32::try_from(wanted).unwrap_or(1);
        return Pool { count, tiers };
    }
    let message = format!(
        "{field}: expected 1 to {} workers, found {wanted}",
        Pool::MAX
    );
    let hint = "until then the agent has one";
    let at = at!["agents", index, field];
    document.about_value(Code::WrongShape, &at, message, hint);
    Pool::default()
}
