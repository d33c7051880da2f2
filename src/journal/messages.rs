//! What is known of finished messages, found by what later ones say of them.

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

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredMessage {
    /// A file, as it was read.
    File(Box<Arrived>),
    /// What tx wrote or a program printed: all of it is the body.
    Own(String),
}

impl Reader {
    /// A message that was remembered.
    pub fn message(&self, number: MessageNo) -> Result<Option<MessageRecord>, Error> {
        let found = self.facts(
            "SELECT body, version FROM messages WHERE number = ?",
            [number.0],
        )?;
        Ok(found.into_iter().next())
    }

    /// The greatest number of a message that was remembered; 0 if there is none.
    pub(super) fn last_number(&self) -> Result<MessageNo, Error> {
        let last = "SELECT coalesce(max(number), 0) FROM messages";
        self.ask(|connection| connection.query_row(last, [], |row| row.get(0)))
            .map(MessageNo)
    }

    /// The newest messages of this id, as they are known or as their authors wrote it;
    /// the newest first.
    pub fn messages_named(&self, id: &MsgId, limit: u32) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT body, version FROM messages WHERE id = ?1 OR written = ?1
             ORDER BY number DESC LIMIT ?2",
            params![id.as_str(), limit],
        )
    }

    /// The newest messages that came in a file of this name; the newest first.
    pub fn messages_at(&self, path: &str, limit: u32) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT body, version FROM messages WHERE path = ? ORDER BY number DESC LIMIT ?",
            params![path, limit],
        )
    }

    /// Every file that a message came in, or was refused in: its name, the hash of its
    /// bytes, when that was, and whether it was a message that is finished. What it was
    /// last comes last.
    pub fn each_file(&self, mut each: impl FnMut(&str, &str, i64, bool)) -> Result<(), Error> {
        let query = "SELECT path, body ->> '$.source.file.hash', at, step = 'finished'
                     FROM messages WHERE path IS NOT NULL ORDER BY number, at";
        self.each_row(query, |row| {
            let (path, hash) = (row.get_ref(0)?, row.get_ref(1)?);
            each(path.as_str()?, hash.as_str()?, row.get(2)?, row.get(3)?);
            Ok(())
        })
    }

    /// The messages that came in no file, those that tx wrote: their senders and ids.
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

    /// The messages of the thread that this one began, in order.
    pub fn thread(&self, first: MessageNo) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT m.body, m.version FROM threads t JOIN messages m ON m.number = t.number
             WHERE t.thread = ? ORDER BY t.number",
            [first.0],
        )
    }

    /// The messages that ended at this step, in order. One of many deliveries that was
    /// parked makes a message a parked one.
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

    /// The newest files that were refused; the newest first.
    pub fn newest_refused(&self, limit: usize) -> Result<Vec<MessageRecord>, Error> {
        let mut found = self.facts(
            "SELECT body, version FROM messages WHERE step = ? ORDER BY number DESC LIMIT ?",
            params![Step::Refused.as_str(), limit],
        )?;
        // The others were messages, and withdrawn.
        found.retain(|facts| facts.refused.is_some());
        Ok(found)
    }

    /// The finished messages in the inbox of core, in order.
    pub fn inbox(&self) -> Result<Vec<MessageRecord>, Error> {
        self.at_core("SELECT body, version FROM messages WHERE for_core = 1 ORDER BY number")
    }

    /// Those that the human has not read, found as quickly among many old ones.
    pub fn unread(&self) -> Result<Vec<MessageRecord>, Error> {
        self.at_core(
            "SELECT body, version FROM messages
             WHERE for_core = 1 AND read IS NULL ORDER BY number",
        )
    }

    /// How many those are, up to a limit; without what another recipient made a dead letter
    /// of, so that none has to be looked at.
    pub fn count_unread(&self, limit: usize) -> Result<usize, Error> {
        self.ask(|connection| {
            // By the index of what is unread, not by the one of steps.
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

    /// Of so many files that were refused last, those that were not fixed since; the
    /// newest first.
    pub fn open_rejections(
        &self,
        state: &State,
        of_last: usize,
    ) -> Result<Vec<MessageRecord>, Error> {
        let mut open = Vec::new();
        for facts in self.newest_refused(of_last)? {
            let path = facts.path().unwrap_or_default();
            // A mesh is told of once, and looked at again by whoever shows its problems.
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

    /// The newest tasks of core's that have left the state; the newest first.
    pub fn tasks(&self, limit: usize) -> Result<Vec<MessageRecord>, Error> {
        self.facts(
            "SELECT body, version FROM messages WHERE task = 1 ORDER BY number DESC LIMIT ?",
            [limit],
        )
    }

    /// How many those are, without those that ended at one step.
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

    /// What a message says; `None` if that was archived. Its file may be gone.
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
                code => exited_with(code, &stderr),
            })),
            (Source::File { .. } | Source::Output { .. }, _) => None,
        })
    }

    /// The same to the byte, as it was written or printed.
    pub fn text_of(&self, facts: &MessageRecord) -> Result<Option<String>, Error> {
        let contents = self.contents(facts)?;
        Ok(contents.map(|contents| match contents {
            StoredMessage::File(arrived) => arrived.text,
            StoredMessage::Own(text) => text,
        }))
    }

    /// The file that a message came in, as it was read; `None` if it came in none, or if
    /// that was archived.
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

/// Remember a message, in place of what was known of it.
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

/// How a message ended. A parked delivery is what somebody must still see to, so it
/// counts for more than those that are finished.
pub(super) fn end(facts: &MessageRecord) -> Step {
    let mut steps = facts.deliveries.iter().map(Delivery::step);
    if steps.any(|step| step == Step::Parked) {
        Step::Parked
    } else {
        facts.step()
    }
}
