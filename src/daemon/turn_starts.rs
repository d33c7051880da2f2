//! When each turn of a worker began. A file that is older than a turn cannot be about it, even if
//! it is noticed later.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::model::Address;

/// How many turns of a worker are remembered.
const KEPT: usize = 16;
/// File times may be behind the clock by at most one tick of the kernel.
const TICK: Duration = Duration::from_millis(20);

/// The start times of turns, by worker.
#[derive(Clone, Default)]
pub(super) struct TurnStarts(Arc<Mutex<HashMap<Address, Turns>>>);

type Turns = VecDeque<(u32, SystemTime)>;

impl TurnStarts {
    /// Note that the delivery of a turn begins.
    pub(super) fn note(&self, worker: &Address, turn: u32, at: SystemTime) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = all.entry(worker.clone()).or_default();
        turns.push_back((turn, at));
        if turns.len() > KEPT {
            turns.pop_front();
        }
    }

    /// The last turn of a worker that had begun by that time, if any is known.
    pub(super) fn turn_at(&self, worker: &Address, time: SystemTime) -> Option<u32> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last_by(all.get(worker)?, time)
    }

    /// The same for every known worker.
    pub(super) fn turns_at(&self, time: SystemTime) -> BTreeMap<Address, u32> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let turns = all.iter();
        let turns =
            turns.filter_map(|(worker, turns)| Some((worker.clone(), last_by(turns, time)?)));
        turns.collect()
    }
}

fn last_by(turns: &Turns, time: SystemTime) -> Option<u32> {
    let begun = turns.iter().rev().find(|(_, at)| *at <= time + TICK);
    let oldest = turns.front().map(|(turn, _)| turn.saturating_sub(1));
    begun.map(|(turn, _)| *turn).or(oldest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_last_turn_that_had_begun_when_it_was_written() {
        let begun = TurnStarts::default();
        let worker: Address = "dev/worker".parse().unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(begun.turn_at(&worker, at(1)), None);
        begun.note(&worker, 5, at(10));
        begun.note(&worker, 6, at(20));
        let turns = [5, 10, 19, 20, 99].map(|time| begun.turn_at(&worker, at(time)));
        assert_eq!(turns, [Some(4), Some(5), Some(5), Some(6), Some(6)]);
        assert_eq!(begun.turn_at(&worker, at(20) - TICK / 2), Some(6));
        assert_eq!(begun.turns_at(at(19)), BTreeMap::from([(worker, 5)]));
    }

    #[test]
    fn old_turns_are_forgotten() {
        let begun = TurnStarts::default();
        let worker: Address = "dev/worker".parse().unwrap();
        for turn in 1..100 {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(turn.into());
            begun.note(&worker, turn, at);
        }
        assert_eq!(begun.0.lock().unwrap()[&worker].len(), KEPT);
        let long_ago = begun.turn_at(&worker, SystemTime::UNIX_EPOCH);
        assert_eq!(long_ago, Some(83));
    }
}
