//! What waits for the loop, in this order:
//!
//! 1. events that could not be written to the journal, with their times: nothing else is taken
//!    until they are;
//! 2. commands of people;
//! 3. what the loop tells itself: timers, meshes, and effects that failed at once; and what was
//!    reported. All of it waits while the meshes are read for a message that names an unknown one;
//! 4. requests of people, so that a full disk or a flood of files cannot block `tx stop`;
//! 5. reports from everywhere else. A sender waits while there is no room.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::Input;
use super::control::Asked;
use crate::engine::{Command, Event};

/// How many inputs from outside may wait for the loop.
const INPUTS: usize = 256;
const REQUESTS: usize = 16;
/// How many events share a commit, at most.
const TOGETHER: usize = 1024;

/// What waits for the loop.
pub(super) struct InputQueue {
    again: VecDeque<(i64, Event)>,
    commands: VecDeque<Event>,
    own: VecDeque<Event>,
    requests: mpsc::Receiver<Asked>,
    inputs: mpsc::Receiver<Input>,
    /// The first event names an unknown mesh, and waits until this read of the meshes.
    on_hold: Option<u64>,
}

/// The sending ends of the queue.
pub(super) struct QueueSenders {
    pub(super) requests: mpsc::Sender<Asked>,
    pub(super) inputs: mpsc::Sender<Input>,
}

impl InputQueue {
    pub(super) fn new() -> (InputQueue, QueueSenders) {
        let (to_requests, requests) = mpsc::channel(REQUESTS);
        let (to_inputs, inputs) = mpsc::channel(INPUTS);
        let queue = InputQueue {
            again: VecDeque::new(),
            commands: VecDeque::new(),
            own: VecDeque::new(),
            requests,
            inputs,
            on_hold: None,
        };
        let ends = QueueSenders {
            requests: to_requests,
            inputs: to_inputs,
        };
        (queue, ends)
    }

    pub(super) fn push(&mut self, event: Event) {
        self.own.push_back(event);
    }

    /// A command does not wait for the meshes: whoever gave it is told that it is durable.
    pub(super) fn push_command(&mut self, command: Command) {
        self.commands.push_back(Event::Command(command));
    }

    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        self.own.extend(events);
    }

    /// Everything that the loop has told itself.
    pub(super) fn take_own(&mut self) -> VecDeque<Event> {
        std::mem::take(&mut self.own)
    }

    /// Put an event back until the meshes were read for this request or a later one.
    pub(super) fn hold(&mut self, event: Event, request: u64) {
        self.own.push_front(event);
        self.on_hold = Some(request);
    }

    /// The meshes were read for this request. The events about them go first.
    pub(super) fn go_on(&mut self, request: u64, events: Vec<Event>) {
        self.on_hold = self.on_hold.filter(|wanted| *wanted > request);
        for event in events.into_iter().rev() {
            self.own.push_front(event);
        }
    }

    /// Put back events that could not be written to the journal.
    pub(super) fn put_back(&mut self, events: Vec<(i64, Event)>) {
        for event in events.into_iter().rev() {
            self.again.push_front(event);
        }
    }

    /// Whether events wait that could not be written.
    pub(super) fn is_stalled(&self) -> bool {
        !self.again.is_empty()
    }

    /// Whether events wait until the meshes are read.
    pub(super) fn is_on_hold(&self) -> bool {
        self.on_hold.is_some()
    }

    /// The next event, with its time if it was put back.
    pub(super) fn pop(&mut self) -> Option<(Option<i64>, Event)> {
        if let Some((at, event)) = self.again.pop_front() {
            return Some((Some(at), event));
        }
        let own = &mut self.own;
        let next = self.commands.pop_front().or_else(|| match self.on_hold {
            Some(_) => None,
            None => own.pop_front(),
        });
        next.map(|event| (None, event))
    }

    /// Whether nothing is left to take.
    pub(super) fn is_idle(&self) -> bool {
        let none_waits = self.again.is_empty() && self.commands.is_empty();
        none_waits && (self.is_on_hold() || self.own.is_empty())
    }

    /// The receivers of requests and of inputs.
    pub(super) fn receivers(&mut self) -> (&mut mpsc::Receiver<Asked>, &mut mpsc::Receiver<Input>) {
        (&mut self.requests, &mut self.inputs)
    }

    /// Another input that has already arrived, if it fits into this commit.
    pub(super) fn more(&mut self) -> Option<Input> {
        match self.own.len() < TOGETHER {
            true => self.inputs.try_recv().ok(),
            false => None,
        }
    }

    /// Take no more inputs. The next start finds what the senders leave behind.
    pub(super) fn close(&mut self) {
        self.requests.close();
        self.inputs.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Timer;

    #[test]
    fn a_command_does_not_wait_for_the_meshes() {
        let (mut queue, _ends) = InputQueue::new();
        let alive = Vec::new();
        queue.hold(Event::Recovered { alive }, 2);
        let due = 1;
        let worker = "dev/a".parse().unwrap();
        let timer = Timer::State(worker);
        queue.push(Event::TimerFired { timer, due });
        assert!(queue.is_idle() && queue.is_on_hold());
        let worker = "dev/a".parse().unwrap();
        queue.push_command(Command::Stop { worker });
        assert!(!queue.is_idle());
        assert!(matches!(queue.pop(), Some((None, Event::Command(_)))));
        assert_eq!(queue.pop(), None);
        queue.go_on(1, Vec::new());
        assert!(queue.is_on_hold(), "that was an older read");
        queue.go_on(2, Vec::new());
        assert!(matches!(queue.pop(), Some((None, Event::Recovered { .. }))));
        assert!(matches!(
            queue.pop(),
            Some((None, Event::TimerFired { .. }))
        ));
    }
}
