//! The agent CLIs on this machine: is one installed, which version is it, is somebody logged in?

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::ProgramInfo;
use crate::project::{Project, find_program, make_private_folders, write_private};

/// How long a program may take to tell its version, or whether somebody is logged in.
const PATIENCE: Duration = Duration::from_secs(10);

/// An agent CLI, as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ProgramState {
    /// It is not on the PATH.
    NotInstalled,
    /// It says that nobody is logged in.
    LoggedOut,
    /// It cannot tell whether somebody is logged in.
    Installed,
    /// It says that somebody is logged in.
    LoggedIn,
}

/// Look for an agent CLI by a PATH.
pub(crate) fn program_state(
    project: &Project,
    program: &str,
    info: &ProgramInfo,
    path: &OsStr,
) -> ProgramState {
    if find_program(project, program, path).is_none() {
        return ProgramState::NotInstalled;
    }
    let Some((asked, arguments)) = info.logged_in.split_first() else {
        return ProgramState::Installed;
    };
    let asked = find_program(project, asked, path);
    match asked.and_then(|asked| output(&asked, arguments, path)) {
        Some((false, _)) => ProgramState::LoggedOut,
        Some((true, _)) => ProgramState::LoggedIn,
        None => ProgramState::Installed,
    }
}

impl ProgramState {
    /// What is wrong, for people, and the commands that fix it.
    pub(crate) fn problem(self, info: &ProgramInfo) -> Option<(&'static str, String)> {
        let ProgramInfo { install, login, .. } = info;
        let (what, commands) = match self {
            ProgramState::NotInstalled => ("is not installed", vec![install, login]),
            ProgramState::LoggedOut => ("is installed, and nobody is logged in", vec![login]),
            ProgramState::Installed | ProgramState::LoggedIn => return None,
        };
        let commands = commands.into_iter().filter(|command| !command.is_empty());
        let commands: Vec<String> = commands.map(|command| format!("`{command}`")).collect();
        Some((what, commands.join(", then ")))
    }
}

/// The version of a program, by what its `--version` says. The answer is kept in the project's
/// state until the program's file changes: some take seconds.
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
    let (true, said) = output(&found, &["--version".into()], path)? else {
        return None;
    };
    let version = number(&said)?.to_owned();
    let entry = KnownVersion {
        modified,
        version: version.clone(),
    };
    known.insert(found, entry);
    if let Ok(text) = serde_json::to_string(&known) {
        // It is only asked again if this fails.
        let _ = make_private_folders(&project.state()).and_then(|()| write_private(&file, &text));
    }
    Some(version)
}

/// What a program said of its version.
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

/// Run a program that prints little: did it succeed, and what did it print? `None`: it did not
/// start, or did not end in time.
fn output(program: &Path, arguments: &[String], path: &OsStr) -> Option<(bool, String)> {
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
