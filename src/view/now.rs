//! The status of a project, on one screen.

use std::cmp::Reverse;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::task::open_tasks;
use super::{
    AskView, CheckingView, DiagnosticView, Listed, MachineView, MeshProblems, OwnMeshes, Page,
    ShortBlock, TaskView, Time, WorkerView, asks, checking, machines, short_blocks, workers,
};
use crate::daemon::Running;
use crate::engine::{MessageRecord, Step};
use crate::journal::{Error, History, Quarantined};
use crate::model::{Address, Severity};
use crate::project::Project;

/// How many rejected files are looked at, and how many of them are shown.
const REFUSED: (usize, usize) = (100, 10);

/// How many of the newest unfinished messages are looked at for warnings.
const WARNED: usize = 1000;

/// A file that was written so long before the last record of the journal is known to it, in
/// milliseconds.
const JUST_BEFORE: i64 = 60_000;

/// How many tasks under way are shown.
const TASKS: usize = 50;

/// The status of a project.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Now {
    pub(crate) project: ProjectView,
    pub(crate) daemon: DaemonView,
    /// The time of the state, if no daemon keeps it current.
    pub(crate) as_of: Option<Time>,
    pub(crate) workers: Vec<WorkerView>,
    /// The tasks under way, oldest first; at most 50.
    pub(crate) runs: Vec<TaskView>,
    /// How many more tasks are under way.
    pub(crate) more_runs: usize,
    /// The runs in the workflow of their mesh.
    pub(crate) machines: Vec<MachineView>,
    /// The blocks with too few results. A person has to decide.
    pub(crate) short_blocks: Vec<ShortBlock>,
    pub(crate) queue: Queue,
    /// What gates and hooks are working on.
    pub(crate) checking: Vec<CheckingView>,
    pub(crate) asks: Vec<AskView>,
    /// The newest rejected files that were not fixed since.
    pub(crate) rejections: Vec<RefusedFile>,
    /// The ids of unfinished messages that were accepted with warnings, newest first. Only the
    /// newest 1000 unfinished messages are looked at.
    pub(crate) warned: Vec<String>,
    pub(crate) dead_letters: usize,
    pub(crate) problems: Vec<MeshProblems>,
    pub(crate) quarantined: Vec<UnreadableRecord>,
}

/// The daemon, if it runs.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct DaemonView {
    pub(crate) running: bool,
    pub(crate) pid: Option<u32>,
    pub(crate) since: Option<Time>,
    /// It cannot watch the bus, and scans it instead.
    pub(crate) scanning: bool,
    /// How many files on the bus wait for a daemon, while none runs.
    pub(crate) waiting_files: usize,
}

/// The project.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ProjectView {
    /// The name of its folder.
    pub(crate) name: String,
    pub(crate) path: String,
}

/// The number of deliveries in each state.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Queue {
    pub(crate) queued: usize,
    pub(crate) leased: usize,
    /// The number of finished tasks.
    pub(crate) finished: usize,
    pub(crate) parked: usize,
}

/// A rejected file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RefusedFile {
    pub(crate) path: String,
    pub(crate) at: Time,
    pub(crate) from: Address,
    pub(crate) diagnostics: Vec<DiagnosticView>,
}

/// A record that cannot be read, or only in part.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UnreadableRecord {
    pub(crate) record: u64,
    pub(crate) at: Time,
    pub(crate) kind: String,
    pub(crate) why: String,
}

impl Now {
    /// The status. Without a history, nothing has happened yet.
    pub(crate) fn of(
        project: &Project,
        history: Option<History>,
        daemon: Option<&Running>,
        own: OwnMeshes,
        pane: impl Fn(&Address) -> Option<String>,
    ) -> Result<Now, Error> {
        let mut now = Now {
            project: ProjectView::of(&project.root),
            daemon: DaemonView {
                running: daemon.is_some(),
                pid: daemon.map(|daemon| daemon.pid),
                since: daemon.map(|daemon| Time(daemon.since)),
                scanning: daemon.is_some_and(|daemon| daemon.scanning),
                waiting_files: match daemon {
                    Some(_) => 0,
                    None => waiting_files(project, history)?,
                },
            },
            problems: own.problems,
            workers: workers(history, &own.agents, pane)?,
            ..Now::default()
        };
        if let Some(history) = history {
            now.as_of = as_of(history, daemon);
            (now.runs, now.more_runs) = open_tasks(history, TASKS)?;
            now.machines = machines(history)?;
            now.short_blocks = short_blocks(history)?;
            now.queue = Queue::of(history)?;
            now.checking = checking(history.state);
            now.dead_letters = now.queue.parked;
            now.asks = asks(history)?;
            now.rejections = refused_files(history, Page::first(REFUSED.1))?.items;
            now.warned = warned(history)?;
            let unreadable = history.reader.quarantined()?.into_iter();
            now.quarantined = unreadable.map(UnreadableRecord::from).collect();
        }
        Ok(now)
    }
}

/// The time of the state, if no daemon keeps it current. A journal without records has none.
pub(crate) fn as_of(history: History, daemon: Option<&Running>) -> Option<Time> {
    let at = history.state.at();
    (daemon.is_none() && at > 0).then_some(Time(at))
}

/// How many files on the bus the journal does not know yet. Only a daemon takes them up.
pub(crate) fn waiting_files(project: &Project, history: Option<History>) -> Result<usize, Error> {
    let mut count = 0;
    for (name, modified) in project.message_files() {
        let is_waiting = match history {
            Some(history) if modified < history.state.at() - JUST_BEFORE => false,
            Some(history) => history.at_path(&name)?.is_empty() && !is_of_tx(history, &name)?,
            None => true,
        };
        count += usize::from(is_waiting);
    }
    Ok(count)
}

/// Whether tx wrote the file: its name ends with the id that tx gave the message.
fn is_of_tx(history: History, name: &str) -> Result<bool, Error> {
    let Some(start) = name.rfind("-tx-") else {
        return Ok(false);
    };
    let id = name[start + 1..].trim_end_matches(".md");
    let named = history.named(id)?;
    Ok(named.iter().any(|facts| facts.path().is_none()))
}

/// The newest rejected files that were not fixed since, newest first.
pub(crate) fn refused_files(history: History, page: Page) -> Result<Listed<RefusedFile>, Error> {
    let open = history.reader.open_rejections(history.state, REFUSED.0)?;
    let page = page.of(open, |facts| facts.number);
    page.try_map(|facts| Ok(RefusedFile::of(&facts)))
}

fn warned(history: History) -> Result<Vec<String>, Error> {
    let mut open: Vec<&MessageRecord> = history.state.open_messages().map(|m| &m.facts).collect();
    open.sort_unstable_by_key(|facts| Reverse(facts.number));
    let mut ids = Vec::new();
    for facts in open.into_iter().take(WARNED) {
        if !history.warnings(facts)?.is_empty() {
            ids.push(facts.id.to_string());
        }
    }
    Ok(ids)
}

impl ProjectView {
    fn of(root: &Path) -> ProjectView {
        let name = root.file_name().unwrap_or(root.as_os_str());
        ProjectView {
            name: name.to_string_lossy().into(),
            path: root.to_string_lossy().into(),
        }
    }
}

impl Queue {
    fn of(history: History) -> Result<Queue, Error> {
        let letters = history.dead_letters()?;
        let deliveries = letters.iter().flat_map(|facts| &facts.deliveries);
        let mut queue = Queue {
            finished: history.count_finished_tasks()?,
            parked: deliveries.filter(|d| d.step() == Step::Parked).count(),
            ..Queue::default()
        };
        for (step, count) in history.state.at_steps() {
            match step {
                Step::Accepted | Step::Queued => queue.queued += count,
                Step::Leased | Step::Delivered | Step::Acknowledged => queue.leased += count,
                Step::Finished | Step::Refused | Step::Parked => {}
            }
        }
        Ok(queue)
    }
}

impl RefusedFile {
    /// The journal has the reason as text: a report, whose first error counts, or one line.
    fn of(facts: &MessageRecord) -> RefusedFile {
        let path = facts.path().unwrap_or_default();
        let why = facts.refused.as_deref().unwrap_or_default();
        let errors = why.lines().filter_map(|line| line.strip_prefix("error["));
        let first = errors.filter_map(|line| line.split_once("]: ")).next();
        let diagnostic = DiagnosticView {
            severity: Severity::Error,
            code: first.map(|(code, _)| code.into()),
            message: first.map_or(why, |(_, message)| message).into(),
            hint: format!("fix the file; `tx check .ai/tx/msgs/{path}` shows what is wrong"),
            path: path.into(),
            line: None,
            column: None,
        };
        RefusedFile {
            path: path.into(),
            at: Time(facts.at),
            from: facts.from.clone(),
            diagnostics: vec![diagnostic],
        }
    }
}

impl From<Quarantined> for UnreadableRecord {
    fn from(record: Quarantined) -> UnreadableRecord {
        UnreadableRecord {
            record: record.seq,
            at: Time(record.at),
            kind: record.kind,
            why: record.why,
        }
    }
}
