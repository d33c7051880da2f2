//! What waits for the human: questions, dialogs in panes, accounts without room.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Time, content};
use crate::engine::{AttemptId, MessageNo, State, Work, WorkerState};
use crate::journal::{Error, History};
use crate::model::Address;

/// Something that waits for the human.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct AskView {
    /// Its name: the id of the ask, or the agent.
    pub(crate) id: String,
    pub(crate) from: Address,
    pub(crate) kind: AskKind,
    pub(crate) headline: String,
    pub(crate) body: String,
    pub(crate) since: Time,
    /// The answer that is used when it expires.
    pub(crate) default: Option<String>,
    pub(crate) expires: Option<Time>,
    /// What the answer decides, if a workflow asks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) exits: Vec<AskExit>,
    /// The messages it is about: the ask, or the agent's current work.
    #[serde(skip)]
    pub(crate) about: Vec<MessageNo>,
    /// The permission request that waits for a decision, and the process that made it.
    #[serde(skip)]
    pub(crate) request: Option<(AttemptId, u32)>,
}

/// The next state of a workflow after an answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct AskExit {
    /// The condition as written; `null`: if no condition holds.
    pub(crate) condition: Option<String>,
    /// The next state.
    pub(crate) state: String,
}

/// What the human has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AskKind {
    /// An answer to a message.
    AskHuman,
    /// An answer to a dialog in a pane.
    Permission,
    /// Raise the limit of an account, or wait.
    Limit,
}

impl AskView {
    /// Its text below the headline.
    pub(crate) fn more(&self) -> Option<&str> {
        beyond(&self.headline, &self.body)
    }

    /// What the answer decides, one line for each way.
    pub(crate) fn decides(&self) -> impl Iterator<Item = String> {
        self.exits.iter().map(|exit| match &exit.condition {
            Some(condition) => format!("if {condition}: {}", exit.state),
            None => format!("otherwise: {}", exit.state),
        })
    }

    /// Does the status of the answer decide what follows?
    fn needs_status(&self) -> bool {
        let mut conditions = self.exits.iter().filter_map(|exit| exit.condition.as_ref());
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        conditions.any(|text| text.split(|c| !is_name(c)).any(|word| word == "status"))
    }

    /// The command that the human types to handle it.
    pub(crate) fn command(&self) -> String {
        match self.kind {
            AskKind::AskHuman if self.needs_status() => {
                let (to, id) = (&self.from, word(&self.id));
                format!("tx send {to} \"…\" --reply-to {id} --status WORD")
            }
            AskKind::AskHuman => format!("tx answer {} \"…\"", word(&self.id)),
            AskKind::Permission if self.request.is_some() => {
                format!("tx answer {} yes|no|\"…\"", word(&self.id))
            }
            AskKind::Permission | AskKind::Limit => format!("tx attach {}", self.from),
        }
    }
}

/// The body of a message without its headline, which is often the first line, the last one, or all
/// of it.
pub(crate) fn beyond<'b>(headline: &str, body: &'b str) -> Option<&'b str> {
    let body = body.trim_start_matches('\n').trim_end();
    let (first, rest) = body.split_once('\n').unwrap_or((body, ""));
    let (start, last) = body.rsplit_once('\n').unwrap_or(("", body));
    let more = match (first.trim() == headline, last.trim() == headline) {
        (true, _) => rest.trim_start_matches('\n'),
        (false, true) => start.trim_end(),
        (false, false) => body,
    };
    (!more.is_empty()).then_some(more)
}

/// A text, quoted as one word for a shell.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.~/+:@%".contains(c);
    match text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Everything that waits: asks in the order in which they came, then dialogs and limits by agent.
pub(crate) fn asks(history: History) -> Result<Vec<AskView>, Error> {
    let mut asks = Vec::new();
    for (number, _, ask) in history.state.asks().filter(|(_, of, _)| of.is_core()) {
        let Some(held) = history.state.message(number) else {
            continue;
        };
        let envelope = held.envelope.as_deref();
        asks.push(AskView {
            id: held.facts.id.to_string(),
            from: ask.asker.clone(),
            kind: AskKind::AskHuman,
            headline: held.facts.headline.to_string(),
            body: content(history, &held.facts)?.0,
            since: Time(ask.opened),
            default: envelope.and_then(|envelope| envelope.default.clone()),
            expires: ask.due.map(Time),
            exits: exits(history.state, number),
            about: vec![number],
            request: None,
        });
    }
    asks.extend(of_workers(history.state));
    Ok(asks)
}

fn exits(state: &State, question: MessageNo) -> Vec<AskExit> {
    let exits = state.exits_of_question(question).into_iter();
    let exits = exits.map(|exit| AskExit {
        condition: exit.condition,
        state: exit.target.to_string(),
    });
    exits.collect()
}

fn of_workers(state: &State) -> impl Iterator<Item = AskView> {
    state.workers().filter_map(|(agent, worker)| {
        let dialog = worker.status.dialog();
        let (kind, body, expires) = match (dialog, limited_until(&worker.status)) {
            (Some(dialog), _) => (AskKind::Permission, dialog.text.clone(), None),
            (None, Some(until)) => (AskKind::Limit, String::new(), Some(Time(until))),
            (None, None) => return None,
        };
        let request = dialog.and_then(|dialog| dialog.request);
        let request = request.map(|request| (worker.pane(agent), request));
        let work = worker.status.work().into_iter();
        Some(AskView {
            id: worker.held_id(agent),
            from: agent.clone(),
            kind,
            headline: state.worker_waits_for(agent),
            body,
            since: Time(worker.since),
            default: None,
            expires,
            exits: Vec::new(),
            about: work.flat_map(Work::messages).collect(),
            request,
        })
    })
}

fn limited_until(status: &WorkerState) -> Option<i64> {
    let WorkerState::Limited { until, .. } = status else {
        return None;
    };
    Some(*until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_of_a_message_is_not_shown_twice() {
        for (body, more) in [
            ("broken", None),
            ("broken\n\nmore\n", Some("more")),
            ("It exited with 1.\n\nbroken\n", Some("It exited with 1.")),
            ("one\nbroken two", Some("one\nbroken two")),
            ("", None),
        ] {
            assert_eq!(beyond("broken", body), more, "{body:?}");
        }
    }

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
