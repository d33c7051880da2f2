//! What the doctor finds, and what it prescribes.

use std::fs::{self, File};
use std::os::unix::net::UnixListener;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::daemon::{StandIn, nothing_more};
use crate::story::Story;
use crate::tx::{Sandbox, run};

const QUIET: &str = "mesh: hello
agents:
  - { name: greeter, prompt: Greet., runtime: command, run: cat }
";

fn project() -> Sandbox {
    let sandbox = Sandbox::project();
    sandbox.write("meshes/hello/config.yaml", QUIET);
    sandbox
}

fn check(sandbox: &Sandbox, exit: i32, name: &str) -> Value {
    let found = sandbox.tx(["doctor", "--json"]).exits(exit).json();
    let checks = found["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name);
    check
        .unwrap_or_else(|| panic!("no {name}: {checks:#?}"))
        .clone()
}

#[test]
fn where_all_is_well_the_doctor_says_so() {
    let sandbox = project();
    let text = sandbox.tx(["doctor"]).ok().stdout;
    for part in [
        "✓ tmux",
        "✓ git",
        "✓ messages",
        "✓ journal",
        "✓ meshes",
        "✓ program cat",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('✗'), "{text}");
    let told = Story::told();
    let daemon = StandIn::of(told, nothing_more);
    let found = check(&daemon.sandbox, 0, "daemon");
    assert!(
        found["detail"]
            .as_str()
            .unwrap()
            .starts_with("running as process")
    );
}

#[test]
fn what_is_missing_is_a_finding_with_a_fix() {
    let sandbox = project();
    let mesh = QUIET.replace("run: cat", "run: no-such-program --fast");
    sandbox.write("meshes/hello/config.yaml", mesh);
    let found = check(&sandbox, 1, "program no-such-program");
    assert_eq!(found["ok"], false);
    assert_eq!(found["detail"], "is not there, for hello/greeter");
    assert!(found["fix"].as_str().unwrap().contains("install"));

    let sandbox = project();
    sandbox.write("meshes/broken/config.yaml", "mesh: broken\n");
    let found = check(&sandbox, 1, "meshes");
    assert_eq!(found["fix"], "`tx mesh check broken` says what is wrong");

    let sandbox = project();
    sandbox.write(".ai/tx/state/journal.db", "hello");
    let found = check(&sandbox, 1, "journal");
    assert!(found["detail"].as_str().unwrap().contains("not a journal"));

    let sandbox = project();
    let mut command = sandbox.command(["doctor"]);
    let ran = run(command.env("PATH", "/nowhere")).exits(1);
    assert!(ran.stdout.contains("✗ tmux"), "{ran:?}");
}

#[test]
fn what_was_left_behind_is_odd_and_no_finding() {
    let sandbox = project();
    let state = sandbox.path().join(".ai/tx/state");
    fs::create_dir_all(&state).unwrap();
    drop(UnixListener::bind(state.join("tx.sock")).unwrap());
    let found = check(&sandbox, 0, "daemon");
    assert!(found["fix"].as_str().unwrap().contains("tx start"));

    let left = sandbox.write(".ai/tx/msgs/.tx-abc", "half");
    assert_eq!(
        check(&sandbox, 0, "leftovers")["fix"],
        Value::Null,
        "it is young"
    );
    let old = SystemTime::now() - Duration::from_secs(7_200);
    let file = File::options().write(true).open(left).unwrap();
    file.set_modified(old).unwrap();
    let fix = check(&sandbox, 0, "leftovers")["fix"].clone();
    assert_eq!(fix, "`find .ai/tx/msgs -name '.tx-*' -mmin +60 -delete`");
}

#[test]
fn a_runtime_that_tx_does_not_have_is_named_as_such() {
    let sandbox = project();
    let shipped = check(&sandbox, 0, "runtime claude");
    assert!(shipped["detail"].as_str().unwrap().contains("(shipped)"));
    sandbox.write(
        "meshes/hello/config.yaml",
        "mesh: hello\nagents: [{ name: greeter, prompt: Greet., runtime: elsewhere }]\n",
    );
    let own = check(&sandbox, 1, "runtime elsewhere");
    let why = "tx has no such runtime, for hello/greeter";
    assert_eq!((&own["ok"], &own["detail"]), (&false.into(), &why.into()));
    let fix = own["fix"].as_str().unwrap();
    assert!(!fix.contains("install"), "{fix}");
}

#[test]
fn a_record_that_cannot_be_read_is_told_and_can_be_exported_and_the_rest_is_there() {
    let mut story = Story::told();
    story.ends_badly();
    let sandbox = story.end();
    let path = sandbox.path().join(".ai/tx/state/journal.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let raw = r#"{"arrived":{"path":"lost"#;
    connection
        .execute(
            "UPDATE events SET body = ? WHERE seq = (SELECT max(seq) FROM events WHERE kind = 'arrived')",
            [raw],
        )
        .unwrap();
    drop(connection);
    let export = || {
        sandbox
            .tx(["doctor", "--export", "out", "--json"])
            .ok()
            .json()
    };
    let found = sandbox.tx(["doctor", "--json"]).json();
    let checks = found["checks"].as_array().unwrap();
    let records = checks.iter().find(|check| check["name"] == "records");
    let records = records.expect("the record is told of");
    assert_eq!(
        records["ok"], true,
        "everything else keeps working: {records}"
    );
    assert!(records["fix"].as_str().unwrap().contains("--export DIR"));
    let exported = export();
    let file = exported["exported"][0].as_str().unwrap();
    assert_eq!(fs::read_to_string(sandbox.path().join(file)).unwrap(), raw);
    // A start has met it; from then on the status says so.
    drop(tx::journal::Store::open(&path).unwrap());
    let status = sandbox.tx(["status", "--json"]).ok().json();
    assert_eq!(status["quarantined"][0]["kind"], "arrived");
    let text = sandbox.tx(["status"]).ok().stdout;
    assert!(text.contains("1 record cannot be read"), "{text}");
}
