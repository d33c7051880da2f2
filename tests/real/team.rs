//! A team of real claudes and codexes, run by tx: what a person sees of it, and what the model was
//! really told.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

use crate::lab::{Lab, wait_for};
use crate::matrix::Case;

/// A project in a lab, with tx at work in it.
pub(crate) struct Team {
    pub(crate) lab: Lab,
}

/// A mesh of a builder and a reviewer.
fn mesh(builder: &str, reviewer: &str) -> String {
    format!(
        "mesh: team\nentry_point: builder\nagents:\n  \
         - {{name: builder, runtime: {builder}, prompt: You build.}}\n  \
         - {{name: reviewer, runtime: {reviewer}, prompt: You review.}}\n\
         completion_agents: [reviewer]\nrouting:\n  \
         builder: {{complete: {{reviewer: review it}}}}\n  \
         reviewer: {{approved: {{core: done}}}}\n"
    )
}

/// A mesh of one agent.
pub(crate) fn alone(runtime: &str, mode: &str) -> String {
    alone_with(runtime, mode, "prompt: You build.")
}

/// The same with these fields.
pub(crate) fn alone_with(runtime: &str, mode: &str, fields: &str) -> String {
    format!(
        "mesh: team\nentry_point: builder\nagents:\n  \
         - {{name: builder, runtime: {runtime}, mode: {mode}, {fields}}}\n\
         routing:\n  builder: {{complete: {{core: done}}}}\n"
    )
}

impl Team {
    /// `None`: there is no lab here.
    pub(crate) fn start(config: &str) -> Option<Team> {
        Some(Team::start_in(Lab::open()?, config, &[]))
    }

    /// In this lab, with changes of the environment as `env` takes them.
    pub(crate) fn start_in(lab: Lab, config: &str, env: &[&str]) -> Team {
        let folder = lab.project().join("meshes/team");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("config.yaml"), config).unwrap();
        let git = Command::new("git")
            .args(["init", "-q"])
            .current_dir(lab.project())
            .status();
        assert!(git.unwrap().success());
        let team = Team { lab };
        let project = team.lab.project();
        let tx = [env!("CARGO_BIN_EXE_tx"), "-C", project.to_str().unwrap()];
        let started = [&["env"], env, &tx, &["start", "--detach"]].concat();
        let started = team.lab.run(&started);
        assert!(started.status.success(), "{started:?}");
        team
    }

    pub(crate) fn tx(&self, args: &[&str]) -> Output {
        let project = self.lab.project();
        let tx = [env!("CARGO_BIN_EXE_tx"), "-C", project.to_str().unwrap()];
        self.lab.run(&[&tx, args].concat())
    }

    pub(crate) fn done(&self, args: &[&str]) -> String {
        let output = self.tx(args);
        assert!(output.status.success(), "tx {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.done(&[args, &["--json"]].concat())).unwrap()
    }

    pub(crate) fn messages(&self) -> PathBuf {
        self.lab.project().join(".ai/tx/msgs")
    }

    /// A script for claude, which writes an outcome at its end.
    pub(crate) fn writes(&self, name: &str, status: &str) -> String {
        let file = self.messages().join(format!("{name}-{status}.md"));
        format!(
            "@@write {} ---\\nfrom: team/{name}\\nstatus: {status}\\nheadline: {name} says {status}\\n---\\n\\nAll of it.",
            file.display()
        )
    }

    /// The same for codex, by its shell.
    pub(crate) fn copies(&self, name: &str, status: &str) -> String {
        let text = format!(
            "---\nfrom: team/{name}\nstatus: {status}\nheadline: {name} says {status}\n---\n\nAll of it.\n"
        );
        let prepared = self.lab.path(&format!("{name}-{status}"));
        fs::write(&prepared, text).unwrap();
        let file = self.messages().join(format!("{name}-{status}.md"));
        format!("@@shell cp {} {}", prepared.display(), file.display())
    }

    /// A script for any CLI, which writes the outcome `complete` of the builder at its end, into a
    /// file of this name.
    pub(crate) fn outcome(&self, runtime: &str, name: &str) -> String {
        let script = match runtime {
            "codex" => self.copies("builder", "complete"),
            _ => self.writes("builder", "complete"),
        };
        script.replace("builder-complete.md", &format!("{name}.md"))
    }

    /// Wait for an outcome that is in this file.
    pub(crate) fn wrote(&self, name: &str) {
        let file = self.messages().join(format!("{name}.md"));
        wait_for(&format!("the outcome {name}"), || {
            file.exists().then_some(())
        });
    }

    /// The deliveries that the model was told of, each as often as it was told: the names of their
    /// files.
    pub(crate) fn deliveries(&self) -> Vec<String> {
        let mut told = Vec::new();
        for request in self.lab.requests() {
            let turns = request["turns"].as_array().unwrap();
            let last = turns.last().filter(|turn| turn[0] == "user");
            let text = last.map_or("", |turn| turn[1].as_str().unwrap());
            let (_, line) = text.rsplit_once("tx: ").unwrap_or_default();
            let file = line.split_whitespace().find(|word| word.ends_with(".md"));
            told.extend(file.map(str::to_owned));
        }
        told
    }

    pub(crate) fn send(&self, script: &str) {
        let body = format!("Do it.\n\n{script}\n");
        self.done(&["send", "team", &body, "--headline", "a task"]);
    }

    /// What has come for the human, once an outcome of this word is there.
    pub(crate) fn result(&self, status: &str) -> Value {
        wait_for(&format!("an outcome `{status}`"), || {
            let inbox = self.json(&["inbox", "--all"]);
            let mut all = inbox.as_array().unwrap().iter();
            all.find(|one| one["status"] == status).cloned()
        })
    }

    /// The same by its headline.
    pub(crate) fn headed(&self, headline: &str) -> Value {
        wait_for(&format!("\"{headline}\""), || {
            let inbox = self.json(&["inbox", "--all"]);
            let mut all = inbox.as_array().unwrap().iter();
            all.find(|one| one["headline"] == headline).cloned()
        })
    }

    /// The dead letters, once there is one.
    pub(crate) fn parked(&self) -> String {
        wait_for("a dead letter", || {
            let letters = self.done(&["dlq", "list", "--json"]);
            (letters.trim() != "[]").then_some(letters)
        })
    }

    /// The pane of the builder.
    pub(crate) fn pane(&self) -> String {
        let pane = self.json(&["status"])["workers"][0]["pane"].clone();
        pane.as_str().unwrap().to_owned()
    }

    pub(crate) fn peek(&self) -> String {
        self.done(&["worker", "peek", "team/builder"])
    }

    /// The question that waits for the human.
    pub(crate) fn ask(&self) -> Value {
        wait_for("a question", || {
            let asks = self.json(&["asks"]);
            asks.as_array().unwrap().first().cloned()
        })
    }

    pub(crate) fn state(&self, agent: &str) -> String {
        let status = self.json(&["status"]);
        let workers = status["workers"].as_array().unwrap();
        let worker = workers.iter().find(|worker| worker["agent"] == agent);
        worker
            .map_or("none", |worker| worker["state"].as_str().unwrap())
            .to_owned()
    }

    pub(crate) fn idle(&self, agent: &str) {
        wait_for("it to be idle", || {
            (self.state(agent) == "idle").then_some(())
        });
    }

    /// How often the model was told of a delivery: its line, as the newest text of a person.
    pub(crate) fn told(&self, turn: &str) -> usize {
        let told = |request: &&Value| {
            let turns = request["turns"].as_array().unwrap();
            let mut turns = turns.iter().rev();
            let last = turns.find(|turn| turn[0] == "user");
            last.is_some_and(|last| last[1].as_str().unwrap().contains(turn))
        };
        let requests = self.lab.requests();
        let last_of_turn = |request: &&Value| {
            let turns = request["turns"].as_array().unwrap();
            turns.last().is_some_and(|turn| turn[0] == "user")
        };
        requests.iter().filter(told).filter(last_of_turn).count()
    }

    /// No agent answers this ask, whatever it hides.
    pub(crate) fn refuses_an_agent(&self, id: &str) {
        let (tx, project) = (env!("CARGO_BIN_EXE_tx"), self.lab.project());
        let agent = ["env", "TX_ATTEMPT=/some/1", tx, "-C"];
        let answer = [project.to_str().unwrap(), "answer", id, "yes"];
        let refused = self.lab.run(&[&agent[..], &answer].concat());
        assert!(!refused.status.success(), "{refused:?}");
    }

    /// The processes of an agent that carry the mark of its attempts, without the wrapper.
    pub(crate) fn pids(&self, program: &str) -> Vec<i32> {
        let run = self.lab.project().join(".ai/tx/run");
        let mark = format!("TX_ATTEMPT={}", run.display());
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &i32| {
            let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let text = |name: &str| String::from_utf8_lossy(&read(name)).into_owned();
            let called = text("cmdline");
            // Its hooks are not the agent; its arguments may name them.
            let is_hook = called.contains("\0hook\0");
            text("environ").contains(&mark) && called.contains(program) && !is_hook
        })
        .collect()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for args in [
                &["status"][..],
                &["why", "team/builder"],
                &["inbox", "--all"],
            ] {
                let said = self.tx(args);
                let said = [said.stdout, said.stderr].concat();
                eprintln!("tx {args:?}:\n{}", String::from_utf8_lossy(&said));
            }
            let peeked = self.tx(&["worker", "peek", "team/builder"]).stdout;
            eprintln!("{}", String::from_utf8_lossy(&peeked).trim());
        }
        self.tx(&["stop", "--kill-agents"]);
    }
}

#[test]
fn team_claude_hands_over_to_codex_and_the_result_reaches_the_human() {
    let Some(team) = Team::start(&mesh("claude", "codex")) else {
        return;
    };
    let _claude = Case::of("claude", "pane", "task → outcome → routed → core");
    let _codex = Case::of("codex", "pane", "task → outcome → routed → core");
    // The reviewer is given the builder's own words, and does what they script.
    let review = team.copies("reviewer", "approved");
    let file = team.messages().join("builder.md");
    team.send(&format!(
        "@@write {} ---\\nfrom: team/builder\\nstatus: complete\\nheadline: built\\n---\\n\\n{review}",
        file.display()
    ));
    let result = team.result("approved");
    assert_eq!(result["from"], "team/reviewer", "{result}");
}

#[test]
fn team_claude_asks_for_permission_and_a_no_reaches_its_model() {
    let Some(team) = Team::start(&alone("claude", "pane")) else {
        return;
    };
    let _case = Case::of("claude", "pane", "permission: no agent can answer");
    let made = team.lab.project().join("made");
    let done = team.writes("builder", "complete");
    team.send(&format!("@@shell touch {} ;; {done}", made.display()));
    let ask = team.ask();
    assert_eq!(ask["kind"], "permission", "{ask}");
    assert!(ask["body"].as_str().unwrap().contains("touch"), "{ask}");
    let id = ask["id"].as_str().unwrap();
    team.refuses_an_agent(id);
    team.done(&["answer", id, "use cp instead"]);
    team.result("complete");
    assert!(!made.exists(), "it was denied");
    let log = fs::read_to_string(team.lab.path("model.jsonl")).unwrap();
    assert!(log.contains("use cp instead"), "the model was told");
    // The next is allowed, and only that one.
    team.idle("team/builder");
    let done = team
        .writes("builder", "complete")
        .replace("complete.md", "again.md");
    team.send(&format!("@@shell touch {} ;; {done}", made.display()));
    let next = team.ask();
    assert_ne!(next["id"], ask["id"]);
    let old = team.tx(&["answer", ask["id"].as_str().unwrap(), "yes"]);
    assert!(
        !old.status.success(),
        "a yes to one is not a yes to the next"
    );
    team.done(&["answer", next["id"].as_str().unwrap(), "yes"]);
    wait_for("what was allowed", || made.exists().then_some(()));
}

pub(crate) const DRAFT: &str =
    "a person's draft stays; the message arrives, or waits and tx says so";

/// A draft in the composer stays to the letter while the next message is given and done.
pub(crate) fn keeps_draft(runtime: &'static str) {
    let Some(team) = Team::start(&alone(runtime, "pane")) else {
        return;
    };
    let _case = Case::of(runtime, "pane", DRAFT);
    team.send(&team.outcome(runtime, "first"));
    team.wrote("first");
    team.idle("team/builder");
    team.lab.type_into(&team.pane(), "half a thought");
    wait_for("the draft", || {
        team.peek().contains("half a thought").then_some(())
    });
    team.send(&team.outcome(runtime, "second"));
    team.wrote("second");
    team.idle("team/builder");
    assert!(team.peek().contains("half a thought"), "{}", team.peek());
    assert_eq!(team.told("turn-2.md"), 1);
}

#[test]
fn team_claude_keeps_a_persons_draft_and_takes_its_message() {
    keeps_draft("claude");
}

#[test]
fn team_claude_is_resumed_with_its_session_after_kill_9() {
    let Some(team) = Team::start(&alone("claude", "pane")) else {
        return;
    };
    let _case = Case::of("claude", "pane", "kill -9 of the CLI while idle");
    team.send(&team.writes("builder", "complete"));
    team.result("complete");
    team.idle("team/builder");
    for pid in team.pids("claude") {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    std::thread::sleep(Duration::from_millis(500));
    let done = team
        .writes("builder", "complete")
        .replace("complete.md", "again.md");
    team.send(&done);
    wait_for("the second outcome", || {
        team.messages()
            .join("builder-again.md")
            .exists()
            .then_some(())
    });
    // It was resumed: the model is shown both tasks.
    let last = team.lab.requests().pop().unwrap().to_string();
    assert!(
        last.contains("turn-1.md") && last.contains("turn-2.md"),
        "{last}"
    );
    assert_eq!(team.told("turn-2.md"), 1, "once");
}

#[test]
fn team_codex_takes_two_tasks_in_one_conversation() {
    let Some(team) = Team::start(&alone("codex", "pane")) else {
        return;
    };
    let _case = Case::of("codex", "pane", "two tasks in one conversation");
    team.send(&team.copies("builder", "complete"));
    team.result("complete");
    team.idle("team/builder");
    // Long after its turn: by its own queue.
    std::thread::sleep(Duration::from_secs(3));
    team.send(
        &team
            .copies("builder", "complete")
            .replace("complete.md", "again.md"),
    );
    wait_for("the second outcome", || {
        team.messages()
            .join("builder-again.md")
            .exists()
            .then_some(())
    });
    assert_eq!(team.told("turn-2.md"), 1);
}
