//! What the human is needed for: questions, dialogs in panes, accounts without room.

use serde_json::{Value, json};

use super::exit::Failure;
use super::past::{Past, time, until};
use crate::engine::{Dialog, Number, State, Status, Why};
use crate::model::Address;

/// Something that waits for the human.
pub(super) struct Need {
    /// What it is named by: the ask, or the agent.
    pub(super) id: String,
    pub(super) from: Address,
    pub(super) kind: Kind,
    pub(super) headline: String,
    pub(super) body: String,
    pub(super) since: i64,
    pub(super) default: Option<String>,
    pub(super) expires: Option<i64>,
    /// The messages it is about: the ask, or what the agent has in hand.
    pub(super) about: Vec<Number>,
}

/// What is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An answer to an ask.
    Ask,
    /// An answer to a dialog in a pane.
    Dialog,
    /// Room for an account, or patience.
    Limit,
}

impl Need {
    pub(super) fn as_json(&self) -> Value {
        json!({
            "id": self.id, "from": self.from, "kind": self.kind.as_str(),
            "headline": self.headline, "body": self.body, "since": time(self.since),
            "default": self.default, "expires": self.expires.map(time),
        })
    }

    /// What it says below its headline.
    pub(super) fn more(&self) -> Option<&str> {
        beyond(&self.headline, &self.body)
    }

    /// What the human types to see to it.
    pub(super) fn command(&self) -> String {
        match self.kind {
            Kind::Ask => format!("tx answer {} \"…\"", word(&self.id)),
            Kind::Dialog | Kind::Limit => format!("tx attach {}", self.from),
        }
    }

    /// What becomes of it if nobody does anything, in words.
    pub(super) fn by_itself(&self) -> Option<String> {
        let due = until(self.expires?);
        Some(match (self.kind, &self.default) {
            (Kind::Ask, Some(default)) => format!("answers itself with `{default}` {due}"),
            (Kind::Ask, None) => format!("closes without an answer {due}"),
            (Kind::Dialog | Kind::Limit, _) => format!("goes on by itself {due}"),
        })
    }
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Ask => "ask-human",
            Kind::Dialog => "permission",
            Kind::Limit => "limit",
        }
    }
}

/// What a message says besides its headline, which is often all of it.
pub(super) fn beyond<'b>(headline: &str, body: &'b str) -> Option<&'b str> {
    let body = body.trim_end();
    (body.trim_start() != headline && !body.is_empty()).then_some(body)
}

/// A text as one word of a shell.
pub(super) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~/+:@%".contains(c);
    match text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// All of it: the asks in the order they came, then the dialogs and limits by agent.
pub(super) fn needs(past: &Past) -> Result<Vec<Need>, Failure> {
    let mut needs = Vec::new();
    for (number, _, ask) in past.state.asks().filter(|(_, asked, _)| asked.is_core()) {
        let Some(held) = past.state.message(number) else {
            continue;
        };
        let envelope = held.envelope.as_deref();
        needs.push(Need {
            id: held.facts.id.to_string(),
            from: ask.asker.clone(),
            kind: Kind::Ask,
            headline: held.facts.headline.to_string(),
            body: past.content(&held.facts)?.0,
            since: ask.opened,
            default: envelope.and_then(|envelope| envelope.default.clone()),
            expires: ask.due,
            about: vec![number],
        });
    }
    needs.extend(of_workers(&past.state));
    Ok(needs)
}

fn of_workers(state: &State) -> impl Iterator<Item = Need> {
    state.workers().filter_map(|(address, worker)| {
        let (dialog, until) = shown(&worker.status);
        let need = |kind, headline, body, expires| Need {
            id: address.to_string(),
            from: address.clone(),
            kind,
            headline,
            body,
            since: worker.since,
            default: None,
            expires,
            about: worker
                .status
                .work()
                .map(|work| work.messages().collect())
                .unwrap_or_default(),
        };
        match (dialog, until) {
            (Some(dialog), _) => {
                let headline = state.worker_waits_for(address);
                Some(need(Kind::Dialog, headline, dialog.text.clone(), None))
            }
            (None, Some(until)) => {
                let headline = state.worker_waits_for(address);
                Some(need(Kind::Limit, headline, String::new(), Some(until)))
            }
            (None, None) => None,
        }
    })
}

/// The dialog that a worker shows, and until when it has no room.
fn shown(status: &Status) -> (Option<&Dialog>, Option<i64>) {
    match status {
        Status::AwaitingHuman {
            why: Why::Dialog { dialog, .. },
        } => (Some(dialog), None),
        Status::Limited { before, until } => (shown(before).0, Some(*until)),
        Status::Idle
        | Status::Starting { .. }
        | Status::Working { .. }
        | Status::Awaiting { .. }
        | Status::AwaitingHuman { .. }
        | Status::Checking { .. }
        | Status::Backoff { .. }
        | Status::Stopping { .. } => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_word_to_a_shell() {
        for text in ["which-colour", "q~2", "it's $(this)", "a b", "*", ""] {
            let echo = format!("printf %s {}", word(text));
            let shell = std::process::Command::new("sh")
                .args(["-c", &echo])
                .output();
            assert_eq!(shell.unwrap().stdout, text.as_bytes(), "{echo}");
        }
        assert_eq!(word("which-colour~2"), "which-colour~2");
    }
}
