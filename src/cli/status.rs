//! `tx status`: one screen of how things are.

use std::fmt::Write;

use clap::builder::styling::AnsiColor;
use serde_json::{Value, json};

use super::control::{ended, follow};
use super::needs::{Need, needs};
use super::output::{bold, dim, many, paint};
use super::panes::Panes;
use super::past::{Past, ago, time};
use super::{Context, Exit, Failure, asks, worker};
use crate::daemon::{Heard, Running, running};
use crate::engine::{Facts, Step};
use crate::format::report::printable;
use crate::journal::Quarantined;
use crate::project::Project;

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
    queue: Queue,
    needs: Vec<Need>,
    rejections: Vec<Facts>,
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
        Ok(match past {
            Some(past) => Now {
                daemon,
                workers: match context.output.json {
                    true => worker::as_json(past, &Panes::of(project)?.agents())?,
                    false => Vec::new(),
                },
                table: worker::table(&past.state),
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
            },
            "workers": self.workers,
            "queue": {
                "queued": queued, "leased": leased, "finished": finished, "parked": parked,
            },
            "asks": self.needs.iter().map(Need::as_json).collect::<Vec<_>>(),
            "rejections": rejections.collect::<Vec<_>>(),
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
        if !self.table.is_empty() {
            let _ = write!(text, "\n{}\n{}", bold("workers"), self.table);
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
                printable(first_line(facts)),
                dim(&ago(facts.at)),
            );
        }
        if !self.quarantined.is_empty() {
            let records = many(self.quarantined.len(), "record");
            let records = paint(AnsiColor::Red, &format!("{records} cannot be read"));
            let _ = writeln!(text, "\n{records}: `tx doctor` says which");
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

fn first_line(facts: &Facts) -> &str {
    let why = facts.refused.as_deref().unwrap_or_default();
    why.lines().next().unwrap_or_default()
}

/// A refused file as scripts read it. The journal has the reason in words.
fn rejection(facts: &Facts) -> Value {
    let path = facts.path().unwrap_or_default();
    json!({
        "path": path, "at": time(facts.at), "from": facts.from,
        "diagnostics": [{
            "severity": "error", "code": null, "message": facts.refused,
            "hint": format!("mend the file; `tx check .ai/tx/msgs/{path}` shows what is wrong"),
            "path": path, "line": null, "column": null,
        }],
    })
}
