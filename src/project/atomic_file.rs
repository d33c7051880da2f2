//! Files that are written whole or not at all: a dotfile beside them, then its name. Whoever
//! watches the folder sees the whole file or none.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// For whom a file is, and what it outlives.
#[derive(Clone, Copy, Debug)]
pub enum FileUse {
    /// For everybody, as the umask says; it outlives the machine.
    Durable,
    /// For everybody; the journal has what it says, should the machine fall.
    Readable,
    /// For this user alone; after a fall of the machine nobody needs it.
    Private,
}

/// Write a file, unless it is there. True if it was written.
pub fn write_new(path: &Path, text: &[u8], file_use: FileUse) -> io::Result<bool> {
    match prepare(path, text, file_use)?.persist_noclobber(path) {
        Ok(_) => {}
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(failed) => return Err(failed.error),
    }
    finish(path, file_use)?;
    Ok(true)
}

/// Write a file, in place of what is there.
pub fn replace(path: &Path, text: &[u8], file_use: FileUse) -> io::Result<()> {
    prepare(path, text, file_use)?.persist(path)?;
    finish(path, file_use)
}

/// Write a new file for others. An existing one is never replaced: the name gets a number
/// instead. Returns the path written.
pub fn write_numbered(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let mut path = folder.join(name);
    let mut count = 1;
    while !write_new(&path, text.as_bytes(), FileUse::Durable)? {
        count += 1;
        path = folder.join(format!("{stem}-{count}.{ending}"));
    }
    Ok(path)
}

/// The text in a dotfile beside the file, which goes if it is not placed.
fn prepare(path: &Path, text: &[u8], file_use: FileUse) -> io::Result<NamedTempFile> {
    let mode = match file_use {
        FileUse::Durable | FileUse::Readable => 0o666, // less the umask, like any file
        FileUse::Private => 0o600,
    };
    let mut file = tempfile::Builder::new()
        .prefix(".tx-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder_of(path))?;
    file.write_all(text)?;
    match file_use {
        FileUse::Durable => file.as_file().sync_all()?,
        FileUse::Readable | FileUse::Private => {}
    }
    Ok(file)
}

fn finish(path: &Path, file_use: FileUse) -> io::Result<()> {
    match file_use {
        FileUse::Durable => File::open(folder_of(path))?.sync_all(),
        FileUse::Readable | FileUse::Private => Ok(()),
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    }
}

/// Write a file with its folders, unless something is there. True if it was written.
pub fn write_with_folders(path: &Path, text: &str) -> io::Result<bool> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    fs::create_dir_all(folder_of(path))?;
    write_new(path, text.as_bytes(), FileUse::Durable)
}
