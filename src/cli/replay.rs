//! `tx replay`: the state at a past record, or the past under a changed routing table.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, NaiveDate};

use super::output::{findings, is_watched, talk};
use super::{Context, Exit, Refused, require_journal, short};
use crate::format::mesh::parse;
use crate::format::report::{many, printable_lines, report};
use crate::view::{
    Differences, FoldedJournal, Judgement, Reason, StateView, Time, compare, state_at,
};

/// Show the state at a past time, or what another routing table would have done
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tx replay --to 2026-11-15T10:00:00Z\n  tx replay --mesh meshes/dev/config.yaml"
)]
pub(super) struct ReplayArgs {
    /// The last record, or the time, that counts [default: now]
    #[arg(long, value_name = "SEQ|TIME")]
    to: Option<String>,

    /// A changed mesh config: judge every message by it, and show what differs
    #[arg(long, value_name = "FILE")]
    mesh: Option<PathBuf>,
}

pub(super) fn run(context: &Context, verb: &ReplayArgs) -> Result<Exit, Refused> {
    let past = require_journal(&context.project()?)?;
    let to = match &verb.to {
        Some(to) => point(&past, to)?,
        None => past.reader.last()?,
    };
    match &verb.mesh {
        Some(file) => run_against(context, &past, to, file),
        None => context
            .output
            .answer(&state_at(&past.reader, to)?, state_text),
    }
}

/// A record, by its sequence number or a time.
fn point(past: &FoldedJournal, text: &str) -> Result<u64, Refused> {
    let last = past.reader.last()?;
    if let Ok(seq) = text.parse::<u64>() {
        return match seq <= last {
            true => Ok(seq),
            false => Err(Refused::no_such_thing(format!(
                "there is no record {seq} yet: the last is {last}"
            ))),
        };
    }
    match past.reader.last_at(moment(text)?)? {
        0 => {
            let first = past.reader.record(1)?;
            let first = first.map(|first| format!(": the first record is of {}", Time(first.at)));
            let why = format!(
                "nothing had happened here by {text}{}",
                first.unwrap_or_default()
            );
            Err(Refused::no_such_thing(why)
                .hint("`tx replay --to` takes a later time, or a record"))
        }
        seq => Ok(seq),
    }
}

/// A time or a day, in milliseconds since 1970.
pub(super) fn moment(text: &str) -> Result<i64, Refused> {
    let time = DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis());
    let day = || {
        let day = text.parse::<NaiveDate>().ok()?;
        Some(day.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis())
    };
    time.ok().or_else(day).ok_or_else(|| {
        Refused::new(format!("`{text}` is not a time"))
            .hint("a day, 2026-11-15, or a time, 2026-11-15T10:00:00Z")
            .because(Reason::Usage)
    })
}

fn number_of(count: u64, what: &str) -> String {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    many(count, what)
}

fn state_text(view: &StateView) -> String {
    let state = &view.state;
    let (seq, at, counts) = (state.seq(), Time(state.at()), state.counts());
    let mut text = format!(
        "after record {seq}, at {at}\n{} accepted: {} ended, {} under way\n\
         {} parked; {} refused, {} said twice\n",
        number_of(counts.accepted, "message"),
        counts.left,
        counts.accepted.saturating_sub(counts.left),
        counts.parked,
        number_of(counts.refused, "file"),
        counts.duplicates,
    );
    for (address, worker) in state.workers() {
        let (is, since) = (worker.status.is().as_str(), Time(worker.since));
        let waits = state.worker_waits_for(address);
        let _ = writeln!(text, "\n{address}  {is}  since {since}\n  {waits}");
    }
    for held in state.open_messages().filter(|held| !held.facts.is_over()) {
        let (id, step) = (&held.facts.id, held.facts.step().as_str());
        let waits = state.waiting_for(held.facts.number).join("; ");
        let _ = writeln!(text, "\n{id}  {step}\n  waits for {waits}");
    }
    printable_lines(&text)
}

fn run_against(
    context: &Context,
    past: &FoldedJournal,
    to: u64,
    file: &Path,
) -> Result<Exit, Refused> {
    let text = fs::read_to_string(file)
        .map_err(|error| Refused::new(format!("{} cannot be read: {error}", short(file))))?;
    let loaded = parse(text.as_bytes());
    talk(&report(&short(file), &text, &loaded.diagnostics, true));
    let mesh = loaded
        .mesh
        .ok_or_else(|| Refused::new(format!("{} does not load", short(file))))?;
    let differences = compare(&past.reader, to, &mesh, |seq| {
        if is_watched() && seq % 100_000 == 0 {
            talk(&format!("record {seq} of {to}\n"));
        }
    })?;
    context.output.answer(&differences, differences_text)?;
    Ok(findings(!differences.differences.is_empty()))
}

fn differences_text(found: &Differences) -> String {
    let mut text = format!(
        "{} judged by the changed `{}`: {} differ, {} that follow from those are unknown\n",
        number_of(found.judged, "message"),
        found.mesh,
        found.differences.len(),
        found.unknown
    );
    for d in &found.differences {
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
    printable_lines(&text)
}

fn in_words(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Deliveries(to) => {
            let to: Vec<String> = to
                .iter()
                .map(|d| format!("{} to {}", d.kind, d.to))
                .collect();
            to.join(", ")
        }
        Judgement::Moves(words) => words.clone(),
        Judgement::Refused(why) => format!("refused: {why}"),
    }
}
