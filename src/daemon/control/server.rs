//! The daemon's side of the control socket.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{LINE, Reply, Request, SOCKET};
use crate::daemon::attempt_processes::is_of_an_attempt;
use crate::daemon::blocking::run_blocking;
use crate::project::Project;

/// How long a client may be connected without asking anything.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a client may take to read an answer.
const UNREAD: Duration = Duration::from_secs(5);
/// How many clients may be connected at once, and how many of them may follow. There is always room
/// for clients that only ask.
const CLIENTS: usize = 128;
const FOLLOWERS: usize = 96;

/// A request, and where its answer goes.
#[derive(Debug)]
pub struct Asked {
    /// The request; never [`Request::Follow`], which is answered here.
    pub request: Request,
    /// For the answer. Dropping it refuses the request.
    pub answer: oneshot::Sender<Reply>,
}

/// Make the socket of a project, in place of one that an earlier daemon has left. Only the holder
/// of the daemon's lock may do this, inside a tokio runtime.
pub fn listen(project: &Project) -> io::Result<UnixListener> {
    stop_listening(project)?;
    let path = project.socket(SOCKET)?;
    let listener = UnixListener::bind(&path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Remove the socket of a project. A file that is not a socket stays.
pub fn stop_listening(project: &Project) -> io::Result<()> {
    let path = project.socket(SOCKET)?;
    match fs::symlink_metadata(&path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(&path),
        Ok(_) => {
            let what = format!("{} is not a socket: move it away", path.display());
            Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether this user may ask a daemon of that user. Root may: root could do everything anyway.
pub fn may_ask(user: u32, daemon: u32) -> bool {
    user == daemon || user == 0
}

/// Serve all clients, until this future is dropped.
pub async fn serve(
    listener: UnixListener,
    requests: mpsc::Sender<Asked>,
    commits: watch::Receiver<u64>,
) {
    let daemon = rustix::process::getuid().as_raw();
    let mut clients = JoinSet::new();
    let room = Arc::new(Semaphore::new(FOLLOWERS));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Perhaps there are too many open files. That passes.
                Err(error) => {
                    tracing::warn!(%error, "nobody can connect to the control socket");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
            Some(_) = clients.join_next() => continue,
        };
        let peer = stream.peer_cred().ok();
        let Some(peer) = peer.filter(|peer| may_ask(peer.uid(), daemon)) else {
            continue;
        };
        if clients.len() < CLIENTS {
            let room = Arc::clone(&room);
            let pid = peer.pid();
            clients.spawn(attend(stream, pid, requests.clone(), commits.clone(), room));
        } else {
            // This is written at once or not at all: tx does not wait for a client that floods it.
            let mut line = serde_json::to_vec(&too_many("are connected")).unwrap_or_default();
            line.push(b'\n');
            let _ = stream.try_write(&line);
        }
    }
}

fn too_many(what: &str) -> Reply {
    Reply::Refused {
        why: format!("too many {what} to the daemon already"),
        hint: "end some of them (`tx status --watch`, `tx spy -f`, `--wait`), then try again"
            .into(),
    }
}

/// Serve one client, line by line.
async fn attend(
    stream: UnixStream,
    pid: Option<i32>,
    requests: mpsc::Sender<Asked>,
    commits: watch::Receiver<u64>,
    room: Arc<Semaphore>,
) {
    let (from, mut to) = stream.into_split();
    let mut from = BufReader::new(from);
    while let Ok(Some(line)) = timeout(SILENCE, read_line(&mut from)).await {
        let reply = match serde_json::from_slice(&line) {
            Ok(Request::Follow) => match room.try_acquire() {
                Ok(_room) => return follow(from, to, commits).await,
                Err(_) => too_many("listen"),
            },
            Ok(
                request @ (Request::Stop { .. }
                | Request::StopWorker { .. }
                | Request::RestartWorker { .. }
                | Request::Retry { .. }
                | Request::Drop { .. }
                | Request::Read { .. }
                | Request::Reload),
            ) => ask(&requests, request).await,
            // An agent must not decide on its own permission.
            Ok(Request::Decide { .. }) if is_agent(pid).await => Reply::Refused {
                why: "only the human decides on permissions, and this is an agent's process".into(),
                hint: "run `tx answer` in a terminal of your own".into(),
            },
            Ok(request @ Request::Decide { .. }) => ask(&requests, request).await,
            // An agent CLI that has ended, or got its answer from elsewhere, no longer waits.
            Ok(request @ Request::Hook { .. }) => tokio::select! {
                reply = ask(&requests, request) => reply,
                _ = from.fill_buf() => return,
            },
            Err(error) => Reply::Refused {
                why: format!("this is not a request: {error}"),
                hint: "use the verbs of tx, of the same version as the daemon".into(),
            },
        };
        if !write(&mut to, &reply).await {
            return;
        }
    }
}

/// Whether an agent asks this. If the client is unknown, it counts as an agent.
async fn is_agent(pid: Option<i32>) -> bool {
    match pid.and_then(Pid::from_raw) {
        Some(pid) => run_blocking(move || is_of_an_attempt(pid)).await,
        None => true,
    }
}

/// Read a line. `None` if it is not complete or too long.
async fn read_line(from: &mut BufReader<OwnedReadHalf>) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut limited = from.take(LINE as u64 + 1);
    limited.read_until(b'\n', &mut line).await.ok()?;
    line.pop_if(|last| *last == b'\n').map(|_| line)
}

async fn ask(requests: &mpsc::Sender<Asked>, request: Request) -> Reply {
    let (answer, answered) = oneshot::channel();
    let refused = || Reply::Refused {
        why: "the daemon is about to end".into(),
        hint: "`tx start` starts it again".into(),
    };
    match requests.send(Asked { request, answer }).await {
        Ok(()) => answered.await.unwrap_or_else(|_| refused()),
        Err(_) => refused(),
    }
}

/// Report the newest commit, now and after each further commit, until the client closes the
/// connection.
async fn follow(
    mut from: BufReader<OwnedReadHalf>,
    mut to: OwnedWriteHalf,
    mut commits: watch::Receiver<u64>,
) {
    loop {
        let seq = *commits.borrow_and_update();
        if !write(&mut to, &Reply::Seq { seq }).await {
            return;
        }
        loop {
            tokio::select! {
                changed = commits.changed() => match changed {
                    Ok(()) => break,
                    Err(_) => return,
                },
                read = from.fill_buf() => {
                    // A follower asks nothing more. Anything it sends is ignored.
                    let bytes = read.map_or(0, <[u8]>::len);
                    if bytes == 0 {
                        return;
                    }
                    from.consume(bytes);
                }
            }
        }
    }
}

/// Write a reply. False if the client did not take it in time.
async fn write(to: &mut OwnedWriteHalf, reply: &Reply) -> bool {
    let Ok(mut line) = serde_json::to_vec(reply) else {
        return false;
    };
    line.push(b'\n');
    matches!(timeout(UNREAD, to.write_all(&line)).await, Ok(Ok(())))
}
