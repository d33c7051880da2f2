//! Both variants tell the same of processes and files.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, getpid};

use super::{
    all_processes, environment_of, exists, foreground_group_of, gone, is_dead, lock_holder,
    open_files, parent_of, processes_with, program_of, session_of,
};
use crate::daemon::signals::of_session;

/// A shell that leads a session of its own, until its standard input is closed. The session of the
/// test may be led from outside of its container, where it has no number.
struct Leader(Child);

impl Leader {
    fn start(first: &str) -> Leader {
        let mut leader = Command::new("setsid")
            .args(["sh", "-c", &format!("{first} echo; read -r _")])
            .env("TX_LEADER", "yes")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        let out = leader.stdout.as_mut().unwrap();
        out.read_exact(&mut line).unwrap();
        Leader(leader)
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn a_process_is_known_by_its_session_parent_environment_and_program() {
    let leader = Leader::start("");
    let pid = leader.pid();
    assert!(exists(pid) && !is_dead(pid) && all_processes().contains(&pid));
    assert_eq!(session_of(pid), Some(pid));
    assert_eq!(parent_of(pid), Some(getpid()));
    assert_eq!(of_session(pid), [pid]);
    assert_eq!(foreground_group_of(pid), None, "it has no terminal");
    assert!(environment_of(pid).contains(&OsString::from("TX_LEADER=yes")));
    let shell = Path::new("/bin/sh").canonicalize().unwrap();
    assert_eq!(program_of(pid), Some(shell));
    leader.end();
    assert!(!exists(pid) && is_dead(pid));
}

#[tokio::test]
async fn the_end_of_a_process_is_noticed() {
    let mut leader = Leader::start("");
    drop(leader.0.stdin.take());
    let noticed = tokio::time::timeout(Duration::from_secs(10), gone(leader.pid())).await;
    assert!(noticed.is_ok());
    leader.0.wait().unwrap();
}

#[test]
fn who_has_a_file_open_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let file = folder.join("lock");
    File::create(&file).unwrap();
    assert_eq!(processes_with(&file), []);
    let leader = Leader::start(&format!("exec 9<'{}';", file.display()));
    assert_eq!(processes_with(&file), [leader.pid()]);
    assert!(open_files(leader.pid()).contains(&file));
    leader.end();
    assert_eq!(processes_with(&file), []);
}

#[test]
fn who_has_locked_a_folder_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let leader = Leader::start(&format!("exec flock '{path}' sh -c 'echo; read -r _';"));
    let pid = leader.0.id();
    assert_eq!(lock_holder(folder.path()), Some(pid));
    leader.end();
    assert_eq!(lock_holder(folder.path()), None);
}

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[test]
fn the_session_of_a_process_is_read_past_any_name() {
    let leader = Leader::start("printf 'a) S 1 1' >/proc/$$/comm;");
    let pid = leader.pid();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert!(stat.contains("(a) S 1 1)"), "{stat}");
    assert_eq!(session_of(pid), Some(pid));
    leader.end();
}
