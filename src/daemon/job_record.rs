//! The record of a series: of the programs that one wrapper runs for a batch of jobs, one after the
//! other. It is one file, so that a small program does not cost more to record than to run.
//!
//! tx creates the file with a list of the programs, before a wrapper knows of it. Then lines are
//! only added. The wrapper notes the beginning and the end of each program. It and everything that
//! it starts hold the lock of the file, and a wrapper begins nothing in a record that is closed. So
//! whoever has the lock knows that nothing runs, and after closing the record, that nothing will.
//!
//! A line is written before what follows from it. So it survives the end of any process, which is
//! all that it has to survive: after a power failure nothing runs, and a program whose end is
//! missing is run again. A line of which only a part was written does not count.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Instant;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::attempt::Ended;
use super::attempt_processes::remains_of;
use super::platform::processes_with;
use super::signals::{KILL_POLL, KILL_TIMEOUT, kill_all};

/// The record of a series.
#[derive(Clone, Debug)]
pub(super) struct JobRecord {
    path: PathBuf,
}

/// A program of a series, as the record lists it for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ListedProgram {
    /// The number of its job in the batch.
    pub(super) index: usize,
    pub(super) runtime: String,
    pub(super) program: Vec<String>,
}

/// How a program ended, and whether it printed anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndedProgram {
    pub(super) how: Ended,
    #[serde(default)]
    pub(super) has_output: bool,
}

/// A line of a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RecordLine {
    Programs(Vec<ListedProgram>),
    Began {
        index: usize,
        wrapper: i32,
    },
    Ended {
        index: usize,
        program: EndedProgram,
    },
    /// tx is about to end the series because tx ends.
    Stopped,
    /// Nothing begins any more.
    Closed,
}

/// Whether anything of a series runs.
#[derive(Debug)]
pub(super) enum SeriesState {
    Running(Progress),
    /// Nothing of it runs that matters, and nothing will begin.
    Over(Progress),
}

/// What a record says.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    programs: Vec<ListedProgram>,
    begun: Option<usize>,
    wrapper: Option<Pid>,
    ended: BTreeMap<usize, EndedProgram>,
    is_stopped: bool,
    is_closed: bool,
}

impl JobRecord {
    pub(super) fn at(path: PathBuf) -> JobRecord {
        JobRecord { path }
    }

    /// Create the record of a series that nobody has begun.
    pub(super) fn create(path: PathBuf, programs: Vec<ListedProgram>) -> io::Result<JobRecord> {
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        add(&mut file, &RecordLine::Programs(programs))?;
        Ok(JobRecord { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// How far it has come. A record is closed if nothing of it runs, so that nothing will.
    pub(super) fn state(&self) -> io::Result<SeriesState> {
        let Some(mut file) = self.open()? else {
            return Ok(SeriesState::Over(Progress::default()));
        };
        let is_free = match file.try_lock() {
            Ok(()) => true,
            Err(fs::TryLockError::WouldBlock) => false,
            Err(fs::TryLockError::Error(error)) => return Err(error),
        };
        let progress = read(&mut file)?;
        if progress.is_complete() || progress.is_closed {
            return Ok(SeriesState::Over(progress));
        }
        if !is_free {
            return Ok(SeriesState::Running(progress));
        }
        add(&mut file, &RecordLine::Closed)?;
        Ok(SeriesState::Over(progress))
    }

    /// End what runs of the series, and say how far it has come.
    pub(super) fn end(&self) -> io::Result<Progress> {
        let deadline = Instant::now() + KILL_TIMEOUT;
        loop {
            match self.state()? {
                SeriesState::Over(progress) => return Ok(progress),
                SeriesState::Running(progress) if Instant::now() >= deadline => {
                    return Ok(progress);
                }
                SeriesState::Running(progress) => kill_all(&self.remains(&progress)),
            }
            sleep(KILL_POLL);
        }
    }

    /// Note that tx is about to end it together with everything else.
    pub(super) fn mark_stopped(&self) -> io::Result<()> {
        match self.open()? {
            Some(mut file) => add(&mut file, &RecordLine::Stopped),
            None => Ok(()),
        }
    }

    /// The processes of the series that still run.
    pub(super) fn remains(&self, progress: &Progress) -> Vec<Pid> {
        let holders = match self.open() {
            Ok(Some(_)) => processes_with(&self.path),
            Ok(None) | Err(_) => Vec::new(),
        };
        remains_of(holders, &self.path, progress.wrapper)
    }

    /// The processes of a series whose lock nobody holds. A person may have its record open.
    pub(super) fn remains_without_lock(&self, progress: &Progress) -> Vec<Pid> {
        remains_of(Vec::new(), &self.path, progress.wrapper)
    }

    /// Take the record, as the wrapper of its programs. `None`: nothing of it may begin any more.
    pub(super) fn take(&self) -> io::Result<Option<TakenRecord>> {
        let Some(mut file) = self.open()? else {
            return Err(ErrorKind::NotFound.into());
        };
        file.lock()?;
        Ok((!read(&mut file)?.is_closed).then_some(TakenRecord { file }))
    }

    /// The file, if it is a regular file with one name. An agent can replace it by a link to another
    /// file, and what is said there is not of this series.
    fn open(&self) -> io::Result<Option<File>> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        let opened = options.read(true).append(true);
        let opened = opened.custom_flags(flags.bits().cast_signed());
        let file = match opened.open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                return Ok(None);
            }
            file => file?,
        };
        let found = file.metadata()?;
        Ok((found.is_file() && found.nlink() == 1).then_some(file))
    }
}

/// A record with its lock.
pub(super) struct TakenRecord {
    file: File,
}

impl TakenRecord {
    /// The file with the lock.
    pub(super) fn lock(&self) -> &File {
        &self.file
    }

    /// Note that this process begins a program.
    pub(super) fn begin(&mut self, index: usize) -> io::Result<()> {
        let wrapper = rustix::process::getpid().as_raw_nonzero().get();
        add(&mut self.file, &RecordLine::Began { index, wrapper })
    }

    /// Note that nothing more begins.
    pub(super) fn close(&mut self) -> io::Result<()> {
        add(&mut self.file, &RecordLine::Closed)
    }

    /// Note how a program ended.
    pub(super) fn end(&mut self, index: usize, program: EndedProgram) -> io::Result<()> {
        add(&mut self.file, &RecordLine::Ended { index, program })
    }
}

impl Progress {
    /// How the programs ended that did, by their numbers.
    pub(super) fn ended(self) -> BTreeMap<usize, EndedProgram> {
        self.ended
    }

    /// The program that has begun and not ended.
    pub(super) fn current(&self) -> Option<&ListedProgram> {
        let begun = self.begun.filter(|begun| !self.ended.contains_key(begun))?;
        self.programs.iter().find(|listed| listed.index == begun)
    }

    /// The process that runs the programs, if it has begun any.
    pub(super) fn wrapper(&self) -> Option<Pid> {
        self.wrapper
    }

    /// Whether every program has ended.
    pub(super) fn is_complete(&self) -> bool {
        let mut programs = self.programs.iter();
        !self.programs.is_empty() && programs.all(|listed| self.ended.contains_key(&listed.index))
    }

    fn take(&mut self, line: RecordLine) {
        match line {
            RecordLine::Programs(programs) => self.programs = programs,
            RecordLine::Began { index, wrapper } => {
                self.begun = Some(index);
                self.wrapper = Pid::from_raw(wrapper);
            }
            // How it ended says nothing about it if tx ended it. A program that succeeded has ended
            // by itself.
            RecordLine::Ended { program, .. }
                if self.is_stopped && program.how != Ended::Code(0) => {}
            // The first word on its end stands.
            RecordLine::Ended { index, program } => {
                self.ended.entry(index).or_insert(program);
            }
            RecordLine::Stopped => self.is_stopped = true,
            RecordLine::Closed => self.is_closed = true,
        }
    }
}

fn read(file: &mut File) -> io::Result<Progress> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let mut progress = Progress::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Ok(line) = serde_json::from_slice(line) {
            progress.take(line);
        }
    }
    Ok(progress)
}

/// Add a line. It begins with a line break too, since the line before it may be incomplete.
fn add(file: &mut File, line: &RecordLine) -> io::Result<()> {
    let mut bytes = vec![b'\n'];
    serde_json::to_writer(&mut bytes, line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(index: usize) -> ListedProgram {
        ListedProgram {
            index,
            runtime: "job".into(),
            program: vec!["true".into()],
        }
    }

    fn created(count: usize) -> (tempfile::TempDir, JobRecord) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record-1");
        let record = JobRecord::create(path, (0..count).map(listed).collect()).unwrap();
        (folder, record)
    }

    fn code(code: i32) -> EndedProgram {
        EndedProgram {
            how: Ended::Code(code),
            has_output: false,
        }
    }

    fn progress(record: &JobRecord) -> (bool, Progress) {
        match record.state().unwrap() {
            SeriesState::Running(progress) => (true, progress),
            SeriesState::Over(progress) => (false, progress),
        }
    }

    #[test]
    fn a_record_that_nothing_holds_is_closed_and_never_begun() {
        let (_folder, record) = created(1);
        assert!(!progress(&record).0);
        assert!(record.take().unwrap().is_none());
    }

    #[test]
    fn while_its_lock_is_held_a_series_runs_until_its_last_program_has_ended() {
        let (_folder, record) = created(2);
        let mut taken = record.take().unwrap().unwrap();
        for index in 0..2 {
            taken.begin(index).unwrap();
            let (is_running, progress) = progress(&record);
            assert!(is_running);
            assert_eq!(progress.current(), Some(&listed(index)));
            assert_eq!(progress.wrapper(), Some(rustix::process::getpid()));
            taken.end(index, code(3)).unwrap();
        }
        // What is left may hold the lock.
        let (is_running, progress) = progress(&record);
        assert!(!is_running && progress.current().is_none());
        assert_eq!(progress.ended.get(&1), Some(&code(3)));
    }

    #[test]
    fn a_program_that_began_and_left_no_end_is_known() {
        let (_folder, record) = created(2);
        let mut taken = record.take().unwrap().unwrap();
        taken.begin(0).unwrap();
        taken.end(0, code(0)).unwrap();
        taken.begin(1).unwrap();
        drop(taken);
        let (is_running, progress) = progress(&record);
        assert!(!is_running);
        assert_eq!(progress.current(), Some(&listed(1)));
        assert!(record.take().unwrap().is_none(), "nothing begins any more");
        assert_eq!(progress.ended().into_keys().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_part_of_a_line_does_not_count_and_hides_no_other() {
        let (_folder, record) = created(2);
        let mut taken = record.take().unwrap().unwrap();
        taken.begin(0).unwrap();
        taken
            .file
            .write_all(b"\n{\"ended\":{\"index\":0,\"pro")
            .unwrap();
        assert_eq!(progress(&record).1.ended.get(&0), None);
        taken.end(0, code(0)).unwrap();
        assert_eq!(progress(&record).1.ended.get(&0), Some(&code(0)));
    }

    #[test]
    fn what_tx_has_stopped_has_not_ended_unless_it_succeeded() {
        let (_folder, record) = created(3);
        let mut taken = record.take().unwrap().unwrap();
        taken.end(0, code(1)).unwrap();
        record.mark_stopped().unwrap();
        taken.end(1, code(0)).unwrap();
        taken.end(2, code(1)).unwrap();
        let (_, progress) = progress(&record);
        let ended: Vec<usize> = progress.ended().into_keys().collect();
        assert_eq!(ended, [0, 1]);
    }

    #[test]
    fn a_link_in_place_of_the_record_is_not_read() {
        let (folder, record) = created(1);
        let moved = folder.path().join("moved");
        fs::rename(record.path(), &moved).unwrap();
        std::os::unix::fs::symlink(&moved, record.path()).unwrap();
        assert!(progress(&record).1.programs.is_empty());
        fs::remove_file(record.path()).unwrap();
        fs::hard_link(&moved, record.path()).unwrap();
        assert!(progress(&record).1.programs.is_empty());
    }
}
