//! `tx doctor`: what could keep tx from working here, and the command that mends it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use clap::builder::styling::AnsiColor;
use serde_json::{Value, json};

use super::output::{findings, many, paint};
use super::panes::Panes;
use super::past::{Past, time};
use super::{Context, Exit, Failure, daemon_path, short};
use crate::daemon::{self, Control, running};
use crate::format::report::printable;
use crate::journal::{Error, Quarantined, Reader};
use crate::project::{Catalogue, Entry, Place, Project, is_program};

/// The oldest tmux that does what tx needs.
const TMUX: (u32, u32) = (3, 2);
/// Fewer watches than this are soon used up by editors and the like.
const WATCHES: u64 = 8_192;
/// An unfinished write of this age is left over.
const LEFT_OVER: Duration = Duration::from_secs(3_600);

/// Look for what is wrong, and say what mends it
#[derive(clap::Args)]
#[command(after_help = "Example: tx doctor\n         tx doctor --export unreadable")]
pub(super) struct Doctor {
    /// Write the records of the journal that cannot be read to files in this folder
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
}

/// Something that was looked at.
struct Check {
    name: String,
    found: Found,
    detail: String,
}

/// What was found.
enum Found {
    Well,
    /// It works, but something should be done.
    Odd(String),
    /// It does not work until something is done.
    Bad(String),
}

pub(super) fn run(context: &Context, verb: &Doctor) -> Result<Exit, Failure> {
    let project = context.project()?;
    if let Some(folder) = &verb.export {
        return export(context, &project, folder);
    }
    let catalogue = Catalogue::load(Some(&project));
    let mut checks = vec![tmux(), git()];
    checks.extend(folders(&project));
    checks.push(settings(&project));
    checks.push(journal(&project));
    checks.extend(records(&project));
    checks.push(daemon(&project));
    checks.extend(tmux_server(&project));
    checks.push(meshes(&catalogue));
    checks.extend(parts_left_out(&catalogue));
    checks.extend(programs(&project, &catalogue));
    checks.push(leftovers(&project));
    checks.extend(watches());
    checks.push(watching(&project));
    let bad = |check: &&Check| matches!(check.found, Found::Bad(_));
    let bad = checks.iter().filter(bad).count();
    if context.output.json {
        let checks: Vec<Value> = checks.iter().map(Check::as_json).collect();
        context.output.say_json(&json!({ "checks": checks }))?;
    } else {
        let text: String = checks.iter().map(Check::as_text).collect();
        context.output.say(&text)?;
    }
    Ok(findings(bad > 0))
}

impl Check {
    fn new(name: impl Into<String>, found: Found, detail: impl Into<String>) -> Check {
        Check {
            name: name.into(),
            found,
            detail: detail.into(),
        }
    }

    fn as_json(&self) -> Value {
        let (ok, fix) = match &self.found {
            Found::Well => (true, None),
            Found::Odd(fix) => (true, Some(fix)),
            Found::Bad(fix) => (false, Some(fix)),
        };
        json!({ "name": self.name, "ok": ok, "detail": self.detail, "fix": fix })
    }

    fn as_text(&self) -> String {
        let (symbol, fix) = match &self.found {
            Found::Well => (paint(AnsiColor::Green, "✓"), None),
            Found::Odd(fix) => (paint(AnsiColor::Yellow, "!"), Some(fix)),
            Found::Bad(fix) => (paint(AnsiColor::Red, "✗"), Some(fix)),
        };
        let (name, detail) = (printable(&self.name), printable(&self.detail));
        let mut text = format!("{symbol} {name:<18}  {detail}\n");
        if let Some(fix) = fix {
            let _ = writeln!(text, "{:22}{}", "", printable(fix));
        }
        text
    }
}

fn tmux() -> Check {
    let install = "install tmux 3.2 or newer: `apt install tmux`, `brew install tmux`";
    match version("tmux", "-V") {
        Err(why) => Check::new("tmux", Found::Bad(install.into()), why),
        Ok(said) => match number(&said) {
            Some(found) if found < TMUX => {
                let detail = format!("{said} is too old");
                Check::new("tmux", Found::Bad(install.into()), detail)
            }
            Some(_) | None => Check::new("tmux", Found::Well, said),
        },
    }
}

fn git() -> Check {
    match version("git", "--version") {
        Ok(said) => Check::new("git", Found::Well, said),
        Err(why) => {
            let fix = "install git: `apt install git`, `brew install git`";
            Check::new("git", Found::Bad(fix.into()), why)
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

/// Can the folders that tx writes to be written to? What is not there is made.
fn folders(project: &Project) -> Vec<Check> {
    let state = project.journal();
    let state = state.parent().unwrap_or(Path::new(".")).to_owned();
    let folders = [("messages", project.messages()), ("state", state)];
    let checks = folders.into_iter().map(|(name, folder)| {
        let there = folder.ancestors().find(|folder| folder.exists());
        let there = there.unwrap_or(Path::new("/"));
        match tempfile::Builder::new().prefix(".tx-").tempfile_in(there) {
            Ok(_) => Check::new(name, Found::Well, format!("{} is writable", short(there))),
            Err(error) => {
                let path = there.display();
                let fix = format!("`sudo chown -R \"$USER\" {path}` and `chmod -R u+rwX {path}`");
                let detail = format!("{} cannot be written to: {error}", short(there));
                Check::new(name, Found::Bad(fix), detail)
            }
        }
    });
    checks.collect()
}

fn settings(project: &Project) -> Check {
    let name = ".ai/tx/config.yaml";
    let settings = match project.settings() {
        Ok(settings) => settings,
        Err(wrong) => {
            let detail = wrong.report.lines().next().unwrap_or_default();
            return Check::new(name, Found::Bad("`tx start` shows where".into()), detail);
        }
    };
    for (key, command) in [
        ("core.run", &settings.core.run),
        ("notify.command", &settings.notify.command),
    ] {
        if let Some(program) = command
            .first()
            .filter(|p| !is_program(project, p, &daemon_path(project)))
        {
            let detail = format!("{key}: there is no program `{program}`");
            let fix = format!("install it, or mend {key}");
            return Check::new(name, Found::Bad(fix), detail);
        }
    }
    Check::new(name, Found::Well, "it is as it should be")
}

fn journal(project: &Project) -> Check {
    let checked = match Reader::open(&project.journal()) {
        Err(Error::Missing(_)) => {
            return Check::new("journal", Found::Well, "nothing has happened yet");
        }
        Err(error) => Err(error),
        Ok(reader) => reader.check().and_then(|()| reader.last()),
    };
    let folded = |last: u64| match Past::open(project) {
        Ok(_) => Ok(last),
        Err(failure) => Err(failure.message().to_owned()),
    };
    match checked.map_err(|error| error.to_string()).and_then(folded) {
        Ok(last) => Check::new("journal", Found::Well, format!("{last} records, all well")),
        Err(why) => {
            let path = short(&project.journal());
            let fix = format!("restore a copy, or begin anew: `mv {path} {path}.broken`");
            Check::new("journal", Found::Bad(fix), why)
        }
    }
}

/// The records that tx passes over since it cannot read them, if there are any.
fn records(project: &Project) -> Option<Check> {
    // What is wrong with the journal as a whole is told by itself.
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
    let fix = "`tx doctor --export DIR` writes them to files, as they are stored; all else goes on";
    Some(Check::new(
        "records",
        Found::Odd(fix.into()),
        format!("cannot be read: {}", detail.join("; ")),
    ))
}

/// Write every record that cannot be read to a file of its own, to the byte.
fn export(context: &Context, project: &Project, folder: &Path) -> Result<Exit, Failure> {
    let reader = Reader::open(&project.journal())?;
    let failed = |path: &Path, error| {
        Failure::new(format!("{} cannot be written: {error}", short(path)))
            .hint("name a folder that can be written to")
    };
    let mut files = Vec::new();
    for record in reader.unreadable()? {
        fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        let path = folder.join(format!("record-{}-{}.json", record.seq, record.kind));
        fs::write(&path, &record.body).map_err(|error| failed(&path, error))?;
        files.push(path);
    }
    if context.output.json {
        let files: Vec<_> = files.iter().map(|path| path.to_string_lossy()).collect();
        context.output.say_json(&json!({ "exported": files }))?;
        return Ok(Exit::Done);
    }
    let mut text: String = files
        .iter()
        .map(|path| format!("{}\n", short(path)))
        .collect();
    if text.is_empty() {
        text = "every record can be read: nothing was written\n".into();
    }
    context.output.say(&text)?;
    Ok(Exit::Done)
}

fn daemon(project: &Project) -> Check {
    let socket = project.socket("tx.sock");
    match (running(project), socket) {
        (_, Err(error)) => {
            let fix = "see that the folder is yours alone".into();
            Check::new("daemon", Found::Bad(fix), error.to_string())
        }
        (Some(running), Ok(_)) => match Control::connect(project) {
            Ok(_) => {
                let since = time(running.since);
                let detail = format!("runs as process {}, since {since}", running.pid);
                Check::new("daemon", Found::Well, detail)
            }
            Err(error) => {
                let fix = format!("`kill {}`, then `tx start`: nothing is lost", running.pid);
                Check::new("daemon", Found::Bad(fix), error.to_string())
            }
        },
        (None, Ok(socket)) if socket.exists() => {
            let fix = format!("`rm {}`, or `tx start`, which replaces it", short(&socket));
            let detail = "it does not run, and has left its socket";
            Check::new("daemon", Found::Odd(fix), detail)
        }
        (None, Ok(_)) => Check::new("daemon", Found::Well, "does not run; `tx start` starts it"),
    }
}

/// A tmux server without a daemon is there until somebody ends it.
fn tmux_server(project: &Project) -> Option<Check> {
    if running(project).is_some() || !Panes::of(project).ok()?.is_there() {
        return None;
    }
    let agents = daemon::leftovers(&project.run()).map_or(0, |agents| agents.len());
    let detail = match agents {
        0 => "runs without a daemon".into(),
        agents => format!("runs without a daemon, with {}", many(agents, "live agent")),
    };
    let fix = "`tx start` takes it over; `tx stop --kill-agents` ends it, and what runs in it";
    Some(Check::new("tmux server", Found::Odd(fix.into()), detail))
}

fn meshes(catalogue: &Catalogue) -> Check {
    let broken: Vec<&Entry> = catalogue.entries.iter().filter(|e| !e.is_ok()).collect();
    match broken.first() {
        None => {
            let count = catalogue.entries.len();
            Check::new("meshes", Found::Well, format!("all {count} load"))
        }
        Some(first) => {
            let names: Vec<&str> = broken.iter().map(|entry| entry.name.as_str()).collect();
            let errors: usize = broken.iter().map(|entry| entry.diagnostics.len()).sum();
            let detail = format!("{} with {}", names.join(", "), many(errors, "finding"));
            let fix = format!("`tx mesh check {}` says what is wrong", first.name);
            Check::new("meshes", Found::Bad(fix), format!("do not load: {detail}"))
        }
    }
}

/// Meshes that load, with parts that cannot work or are left out.
fn parts_left_out(catalogue: &Catalogue) -> Vec<Check> {
    let own = |entry: &&Entry| entry.is_ok() && entry.place != Place::BuiltIn;
    let checks = catalogue.entries.iter().filter(own).filter_map(|entry| {
        let mut problems: Vec<_> = entry.problems().collect();
        problems.sort_by_key(|problem| !problem.is_error());
        let detail = match problems[..] {
            [] => return None,
            [one] => one.message.clone(),
            [first, ..] => format!("{}, and {} more", first.message, problems.len() - 1),
        };
        let fix = format!("`tx mesh check {}` says more", entry.name);
        let found = match entry.is_sound() {
            true => Found::Odd(fix),
            false => Found::Bad(fix),
        };
        Some(Check::new(format!("mesh {}", entry.name), found, detail))
    });
    checks.collect()
}

/// Can the agents be run, and are their programs there? For a mesh that was only shipped,
/// it is enough to know.
fn programs(project: &Project, catalogue: &Catalogue) -> Vec<Check> {
    let mut needed: BTreeMap<Needed, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for entry in &catalogue.entries {
        let Some(mesh) = entry.mesh.as_ref().filter(|mesh| !mesh.disabled) else {
            continue;
        };
        for agent in mesh.agents.values() {
            let need = match catalogue.runtimes.of(agent) {
                Some(_) if agent.shell => Needed::Program("sh"),
                Some(runtime) => {
                    let program = runtime.run_of(agent).first();
                    Needed::Program(program.map_or("", String::as_str))
                }
                None => Needed::Runtime(&agent.runtime),
            };
            // What is filled in later cannot be looked for now.
            if matches!(need, Needed::Program(name) if name.is_empty() || name.contains('{')) {
                continue;
            }
            let (own, shipped) = needed.entry(need).or_default();
            let agents = match entry.place {
                Place::File(_) => own,
                Place::BuiltIn => shipped,
            };
            agents.push(format!("{}/{}", mesh.name, agent.name));
        }
    }
    let path = daemon_path(project);
    let checks = needed.into_iter().map(|(need, (own, shipped))| {
        let who = match own.is_empty() {
            true => format!("{} (shipped)", a_few(&shipped)),
            false => a_few(&own),
        };
        let (name, detail, fix) = match need {
            Needed::Program(program) if is_program(project, program, &path) => {
                let name = format!("program {program}");
                return Check::new(name, Found::Well, format!("for {who}"));
            }
            Needed::Program(program) => (
                format!("program {program}"),
                format!("is not there, for {who}"),
                format!("install `{program}`, or name another program in the mesh"),
            ),
            Needed::Runtime(runtime) => (
                format!("runtime {runtime}"),
                format!("this version runs `runtime: command` only; not {who}"),
                "give the agent `runtime: command`, and a program to `run`".into(),
            ),
        };
        let found = match own.is_empty() {
            true => Found::Odd(fix),
            false => Found::Bad(fix),
        };
        Check::new(name, found, detail)
    });
    checks.collect()
}

/// What an agent needs to be run.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Needed<'a> {
    Program(&'a str),
    Runtime(&'a str),
}

fn a_few(agents: &[String]) -> String {
    match agents.len() {
        0..=3 => agents.join(", "),
        count => format!("{} and {} more", agents[..3].join(", "), count - 3),
    }
}

/// Writes that never came to their end.
fn leftovers(project: &Project) -> Check {
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
        0 => Check::new("leftovers", Found::Well, "no unfinished writes"),
        count => {
            let folder = short(&project.messages());
            let fix = format!("`find {folder} -name '.tx-*' -mmin +60 -delete`");
            let detail = format!("{} left in {folder}", many(count, "unfinished write"));
            Check::new("leftovers", Found::Odd(fix), detail)
        }
    }
}

/// Linux says how many files one user may watch.
fn watches() -> Option<Check> {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
    let limit: u64 = limit.trim().parse().ok()?;
    let detail = format!("{limit} may be watched at once");
    Some(if limit < WATCHES {
        let fix = "`sudo sysctl fs.inotify.max_user_watches=65536`".into();
        Check::new("watches", Found::Odd(fix), detail)
    } else {
        Check::new("watches", Found::Well, detail)
    })
}

/// Can a folder be watched, here and now? A machine has a number of watches for each user,
/// and editors use them up.
fn watching(project: &Project) -> Check {
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
            Check::new("watching", Found::Odd(fix.into()), detail)
        }
        Ok(()) => Check::new("watching", Found::Well, "a folder can be watched"),
        Err(error) => {
            let fix = "`sudo sysctl fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=65536`, or end what watches so much";
            let detail = format!(
                "a folder cannot be watched: {error}; tx looks for files instead, which is slower"
            );
            Check::new("watching", Found::Odd(fix.into()), detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
