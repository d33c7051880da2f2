//! The past, judged again: what would have become of a message under another table.

use super::event::{AttemptId, LoadedMesh, ProcessExit, Traits};
use super::message_record::{MessageNo, MessageRecord};
use super::notes::first_own_id;
use super::state::State;
use super::work::Forwarding;
use super::worker_state::WorkerState;
use crate::model::{Address, Envelope, Kind, Line, Mode, MsgId, OutcomeWord, Rearmatter, utc};

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
        self.judge_planned(envelope, parts, said, known, false)
    }

    /// What the outcome would come to that a process prints, which ends with this exit here and
    /// now, and the id of that outcome; `None` if its exit is not an outcome.
    pub fn judge_exit(&self, pane: &AttemptId, exit: &ProcessExit) -> Option<(MsgId, Judged)> {
        let ProcessExit::Code {
            code,
            rearmatter,
            parts,
            ..
        } = exit
        else {
            return None;
        };
        let (who, worker) = (&pane.worker, self.workers.get(&pane.worker)?);
        let WorkerState::Working { work } = &worker.status else {
            return None;
        };
        let Traits { mode, prints, .. } = self.started_as(who);
        let is_owed = work.owes() && !work.is_done() && work.waiting.is_empty();
        let is_last = worker.attempt == pane.attempt && worker.asking.is_empty();
        if mode != Mode::Turn || !prints || !is_owed || !is_last {
            return None;
        }
        let (word, said, parts) = match code {
            0 => (
                "complete",
                (**rearmatter).clone(),
                parts.iter().map(|part| part.number).collect(),
            ),
            _ => ("error", Rearmatter::default(), Vec::new()),
        };
        let status: OutcomeWord = word.parse().expect("a word is a status");
        let id = first_own_id(self.seq + 1);
        let now = utc(self.at).fixed_offset();
        let envelope = Envelope {
            status: Some(status),
            ..Envelope::new(who.clone(), id.clone(), Line::default(), now)
        };
        Some((id, self.judge_planned(&envelope, &parts, &said, &[], true)))
    }

    fn judge_planned(
        &self,
        envelope: &Envelope,
        parts: &[u32],
        said: &Rearmatter,
        known: &[MessageRecord],
        is_stdout: bool,
    ) -> Judged {
        match self.plan(envelope, known, parts, said, is_stdout) {
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
