//! The attempts of all workers, found by their folders below the folder for what runs:
//! `MESH/AGENT/NUMBER`.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::attempt::{AttemptFolder, AttemptState};
use crate::engine::AttemptId;
use crate::model::Address;

/// How many old attempts of a worker are kept for people to look at.
const KEPT: usize = 3;

/// Every attempt that has left a folder.
pub(super) fn all(run: &Path) -> io::Result<Vec<(Address, AttemptFolder)>> {
    let mut found = Vec::new();
    for mesh in names(run)? {
        for agent in names(&run.join(&mesh))? {
            if let Ok(worker) = format!("{mesh}/{agent}").parse::<Address>() {
                let attempts = of_worker(run, &worker)?.into_iter();
                found.extend(attempts.map(|(_, attempt)| (worker.clone(), attempt)));
            }
        }
    }
    Ok(found)
}

/// The attempts of a worker with their numbers, oldest first.
fn of_worker(run: &Path, worker: &Address) -> io::Result<Vec<(u32, AttemptFolder)>> {
    let folder = worker_folder(run, worker);
    let names = names(&folder)?.into_iter();
    let mut numbers: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    let at = |number: u32| (number, AttemptFolder::at(&folder.join(number.to_string())));
    Ok(numbers.into_iter().map(at).collect())
}

/// The attempts of a worker that still run.
pub(super) fn running(run: &Path, worker: &Address) -> io::Result<Vec<(u32, AttemptFolder, Pid)>> {
    let mut running = Vec::new();
    for (number, attempt) in of_worker(run, worker)? {
        if let AttemptState::Running(pid) = attempt.state()? {
            running.push((number, attempt, pid));
        }
    }
    Ok(running)
}

/// The processes left by attempts of a worker that did not succeed. They have to be gone before
/// another attempt starts.
pub(super) fn remains(run: &Path, worker: &Address) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for (_, attempt) in of_worker(run, worker)? {
        if attempt.is_clear()? || attempt.ended_well()? {
            continue;
        }
        match attempt.state()? {
            // It never ran.
            AttemptState::NotBegun | AttemptState::Revoked => {}
            AttemptState::Running(_) | AttemptState::Ended(_) | AttemptState::Vanished => {
                let remains = attempt.remains();
                if remains.is_empty() {
                    // If this fails, tx looks for its processes again next time.
                    let _ = attempt.mark_clear();
                }
                found.extend(remains);
            }
        }
    }
    Ok(found)
}

/// Remove the folders of a worker's oldest attempts. A folder that cannot be removed only takes up
/// room.
pub(super) fn clear_old(run: &Path, pane: &AttemptId) -> io::Result<()> {
    let mut attempts = of_worker(run, &pane.worker)?;
    attempts.retain(|(number, _)| *number < pane.attempt);
    let old = attempts.len().saturating_sub(KEPT);
    for (_, attempt) in &attempts[..old] {
        fs::remove_dir_all(attempt.folder())?;
    }
    Ok(())
}

pub(super) fn worker_folder(run: &Path, worker: &Address) -> PathBuf {
    run.join(worker.mesh.as_str()).join(worker.name_in_mesh())
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::daemon::attempt::Ended;
    use crate::daemon::attempt_processes::MARK;

    #[test]
    fn what_is_left_of_an_attempt_is_found_by_its_mark_unless_it_ended_well() {
        let run = tempfile::tempdir().unwrap();
        let worker: Address = "dev/worker".parse().unwrap();
        let folder = worker_folder(run.path(), &worker).join("1");
        fs::create_dir_all(&folder).unwrap();
        let attempt = AttemptFolder::at(&folder);
        File::create(attempt.lock_file()).unwrap();
        drop(attempt.begin().unwrap());
        // It holds no lock, and is in a session of its own.
        let mut child = std::process::Command::new("setsid")
            .args(["--wait", "sleep", "60"])
            .env(MARK, &folder)
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        let marked = || remains(run.path(), &worker).unwrap();
        // Right after its start the kernel may not show its environment yet.
        while !marked().contains(&pid) {
            fs::remove_file(folder.join("clear")).unwrap();
            std::thread::yield_now();
        }
        attempt.end(&Ended::Code(0)).unwrap();
        assert_eq!(marked(), [], "it may have left a server");
        fs::remove_file(folder.join("ended")).unwrap();
        attempt.end(&Ended::Code(1)).unwrap();
        for pid in marked() {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        child.wait().unwrap();
        while !marked().is_empty() {
            std::thread::yield_now();
        }
        assert!(attempt.is_clear().unwrap(), "it is not looked for again");
    }

    #[test]
    fn old_attempts_are_cleared_and_the_running_one_is_found() {
        let run = tempfile::tempdir().unwrap();
        let pane = |attempt| AttemptId {
            worker: "dev/worker".parse().unwrap(),
            attempt,
        };
        let mut locks = Vec::new();
        for number in 1..=6 {
            let attempt = AttemptFolder::of(run.path(), &pane(number));
            fs::create_dir_all(attempt.folder()).unwrap();
            File::create(attempt.lock_file()).unwrap();
            if number == 5 {
                locks.push(attempt.begin().unwrap());
            }
        }
        let running = running(run.path(), &pane(6).worker).unwrap();
        assert_eq!(running.len(), 1);
        assert!(running[0].1.folder().ends_with("dev/worker/5"));
        clear_old(run.path(), &pane(6)).unwrap();
        let left = of_worker(run.path(), &pane(6).worker).unwrap();
        let left: Vec<u32> = left.into_iter().map(|(number, _)| number).collect();
        assert_eq!(left, [3, 4, 5, 6]);
    }
}
