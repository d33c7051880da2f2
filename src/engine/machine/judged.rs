//! Predicts what an outcome of a stage would do. Nothing is changed.

use super::change::{Around, Next, StateChange};
use super::{ChangePoint, MachineStep};
use crate::engine::message_record::{MessageNo, MessageRecord, Source};
use crate::engine::open_messages::OpenMessages;
use crate::engine::state::{OpenMessage, State};
use crate::model::{Envelope, OutcomeWord, Rearmatter, StateName};

impl State {
    /// Does a condition of the state accept the `blocked` of a stage?
    pub(super) fn passes_stage(
        &self,
        stage: &MachineStep,
        envelope: &Envelope,
        said: &Rearmatter,
    ) -> bool {
        let passes = |change: &mut StateChange, around: &Around| change.passes_on_status(around);
        self.with_outcome(stage, envelope, said, passes)
            .unwrap_or_default()
    }

    /// Where an outcome of a stage leads, in words.
    pub(in crate::engine) fn judge_change(
        &self,
        stage: &MachineStep,
        envelope: &Envelope,
        said: &Rearmatter,
    ) -> String {
        let judged = self.with_outcome(stage, envelope, said, |change, around| {
            let state = around.machine.state.as_ref().map_or("", StateName::as_str);
            let status = envelope.status.as_ref();
            if status.is_some_and(OutcomeWord::is_failure) {
                change.failing = true;
                if !change.passes_on_status(around) {
                    return format!("{state}: parked");
                }
            }
            let next = change.go_on(around);
            let target = change.target.as_ref().map(StateName::as_str);
            match (next, target) {
                (Next::Enter | Next::Jobs(_), Some(target)) => {
                    format!("{state} → {target}: {}", change.reason)
                }
                (Next::Jobs(_) | Next::Enter, None) => format!("{state}: a script decides"),
                (Next::Park { why, .. } | Next::SendBack(why), _) => format!("{state}: {why}"),
            }
        });
        judged.unwrap_or_else(|| "it moves nothing".into())
    }

    /// Evaluate the state change of an outcome that is not accepted yet.
    fn with_outcome<R>(
        &self,
        stage: &MachineStep,
        envelope: &Envelope,
        said: &Rearmatter,
        judge: impl FnOnce(&mut StateChange, &Around) -> R,
    ) -> Option<R> {
        let machine = self.machines.get(&stage.machine)?;
        if machine.step != stage.step {
            return None;
        }
        let around = self.around(&stage.machine, machine)?;
        let number = MessageNo(u64::MAX);
        let source = Source::Output { record: self.seq };
        let (id, from) = (envelope.id.clone(), envelope.from.clone());
        let mut messages = OpenMessages::default();
        messages.insert(OpenMessage {
            facts: MessageRecord {
                status: envelope.status.clone(),
                headline: envelope.headline.clone(),
                refused: None,
                ..MessageRecord::of_refused(number, id, from, source, self.at, String::new())
            },
            envelope: Some(Box::new(envelope.clone())),
            rearmatter: said.clone(),
            parts: Vec::new(),
            repair: false,
        });
        let around = Around {
            messages: &messages,
            ..around
        };
        let mut change = StateChange::leaving(machine, vec![number], ChangePoint::ExitSet(0));
        Some(judge(&mut change, &around))
    }
}
