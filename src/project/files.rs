//! Reading files that anybody may have put there, and writing whole ones or none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset, Utc};
use rustix::fs::OFlags;
use tempfile::NamedTempFile;

use crate::format::{Text, too_large};
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
        return Err(too_large(limit));
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
            "links are not followed: copy the file, or give it on standard input as `-`",
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
    let mut temporary = prepare(folder, text)?;
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let mut path = folder.join(name);
    let mut count = 1;
    while let Some(kept) = place(temporary, &path)? {
        temporary = kept;
        count += 1;
        path = folder.join(format!("{stem}-{count}.{ending}"));
    }
    Ok(path)
}

/// Write a file with its folders, unless it is there. True if it was written.
pub fn write_new(path: &Path, text: &str) -> io::Result<bool> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let kept = place(prepare(folder, text)?, path)?;
    Ok(kept.is_none())
}

/// The text in a synced dotfile of the folder, which goes if it is not placed.
fn prepare(folder: &Path, text: &str) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".tx-")
        .permissions(fs::Permissions::from_mode(0o666)) // less the umask, like any file
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Give it its name, durably. The file comes back if something has that name.
fn place(file: NamedTempFile, path: &Path) -> io::Result<Option<NamedTempFile>> {
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
            return Ok(Some(failed.file));
        }
        Err(failed) => return Err(failed.error),
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()?;
    Ok(None)
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
