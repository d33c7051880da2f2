//! The messages of a turn, as the agent reads them, and what it has to send for them.

use std::fmt::Write;

use super::{one_line, tag_around};
use crate::format::render::yaml_block;
use crate::model::{Address, Kind, MsgId, OutcomeWord, Rearmatter};

/// A message for its recipient.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Its id.
    pub id: &'a MsgId,
    /// Its sender.
    pub from: &'a Address,
    /// Its kind for the recipient.
    pub kind: Kind,
    /// One line for people.
    pub headline: &'a str,
    /// Its outcome word.
    pub status: Option<&'a OutcomeWord>,
    /// The messages that it answers.
    pub in_reply_to: &'a [MsgId],
    /// The body, in markdown.
    pub body: &'a str,
    /// What its author says about the work.
    pub rearmatter: &'a Rearmatter,
}

/// The text of a turn: the briefing, which is empty if the agent already has it, the position of
/// the work ([`stage`](super::stage())), the messages, then what it has to send for them. A slash
/// command is the first line, where the agent CLI expects it.
pub fn prompt(briefing: &str, command: Option<&str>, position: &str, given: &[Given]) -> String {
    let mut text = String::new();
    if let Some(command) = command.filter(|command| !command.trim().is_empty()) {
        let _ = write!(text, "{}\n\n", one_line(command));
    }
    if !briefing.is_empty() || !position.is_empty() {
        let heading = if given.len() == 1 {
            "# The message"
        } else {
            "# The messages"
        };
        for part in [briefing, position].iter().filter(|part| !part.is_empty()) {
            let _ = write!(text, "{}\n\n", part.trim_end());
        }
        let _ = write!(text, "{heading}\n\n");
    }
    let shown: Vec<String> = given.iter().map(shown).collect();
    let tag = tag_around("message", shown.iter().map(String::as_str));
    for message in shown {
        let _ = write!(text, "<{tag}>\n{message}</{tag}>\n\n");
    }
    text + &owed(given)
}

/// The message that began a run, for an agent that joins later.
pub fn original(message: &Given) -> String {
    let shown = shown(message);
    let tag = tag_around("message", std::iter::once(shown.as_str()));
    format!(
        "# What began this\n\nYou owe nothing for this message; it is here so that you know it.\n\n<{tag}>\n{shown}</{tag}>\n"
    )
}

/// The message as in its file, without what only matters to tx.
fn shown(message: &Given) -> String {
    let Given {
        id,
        from,
        kind,
        headline,
        status,
        in_reply_to,
        body,
        rearmatter,
    } = message;
    let mut text = format!("---\nfrom: {from}\nmsg-id: {id}\ntype: {kind}\n");
    let _ = writeln!(text, "headline: {}", one_line(headline));
    if let Some(status) = status {
        let _ = writeln!(text, "status: {status}");
    }
    if !in_reply_to.is_empty() {
        let ids: Vec<&str> = in_reply_to.iter().map(MsgId::as_str).collect();
        let _ = writeln!(text, "in-reply-to: {}", ids.join(", "));
    }
    let _ = write!(text, "---\n\n{body}\n");
    if !rearmatter.0.is_empty() {
        let _ = write!(text, "\n---\n{}---\n", yaml_block(&rearmatter.0));
    }
    text
}

fn owed(given: &[Given]) -> String {
    let mut work = 0;
    let mut answers = 0;
    let mut asks = Vec::new();
    for message in given {
        match message.kind {
            Kind::Task | Kind::TaskComplete => work += 1,
            Kind::Ask | Kind::AskHuman => asks.push(message),
            Kind::AskResponse => answers += 1,
            Kind::Update | Kind::Lifecycle => {}
        }
    }
    let mut text = String::new();
    match work {
        0 => {}
        1 => text += "You owe an outcome for this work: a message with a `status`.\n",
        _ => text += "You owe one outcome for all of this work: a message with a `status`.\n",
    }
    for ask in &asks {
        let _ = writeln!(
            text,
            "You owe {} an answer: a message with `to: {}` and `in-reply-to: {}`.",
            ask.from, ask.from, ask.id
        );
    }
    if answers > 0 {
        text += "This is what you asked for. Go on with your work; you still owe its end.\n";
    } else if work == 0 && asks.is_empty() {
        text += "You owe nothing for this; what you owed before, you owe still.\n";
    }
    text
}
