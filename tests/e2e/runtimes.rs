//! A runtime that tx does not come with: one definition in the project's settings, and its
//! program is typed to like any other, never over what somebody else has there.

use std::fs;
use std::time::Duration;

use tx::engine::{Is, Step};

use crate::stage::{Project, message, tmux, wait_for};

const MESH: &str = "mesh: dev\nagents: [{ name: one, prompt: Be kind., runtime: composer }]\n";

/// A program that shows what is typed, and is awkward in the ways that its arguments say.
const COMPOSER: &str = include_str!("composer.py");

fn with_composer(awkward: &str) -> Project {
    let project = Project::new(&[("dev/config.yaml", MESH)]);
    let settings = format!(
        "runtimes:\n  composer:\n    run: [python3, composer.py, {awkward}]\n    mode: pane\n    \
         screen: {{ prompt: '^> $', busy: esc to interrupt, dialog: '^Allow .*\\?$' }}\n    \
         interrupt: [C-u]\n"
    );
    project.write(".ai/tx/config.yaml", &settings);
    project.write("composer.py", COMPOSER);
    project.start();
    project
}

impl Project {
    fn give(&self, id: &str) {
        self.drop_file(&format!("{id}.md"), &message("core", "dev/one", id, "", id));
    }

    fn finish(&self, id: &str) {
        let front = format!("status: complete\nin-reply-to: {id}\n");
        let text = message("dev/one", "core", &format!("o-{id}"), &front, id);
        self.drop_file(&format!("o-{id}.md"), &text);
        self.wait_for_step(id, Step::Finished);
    }

    /// The lines that were sent off at the program.
    fn sent_off(&self) -> Vec<String> {
        let lines = fs::read_to_string(self.root().join("lines")).unwrap_or_default();
        lines.lines().map(String::from).collect()
    }

    fn wait_until_sent_off(&self, id: &str) {
        let name = format!("{id}.md");
        wait_for(&name, || {
            let sent = self.sent_off();
            sent.last()?.ends_with(&name).then_some(())
        });
    }

    /// Keys in the pane of the agent.
    fn press(&self, keys: &[&str]) {
        let press = [&["send-keys", "-t", "=dev:one"], keys].concat();
        tmux(self.socket(), &press);
    }

    fn shows(&self) -> String {
        tmux(self.socket(), &["capture-pane", "-p", "-t", "=dev:one"])
    }
}

#[test]
fn a_made_up_runtime_takes_one_definition_and_outlives_tx() {
    let project = with_composer("plain");
    let checked = project.ok(&["mesh", "check"]);
    assert!(checked.contains("dev: ok"), "{checked}");
    project.give("t1");
    project.wait_until_sent_off("t1");
    project.wait_for_step("t1", Step::Delivered);
    project.kill_daemon();
    project.start();
    project.finish("t1");
    project.give("t2");
    project.wait_until_sent_off("t2");
    project.finish("t2");
    assert_eq!(project.sent_off().len(), 2, "{:?}", project.sent_off());
}

#[test]
fn a_draft_in_the_pane_of_an_agent_is_left_alone_and_the_message_waits() {
    let project = with_composer("plain");
    project.give("t1");
    project.wait_until_sent_off("t1");
    project.finish("t1");
    project.press(&["-l", "half a thought"]);
    project.give("t2");
    std::thread::sleep(Duration::from_secs(3));
    assert!(project.shows().contains("> half a thought\n"));
    assert_eq!(project.sent_off().len(), 1);
    project.press(&["C-u"]);
    project.wait_until_sent_off("t2");
    project.finish("t2");
}

#[test]
fn a_lost_enter_is_pressed_again() {
    let project = with_composer("drops-enter");
    project.give("t1");
    project.wait_until_sent_off("t1");
    project.finish("t1");
    assert_eq!(project.sent_off().len(), 1);
}

#[test]
fn a_dialog_that_comes_up_meanwhile_is_never_answered_and_the_human_is_needed() {
    let project = with_composer("dialog");
    project.give("t1");
    let is = || {
        let worker = project.state();
        let worker = worker.worker(&"dev/one".parse().unwrap())?;
        Some(worker.status.is())
    };
    wait_for("the dialog", || is().filter(|is| *is == Is::AwaitingHuman));
    std::thread::sleep(Duration::from_secs(2));
    assert!(!project.root().join("allowed").exists());
    assert_eq!(project.sent_off(), [""; 0]);
    // Somebody answers it, and sends off what is there.
    project.press(&["Enter"]);
    project.press(&["Enter"]);
    project.wait_until_sent_off("t1");
    wait_for("the end of the dialog", || {
        is().filter(|is| *is == Is::Starting)
    });
    project.finish("t1");
    assert_eq!(project.sent_off().len(), 1);
}

/// An agent that asks and stays busy. It notes that it was interrupted, and what it reads.
const ASKS: &str = r#"
import os, signal, sys
root, bus = os.environ["TX_ROOT"], os.environ["TX_ROOT"] + "/.ai/tx/msgs/"
def note(text):
    with open(root + "/notes", "a") as notes:
        notes.write(text + "\n")
signal.signal(signal.SIGINT, lambda *_: note("interrupted"))
sys.stdin.readline()
with open(bus + ".q", "w") as ask:
    ask.write("---\nto: core\nfrom: ask/one\nmsg-id: q\nheadline: Which?\n---\n\nWhich?\n")
os.rename(bus + ".q", bus + "q.md")
while True:
    note(sys.stdin.readline().strip())
"#;

#[test]
fn who_asks_and_stays_busy_is_interrupted_and_told_why() {
    let mesh =
        "mesh: ask\nagents:\n  - { name: one, mode: pane, run: [python3, '{mesh_dir}/asks.py'] }\n";
    let project = Project::started(&[("ask/config.yaml", mesh), ("ask/asks.py", ASKS)]);
    project.drop_file("t.md", &message("core", "ask", "t", "", "work"));
    wait_for("the question", || project.message("q"));
    project.kill_daemon();
    project.start_later(61);
    let notes = wait_for("the note", || {
        let notes = fs::read_to_string(project.root().join("notes")).ok()?;
        Some(notes).filter(|notes| notes.lines().count() == 2)
    });
    let (first, path) = notes.trim_end().split_once('\n').unwrap();
    assert_eq!(first, "interrupted");
    let why = fs::read_to_string(path).unwrap();
    assert!(why.contains("You have asked, and are paused"), "{why}");
}
