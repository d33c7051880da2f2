//! A runtime that tx does not come with: one definition in the project's settings, and its
//! program is typed to like any other, never over what somebody else has there.

use std::fs;
use std::time::Duration;

use tx::engine::{Phase, Step};

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
fn whoever_goes_to_a_pane_is_told_whether_it_is_safe_to_type() {
    let project = with_composer("");
    let told = || {
        let told = project.tx(&["attach", "dev/one"]);
        String::from_utf8_lossy(&told.stderr).into_owned()
    };
    project.give("m1");
    project.wait_until_sent_off("m1");
    project.finish("m1");
    wait_for("a safe pane", || {
        told()
            .contains("dev/one: safe to type: it waits")
            .then_some(())
    });
    project.press(&["-l", "a draft"]);
    wait_for("the draft", || {
        told().contains("dev/one: careful: ").then_some(())
    });
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
    wait_for("the dialog", || {
        is().filter(|is| *is == Phase::AwaitingHuman)
    });
    std::thread::sleep(Duration::from_secs(2));
    assert!(!project.root().join("allowed").exists());
    assert_eq!(project.sent_off(), [""; 0]);
    // Somebody answers it, and sends off what is there.
    project.press(&["Enter"]);
    project.press(&["Enter"]);
    project.wait_until_sent_off("t1");
    wait_for("the end of the dialog", || {
        is().filter(|is| *is == Phase::Starting)
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

/// What an agent sets reaches the command line of its program, and nothing else does.
#[test]
fn permissions_servers_and_the_like_are_passed_on() {
    let project = Project::new(&[
        (
            "dev/config.yaml",
            "mesh: dev\nagents:\n  - name: full\n    prompt: Be kind.\n    model: opus\n    \
             permissions: { mode: plan, allowedTools: [Read, 'Bash(git:*)'], deny: [Web] }\n    \
             mcpServers: { fs: { command: npx, args: ['a b'] } }\n    max_turns: 3\n    \
             thinking: true\n  - { name: bare, prompt: Be kind., model: sonnet }\nentry_point: bare\n",
        ),
        (
            "dev/say.sh",
            "for word; do echo \"<$word>\"; case $word in *.json) cat \"${word#--mcp=}\";; esac; done\n",
        ),
    ]);
    project.write(
        ".ai/tx/config.yaml",
        "runtime: cli\nruntimes:\n  cli:\n    run: [sh, 'meshes/dev/say.sh', [--model, '{model}'], \
         '{permissions}', ['--allow={tools}'], ['--deny={denied_tools}'], ['--mcp={mcp_file}'], \
         [-c, 'mcp={mcp_toml}'], [--max-turns, '{max_turns}'], [--effort, '{thinking}']]\n    \
         prints: true\n    permissions: { default: [--ask], plan: [--only, plan] }\n    \
         denied_tools: [Ask]\n    thinking_levels: [low, high]\n    \
         models: { opus: '', sonnet: sonnet-9 }\n",
    );
    project.start();
    let printed = |agent: &str| {
        let answer = project.ok(&["send", agent, "Hi", "--wait"]);
        let words = answer.lines().map(str::trim);
        let words = words.filter(|line| !line.is_empty()).map(String::from);
        words.collect::<Vec<_>>().join(" ")
    };
    let bare = printed("dev/bare");
    let expected = "<--model> <sonnet-9> <--ask> <--deny=Ask>";
    assert!(bare.ends_with(expected), "{bare}");
    let full = printed("dev/full");
    let (before, after) = full.split_once("<--mcp=").unwrap();
    let expected = "<--only> <plan> <--allow=Read,Bash(git:*)> <--deny=Ask,Web> ";
    assert!(
        before.ends_with(expected) && !before.contains("--model"),
        "{full}"
    );
    let (file, after) = after.split_once("> ").unwrap();
    assert!(file.ends_with("/files/mcp.json"), "{full}");
    let expected = "{ \"mcpServers\": { \"fs\": { \"command\": \"npx\", \"args\": [ \"a b\" ] } } } \
                    <-c> <mcp={\"fs\"={\"command\"=\"npx\",\"args\"=[\"a b\"]}}> \
                    <--max-turns> <3> <--effort> <high>";
    assert_eq!(after, expected);
}

#[test]
fn without_any_agent_cli_the_new_team_works_as_it_is() {
    let project = Project::below("new", &[]);
    let path = ("PATH", "/usr/bin:/bin");
    let tx = |arguments: &[&str]| {
        let output = project.command(arguments).envs([path]).output().unwrap();
        assert!(output.status.success(), "tx {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let made = tx(&["init", "--runtime", "auto"]);
    assert!(made.contains("`npm install -g @openai/codex`"), "{made}");
    tx(&["start", "--detach"]);
    let answer = tx(&["send", "team", "Say hello", "--wait"]);
    assert!(answer.contains("Reviewed: "), "{answer}");
}
