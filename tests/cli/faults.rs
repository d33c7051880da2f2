//! Folders that cannot be written, disks that are full, files that cannot be read.

use crate::tx::{Ran, Sandbox, TX, run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

const NOBODY: u32 = 65534;

/// The program as somebody who is not root, so that permissions count.
fn unprivileged(sandbox: &Sandbox, args: &[&str]) -> Ran {
    let mut command = sandbox.command(args);
    if is_root() {
        // The program must be readable where that user looks for it.
        let program = sandbox.path().join("tx");
        if !program.exists() {
            // By another process: no thread of ours may hold it open for writing
            // when it is started.
            let copied = Command::new("cp").arg(TX).arg(&program).status();
            assert!(copied.expect("cp starts").success());
        }
        for path in [sandbox.path(), &program] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))
                .expect("permissions can be set");
        }
        command = Command::new(program);
        command
            .args(args)
            .current_dir(sandbox.path())
            .env_clear()
            .uid(NOBODY)
            .gid(NOBODY);
    }
    run(&mut command)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| std::os::unix::fs::MetadataExt::uid(&found) == 0)
}

#[test]
fn a_read_only_folder_is_one_clear_line() {
    let sandbox = Sandbox::project();
    let bus = sandbox.path().join(".ai/tx/msgs");
    fs::set_permissions(&bus, fs::Permissions::from_mode(0o555)).unwrap();
    unprivileged(&sandbox, &["send", "hello", "x"])
        .exits(1)
        .complains("Permission denied", 2);
    unprivileged(&sandbox, &["init", "sub"])
        .exits(1)
        .complains("cannot be written", 2);
    assert_eq!(sandbox.bus(), [""; 0]);
}

#[test]
fn an_unreadable_file_is_said_so() {
    let sandbox = Sandbox::project();
    let file = sandbox.write("m.md", "---\nto: a\nfrom: b/c\n---\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = unprivileged(&sandbox, &["check", "m.md"]).exits(1);
    assert!(
        ran.stdout.contains("TX0007") && ran.stdout.contains("Permission denied"),
        "{ran:#?}"
    );
    let config = sandbox.path().join("meshes/hello/config.yaml");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = unprivileged(&sandbox, &["mesh", "check"]).exits(1);
    assert!(ran.stdout.contains("TX0007"), "{ran:#?}");
    fs::set_permissions(
        sandbox.path().join("meshes"),
        fs::Permissions::from_mode(0o000),
    )
    .unwrap();
    unprivileged(&sandbox, &["mesh", "list"])
        .exits(1)
        .complains("Permission denied", 2);
    fs::set_permissions(
        sandbox.path().join("meshes"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
}

/// A limit on file sizes fails a write half-way, as a full disk does.
#[test]
fn a_write_that_fails_half_way_leaves_nothing() {
    let sandbox = Sandbox::project();
    let body = "x".repeat(100_000);
    let script = "ulimit -f 4; exec \"$0\" send hello -";
    let mut shell = Command::new("bash");
    shell
        .args(["-c", script, TX])
        .current_dir(sandbox.path())
        .env_clear();
    let input = sandbox.write("body", &body);
    shell.stdin(fs::File::open(input).unwrap());
    run(&mut shell).exits(1).complains("File too large", 2);
    assert_eq!(sandbox.bus(), [""; 0]);
}

/// A file system of 64 KiB, filled. Needs root and mount.
#[test]
fn a_full_disk_is_one_clear_line() {
    let sandbox = Sandbox::project();
    let bus = sandbox.path().join(".ai/tx/msgs");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(&bus)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        eprintln!(
            "SKIPPED: a small file system cannot be mounted here; the file-size limit stands in for it"
        );
        return;
    }
    fs::write(bus.join("filler"), vec![0; 60 * 1024]).unwrap();
    let sent = sandbox.tx_with_input(&["send", "hello", "-"], &vec![b'x'; 50_000]);
    let left = sandbox.bus();
    let unmounted = Command::new("umount").arg(&bus).status().unwrap();
    assert!(unmounted.success());
    sent.exits(1).complains("No space left", 2);
    assert_eq!(left, ["filler"]);
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let sandbox = Sandbox::empty();
    let mut command = sandbox.command(["mesh", "list"]);
    command.stdout(
        fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap(),
    );
    run(&mut command).exits(1).complains("No space left", 1);
}

#[test]
fn a_killed_send_leaves_no_half_message() {
    let sandbox = Sandbox::project();
    let input = sandbox.write("body", "x".repeat(900_000));
    for wait in 0..40 {
        let mut child = sandbox
            .command(["send", "hello", "-"])
            .stdin(fs::File::open(&input).unwrap())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let began = std::time::Instant::now();
        while began.elapsed().as_micros() < wait * 250 {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let whole: Vec<String> = sandbox
        .bus()
        .into_iter()
        .filter(|name| !name.starts_with('.'))
        .collect();
    for name in &whole {
        let path = format!(".ai/tx/msgs/{name}");
        let answer = sandbox.tx(["check", "--json", &path]).ok().json();
        assert_eq!(
            answer["files"][0]["message"]["body"]
                .as_str()
                .unwrap()
                .len(),
            900_000
        );
    }
}
