//! The past, judged again: what would have become of a message under another table.

use super::event::LoadedMesh;
use super::message_record::{MessageNo, MessageRecord};
use super::state::State;
use super::work::Forwarding;
use crate::model::{Address, Envelope, Kind, Rearmatter};

/// What a message comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It goes to these, and is this to each of them.
    To(Vec<(Address, Kind)>),
    /// It is the outcome of a stage, and its machine goes on so.
    Moves(String),
    /// It is refused, for this reason.
    Refused(String),
}

impl State {
    /// What a message would come to here and now, with what is known of the past. Nothing is
    /// changed.
    pub fn judge_message(
        &self,
        envelope: &Envelope,
        parts: &[u32],
        said: &Rearmatter,
        known: &[MessageRecord],
    ) -> Judged {
        match self.plan(envelope, known, parts, said, false) {
            Ok(plan) => {
                if let Some(Forwarding::Machine(stage)) = &plan.way {
                    return Judged::Moves(self.judge_change(stage, envelope, said));
                }
                let deliveries = plan.deliveries.into_iter();
                Judged::To(deliveries.map(|d| (d.to, d.kind)).collect())
            }
            Err(why) => Judged::Refused(why),
        }
    }

    /// The threads of what an agent has in hand, or had last.
    pub fn threads_in_hand(&self, agent: &Address) -> Vec<MessageNo> {
        let Some(worker) = self.workers.get(agent) else {
            return Vec::new();
        };
        let held = self
            .work_of(agent)
            .and_then(|number| self.messages.get(number));
        let last = worker.last.as_ref().map(|last| &last.thread);
        let threads = held.map(|held| &held.facts.thread).or(last);
        threads.cloned().unwrap_or_default()
    }

    /// Put a mesh in the place of the one of its name, for judging alone: nothing that
    /// a reload would do is done. Gives back the one that was there.
    pub fn exchange_mesh(&mut self, loaded: LoadedMesh) -> Option<LoadedMesh> {
        self.meshes.insert(loaded)
    }
}
