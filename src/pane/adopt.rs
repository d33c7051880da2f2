//! What is known of a process that an earlier tx has started.

use super::saw::Saw;
use super::step::Setup;
use crate::engine::{Phase, Worker};

impl Saw {
    /// The process of an attempt was found alive. `mark`: the last turn that was pasted into its
    /// pane. `sent`: the last that it was started with, or that a hook or another program has
    /// delivered. 0: none.
    pub fn adopted(
        setup: &Setup,
        worker: Option<&Worker>,
        attempt: u32,
        [mark, sent]: [u32; 2],
    ) -> Saw {
        let known = worker.filter(|worker| worker.attempt == attempt);
        let is_being_given = |worker: &Worker| {
            let typed = setup.screen.is_typed_to();
            typed && worker.turn == mark && worker.status.giving().is_some()
        };
        let turn = if setup.one_turn {
            // The process was started with its turn.
            known.map_or(0, |worker| worker.turn)
        } else if known.is_some_and(is_being_given) {
            // The text was pasted and perhaps not submitted: the turn before counts.
            mark.saturating_sub(1).max(sent)
        } else {
            mark.max(sent)
        };
        let busy = worker.is_none_or(|worker| match worker.status.is() {
            Phase::Working => true,
            Phase::Starting => worker.turn == turn,
            Phase::Idle
            | Phase::Awaiting
            | Phase::AwaitingHuman
            | Phase::Limited
            | Phase::Checking
            | Phase::Backoff
            | Phase::Stopping => false,
        });
        Saw::Adopted {
            turn,
            told: known.map_or(0, |worker| worker.seen),
            busy: busy || setup.one_turn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Giving, WorkerState};

    #[test]
    fn a_text_that_was_typed_and_perhaps_not_sent_off_is_not_called_given() {
        let worker = |status: WorkerState| Worker {
            status,
            attempt: 4,
            turn: 5,
            seen: 2,
            ..Worker::default()
        };
        let turn = |prompt: &str, status: WorkerState, mark: u32| {
            let setup = Setup {
                screen: serde_yaml::from_str(prompt).unwrap(),
                apart: 500,
                has_hooks: true,
                ..Setup::default()
            };
            match Saw::adopted(&setup, Some(&worker(status)), 4, [mark, 0]) {
                Saw::Adopted { turn, busy, .. } => (turn, busy),
                saw => panic!("{saw:?}"),
            }
        };
        let (typed, lines) = ("{ prompt: '^> $' }", "{ title: { idle: ^idle$ } }");
        for giving in [Giving::Delivering, Giving::Unconfirmed] {
            let work = Box::default();
            let starting = WorkerState::Starting { work, giving };
            assert_eq!(turn(typed, starting.clone(), 5), (4, false), "{giving:?}");
            assert_eq!(turn(typed, starting.clone(), 4), (4, false), "{giving:?}");
            // A program that reads lines has what was pasted.
            assert_eq!(turn(lines, starting, 5), (5, true), "{giving:?}");
        }
        let work = Box::default();
        let working = WorkerState::Working { work };
        assert_eq!(turn(typed, working, 5), (5, true), "it is known to have it");
    }
}
