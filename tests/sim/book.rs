//! The engine and its journal, as the world uses them: the real ones.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tx::engine::{Effect, Event, MessageNo, MessageRecord, State, Step, SystemMessage};
use tx::journal::{AppendFailed, PrunedMessages, Reader, Store};

/// A store that can be killed.
#[derive(Debug)]
pub(crate) struct Book {
    /// `None` only while it is opened again.
    store: Option<Store>,
    path: PathBuf,
    /// How often something was put away.
    archives: u32,
    _folder: TempDir,
}

impl Book {
    pub(crate) fn new() -> Book {
        // In memory, where a sync costs nothing.
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => TempDir::new_in(memory).unwrap(),
            false => TempDir::new().unwrap(),
        };
        let path = folder.path().join("journal.db");
        let (store, _) = Store::open(&path).unwrap();
        Book {
            store: Some(store),
            path,
            archives: 0,
            _folder: folder,
        }
    }

    fn store(&self) -> &Store {
        self.store.as_ref().expect("it is open")
    }

    pub(crate) fn state(&self) -> &State {
        self.store().state()
    }

    pub(crate) fn take(&mut self, at: i64, event: Event) {
        let store = self.store.as_mut().expect("it is open");
        store.apply(at, event).unwrap();
    }

    pub(crate) fn commit(&mut self) -> Result<Vec<Effect>, AppendFailed> {
        let store = self.store.as_mut().expect("it is open");
        store.commit()
    }

    /// From now on nothing can be appended.
    pub(crate) fn fill(&self) {
        self.execute(
            "CREATE TRIGGER full BEFORE INSERT ON events
             BEGIN SELECT RAISE(FAIL, 'the disk is full'); END",
        );
    }

    pub(crate) fn make_room(&self) {
        self.execute("DROP TRIGGER full");
    }

    /// Behind the back of the journal.
    fn execute(&self, order: &str) {
        let connection = Connection::open(&self.path).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection.execute_batch(order).unwrap();
    }

    /// Keep a snapshot, so that the next fold begins there.
    pub(crate) fn snapshot(&mut self) {
        let store = self.store.as_mut().expect("it is open");
        store.snapshot().unwrap();
    }

    /// Killed, and started again: what was not committed is gone.
    pub(crate) fn reopen(&mut self) -> Vec<SystemMessage> {
        self.store = None;
        let (store, system_messages) = Store::open(&self.path).unwrap();
        self.store = Some(store);
        system_messages
    }

    /// Put away what was finished before a time: what its files are known by, and the
    /// messages as the archive has them.
    pub(crate) fn prune(&mut self, before: i64) -> (PrunedMessages, Vec<MessageRecord>) {
        self.store = None;
        self.archives += 1;
        let archive = self.path.with_file_name(format!("{}.jsonl", self.archives));
        let mut put = PrunedMessages::default();
        let pruned = tx::journal::prune(&self.path, before, &archive, |chosen| {
            put.paths.clone_from(&chosen.paths);
            put.own.clone_from(&chosen.own);
            Ok(())
        });
        let pruned = pruned.unwrap();
        let lines = std::fs::read_to_string(&archive).unwrap_or_default();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        let gone = lines.filter_map(|mut line: serde_json::Value| {
            let message = line.get_mut("message")?.take();
            Some(serde_json::from_value(message).unwrap())
        });
        let gone: Vec<MessageRecord> = gone.collect();
        assert_eq!(pruned.messages, gone.len() as u64, "the archive has them");
        self.reopen();
        (put, gone)
    }

    /// What is remembered of messages that are files.
    pub(crate) fn on_the_bus(&self) -> Vec<MessageRecord> {
        let mut numbers = Vec::new();
        let reader = self.store().reader();
        for step in [Step::Finished, Step::Refused, Step::Parked] {
            numbers.extend(reader.at_step(step).unwrap());
        }
        numbers
    }

    /// What is remembered of a message.
    pub(crate) fn facts(&self, number: MessageNo) -> Option<MessageRecord> {
        self.store().reader().message(number).unwrap()
    }

    /// The dead letters.
    pub(crate) fn parked(&self) -> Vec<MessageRecord> {
        self.store().reader().at_step(Step::Parked).unwrap()
    }

    /// What is in the inbox of core and unread.
    pub(crate) fn unread(&self) -> Vec<MessageRecord> {
        let held = self.state().open_messages().map(|held| &held.facts);
        let unread =
            |facts: &&MessageRecord| facts.reached_core().is_some() && facts.read.is_none();
        let remembered = self.store().reader().unread().unwrap().into_iter();
        let gone = |facts: &MessageRecord| self.state().message(facts.number).is_none();
        let held = held.filter(unread).cloned();
        held.chain(remembered.filter(gone)).collect()
    }

    /// The first event that a state which was written down and read again takes
    /// otherwise than the one that was not, and how they differ after it.
    pub(crate) fn first_difference(&self) -> String {
        if self.archives > 0 {
            return difference(self.state(), &self.folded());
        }
        let mut state = State::default();
        let mut found = String::new();
        let reader = Reader::open(&self.path).unwrap();
        let fold = reader.fold(0, u64::MAX, |record| {
            if !found.is_empty() {
                return;
            }
            let event: Event = serde_json::from_str(&record.body).unwrap();
            let mut other = State::restore(&state.snapshot()).unwrap();
            let effects = state.step(record.at, event.clone());
            let others = other.step(record.at, event.clone());
            if effects != others || state.snapshot() != other.snapshot() {
                let differ = difference(&state, &other);
                found = format!("{event:?}\n{effects:?}\n{others:?}\n{differ}");
            }
        });
        fold.unwrap();
        match found.is_empty() {
            true => difference(self.state(), &state),
            false => found,
        }
    }

    /// Everything folded again from the beginning, or from what was put away last, whatever
    /// other snapshots there are.
    pub(crate) fn folded(&self) -> State {
        let reader = Reader::open(&self.path).unwrap();
        Store::replay(&reader, u64::MAX, |_, _, _| {}).unwrap()
    }
}

/// Where two states begin to differ.
fn difference(one: &State, two: &State) -> String {
    let one = String::from_utf8(one.snapshot()).unwrap();
    let two = String::from_utf8(two.snapshot()).unwrap();
    let same = one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b);
    let from = same.count().saturating_sub(200);
    let end = |text: &str| text.chars().skip(from).take(400).collect::<String>();
    format!("{}\n{}", end(&one), end(&two))
}
