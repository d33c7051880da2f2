//! Files that are written completely or not at all: tx writes a dotfile beside them, then renames
//! it. A watcher of the folder never sees a part of a file.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Who may read a file, and how durable it is.
#[derive(Clone, Copy, Debug)]
pub enum FileUse {
    /// Readable as the umask says, and durable.
    Durable,
    /// Readable as the umask says. It need not survive a crash of the machine: the journal has its
    /// content.
    Readable,
    /// Readable for this user only. It need not survive a crash of the machine.
    Private,
}

/// Write a file, unless it exists. True if it was written.
pub fn write_new(path: &Path, text: &[u8], file_use: FileUse) -> io::Result<bool> {
    match prepare(path, text, file_use)?.persist_noclobber(path) {
        Ok(_) => {}
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(failed) => return Err(failed.error),
    }
    finish(path, file_use)?;
    Ok(true)
}

/// Write a file, and replace an existing one.
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

/// The text in a dotfile beside the file. It is removed if it is not renamed.
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

/// Write a file and its folders, unless it exists. True if it was written.
pub fn write_with_folders(path: &Path, text: &str) -> io::Result<bool> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    fs::create_dir_all(folder_of(path))?;
    write_new(path, text.as_bytes(), FileUse::Durable)
}
