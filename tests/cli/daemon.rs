//! The commands that need a daemon, with a stand-in for it: the lock, the socket and the journal
//! are real; the agents are a script.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tx::daemon::{Asked, DaemonLock, Reply, Request, command_for, listen, serve};
use tx::engine::Event;
use tx::project::Project;

use crate::story::Story;
use crate::tx::Sandbox;

/// A daemon without agents. It accepts dropped files into the journal, and then the script plays
/// what happens.
pub(crate) struct StandIn {
    pub(crate) sandbox: Arc<Sandbox>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    pub(crate) fn of(
        story: Story,
        script: impl FnMut(&mut Story, &str) + Send + 'static,
    ) -> StandIn {
        let sandbox = story.sandbox.clone();
        let over = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = std::sync::mpsc::channel();
        let ends = over.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(play(story, script, &ends, ready));
        });
        is_ready.recv().unwrap();
        StandIn {
            sandbox,
            over,
            thread: Some(thread),
        }
    }

    /// End it, as if it were killed.
    pub(crate) fn end(mut self) -> Arc<Sandbox> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        self.sandbox.clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

async fn play(
    mut story: Story,
    mut script: impl FnMut(&mut Story, &str),
    over: &AtomicBool,
    ready: std::sync::mpsc::Sender<()>,
) {
    let root = story.sandbox.path().to_owned();
    let project = Project { root };
    let _lock = DaemonLock::take(&project).unwrap();
    let (requests, mut asked) = mpsc::channel::<Asked>(8);
    let (commits, watched) = watch::channel(story.store().state().seq());
    tokio::spawn(serve(listen(&project).unwrap(), requests, watched));
    let mut seen: BTreeSet<String> = story.sandbox.bus().into_iter().collect();
    ready.send(()).unwrap();
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    while !over.load(Ordering::Relaxed) {
        tokio::select! {
            Some(Asked { request, answer }) = asked.recv() => {
                let stop = matches!(request, Request::Stop { .. });
                let reply = match command_for(&request, story.store()) {
                    _ if stop => Reply::Done,
                    Ok(command) => {
                        drop(story.happens(Event::Command(command)));
                        Reply::Done
                    }
                    Err(refusal) => refusal.into(),
                };
                answer.send(reply).unwrap();
                if stop {
                    // Let the answer go out first.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    return;
                }
            }
            _ = tick.tick() => {
                let whole = |name: &String| !name.starts_with('.');
                for name in story.sandbox.bus().into_iter().filter(whole) {
                    if seen.insert(name.clone()) {
                        let path = story.sandbox.path().join(".ai/tx/msgs").join(&name);
                        story.take_in(&name, fs::read_to_string(path).unwrap());
                        script(&mut story, &name);
                        seen.extend(story.sandbox.bus());
                    }
                }
            }
        }
        let seq = story.store().state().seq();
        commits.send_if_modified(|told| std::mem::replace(told, seq) != seq);
    }
}

pub(crate) fn nothing_more(_: &mut Story, _: &str) {}

#[test]
fn what_needs_a_daemon_says_so_without_one() {
    let mut story = Story::told();
    story.ends_badly();
    let sandbox = story.end();
    for verb in [
        &["worker", "stop", "dev/builder"][..],
        &["worker", "restart", "dev/builder"],
        &["dlq", "retry", "doomed"],
        &["dlq", "drop", "doomed"],
        &["status", "--watch"],
        &["spy", "-f"],
    ] {
        let ran = sandbox.tx(verb).exits(4);
        ran.complains("tx is not running here", 2);
    }
    // Stopping a daemon that does not run is not a failure.
    let ran = sandbox
        .tx(["stop"])
        .ok()
        .complains("tx is not running here", 1);
    assert_eq!(ran.stdout, "");
    let json = sandbox.tx(["stop", "--json"]).ok().json();
    assert_eq!(json["stopped"], false);
}

#[test]
fn stop_waits_for_the_end_and_tells_what_is_kept() {
    let daemon = StandIn::of(Story::told(), nothing_more);
    let stopped = daemon.sandbox.tx(["stop"]).ok().stdout;
    assert_eq!(
        stopped,
        "stopped; 1 unfinished message kept; 2 agents may keep running in their panes\n"
    );
    daemon
        .sandbox
        .tx(["stop"])
        .ok()
        .complains("tx is not running here", 1);
    let daemon = StandIn::of(Story::told(), nothing_more);
    let stop = ["stop", "--kill-agents", "--json"];
    let stopped = daemon.sandbox.tx(stop).ok().json();
    assert_eq!(
        stopped,
        serde_json::json!({ "stopped": true, "kept": 1, "agents": 0 })
    );
}

#[test]
fn a_worker_is_stopped_and_restarted() {
    let daemon = StandIn::of(Story::told(), nothing_more);
    let tx = |words: &[&str]| daemon.sandbox.tx(words);
    let said = tx(&["worker", "stop", "dev/tester"]).ok().stdout;
    assert!(said.contains("`tx worker restart dev/tester`"), "{said}");
    let state = || {
        let workers = tx(&["worker", "list", "--json"]).ok().json();
        workers[1]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(), "stopping");
    let restarted = tx(&["worker", "restart", "dev/tester", "--json"])
        .ok()
        .json();
    assert_eq!(restarted["done"], "restarted");
    for verb in ["stop", "restart", "peek"] {
        tx(&["worker", verb, "dev/testr"])
            .exits(6)
            .complains("did you mean `dev/tester`", 2);
    }
    tx(&["worker", "stop", "nobody"]).exits(6);
}

#[test]
fn a_dead_letter_is_retried_and_another_dropped() {
    let mut story = Story::told();
    story.ends_badly();
    let daemon = StandIn::of(story, nothing_more);
    let tx = |words: &[&str]| daemon.sandbox.tx(words);
    let letters = tx(&["dlq", "list", "--json"]).ok().json();
    let number = letters[0]["id"].as_str().unwrap();
    let dropped = tx(&["dlq", "drop", number, "--json"]).ok().json();
    assert_eq!(
        (&dropped["id"], &dropped["done"]),
        (&letters[0]["id"], &"dropped".into())
    );
    let said = tx(&["dlq", "retry", "doomed"]).ok().stdout;
    assert_eq!(said, "doomed is queued again\n");
    assert_eq!(
        tx(&["dlq", "list", "--json"]).ok().json(),
        serde_json::json!([])
    );
    let why = tx(&["why", "doomed"]).ok().stdout;
    assert!(why.contains("a person gave it another chance"), "{why}");
    for verb in ["retry", "drop"] {
        tx(&["dlq", verb, "doomed"])
            .exits(6)
            .complains("`tx dlq list`", 2);
    }
}

#[test]
fn a_pane_is_peeked_into() {
    let sandbox = Story::told().end();
    sandbox
        .tx(["worker", "peek", "dev/tester"])
        .exits(6)
        .complains("`tx why dev/tester`", 2);
    let root = sandbox.path().to_owned();
    let socket = Project { root }.tmux_socket().unwrap();
    let tmux = |words: &[&str]| {
        let mut command = std::process::Command::new("tmux");
        let ran = command
            .arg("-S")
            .arg(&socket)
            .args(words)
            .env_remove("TMUX")
            .output();
        assert!(ran.unwrap().status.success(), "{words:?}");
    };
    let program = "printf 'line %s\\n' 1 2; exec sleep 60";
    let tag = ["tx", "turn", "dev/tester", "2", "--folder", "/run"];
    let pane = ["-f", "/dev/null", "new-session", "-d", "sh", "-c", program];
    tmux(&[&pane[..], &tag[..]].concat());
    let peek = || {
        sandbox
            .tx(["worker", "peek", "dev/tester", "--json"])
            .ok()
            .json()
    };
    let mut peeked = peek();
    while peeked["lines"].as_array().unwrap().len() < 2 {
        peeked = peek();
    }
    tmux(&["kill-server"]);
    assert_eq!(
        peeked,
        serde_json::json!({ "agent": "dev/tester", "lines": ["line 1", "line 2"] })
    );
}
