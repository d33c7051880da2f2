//! Archives what is finished, so that the journal becomes smaller.

use std::fs;
use std::io;
use std::path::Path;

use chrono::Utc;
use schemars::JsonSchema;
use serde::Serialize;

use crate::format::message::{MAX_FILE, Origin, Parsed, parse};
use crate::journal::{self, Error, PrunedMessages};
use crate::project::{Project, close_all_in, make_private_folder, read_regular};
use crate::view::{Refused, nothing_yet};

/// What was archived.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PruneView {
    pub(crate) records: u64,
    pub(crate) messages: u64,
    pub(crate) files: usize,
    /// The archive; `None` if there was nothing to archive.
    pub(crate) archive: Option<String>,
    /// Why the journal did not become smaller, if so.
    #[serde(skip)]
    pub(crate) not_compacted: Option<String>,
}

/// Archive what was finished before a time, in milliseconds since 1970.
pub(crate) fn prune(project: &Project, before: i64) -> Result<PruneView, Refused> {
    let journal = project.journal();
    if !journal.exists() {
        return Err(nothing_yet());
    }
    let now = Utc::now().format("%Y%m%dT%H%M%S%3fZ").to_string();
    let folder = project.archive();
    make_private_folder(&folder).map_err(|error| {
        Refused::new(format!("{} cannot be created: {error}", folder.display()))
    })?;
    let archive = folder.join(format!("{now}.jsonl"));
    let files = folder.join(&now);
    let mut moved = 0;
    let pruned = journal::prune(&journal, before, &archive, |put| {
        moved = archive_files(project, put, &files)?;
        Ok(())
    });
    let pruned = pruned.map_err(|error| match error {
        Error::Busy(_) => Refused::new("the journal is in use: stop tx to prune it")
            .hint("`tx stop`, then `tx prune`, then `tx start`; agents keep running"),
        error => Refused::from(error),
    })?;
    // Files from the bus still have their authors' permissions.
    close_all_in(&folder);
    let any = pruned.records + pruned.messages > 0;
    Ok(PruneView {
        records: pruned.records,
        messages: pruned.messages,
        files: moved,
        archive: any.then(|| archive.to_string_lossy().into()),
        not_compacted: pruned.not_compacted.map(|error| error.to_string()),
    })
}

/// Move the files of archived messages from the bus to the archive. Otherwise they would be
/// accepted as new messages.
fn archive_files(project: &Project, put: &PrunedMessages, folder: &Path) -> io::Result<usize> {
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
        if put.paths.contains(&name) || is_archived(&path, &name, put) {
            make_private_folder(folder)?;
            fs::rename(&path, folder.join(&name))?;
            moved += 1;
        }
    }
    Ok(moved)
}

/// Whether a file of tx belongs to an archived message, by its sender and id.
fn is_archived(path: &Path, name: &str, put: &PrunedMessages) -> bool {
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
