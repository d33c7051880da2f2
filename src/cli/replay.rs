//! `tx replay`: the state at any point of the past; or the past under a changed table.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use chrono::{DateTime, NaiveDate};
use serde_json::{Value, json};

use super::output::{is_watched, talk};
use super::past::{Past, nothing_yet, time};
use super::{Context, Exit, Failure, short};
use crate::engine::{Event, Judged, Loaded, Number, State};
use crate::format::mesh::parse;
use crate::format::report::{printable_lines, report};
use crate::journal::{Ledger, Reader};
use crate::model::{Address, Kind, Name};

/// Show the state at a point of the past, or what another table would have done
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tx replay --to 2026-11-15T10:00:00Z\n  tx replay --mesh meshes/dev/config.yaml"
)]
pub(super) struct Replay {
    /// The last record, or the time, that counts [default: now]
    #[arg(long, value_name = "SEQ|TIME")]
    to: Option<String>,

    /// A changed mesh config: judge every message by it, and show what differs
    #[arg(long, value_name = "FILE")]
    mesh: Option<PathBuf>,
}

pub(super) fn run(context: &Context, verb: &Replay) -> Result<Exit, Failure> {
    let past = Past::open(&context.project()?)?.ok_or_else(nothing_yet)?;
    let to = match &verb.to {
        Some(to) => point(&past.reader, to)?,
        None => past.reader.last()?,
    };
    match &verb.mesh {
        Some(file) => compare(context, &past.reader, to, file),
        None => show(context, &Ledger::fold_to(&past.reader, to)?),
    }
}

/// A record, by its place or by a time.
fn point(reader: &Reader, text: &str) -> Result<u64, Failure> {
    let last = reader.last()?;
    if let Ok(seq) = text.parse::<u64>() {
        return match seq <= last {
            true => Ok(seq),
            false => Err(
                Failure::new(format!("there is no record {seq} yet: the last is {last}"))
                    .exit(Exit::NoSuchThing),
            ),
        };
    }
    Ok(reader.last_at(moment(text)?)?)
}

/// A time or a day, in milliseconds since 1970.
pub(super) fn moment(text: &str) -> Result<i64, Failure> {
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis());
    let day = || {
        let day = text.parse::<NaiveDate>().ok()?;
        Some(day.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis())
    };
    time.ok().or_else(day).ok_or_else(|| {
        Failure::new(format!("`{text}` is no time"))
            .hint("a day, 2026-11-15, or a time, 2026-11-15T10:00:00Z")
            .exit(Exit::Usage)
    })
}

fn show(context: &Context, state: &State) -> Result<Exit, Failure> {
    if context.output.json {
        let state: Value = serde_json::from_slice(&state.snapshot())
            .map_err(|error| Failure::new(format!("the state cannot be read: {error}")))?;
        context.output.say_json(&state)?;
        return Ok(Exit::Done);
    }
    let counts = state.counts();
    let mut text = format!(
        "after record {}, at {}\n{} messages accepted, {} finished, {} parked, {} refused, {} said twice\n",
        state.seq(),
        time(state.at()),
        counts.accepted,
        counts.left,
        counts.parked,
        counts.refused,
        counts.duplicates,
    );
    for (address, worker) in state.workers() {
        let _ = writeln!(
            text,
            "\n{address}  {}  since {}\n  {}",
            worker.status.is().as_str(),
            time(worker.since),
            state.worker_waits_for(address)
        );
    }
    let open = state.held().filter(|held| !held.facts.is_over());
    for held in open {
        let waits = state.waiting_for(held.facts.number).join("; ");
        let _ = writeln!(
            text,
            "\n{}  {}\n  waits for {waits}",
            held.facts.id,
            held.facts.step().as_str()
        );
    }
    context.output.say(&printable_lines(&text))?;
    Ok(Exit::Done)
}

/// A message that the changed table treats in another way.
struct Difference {
    seq: u64,
    id: String,
    from: Address,
    was: Judged,
    would_be: Judged,
}

fn compare(context: &Context, reader: &Reader, to: u64, file: &PathBuf) -> Result<Exit, Failure> {
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::new(format!("{} cannot be read: {error}", short(file))))?;
    let loaded = parse(text.as_bytes());
    talk(&report(&short(file), &text, &loaded.diagnostics, true));
    let mesh = loaded
        .mesh
        .ok_or_else(|| Failure::new(format!("{} does not load", short(file))))?;
    let mut changed = Changed::new(mesh.name.clone());
    Ledger::replay(reader, to, |state, record, event| {
        if is_watched() && record.seq % 100_000 == 0 {
            talk(&format!("record {} of {to}\n", record.seq));
        }
        changed.follow(state);
        if let Event::Arrived(arrived) = event {
            changed.judge(state, record.seq, arrived, &mesh);
        }
    })?;
    changed.say(context)
}

struct Changed {
    mesh: Name,
    judged: u64,
    unknown: u64,
    differences: Vec<Difference>,
    /// The threads in which something differed: what came after it is not known.
    threads: BTreeSet<Number>,
    /// A difference whose message has no number yet.
    fresh: bool,
}

impl Changed {
    fn new(mesh: Name) -> Changed {
        Changed {
            mesh,
            judged: 0,
            unknown: 0,
            differences: Vec::new(),
            threads: BTreeSet::new(),
            fresh: false,
        }
    }

    fn judge(
        &mut self,
        state: &mut State,
        seq: u64,
        arrived: &crate::engine::Arrived,
        mesh: &crate::model::Mesh,
    ) {
        let from = &arrived.envelope.from;
        let to_mesh = arrived.envelope.to.iter().any(|to| {
            let to = to.to_string();
            to == self.mesh.as_str() || to.starts_with(&format!("{}/", self.mesh))
        });
        if from.mesh != self.mesh && !to_mesh {
            return;
        }
        let followers = state.threads_in_hand(from);
        if followers.iter().any(|thread| self.threads.contains(thread)) {
            self.unknown += 1;
            return;
        }
        let Some(before) = state.meshes().find(|l| l.mesh.name == self.mesh).cloned() else {
            return;
        };
        self.judged += 1;
        let was = state.judge_arrival(arrived);
        let loaded = Loaded {
            mesh: mesh.clone(),
            ..before.clone()
        };
        let _ = state.exchange_mesh(loaded);
        let would_be = state.judge_arrival(arrived);
        let _ = state.exchange_mesh(before);
        if was != would_be {
            self.fresh = true;
            self.threads.extend(followers);
            self.differences.push(Difference {
                seq,
                id: arrived.envelope.id.to_string(),
                from: from.clone(),
                was,
                would_be,
            });
        }
    }

    /// The thread of a message that differs is known once it is taken in.
    fn follow(&mut self, state: &State) {
        if std::mem::take(&mut self.fresh) {
            self.threads.extend(state.touched().threads.iter().copied());
        }
    }

    fn say(&self, context: &Context) -> Result<Exit, Failure> {
        if context.output.json {
            let differences: Vec<Value> = self
                .differences
                .iter()
                .map(|d| {
                    json!({
                        "seq": d.seq, "id": d.id, "from": d.from,
                        "was": as_json(&d.was), "would_be": as_json(&d.would_be),
                    })
                })
                .collect();
            context.output.say_json(&json!({
                "mesh": self.mesh, "judged": self.judged, "unknown": self.unknown,
                "differences": differences,
            }))?;
        } else {
            let mut text = format!(
                "{} messages judged by the changed `{}`: {} differ, {} that follow from those are unknown\n",
                self.judged,
                self.mesh,
                self.differences.len(),
                self.unknown
            );
            for d in &self.differences {
                let _ = writeln!(
                    text,
                    "\n{}  from {}  (record {})\n  was       {}\n  would be  {}",
                    d.id,
                    d.from,
                    d.seq,
                    in_words(&d.was),
                    in_words(&d.would_be)
                );
            }
            context.output.say(&printable_lines(&text))?;
        }
        Ok(super::output::findings(!self.differences.is_empty()))
    }
}

fn as_json(judged: &Judged) -> Value {
    match judged {
        Judged::To(to) => {
            let to: Vec<Value> = to
                .iter()
                .map(|(to, kind)| json!({ "to": to, "kind": kind }))
                .collect();
            json!({ "deliveries": to })
        }
        Judged::Refused(why) => json!({ "refused": why }),
    }
}

fn in_words(judged: &Judged) -> String {
    match judged {
        Judged::To(to) => {
            let each = |(to, kind): &(Address, Kind)| format!("{kind} to {to}");
            let to: Vec<String> = to.iter().map(each).collect();
            to.join(", ")
        }
        Judged::Refused(why) => format!("refused: {why}"),
    }
}
