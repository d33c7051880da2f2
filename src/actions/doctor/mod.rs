//! Checks of everything that tx needs, with the commands that fix problems.

mod programs;

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;

use super::panes::Panes;
use crate::daemon::{Control, orphans as live_agents, running};
use crate::format::report::many;
use crate::journal::{Error, FoldedJournal, Quarantined, Reader};
use crate::project::{Catalogue, MeshEntry, MeshSource, Project, is_program};
use crate::view::{Refused, Time};

/// The oldest tmux that tx works with.
const TMUX: (u32, u32) = (3, 2);
/// Editors soon use up fewer watches than this.
const WATCHES: u64 = 8_192;
/// An unfinished write of this age was abandoned.
const LEFT_OVER: Duration = Duration::from_secs(3_600);

/// The result of one check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckView {
    pub(crate) name: String,
    pub(crate) ok: bool,
    pub(crate) detail: String,
    /// What to do, even if it works.
    pub(crate) fix: Option<String>,
}

/// Run all checks. Programs are looked up in this PATH, and `short` shortens paths for people.
pub(crate) fn checks(
    project: &Project,
    path: &OsStr,
    short: fn(&Path) -> String,
) -> Vec<CheckView> {
    let mut catalogue = Catalogue::load(Some(project));
    let mut checks = vec![tmux(), git()];
    checks.extend(folders(project, short));
    checks.push(settings(project, path));
    checks.push(journal(project, short));
    checks.extend(records(project));
    checks.push(daemon(project, short));
    checks.extend(tmux_server(project));
    checks.push(meshes(&catalogue));
    checks.extend(parts_left_out(project, &mut catalogue, path));
    checks.extend(programs::checks(project, &catalogue, path));
    checks.push(leftovers(project, short));
    checks.extend(watches());
    checks.push(watching(project));
    checks
}

/// Write each unreadable record to its own file, byte for byte.
pub(crate) fn export_unreadable(project: &Project, folder: &Path) -> Result<Vec<PathBuf>, Refused> {
    let reader = Reader::open(&project.journal())?;
    let failed = |path: &Path, error| {
        Refused::new(format!("{} cannot be written: {error}", path.display()))
            .hint("name a folder that can be written to")
    };
    let mut files = Vec::new();
    for record in reader.unreadable()? {
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let path = folder.join(format!("record-{}-{}.json", record.seq, record.kind));
        fs::write(&path, &record.body).map_err(|error| failed(&path, error))?;
        files.push(path);
    }
    Ok(files)
}

impl CheckView {
    /// A check that passed.
    fn passed(name: impl Into<String>, detail: impl Into<String>) -> CheckView {
        CheckView {
            name: name.into(),
            ok: true,
            detail: detail.into(),
            fix: None,
        }
    }

    /// A check that passed with a warning.
    fn warned(
        name: impl Into<String>,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> CheckView {
        CheckView {
            fix: Some(fix.into()),
            ..CheckView::passed(name, detail)
        }
    }

    /// A check that failed.
    fn failed(
        name: impl Into<String>,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> CheckView {
        CheckView {
            ok: false,
            ..CheckView::warned(name, detail, fix)
        }
    }
}

fn tmux() -> CheckView {
    let install = "install tmux 3.2 or newer: `apt install tmux`, `brew install tmux`";
    match version("tmux", "-V") {
        Err(why) => CheckView::failed("tmux", why, install),
        Ok(said) => match number(&said) {
            Some(found) if found < TMUX => {
                let detail = format!("{said} is too old");
                CheckView::failed("tmux", detail, install)
            }
            Some(_) | None => CheckView::passed("tmux", said),
        },
    }
}

fn git() -> CheckView {
    match version("git", "--version") {
        Ok(said) => CheckView::passed("git", said),
        Err(why) => {
            let fix = "install git: `apt install git`, `brew install git`";
            CheckView::failed("git", why, fix)
        }
    }
}

fn version(program: &str, option: &str) -> Result<String, String> {
    let ran = Command::new(program).arg(option).output();
    match ran {
        Ok(ran) if ran.status.success() => Ok(String::from_utf8_lossy(&ran.stdout).trim().into()),
        Ok(ran) => Err(format!("`{program} {option}` fails: {}", ran.status)),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}

/// `tmux 3.3a` is 3.3.
fn number(said: &str) -> Option<(u32, u32)> {
    let from = said.find(|c: char| c.is_ascii_digit())?;
    let (major, rest) = said[from..].split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Check that tx can write to its folders. Missing folders are created.
fn folders(project: &Project, short: fn(&Path) -> String) -> Vec<CheckView> {
    let state = project.journal();
    let state = state.parent().unwrap_or(Path::new(".")).to_owned();
    let folders = [("messages", project.messages()), ("state", state)];
    let checks = folders.into_iter().map(|(name, folder)| {
        let there = folder.ancestors().find(|folder| folder.exists());
        let there = there.unwrap_or(Path::new("/"));
        match tempfile::Builder::new().prefix(".tx-").tempfile_in(there) {
            Ok(_) => CheckView::passed(name, format!("{} is writable", short(there))),
            Err(error) => {
                let fix = make_writable(error.kind(), there);
                let detail = format!("{} cannot be written to: {error}", short(there));
                CheckView::failed(name, detail, fix)
            }
        }
    });
    checks.collect()
}

/// What makes a folder writable that is not.
fn make_writable(why: ErrorKind, folder: &Path) -> String {
    let path = folder.display();
    match why {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("make room: `df -h {path}` shows how full the disk is")
        }
        ErrorKind::ReadOnlyFilesystem => {
            format!("mount it writable: `findmnt -T {path}` shows where it is mounted")
        }
        _ => format!("`sudo chown -R \"$USER\" {path}` and `chmod -R u+rwX {path}`"),
    }
}

fn settings(project: &Project, path: &OsStr) -> CheckView {
    let name = ".ai/tx/config.yaml";
    let settings = match project.settings() {
        Ok(settings) => settings,
        Err(wrong) => {
            let detail = wrong.report.lines().next().unwrap_or_default();
            return CheckView::failed(name, detail, "`tx start` shows where");
        }
    };
    for (key, command) in [
        ("core.run", &settings.core.run),
        ("notify.command", &settings.notify.command),
    ] {
        if let Some(program) = command
            .first()
            .filter(|program| !is_program(project, program, path))
        {
            let detail = format!("{key}: there is no program `{program}`");
            let fix = format!("install it, or fix {key}");
            return CheckView::failed(name, detail, fix);
        }
    }
    CheckView::passed(name, "valid")
}

fn journal(project: &Project, short: fn(&Path) -> String) -> CheckView {
    let checked = match Reader::open(&project.journal()) {
        Err(Error::Missing(_)) => {
            return match project.saved_journal() {
                None => CheckView::passed("journal", "nothing has happened yet"),
                Some(saved) => {
                    let (saved, path) = (short(&saved), short(&project.journal()));
                    let detail = format!("it was removed while tx ran, and saved as {saved}");
                    CheckView::failed("journal", detail, format!("`mv {saved} {path}`"))
                }
            };
        }
        Err(error) => Err(error),
        Ok(reader) => reader.check().and_then(|()| reader.last()),
    };
    let folded = |last: u64| match FoldedJournal::open(&project.journal()) {
        Ok(_) => Ok(last),
        Err(error) => Err(error.to_string()),
    };
    match checked.map_err(|error| error.to_string()).and_then(folded) {
        Ok(last) => CheckView::passed("journal", format!("{last} records, no problems")),
        Err(why) => {
            let path = short(&project.journal());
            let fix = format!("restore a copy, or start over: `mv {path} {path}.broken`");
            CheckView::failed("journal", why, fix)
        }
    }
}

/// The unreadable records that tx skips, if there are any.
fn records(project: &Project) -> Option<CheckView> {
    // Problems of the journal as a whole are reported by another check.
    let unreadable = Reader::open(&project.journal()).and_then(|reader| reader.unreadable());
    let unreadable = unreadable.ok().filter(|records| !records.is_empty())?;
    let shown = |record: &Quarantined| {
        let Quarantined { seq, kind, why, .. } = record;
        format!("record {seq} ({kind}): {why}")
    };
    let mut detail: Vec<String> = unreadable.iter().take(3).map(shown).collect();
    if let Some(more) = unreadable.len().checked_sub(4) {
        detail.push(format!("and {} more", more + 1));
    }
    let fix = "`tx doctor --export DIR` writes them to files, as they are stored; everything else keeps working";
    Some(CheckView::warned(
        "records",
        format!("cannot be read: {}", detail.join("; ")),
        fix,
    ))
}

fn daemon(project: &Project, short: fn(&Path) -> String) -> CheckView {
    let socket = project.socket("tx.sock");
    match (running(project), socket) {
        (_, Err(error)) => {
            let fix = "check that the folder is yours alone";
            CheckView::failed("daemon", error.to_string(), fix)
        }
        (Some(running), Ok(_)) => match Control::connect(project) {
            Ok(_) => {
                let since = Time(running.since);
                let detail = format!("running as process {}, since {since}", running.pid);
                CheckView::passed("daemon", detail)
            }
            Err(error) => {
                let fix = format!("`kill {}`, then `tx start`: nothing is lost", running.pid);
                CheckView::failed("daemon", error.to_string(), fix)
            }
        },
        (None, Ok(socket)) if socket.exists() => {
            let fix = format!("`rm {}`, or `tx start`, which replaces it", short(&socket));
            let detail = "not running, and it has left its socket";
            CheckView::warned("daemon", detail, fix)
        }
        (None, Ok(_)) => CheckView::passed("daemon", "not running; `tx start` starts it"),
    }
}

/// A tmux server without a daemon stays until somebody ends it.
fn tmux_server(project: &Project) -> Option<CheckView> {
    if running(project).is_some() || !Panes::of(project).ok()?.is_there() {
        return None;
    }
    let agents = live_agents(&project.run()).map_or(0, |agents| agents.len());
    let detail = match agents {
        0 => "runs without a daemon".into(),
        agents => format!("runs without a daemon, with {}", many(agents, "live agent")),
    };
    let fix = "`tx start` takes it over; `tx stop --kill-agents` ends it, and what runs in it";
    Some(CheckView::warned("tmux server", detail, fix))
}

fn meshes(catalogue: &Catalogue) -> CheckView {
    let broken: Vec<&MeshEntry> = catalogue.entries.iter().filter(|e| !e.is_ok()).collect();
    match broken.first() {
        None => {
            let shipped = |entry: &&MeshEntry| entry.place == MeshSource::BuiltIn;
            let shipped = catalogue.entries.iter().filter(shipped).count();
            let own = catalogue.entries.len() - shipped;
            CheckView::passed(
                "meshes",
                format!("all load: {own} of this project, {shipped} shipped"),
            )
        }
        Some(first) => {
            let names: Vec<&str> = broken.iter().map(|entry| entry.name.as_str()).collect();
            let errors: usize = broken.iter().map(|entry| entry.diagnostics.len()).sum();
            let detail = format!("{} with {}", names.join(", "), many(errors, "finding"));
            let fix = format!("`tx mesh check {}` says what is wrong", first.name);
            CheckView::failed("meshes", format!("do not load: {detail}"), fix)
        }
    }
}

/// Meshes that load, but with parts that cannot work or are ignored.
fn parts_left_out(project: &Project, catalogue: &mut Catalogue, path: &OsStr) -> Vec<CheckView> {
    let Catalogue { entries, runtimes } = catalogue;
    let own = |entry: &&mut MeshEntry| entry.is_ok() && entry.place != MeshSource::BuiltIn;
    let checks = entries.iter_mut().filter(own).filter_map(|entry| {
        entry.check_runnable(project, runtimes, path);
        let mut problems: Vec<_> = entry.problems().collect();
        problems.sort_by_key(|problem| !problem.is_error());
        let detail = match problems[..] {
            [] => return None,
            [one] => one.message.clone(),
            [first, ..] => format!("{}, and {} more", first.message, problems.len() - 1),
        };
        let fix = format!("`tx mesh check {}` says more", entry.name);
        Some(CheckView {
            ok: entry.is_sound(),
            ..CheckView::warned(format!("mesh {}", entry.name), detail, fix)
        })
    });
    checks.collect()
}

/// Temporary files of writes that were never finished.
fn leftovers(project: &Project, short: fn(&Path) -> String) -> CheckView {
    let old = |path: &Path| {
        let modified = fs::symlink_metadata(path).and_then(|found| found.modified());
        let age = modified
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        age.is_some_and(|age| age > LEFT_OVER)
    };
    let listed = fs::read_dir(project.messages()).into_iter().flatten();
    let paths = listed.filter_map(|entry| Some(entry.ok()?.path()));
    let left = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b".tx-") && old(path)
    });
    match left.count() {
        0 => CheckView::passed("leftovers", "no unfinished writes"),
        count => {
            let folder = short(&project.messages());
            let fix = format!("`find {folder} -name '.tx-*' -mmin +60 -delete`");
            let detail = format!("{} left in {folder}", many(count, "unfinished write"));
            CheckView::warned("leftovers", detail, fix)
        }
    }
}

/// Linux says how many files one user may watch.
fn watches() -> Option<CheckView> {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
    let limit: u64 = limit.trim().parse().ok()?;
    let detail = format!("up to {limit} files");
    Some(if limit < WATCHES {
        let fix = "`sudo sysctl fs.inotify.max_user_watches=65536`";
        CheckView::warned("watches", detail, fix)
    } else {
        CheckView::passed("watches", detail)
    })
}

/// Check that a folder can be watched now. The number of watches for each user is limited, and
/// editors use them up.
fn watching(project: &Project) -> CheckView {
    use notify::Watcher;
    let folder = project.messages();
    let watched =
        notify::recommended_watcher(|_| {}).and_then(|mut watcher| match folder.is_dir() {
            true => watcher.watch(&folder, notify::RecursiveMode::NonRecursive),
            false => Ok(()),
        });
    let scanning = running(project).is_some_and(|daemon| daemon.scanning);
    match watched {
        Ok(()) if scanning => {
            let fix = "`tx stop`, then `tx start`, or wait half a minute";
            let detail = "a folder can be watched, and the daemon does not watch it yet";
            CheckView::warned("watching", detail, fix)
        }
        Ok(()) => CheckView::passed("watching", "a folder can be watched"),
        Err(error) => {
            let fix = "`sudo sysctl fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=65536`, or end what watches so much";
            let detail = format!(
                "a folder cannot be watched: {error}; tx looks for files instead, which is slower"
            );
            CheckView::warned("watching", detail, fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_writable_by_what_helps() {
        let fix = |why| make_writable(why, Path::new("/p"));
        assert!(fix(ErrorKind::PermissionDenied).contains("chown"));
        assert!(fix(ErrorKind::StorageFull).contains("`df -h /p`"));
        assert!(fix(ErrorKind::ReadOnlyFilesystem).contains("`findmnt -T /p`"));
    }

    #[test]
    fn versions_of_tmux_are_read() {
        let cases = [
            ("tmux 3.3a", Some((3, 3))),
            ("tmux 2.9", Some((2, 9))),
            ("tmux next-3.5", Some((3, 5))),
            ("tmux master", None),
        ];
        for (said, expected) in cases {
            assert_eq!(number(said), expected, "{said}");
        }
    }
}
