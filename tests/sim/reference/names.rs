//! Section 3 of the protocol: what an address means.

use tx::model::{Address, Name, Recipient};

use super::Model;

/// What was written in `to` or `route_to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    To(Address),
    /// "Route this for me."
    Table,
    /// Nobody: a rejection.
    Nobody,
    /// The protocol does not say.
    Any,
}

impl Model {
    pub(crate) fn knows(&self, who: &Address) -> bool {
        let mesh = self.meshes.get(&who.mesh);
        who.is_core() || mesh.is_some_and(|mesh| mesh.agents.contains_key(&who.agent))
    }

    pub(crate) fn means(&self, written: &Recipient, sender: &Address, outcome: bool) -> Means {
        let found = match written {
            Recipient::Full(address) if address.is_system() => Means::Nobody,
            Recipient::Full(address) if self.knows(address) => Means::To(address.clone()),
            Recipient::Full(address) if address.is_dispatch() => {
                match address.mesh == sender.mesh {
                    true => Means::Table,
                    false => self.entry(&address.mesh),
                }
            }
            Recipient::Full(_) => Means::Nobody,
            Recipient::Bare(name) => {
                let local = Address::new(sender.mesh.clone(), name.clone());
                if self.knows(&local) {
                    Means::To(local)
                } else if *name == sender.mesh && outcome {
                    Means::Table
                } else {
                    self.entry(name)
                }
            }
        };
        // What becomes of messages to a mesh that is disabled is not said.
        match &found {
            Means::To(to) if self.meshes.get(&to.mesh).is_some_and(|mesh| mesh.disabled) => {
                Means::Any
            }
            _ => found,
        }
    }

    fn entry(&self, mesh: &Name) -> Means {
        let Some(found) = self.meshes.get(mesh) else {
            return Means::Nobody;
        };
        let worker: Name = "worker".parse().unwrap();
        let only = found
            .agents
            .keys()
            .next()
            .filter(|_| found.agents.len() == 1);
        let has_worker = found.agents.contains_key(&worker).then_some(&worker);
        match found.entry_point.as_ref().or(has_worker).or(only) {
            Some(agent) => Means::To(Address::new(mesh.clone(), agent.clone())),
            None => Means::Nobody,
        }
    }
}
