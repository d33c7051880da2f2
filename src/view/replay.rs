//! Replay: the state at a past record, and what a changed routing table would have done.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Refused;
use crate::engine::{Arrived, Event, Judged, LoadedMesh, MessageNo, State};
use crate::journal::{Error, Reader, Store};
use crate::model::{Address, Kind, Mesh, MsgId, Name};

/// The state after a record. Its form is the engine's, and may change with it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct StateView {
    snapshot: Value,
    #[serde(skip)]
    pub(crate) state: State,
}

/// What another routing table would have done with past messages.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Differences {
    pub(crate) mesh: Name,
    /// The number of compared messages.
    pub(crate) judged: u64,
    /// The number of messages that follow from a differing one.
    pub(crate) unknown: u64,
    pub(crate) differences: Vec<Difference>,
    /// The threads with a difference. What follows there is unknown.
    #[serde(skip)]
    threads: BTreeSet<MessageNo>,
    /// The last difference belongs to a message without a number yet.
    #[serde(skip)]
    fresh: bool,
}

/// A message that the changed table routes differently.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// The record of its arrival.
    pub(crate) seq: u64,
    pub(crate) id: MsgId,
    pub(crate) from: Address,
    pub(crate) was: Judgement,
    pub(crate) would_be: Judgement,
}

/// What happens to a message.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Judgement {
    Deliveries(Vec<JudgedDelivery>),
    /// It is the outcome of a stage and causes this transition of its machine.
    Moves(String),
    Refused(String),
}

/// A recipient and the kind of the message for it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JudgedDelivery {
    pub(crate) to: Address,
    pub(crate) kind: Kind,
}

/// The state after a record.
pub(crate) fn state_at(reader: &Reader, seq: u64) -> Result<StateView, Refused> {
    let state = Store::fold_to(reader, seq)?;
    let snapshot = serde_json::from_slice(&state.snapshot())
        .map_err(|error| Refused::new(format!("the state cannot be read: {error}")))?;
    Ok(StateView { snapshot, state })
}

/// Route every message up to a record by a changed mesh. `progress` is called for each record.
pub(crate) fn compare(
    reader: &Reader,
    to: u64,
    mesh: &Mesh,
    mut progress: impl FnMut(u64),
) -> Result<Differences, Error> {
    let mut differences = Differences {
        mesh: mesh.name.clone(),
        judged: 0,
        unknown: 0,
        differences: Vec::new(),
        threads: BTreeSet::new(),
        fresh: false,
    };
    Store::replay(reader, to, |state, record, event| {
        progress(record.seq);
        differences.follow(state);
        match event {
            Event::Arrived(arrived) => differences.judge(state, record.seq, arrived, mesh),
            Event::PaneExited { pane, exit } => {
                let outcome = |state: &State| state.judge_exit(pane, exit);
                differences.judge_printed(state, record.seq, &pane.worker, mesh, outcome);
            }
            _ => {}
        }
    })?;
    Ok(differences)
}

impl Differences {
    fn judge(&mut self, state: &mut State, seq: u64, arrived: &Arrived, mesh: &Mesh) {
        let from = &arrived.envelope.from;
        let to_mesh = arrived.envelope.to.iter().any(|to| {
            let to = to.to_string();
            to == self.mesh.as_str() || to.starts_with(&format!("{}/", self.mesh))
        });
        if from.mesh != self.mesh && !to_mesh {
            return;
        }
        let parts: Vec<u32> = arrived.parts.iter().map(|part| part.number).collect();
        let judge = |state: &State| {
            state.judge_message(
                &arrived.envelope,
                &parts,
                &arrived.rearmatter,
                &arrived.known,
            )
        };
        let was = judge(state);
        self.judge_twice(state, seq, (from, &arrived.envelope.id), mesh, was, judge);
    }

    /// The same for the outcome that a program printed, if the end of its process is one.
    fn judge_printed(
        &mut self,
        state: &mut State,
        seq: u64,
        from: &Address,
        mesh: &Mesh,
        outcome: impl Fn(&State) -> Option<(MsgId, Judged)>,
    ) {
        if from.mesh != self.mesh {
            return;
        }
        if let Some((id, was)) = outcome(state) {
            let nothing = || Judged::To(Vec::new());
            let judge = |state: &State| outcome(state).map_or_else(nothing, |(_, judged)| judged);
            self.judge_twice(state, seq, (from, &id), mesh, was, judge);
        }
    }

    fn judge_twice(
        &mut self,
        state: &mut State,
        seq: u64,
        (from, id): (&Address, &MsgId),
        mesh: &Mesh,
        was: Judged,
        judge: impl Fn(&State) -> Judged,
    ) {
        let followers = state.threads_in_hand(from);
        if followers.iter().any(|thread| self.threads.contains(thread)) {
            self.unknown += 1;
            return;
        }
        let Some(before) = state.meshes().find(|l| l.mesh.name == self.mesh).cloned() else {
            return;
        };
        self.judged += 1;
        let loaded = LoadedMesh {
            mesh: mesh.clone(),
            ..before.clone()
        };
        let _ = state.exchange_mesh(loaded);
        let would_be = judge(state);
        let _ = state.exchange_mesh(before);
        if was != would_be {
            self.fresh = true;
            self.threads.extend(followers);
            self.differences.push(Difference {
                seq,
                id: id.clone(),
                from: from.clone(),
                was: was.into(),
                would_be: would_be.into(),
            });
        }
    }

    /// Note the thread of a differing message, which is known only after the message is applied.
    fn follow(&mut self, state: &State) {
        if std::mem::take(&mut self.fresh) {
            self.threads.extend(state.touched().threads.iter().copied());
        }
    }
}

impl From<Judged> for Judgement {
    fn from(judged: Judged) -> Judgement {
        match judged {
            Judged::To(to) => {
                let deliveries = to.into_iter();
                let view = |(to, kind)| JudgedDelivery { to, kind };
                Judgement::Deliveries(deliveries.map(view).collect())
            }
            Judged::Moves(words) => Judgement::Moves(words),
            Judged::Refused(why) => Judgement::Refused(why),
        }
    }
}
