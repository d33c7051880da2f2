//! A message as a worker gets it: with the text that the journal keeps, the messages that it quotes,
//! and the part that is the worker's own.

use std::path::PathBuf;

use crate::engine::{Arrived, Member, MessageRecord, Step};
use crate::format::message::MAX_FILE;
use crate::format::parts::parts;
use crate::format::prompt::Given;
use crate::journal::{Error, Reader, Store, StoredMessage};
use crate::model::{Address, Feature, Kind, MsgId, OutcomeWord, Part, Rearmatter};
use crate::project::{Project, Task, read_regular};

/// A message for a worker.
pub(super) struct DeliveredMessage {
    pub(super) id: MsgId,
    pub(super) from: Address,
    pub(super) kind: Kind,
    /// It was delivered to this worker before.
    pub(super) was_delivered: bool,
    pub(super) headline: String,
    pub(super) status: Option<OutcomeWord>,
    pub(super) in_reply_to: Vec<MsgId>,
    pub(super) body: String,
    pub(super) rearmatter: Rearmatter,
    pub(super) command: Option<String>,
    pub(super) feature: Option<Feature>,
    /// The file on the bus that it came in.
    pub(super) file: Option<BusFile>,
}

/// A file as it was when it was accepted.
pub(super) struct BusFile {
    pub(super) name: String,
    pub(super) text: String,
}

impl DeliveredMessage {
    /// A message as `to` gets it, from the journal: its file may be gone.
    pub(super) fn read(
        reader: &Reader,
        facts: &MessageRecord,
        to: &Address,
    ) -> Result<DeliveredMessage, Error> {
        let delivery = facts.delivery(to);
        let mut steps = delivery.iter().flat_map(|delivery| &delivery.ladder);
        let mut content = DeliveredMessage {
            id: facts.id.clone(),
            from: facts.from.clone(),
            kind: delivery.map_or(Kind::Update, |delivery| delivery.kind),
            was_delivered: steps.any(|taken| taken.step == Step::Delivered),
            headline: facts.headline.to_string(),
            status: facts.status.clone(),
            in_reply_to: Vec::new(),
            body: String::new(),
            rearmatter: Rearmatter::default(),
            command: None,
            feature: None,
            file: None,
        };
        match reader.contents(facts)? {
            None => {}
            Some(StoredMessage::Own(text)) => content.body = text,
            Some(StoredMessage::File(arrived)) => {
                content.body = arrived.body().to_owned();
                let Arrived {
                    path,
                    text,
                    envelope,
                    rearmatter,
                    ..
                } = *arrived;
                content.in_reply_to = envelope.in_reply_to;
                content.command = envelope.command;
                content.feature = envelope.feature;
                content.rearmatter = rearmatter;
                content.file = Some(BusFile { name: path, text });
            }
        }
        Ok(content)
    }

    /// The same, followed by its criteria and the messages that it quotes.
    pub(super) fn with_quotes(
        store: &Store,
        facts: &MessageRecord,
        to: &Address,
    ) -> Result<DeliveredMessage, Error> {
        let mut whole = DeliveredMessage::read(store.reader(), facts, to)?;
        if let Some(criteria) = &facts.criteria {
            whole.body += &fulfil(criteria);
        }
        for quoted in &facts.quotes {
            let Some(facts) = store.history().message(*quoted)? else {
                continue;
            };
            let text = match store.reader().contents(&facts)? {
                None => continue,
                Some(StoredMessage::Own(text)) => text,
                Some(StoredMessage::File(arrived)) => {
                    let from = arrived.body.start;
                    arrived.text.get(from..).unwrap_or_default().to_owned()
                }
            };
            let (id, from, headline) = (&facts.id, &facts.from, &facts.headline);
            let status = facts.status.as_ref().map(|word| format!(", status {word}"));
            let status = status.unwrap_or_default();
            whole.body += &format!("\n\n# `{id}` from {from}{status}: {headline}\n\n{text}");
            whole.body += &facts.criteria.as_deref().map(fulfil).unwrap_or_default();
        }
        Ok(whole)
    }

    /// What a workspace is named for.
    pub(super) fn as_task<'a>(&'a self, feature: Option<&'a Feature>) -> Task<'a> {
        Task {
            id: self.id.as_str(),
            headline: &self.headline,
            feature: feature.or(self.feature.as_ref()),
        }
    }

    pub(super) fn is_work(&self) -> bool {
        match self.kind {
            Kind::Task | Kind::TaskComplete | Kind::Ask | Kind::AskHuman => true,
            Kind::AskResponse | Kind::Update | Kind::Lifecycle => false,
        }
    }

    pub(super) fn given(&self) -> Given<'_> {
        Given {
            id: &self.id,
            from: &self.from,
            kind: self.kind,
            headline: &self.headline,
            status: self.status.as_ref(),
            in_reply_to: &self.in_reply_to,
            body: &self.body,
            rearmatter: &self.rearmatter,
        }
    }

    /// For a member that works on one part: the part first, then the whole message.
    pub(super) fn divide(&mut self, member: &Member) {
        let part = member.part.and_then(|wanted| {
            let mut all = parts(&self.body).into_iter();
            let same = |(part, _): &(Part, _)| part.number == wanted;
            // If several parts have this number, take the one at the member's place.
            let place = usize::try_from(member.index).unwrap_or_default();
            let exact = parts(&self.body).into_iter().nth(place).filter(same);
            exact.or_else(|| all.find(same))
        });
        if let Some((_, at)) = part {
            let part = self.body[at].trim_end().to_owned();
            self.body = format!(
                "This part is your work:\n\n{part}\n\nThe whole message, of which others have the other parts:\n\n{}",
                self.body
            );
            // The file on the bus does not say which part it is.
            self.file = None;
        }
    }

    /// The path of its file on the bus, if the file is unchanged and the path fits on one line.
    pub(super) fn file_in(&self, project: &Project) -> Option<PathBuf> {
        let BusFile { name, text } = self.file.as_ref()?;
        if name.chars().any(char::is_control) {
            return None;
        }
        let path = project.messages().join(name);
        let (bytes, _) = read_regular(&path, MAX_FILE).ok()?;
        (bytes == text.as_bytes()).then_some(path)
    }
}

/// The criteria of the work, as a section below the task.
fn fulfil(criteria: &str) -> String {
    format!("\n\n# What the work must fulfil\n\n{criteria}")
}
