//! `tx replay`: the state at a past record, or the past under a changed routing table.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local, NaiveTime, TimeDelta};

use super::layout::{in_local_time, local};
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
    after_help = "Examples:\n  tx replay --to 10m\n  tx replay --to 2026-11-15T10:00:00Z\n  tx replay --mesh meshes/dev/config.yaml"
)]
pub(super) struct ReplayArgs {
    /// A record, a time or an age such as 10m: what came later does not count [default: now]
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
            let first =
                first.map(|first| format!(": the first record is from {}", local(Time(first.at))));
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

/// A time, in milliseconds since 1970. Without an offset it is local, as tx prints it.
pub(super) fn moment(text: &str) -> Result<i64, Refused> {
    parse_moment(text, Local::now()).ok_or_else(|| {
        Refused::new(format!("`{text}` is not a time"))
            .hint(
                "a day (2026-11-15), a time (10:00, 2026-11-15T10:00:00Z) or an age (30d, 2h, 10m)",
            )
            .because(Reason::Usage)
    })
}

fn parse_moment(text: &str, now: DateTime<Local>) -> Option<i64> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp_millis());
    }
    if let Some(age) = age(text) {
        return now.checked_sub_signed(age).map(|at| at.timestamp_millis());
    }
    let (day, time) = match text.split_once([' ', 'T']) {
        Some((day, time)) => (Some(day), Some(time)),
        None if text.contains(':') => (None, Some(text)),
        None => (Some(text), None),
    };
    let day = day.map_or(Some(now.date_naive()), |day| day.parse().ok())?;
    let clock = |time: &str| {
        let formats = ["%H:%M:%S", "%H:%M"].into_iter();
        formats
            .filter_map(|format| NaiveTime::parse_from_str(time, format).ok())
            .next()
    };
    let time = time.map_or(Some(NaiveTime::MIN), clock)?;
    // When the clock is set forward, some local times do not exist.
    let at = day.and_time(time).and_local_timezone(Local).earliest()?;
    Some(at.timestamp_millis())
}

/// How long ago: `90s`, `10m`, `2h`, `30d`.
fn age(text: &str) -> Option<TimeDelta> {
    let unit = text.chars().last()?;
    let count = text.strip_suffix(unit)?.parse::<u32>().ok()?.into();
    match unit {
        's' => TimeDelta::try_seconds(count),
        'm' => TimeDelta::try_minutes(count),
        'h' => TimeDelta::try_hours(count),
        'd' => TimeDelta::try_days(count),
        _ => None,
    }
}

fn number_of(count: u64, what: &str) -> String {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    many(count, what)
}

fn state_text(view: &StateView) -> String {
    let state = &view.state;
    let (seq, at, counts) = (state.seq(), Time(state.at()), state.counts());
    let mut text = format!(
        "after record {seq}, at {}\n{} accepted: {} ended, {} under way\n\
         {} parked; {} refused, {} ignored\n",
        local(at),
        number_of(counts.accepted, "message"),
        counts.left,
        counts.accepted.saturating_sub(counts.left),
        counts.parked,
        number_of(counts.refused, "file"),
        number_of(counts.duplicates, "duplicate"),
    );
    for (address, worker) in state.workers() {
        let (is, since) = (worker.status.is().as_str(), local(Time(worker.since)));
        let waits = in_local_time(&state.worker_waits_for(address));
        let _ = writeln!(text, "\n{address}  {is}  since {since}\n  {waits}");
    }
    for held in state.open_messages().filter(|held| !held.facts.is_over()) {
        let (id, step) = (&held.facts.id, held.facts.step().as_str());
        let waits = in_local_time(&state.waiting_for(held.facts.number).join("; "));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let now = DateTime::parse_from_rfc3339("2026-11-15T12:00:00Z").unwrap();
        let now = now.with_timezone(&Local);
        let before = |age: TimeDelta| Some((now - age).timestamp_millis());
        assert_eq!(parse_moment("90s", now), before(TimeDelta::seconds(90)));
        assert_eq!(parse_moment("10m", now), before(TimeDelta::minutes(10)));
        assert_eq!(parse_moment("2h", now), before(TimeDelta::hours(2)));
        assert_eq!(parse_moment("30d", now), before(TimeDelta::days(30)));
        assert_eq!(
            parse_moment("2026-11-15T11:00:00Z", now),
            before(TimeDelta::hours(1))
        );
        let clock = now.format("%H:%M:%S").to_string();
        let full = now.format("%Y-%m-%d %H:%M").to_string();
        for same in [clock, full] {
            assert_eq!(
                parse_moment(&same, now),
                before(TimeDelta::zero()),
                "{same}"
            );
        }
        let day = parse_moment("2026-11-14", now).unwrap();
        assert_eq!(local(Time(day)), "2026-11-14 00:00:00", "a day is local");
        for wrong in ["", "m", "-1d", "10x", "25:00", "2026-13-01", "99999999999d"] {
            assert_eq!(parse_moment(wrong, now), None, "{wrong}");
        }
    }
}
