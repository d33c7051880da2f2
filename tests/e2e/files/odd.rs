//! What is no message file, cannot be read, or has a name that would be more.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use tx::engine::Step;

use super::{GATE, MESH, accepted, task};
use crate::stage::{Project, TX, message, wait_for};

#[test]
fn what_is_no_message_file_is_told_about_and_nothing_outside_is_read() {
    let project = Project::started(&MESH);
    let bus = project.bus();
    // It is the only one at work, and has nothing to do with what comes.
    project.drop_file("sleeps.md", &task("sleeper", "sleeps"));
    project.wait_for_step("sleeps", Step::Delivered);
    // It would be a fine message, and lies outside.
    let secret = project.root().join("secret");
    fs::write(&secret, task("echo", "secret")).unwrap();
    fs::create_dir(bus.join("folder.md")).unwrap();
    fs::write(bus.join("folder.md/inner.md"), task("echo", "inner")).unwrap();
    symlink("nowhere", bus.join("dangling.md")).unwrap();
    symlink("/etc/passwd", bus.join("passwd.md")).unwrap();
    symlink(&secret, bus.join("secret.md")).unwrap();
    let fifo = bus.join("fifo.md");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(bus.join("socket.md")).unwrap();
    fs::write(bus.join("large.md"), vec![b'x'; 2 << 20]).unwrap();
    fs::write(bus.join("garbage.md"), [0xff, 0xfe, 0, 1, 2, 0x80]).unwrap();
    let all = [
        "folder.md",
        "dangling.md",
        "passwd.md",
        "secret.md",
        "fifo.md",
        "socket.md",
        "large.md",
        "garbage.md",
    ];
    let refused = wait_for("all to be refused", || {
        let refused = project.refused();
        (refused.len() >= all.len()).then_some(refused)
    });
    for name in all {
        let why = refused
            .get(name)
            .unwrap_or_else(|| panic!("{name}: {refused:?}"));
        assert!(!why.is_empty(), "{name}");
        assert!(!why.contains("root:"), "{why}");
    }
    assert_eq!(project.state().counts().parked, 0);
    let text = project.ok(&["status"]);
    assert!(
        text.contains("passwd.md") && text.contains("symbolic link"),
        "{text}"
    );
    // Nothing is told twice.
    let records = project.records("rejected");
    project.ok(&["stop"]);
    project.start();
    project.drop_file("next.md", &task("echo", "next"));
    project.wait_for_step("next", Step::Finished);
    assert_eq!(project.records("rejected"), records);
    assert_eq!(accepted(&project), ["sleeps", "next"]);
    // What is no markdown, or hidden, is nobody's.
    for name in ["x.txt", ".hidden.md", "md", "x.MD"] {
        project.drop_file(name, &task("echo", "unseen"));
    }
    project.drop_file("last.md", &task("echo", "last"));
    project.wait_for_step("last", Step::Finished);
    assert!(project.message("unseen").is_none());
}

#[test]
fn a_file_that_cannot_be_read_is_told_about_and_taken_when_it_can_be() {
    let project = Project::new(&MESH);
    start_unprivileged(&project);
    let path = project.bus().join("m.md");
    fs::write(project.bus().join(".m"), task("echo", "m")).unwrap();
    fs::set_permissions(project.bus().join(".m"), Permissions::from_mode(0o000)).unwrap();
    fs::rename(project.bus().join(".m"), &path).unwrap();
    let why = wait_for("the refusal", || project.refused().remove("m.md"));
    assert!(why.contains("Permission denied"), "{why}");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    project.wait_for_step("m", Step::Finished);
    assert!(project.refused().is_empty());
    // Its tmux is not ours to end.
    project.ok(&["stop", "--kill-agents"]);
}

/// Start tx as somebody who is not root, so that permissions count.
fn start_unprivileged(project: &Project) {
    const NOBODY: u32 = 65534;
    if !rustix::process::getuid().is_root() {
        return project.start();
    }
    // The program must be readable where that user looks for it; copied by another process,
    // so that no thread of ours holds it open for writing when it is started.
    let program = project.root().join("tx");
    let copied = Command::new("cp").arg(TX).arg(&program).status();
    assert!(copied.unwrap().success());
    let owned = Command::new("chown")
        .args(["-R", &NOBODY.to_string()])
        .arg(project.root())
        .status();
    assert!(owned.unwrap().success());
    let started = Command::new(program)
        .args(["start", "--detach"])
        .current_dir(project.root())
        .env_remove("TMUX")
        .env("HOME", project.root())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    assert!(started.status.success(), "{started:?}");
}

/// One that stays, is given paths, and keeps what is in those files.
const READER: &str = r#"
mesh: reader
agents: [{ name: a, runtime: command, mode: pane, run: [sh, "{mesh_dir}/read.sh"] }]
"#;

#[test]
fn a_file_may_have_any_name() {
    let read = format!(
        "{GATE}while IFS= read -r path; do cat \"$path\" >> \"$TX_ROOT/read\"; outcome; done\n"
    );
    let project = Project::started(&[
        MESH[0],
        ("reader/config.yaml", READER),
        ("reader/read.sh", &read),
    ]);
    let names: [&[u8]; 10] = [
        b"with spaces.md",
        b"quotes'\".md",
        b"line\nbreak.md",
        b"$(touch ran).md",
        b"`touch ran`.md",
        b"; touch ran #.md",
        b"-rf.md",
        b"bytes\xff\xfe.md",
        b"#{pane_id} %1.md",
        b"\x1b[31mred\x07.md",
    ];
    for (number, name) in names.iter().enumerate() {
        let id = format!("m{number}");
        fs::write(
            project.bus().join(OsStr::from_bytes(name)),
            task("echo", &id),
        )
        .unwrap();
    }
    for (number, name) in names.iter().enumerate() {
        let id = format!("r{number}");
        let text = message("core", "reader", &id, "", &format!("the words of {id}"));
        let name = [b"r", *name].concat();
        fs::write(project.bus().join(OsStr::from_bytes(&name)), text).unwrap();
    }
    for number in 0..names.len() {
        project.wait_for_step(&format!("m{number}"), Step::Finished);
        project.wait_for_step(&format!("r{number}"), Step::Finished);
        let read = fs::read_to_string(project.root().join("read")).unwrap();
        assert!(
            read.contains(&format!("the words of r{number}\n")),
            "{number}: {read}"
        );
    }
    for (number, name) in names.iter().enumerate() {
        fs::write(
            project.bus().join(OsStr::from_bytes(name)),
            format!("broken {number}"),
        )
        .unwrap();
    }
    let text = wait_for("all to be refused", || {
        let text = project.ok(&["status"]);
        let refused = project.json(&["status"]);
        (refused["rejections"].as_array()?.len() == names.len()).then_some(text)
    });
    assert!(!text.contains('\x1b') && !text.contains('\x07'), "{text:?}");
    let arrivals = project.arrivals();
    project.ok(&["stop"]);
    project.start();
    assert_eq!(project.arrivals(), arrivals);
    assert_eq!(project.state().counts().duplicates, 0);
    assert!(ran(&project).is_empty(), "{:?}", ran(&project));
}

/// What would be there if a text had been run.
fn ran(project: &Project) -> Vec<String> {
    let found = Command::new("find")
        .arg(project.outside())
        .args(["-name", "ran"])
        .output()
        .unwrap();
    String::from_utf8_lossy(&found.stdout)
        .lines()
        .map(Into::into)
        .collect()
}
