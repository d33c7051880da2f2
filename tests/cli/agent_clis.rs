//! Agent CLIs that are here or not, logged in or not: what `tx init --runtime` makes of them, and
//! what the doctor says. The CLIs are scripts that answer what tx asks them.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::tx::{Ran, Sandbox, run};

const CLAUDE: &str = "2.1.325 (Claude Code)";
const CODEX: &str = "codex-cli 0.166.0";

/// A CLI of this name that says its version, and whether somebody is logged in.
fn install(sandbox: &Sandbox, name: &str, version: &str, logged_in: bool) {
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> \"$0.calls\"\ncase \"$*\" in\n--version) echo '{version}';;\n\
         'auth status'|'login status') exit {};;\n*) exit 7;;\nesac\n",
        i32::from(!logged_in)
    );
    let path = sandbox.write(&format!("bin/{name}"), script);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// tx where only these CLIs and a few tools are: the machine may have agent CLIs of its own.
fn tx(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let bin = sandbox.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    for tool in ["sh", "tmux", "git"] {
        let _ = symlink(Path::new("/usr/bin").join(tool), bin.join(tool));
    }
    run(sandbox.command(args).env("PATH", &bin))
}

fn read(sandbox: &Sandbox, path: &str) -> String {
    fs::read_to_string(sandbox.path().join(path)).unwrap()
}

/// What the doctor says of one runtime.
fn check(sandbox: &Sandbox, name: &str) -> Value {
    let found = tx(sandbox, &["doctor", "--json"]).json();
    let checks = found["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name);
    check
        .unwrap_or_else(|| panic!("no {name}: {checks:#?}"))
        .clone()
}

/// Who runs each agent of the team.
fn runtimes(sandbox: &Sandbox) -> [Value; 2] {
    let mesh = tx(sandbox, &["mesh", "show", "team", "--json"]).ok().json();
    ["builder", "reviewer"].map(|agent| mesh["agents"][agent]["runtime"].clone())
}

#[test]
fn auto_takes_the_first_that_is_installed_and_logged_in() {
    let no_claude = "claude    is not installed: `npm install -g @anthropic-ai/claude-code`, then `claude auth login`";
    let no_codex = "codex     is not installed: `npm install -g @openai/codex`, then `codex login`";
    for (installed, expected, words) in [
        (
            &[("claude", CLAUDE, true)][..],
            "claude",
            &["\n\nclaude    is installed and logged in\n\nNext"][..],
        ),
        (
            &[("codex", CODEX, true)],
            "codex",
            &["\n\ncodex     is installed and logged in\n\nNext"],
        ),
        (
            &[("claude", CLAUDE, true), ("codex", CODEX, true)],
            "claude",
            &[],
        ),
        (
            &[("claude", CLAUDE, false), ("codex", CODEX, true)],
            "codex",
            &["claude    is installed, and nobody is logged in: `claude auth login`"],
        ),
        (
            &[("opencode", "1.18.3", true)],
            "opencode",
            &["opencode  is installed\n"],
        ),
        (
            &[],
            "command",
            &[no_claude, no_codex, "run `tx init --runtime auto` again"],
        ),
        (
            &[("codex", CODEX, false)],
            "command",
            &["nobody is logged in: `codex login`"],
        ),
    ] {
        let sandbox = Sandbox::empty();
        for (name, version, logged_in) in installed {
            install(&sandbox, name, version, *logged_in);
        }
        let said = tx(&sandbox, &["init", "--runtime", "auto"]).ok().stdout;
        for words in words.iter().chain(&["tx send team"]) {
            assert!(said.contains(words), "{words}\nis not in\n{said}");
        }
        assert_eq!(runtimes(&sandbox), [expected, expected], "{installed:?}");
        let line = match expected {
            "command" => "# runtime: claude\n".to_owned(),
            name => format!("\nruntime: {name}\n"),
        };
        assert!(
            read(&sandbox, ".ai/tx/config.yaml").contains(&line),
            "{expected}"
        );
        tx(&sandbox, &["mesh", "check", "team", "--strict"]).ok();
        tx(&sandbox, &["send", "team", "Hi"]).ok();
        if expected != "command" {
            let shipped = tx(&sandbox, &["mesh", "check", "dev-review"]).ok();
            assert!(!shipped.stdout.contains("TX0320"), "{shipped:?}");
        }
    }
}

#[test]
fn two_runtimes_are_mixed_and_what_is_missing_is_said() {
    let sandbox = Sandbox::empty();
    install(&sandbox, "claude", CLAUDE, true);
    let ran = tx(&sandbox, &["init", "--runtime", "claude,codex"]).ok();
    assert!(
        ran.stdout.contains("codex     is not installed: `npm"),
        "{ran:?}"
    );
    assert_eq!(runtimes(&sandbox), ["claude", "codex"]);
    tx(&sandbox, &["mesh", "check", "team", "--strict"]).exits(1);
    install(&sandbox, "codex", CODEX, true);
    tx(&sandbox, &["mesh", "check", "team", "--strict"]).ok();

    for (wanted, says) in [
        ("cluade", "there is no runtime `cluade`"),
        ("claude,codex,claude", "3 runtimes for two agents"),
    ] {
        let sandbox = Sandbox::empty();
        tx(&sandbox, &["init", "--runtime", wanted])
            .exits(1)
            .complains(says, 2);
        assert!(!sandbox.path().join(".ai").exists(), "nothing is written");
    }
}

#[test]
fn a_project_that_is_there_is_completed_and_nothing_in_it_is_overwritten() {
    let sandbox = Sandbox::empty();
    install(&sandbox, "codex", CODEX, true);
    let settings = sandbox.write(".ai/tx/config.yaml", "notify: { popup: true }\n");
    let prompt = sandbox.write("meshes/team/prompts/builder.md", "Mine.\n");
    let made = tx(&sandbox, &["init", "--runtime", "codex", "--json"])
        .ok()
        .json();
    assert_eq!(made["kept"], json!([settings, prompt]));
    assert_eq!(
        made["runtimes"],
        json!([{"runtime": "codex", "state": "logged-in"}])
    );
    assert_eq!(read(&sandbox, "meshes/team/prompts/builder.md"), "Mine.\n");
    // The settings do not say it: the mesh does.
    assert_eq!(runtimes(&sandbox), ["codex", "codex"]);
    let again = tx(&sandbox, &["init", "--runtime", "codex"]).ok().stdout;
    assert!(!again.contains("created"), "{again}");
    assert!(again.contains("write `runtime: codex` there"), "{again}");
    assert!(again.contains("meshes/team was kept as it is"), "{again}");
}

#[test]
fn the_doctor_tells_version_and_login_and_the_command_that_fixes_them() {
    let sandbox = Sandbox::empty();
    install(&sandbox, "claude", CLAUDE, true);
    tx(&sandbox, &["init", "--runtime", "claude"]).ok();
    let calls = |of: &str| {
        let calls = read(&sandbox, "bin/claude.calls");
        calls.lines().filter(|call| *call == of).count()
    };
    let found = check(&sandbox, "runtime claude");
    assert_eq!(
        found["detail"],
        "2.1.325, logged in; for team/builder, team/reviewer"
    );
    assert_eq!((&found["ok"], &found["fix"]), (&json!(true), &Value::Null));
    check(&sandbox, "runtime claude");
    assert_eq!(calls("--version"), 1, "the answer is kept");

    install(&sandbox, "claude", "3.0.1 (Claude Code)", false);
    let later = SystemTime::now() + Duration::from_secs(5);
    let file = File::options()
        .write(true)
        .open(sandbox.path().join("bin/claude"));
    file.unwrap().set_modified(later).unwrap();
    let found = check(&sandbox, "runtime claude");
    let detail = "3.0.1, not tested with tx, nobody is logged in; for team/builder, team/reviewer";
    assert_eq!(found["detail"], detail);
    let fix = "`claude auth login`; it may work; tx was tested with versions that begin with 2.1.";
    assert_eq!((&found["ok"], &found["fix"]), (&json!(true), &json!(fix)));

    fs::remove_file(sandbox.path().join("bin/claude")).unwrap();
    let found = check(&sandbox, "runtime claude");
    assert_eq!(found["ok"], false);
    assert_eq!(
        found["detail"],
        "`claude` is not installed, for team/builder, team/reviewer"
    );
    let fix = "`npm install -g @anthropic-ai/claude-code`, then `claude auth login`";
    assert_eq!(found["fix"], fix);
}

#[test]
fn the_runtime_of_the_project_runs_the_meshes_that_name_none() {
    let sandbox = Sandbox::empty();
    install(&sandbox, "codex", CODEX, true);
    sandbox.write(".ai/tx/config.yaml", "runtime: codex\n");
    let shown = tx(&sandbox, &["mesh", "show", "dev-review", "--json"])
        .ok()
        .json();
    assert_eq!(shown["agents"]["tester"]["runtime"], "codex");
    tx(&sandbox, &["send", "dev-review", "Hi"]).ok();
    let found = check(&sandbox, "runtime codex");
    assert_eq!(found["ok"], true, "{found}");
    sandbox.write(".ai/tx/config.yaml", "");
    let refused = tx(&sandbox, &["send", "dev-review", "Hi"]).exits(6);
    assert!(refused.stderr.contains("`claude`"), "{refused:?}");
    // An unknown runtime in the settings is an error.
    sandbox.write(".ai/tx/config.yaml", "runtime: cdex\n");
    let found = check(&sandbox, ".ai/tx/config.yaml");
    assert!(
        found["detail"].as_str().unwrap().contains("TX0120"),
        "{found}"
    );
}

#[test]
fn a_version_that_was_not_tested_is_said_and_run_a_turn_at_a_time() {
    let sandbox = Sandbox::empty();
    install(&sandbox, "claude", "9.0.1 (Claude Code)", true);
    tx(&sandbox, &["init", "--runtime", "claude"]).ok();
    let checked = tx(&sandbox, &["mesh", "check", "--json"]).json();
    let text = checked.to_string();
    assert!(text.contains("TX0322"), "{text}");
    assert!(
        text.contains(
            "tx was not tested with claude 9.0.1: its agents run a process for each turn"
        ),
        "{text}"
    );
    install(&sandbox, "claude", CLAUDE, true);
    File::open(sandbox.path().join("bin/claude"))
        .unwrap()
        .set_modified(SystemTime::now() + Duration::from_secs(5))
        .unwrap();
    let text = tx(&sandbox, &["mesh", "check", "--json"])
        .json()
        .to_string();
    assert!(!text.contains("TX0322"), "{text}");
}
