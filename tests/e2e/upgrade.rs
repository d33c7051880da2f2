//! A project that an older tx left under kill -9 goes on with this one.
//!
//! In every test run the older tx is a folder that it left once. With `TX_OLDER`, the path of
//! its program, it is started, killed, and its processes are still there. With `TX_UPDATE`
//! too, the folder is kept for the test runs.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tx::engine::Step;

use crate::stage::{Project, message, tmux, wait_for};

const MESH: &str = "mesh: old\nagents:\n  \
    - { name: slow, runtime: command, run: [sh, '{mesh_dir}/slow.sh'] }\n  \
    - { name: asker, runtime: command, run: [sh, '{mesh_dir}/asker.sh'] }\n  \
    - { name: stays, runtime: command, mode: pane, run: [sh, '{mesh_dir}/stays.sh'] }\n";

/// Works until all is well.
const SLOW: &str = r#"
echo slow >> "$TX_ROOT/began"
while [ ! -e "$TX_ROOT/well" ]; do sleep 0.1; done
echo done
"#;

/// Asks the human once.
const ASKER: &str = r#"
ask=$TX_ROOT/.ai/tx/msgs/which.md
if [ ! -e "$ask" ]; then
    printf -- '---\nfrom: old/asker\nto: core\nmsg-id: which\nheadline: Which one?\n---\n\nWhich?\n' > "$ask.part"
    mv "$ask.part" "$ask"
else
    echo "took it"
fi
"#;

/// Stays, and works like the first.
const STAYS: &str = r#"
while read -r file; do
    echo stays >> "$TX_ROOT/began"
    while [ ! -e "$TX_ROOT/well" ]; do sleep 0.1; done
    id=$(sed -n 's/^msg-id: //p' "$file")
    printf -- '---\nfrom: old/stays\nmsg-id: did-%s\nstatus: complete\nheadline: Done\n---\n\nDone.\n' "$id" \
        > "$TX_ROOT/.ai/tx/msgs/did-$id.md"
done
"#;

const TASKS: [(&str, &str); 4] = [
    ("s1", "old/slow"),
    ("s2", "old/slow"),
    ("a1", "old/asker"),
    ("p1", "old/stays"),
];

fn fixture() -> PathBuf {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e");
    PathBuf::from(tests).join("left_by_format_1.tar.gz")
}

fn tar(arguments: &[OsString]) {
    let ran = Command::new("tar").args(arguments).status().unwrap();
    assert!(ran.success(), "tar {arguments:?}");
}

/// The older tx gives work to all, and is killed in the middle of it.
fn leave(project: &Project, older: &OsString) {
    let files = [
        ("config.yaml", MESH),
        ("slow.sh", SLOW),
        ("asker.sh", ASKER),
        ("stays.sh", STAYS),
    ];
    for (name, text) in files {
        project.write(&format!("meshes/old/{name}"), text);
    }
    let run = |arguments: &[&str]| {
        let like = project.command(arguments);
        let mut command = Command::new(older);
        command.args(like.get_args());
        command.env("HOME", project.outside()).env_remove("TMUX");
        let ran = command.output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    run(&["start", "--detach"]);
    for (id, to) in TASKS {
        project.drop_file(&format!("{id}.md"), &message("core", to, id, "", "work"));
    }
    project.drop_file("bad.md", "---\nto: old\n---\n\nFrom nobody.\n");
    wait_for("all to be under way", || {
        let began = fs::read_to_string(project.root().join("began")).unwrap_or_default();
        let both = began.contains("slow") && began.contains("stays");
        (both && run(&["--json", "asks"]).contains("which")).then_some(())
    });
    project.kill_daemon();
    if std::env::var_os("TX_UPDATE").is_some() {
        tmux(project.socket(), &["kill-server"]);
        let root = project.root().into();
        let (into, all) = ("-czf".into(), ["meshes".into(), ".ai".into()]);
        let arguments = [into, fixture().into(), "-C".into(), root];
        tar(&[&arguments[..], &all[..]].concat());
    }
}

#[test]
fn a_project_that_an_older_tx_left_goes_on() {
    let project = Project::new(&[]);
    match std::env::var_os("TX_OLDER") {
        Some(older) => leave(&project, &older),
        None => {
            let root = project.root().into();
            tar(&["-xzf".into(), fixture().into(), "-C".into(), root]);
        }
    }
    project.start();
    let asks = project.json(&["asks"]);
    assert_eq!(asks[0]["id"], "which", "{asks}");
    project.ok(&["answer", "which", "the first"]);
    project.write("well", "");
    for (id, _) in TASKS {
        project.wait_for_step(id, Step::Finished);
    }
    let refused = project.refused();
    assert!(refused.contains_key("bad.md"), "{refused:?}");
    let shown = project.ok(&["inbox", "--all"]);
    let of = |agent: &str| shown.lines().filter(|line| line.contains(agent)).count();
    assert_eq!((of("old/slow"), of("old/stays")), (2, 1), "{shown}");
}
