//! Reading files that anybody may have put there, and writing whole ones or none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset, Utc};
use rustix::fs::OFlags;

use crate::format::{Text, message};
use crate::model::{Code, Diagnostic};

/// Read a regular file of at most `limit` bytes, and when it was written.
///
/// A folder, link, pipe or device is refused without being opened for long:
/// the open follows no link and waits for nobody, and the check is made on what
/// was opened, so that nothing can be swapped in between.
pub fn read_regular(
    path: &Path,
    limit: usize,
) -> Result<(Vec<u8>, DateTime<FixedOffset>), Diagnostic> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| match fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => not_a_file(found.file_type()),
            Ok(_) | Err(_) => unreadable(&error),
        })?;
    let found = file.metadata().map_err(|error| unreadable(&error))?;
    if !found.is_file() {
        return Err(not_a_file(found.file_type()));
    }
    if found.len() > limit as u64 {
        return Err(message::too_large(found.len(), limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0) + 1);
    file.take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    let modified = found
        .modified()
        .map_or_else(|_| Utc::now(), DateTime::<Utc>::from);
    Ok((bytes, modified.fixed_offset()))
}

fn not_a_file(found: fs::FileType) -> Diagnostic {
    let (what, hint) = if found.is_dir() {
        ("a folder", "name the files in it")
    } else if found.is_symlink() {
        (
            "a symbolic link",
            "copy the file, or make a hard link: links are not followed",
        )
    } else {
        ("a pipe, socket or device", "write a regular file")
    };
    Text("").diagnose(
        Code::NotAFile,
        0..0,
        format!("expected a file, found {what}"),
        hint,
    )
}

/// The diagnostic for a file that cannot be read.
pub fn unreadable(error: &io::Error) -> Diagnostic {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied => "give read permission: chmod +r",
        _ => "see that the disk is well, then try again",
    };
    Text("").diagnose(
        Code::Unreadable,
        0..0,
        format!("cannot be read: {error}"),
        hint,
    )
}

/// Write a new file whole: a dotfile beside it, synced, then renamed. Whoever
/// watches the folder sees the whole file or none. An existing file is never
/// replaced: the name gets a number instead. Returns the path written.
pub fn write_atomically(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let mut temporary = tempfile::Builder::new()
        .prefix(".tx-")
        .tempfile_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    // Readable like any file that its owner writes, whatever tempfile's care.
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    temporary.as_file().set_permissions(open_to_all)?;
    temporary.as_file().sync_all()?;
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let mut path = folder.join(name);
    let mut count = 1;
    loop {
        match temporary.persist_noclobber(&path) {
            Ok(_) => break,
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
                temporary = failed.file;
                count += 1;
                path = folder.join(format!("{stem}-{count}.{ending}"));
            }
            Err(failed) => return Err(failed.error),
        }
    }
    File::open(folder)?.sync_all()?;
    Ok(path)
}

/// Write a file with its folders, unless it is there. True if it was written.
pub fn write_new(path: &Path, text: &str) -> io::Result<bool> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    write_atomically(folder, &name, text)?;
    Ok(true)
}
