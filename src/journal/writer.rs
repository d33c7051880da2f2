//! The one that writes: a thread that takes all that waits at once, so that many
//! appends share a commit.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};

use rusqlite::{Connection, params};

use super::lock::Lock;
use super::schema::{self, Found};
use super::{Appended, Entry, Error, Quarantined, Snapshot, messages, quarantine};

/// How many snapshots are kept: the newest, and one to fall back on.
const SNAPSHOTS: u32 = 2;

/// A journal open for writing, by nobody else. Shared by reference; the writer stops
/// when it is dropped.
#[derive(Debug)]
pub struct Journal {
    queue: Arc<Mutex<Queue>>,
    writer: Option<JoinHandle<()>>,
    _held: Found,
    _lock: Lock,
}

/// What was not appended, and why.
#[derive(Debug)]
pub(super) struct NotAppended {
    pub(super) error: Error,
    pub(super) entries: Vec<Entry>,
}

/// What waits to be written. It is bounded by the threads there are: each waits
/// for its answer before it asks again.
#[derive(Debug, Default)]
struct Queue {
    requests: Vec<Request>,
    askers: Vec<Thread>,
    /// Where the askers find their answers.
    batch: Arc<Batch>,
    closed: bool,
}

/// Those whose requests share a commit. They wait for it together, and wake each
/// other: to wake many threads takes longer than a commit, and the writer is at the
/// next one meanwhile.
#[derive(Debug, Default)]
struct Batch {
    done: OnceLock<Done>,
}

/// What has become of a batch: an asker and an answer for each request, in order.
#[derive(Debug)]
struct Done {
    askers: Vec<Thread>,
    answers: Vec<Mutex<Option<Answer>>>,
}

type Answer = Result<Appended, (Error, Request)>;

#[derive(Debug)]
enum Request {
    Append(Vec<Entry>),
    Snapshot(Snapshot),
    Quarantine(Vec<Quarantined>),
}

impl Journal {
    /// Open a journal, or begin one.
    pub fn open(path: &Path) -> Result<Journal, Error> {
        // Whatever is no journal stays as it is, without a lock beside it.
        schema::look_at(path)?;
        let lock = Lock::take(path)?;
        let failed = |error| Error::from_sqlite(path, &error);
        let held = match schema::look_at(path)? {
            Found::Nothing => {
                begin(path)?;
                schema::look_at(path)?
            }
            found @ Found::Journal(_) => found,
        };
        let connection = Connection::open(path).map_err(failed)?;
        let configure = || {
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            schema::configure(&connection)
        };
        configure().map_err(failed)?;
        let last = connection.query_row(schema::LAST, [], |row| row.get(0));
        let mut writer = Writer {
            path: path.into(),
            connection,
            last: last.map_err(failed)?,
            indexed: false,
        };
        let queue = Arc::new(Mutex::new(Queue::default()));
        let orders = Arc::clone(&queue);
        let writer = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || writer.run(&orders))
            .map_err(|error| Error::Failed {
                path: path.into(),
                detail: format!("its thread cannot be started: {error}"),
            })?;
        Ok(Journal {
            queue,
            writer: Some(writer),
            _held: held,
            _lock: lock,
        })
    }

    /// Remember these, all or none. Durable when this returns.
    pub fn append(&self, entries: Vec<Entry>) -> Result<Appended, Error> {
        self.append_or_return(entries)
            .map_err(|failed| failed.error)
    }

    /// The same, but what could not be appended comes back.
    pub(super) fn append_or_return(&self, entries: Vec<Entry>) -> Result<Appended, NotAppended> {
        self.ask(Request::Append(entries))
            .map_err(|(error, request)| match request {
                Request::Append(entries) => NotAppended { error, entries },
                Request::Snapshot(_) | Request::Quarantine(_) => NotAppended {
                    error,
                    entries: Vec::new(),
                },
            })
    }

    /// Keep a snapshot, in place of older ones.
    pub fn snapshot(&self, snapshot: Snapshot) -> Result<(), Error> {
        match self.ask(Request::Snapshot(snapshot)) {
            Ok(_) => Ok(()),
            Err((error, _)) => Err(error),
        }
    }

    /// Keep records apart that cannot be read.
    pub(super) fn quarantine(&self, records: Vec<Quarantined>) -> Result<(), Error> {
        match self.ask(Request::Quarantine(records)) {
            Ok(_) => Ok(()),
            Err((error, _)) => Err(error),
        }
    }

    fn ask(&self, request: Request) -> Answer {
        let asker = std::thread::current();
        let (batch, place) = {
            let mut queue = lock(&self.queue);
            if queue.closed {
                return Err((Error::Closed, request));
            }
            queue.requests.push(request);
            queue.askers.push(asker);
            (Arc::clone(&queue.batch), queue.requests.len() - 1)
        };
        if place == 0 {
            self.wake_writer();
        }
        loop {
            match batch.done.get() {
                Some(done) => return done.answer(place),
                None => std::thread::park(),
            }
        }
    }

    fn wake_writer(&self) {
        if let Some(writer) = &self.writer {
            writer.thread().unpark();
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        lock(&self.queue).closed = true;
        self.wake_writer();
        if let Some(writer) = self.writer.take() {
            // If it panicked, it has told those who waited on its way out.
            let _ = writer.join();
        }
    }
}

/// No code that holds one of these locks can panic half-way through a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Done {
    /// Each wakes the next two, then takes its answer.
    fn answer(&self, place: usize) -> Answer {
        let next = 2 * place + 1..2 * place + 3;
        let next = self.askers.iter().take(next.end).skip(next.start);
        next.for_each(Thread::unpark);
        lock(&self.answers[place])
            .take()
            .expect("each place is answered once")
    }
}

/// What the writer has in hand. If it dies, nobody waits for it in vain.
struct InHand<'q> {
    queue: &'q Mutex<Queue>,
    batch: Arc<Batch>,
    requests: Vec<Request>,
    askers: Vec<Thread>,
}

impl InHand<'_> {
    /// Take up all that waits; `None` if nothing does.
    fn take_up(queue: &Mutex<Queue>) -> Option<InHand<'_>> {
        let mut waiting = lock(queue);
        if waiting.requests.is_empty() {
            return None;
        }
        // As many are likely to come again.
        let room = waiting.requests.len();
        let next = Queue {
            requests: Vec::with_capacity(room),
            askers: Vec::with_capacity(room),
            batch: Arc::default(),
            closed: waiting.closed,
        };
        let taken = std::mem::replace(&mut *waiting, next);
        Some(InHand {
            queue,
            batch: taken.batch,
            requests: taken.requests,
            askers: taken.askers,
        })
    }

    /// Tell each what became of its request; what was not written comes back.
    fn answer(&mut self, written: Vec<Result<Appended, Error>>) {
        let requests = self.requests.drain(..).zip(written);
        let answer = |(request, written): (_, Result<_, _>)| {
            Mutex::new(Some(written.map_err(|error| (error, request))))
        };
        let done = Done {
            answers: requests.map(answer).collect(),
            askers: std::mem::take(&mut self.askers),
        };
        let first = done.askers.first().cloned();
        self.batch.done.set(done).expect("a batch is answered once");
        if let Some(first) = first {
            first.unpark();
        }
    }
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if self.requests.is_empty() {
            return;
        }
        lock(self.queue).closed = true;
        let mut waiting = InHand::take_up(self.queue);
        for dying in [Some(self), waiting.as_mut()].into_iter().flatten() {
            let closed = dying.requests.iter().map(|_| Err(Error::Closed));
            dying.answer(closed.collect());
        }
    }
}

struct Writer {
    path: PathBuf,
    connection: Connection,
    /// The place of the last entry that is durable.
    last: u64,
    /// Every index is there.
    indexed: bool,
}

impl Writer {
    fn run(&mut self, queue: &Mutex<Queue>) {
        loop {
            if let Some(mut in_hand) = InHand::take_up(queue) {
                let written = self.write(&in_hand.requests);
                in_hand.answer(written);
            } else if lock(queue).closed {
                break;
            } else {
                std::thread::park();
            }
        }
    }

    fn write(&mut self, requests: &[Request]) -> Vec<Result<Appended, Error>> {
        match self.commit(requests) {
            Ok(appended) => appended.into_iter().map(Ok).collect(),
            // One of many may be at fault: each alone, so that none fails for another.
            Err(_) if requests.len() > 1 => {
                let alone = requests.chunks(1);
                alone.flat_map(|request| self.write(request)).collect()
            }
            Err(error) => vec![Err(Error::from_sqlite(&self.path, &error))],
        }
    }

    /// All requests in one transaction; each gets the places of its entries.
    fn commit(&mut self, requests: &[Request]) -> rusqlite::Result<Vec<Appended>> {
        let mut last = self.last;
        let mut appended = Vec::with_capacity(requests.len());
        let transaction = self.connection.transaction()?;
        // Not before there is something to write: what turns out to be of another version
        // stays as it was.
        if !self.indexed {
            schema::index(&transaction)?;
        }
        {
            let mut event = transaction.prepare_cached(
                "INSERT INTO events (seq, at, rules, version, kind, body) VALUES (?, ?, ?, ?, ?, ?)",
            )?;
            let mut key = transaction
                .prepare_cached("INSERT OR IGNORE INTO keys (key, seq) VALUES (?, ?)")?;
            for request in requests {
                let first = last + 1;
                match request {
                    Request::Append(entries) => {
                        for entry in entries {
                            last += 1;
                            let Entry {
                                at,
                                rules,
                                version,
                                kind,
                                body,
                                keys,
                                facts,
                            } = entry;
                            event.execute(params![last, at, rules, version, kind, body])?;
                            for found_by in keys {
                                key.execute(params![found_by.stored(), last])?;
                            }
                            for facts in facts {
                                messages::keep(&transaction, facts)?;
                            }
                        }
                    }
                    Request::Snapshot(snapshot) => keep(&transaction, snapshot)?,
                    Request::Quarantine(records) => quarantine::keep(&transaction, records)?,
                }
                appended.push(first..=last);
            }
        }
        transaction.commit()?;
        self.last = last;
        self.indexed = true;
        Ok(appended)
    }
}

/// Begin a journal: whole, under another name, then in its place. So whoever is killed
/// here leaves no empty file that looks like a journal which lost everything.
fn begin(path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |error: &io::Error| Error::from_io(path, error);
    let new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder);
    let new = new.map_err(|error| failed(&error))?.into_temp_path();
    // Without a log yet, so that what makes the file ours stands in its own first bytes.
    Connection::open(&new)
        .and_then(|connection| schema::create(&connection))
        .map_err(|error| Error::from_sqlite(path, &error))?;
    new.persist_noclobber(path)
        .map_err(|failure| failed(&failure.error))?;
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| failed(&error))
}

/// Keep a snapshot, the newest few, and the one that what was pruned begins at.
pub(super) fn keep(connection: &Connection, snapshot: &Snapshot) -> rusqlite::Result<()> {
    let Snapshot { seq, rules, body } = snapshot;
    connection.execute(
        "INSERT OR REPLACE INTO snapshots (seq, rules, body) VALUES (?, ?, ?)",
        params![seq, rules, body],
    )?;
    connection.execute(
        "DELETE FROM snapshots
         WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)
           AND seq <> coalesce((SELECT max(seq) FROM pruned), 0)",
        [SNAPSHOTS],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_dies_leaves_nobody_waiting() {
        let queue = Mutex::new(Queue::default());
        let lay_down = || {
            let mut queue = lock(&queue);
            queue.requests.push(Request::Append(Vec::new()));
            queue.askers.push(std::thread::current());
            Arc::clone(&queue.batch)
        };
        lay_down();
        let taken = lay_down();
        let mut waiting = Arc::default();
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _in_hand = InHand::take_up(&queue).unwrap();
            waiting = lay_down();
            panic!("the writer dies");
        }));
        assert!(died.is_err() && lock(&queue).closed);
        for (batch, places) in [(taken, 2), (waiting, 1)] {
            let done = batch.done.get().expect("they are told");
            assert_eq!(done.answers.len(), places);
            for place in 0..places {
                assert!(matches!(done.answer(place), Err((Error::Closed, _))));
            }
        }
    }
}
