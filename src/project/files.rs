//! Reads files that anybody may have put there.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use chrono::{DateTime, FixedOffset, Utc};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::format::{SourceText, too_large};
use crate::model::{Code, Diagnostic};

/// The bytes of a file, and when it was written.
pub type Contents = (Vec<u8>, DateTime<FixedOffset>);

/// Read a regular file of at most `limit` bytes, with its modification time.
///
/// A folder, link, pipe or device is refused. The open follows no links and does not block, and the
/// check is made on the open file, so nothing can be swapped in between.
pub fn read_regular(path: &Path, limit: usize) -> Result<Contents, Diagnostic> {
    try_read_regular(path, limit).unwrap_or_else(|error| Err(unreadable(&error)))
}

/// The same. A passing error is not a finding about the file.
pub fn try_read_regular(path: &Path, limit: usize) -> io::Result<Result<Contents, Diagnostic>> {
    let read = read(path, limit, OFlags::NOFOLLOW);
    match read {
        Err(NotRead::Failed(error)) if is_transient(&error) => Err(error),
        Err(NotRead::Failed(error)) => Ok(Err(unreadable(&error))),
        Err(NotRead::NotAFile(found)) => Ok(Err(not_a_file(found))),
        Err(NotRead::TooLarge) => Ok(Err(too_large(limit))),
        Ok(read) => Ok(Ok(read)),
    }
}

/// The text of a regular file, or of the file that a link points at; `None` if there is none. It
/// does not block either.
pub(super) fn read_settings(path: &Path, limit: usize) -> Result<Option<String>, String> {
    match read(path, limit, OFlags::empty()) {
        Ok((bytes, _)) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| "it is not UTF-8 text".into()),
        Err(NotRead::Failed(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(NotRead::Failed(error)) => Err(unreadable(&error).message),
        Err(NotRead::NotAFile(found)) => Err(not_a_file(found).message),
        Err(NotRead::TooLarge) => Err(too_large(limit).message),
    }
}

/// Why a file was not read.
enum NotRead {
    Failed(io::Error),
    NotAFile(fs::FileType),
    TooLarge,
}

fn read(path: &Path, limit: usize, more: OFlags) -> Result<Contents, NotRead> {
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC | more;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| match fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() && !is_transient(&error) => {
                NotRead::NotAFile(found.file_type())
            }
            Ok(_) | Err(_) => NotRead::Failed(error),
        })?;
    let found = file.metadata().map_err(NotRead::Failed)?;
    if !found.is_file() {
        return Err(NotRead::NotAFile(found.file_type()));
    }
    if found.len() > limit as u64 {
        return Err(NotRead::TooLarge);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0) + 1);
    file.take(limit as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(NotRead::Failed)?;
    let modified = found
        .modified()
        .map_or_else(|_| Utc::now(), DateTime::<Utc>::from);
    Ok((bytes, modified.fixed_offset()))
}

/// Whether this error will pass and says nothing about the file.
pub fn is_transient(error: &io::Error) -> bool {
    let passing = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::INTR,
        Errno::AGAIN,
        Errno::IO,
    ];
    let found = Errno::from_io_error(error);
    found.is_some_and(|errno| passing.contains(&errno))
}

fn not_a_file(found: fs::FileType) -> Diagnostic {
    let (what, hint) = if found.is_dir() {
        ("a folder", "name the files in it")
    } else if found.is_symlink() {
        (
            "a symbolic link",
            "links are not followed: copy the file, or give it on standard input as `-`",
        )
    } else {
        ("a pipe, socket or device", "write a regular file")
    };
    SourceText("").diagnose(
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
        _ => "check the disk, then try again",
    };
    SourceText("").diagnose(
        Code::Unreadable,
        0..0,
        format!("cannot be read: {error}"),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_the_limit_whatever_the_size_says() {
        // A file of the kernel's says it is empty and is not.
        let path = Path::new("/proc/self/maps");
        let (bytes, _) = read_regular(path, 10).unwrap();
        assert_eq!(
            bytes.len(),
            11,
            "a byte over the limit tells that it is over"
        );
    }
}
