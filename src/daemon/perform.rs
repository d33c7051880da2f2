//! What the engine decides is done here. What takes time is begun, and tells by itself
//! what came of it.

use std::io;

use super::handover::{Handover, Wanted};
use super::letters;
use super::run::Daemon;
use crate::engine::{Effect, Event, Pane, Sent, SystemMessage, Turn, Verdict};

impl Daemon {
    /// Do what the engine has decided, now that it is durable.
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Spawn {
                pane,
                session,
                model,
                turn,
            } => {
                tracing::info!(worker = %pane.worker, attempt = pane.attempt, "start");
                let wanted = Wanted {
                    session,
                    model,
                    turn,
                };
                match self.handover().start(pane, wanted) {
                    Ok(start) => self.processes.start(start),
                    Err(event) => self.queue.push(event),
                }
            }
            Effect::Deliver { pane, turn } => self.deliver(&pane, &turn),
            Effect::Interrupt { pane, note } => {
                tracing::info!(worker = %pane.worker, attempt = pane.attempt, note, "interrupt");
                let note = self.handover().note(&pane, &note).inspect_err(|error| {
                    tracing::warn!(worker = %pane.worker, error, "it is not told why");
                });
                self.processes.interrupt(&pane, note.ok());
            }
            Effect::Look { pane } => {
                tracing::debug!(worker = %pane.worker, attempt = pane.attempt, "look");
                self.queue.extend(self.processes.look(&pane).err());
            }
            Effect::Kill { pane } => {
                tracing::info!(worker = %pane.worker, attempt = pane.attempt, "end");
                self.queue.extend(self.processes.kill(&pane).err());
            }
            Effect::Write(letter) => self.write(*letter),
            Effect::NotifyHuman {
                number,
                kind,
                inject,
            } => {
                tracing::info!(message = number.0, %kind, "for the human");
                self.notify(number, kind, inject);
            }
            Effect::NotifyHeld { worker } => {
                tracing::info!(%worker, "it is held up");
                self.notify_held(&worker);
            }
            Effect::Decide {
                pane,
                request,
                decision,
            } => {
                tracing::info!(worker = %pane.worker, request, ?decision, "decide");
                self.processes.decide(&pane, request, decision);
            }
            Effect::EndTurn { pane, turn } => self.processes.turn_is_over(&pane, turn),
            Effect::RunHook { worker, check, .. } => self.queue.push(Event::HookFinished {
                worker,
                check,
                verdict: Verdict::Error {
                    why: "this tx has no quality hooks".into(),
                },
            }),
            Effect::Remember(_) => {}
        }
    }

    fn deliver(&mut self, pane: &Pane, turn: &Turn) {
        tracing::info!(worker = %pane.worker, attempt = pane.attempt, turn = turn.turn, "deliver");
        let delivered = match self.handover().text(pane, turn) {
            Ok(text) => self.processes.deliver(pane, turn.turn, text),
            Err(why) => Err(Event::DeliveryFailed {
                pane: pane.clone(),
                turn: turn.turn,
                sent: Sent::Nothing,
                why,
            }),
        };
        self.queue.extend(delivered.err());
    }

    fn handover(&self) -> Handover<'_> {
        Handover {
            project: &self.project,
            meshes: &self.meshes,
            store: &self.store,
        }
    }

    /// Write a letter, for people to read; if that cannot be done now, later.
    pub(super) fn write(&mut self, letter: SystemMessage) {
        if let Err(error) = self.try_to_write(&letter) {
            tracing::error!(letter = %letter.id, %error, "cannot be written: it is tried again");
            self.unwritten.push_back(letter);
        }
    }

    /// They are for people: the journal has them, and nothing waits for them.
    pub(super) fn write_unwritten(&mut self) {
        while let Some(letter) = self.unwritten.front()
            && self.try_to_write(letter).is_ok()
        {
            self.unwritten.pop_front();
        }
    }

    fn try_to_write(&self, letter: &SystemMessage) -> io::Result<()> {
        let (name, text) = letters::file_of(letter);
        self.consumer.expect_own(&name);
        letters::write(&self.project.messages(), &name, &text)
    }
}
