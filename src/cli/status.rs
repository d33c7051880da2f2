//! `tx status`: one screen of how things are.

use std::fmt::Write;
use std::path::Path;

use clap::builder::styling::AnsiColor;
use serde_json::{Value, json};

use super::control::{ended, follow};
use super::needs::{Need, needs};
use super::output::{bold, diagnostic_json, dim, many, paint};
use super::panes::Panes;
use super::past::{Past, ago, time};
use super::{Context, Exit, Failure, asks, daemon_path, worker};
use crate::daemon::{Heard, Running, running};
use crate::engine::{Facts, Step};
use crate::format::report::printable;
use crate::journal::Quarantined;
use crate::model::Diagnostic;
use crate::project::{Catalogue, Entry, Place, Project};

/// How many refused files are shown.
const REJECTIONS: usize = 10;

/// Show how things are: daemon, workers, queue, questions, refused files, dead letters
#[derive(clap::Args)]
#[command(after_help = "Example: tx status --watch")]
pub(super) struct Status {
    /// Show it again whenever something has happened
    #[arg(long)]
    watch: bool,
}

pub(super) fn run(context: &Context, verb: &Status) -> Result<Exit, Failure> {
    let project = context.project()?;
    if !verb.watch {
        let past = Past::open(&project)?;
        let status = Now::of(context, &project, past.as_ref())?;
        context.output.say(&status.shown(context))?;
        return Ok(Exit::Done);
    }
    let mut follow = follow(&project)?;
    let mut past = None;
    loop {
        match follow.heard(None) {
            Heard::Seq(_) => {}
            Heard::Nothing => continue,
            Heard::End => return Err(ended()),
        }
        past = Past::of(&project, past)?;
        let status = Now::of(context, &project, past.as_ref())?;
        context.output.clear();
        if !context.output.say_on(&status.shown(context))? {
            return Ok(Exit::Done);
        }
    }
}

/// How things are, once.
struct Now {
    daemon: Option<Running>,
    /// As scripts read them; people have the table.
    workers: Vec<Value>,
    table: String,
    /// When the state was last true, where no daemon keeps it so.
    as_of: Option<i64>,
    queue: Queue,
    needs: Vec<Need>,
    rejections: Vec<Facts>,
    /// The project's meshes that do not load, cannot work, or lack a part.
    problems: Vec<Entry>,
    /// Records that cannot be read, or not whole.
    quarantined: Vec<Quarantined>,
}

#[derive(Default)]
struct Queue {
    queued: usize,
    leased: usize,
    finished: u64,
    parked: usize,
}

impl Now {
    fn of(context: &Context, project: &Project, past: Option<&Past>) -> Result<Now, Failure> {
        let daemon = running(project);
        let as_of = past
            .filter(|_| daemon.is_none())
            .map(|past| past.state.at());
        let problems = problems(project);
        Ok(match past {
            Some(past) => Now {
                daemon,
                problems,
                as_of,
                workers: match context.output.json {
                    true => worker::as_json(past, &Panes::of(project)?.agents())?,
                    false => Vec::new(),
                },
                table: worker::table(&past.state, as_of.is_some()),
                queue: Queue::of(past)?,
                needs: needs(past)?,
                rejections: {
                    let mut open = past.reader.open_rejections(&past.state, 100)?;
                    open.truncate(REJECTIONS);
                    open
                },
                quarantined: past.reader.quarantined()?,
            },
            None => Now {
                daemon,
                problems,
                as_of,
                workers: Vec::new(),
                table: String::new(),
                queue: Queue::default(),
                needs: Vec::new(),
                rejections: Vec::new(),
                quarantined: Vec::new(),
            },
        })
    }

    fn shown(&self, context: &Context) -> String {
        match context.output.json {
            true => format!("{}\n", self.as_json()),
            false => self.as_text(),
        }
    }

    fn as_json(&self) -> Value {
        let daemon = self.daemon.as_ref();
        let rejections = self.rejections.iter().map(rejection);
        let Queue {
            queued,
            leased,
            finished,
            parked,
        } = self.queue;
        json!({
            "daemon": {
                "running": daemon.is_some(),
                "pid": daemon.map(|daemon| daemon.pid),
                "since": daemon.map(|daemon| time(daemon.since)),
                "scanning": daemon.is_some_and(|daemon| daemon.scanning),
            },
            "as_of": self.as_of.map(time),
            "workers": self.workers,
            "queue": {
                "queued": queued, "leased": leased, "finished": finished, "parked": parked,
            },
            "asks": self.needs.iter().map(Need::as_json).collect::<Vec<_>>(),
            "rejections": rejections.collect::<Vec<_>>(),
            "problems": self.problems.iter().map(problem).collect::<Vec<_>>(),
            "quarantined": self.quarantined.iter().map(quarantined).collect::<Vec<_>>(),
        })
    }

    fn as_text(&self) -> String {
        let mut text = match &self.daemon {
            Some(running) => format!(
                "{} tx runs, as process {}, since {} {}\n",
                paint(AnsiColor::Green, "●"),
                running.pid,
                time(running.since),
                dim(&format!("({})", ago(running.since)))
            ),
            None => format!(
                "{} no daemon runs here: `tx start` starts one\n",
                paint(AnsiColor::Yellow, "○")
            ),
        };
        if self.daemon.as_ref().is_some_and(|daemon| daemon.scanning) {
            let slow = "files cannot be watched, so tx looks for them: that is slower";
            let _ = writeln!(
                text,
                "{} {slow}; `tx doctor` says more",
                paint(AnsiColor::Yellow, "!")
            );
        }
        if !self.table.is_empty() {
            let as_of = self.as_of.map(|at| format!(", as of {}", time(at)));
            let as_of = as_of.unwrap_or_default();
            let _ = write!(text, "\n{}{as_of}\n{}", bold("workers"), self.table);
        }
        let Queue {
            queued,
            leased,
            finished,
            parked,
        } = self.queue;
        let _ = writeln!(
            text,
            "\n{}  {queued} waiting, {leased} in hand, {finished} finished, {parked} parked",
            bold("messages")
        );
        if !self.needs.is_empty() {
            let _ = writeln!(text, "\n{}", bold("waits for you"));
        }
        for need in &self.needs {
            let _ = writeln!(text, "  {}", asks::line(need));
        }
        if !self.rejections.is_empty() {
            let _ = writeln!(text, "\n{}", bold("refused files"));
        }
        for facts in &self.rejections {
            let _ = writeln!(
                text,
                "  {} {}  {}  {}",
                paint(AnsiColor::Red, "✗"),
                printable(facts.path().unwrap_or_default()),
                printable(first_error(facts)),
                dim(&ago(facts.at)),
            );
        }
        if !self.quarantined.is_empty() {
            let records = many(self.quarantined.len(), "record");
            let records = paint(AnsiColor::Red, &format!("{records} cannot be read"));
            let _ = writeln!(text, "\n{records}: `tx doctor` says which");
        }
        if !self.problems.is_empty() {
            let _ = writeln!(text, "\n{}", bold("meshes with problems"));
        }
        for entry in &self.problems {
            let mut found: Vec<&Diagnostic> = entry.problems().collect();
            found.sort_by_key(|problem| !problem.is_error());
            let first = found.first().map_or("", |problem| &problem.message);
            let more = match found.len() {
                0 | 1 => String::new(),
                count => format!(", and {} more", count - 1),
            };
            let name = printable(&entry.name);
            let _ = writeln!(
                text,
                "  {} {name}  {}{more}  {}",
                paint(AnsiColor::Red, "✗"),
                printable(first),
                dim(&format!("`tx mesh check {name}`")),
            );
        }
        if parked > 0 {
            let letters = paint(AnsiColor::Red, &many(parked, "dead letter"));
            let _ = writeln!(text, "\n{letters}: `tx dlq list` lists them");
        }
        text
    }
}

impl Queue {
    fn of(past: &Past) -> Result<Queue, Failure> {
        let letters = past.dead_letters()?;
        let gone = |facts: &&Facts| past.state.message(facts.number).is_none();
        let gone = letters.iter().filter(gone).count() as u64;
        let deliveries = letters.iter().flat_map(|facts| &facts.deliveries);
        let mut queue = Queue {
            finished: past.state.counts().left.saturating_sub(gone),
            parked: deliveries.filter(|d| d.step() == Step::Parked).count(),
            ..Queue::default()
        };
        for (step, count) in past.state.at_steps() {
            match step {
                Step::Accepted | Step::Queued => queue.queued += count,
                Step::Leased | Step::Delivered | Step::Acknowledged => queue.leased += count,
                Step::Finished | Step::Refused | Step::Parked => {}
            }
        }
        Ok(queue)
    }
}

/// A record that cannot be read, as scripts see it.
fn quarantined(record: &Quarantined) -> Value {
    let Quarantined {
        seq, at, kind, why, ..
    } = record;
    json!({ "record": seq, "at": time(*at), "kind": kind, "why": why })
}

/// The project's own meshes with problems, as they are now in its files.
fn problems(project: &Project) -> Vec<Entry> {
    let path = daemon_path(project);
    let Catalogue { entries, runtimes } = Catalogue::load(Some(project));
    let own = entries
        .into_iter()
        .filter(|entry| entry.place != Place::BuiltIn);
    let checked = own.map(|mut entry| {
        entry.check_runnable(project, &runtimes, &path);
        entry
    });
    checked
        .filter(|entry| entry.problems().next().is_some())
        .collect()
}

/// A mesh with problems as scripts read it.
fn problem(entry: &Entry) -> Value {
    let path = entry.place.to_string();
    let found = entry.problems();
    let found = found.map(|problem| diagnostic_json(Path::new(&path), problem));
    json!({ "mesh": entry.name, "diagnostics": found.collect::<Vec<_>>() })
}

/// Why a file was refused, in a line: its first error. Reports have their warnings too.
fn first_error(facts: &Facts) -> &str {
    let why = facts.refused.as_deref().unwrap_or_default();
    let mut lines = why.lines();
    let error = lines.clone().find(|line| line.starts_with("error["));
    error.or_else(|| lines.next()).unwrap_or_default()
}

/// A refused file as scripts read it. The journal has the reason in words.
fn rejection(facts: &Facts) -> Value {
    let path = facts.path().unwrap_or_default();
    let error = first_error(facts);
    let coded = error
        .strip_prefix("error[")
        .and_then(|error| error.split_once("]: "));
    let (code, message) = match coded {
        Some((code, message)) => (Some(code), message),
        None => (None, facts.refused.as_deref().unwrap_or_default()),
    };
    json!({
        "path": path, "at": time(facts.at), "from": facts.from,
        "diagnostics": [{
            "severity": "error", "code": code, "message": message,
            "hint": format!("fix the file; `tx check .ai/tx/msgs/{path}` shows what is wrong"),
            "path": path, "line": null, "column": null,
        }],
    })
}
