//! Private files and folders of tx. Only this user can enter the folders and read the files, even
//! if the umask allows more.
//!
//! Anybody who could write there could make tx run anything, and anybody who could read there could
//! hold its locks.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::Project;

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;

impl Project {
    /// Make tx's private folders, and close those that an older tx or somebody else left open. The
    /// error names the folder.
    pub fn make_private(&self) -> Result<(), (std::path::PathBuf, io::Error)> {
        for folder in [self.state(), self.run(), self.logs(), self.archive()] {
            make_private_folder(&folder).map_err(|error| (folder, error))?;
        }
        Ok(())
    }
}

/// Make a folder that only this user can enter, or close an existing one. If others could enter it
/// until now, everything in it is closed too. Folders above it are made as usual.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(FOLDER).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() {
        let why = "it is not a folder, and links are not followed: remove it, then try again";
        return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
    }
    if found.mode() & 0o7777 == FOLDER {
        return Ok(());
    }
    fs::set_permissions(folder, Permissions::from_mode(FOLDER))?;
    close_all_in(folder);
    Ok(())
}

/// Make a folder and those above it that are missing, each closed to others.
pub fn make_private_folders(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(FOLDER).create(folder)
}

/// Close everything in a folder to others. They cannot enter the folder any more, so a failure does
/// no harm.
pub fn close_all_in(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else {
            continue;
        };
        let mode = match (found.is_dir(), found.is_file()) {
            (true, _) => FOLDER,
            (false, true) => FILE,
            (false, false) => continue,
        };
        if found.mode() & 0o777 != mode {
            let _ = fs::set_permissions(entry.path(), Permissions::from_mode(mode));
        }
        if found.is_dir() {
            close_all_in(&entry.path());
        }
    }
}

/// Make a file that only this user can read, or empty it.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(FILE);
    let file = options.open(path)?;
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}

/// Write a file that only this user can read.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    create_private(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_folder_that_was_open_is_closed_with_all_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("above/state");
        fs::create_dir_all(folder.join("deep")).unwrap();
        let files = [folder.join("journal"), folder.join("deep/file")];
        for file in &files {
            fs::write(file, "").unwrap();
            fs::set_permissions(file, Permissions::from_mode(0o666)).unwrap();
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        make_private_folder(&folder).unwrap();
        assert_eq!((mode(&folder), mode(&folder.join("deep"))), (0o700, 0o700));
        assert!(files.iter().all(|file| mode(file) == 0o600));
    }

    #[test]
    fn a_link_is_not_taken_for_a_folder_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        let (other, link) = (dir.path().join("other"), dir.path().join("state"));
        fs::create_dir(&other).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        make_private_folder(&link).unwrap_err();
    }
}
