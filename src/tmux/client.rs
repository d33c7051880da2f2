//! One long-lived tmux client, owned by one task. Everyone else sends it commands.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};

use super::panes::PaneId;
use super::protocol::{ControlOutput, Parser};
use super::quote::{arguments, line};
use super::server::{Server, ServerId};

/// How long tmux may take to answer. Normally it takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a server may take to end.
const LAST_WORD: Duration = Duration::from_secs(3);

/// Sends commands to tmux.
#[derive(Clone, Debug)]
pub struct Client {
    requests: mpsc::Sender<CommandBatch>,
    server: watch::Receiver<Option<ServerId>>,
    at: Server,
    patience: Duration,
}

/// The answer of tmux: lines, as bytes.
pub type OutputLines = Vec<Vec<u8>>;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// tmux cannot be started.
    #[error("tmux cannot be started: {0}")]
    NotStarted(String),
    /// The server went away or did not answer in time. The command may or may not have run.
    #[error("the tmux server went away")]
    Gone,
    /// tmux refused the command.
    #[error("tmux says: {0}")]
    Refused(String),
    /// The server that the pane belonged to is gone.
    #[error("its tmux server is gone")]
    OtherServer,
    /// The command has a line break, which control mode cannot carry.
    #[error("an argument for tmux has a line break in it")]
    LineBreak,
    /// A path that is not UTF-8.
    #[error("a path for tmux is not UTF-8 text")]
    NotText,
}

/// Commands that are sent together and run in order.
struct CommandBatch {
    line: String,
    commands: usize,
    /// The only server that these commands are meant for.
    server: Option<ServerId>,
    /// No commands follow.
    last: bool,
    answer: oneshot::Sender<Result<Vec<OutputLines>, Error>>,
}

impl Client {
    /// A client of a server. The server is started with the first command, and again whenever it is
    /// gone.
    pub fn new(server: Server) -> Client {
        Client::with_patience(server, PATIENCE)
    }

    /// The same, with a different time limit for answers.
    pub fn with_patience(server: Server, patience: Duration) -> Client {
        let (requests, orders) = mpsc::channel(256);
        let (lives, server_id) = watch::channel(None);
        tokio::spawn(serve(server.clone(), patience, orders, lives));
        Client {
            requests,
            server: server_id,
            at: server,
            patience,
        }
    }

    /// Run several commands in a separate process, and return all output. Unlike in control mode,
    /// the output cannot be mistaken for protocol lines.
    pub(super) async fn print(&self, commands: &[Vec<String>]) -> Result<Vec<u8>, Error> {
        let mut ask = self.at.command();
        // Otherwise tmux replaces non-ASCII characters, depending on the locale.
        ask.arg("-u").args(arguments(commands));
        ask.stdin(Stdio::null()).kill_on_drop(true);
        let printed = tokio::time::timeout(self.patience, ask.output()).await;
        let printed = printed.map_err(|_| Error::Gone)?;
        let printed = printed.map_err(|error| Error::NotStarted(error.to_string()))?;
        match printed.status.success() {
            true => Ok(printed.stdout),
            false => {
                let said = String::from_utf8_lossy(&printed.stderr);
                Err(Error::Refused(said.trim().to_owned()))
            }
        }
    }

    /// The current server. It changes when the server was gone.
    pub fn server(&self) -> watch::Receiver<Option<ServerId>> {
        self.server.clone()
    }

    /// Run one command.
    pub async fn run<S: AsRef<str>>(&self, arguments: &[S]) -> Result<OutputLines, Error> {
        let line = line(arguments).ok_or(Error::LineBreak)?;
        let mut replies = self.ask(line, 1, None, false).await?;
        replies.pop().ok_or(Error::Gone)
    }

    /// End the server, and this client with it.
    pub async fn end_server(&self) {
        // The server goes away before it answers.
        let _ = self.ask("kill-server".into(), 1, None, true).await;
    }

    /// Run several commands on that server. They stop at the first one that is refused.
    pub async fn run_on(
        &self,
        server: &ServerId,
        commands: &[Vec<String>],
    ) -> Result<Vec<OutputLines>, Error> {
        self.ask(join(commands)?, commands.len(), Some(server.clone()), false)
            .await
    }

    /// Run several commands that print nothing, if a format is true of a pane, in one step. Returns
    /// whether it was true.
    pub(super) async fn run_if(
        &self,
        pane: &PaneId,
        condition: &str,
        commands: &[Vec<String>],
    ) -> Result<bool, Error> {
        // tmux answers each inner command separately, so both branches have the same number.
        let otherwise = vec![
            ["display-message", "-p", "otherwise"]
                .map(String::from)
                .to_vec();
            commands.len()
        ];
        let target = ["if-shell", "-F", "-t", pane.as_str(), condition];
        let branches = [join(commands)?, join(&otherwise)?];
        let test = [&target[..], &branches.each_ref().map(String::as_str)].concat();
        let line = line(&test).ok_or(Error::LineBreak)?;
        let server = Some(pane.server().clone());
        let replies = self.ask(line, 1 + commands.len(), server, false).await?;
        Ok(replies.iter().all(Vec::is_empty))
    }

    async fn ask(
        &self,
        line: String,
        commands: usize,
        server: Option<ServerId>,
        last: bool,
    ) -> Result<Vec<OutputLines>, Error> {
        let (answer, answered) = oneshot::channel();
        let request = CommandBatch {
            line,
            commands,
            server,
            last,
            answer,
        };
        let sent = self.requests.send(request).await;
        sent.map_err(|_| Error::Gone)?;
        answered.await.map_err(|_| Error::Gone)?
    }
}

/// Commands in one line, one after the other.
fn join(commands: &[Vec<String>]) -> Result<String, Error> {
    let lines: Option<Vec<String>> = commands.iter().map(|c| line(c)).collect();
    Ok(lines.ok_or(Error::LineBreak)?.join(" ; "))
}

/// A client process, and the requests it has not answered.
struct Connection {
    _process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    server: ServerId,
    parser: Parser,
    /// The beginning of a line that was not read to its end yet.
    line: Vec<u8>,
    open: VecDeque<PendingRequest>,
}

/// A request under way.
struct PendingRequest {
    commands: usize,
    replies: Vec<OutputLines>,
    /// When the client stops waiting for it.
    until: Instant,
    answer: oneshot::Sender<Result<Vec<OutputLines>, Error>>,
}

async fn serve(
    server: Server,
    patience: Duration,
    mut orders: mpsc::Receiver<CommandBatch>,
    lives: watch::Sender<Option<ServerId>>,
) {
    let mut connection: Option<Connection> = None;
    loop {
        let request = match &mut connection {
            None => match orders.recv().await {
                Some(request) => request,
                None => return,
            },
            Some(live) => tokio::select! {
                read = live.output.read_until(b'\n', &mut live.line) => {
                    let more = matches!(read, Ok(bytes) if bytes > 0);
                    let line = live.line.strip_suffix(b"\n");
                    let came = line.and_then(|line| live.parser.line(line));
                    live.line.clear();
                    if !more || came == Some(ControlOutput::Exit) {
                        // The pending requests fail. If tmux cannot be reached at once, the next
                        // request tries again.
                        drop(connection.take());
                        connection = connect(&server, patience, &lives).await.ok();
                    } else if let Some(ControlOutput::Reply { ok, lines }) = came {
                        live.reply(ok, lines);
                    }
                    continue;
                }
                () = is_overdue(&live.open) => {
                    tracing::warn!("tmux does not answer: another client is tried");
                    drop(connection.take());
                    connection = connect(&server, patience, &lives).await.ok();
                    continue;
                }
                request = orders.recv() => match request {
                    Some(request) => request,
                    None => return,
                },
            },
        };
        if connection.is_none() {
            match connect(&server, patience, &lives).await {
                Ok(live) => connection = Some(live),
                Err(error) => {
                    let _ = request.answer.send(Err(error));
                    continue;
                }
            }
        }
        let Some(live) = &mut connection else {
            continue;
        };
        if request.server.is_some_and(|server| server != live.server) {
            let _ = request.answer.send(Err(Error::OtherServer));
            continue;
        }
        let line = format!("{}\n", request.line);
        live.open.push_back(PendingRequest {
            commands: request.commands,
            replies: Vec::new(),
            until: Instant::now() + patience,
            answer: request.answer,
        });
        let written = tokio::time::timeout(patience, live.input.write_all(line.as_bytes())).await;
        if request.last {
            let mut rest = Vec::new();
            let ends = live.output.read_to_end(&mut rest);
            let _ = tokio::time::timeout(patience.min(LAST_WORD), ends).await;
            return;
        }
        if !matches!(written, Ok(Ok(()))) {
            connection = None;
        }
    }
}

/// Wait until the oldest request is overdue.
async fn is_overdue(open: &VecDeque<PendingRequest>) {
    match open.front() {
        Some(oldest) => tokio::time::sleep_until(oldest.until.into()).await,
        None => std::future::pending().await,
    }
}

async fn connect(
    server: &Server,
    patience: Duration,
    lives: &watch::Sender<Option<ServerId>>,
) -> Result<Connection, Error> {
    let connection = tokio::time::timeout(patience, server.attach()).await;
    let late = |_| Error::NotStarted("its server does not answer".into());
    let (process, id) = connection.map_err(late)??;
    let connection = Connection::new(process, id)?;
    let id = Some(connection.server.clone());
    // Send this even if the server is the same: what the last client set may be gone.
    lives.send_replace(id);
    Ok(connection)
}

impl Connection {
    fn new(mut process: Child, server: ServerId) -> Result<Connection, Error> {
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(Error::Gone);
        };
        Ok(Connection {
            _process: process,
            input,
            output: BufReader::new(output),
            server,
            parser: Parser::default(),
            line: Vec::new(),
            open: VecDeque::new(),
        })
    }

    fn reply(&mut self, ok: bool, lines: OutputLines) {
        let Some(mut open) = self.open.pop_front() else {
            return;
        };
        // tmux does not run the commands after a refused one, and does not answer them.
        if !ok {
            let said: Vec<_> = lines.iter().map(|l| String::from_utf8_lossy(l)).collect();
            let _ = open.answer.send(Err(Error::Refused(said.join(" "))));
            return;
        }
        open.replies.push(lines);
        if open.replies.len() < open.commands {
            self.open.push_front(open);
        } else {
            let _ = open.answer.send(Ok(open.replies));
        }
    }
}
