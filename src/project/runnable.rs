//! Why an agent cannot be run on this machine. That does not change by itself, so it is reported
//! before anything is sent, and nothing is retried.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{MeshSource, Project};
use crate::model::{Agent, Prompt, Runtime};

/// Why an agent cannot be run, with the daemon's PATH; `None` if no reason is known.
pub fn cannot_run(
    project: &Project,
    runtime: Option<&Runtime>,
    place: &MeshSource,
    agent: &Agent,
    path: &OsStr,
) -> Option<String> {
    let folder = match place {
        MeshSource::File(config) => config.parent(),
        MeshSource::BuiltIn => None,
    };
    if let Some(file) = folder.and_then(|folder| missing_prompt(folder, agent)) {
        return Some(format!("its prompt file {file} is not there"));
    }
    let Some(runtime) = runtime else {
        return Some(format!(
            "its runtime `{}` is not supported yet: give it `runtime: command` and a `run`",
            agent.runtime
        ));
    };
    let program = match agent.shell {
        true => "sh",
        false => runtime.program_of(agent),
    };
    let program = match folder {
        Some(folder) => program.replace("{mesh_dir}", &folder.to_string_lossy()),
        None => program.to_owned(),
    };
    if program.is_empty() {
        return Some("it has no program to `run`".into());
    }
    // A program with placeholders cannot be looked up yet.
    if program.contains('{') {
        return None;
    }
    let own = agent.env.as_ref();
    let own = own.and_then(|env| env.set.iter().rev().find(|(name, _)| name == "PATH"));
    let path = own.map_or(path, |(_, path)| OsStr::new(path));
    match is_program(project, &program, path) {
        true => None,
        false if program.contains('/') => Some(format!("`{program}` is not an executable file")),
        false => Some(format!("there is no program `{program}` on the PATH of tx")),
    }
}

/// Whether this can be executed, looked up as the system would from the project's root.
pub fn is_program(project: &Project, program: &str, path: &OsStr) -> bool {
    find_program(project, program, path).is_some()
}

/// The file that would be executed.
pub fn find_program(project: &Project, program: &str, path: &OsStr) -> Option<PathBuf> {
    let executable = |file: &Path| {
        let found = file.metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let files: Vec<PathBuf> = match program.contains('/') {
        true => vec![project.root.join(program)],
        false => std::env::split_paths(path)
            .map(|folder| project.root.join(folder).join(program))
            .collect(),
    };
    files.into_iter().find(|file| executable(file))
}

/// The prompt file of an agent, if it does not exist.
pub(super) fn missing_prompt<'a>(folder: &Path, agent: &'a Agent) -> Option<&'a str> {
    match &agent.prompt {
        Some(Prompt::File(file)) if !file.contains('{') && !folder.join(file).is_file() => {
            Some(file)
        }
        Some(Prompt::File(_) | Prompt::Text(_)) | None => None,
    }
}
