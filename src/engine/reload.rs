//! Applies changed and removed meshes while work is in progress. The newest version decides
//! everything after it was loaded.

use super::event::LoadedMesh;
use super::message_record::Step;
use super::state::State;
use super::work::Work;
use crate::model::{Address, Name};

impl State {
    pub(super) fn mesh_loaded(&mut self, loaded: LoadedMesh) {
        let name = loaded.mesh.name.clone();
        self.meshes.insert(loaded);
        self.after_reload(&name);
    }

    pub(super) fn mesh_removed(&mut self, name: &Name) {
        self.meshes.remove(name);
        self.after_reload(name);
    }

    fn after_reload(&mut self, mesh: &Name) {
        let workers: Vec<Address> = self.workers.of_mesh(mesh).cloned().collect();
        for who in workers {
            if self.agent(&who).is_some() {
                self.end_if_removed(&who);
                self.output.ready.insert(who);
                continue;
            }
            let inbox = std::mem::take(&mut self.worker_mut(&who).inbox);
            for item in inbox.into_values() {
                self.park_item(&who, item, "its recipient was removed from its mesh");
            }
            for number in std::mem::take(&mut self.worker_mut(&who).updates) {
                let why = "never read: its recipient was removed from its mesh";
                self.end(number, &who, Step::Finished, Some(why.into()));
            }
            // Current work continues until its turn ends. A worker that waits for answers stops
            // waiting.
            self.after_ask(&who);
            self.end_if_removed(&who);
        }
        self.machines_reloaded(mesh);
        for run in self.runs.of_mesh(mesh) {
            self.end_run_if_complete(run);
        }
    }

    /// Park the work of an agent that is no longer in its mesh: it gets no more turns, and
    /// nobody can answer it.
    pub(super) fn park_removed(&mut self, who: &Address, work: Work) {
        self.park(who, work, "its agent was removed from its mesh");
    }

    /// End the idle process of an agent that is no longer in its mesh, or of a slot that its
    /// agent no longer has.
    pub(super) fn end_if_removed(&mut self, who: &Address) {
        if self.agent(who).is_none() || !self.is_current(who) {
            self.end_idle(who, "its agent was removed");
        }
    }
}
