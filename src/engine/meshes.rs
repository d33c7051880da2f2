//! The loaded meshes, and the directory of their agents.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};

use super::event::{LoadedMesh, Traits};
use super::state::State;
use crate::model::{Address, Agent, Directory, Envelope, Mesh, Name, Recipient};

/// The meshes, in the order in which they were first loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Meshes {
    all: IndexMap<Name, LoadedMesh>,
    #[serde(skip)]
    directory: Directory,
}

impl Meshes {
    /// Insert a mesh or replace the one with the same name, which is returned.
    pub(super) fn insert(&mut self, loaded: LoadedMesh) -> Option<LoadedMesh> {
        let before = self.all.insert(loaded.mesh.name.clone(), loaded);
        self.list();
        before
    }

    pub(super) fn remove(&mut self, name: &Name) {
        self.all.shift_remove(name);
        self.list();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LoadedMesh> {
        self.all.values()
    }

    pub(super) fn get(&self, name: &Name) -> Option<&Mesh> {
        self.all.get(name).map(|loaded| &loaded.mesh)
    }

    pub(super) fn agent(&self, address: &Address) -> Option<&Agent> {
        self.get(&address.mesh)?.agents.get(&address.agent)
    }

    /// How an agent runs. An agent that is no longer in its mesh gets no new process, so the
    /// value does not matter.
    pub(super) fn traits(&self, address: &Address) -> Traits {
        let loaded = self.all.get(&address.mesh);
        let place = loaded.and_then(|loaded| loaded.mesh.agents.get_index_of(&address.agent));
        let known = loaded.and_then(|loaded| loaded.traits.get(place?));
        known.copied().unwrap_or_default()
    }

    /// The addresses of all agents.
    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    fn list(&mut self) {
        self.directory = self.all.values().map(|loaded| &loaded.mesh).collect();
    }
}

impl<'de> Deserialize<'de> for Meshes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut meshes = Meshes {
            all: IndexMap::deserialize(deserializer)?,
            directory: Directory::default(),
        };
        meshes.list();
        Ok(meshes)
    }
}

impl State {
    /// Is every mesh that a message names loaded?
    pub fn knows_meshes_of(&self, message: &Envelope) -> bool {
        let is_core = |name: &Name| Address::core().mesh == *name;
        let known = |name: &Name| is_core(name) || self.mesh(name).is_some();
        let own = self.mesh(&message.from.mesh);
        let names_known = |to: &Recipient| match to {
            Recipient::Full(address) => known(&address.mesh),
            Recipient::Bare(name) => {
                known(name) || own.is_some_and(|mesh| mesh.agents.contains_key(name))
            }
        };
        known(&message.from.mesh) && message.to.iter().all(names_known)
    }

    /// Is this core or an agent of a loaded mesh?
    pub fn knows(&self, address: &Address) -> bool {
        self.meshes.directory().knows(address)
    }
}
