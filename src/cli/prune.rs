//! `tx prune`: put what is finished away, and make the journal small again.

use std::fs;
use std::io;
use std::path::Path;

use chrono::Utc;
use serde_json::json;

use super::output::{many, talk};
use super::past::nothing_yet;
use super::replay::moment;
use super::{Context, Exit, Failure, short};
use crate::format::message::{MAX_FILE, Origin, Parsed, parse};
use crate::journal::{Error, Put, prune};
use crate::project::{Project, close_all_in, make_private_folder, read_regular};

/// Archive what was finished before a time
#[derive(clap::Args)]
#[command(after_help = "Example: tx prune --before 2026-11-01")]
pub(super) struct Prune {
    /// A day or a time; what is not finished stays, whatever its age
    #[arg(long, value_name = "TIME")]
    before: String,
}

pub(super) fn run(context: &Context, verb: &Prune) -> Result<Exit, Failure> {
    let project = context.project()?;
    let before = moment(&verb.before)?;
    let journal = project.journal();
    if !journal.exists() {
        return Err(nothing_yet());
    }
    let now = Utc::now().format("%Y%m%dT%H%M%S%3fZ").to_string();
    let folder = project.archive();
    make_private_folder(&folder)
        .map_err(|error| Failure::new(format!("{} cannot be made: {error}", short(&folder))))?;
    let archive = folder.join(format!("{now}.jsonl"));
    let files = folder.join(&now);
    let mut moved = 0;
    let pruned = prune(&journal, before, &archive, |put| {
        moved = put_files_away(&project, put, &files)?;
        Ok(())
    });
    let pruned = pruned.map_err(|error| match error {
        Error::Busy(_) => Failure::from(error).hint("stop the daemon first: `tx stop`"),
        error => Failure::from(error),
    })?;
    // What was on the bus is as its author made it.
    close_all_in(&folder);
    if let Some(error) = &pruned.not_compacted {
        talk(&format!(
            "warning: the journal is as large as before: {error}\n"
        ));
    }
    let any = pruned.records + pruned.messages > 0;
    let archive = any.then_some(archive);
    if context.output.json {
        context.output.say_json(&json!({
            "records": pruned.records, "messages": pruned.messages, "files": moved,
            "archive": archive.as_ref().map(|path| path.to_string_lossy()),
        }))?;
        return Ok(Exit::Done);
    }
    let text = match &archive {
        None => "nothing to put away\n".to_owned(),
        Some(archive) => format!(
            "{}, {} and {} put away in {}\n",
            many(
                usize::try_from(pruned.messages).unwrap_or(usize::MAX),
                "message"
            ),
            many(
                usize::try_from(pruned.records).unwrap_or(usize::MAX),
                "record"
            ),
            many(moved, "file"),
            short(archive)
        ),
    };
    context.output.say(&text)?;
    Ok(Exit::Done)
}

/// Move the files of what goes from the bus into the archive: what is no longer known
/// must not be found there again.
fn put_files_away(project: &Project, put: &Put, folder: &Path) -> io::Result<usize> {
    let mut moved = 0;
    let bus = match fs::read_dir(project.messages()) {
        Ok(bus) => bus,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    for entry in bus {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if !name.ends_with(".md") || name.starts_with('.') {
            continue;
        }
        if put.paths.contains(&name) || says_what_goes(&path, &name, put) {
            make_private_folder(folder)?;
            fs::rename(&path, folder.join(&name))?;
            moved += 1;
        }
    }
    Ok(moved)
}

/// What tx wrote is known by its sender and id.
fn says_what_goes(path: &Path, name: &str, put: &Put) -> bool {
    let Ok((bytes, _)) = read_regular(path, MAX_FILE) else {
        return false;
    };
    let origin = Origin {
        name: name.into(),
        modified: Utc::now().fixed_offset(),
    };
    match parse(&bytes, &origin) {
        Parsed::Message(read) => {
            let envelope = read.message.envelope;
            put.own.contains(&(envelope.from, envelope.id))
        }
        Parsed::Rejected(_) | Parsed::Incomplete(_) => false,
    }
}
