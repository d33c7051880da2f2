//! What waits for the loop, in one place and in this order:
//!
//! 1. events that could not be remembered, with their times: until they are, nothing else is
//!    taken in;
//! 2. what the loop tells itself: times that have come, meshes, what an effect came to at once;
//! 3. what people order, so that a full disk or a flood of files keeps nobody from `tx stop`;
//! 4. what the world tells. Who has more to tell than there is room for waits.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::Input;
use super::control::Asked;
use crate::engine::Event;

/// How much may wait for the loop from outside.
const INPUTS: usize = 256;
const ORDERS: usize = 16;
/// How many events share a commit, at most.
const TOGETHER: usize = 1024;

/// What waits for the loop.
pub(super) struct InputQueue {
    again: VecDeque<(i64, Event)>,
    own: VecDeque<Event>,
    orders: mpsc::Receiver<Asked>,
    inputs: mpsc::Receiver<Input>,
    /// The first event names a mesh that is not known: it waits until they are read.
    on_hold: Option<u64>,
}

/// Where others put what they have for the loop.
pub(super) struct Ends {
    pub(super) orders: mpsc::Sender<Asked>,
    pub(super) inputs: mpsc::Sender<Input>,
}

impl InputQueue {
    pub(super) fn new() -> (InputQueue, Ends) {
        let (to_orders, orders) = mpsc::channel(ORDERS);
        let (to_inputs, inputs) = mpsc::channel(INPUTS);
        let queue = InputQueue {
            again: VecDeque::new(),
            own: VecDeque::new(),
            orders,
            inputs,
            on_hold: None,
        };
        let ends = Ends {
            orders: to_orders,
            inputs: to_inputs,
        };
        (queue, ends)
    }

    pub(super) fn push(&mut self, event: Event) {
        self.own.push_back(event);
    }

    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = Event>) {
        self.own.extend(events);
    }

    /// All that the loop has told itself.
    pub(super) fn take_own(&mut self) -> VecDeque<Event> {
        std::mem::take(&mut self.own)
    }

    /// Put an event back until the meshes are read, by this wish or a later one.
    pub(super) fn hold(&mut self, event: Event, wish: u64) {
        self.own.push_front(event);
        self.on_hold = Some(wish);
    }

    /// The meshes are read, by this wish: what is new of them goes before all else.
    pub(super) fn go_on(&mut self, wish: u64, events: Vec<Event>) {
        self.on_hold = self.on_hold.filter(|wanted| *wanted > wish);
        for event in events.into_iter().rev() {
            self.own.push_front(event);
        }
    }

    /// Put events back that could not be remembered.
    pub(super) fn put_back(&mut self, events: Vec<(i64, Event)>) {
        for event in events.into_iter().rev() {
            self.again.push_front(event);
        }
    }

    /// Does something wait that could not be remembered?
    pub(super) fn is_stalled(&self) -> bool {
        !self.again.is_empty()
    }

    /// The next event, with its time if that was long ago.
    pub(super) fn pop(&mut self) -> Option<(Option<i64>, Event)> {
        if let Some((at, event)) = self.again.pop_front() {
            return Some((Some(at), event));
        }
        match self.on_hold {
            Some(_) => None,
            None => self.own.pop_front().map(|event| (None, event)),
        }
    }

    /// Is there nothing more to take in?
    pub(super) fn is_at_rest(&self) -> bool {
        self.again.is_empty() && (self.on_hold.is_some() || self.own.is_empty())
    }

    /// Where orders and what the world tells come from.
    pub(super) fn receivers(&mut self) -> (&mut mpsc::Receiver<Asked>, &mut mpsc::Receiver<Input>) {
        (&mut self.orders, &mut self.inputs)
    }

    /// What else the world has told by now, as far as it fits into one commit.
    pub(super) fn more(&mut self) -> Option<Input> {
        match self.own.len() < TOGETHER {
            true => self.inputs.try_recv().ok(),
            false => None,
        }
    }

    /// Whoever has something to tell from now on tells the next tx, by what it leaves behind.
    pub(super) fn close(&mut self) {
        self.orders.close();
        self.inputs.close();
    }
}
