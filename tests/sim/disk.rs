//! The disk is full for a while: what could not be remembered is taken in again, in its
//! order and before anything else, as the daemon does.

use tx::engine::Event;

use crate::settings::Fault;
use crate::world::{Thing, World};

impl World {
    pub(crate) fn fill_disk(&mut self) {
        if !self.full {
            self.full = true;
            self.book.fill();
            let delay = self.rng.within(500, 30_000);
            self.after(delay, Thing::Room);
        }
    }

    /// Does something wait that could not be remembered? Then nothing else is taken in.
    pub(crate) fn is_stalled(&self) -> bool {
        !self.untaken.is_empty()
    }

    /// A commit has failed.
    pub(crate) fn keep_untaken(&mut self, events: Vec<(i64, Event)>) {
        assert!(self.full, "a commit failed, and there was room");
        self.seen.fault(Fault::DiskFull);
        self.note("            !! the disk is full".into());
        self.watch.forget();
        for event in events.into_iter().rev() {
            self.untaken.push_front(event);
        }
    }

    /// tx tries again, now and then in vain.
    pub(crate) fn look_for_room(&mut self) {
        if !self.full {
            return;
        }
        match self.rng.percent(30) {
            true => self.after(1_000, Thing::Room),
            false => self.make_room(),
        }
        self.take_untaken();
    }

    pub(crate) fn make_room(&mut self) {
        if std::mem::take(&mut self.full) {
            self.book.make_room();
        }
    }

    /// What could not be remembered is taken in again, then what has come since.
    pub(crate) fn take_untaken(&mut self) {
        for (at, event) in std::mem::take(&mut self.untaken) {
            self.take_in(at, event);
        }
        for event in std::mem::take(&mut self.unheard) {
            self.take(event);
        }
    }
}
