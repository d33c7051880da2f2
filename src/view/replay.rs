//! The past: the state at some record, and what a changed table would have made of it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Refused;
use crate::engine::{Arrived, Event, Judged, LoadedMesh, MessageNo, State};
use crate::journal::{Error, Reader, Store};
use crate::model::{Address, Kind, Mesh, MsgId, Name};

/// The state after a record. Its form is that of the engine, and may change with it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct StateView {
    snapshot: Value,
    #[serde(skip)]
    pub(crate) state: State,
}

/// What another table would have done with the messages of the past.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Differences {
    pub(crate) mesh: Name,
    /// How many messages were judged.
    pub(crate) judged: u64,
    /// How many follow from one that differs.
    pub(crate) unknown: u64,
    pub(crate) differences: Vec<Difference>,
    /// The threads in which something differed: what came after it is not known.
    #[serde(skip)]
    threads: BTreeSet<MessageNo>,
    /// A difference whose message has no number yet.
    #[serde(skip)]
    fresh: bool,
}

/// A message that the changed table treats in another way.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// The record of its arrival.
    pub(crate) seq: u64,
    pub(crate) id: MsgId,
    pub(crate) from: Address,
    pub(crate) was: Judgement,
    pub(crate) would_be: Judgement,
}

/// What a message comes to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Judgement {
    Deliveries(Vec<JudgedDelivery>),
    /// It is the outcome of a stage, and moves its machine so.
    Moves(String),
    Refused(String),
}

/// To whom, and as what.
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

/// Judge every message up to a record by a changed mesh. `progress` is told each record.
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
        if let Event::Arrived(arrived) = event {
            differences.judge(state, record.seq, arrived, mesh);
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
        let followers = state.threads_in_hand(from);
        if followers.iter().any(|thread| self.threads.contains(thread)) {
            self.unknown += 1;
            return;
        }
        let Some(before) = state.meshes().find(|l| l.mesh.name == self.mesh).cloned() else {
            return;
        };
        self.judged += 1;
        let parts: Vec<u32> = arrived.parts.iter().map(|part| part.number).collect();
        let was = state.judge_message(
            &arrived.envelope,
            &parts,
            &arrived.rearmatter,
            &arrived.known,
        );
        let loaded = LoadedMesh {
            mesh: mesh.clone(),
            ..before.clone()
        };
        let _ = state.exchange_mesh(loaded);
        let would_be = state.judge_message(
            &arrived.envelope,
            &parts,
            &arrived.rearmatter,
            &arrived.known,
        );
        let _ = state.exchange_mesh(before);
        if was != would_be {
            self.fresh = true;
            self.threads.extend(followers);
            self.differences.push(Difference {
                seq,
                id: arrived.envelope.id.clone(),
                from: from.clone(),
                was: was.into(),
                would_be: would_be.into(),
            });
        }
    }

    /// The thread of a message that differs is known once it is taken in.
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
