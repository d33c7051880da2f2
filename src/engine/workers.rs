//! The collection of all workers, by address.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::worker::Worker;
use crate::model::{Address, Name};

/// The workers that have ever had something to do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Workers(BTreeMap<Address, Worker>);

impl Workers {
    pub(super) fn get(&self, address: &Address) -> Option<&Worker> {
        self.0.get(address)
    }

    pub(super) fn get_mut(&mut self, address: &Address) -> Option<&mut Worker> {
        self.0.get_mut(address)
    }

    /// The worker at this address. A new worker is idle since `now`.
    pub(super) fn get_or_idle(&mut self, address: &Address, now: i64) -> &mut Worker {
        // `entry` would copy the address even if it is known.
        if !self.0.contains_key(address) {
            let worker = Worker {
                since: now,
                ..Worker::default()
            };
            self.0.insert(address.clone(), worker);
        }
        self.0.get_mut(address).expect("it was put there just now")
    }

    pub(super) fn contains(&self, address: &Address) -> bool {
        self.0.contains_key(address)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Address, &Worker)> {
        self.0.iter()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Worker> {
        self.0.values_mut()
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.0.keys()
    }

    /// The workers of an agent in the order of their slots, or only this one if the address has
    /// a slot.
    pub(super) fn of_agent(&self, agent: &Address) -> impl Iterator<Item = (&Address, &Worker)> {
        let from = self.0.range(agent..);
        from.take_while(move |(who, _)| who.is_of(agent))
    }

    /// The addresses of the workers of a mesh.
    pub(super) fn of_mesh(&self, mesh: &Name) -> impl Iterator<Item = &Address> {
        self.0.keys().filter(move |address| address.mesh == *mesh)
    }
}
