//! Finds the project's folder, and knows where everything in it is.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use super::files::read_settings;
use crate::format::report::report;
use crate::format::settings;
use crate::model::{Settings, WORKTREE_MARK};

/// The maximum length of a Unix socket's path, in bytes: that of macOS.
const SOCKET_PATH: usize = 103;

/// The largest file of settings, in bytes.
const MAX_SETTINGS: usize = 256 * 1024;

/// A folder with `.ai/tx` or `meshes` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder itself.
    pub root: PathBuf,
}

/// There is no project where one was looked for.
#[derive(Debug, thiserror::Error)]
pub enum NotAProject {
    /// The named folder is not a project.
    #[error("{} is not a tx project: it has neither `.ai/tx` nor `meshes`", .0.display())]
    Named(PathBuf),
    /// Neither this folder nor one above it is a project.
    #[error("{} is not in a tx project: neither it nor a folder above has `.ai/tx` or `meshes`", .0.display())]
    Here(PathBuf),
    /// The project that was found belongs to another user. Its agents would run as this user.
    #[error("{} belongs to another user (uid {owner}): its agents would run as you", .path.display())]
    Others {
        /// The project that was found.
        root: PathBuf,
        /// The part that belongs to the other user.
        path: PathBuf,
        /// The user that owns it.
        owner: u32,
    },
}

/// The settings of a project cannot be used: what is wrong, and where.
#[derive(Debug, thiserror::Error)]
#[error("the settings are wrong")]
pub struct BadSettings {
    /// The diagnostics, with the lines that they point at.
    pub report: String,
}

impl Project {
    /// The project `named`, or the nearest one at or above `here`. One that was found and not named
    /// must belong to this user: anybody can put one above a folder.
    pub fn find(named: Option<&Path>, here: &Path) -> Result<Project, NotAProject> {
        let is_project = |dir: &Path| dir.join(".ai/tx").is_dir() || dir.join("meshes").is_dir();
        let root = match named {
            Some(dir) if is_project(dir) => dir,
            Some(dir) => return Err(NotAProject::Named(dir.into())),
            None => match here.ancestors().find(|dir| is_project(dir)) {
                Some(root) => own(root, rustix::process::geteuid().as_raw())?,
                None => return Err(NotAProject::Here(here.into())),
            },
        };
        let root = match named {
            Some(_) => root.to_owned(),
            None => home_of_worktree(root).unwrap_or_else(|| root.to_owned()),
        };
        Ok(Project { root })
    }

    /// The settings of the project, with defaults filled in.
    pub fn settings(&self) -> Result<Settings, BadSettings> {
        let path = self.root.join(".ai/tx/config.yaml");
        let text = match read_settings(&path, MAX_SETTINGS) {
            Ok(text) => text.unwrap_or_default(),
            Err(why) => {
                let report = format!("{}: {why}", path.display());
                return Err(BadSettings { report });
            }
        };
        settings::parse(&text).map_err(|wrong| {
            let path = ".ai/tx/config.yaml";
            let report = report(path, &text, &[wrong], false);
            BadSettings { report }
        })
    }

    /// The bus: the folder that messages are dropped into.
    pub fn messages(&self) -> PathBuf {
        self.root.join(".ai/tx/msgs")
    }

    /// The names of the message files on the bus, each with the time of its last change in
    /// milliseconds since 1970.
    pub fn message_files(&self) -> impl Iterator<Item = (String, i64)> {
        let listed = fs::read_dir(self.messages()).into_iter().flatten();
        listed.flatten().filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let modified = file.metadata().ok()?.modified().ok()?;
            let modified = DateTime::<Utc>::from(modified).timestamp_millis();
            let is_message = name.ends_with(".md") && !name.starts_with('.');
            is_message.then_some((name, modified))
        })
    }

    /// Whether a file lies directly on the bus.
    pub fn on_bus(&self, file: &Path) -> bool {
        let path = std::path::absolute(file).unwrap_or_default();
        path.parent() == Some(&self.messages())
    }

    /// The daemon's own folder: the journal, locks and sockets.
    pub fn state(&self) -> PathBuf {
        self.root.join(".ai/tx/state")
    }

    /// The journal.
    pub fn journal(&self) -> PathBuf {
        self.root.join(".ai/tx/state/journal.db")
    }

    /// The newest copy of a journal that was removed while a daemon wrote it.
    pub fn saved_journal(&self) -> Option<PathBuf> {
        let listed = fs::read_dir(self.root.join(".ai/tx")).ok()?;
        let paths = listed.filter_map(|entry| Some(entry.ok()?.path()));
        let is_saved = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("journal-") && name.ends_with(".saved")
        };
        paths.filter(is_saved).max()
    }

    /// The folder of the archives.
    pub fn archive(&self) -> PathBuf {
        self.root.join(".ai/tx/archive")
    }

    /// The project's own meshes.
    pub fn meshes(&self) -> PathBuf {
        self.root.join("meshes")
    }

    /// The daemon's lock file.
    pub fn lock(&self) -> PathBuf {
        self.root.join(".ai/tx/state/daemon.lock")
    }

    /// The folder of the daemon's logs.
    pub fn logs(&self) -> PathBuf {
        self.root.join(".ai/tx/logs")
    }

    /// The folder for what runs: prompts, output and exit records of the workers.
    pub fn run(&self) -> PathBuf {
        self.root.join(".ai/tx/run")
    }

    /// The socket of the project's own tmux server.
    pub fn tmux_socket(&self) -> io::Result<PathBuf> {
        self.socket("tmux.sock")
    }

    /// The path of a socket of this project: in its state folder, or, if that path is too long for
    /// a socket, in a private folder of the system's runtime directory.
    pub fn socket(&self, name: &str) -> io::Result<PathBuf> {
        // The socket is the same, no matter how the project was named.
        let root = fs::canonicalize(&self.root)?;
        let near = root.join(".ai/tx/state").join(name);
        if fits(&near) {
            return Ok(near);
        }
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let runtime = runtime.filter(|folder| folder.is_absolute());
        let folder = folder_of_sockets(&runtime.unwrap_or_else(std::env::temp_dir), &root);
        make_private(&folder, rustix::process::getuid().as_raw())?;
        let far = folder.join(name);
        match fits(&far) {
            true => Ok(far),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidFilename,
                format!("{} is too long for a socket", far.display()),
            )),
        }
    }
}

/// The project that a folder is a worktree of, if tx made it.
fn home_of_worktree(root: &Path) -> Option<PathBuf> {
    let link = fs::read_to_string(root.join(".git")).ok()?;
    let own = PathBuf::from(link.trim().strip_prefix("gitdir: ")?);
    let home = fs::read(own.join(WORKTREE_MARK)).ok()?;
    let home = PathBuf::from(std::ffi::OsStr::from_bytes(&home));
    let user = rustix::process::geteuid().as_raw();
    self::own(&home, user).ok()?;
    home.join(".ai/tx").is_dir().then_some(home)
}

/// A project's folder, if everything that decides what runs there belongs to this user.
fn own(root: &Path, user: u32) -> Result<&Path, NotAProject> {
    let parts = ["", ".ai", ".ai/tx", "meshes"].map(|part| root.join(part));
    // Check both a link and what it points at: whoever made the link chose that.
    let found = parts.iter().flat_map(|path| {
        let all = [fs::symlink_metadata(path), fs::metadata(path)];
        all.into_iter().flatten().map(move |found| (path, found))
    });
    let others = found.into_iter().find(|(_, found)| found.uid() != user);
    match others {
        None => Ok(root),
        Some((path, found)) => Err(NotAProject::Others {
            root: root.into(),
            path: path.components().collect(),
            owner: found.uid(),
        }),
    }
}

fn fits(path: &Path) -> bool {
    path.as_os_str().len() <= SOCKET_PATH
}

fn folder_of_sockets(base: &Path, root: &Path) -> PathBuf {
    let hash = Sha256::digest(root.as_os_str().as_bytes());
    let hash = base16ct::lower::encode_string(&hash[..8]);
    let user = rustix::process::getuid().as_raw();
    base.join(format!("tx-{user}-{hash}"))
}

/// Make a folder that only this user can enter, or check an existing one. Others may write beside
/// it, so an existing one is not trusted.
fn make_private(folder: &Path, user: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{} is not a folder of yours alone: remove it, or set XDG_RUNTIME_DIR to a folder that is",
            folder.display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn project(folder: &Path) -> Project {
        fs::create_dir_all(folder.join(".ai/tx")).unwrap();
        Project {
            root: folder.into(),
        }
    }

    #[test]
    fn a_socket_lies_with_the_state_unless_its_path_is_too_long() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let near = project(&real).socket("tx.sock").unwrap();
        assert_eq!(near, real.join(".ai/tx/state/tx.sock"));
        // By another spelling it is the same.
        let spelled = Project {
            root: real.join("."),
        };
        assert_eq!(spelled.socket("tx.sock").unwrap(), near);

        let deep = project(&real.join("d".repeat(100)));
        let far = deep.socket("tx.sock").unwrap();
        assert!(fits(&far), "{far:?}");
        let folder = far.parent().unwrap();
        assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(deep.socket("tx.sock").unwrap(), far, "and again");
        assert_eq!(
            deep.tmux_socket().unwrap(),
            folder.join("tmux.sock"),
            "all of a project's are together"
        );
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn what_is_found_has_to_be_ones_own_and_what_is_named_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let user = rustix::process::geteuid().as_raw();
        project(dir.path());
        assert_eq!(own(dir.path(), user).unwrap(), dir.path());
        let others = own(dir.path(), user + 1).unwrap_err();
        assert!(matches!(others, NotAProject::Others { owner, .. } if owner == user));
        Project::find(Some(dir.path()), Path::new("/")).unwrap();
    }

    #[test]
    fn settings_that_are_no_file_are_told_and_waited_for_by_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let project = project(dir.path());
        assert_eq!(project.settings().unwrap(), Settings::default());
        let path = dir.path().join(".ai/tx/config.yaml");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let wrong = project.settings().unwrap_err().report;
        assert!(wrong.contains("config.yaml: expected a file"), "{wrong}");
        fs::remove_file(&path).unwrap();
        // A link to a file is as good as the file.
        fs::write(dir.path().join("real"), "notify: { popup: true }\n").unwrap();
        std::os::unix::fs::symlink(dir.path().join("real"), &path).unwrap();
        assert_ne!(project.settings().unwrap(), Settings::default());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let wrong = project.settings().unwrap_err().report;
        assert!(wrong.contains("found a folder"), "{wrong}");
    }

    #[test]
    fn a_folder_that_others_could_have_made_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let user = rustix::process::getuid().as_raw();
        let folder = dir.path().join("sockets");
        make_private(&folder, user).unwrap();
        make_private(&folder, user).unwrap();
        make_private(&folder, user + 1).unwrap_err();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        make_private(&folder, user).unwrap_err();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        make_private(&link, user).unwrap_err();
        fs::write(dir.path().join("file"), "").unwrap();
        make_private(&dir.path().join("file"), user).unwrap_err();
    }
}
