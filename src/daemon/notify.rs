//! What the human is shown of what happens.

use super::control::{self, Request};
use super::injector::Response;
use super::notifier::Notification;
use super::run::Daemon;
use super::status_line::{self, Attention};
use super::system_messages::file_with;
use crate::engine::{Event, MessageNo, MessageRecord, Step, WorkerState};
use crate::model::{Address, Kind};

/// A result that came so long before tx was started is not put into the core session any
/// more, in milliseconds.
const RECENT: i64 = 3_600_000;

/// What may not have been told.
pub(super) struct Untold {
    asks: Vec<MessageNo>,
    responses: Vec<MessageRecord>,
}

impl Daemon {
    /// Something has come for the human.
    pub(super) fn notify(&self, number: MessageNo, kind: Kind, inject: bool) {
        if kind != Kind::AskHuman && !inject {
            return;
        }
        // What has come has left the state, unless it is an open ask.
        let found = self.store.history().message(number);
        let Some(facts) = found.unwrap_or_default() else {
            return;
        };
        match kind {
            Kind::AskHuman => self.notifier.ask(notification(&facts, kind)),
            Kind::Task
            | Kind::TaskComplete
            | Kind::Ask
            | Kind::AskResponse
            | Kind::Update
            | Kind::Lifecycle => self.respond(&facts, kind),
        }
    }

    /// An agent shows a dialog, or its account has no room.
    pub(super) fn notify_held(&self, worker: &Address) {
        let is_it = |held: &Notification| held.from == worker.to_string();
        if let Some(notification) = self.held().find(is_it) {
            self.notifier.ask(notification);
        }
    }

    /// The agents that a dialog or a limit holds up, as the human is told of them.
    fn held(&self) -> impl Iterator<Item = Notification> {
        let state = self.store.state();
        state.workers().filter_map(|(agent, worker)| {
            let kind = match (&worker.status, worker.status.dialog()) {
                (_, Some(_)) => "permission",
                (WorkerState::Limited { .. }, None) => "limit",
                (_, None) => return None,
            };
            Some(Notification {
                id: worker.held_id(agent),
                from: agent.to_string(),
                kind: kind.into(),
                headline: state.worker_waits_for(agent),
            })
        })
    }

    /// What the human may not have been told before tx was ended: the asks that were open,
    /// and what was wanted in the core session.
    pub(super) fn untold(&self) -> Untold {
        let (reader, state) = (self.store.reader(), self.store.state());
        let asks = state.asks().filter(|(_, asked, _)| asked.is_core());
        let asks = asks.map(|(number, _, _)| number).collect();
        let mut responses = Vec::new();
        if self.injector.is_some() {
            responses = reader.unread().unwrap_or_default();
            responses.retain(|facts| facts.wanted && facts.at > state.at() - RECENT);
        }
        Untold { asks, responses }
    }

    /// Tell it now, as far as it is still so.
    pub(super) fn remind(&self, untold: &Untold) {
        for ask in &untold.asks {
            let mut open = self.store.state().asks();
            if open.any(|(number, asked, _)| number == *ask && asked.is_core()) {
                self.notify(*ask, Kind::AskHuman, false);
            }
        }
        for facts in &untold.responses {
            let kind = facts.delivery(&Address::core()).map(|core| core.kind);
            self.respond(facts, kind.unwrap_or(Kind::TaskComplete));
        }
    }

    /// Put what came of a task into the core session; if that is never done there, tell.
    fn respond(&self, facts: &MessageRecord, kind: Kind) {
        let notification = notification(facts, kind);
        let Some(injector) = &self.injector else {
            if !self.core_is_shell {
                self.notifier.tell(notification);
            }
            return;
        };
        let file = self.project.messages().join(file_with(facts));
        let file = file.strip_prefix(&self.project.root).unwrap_or(&file);
        let status = facts.status.as_ref().map(ToString::to_string);
        let status = status.unwrap_or_else(|| match kind {
            // The only news of tx's that are wanted there.
            Kind::Lifecycle => "parked".into(),
            _ => "complete".into(),
        });
        injector.inject(Response {
            number: facts.number,
            status,
            file: file.to_string_lossy().into(),
            notification,
        });
    }

    /// The human was shown these in the core session.
    pub(super) fn read(&mut self, numbers: Vec<MessageNo>) {
        let messages = numbers.into_iter().map(|number| number.0).collect();
        match control::command_for(&Request::Read { messages }, &self.store) {
            Ok(command) => self.queue.push(Event::Command(command)),
            Err(refusal) => tracing::warn!(why = refusal.why, "they stay unread"),
        }
    }

    /// Show the human what has become of it all.
    pub(super) fn show_status(&self) {
        let waiting = self.waiting();
        let state = self.store.state();
        self.status_line.show(status_line::line(state, waiting));
        let asks = state.asks().filter(|(_, asked, _)| asked.is_core());
        let asks = asks.filter_map(|(number, _, _)| state.message(number));
        let asks = asks.map(|held| notification(&held.facts, Kind::AskHuman));
        self.notifier.are_open(asks.chain(self.held()));
    }

    /// What waits for the human, as far as that can be told.
    fn waiting(&self) -> Attention {
        let (reader, state) = (self.store.reader(), self.store.state());
        let rejections = reader
            .open_rejections(state, status_line::MOST_REJECTIONS)
            .unwrap_or_default();
        Attention {
            unread: reader.count_unread(status_line::MOST_UNREAD).unwrap_or(0),
            rejections: rejections.len(),
            meshes: self.meshes.problems(),
            dead_letters: reader.count_at_step(Step::Parked).unwrap_or(0),
        }
    }
}

fn notification(facts: &MessageRecord, kind: Kind) -> Notification {
    Notification {
        id: facts.id.to_string(),
        from: facts.from.to_string(),
        kind: kind.to_string(),
        headline: facts.headline.to_string(),
    }
}
