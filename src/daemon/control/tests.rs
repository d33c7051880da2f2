//! Server and client together, on a socket of their own.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

use super::{
    Asked, Control, Heard, NoDaemon, Reply, Request, SOCKET, command_for, listen, may_ask, serve,
    stop_listening,
};
use crate::daemon::DaemonLock;
use crate::engine::{
    AttemptId, Command, Event, LoadedMesh, MessageNo, ProcessExit, Source, State, Step, Timer,
    Traits,
};
use crate::journal::Store;
use crate::model::{Address, Mode};
use crate::project::Project;

struct House {
    _dir: tempfile::TempDir,
    _lock: DaemonLock,
    project: Project,
    commits: watch::Sender<u64>,
}

/// A daemon that answers with what it was asked, as a reason.
fn house() -> House {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().into();
    let project = Project { root };
    let lock = DaemonLock::take(&project).unwrap();
    let (commits, watched) = watch::channel(7);
    let (requests, mut asked) = mpsc::channel::<Asked>(1);
    let listener = listen(&project).unwrap();
    tokio::spawn(serve(listener, requests, watched));
    tokio::spawn(async move {
        while let Some(Asked { request, answer }) = asked.recv().await {
            let why = format!("{request:?}");
            let hint = String::new();
            let _ = match request {
                Request::Reload => answer.send(Reply::Done),
                _ => answer.send(Reply::Refused { why, hint }),
            };
        }
    });
    House {
        _dir: dir,
        _lock: lock,
        project,
        commits,
    }
}

impl House {
    async fn with<T: Send + 'static>(&self, work: impl FnOnce(Project) -> T + Send + 'static) -> T {
        let project = self.project.clone();
        spawn_blocking(move || work(project)).await.unwrap()
    }
}

#[tokio::test]
async fn what_is_asked_is_answered_line_by_line() {
    let house = house();
    house
        .with(|project| {
            let mut control = Control::connect(&project).unwrap();
            assert_eq!(control.ask(&Request::Reload).unwrap(), Reply::Done);
            let stop = Request::Stop { kill_agents: true };
            let reply = control.ask(&stop).unwrap();
            let why = "Stop { kill_agents: true }".to_owned();
            let hint = String::new();
            assert_eq!(reply, Reply::Refused { why, hint });
            let path = project.socket(SOCKET).unwrap();
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        })
        .await;
}

#[test]
fn requests_and_replies_are_tagged_lines() {
    let cases = [
        (r#"{"do":"stop"}"#, Request::Stop { kill_agents: false }),
        (
            r#"{"do":"stop-worker","worker":"dev/a"}"#,
            Request::StopWorker {
                worker: "dev/a".parse().unwrap(),
            },
        ),
        (
            r#"{"do":"retry","letter":3}"#,
            Request::Retry {
                letter: 3,
                member: None,
            },
        ),
        (
            r#"{"do":"read","messages":[3,4]}"#,
            Request::Read {
                messages: vec![3, 4],
            },
        ),
        (r#"{"do":"follow"}"#, Request::Follow),
    ];
    for (text, request) in cases {
        assert_eq!(serde_json::from_str::<Request>(text).unwrap(), request);
    }
    let seq = serde_json::to_string(&Reply::Seq { seq: 3 }).unwrap();
    assert_eq!(seq, r#"{"is":"seq","seq":3}"#);
}

#[test]
fn only_the_same_user_may_ask() {
    assert!(may_ask(1000, 1000));
    assert!(may_ask(0, 1000));
    assert!(!may_ask(1001, 1000));
    assert!(!may_ask(1001, 0));
}

#[tokio::test]
async fn a_follower_hears_the_newest_and_the_end() {
    let house = house();
    let mut follow = house
        .with(|project| {
            let mut follow = Control::connect(&project).unwrap().follow().unwrap();
            assert_eq!(follow.heard(None), Heard::Seq(7), "at once");
            let short = Some(Duration::from_millis(20));
            assert_eq!(follow.heard(short), Heard::Nothing);
            follow
        })
        .await;
    for seq in 8..=1_000 {
        house.commits.send(seq).unwrap();
    }
    let follow = house
        .with(move |_| {
            let newest = follow.by_ref().find(|seq| *seq == 1_000);
            assert_eq!(newest, Some(1_000));
            follow
        })
        .await;
    drop(house.commits);
    let ended = spawn_blocking(move || follow.count()).await.unwrap();
    assert_eq!(ended, 0);
}

#[tokio::test]
async fn nobody_holds_anything_up() {
    let house = house();
    house
        .with(|project| {
            let path = project.socket(SOCKET).unwrap();
            let connect = || UnixStream::connect(&path).unwrap();
            // One says nothing, one says half a line, one never reads.
            let silent = connect();
            let mut half = connect();
            half.write_all(b"{\"do\":").unwrap();
            let mut deaf = connect();
            deaf.write_all(b"{\"do\":\"follow\"}\n").unwrap();
            // One talks rubbish, and is told so.
            let mut rubbish = connect();
            rubbish.write_all(b"hello\n\xff\n{}\n").unwrap();
            rubbish.shutdown(std::net::Shutdown::Write).unwrap();
            let mut told = String::new();
            rubbish.read_to_string(&mut told).unwrap();
            assert_eq!(told.matches("this is not a request").count(), 3, "{told}");
            // One never ends its line, and is shown the door.
            let mut long = connect();
            let _ = long.write_all(&vec![b'x'; super::LINE + 2]);
            assert!(!matches!(long.read(&mut [0; 1]), Ok(1..)));
            let mut control = Control::connect(&project).unwrap();
            assert_eq!(control.ask(&Request::Reload).unwrap(), Reply::Done);
            drop((silent, half, deaf));
        })
        .await;
}

#[tokio::test]
async fn many_who_listen_leave_room_for_those_who_ask() {
    let house = house();
    house
        .with(|project| {
            let follow = || Control::connect(&project).unwrap().follow();
            let mut followers = Vec::new();
            let refused = loop {
                match follow() {
                    Ok(follower) => followers.push(follower),
                    Err(refused) => break refused.to_string(),
                }
                assert!(followers.len() < 128);
            };
            assert!(refused.contains("too many listen"), "{refused}");
            let ask = || Control::connect(&project).unwrap().ask(&Request::Reload);
            assert_eq!(ask().unwrap(), Reply::Done);
            // Where all room is taken, that is said too.
            let path = project.socket(SOCKET).unwrap();
            let connect = || UnixStream::connect(&path).unwrap();
            let silent: Vec<UnixStream> = (followers.len()..128).map(|_| connect()).collect();
            let reply = ask().unwrap();
            let Reply::Refused { why, .. } = reply else {
                panic!("{reply:?}");
            };
            assert!(why.contains("too many are connected"), "{why}");
            drop((silent, followers));
        })
        .await;
}

#[tokio::test]
async fn a_socket_that_was_left_is_replaced_and_a_file_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().into();
    let project = Project { root };
    let nobody = Control::connect(&project).unwrap_err();
    assert!(matches!(nobody, NoDaemon::NotRunning), "{nobody}");
    let _lock = DaemonLock::take(&project).unwrap();
    drop(listen(&project).unwrap());
    let path = project.socket(SOCKET).unwrap();
    assert!(path.exists(), "it was left");
    drop(listen(&project).unwrap());
    stop_listening(&project).unwrap();
    assert!(!path.exists());
    stop_listening(&project).unwrap();
    std::fs::write(&path, "mine").unwrap();
    listen(&project).unwrap_err();
    stop_listening(&project).unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

const MESH: &str = "mesh: dev\nagents:\n  - { name: worker, prompt: Work. }\n";

/// A store in which a task was parked.
fn with_a_dead_letter(dir: &std::path::Path) -> Store {
    let (mut store, _) = Store::open(&dir.join("journal.db")).unwrap();
    let mut at = 1_794_736_800_000;
    let mut happens = |store: &mut Store, event| {
        at += 250;
        if let Event::TimerFired { due, .. } = &event {
            at = at.max(*due);
        }
        store.apply(at, event).unwrap();
        drop(store.commit().unwrap());
    };
    let mesh = crate::format::mesh::parse(MESH.as_bytes()).mesh.unwrap();
    let traits = Traits {
        mode: Mode::Pane,
        prints: false,
        resumes: true,
        starts_with_turn: false,
        resumes_without_turn: false,
    };
    let loaded = LoadedMesh {
        mesh,
        text: MESH.into(),
        traits: vec![traits],
    };
    happens(&mut store, Event::MeshLoaded(Box::new(loaded)));
    let text = "---\nto: dev\nfrom: core\nmsg-id: doomed\nheadline: Divide\n\
                timestamp: 2026-11-15T10:00:00Z\npriority: high\n---\n\nDivide by zero\n";
    let origin = crate::format::message::Origin {
        name: "1.md".into(),
        modified: chrono::DateTime::UNIX_EPOCH.fixed_offset(),
    };
    let parsed = crate::format::message::parse(text.as_bytes(), &origin);
    let crate::format::message::Parsed::Message(read) = parsed else {
        unreachable!("it is good: {parsed:?}");
    };
    let arrived = crate::engine::Arrived {
        parts: Vec::new(),
        path: "1.md".into(),
        hash: "1".into(),
        text: text.into(),
        envelope: read.message.envelope,
        body: read.body,
        rearmatter: read.message.rearmatter,
        warnings: Vec::new(),
        turn: None,
        known: Vec::new(),
    };
    happens(&mut store, Event::Arrived(Box::new(arrived)));
    let worker: Address = "dev/worker".parse().unwrap();
    let attempt = |state: &State| state.worker(&worker).unwrap().attempt;
    for _ in 0..3 {
        let pane = AttemptId {
            worker: worker.clone(),
            attempt: attempt(store.state()),
        };
        let why = "killed".into();
        let exit = ProcessExit::Lost { why };
        happens(&mut store, Event::PaneExited { pane, exit });
        let (due, timer) = store.state().next_timer().unwrap();
        assert_eq!(timer, Timer::State(worker.clone()));
        happens(&mut store, Event::TimerFired { timer, due });
    }
    store
}

#[test]
fn a_dead_letter_is_retried_with_what_its_file_said() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = with_a_dead_letter(dir.path());
    let command = command_for(
        &Request::Retry {
            letter: 1,
            member: None,
        },
        &store,
    )
    .unwrap();
    let Command::Retry {
        facts, envelope, ..
    } = &command
    else {
        unreachable!("{command:?}");
    };
    assert_eq!(facts.id.as_str(), "doomed");
    assert!(matches!(facts.source, Source::File { .. }));
    assert_eq!(envelope.priority, crate::model::Priority::High);
    store.apply(0, Event::Command(command)).unwrap();
    drop(store.commit().unwrap());
    let held = store.state().message(MessageNo(1)).unwrap();
    assert_eq!(held.facts.step(), Step::Leased);
    // It is not a dead letter any more.
    let refusal = command_for(
        &Request::Drop {
            letter: 1,
            member: None,
        },
        &store,
    )
    .unwrap_err();
    assert!(refusal.hint.contains("tx dlq list"), "{refusal:?}");
}

#[test]
fn a_dead_letter_is_dropped_for_good() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = with_a_dead_letter(dir.path());
    let command = command_for(
        &Request::Drop {
            letter: 1,
            member: None,
        },
        &store,
    )
    .unwrap();
    store.apply(0, Event::Command(command)).unwrap();
    drop(store.commit().unwrap());
    command_for(
        &Request::Retry {
            letter: 1,
            member: None,
        },
        &store,
    )
    .unwrap_err();
    command_for(
        &Request::Drop {
            letter: 99,
            member: None,
        },
        &store,
    )
    .unwrap_err();
}

#[test]
fn only_what_is_in_the_inbox_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = with_a_dead_letter(dir.path());
    let unread = store.reader().unread().unwrap();
    // Core was told that the work was parked, and gave the task itself.
    let [told] = &unread[..] else {
        unreachable!("{unread:?}");
    };
    let read = |store: &Store, messages: &[u64]| {
        let messages = messages.to_vec();
        command_for(&Request::Read { messages }, store)
    };
    for unknown in [&[1][..], &[99], &[told.number.0, 1]] {
        let refusal = read(&store, unknown).unwrap_err();
        assert!(refusal.hint.contains("tx inbox --all"), "{refusal:?}");
    }
    let command = read(&store, &[told.number.0]).unwrap();
    store.apply(0, Event::Command(command)).unwrap();
    drop(store.commit().unwrap());
    assert_eq!(store.reader().unread().unwrap(), []);
    let all = store.reader().inbox().unwrap();
    assert_eq!((all.len(), all[0].number), (1, told.number));
    assert!(all[0].read.is_some());
}

#[test]
fn an_agent_that_is_not_there_is_refused_with_the_nearest() {
    let dir = tempfile::tempdir().unwrap();
    let store = with_a_dead_letter(dir.path());
    let order = |worker: &str| {
        let worker = worker.parse().unwrap();
        command_for(&Request::StopWorker { worker }, &store)
    };
    order("dev/worker").unwrap();
    let refusal = order("dev/wroker").unwrap_err();
    assert_eq!(refusal.hint, "did you mean `dev/worker`?");
    order("core/core").unwrap_err();
}
