//! A message as a worker is given it.

use std::path::PathBuf;

use crate::engine::Member;
use crate::format::message::{MAX_FILE, parts};
use crate::format::prompt::Given;
use crate::model::{Address, Feature, Kind, MsgId, OutcomeWord, Part, Rearmatter};
use crate::project::{Project, Task, read_regular};

/// A message as it is given.
pub(super) struct DeliveredMessage {
    pub(super) id: MsgId,
    pub(super) from: Address,
    pub(super) kind: Kind,
    /// The worker had it before.
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

    /// A member that works on one part is given that first, then the whole.
    pub(super) fn divide(&mut self, member: &Member) {
        let part = member.part.and_then(|wanted| {
            let mut all = parts(&self.body).into_iter();
            let same = |(part, _): &(Part, _)| part.number == wanted;
            // Of several with one number, the one that is as far in the list.
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
            // Its file has the whole alone.
            self.file = None;
        }
    }

    /// The file that it came in, if that is what it was, and its path is one line.
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
