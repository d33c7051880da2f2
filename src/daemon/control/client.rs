//! The client side of the control socket, for the commands of tx. It blocks, and every wait has a
//! limit.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{LINE, Reply, Request, SOCKET};
use crate::daemon::lock::running;
use crate::project::Project;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a daemon may take to listen once it has its lock.
const START: Duration = Duration::from_secs(3);

/// A connection to the daemon.
#[derive(Debug)]
pub struct Control {
    stream: BufReader<UnixStream>,
    /// The part of the next line that has arrived.
    line: Vec<u8>,
}

/// A connection that reports every commit. As an iterator it ends when the daemon ends.
#[derive(Debug)]
pub struct Follow {
    control: Control,
    /// The first report, until it is returned.
    first: Option<u64>,
}

/// What the daemon reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The number of the newest record in the journal.
    Seq(u64),
    /// Nothing came within the given time.
    Nothing,
    /// The daemon has ended.
    End,
}

/// Why no daemon can be asked.
#[derive(Debug, thiserror::Error)]
pub enum NoDaemon {
    /// No daemon runs.
    #[error("tx is not running here")]
    NotRunning,
    /// A daemon runs but cannot be reached.
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(#[source] io::Error),
}

/// Why there is no answer. The request may or may not have been carried out.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The answer took too long.
    #[error("the daemon did not answer in time")]
    TimedOut,
    /// The daemon has ended.
    #[error("the daemon went away before it answered")]
    Gone,
    /// Too many clients are connected.
    #[error("{why}")]
    Refused {
        /// What the daemon said.
        why: String,
        /// What to do.
        hint: String,
    },
    /// The answer could not be understood.
    #[error("the daemon's answer cannot be read: {0}")]
    Garbage(String),
}

impl Control {
    /// Connect to the daemon of a project.
    pub fn connect(project: &Project) -> Result<Control, NoDaemon> {
        let path = project.socket(SOCKET).map_err(NoDaemon::Unreachable)?;
        let begun = Instant::now();
        loop {
            let error = match UnixStream::connect(&path) {
                Ok(stream) => {
                    let timeout = stream.set_write_timeout(Some(ANSWER));
                    timeout.map_err(NoDaemon::Unreachable)?;
                    return Ok(Control {
                        stream: BufReader::new(stream),
                        line: Vec::new(),
                    });
                }
                Err(error) => error,
            };
            let nobody = matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            );
            // The daemon may be about to listen.
            match running(project) {
                Some(_) if nobody && begun.elapsed() < START => sleep(Duration::from_millis(20)),
                None if nobody => return Err(NoDaemon::NotRunning),
                Some(_) | None => return Err(NoDaemon::Unreachable(error)),
            }
        }
    }

    /// Ask something, and wait for the answer.
    pub fn ask(&mut self, request: &Request) -> Result<Reply, NoAnswer> {
        let until = Some(Instant::now() + ANSWER);
        match self.send(request) {
            Ok(()) => self.reply(until),
            // The daemon may have given a reason before it closed the connection.
            Err(error) => self.reply(until).map_err(|_| error),
        }
    }

    /// Ask something whose answer may take any time.
    pub fn wait(&mut self, request: &Request) -> Result<Reply, NoAnswer> {
        self.send(request)?;
        self.reply(None)
    }

    /// Receive a report of every commit from now on.
    pub fn follow(mut self) -> Result<Follow, NoAnswer> {
        let first = match self.ask(&Request::Follow)? {
            Reply::Seq { seq } => Some(seq),
            Reply::Done | Reply::Hook { .. } => None,
            Reply::Refused { why, hint } => return Err(NoAnswer::Refused { why, hint }),
        };
        Ok(Follow {
            control: self,
            first,
        })
    }

    fn send(&mut self, request: &Request) -> Result<(), NoAnswer> {
        let line = serde_json::to_string(request);
        let line = line.map_err(|error| NoAnswer::Garbage(error.to_string()))?;
        let sent = self
            .stream
            .get_mut()
            .write_all(format!("{line}\n").as_bytes());
        sent.map_err(|error| no_answer(&error))
    }

    /// Read the next line, at most until that time.
    fn reply(&mut self, until: Option<Instant>) -> Result<Reply, NoAnswer> {
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(NoAnswer::TimedOut);
            }
            let limited = self.stream.get_ref().set_read_timeout(left);
            limited.map_err(|error| no_answer(&error))?;
            let came = match self.stream.fill_buf() {
                Ok([]) => return Err(NoAnswer::Gone),
                Ok(came) => came,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(no_answer(&error)),
            };
            let end = came.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(came.len(), |end| end + 1);
            self.line.extend_from_slice(&came[..taken]);
            self.stream.consume(taken);
            if self.line.len() > LINE {
                return Err(NoAnswer::Garbage("a line without an end".into()));
            }
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                let reply = serde_json::from_slice(&line);
                return reply.map_err(|error| NoAnswer::Garbage(error.to_string()));
            }
        }
    }

    /// Whether another whole line has already arrived.
    fn has_line(&self) -> bool {
        self.stream.buffer().contains(&b'\n')
    }
}

impl Follow {
    /// Wait for a commit that was not reported before. Returns the newest one.
    pub fn heard(&mut self, within: Option<Duration>) -> Heard {
        let until = within.map(|within| Instant::now() + within);
        let mut heard = match self.first.take() {
            Some(seq) => Heard::Seq(seq),
            None => self.next_line(until),
        };
        while matches!(heard, Heard::Seq(_)) && self.control.has_line() {
            heard = self.next_line(until);
        }
        heard
    }

    fn next_line(&mut self, until: Option<Instant>) -> Heard {
        match self.control.reply(until) {
            Ok(Reply::Seq { seq }) => Heard::Seq(seq),
            Ok(Reply::Done | Reply::Refused { .. } | Reply::Hook { .. }) => Heard::End,
            Err(NoAnswer::TimedOut) => Heard::Nothing,
            Err(NoAnswer::Gone | NoAnswer::Garbage(_) | NoAnswer::Refused { .. }) => Heard::End,
        }
    }
}

impl Iterator for Follow {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self.heard(None) {
            Heard::Seq(seq) => Some(seq),
            Heard::Nothing | Heard::End => None,
        }
    }
}

fn no_answer(error: &io::Error) -> NoAnswer {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => NoAnswer::TimedOut,
        _ => NoAnswer::Gone,
    }
}
