//! Reads the tokens and money that a program reports.
//!
//! The runtime's definition names the format: `usage: claude`. Each format is read from what the
//! program prints in a turn (its JSON stream or its text) or from its transcript.
//!
//! To use it, make a [`UsageReader`] for each file or stream and feed it everything from the first
//! byte on, in pieces of any size. Each call returns the counters that have gone up. Each of these
//! is an `Event::PaneUsed` for the engine, which must come before the end of the turn. The last
//! line may lack its line break: feed a `\n` when the process is gone.
//!
//! A report is always the *total* of its counter, never a difference. So nothing has to be stored:
//! after a restart a new reader reads the same file from its beginning and reports the same totals,
//! and the engine counts only the increase. A counter belongs to a session, across all processes
//! that resume it, or to one process if the report names no session.

mod claude;
mod codex;
mod others;

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::model::{Usage, UsageFormat};

/// How many recent items of a counter are remembered. They may be reported again with other
/// figures.
const RECENT: usize = 64;

/// The total of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageReport {
    /// The id of the counter. Of two reports with the same id, the greater one counts.
    pub id: String,
    /// Its session; `None` for the process that was read.
    pub session: Option<String>,
    /// The model, in the program's own words.
    pub model: Option<String>,
    /// The total usage.
    pub usage: Usage,
}

/// Reads one stream or file from its beginning.
#[derive(Clone, Debug)]
pub struct UsageReader {
    format: UsageFormat,
    /// The beginning of a line that is not complete yet.
    rest: Vec<u8>,
    /// The session and the model that an earlier line named.
    session: Option<String>,
    model: Option<String>,
    counters: BTreeMap<CounterKey, Counter>,
}

/// The key of a counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CounterKey {
    session: Option<String>,
    /// Empty where a program has one counter for all models.
    model: String,
}

#[derive(Clone, Debug, Default)]
struct Counter {
    model: Option<String>,
    settled: Usage,
    /// The newest items by id. Each counts once, with its highest figures.
    recent: VecDeque<(String, Usage)>,
    told: Usage,
}

impl UsageReader {
    /// A reader for the beginning of a stream.
    pub fn new(format: UsageFormat) -> UsageReader {
        UsageReader {
            format,
            rest: Vec::new(),
            session: None,
            model: None,
            counters: BTreeMap::new(),
        }
    }

    /// Read more. Returns a report for each counter that has gone up.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<UsageReport> {
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        for piece in &mut lines {
            self.rest.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.rest);
                self.line(&String::from_utf8_lossy(&line));
            }
        }
        let gone_up = |(key, counter): (&CounterKey, &mut Counter)| {
            let total = counter.total();
            let more = !total.since(&counter.told).is_nothing();
            counter.told = total;
            more.then(|| UsageReport {
                id: key.to_string(),
                session: key.session.clone(),
                model: counter.model.clone(),
                usage: total,
            })
        };
        self.counters.iter_mut().filter_map(gone_up).collect()
    }

    fn line(&mut self, line: &str) {
        if self.format == UsageFormat::Aider {
            return others::aider(self, line);
        }
        // Most lines are long and contain no usage.
        let words = ["usage", "Usage", "tokens", "thread_id", "session", "model"];
        if !words.iter().any(|word| line.contains(word)) {
            return;
        }
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return;
        };
        match self.format {
            UsageFormat::Claude => claude::line(self, &line),
            UsageFormat::Codex => codex::line(self, &line),
            UsageFormat::Gemini => others::gemini(self, &line),
            UsageFormat::Opencode => others::opencode(self, &line),
            UsageFormat::Pi => others::pi(self, &line),
            UsageFormat::Aider => {}
        }
    }

    /// A counter for each model.
    fn of_model(&mut self, session: Option<&str>, model: Option<&str>) -> &mut Counter {
        let key = CounterKey {
            session: session.map(ToOwned::to_owned),
            model: model.unwrap_or_default().to_owned(),
        };
        let counter = self.counters.entry(key).or_default();
        counter.model = model.map(ToOwned::to_owned);
        counter
    }

    /// The only counter of a program that does not report by model.
    fn only(&mut self, session: Option<&str>) -> &mut Counter {
        let model = self.model.clone();
        let counter = self.of_model(session, None);
        counter.model = model;
        counter
    }
}

impl Counter {
    fn total(&self) -> Usage {
        let recent = self.recent.iter();
        recent.fold(self.settled, |sum, (_, piece)| sum.plus(piece))
    }

    /// The program reports its total.
    fn comes_to(&mut self, total: &Usage) {
        let more = total.since(&self.total());
        self.settled = self.settled.plus(&more);
    }

    /// Add the usage of one item. An item without an id is reported only once.
    fn add(&mut self, id: Option<&str>, piece: Usage) {
        let Some(id) = id else {
            self.settled = self.settled.plus(&piece);
            return;
        };
        if let Some((_, known)) = self.recent.iter_mut().find(|(known, _)| known == id) {
            *known = known.max(&piece);
            return;
        }
        self.recent.push_back((id.to_owned(), piece));
        if self.recent.len() > RECENT
            && let Some((_, oldest)) = self.recent.pop_front()
        {
            self.settled = self.settled.plus(&oldest);
        }
    }
}

impl std::fmt::Display for CounterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.session.as_deref().unwrap_or("process"))?;
        match self.model.is_empty() {
            true => Ok(()),
            false => write!(f, "/{}", self.model),
        }
    }
}

/// A text at a key.
fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// A count at a key.
fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// The sum of the known parts.
fn sum(parts: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    let known = parts.into_iter().flatten();
    known.reduce(u64::saturating_add)
}

/// Dollars in millionths. No CLI distinguishes an unknown price from 0, so 0 counts as unknown.
fn micros(dollars: Option<f64>) -> Option<u64> {
    let micros = (dollars? * 1e6).round();
    (micros >= 1.0).then_some(micros as u64)
}

#[cfg(test)]
mod tests;
