//! The verbs' side of the control socket. It blocks, and knows how long.

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
    /// What has come of the next line.
    line: Vec<u8>,
}

/// A connection that tells of every commit. As an iterator it ends with the daemon.
#[derive(Debug)]
pub struct Follow {
    control: Control,
    /// The first that was heard, until it is told.
    first: Option<u64>,
}

/// What was heard of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The journal has come to this record.
    Seq(u64),
    /// Nothing, for as long as one would wait.
    Nothing,
    /// It has ended.
    End,
}

/// Why there is nobody to ask.
#[derive(Debug, thiserror::Error)]
pub enum NoDaemon {
    /// None runs.
    #[error("no daemon runs here")]
    NotRunning,
    /// One runs, and cannot be reached.
    #[error("the daemon cannot be reached: {0}")]
    Unreachable(#[source] io::Error),
}

/// Why there is no answer. Whether it was done is not known.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It took too long.
    #[error("the daemon did not answer in time")]
    TimedOut,
    /// The daemon has ended.
    #[error("the daemon went away before it answered")]
    Gone,
    /// It has no room for another who listens.
    #[error("{why}")]
    Refused {
        /// What the daemon said.
        why: String,
        /// What to do.
        hint: String,
    },
    /// It answered something else.
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
            // It may be about to listen.
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
            // It may have said why before it let go.
            Err(error) => self.reply(until).map_err(|_| error),
        }
    }

    /// Ask something that may take as long as it likes.
    pub fn wait(&mut self, request: &Request) -> Result<Reply, NoAnswer> {
        self.send(request)?;
        self.reply(None)
    }

    /// Be told of every commit from now on.
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

    /// The next line, until a time.
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

    /// Is there another line already?
    fn has_line(&self) -> bool {
        self.stream.buffer().contains(&b'\n')
    }
}

impl Follow {
    /// The newest commit, as soon as there is one that was not told.
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
