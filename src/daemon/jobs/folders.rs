//! Where jobs have their files: `_jobs/OWNER/BATCH` below the folder for what runs. The folder of a
//! batch has the records of its series, and for each program the files that it reads and prints.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::daemon::job_record::JobRecord;
use crate::engine::JobOwner;

/// The folder of all jobs. A mesh cannot have this name.
const JOBS: &str = "_jobs";
/// How the name of a record begins. Its number follows.
const RECORD: &str = "record-";
/// How many older batches of an owner are kept for people to look at.
const KEPT_BATCHES: u32 = 3;

/// The folder of an owner, with a folder for each of its batches.
pub(super) fn of_owner(run: &Path, owner: &JobOwner) -> PathBuf {
    let jobs = run.join(JOBS);
    match owner {
        JobOwner::Worker(worker) => {
            let mesh = jobs.join("worker").join(worker.mesh.as_str());
            mesh.join(worker.name_in_mesh())
        }
        JobOwner::Machine(id) => {
            let mesh = jobs.join("machine").join(id.mesh.as_str());
            mesh.join(id.begun.0.to_string())
        }
        JobOwner::Run(run) => jobs.join("run").join(run.0.to_string()),
        JobOwner::Block(block) => jobs.join("block").join(block.0.to_string()),
    }
}

/// The record of a series of a batch.
pub(super) fn record(batch: &Path, series: u32) -> PathBuf {
    batch.join(format!("{RECORD}{series}"))
}

/// The records of a batch with their numbers, oldest first.
pub(super) fn records(batch: &Path) -> Vec<(u32, JobRecord)> {
    let entries = fs::read_dir(batch).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.strip_prefix(RECORD)?.parse().ok()
    });
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    let at = |number| (number, JobRecord::at(record(batch, number)));
    numbers.into_iter().map(at).collect()
}

/// The records of all jobs.
pub(super) fn all_records(run: &Path) -> Vec<JobRecord> {
    records_below(&run.join(JOBS))
}

fn records_below(folder: &Path) -> Vec<JobRecord> {
    let mut found: Vec<JobRecord> = records(folder).into_iter().map(|(_, it)| it).collect();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    found.extend(folders.flat_map(|entry| records_below(&entry.path())));
    found
}

/// Remove the folders of all jobs. Their numbers begin again with a new journal, so that an old
/// record would be taken for the result of a new job.
pub(super) fn remove_all(run: &Path) -> io::Result<()> {
    match fs::remove_dir_all(run.join(JOBS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Remove the folders of batches that are older than the last few before `job`. A folder that
/// cannot be removed only takes up room.
pub(super) fn remove_old_batches(owner: &Path, job: u32) {
    let is_old = |number: &u32| number.saturating_add(KEPT_BATCHES) < job;
    for number in batches(owner).into_iter().filter(is_old) {
        let _ = fs::remove_dir_all(owner.join(number.to_string()));
    }
}

/// The numbers of the batches of an owner that have folders.
pub(super) fn batches(owner: &Path) -> Vec<u32> {
    let entries = fs::read_dir(owner).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_string_lossy().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_of_an_agent_has_a_folder_of_its_own() {
        let of =
            |worker: &str| of_owner(Path::new("run"), &JobOwner::Worker(worker.parse().unwrap()));
        assert_ne!(of("dev/a#1"), of("dev/a#2"));
    }
}
