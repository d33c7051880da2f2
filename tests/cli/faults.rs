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
            .env("PATH", "/usr/bin:/bin")
            .uid(NOBODY)
            .gid(NOBODY);
    }
    // It is another's project.
    command.env("TX_ROOT", sandbox.path());
    run(&mut command)
}

/// Past the test harness, which hides what a passing test says.
fn skip_loudly(why: &str) {
    let tty = fs::OpenOptions::new().write(true).open("/proc/self/fd/2");
    let line = format!("SKIPPED: {why}\n");
    let written =
        tty.and_then(|mut stderr| std::io::Write::write_all(&mut stderr, line.as_bytes()));
    written.unwrap_or_else(|_| eprint!("{line}"));
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
    // One folder that cannot be read takes nothing from the others.
    let meshes = sandbox.path().join("meshes/hello");
    fs::set_permissions(&meshes, fs::Permissions::from_mode(0o000)).unwrap();
    let list = unprivileged(&sandbox, &["mesh", "list"]).ok();
    assert!(
        list.stdout.contains("hello             does not load"),
        "{}",
        list.stdout
    );
    assert!(list.stdout.contains("council"), "{}", list.stdout);
    let check = unprivileged(&sandbox, &["mesh", "check"]).exits(1);
    assert!(
        check.stdout.contains("meshes/hello:1:1"),
        "{}",
        check.stdout
    );
    unprivileged(&sandbox, &["send", "hello", "x"])
        .exits(6)
        .complains("tx mesh check hello", 2);
    fs::set_permissions(&meshes, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn nobody_to_talk_to_is_no_reason_to_fail() {
    let sandbox = Sandbox::project();
    let full = || {
        fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    for (args, code) in [
        (&["send", "hello", "x"][..], 0),
        (&["send", "nosuch", "x"], 6),
        (&["send", "hello", "x", "--front", "feature=../x"], 1),
    ] {
        run(sandbox.command(args).stderr(full())).exits(code);
    }
    assert_eq!(sandbox.bus().len(), 1);
    let unheard = run(sandbox.command(["send", "hello", "x"]).stdout(full())).exits(1);
    assert!(
        unheard.stderr.contains("the message was sent"),
        "{unheard:#?}"
    );
    assert_eq!(sandbox.bus().len(), 2);
}

#[test]
fn a_folder_whose_name_is_not_utf_8_is_a_folder() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::empty();
    let odd = sandbox.path().join(std::ffi::OsStr::from_bytes(b"n\xff"));
    fs::create_dir(&odd).unwrap();
    for args in [
        &["init", "--json"][..],
        &["send", "hello", "x", "--json"],
        &["mesh", "check", "--json"],
    ] {
        run(sandbox.command(args).current_dir(&odd)).ok().json();
    }
}

#[test]
fn the_umask_is_obeyed() {
    let sandbox = Sandbox::project();
    let script = "umask 077; exec \"$0\" send hello secret";
    run(Command::new("sh")
        .args(["-c", script, TX])
        .current_dir(sandbox.path()))
    .ok();
    let file = sandbox.path().join(".ai/tx/msgs").join(&sandbox.bus()[0]);
    let mode = fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_bus_that_is_no_folder_is_said_so() {
    let sandbox = Sandbox::project();
    fs::remove_dir(sandbox.path().join(".ai/tx/msgs")).unwrap();
    sandbox.write(".ai/tx/msgs", "a file");
    sandbox
        .tx(["send", "hello", "x"])
        .exits(1)
        .complains("check that it is a folder", 2);
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
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
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
        skip_loudly(
            "a small file system cannot be mounted here; the file-size limit stands in for it",
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
    let rounds = crate::tx::soak(60, 2000);
    // The moments of the kills are spread over the time that one send takes.
    let send = || {
        let mut command = sandbox.command(["send", "hello", "-"]);
        command.stdin(fs::File::open(&input).unwrap());
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.spawn().unwrap()
    };
    let timed = |_| {
        let began = std::time::Instant::now();
        assert!(send().wait().unwrap().success());
        began.elapsed()
    };
    let whole = (0..5).map(timed).min().unwrap();
    let mut killed = 0;
    for round in 0..rounds {
        let mut child = send();
        let began = std::time::Instant::now();
        let moment = whole.mul_f64(1.2 * round as f64 / rounds as f64);
        while began.elapsed() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());
    }
    let (temporary, sent): (Vec<String>, Vec<String>) = sandbox
        .bus()
        .into_iter()
        .partition(|name| name.starts_with('.'));
    assert!(
        killed > rounds / 10 && !sent.is_empty(),
        "{killed} killed, {} sent",
        sent.len()
    );
    assert!(temporary.iter().all(|name| name.starts_with(".tx-")));
    let paths: Vec<String> = sent
        .iter()
        .map(|name| format!(".ai/tx/msgs/{name}"))
        .collect();
    let answer = sandbox
        .tx(["check", "--json"]
            .map(String::from)
            .into_iter()
            .chain(paths))
        .ok()
        .json();
    for file in answer["files"].as_array().unwrap() {
        assert_eq!(file["message"]["body"].as_str().unwrap().len(), 900_000);
    }
}
