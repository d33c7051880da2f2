//! A new home with one of the CLIs, both, or none: from nothing to a result with three commands.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::lab::Lab;
use crate::matrix::Case;

const TX: &str = env!("CARGO_BIN_EXE_tx");

#[test]
fn from_nothing_to_a_result_with_whatever_is_installed() {
    for installed in [&["claude"][..], &["codex"], &["claude", "codex"], &[]] {
        let Some(lab) = Lab::open() else { return };
        let _cases: Vec<Case> = installed
            .iter()
            .map(|cli| Case::of(cli, "pane", "tx init --runtime auto in a new home"))
            .collect();
        // Only these, and tools.
        let bin = lab.path("lab/bin");
        let all = fs::read_link(&bin).unwrap();
        fs::remove_file(&bin).unwrap();
        fs::create_dir(&bin).unwrap();
        for cli in installed {
            symlink(all.join(cli), bin.join(cli)).unwrap();
        }
        symlink(TX, bin.join("tx")).unwrap();
        let project = lab.project();
        let runtime = installed.first().copied().unwrap_or("command");
        let run = |script: &str| {
            let script = format!("cd '{}' && {script}", project.display());
            lab.run(&["sh", "-c", &script])
        };
        if installed.contains(&"codex") {
            let login = run("printf dummy-not-a-key | codex login --with-api-key");
            assert!(login.status.success(), "{login:?}");
        }
        // The reviewer is given the builder's words, which script it.
        let bus = project.join(".ai/tx/msgs");
        let outcome = |agent: &str, body: &str| {
            format!(
                "---\nfrom: team/{agent}\nstatus: complete\nheadline: {agent} is done\n---\n\n{body}\n"
            )
        };
        let script = |agent: &str, text: &str| {
            let file = bus.join(format!("{agent}.md"));
            if runtime == "claude" {
                let call = json!({"file_path": file, "content": text});
                return format!("@@call Write {call}");
            }
            let prepared = lab.path(agent);
            fs::write(&prepared, text).unwrap();
            format!("@@shell cp {} {}", prepared.display(), file.display())
        };
        let review = script("reviewer", &outcome("reviewer", "It is good."));
        let task = script("builder", &outcome("builder", &review));
        fs::write(project.join("task"), format!("Do it.\n\n{task}\n")).unwrap();
        let begun = Instant::now();
        let ran = run(
            "tx init --runtime auto && tx start --detach && tx send team \"$(cat task)\" --wait",
        );
        let took = begun.elapsed();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        run("tx stop --kill-agents");
        assert!(ran.status.success(), "{installed:?}: {said}\n{errors}");
        assert!(took < Duration::from_secs(60), "{installed:?}: {took:?}");
        let settings = fs::read_to_string(project.join(".ai/tx/config.yaml")).unwrap();
        let chosen = format!("\nruntime: {runtime}");
        let chooses = !installed.is_empty();
        assert_eq!(settings.contains(&chosen), chooses, "{settings}");
        if installed.is_empty() {
            assert!(
                said.contains("npm install -g @anthropic-ai/claude-code"),
                "{said}"
            );
        } else {
            assert!(said.contains("reviewer is done"), "{installed:?}: {said}");
        }
    }
}
