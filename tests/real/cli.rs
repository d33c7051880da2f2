//! What the tests of every CLI share: which there are, and what each was told.

use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::{Lab, wait_for};
use crate::team::{Team, alone_with};

/// A CLI, and how its process lives.
pub(crate) type Cli = (&'static str, &'static str);

/// claude and codex in both modes.
pub(crate) const BOTH: [Cli; 4] = [
    ("claude", "pane"),
    ("claude", "turn"),
    ("codex", "pane"),
    ("codex", "turn"),
];

/// Those, and each of the others in the mode that it has by default; gemini and opencode in the
/// other mode too.
pub(crate) const EVERY: [Cli; 10] = [
    ("claude", "pane"),
    ("claude", "turn"),
    ("codex", "pane"),
    ("codex", "turn"),
    ("gemini", "turn"),
    ("gemini", "pane"),
    ("opencode", "pane"),
    ("opencode", "turn"),
    ("pi", "turn"),
    ("aider", "turn"),
];

/// All of [`EVERY`] but these.
pub(crate) fn every_but(these: &[Cli]) -> Vec<Cli> {
    let clis = EVERY.into_iter();
    clis.filter(|cli| !these.contains(cli)).collect()
}

/// Run a test with each of them that the lab has and that `TX_CLIS` names, if it is set (`gemini
/// pane, opencode turn`), whether or not it fails with another.
pub(crate) fn each(clis: &[Cli], test: impl Fn(Cli)) {
    let named = std::env::var("TX_CLIS").unwrap_or_default();
    let is_named = |(name, mode): Cli| {
        let mut each = named.split(',').map(str::trim);
        named.is_empty() || each.any(|one| one == format!("{name} {mode}"))
    };
    let fails = |cli: &&Cli| {
        let runs = is_named(**cli) && is_installed(cli.0);
        runs && catch_unwind(AssertUnwindSafe(|| test(**cli))).is_err()
    };
    let failed: Vec<&Cli> = clis.iter().filter(fails).collect();
    assert!(failed.is_empty(), "it fails with {failed:?}");
}

/// Is this CLI in the lab? If it is not, that is said.
pub(crate) fn is_installed(cli: &str) -> bool {
    let Some(lab) = std::env::var_os("TX_LAB").filter(|lab| !lab.is_empty()) else {
        // Whoever opens the lab says so.
        return true;
    };
    let is = Path::new(&lab).join("bin").join(cli).exists();
    if !is {
        let said = format!("\n*** SKIPPED: the lab of TX_LAB has no {cli} ***\n");
        std::io::stderr().write_all(said.as_bytes()).unwrap();
    }
    is
}

/// A team of one that may run its shell, where its CLI can be told so.
pub(crate) fn team((cli, mode): Cli) -> Option<Team> {
    team_in(Lab::open()?, (cli, mode), "prompt: You build.", &[])
}

/// The same in this lab, with these fields and changes of the environment.
pub(crate) fn team_in(lab: Lab, (cli, mode): Cli, fields: &str, env: &[&str]) -> Option<Team> {
    // The others may run it, or take no notice of the list.
    let fields = match cli {
        "claude" => format!("{fields}, permissions: {{allowedTools: [Bash]}}"),
        _ => fields.to_owned(),
    };
    Some(Team::start_in(lab, &alone_with(cli, mode, &fields), env))
}

pub(crate) fn kill(pids: Vec<i32>) {
    assert!(!pids.is_empty(), "nothing to kill");
    for pid in pids {
        // It may be gone by now.
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}

/// The processes that name this in their command line.
pub(crate) fn naming(what: &Path) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let called = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&called).contains(what.to_str().unwrap())
    })
    .collect()
}

impl Team {
    /// What the model was asked by this CLI. aider gives it no tools, and has it sum up what was
    /// before as well.
    pub(crate) fn asked(&self, cli: &str) -> Vec<Value> {
        if cli != "aider" {
            return self.lab.requests();
        }
        let log = fs::read_to_string(self.lab.path("model.jsonl")).unwrap_or_default();
        let all = log.lines().map(|line| serde_json::from_str(line).unwrap());
        all.filter(|request: &Value| {
            let system = request["system"].as_str().unwrap_or_default();
            request["turns"].is_array() && !system.contains("summarize this partial conversation")
        })
        .collect()
    }

    /// How often a turn was begun with a text that has this in it.
    pub(crate) fn begun(&self, cli: &str, text: &str) -> usize {
        let begins = |request: &&Value| {
            let turns = request["turns"].as_array().unwrap();
            let last = turns.last().filter(|turn| turn[0] == "user");
            last.is_some_and(|last| last[1].as_str().unwrap().contains(text))
        };
        self.asked(cli).iter().filter(begins).count()
    }

    /// Give it a task under a headline, by which the task is known in the model's log.
    pub(crate) fn give(&self, headline: &str, script: &str) {
        let body = format!("Do it.\n\n{script}\n");
        self.done(&["send", "team", &body, "--headline", headline]);
    }

    /// How many processes of the builder were started.
    pub(crate) fn processes(&self) -> usize {
        let run = self.lab.project().join(".ai/tx/run/team/builder");
        let entries = fs::read_dir(run).unwrap().flatten();
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name.parse::<u32>().is_ok()).count()
    }

    pub(crate) fn daemon(&self) -> i32 {
        let pid = self.json(&["status"])["daemon"]["pid"].as_i64().unwrap();
        i32::try_from(pid).unwrap()
    }

    pub(crate) fn tmux_pids(&self) -> Vec<i32> {
        naming(&self.lab.project().join(".ai/tx/state/tmux.sock"))
    }

    /// Kill the daemon, and start another.
    pub(crate) fn kill_tx(&self) {
        self.kill_with_tx(Vec::new());
    }

    /// Kill the daemon, tmux and all agents, and start tx again.
    pub(crate) fn kill_everything(&self) {
        self.kill_with_tx([self.tmux_pids(), self.pids("")].concat());
    }

    fn kill_with_tx(&self, more: Vec<i32>) {
        kill([vec![self.daemon()], more].concat());
        wait_for("its end", || {
            (!self.json(&["status"])["daemon"]["running"].as_bool()?).then_some(())
        });
        self.done(&["start", "--detach"]);
    }
}
