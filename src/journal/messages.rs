//! Finished messages, found by id, file, thread or how they ended.

use std::collections::HashSet;

use rusqlite::{Connection, Params, Row, params};

use super::codec::{Decoded, decode};
use super::versions::MESSAGE;
use super::{Error, Reader};
use crate::engine::{
    Arrived, Delivery, Event, MessageNo, MessageRecord, ProcessExit, Source, State, Step,
    exited_with,
};
use crate::model::{Address, MsgId};

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredMessage {
    /// A file, as it was read.
    File(Box<Arrived>),
    /// A message of tx, or the output of a program. All of it is the body.
    Own(String),
}

impl Reader {
    /// A stored message.
    pub fn message(&self, number: MessageNo) -> Result<Option<MessageRecord>, Error> {
        let found = self.facts(
            "SELECT body, version FROM messages WHERE number = ?",
            [number.0],
        )?;
        Ok(found.into_iter().next())
    }

    /// The highest number of a stored message; 0 if there is none.
    pub(super) fn last_number(&self) -> Result<MessageNo, Error> {
        let last = "SELECT coalesce(max(number), 0) FROM messages";
        self.ask(|connection| connection.query_row(last, [], |row| row.get(0)))
            .map(MessageNo)
    }

    /// The newest messages with this id, in the final form or as their author wrote it; newest
    /// first.
    pub fn messages_named(&self, id: &MsgId, limit: u32) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT body, version FROM messages WHERE id = ?1 OR written = ?1
             ORDER BY number DESC LIMIT ?2",
            params![id.as_str(), limit],
        )
    }

    /// The newest messages with an id that begins with `beginning`; newest first.
    pub fn messages_beginning(
        &self,
        beginning: &str,
        limit: u32,
    ) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT body, version FROM messages WHERE id >= ?1 AND id < ?2
             ORDER BY number DESC LIMIT ?3",
            params![beginning, format!("{beginning}{}", char::MAX), limit],
        )
    }

    /// The newest messages that came in a file of this name; newest first.
    pub fn messages_at(&self, path: &str, limit: u32) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT body, version FROM messages WHERE path = ? ORDER BY number DESC LIMIT ?",
            params![path, limit],
        )
    }

    /// Every file that was accepted or rejected: its name, the hash of its bytes, the time, and
    /// whether it is a finished message. The latest version of a file comes last.
    pub fn each_file(&self, mut each: impl FnMut(&str, &str, i64, bool)) -> Result<(), Error> {
        let query = "SELECT path, body ->> '$.source.file.hash', at, step = 'finished'
                     FROM messages WHERE path IS NOT NULL ORDER BY number, at";
        self.each_row(query, |row| {
            let (path, hash) = (row.get_ref(0)?, row.get_ref(1)?);
            each(path.as_str()?, hash.as_str()?, row.get(2)?, row.get(3)?);
            Ok(())
        })
    }

    /// Sender and id of every message that tx wrote itself.
    pub fn own_messages(&self) -> Result<HashSet<(Address, MsgId)>, Error> {
        let mut own = HashSet::new();
        self.each_row(
            "SELECT sender, id FROM messages WHERE path IS NULL",
            |row| {
                let sender = row.get_ref(0)?.as_str()?.parse();
                let id = row.get_ref(1)?.as_str()?.parse();
                own.extend(sender.ok().zip(id.ok()));
                Ok(())
            },
        )?;
        Ok(own)
    }

    /// The messages of the thread that this one started, in order.
    pub fn thread(&self, first: MessageNo) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT m.body, m.version FROM threads t JOIN messages m ON m.number = t.number
             WHERE t.thread = ? ORDER BY t.number",
            [first.0],
        )
    }

    /// The messages that ended at this step, in order. A message with a parked delivery counts as
    /// parked.
    pub fn at_step(&self, step: Step) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT body, version FROM messages WHERE step = ? ORDER BY number",
            [step.as_str()],
        )
    }

    /// The finished messages that gates have checked, in order.
    pub fn with_quality(&self) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.facts(
            "SELECT body, version FROM messages WHERE body LIKE '%\"quality\":%' ORDER BY number",
            [],
        )?;
        found.retain(|facts| facts.quality.is_some());
        Ok(found)
    }

    /// The newest rejected files; newest first.
    pub fn newest_refused(&self, limit: usize) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.facts(
            "SELECT body, version FROM messages WHERE step = ? ORDER BY number DESC LIMIT ?",
            params![Step::Refused.as_str(), limit],
        )?;
        // The others were messages that were withdrawn.
        found.retain(|facts| facts.refused.is_some());
        Ok(found)
    }

    /// The finished messages in the inbox of core, in order.
    pub fn inbox(&self) -> Result<Vec<MessageRecord>, Error> {
        self.at_core("SELECT body, version FROM messages WHERE for_core = 1 ORDER BY number")
    }

    /// The unread messages in the inbox of core. An index finds them quickly among many read ones.
    pub fn unread(&self) -> Result<Vec<MessageRecord>, Error> {
        self.at_core(
            "SELECT body, version FROM messages
             WHERE for_core = 1 AND read IS NULL ORDER BY number",
        )
    }

    /// The number of unread messages, up to a limit. Dead letters of other recipients are not
    /// counted, so that no message has to be read.
    pub fn count_unread(&self, limit: usize) -> Result<usize, Error> {
        self.ask(|connection| {
            // This uses the index of unread messages, not that of steps.
            let count = "SELECT count(*) FROM (SELECT 1 FROM messages
                         WHERE for_core = 1 AND read IS NULL AND +step = ? LIMIT ?)";
            let mut statement = connection.prepare_cached(count)?;
            statement.query_row(params![Step::Finished.as_str(), limit], |row| row.get(0))
        })
    }

    fn at_core(&self, question: &str) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.facts(question, [])?;
        found.retain(|facts| facts.reached_core().is_some());
        Ok(found)
    }

    /// The files among the last `limit` rejected ones that were not fixed since; newest first.
    pub fn open_rejections(
        &self,
        state: &State,
        of_last: usize,
    ) -> Result<Vec<MessageRecord>, Error> {
        let mut open = Vec::new();
        for facts in self.newest_refused(of_last)? {
            let path = facts.path().unwrap_or_default();
            // A mesh's problems are shown elsewhere, and reported only once.
            if path.contains('/') {
                continue;
            }
            let held = state.open_messages().map(|held| &held.facts);
            let mut later = held.filter(|held| held.path() == Some(path));
            let newest = self.messages_at(path, 1)?;
            let is_newest = newest.first().is_none_or(|n| n.number == facts.number);
            if is_newest && !later.any(|held| held.number > facts.number) {
                open.push(facts);
            }
        }
        Ok(open)
    }

    /// The newest finished tasks of core; newest first.
    pub fn tasks(&self, limit: usize) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT body, version FROM messages WHERE task = 1 ORDER BY number DESC LIMIT ?",
            [limit],
        )
    }

    /// How many finished tasks there are, without those that ended at this step.
    pub fn count_tasks(&self, without: Option<Step>) -> Result<usize, Error> {
        self.ask(|connection| {
            let count = "SELECT count(*) FROM messages WHERE task = 1 AND step != ?";
            let mut statement = connection.prepare_cached(count)?;
            statement.query_row([without.map_or("", Step::as_str)], |row| row.get(0))
        })
    }

    /// How many messages ended at this step.
    pub fn count_at_step(&self, step: Step) -> Result<usize, Error> {
        self.ask(|connection| {
            let count = "SELECT count(*) FROM messages WHERE step = ?";
            let mut statement = connection.prepare_cached(count)?;
            statement.query_row([step.as_str()], |row| row.get(0))
        })
    }

    /// The content of a message; `None` if it was archived. Its file may be gone.
    pub fn contents(&self, facts: &MessageRecord) -> Result<Option<StoredMessage>, Error> {
        Ok(match (&facts.source, self.event_of(facts)?) {
            (Source::Own { body, .. }, _) => Some(StoredMessage::Own(body.clone())),
            (Source::File { .. }, Some(Event::Arrived(arrived))) => {
                Some(StoredMessage::File(arrived))
            }
            (
                Source::Output { .. },
                Some(Event::PaneExited {
                    exit:
                        ProcessExit::Code {
                            code,
                            stdout,
                            stderr,
                            ..
                        },
                    ..
                }),
            ) => Some(StoredMessage::Own(match code {
                0 => stdout,
                code => exited_with(code, &stdout, &stderr),
            })),
            (Source::File { .. } | Source::Output { .. }, _) => None,
        })
    }

    /// The text of a message, byte for byte.
    pub fn text_of(&self, facts: &MessageRecord) -> Result<Option<String>, Error> {
        let contents = self.contents(facts)?;
        Ok(contents.map(|contents| match contents {
            StoredMessage::File(arrived) => arrived.text,
            StoredMessage::Own(text) => text,
        }))
    }

    /// The accepted file of a message; `None` if it did not come in a file or was archived.
    pub fn arrival(&self, facts: &MessageRecord) -> Result<Option<Box<Arrived>>, Error> {
        Ok(self.contents(facts)?.and_then(|contents| match contents {
            StoredMessage::File(arrived) => Some(arrived),
            StoredMessage::Own(_) => None,
        }))
    }

    fn event_of(&self, facts: &MessageRecord) -> Result<Option<Event>, Error> {
        let Some(record) = self.record(facts.record())? else {
            return Ok(None);
        };
        match decode(self.path(), &record)? {
            Decoded::Whole(event) | Decoded::Part(event) => Ok(Some(event)),
            Decoded::Unreadable(detail) => Err(Error::Unreadable {
                path: self.path().into(),
                what: format!("record {}", record.seq),
                detail,
            }),
        }
    }

    fn each_row(
        &self,
        question: &str,
        mut each: impl FnMut(&Row) -> rusqlite::Result<()>,
    ) -> Result<(), Error> {
        self.ask(|connection| {
            let mut statement = connection.prepare(question)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                each(row)?;
            }
            Ok(())
        })
    }

    fn facts(&self, question: &str, parameters: impl Params) -> Result<Vec<MessageRecord>, Error> {
        let found: Vec<(String, u32)> = self.ask(|connection| {
            let mut statement = connection.prepare_cached(question)?;
            let rows = statement.query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        })?;
        let what = || "a finished message".to_owned();
        let read = |(body, version): &(String, u32)| {
            MESSAGE.check(self.path(), what, *version)?;
            let read = MESSAGE.read(*version, body.as_bytes());
            read.map_err(|detail| Error::Unreadable {
                path: self.path().into(),
                what: what(),
                detail,
            })
        };
        found.iter().map(read).collect()
    }
}

/// Store a message record, in place of an older one.
pub(super) fn keep(connection: &Connection, facts: &MessageRecord) -> rusqlite::Result<()> {
    let body = serde_json::to_string(facts).expect("every key in facts is a text");
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO messages
             (number, id, written, sender, path, step, at, record, for_core, read, version, body,
              task)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            facts.number.0,
            facts.id.as_str(),
            facts.written.as_ref().map(MsgId::as_str),
            facts.from.to_string(),
            facts.path(),
            end(facts).as_str(),
            facts.at,
            facts.record(),
            facts.delivery(&Address::core()).is_some(),
            facts.read,
            MESSAGE.version(),
            body,
            facts.begins_run(),
        ])?;
    let mut threads = connection
        .prepare_cached("INSERT OR IGNORE INTO threads (thread, number) VALUES (?, ?)")?;
    for thread in &facts.thread {
        threads.execute(params![thread.0, facts.number.0])?;
    }
    Ok(())
}

/// The step at which a message ended. A parked delivery still needs somebody's attention, so it
/// counts more than finished ones.
pub(super) fn end(facts: &MessageRecord) -> Step {
    let mut steps = facts.deliveries.iter().map(Delivery::step);
    if steps.any(|step| step == Step::Parked) {
        Step::Parked
    } else {
        facts.step()
    }
}
