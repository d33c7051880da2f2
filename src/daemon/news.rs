//! What the human is shown of what happens.

use super::bar::{self, Waiting};
use super::control::{self, Request};
use super::injector::Wanted;
use super::letters::file_with;
use super::notices::Notice;
use super::run::Daemon;
use crate::engine::{Event, Facts, Number, Step};
use crate::model::Kind;

impl Daemon {
    /// Something has come for the human.
    pub(super) fn notify(&self, number: Number, kind: Kind, inject: bool) {
        let held = self.ledger.state().message(number).map(|held| &held.facts);
        if kind == Kind::AskHuman {
            if let Some(facts) = held {
                self.notices.ask(notice(facts, kind));
            }
        } else if let Some(injector) = self.injector.as_ref().filter(|_| inject) {
            // A result that has come has left the state, as a rule.
            let left = self.ledger.reader().message(number).unwrap_or_default();
            let Some(facts) = held.or(left.as_ref()) else {
                return;
            };
            let file = self.project.messages().join(file_with(facts));
            let file = file.strip_prefix(&self.project.root).unwrap_or(&file);
            let status = facts.status.as_ref();
            injector.inject(Wanted {
                number,
                status: status.map_or("complete".into(), ToString::to_string),
                file: file.to_string_lossy().into(),
                notice: notice(facts, kind),
            });
        }
    }

    /// The human was shown these in the core session.
    pub(super) fn read(&mut self, numbers: Vec<Number>) {
        let messages = numbers.into_iter().map(|number| number.0).collect();
        match control::command_for(&Request::Read { messages }, &self.ledger) {
            Ok(command) => self.own.push_back(Event::Command(command)),
            Err(refusal) => tracing::warn!(why = refusal.why, "they stay unread"),
        }
    }

    /// Show the human what has become of it all.
    pub(super) fn show_news(&self) {
        let waiting = self.waiting();
        let state = self.ledger.state();
        self.bar.show(bar::line(state, waiting));
        let asks = state.asks().filter(|(_, asked, _)| asked.is_core());
        let asks = asks.filter_map(|(number, _, _)| state.message(number));
        let asks = asks.map(|held| held.facts.id.to_string());
        self.notices.are_open(asks.collect());
    }

    /// What waits for the human, as far as that can be told.
    fn waiting(&self) -> Waiting {
        let (reader, state) = (self.ledger.reader(), self.ledger.state());
        let rejections = reader.open_rejections(state, 10).unwrap_or_default();
        Waiting {
            unread: reader.count_unread(bar::MOST_UNREAD).unwrap_or(0),
            rejections: rejections.len(),
            dead_letters: reader.count_at_step(Step::Parked).unwrap_or(0),
        }
    }
}

fn notice(facts: &Facts, kind: Kind) -> Notice {
    Notice {
        id: facts.id.to_string(),
        from: facts.from.to_string(),
        kind: kind.to_string(),
        headline: facts.headline.to_string(),
    }
}
