//! The human: gives tasks, answers, and does not always do it well.

use tx::engine::{Command, Event, Is};
use tx::model::{Address, Kind, MsgId, Priority, Recipient};

use crate::files::envelope;
use crate::panes::Phase;
use crate::world::{Thing, World};

impl World {
    /// A task, and another one later.
    pub(crate) fn give_task(&mut self) {
        if self.tasks_left == 0 {
            return;
        }
        self.tasks_left -= 1;
        if self.tasks_left > 0 {
            let delay = match self.rng.percent(60) {
                true => self.rng.within(0, 1_000),
                false => self.rng.within(0, 300_000),
            };
            self.after(delay, Thing::Task);
        }
        let Some(somebody) = self.somebody(None) else {
            return;
        };
        let core = Address::core();
        let id = self.new_id();
        let mut task = envelope(&core, id.as_str(), self.now);
        task.to = vec![match self.rng.below(10) {
            0..=2 => somebody.mesh.as_str().parse().unwrap(),
            3 => Recipient::Full(Address::dispatch(&somebody.mesh)),
            4 => Recipient::Full(core.clone()),
            _ => Recipient::Full(somebody),
        }];
        if self.rng.percent(20)
            && let Some(other) = self.somebody(None)
        {
            task.to.push(Recipient::Full(other));
        }
        task.priority = match self.rng.below(6) {
            0 => Priority::High,
            1 => Priority::Low,
            _ => Priority::Normal,
        };
        if self.rng.percent(10) {
            task.kind = self.rng.pick(&Kind::ALL).copied();
        }
        if self.rng.percent(5) {
            task.status = Some("complete".parse().unwrap());
        }
        if self.rng.percent(10) {
            task.session_id = Some("session-9".into());
        }
        self.send(task);
    }

    /// Something has come for the human, who will look at it.
    pub(crate) fn call_human(&mut self) {
        if !self.looks {
            self.looks = true;
            let delay = self.rng.within(1_000, 120_000);
            self.after(delay, Thing::Look);
        }
    }

    /// Answer what there is to answer, or some of it.
    pub(crate) fn look(&mut self) {
        self.looks = false;
        let asks: Vec<(MsgId, Address)> = self
            .state()
            .asks()
            .filter(|(_, asked, _)| asked.is_core())
            .filter_map(|(number, _, ask)| {
                let held = self.state().message(number)?;
                Some((held.facts.id.clone(), ask.asker.clone()))
            })
            .collect();
        for (id, asker) in &asks {
            if !self.calm && self.rng.percent(30) {
                continue;
            }
            let own = self.new_id();
            let mut answer = envelope(&Address::core(), own.as_str(), self.now);
            answer.to = vec![Recipient::Full(asker.clone())];
            if self.calm || self.rng.percent(50) {
                answer.in_reply_to = vec![id.clone()];
            }
            self.send(answer);
        }
        if !asks.is_empty() {
            self.call_human();
        }
        if self.rng.percent(30) {
            self.read();
        }
    }

    /// Read what has come, or some of it.
    fn read(&mut self) {
        self.commit_all();
        let mut facts = self.book.unread();
        if self.rng.percent(50) {
            facts.truncate(facts.len().div_ceil(2));
        }
        self.seen.read += facts.len() as u64;
        let read: Vec<_> = facts.iter().map(|f| (f.number, f.record())).collect();
        self.take(Event::Command(Command::Read { facts }));
        self.commit_all();
        self.read.extend(read);
    }

    /// Restart who seems busy and is not: tx believed that it took its work, since
    /// nobody knew, and core was told of the silence. Is there such a one?
    pub(crate) fn restart_silent(&mut self) -> bool {
        let silent = self.state().workers().find(|(who, worker)| {
            let mut panes = self.panes.iter();
            let idle = panes.any(|(pane, fake)| {
                let current = pane.worker == **who && pane.attempt == worker.attempt;
                current && fake.alive && fake.phase == Phase::Idle && fake.turn < worker.turn
            });
            idle && worker.status.is() == Is::Working && worker.silence.is_none()
        });
        let Some(worker) = silent.map(|(who, _)| who.clone()) else {
            return false;
        };
        self.take(Event::Command(Command::Restart { worker }));
        self.commit();
        true
    }
}
