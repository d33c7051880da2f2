//! What people and scripts ask of the daemon through its socket.

use std::ops::ControlFlow;

use super::control::{self, Asked, Refusal, Reply, Request};
use super::hooks::IncomingHook;
use super::run::{Daemon, End};

impl Daemon {
    /// Carry out a request. Breaks if tx is to end.
    pub(super) fn answer(&mut self, asked: Asked) -> ControlFlow<End> {
        let Asked { request, answer } = asked;
        if let Request::Hook { pane, call, wake } = request {
            let call = *call;
            let called = IncomingHook { call, wake, answer };
            self.processes.hook(&pane, called);
            return ControlFlow::Continue(());
        }
        let reply = match &request {
            Request::Stop { kill_agents } => {
                return ControlFlow::Break(End {
                    kill_agents: *kill_agents,
                    asked: Some(answer),
                });
            }
            Request::Reload => {
                let request = self.meshes.read_again();
                self.reloads.push((request, answer));
                return ControlFlow::Continue(());
            }
            Request::StopWorker { .. }
            | Request::RestartWorker { .. }
            | Request::Retry { .. }
            | Request::Drop { .. }
            | Request::Decide { .. }
            | Request::Hook { .. }
            | Request::Read { .. }
            | Request::Follow => self.apply_command(&request).unwrap_or_else(Reply::from),
        };
        // The request is carried out even if the client no longer waits.
        let _ = answer.send(reply);
        ControlFlow::Continue(())
    }

    /// Answer the requests to read the meshes, now that they are read and in effect.
    pub(super) fn tell_reloaded(&mut self) {
        let stalled = self.queue.is_stalled();
        let read = |(request, _): &mut (u64, _)| *request <= self.meshes_read;
        for (_, answer) in self.reloads.extract_if(.., read) {
            let _ = answer.send(match stalled {
                false => Reply::Done,
                true => Reply::from(full("they count when the disk has room")),
            });
        }
    }

    /// Turn a request into a command and commit it.
    fn apply_command(&mut self, request: &Request) -> Result<Reply, Refusal> {
        if self.queue.is_stalled() {
            return Err(full("check that the disk has room, then try again"));
        }
        let command = control::command_for(request, &self.store)?;
        self.queue.push_command(command);
        self.commit_queued();
        match self.queue.is_stalled() {
            false => Ok(Reply::Done),
            true => Err(full("it is done when the disk has room")),
        }
    }
}

/// The journal cannot be written.
fn full(hint: &str) -> Refusal {
    Refusal {
        why: "the journal cannot be written now".into(),
        hint: hint.into(),
    }
}
