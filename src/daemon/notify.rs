//! What the human is notified of, and when.

use super::control::{self, Request};
use super::injector::Response;
use super::notifier::Notification;
use super::run::Daemon;
use super::status_line::{self, Attention};
use super::system_messages::file_with;
use crate::engine::{Event, MessageNo, MessageRecord, Step, WorkerState};
use crate::model::{Address, Kind};

/// A result that is older than this at the start of tx is no longer typed into the core session, in
/// milliseconds.
const RECENT: i64 = 3_600_000;

/// What the human may not have been notified of.
pub(super) struct MissedNotifications {
    asks: Vec<MessageNo>,
    responses: Vec<MessageRecord>,
}

impl Daemon {
    /// Notify the human of a message. `asker` waits for the answer.
    pub(super) fn notify(
        &self,
        number: MessageNo,
        kind: Kind,
        asker: Option<&Address>,
        inject: bool,
    ) {
        if kind != Kind::AskHuman && !inject {
            return;
        }
        // A delivered message has left the state, unless it is an open ask.
        let found = self.store.history().message(number);
        let Some(facts) = found.unwrap_or_default() else {
            return;
        };
        match kind {
            Kind::AskHuman => self.notifier.ask(notification(&facts, asker, kind)),
            Kind::Task
            | Kind::TaskComplete
            | Kind::Ask
            | Kind::AskResponse
            | Kind::Update
            | Kind::Lifecycle => self.respond(&facts, kind),
        }
    }

    /// Notify the human of an agent that shows a dialog or has reached a limit of its account.
    pub(super) fn notify_held(&self, worker: &Address) {
        let is_it = |held: &Notification| held.from == worker.to_string();
        if let Some(notification) = self.held().find(is_it) {
            self.notifier.ask(notification);
        }
    }

    /// Notifications of the agents that a dialog or a limit holds up.
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

    /// What the human may not have been notified of before the last end of tx: open asks, and
    /// results for the core session.
    pub(super) fn missed(&self) -> MissedNotifications {
        let (reader, state) = (self.store.reader(), self.store.state());
        let asks = state.asks().filter(|(_, asked, _)| asked.is_core());
        let asks = asks.map(|(number, _, _)| number).collect();
        let mut responses = Vec::new();
        if self.injector.is_some() {
            responses = reader.unread().unwrap_or_default();
            responses.retain(|facts| facts.wanted && facts.at > state.at() - RECENT);
        }
        MissedNotifications { asks, responses }
    }

    /// Notify now of what still applies.
    pub(super) fn remind(&self, missed: &MissedNotifications) {
        for ask in &missed.asks {
            let mut open = self.store.state().asks();
            let open = open.find(|(number, asked, _)| number == ask && asked.is_core());
            if let Some((_, _, open)) = open {
                self.notify(*ask, Kind::AskHuman, Some(&open.asker), false);
            }
        }
        for facts in &missed.responses {
            let kind = facts.delivery(&Address::core()).map(|core| core.kind);
            self.respond(facts, kind.unwrap_or(Kind::TaskComplete));
        }
    }

    /// Type the result of a task into the core session. If that is off, notify instead.
    fn respond(&self, facts: &MessageRecord, kind: Kind) {
        let notification = notification(facts, None, kind);
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
            // The only message of tx that is wanted there.
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

    /// Mark messages as read that were shown in the core session.
    pub(super) fn read(&mut self, numbers: Vec<MessageNo>) {
        let messages = numbers.into_iter().map(|number| number.0).collect();
        match control::command_for(&Request::Read { messages }, &self.store) {
            Ok(command) => self.queue.push(Event::Command(command)),
            Err(refusal) => tracing::warn!(why = refusal.why, "they stay unread"),
        }
    }

    /// Update the status line, open asks and notifications.
    pub(super) fn show_status(&self) {
        let waiting = self.waiting();
        let state = self.store.state();
        self.status_line.show(status_line::line(state, waiting));
        let asks = state.asks().filter(|(_, asked, _)| asked.is_core());
        let asks = asks.filter_map(|(number, _, ask)| {
            let facts = &state.message(number)?.facts;
            Some(notification(facts, Some(&ask.asker), Kind::AskHuman))
        });
        self.notifier.are_open(asks.chain(self.held()));
    }

    /// What waits for the human. A count that cannot be read is left out.
    fn waiting(&self) -> Attention {
        let (reader, state) = (self.store.reader(), self.store.state());
        let rejections = reader
            .open_rejections(state, status_line::MAX_REJECTIONS)
            .unwrap_or_default();
        Attention {
            unread: reader.count_unread(status_line::MAX_UNREAD).unwrap_or(0),
            rejections: rejections.len(),
            meshes: self.meshes.problems(),
            dead_letters: reader.count_at_step(Step::Parked).unwrap_or(0),
        }
    }
}

/// A question comes from who waits for the answer, as in `tx asks`: a machine may ask with a message
/// that an agent wrote.
fn notification(facts: &MessageRecord, asker: Option<&Address>, kind: Kind) -> Notification {
    Notification {
        id: facts.id.to_string(),
        from: asker.unwrap_or(&facts.from).to_string(),
        kind: kind.to_string(),
        headline: facts.headline.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The popup looks for the question under the name that the notification has.
    #[test]
    fn a_question_of_a_machine_comes_from_the_machine() {
        let facts: MessageRecord = serde_json::from_value(serde_json::json!({
            "number": 1, "id": "o", "from": "dev/a", "headline": "Done", "at": 0, "thread": [1],
            "source": {"file": {"path": "o.md", "hash": "a1", "record": 1}}, "hops": 0, "deliveries": [],
        }))
        .unwrap();
        let machine: Address = "dev/dispatch".parse().unwrap();
        let asked = notification(&facts, Some(&machine), Kind::AskHuman);
        assert_eq!(asked.from, "dev/dispatch");
        let result = notification(&facts, None, Kind::TaskComplete);
        assert_eq!(result.from, "dev/a");
    }
}
