//! The agent CLIs on this machine: whether they are installed and logged in.

use std::ffi::OsStr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::daemon::program_output;
use crate::model::ProgramInfo;
use crate::project::{Project, find_program};

/// The state of an agent CLI.
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

/// Look up an agent CLI in a PATH.
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
    match asked.and_then(|asked| program_output(&asked, arguments, path)) {
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
