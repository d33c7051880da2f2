//! The one that writes: a thread that takes all that waits at once, so that many
//! appends share a commit.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Thread};

use rusqlite::{Connection, params};

use super::schema::{self, Found};
use super::{Appended, Entry, Error, Snapshot};

/// How many snapshots are kept: the newest, and one to fall back on.
const SNAPSHOTS: u32 = 2;

/// A journal open for writing. Shared by reference; the writer stops when it is dropped.
#[derive(Debug)]
pub struct Journal {
    queue: Arc<Mutex<Queue>>,
    writer: Option<JoinHandle<()>>,
}

/// What waits to be written. It is bounded by the threads there are: each waits
/// for its answer before it asks again.
#[derive(Debug, Default)]
struct Queue {
    requests: Vec<Arc<Request>>,
    closed: bool,
}

/// What is wanted, by whom, and the answer when there is one.
#[derive(Debug)]
struct Request {
    wanted: Wanted,
    asker: Thread,
    answer: Mutex<Option<Result<Appended, Error>>>,
}

#[derive(Debug)]
enum Wanted {
    Append(Vec<Entry>),
    Snapshot(Snapshot),
}

impl Journal {
    /// Open a journal, or begin one.
    pub fn open(path: &Path) -> Result<Journal, Error> {
        let found = schema::look_at(path)?;
        let failed = |error| Error::from_sqlite(path, &error);
        let connection = Connection::open(path).map_err(failed)?;
        let prepare = || {
            connection.busy_timeout(std::time::Duration::from_secs(5))?;
            // Before the log is turned on, so that what makes the file ours stands
            // in its own first bytes from the start.
            match found {
                Found::Nothing => schema::create(&connection)?,
                Found::Journal => {}
            }
            schema::configure(&connection)
        };
        prepare().map_err(failed)?;
        let last = connection
            .query_row("SELECT coalesce(max(seq), 0) FROM events", [], |row| {
                row.get(0)
            })
            .map_err(failed)?;
        let queue = Arc::new(Mutex::new(Queue::default()));
        let mut writer = Writer {
            path: path.into(),
            connection,
            last,
        };
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
        })
    }

    /// Remember these, all or none. Durable when this returns.
    pub fn append(&self, entries: Vec<Entry>) -> Result<Appended, Error> {
        self.ask(Wanted::Append(entries))
    }

    /// Keep a snapshot, in place of older ones.
    pub fn snapshot(&self, snapshot: Snapshot) -> Result<(), Error> {
        self.ask(Wanted::Snapshot(snapshot)).map(|_| ())
    }

    fn ask(&self, wanted: Wanted) -> Result<Appended, Error> {
        let request = Arc::new(Request {
            wanted,
            asker: std::thread::current(),
            answer: Mutex::new(None),
        });
        {
            let mut queue = lock(&self.queue);
            if queue.closed {
                return Err(Error::Closed);
            }
            queue.requests.push(Arc::clone(&request));
        }
        self.wake_writer();
        loop {
            if let Some(answer) = lock(&request.answer).take() {
                return answer;
            }
            std::thread::park();
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

impl Request {
    /// Answer, once. Whoever asked is woken later.
    fn answer(&self, answer: Result<Appended, Error>) {
        *lock(&self.answer) = Some(answer);
    }
}

/// What the writer has in hand. However it ends, nobody waits for it in vain.
struct InHand<'q> {
    queue: &'q Mutex<Queue>,
    batch: Vec<Arc<Request>>,
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        let mut queue = lock(self.queue);
        queue.closed = true;
        for request in self.batch.drain(..).chain(queue.requests.drain(..)) {
            lock(&request.answer).get_or_insert(Err(Error::Closed));
            request.asker.unpark();
        }
    }
}

struct Writer {
    path: PathBuf,
    connection: Connection,
    /// The place of the last entry that is durable.
    last: u64,
}

impl Writer {
    fn run(&mut self, queue: &Mutex<Queue>) {
        // Waking many threads takes about as long as a commit: another thread does
        // it, while this one is at the next. What waits there is bounded by the
        // threads there are, like the queue itself.
        let (written, to_wake) = channel::<Vec<Arc<Request>>>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for batch in to_wake {
                    batch.iter().for_each(|request| request.asker.unpark());
                }
            });
            let written = written;
            let mut in_hand = InHand {
                queue,
                batch: Vec::new(),
            };
            loop {
                let closed = {
                    let mut queue = lock(queue);
                    std::mem::swap(&mut in_hand.batch, &mut queue.requests);
                    queue.closed
                };
                match in_hand.batch.as_slice() {
                    [] if closed => break,
                    [] => std::thread::park(),
                    requests => {
                        self.write(requests);
                        let answered = std::mem::take(&mut in_hand.batch);
                        if let Err(unsent) = written.send(answered) {
                            unsent.0.iter().for_each(|request| request.asker.unpark());
                        }
                    }
                }
            }
        });
    }

    fn write(&mut self, batch: &[Arc<Request>]) {
        match self.commit(batch) {
            Ok(appended) => {
                for (request, appended) in batch.iter().zip(appended) {
                    request.answer(Ok(appended));
                }
            }
            // One of many may be at fault: each alone, so that none fails for another.
            Err(_) if batch.len() > 1 => {
                for one in batch.chunks(1) {
                    self.write(one);
                }
            }
            Err(error) => {
                for request in batch {
                    request.answer(Err(Error::from_sqlite(&self.path, &error)));
                }
            }
        }
    }

    /// All requests in one transaction; each gets the places of its entries.
    fn commit(&mut self, batch: &[Arc<Request>]) -> rusqlite::Result<Vec<Appended>> {
        let mut last = self.last;
        let mut appended = Vec::with_capacity(batch.len());
        let transaction = self.connection.transaction()?;
        {
            let mut event = transaction.prepare_cached(
                "INSERT INTO events (seq, at, rules, version, kind, body) VALUES (?, ?, ?, ?, ?, ?)",
            )?;
            let mut key = transaction
                .prepare_cached("INSERT OR IGNORE INTO keys (key, seq) VALUES (?, ?)")?;
            for request in batch {
                let first = last + 1;
                match &request.wanted {
                    Wanted::Append(entries) => {
                        for entry in entries {
                            last += 1;
                            let Entry {
                                at,
                                rules,
                                version,
                                kind,
                                body,
                                keys,
                            } = entry;
                            event.execute(params![last, at, rules, version, kind, body])?;
                            for found_by in keys {
                                key.execute(params![found_by.stored(), last])?;
                            }
                        }
                    }
                    Wanted::Snapshot(snapshot) => {
                        let Snapshot { seq, rules, body } = snapshot;
                        transaction.execute(
                            "INSERT OR REPLACE INTO snapshots (seq, rules, body) VALUES (?, ?, ?)",
                            params![seq, rules, body],
                        )?;
                        transaction.execute(
                            "DELETE FROM snapshots WHERE seq NOT IN
                             (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?)",
                            [SNAPSHOTS],
                        )?;
                    }
                }
                appended.push(first..=last);
            }
        }
        transaction.commit()?;
        self.last = last;
        Ok(appended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_dies_leaves_nobody_waiting() {
        let request = || {
            Arc::new(Request {
                wanted: Wanted::Append(Vec::new()),
                asker: std::thread::current(),
                answer: Mutex::new(None),
            })
        };
        let (done, taken, waiting) = (request(), request(), request());
        done.answer(Ok(1..=1));
        let queue = Mutex::new(Queue {
            requests: vec![Arc::clone(&waiting)],
            closed: false,
        });
        let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _in_hand = InHand {
                queue: &queue,
                batch: vec![Arc::clone(&done), Arc::clone(&taken)],
            };
            panic!("the writer dies");
        }));
        assert!(died.is_err() && lock(&queue).closed);
        assert!(matches!(*lock(&done.answer), Some(Ok(_))));
        assert!(matches!(*lock(&taken.answer), Some(Err(Error::Closed))));
        assert!(matches!(*lock(&waiting.answer), Some(Err(Error::Closed))));
    }
}
