//! The versions of the agent CLIs on this machine. A version that tx was not tested with is
//! reported once, and runs in the mode that depends on it least: one process for each turn.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::format::mesh::{self, ConfigPart, Remark};
use crate::model::{Code, Mode};
use crate::project::{
    Catalogue, MeshEntry, MeshSource, Project, find_program, make_private_folders, write_private,
};

/// How long a program may take to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// Find the agent CLIs that the project's own meshes use and that tx was not tested with.
pub(crate) fn check_versions(catalogue: &mut Catalogue, project: &Project, path: &OsStr) {
    let Catalogue { entries, runtimes } = catalogue;
    let mut untested: BTreeMap<String, String> = BTreeMap::new();
    let used = |name: &&str| entries.iter().any(|entry| uses(entry, name));
    for name in runtimes.names().filter(used) {
        let Some(runtime) = runtimes.get(name).filter(|it| it.program.is_some()) else {
            continue;
        };
        let program = runtime.program_name();
        let version = program.and_then(|program| program_version(project, program, path));
        if let Some(version) = version.filter(|version| !runtime.is_tested(version)) {
            untested.insert(name.to_owned(), version);
        }
    }
    for (name, version) in &untested {
        for entry in entries.iter_mut().filter(|entry| uses(entry, name)) {
            say_untested(entry, name, version);
        }
        runtimes.run_for_one_turn(name);
    }
}

/// Whether one of the project's own meshes uses the program of a runtime.
fn uses(entry: &MeshEntry, runtime: &str) -> bool {
    let mesh = entry.mesh.as_ref().filter(|mesh| !mesh.disabled);
    let mut agents = mesh.into_iter().flat_map(|mesh| mesh.agents.values());
    entry.place != MeshSource::BuiltIn
        && agents.any(|agent| agent.runtime == runtime && agent.run.is_empty())
}

fn say_untested(entry: &mut MeshEntry, runtime: &str, version: &str) {
    let Some(mesh) = &entry.mesh else { return };
    let mut agents = mesh.agents.values().enumerate();
    let Some((index, agent)) = agents.find(|(_, agent)| agent.runtime == runtime) else {
        return;
    };
    let how = match agent.mode {
        None | Some(Mode::Turn) => "its agents run a process for each turn",
        Some(Mode::Pane) => "`mode: pane` may not work with it",
    };
    let remark = Remark {
        part: ConfigPart::Agent(index),
        code: Code::UntestedVersion,
        message: format!("tx was not tested with {runtime} {version}: {how}"),
        hint:
            "`tx doctor` says which versions were tested; `mode: pane` tries this one in its pane"
                .into(),
    };
    let found = mesh::diagnose(&entry.text, [remark]);
    entry.diagnostics.extend(found);
}

/// The version of a program, from its `--version`. The answer is kept in the project's state until
/// the program's file changes, because some programs take seconds.
pub(crate) fn program_version(project: &Project, program: &str, path: &OsStr) -> Option<String> {
    let found = find_program(project, program, path)?;
    let modified = found.metadata().and_then(|found| found.modified()).ok()?;
    let file = project.state().join("programs.json");
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let mut known: BTreeMap<PathBuf, KnownVersion> =
        serde_json::from_str(&known).unwrap_or_default();
    if let Some(known) = known.get(&found)
        && known.modified == modified
    {
        return Some(known.version.clone());
    }
    let (true, said) = program_output(&found, &["--version".into()], path)? else {
        return None;
    };
    let version = number(&said)?.to_owned();
    let entry = KnownVersion {
        modified,
        version: version.clone(),
    };
    known.insert(found, entry);
    if let Ok(text) = serde_json::to_string(&known) {
        // If this fails, the program is asked again next time.
        let _ = make_private_folders(&project.state()).and_then(|()| write_private(&file, &text));
    }
    Some(version)
}

/// What a program printed about its version.
#[derive(Serialize, Deserialize)]
struct KnownVersion {
    modified: SystemTime,
    version: String,
}

/// `codex-cli 0.166.0` is 0.166.0.
fn number(said: &str) -> Option<&str> {
    let mut words = said.split_whitespace();
    words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Run a program that prints little. Returns whether it succeeded, and its output; `None` if it did
/// not start or did not end in time.
pub(crate) fn program_output(
    program: &Path,
    arguments: &[String],
    path: &OsStr,
) -> Option<(bool, String)> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let until = Instant::now() + PATIENCE;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = child.wait_with_output().ok()?;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    Some((ended.status.success(), said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, expected) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0", Some("0.166.0")),
            ("none", None),
        ] {
            assert_eq!(number(said), expected, "{said}");
        }
    }
}
