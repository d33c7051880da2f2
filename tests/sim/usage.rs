//! What the programs in panes say they have used: late, twice, and of processes that are gone.

use tx::engine::{AttemptId, Event, State, Used};
use tx::model::Usage;

use crate::world::{Thing, World};

/// The counters that a worker keeps.
const COUNTERS: usize = 32;

impl World {
    /// A counter of a pane's program is read, and told twice. No dice are thrown, so that
    /// what else a seed brings stays the same.
    pub(crate) fn tell_usage(&mut self, delay: i64, pane: &AttemptId) {
        let Some(fake) = self.panes.get(pane) else {
            return;
        };
        if self.calm || self.now % 4 != 0 {
            return;
        }
        let count = self.now.unsigned_abs();
        let session = count.is_multiple_of(8).then(|| fake.session.clone());
        let event = Event::PaneUsed(Box::new(Used {
            pane: pane.clone(),
            id: session.clone().unwrap_or_else(|| "process".into()),
            session,
            model: None,
            usage: Usage {
                input: Some(count),
                output: Some(count / 7),
                cost_usd_micros: count.is_multiple_of(3).then_some(count),
                ..Usage::default()
            },
        }));
        let again = delay + i64::try_from(count % 3_000).unwrap_or(0);
        self.after(again, Thing::Event(event.clone()));
        self.after(delay, Thing::Event(event));
    }
}

/// What was told, however often, counts once: all that an agent has used is what its counters
/// show, as long as none was forgotten.
pub(crate) fn check_usage(state: &State) {
    for (who, worker) in state.workers() {
        let shown = worker.counters.iter();
        let shown = shown.fold(Usage::default(), |sum, (_, shown)| sum.plus(shown));
        if worker.counters.len() < COUNTERS {
            assert_eq!(worker.spent.usage, shown, "{who} has used something else");
        }
    }
}
