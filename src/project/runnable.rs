//! Why an agent cannot be run on this machine. That does not change by itself, so it is reported
//! before anything is sent, and nothing is retried.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::briefing::unreadable_prompt;
use super::{MeshSource, Project, config_in};
use crate::model::{Agent, Check, Mesh, Program, Runtime};
use crate::runtime::{Unfilled, Values, arguments};

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
    let prompt = folder.and_then(|folder| unreadable_prompt(Some(&project.root), folder, agent));
    if let Some((file, why)) = prompt {
        return Some(format!("its prompt file {file} {why}"));
    }
    let Some(runtime) = runtime else {
        return Some(format!(
            "tx does not know its runtime `{}`: `tx runtime list` lists those that it knows",
            agent.runtime
        ));
    };
    let filled = arguments(&runtime.run_of(agent), agent.shell, &Values::default());
    if let Err(unknown @ Unfilled::Unknown(_)) = filled {
        return Some(unknown.to_string());
    }
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
        // A draft that lies elsewhere has no folder of its own yet.
        true => folder
            .filter(|folder| config_in(folder).is_some())
            .and_then(|folder| missing_script(project, folder, agent)),
        false if program.contains('/') => Some(format!("`{program}` is not an executable file")),
        false => Some(format!("there is no program `{program}` on the PATH of tx")),
    }
}

/// The programs that run a script file, which is their first argument.
const INTERPRETERS: [&str; 12] = [
    "sh",
    "bash",
    "dash",
    "zsh",
    "python",
    "python3",
    "node",
    "ruby",
    "perl",
    "php",
    "lua",
    "osascript",
];

/// Why the script of an agent cannot be run: it is not in the mesh's folder, or only there.
fn missing_script(project: &Project, folder: &Path, agent: &Agent) -> Option<String> {
    let (program, arguments) = agent.run.split_first().filter(|_| !agent.shell)?;
    let script = arguments
        .first()
        .filter(|script| !script.starts_with('-'))?;
    if !INTERPRETERS.contains(&program.as_str()) {
        return None;
    }
    match script.strip_prefix("{mesh_dir}/") {
        Some(file) if file.contains('{') || folder.join(file).exists() => None,
        Some(file) => Some(format!("its script {file} is not in the mesh's folder")),
        None if script.contains('{') || project.root.join(script).exists() => None,
        None => folder.join(script).is_file().then(|| {
            format!("`{script}` is not in the project's folder: write `{{mesh_dir}}/{script}`")
        }),
    }
}

/// The gates of a mesh with a program that is not there: the gate, and the program. A path in the
/// project may exist only where an agent works.
pub(super) fn missing_gates<'m>(
    project: &Project,
    mesh: &'m Mesh,
    path: &OsStr,
) -> Vec<(&'m str, &'m str)> {
    let mut missing = Vec::new();
    for gate in &mesh.gates {
        let programs: Vec<&Program> = match &gate.check {
            Check::Command(program) => vec![program],
            Check::Commands(programs) => programs.iter().collect(),
            Check::Evidence(checks) => checks.values().collect(),
            Check::Rearmatter(_)
            | Check::Accuracy(_)
            | Check::Files { .. }
            | Check::Evaluation(_) => Vec::new(),
        };
        let names = programs.into_iter().filter(|program| !program.shell);
        let names = names.filter_map(|program| program.run.first());
        let found = names.map(String::as_str).filter(|name| {
            let is_in_project = name.contains('/') && !name.starts_with('/');
            !is_in_project && !is_program(project, name, path)
        });
        missing.extend(found.map(|name| (gate.name.as_str(), name)));
    }
    missing
}

/// Whether this can be executed, looked up as the system would from the project's root.
pub fn is_program(project: &Project, program: &str, path: &OsStr) -> bool {
    find_program(project, program, path).is_some()
}

/// The file of a program that is named without a path; `None` if a folder before it in `path` is
/// relative, and depends on where the program runs.
pub fn program_on(path: &OsStr, name: &str) -> Option<PathBuf> {
    let mut folders = std::env::split_paths(path);
    let found = folders.find(|folder| folder.is_relative() || is_executable(&folder.join(name)))?;
    found.is_absolute().then(|| found.join(name))
}

fn is_executable(file: &Path) -> bool {
    let found = file.metadata();
    found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The file that would be executed.
pub fn find_program(project: &Project, program: &str, path: &OsStr) -> Option<PathBuf> {
    let files: Vec<PathBuf> = match program.contains('/') {
        true => vec![project.root.join(program)],
        false => std::env::split_paths(path)
            .map(|folder| project.root.join(folder).join(program))
            .collect(),
    };
    files.into_iter().find(|file| is_executable(file))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    #[test]
    fn a_program_is_found_on_the_path_as_the_system_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, mode) in [("first/plain", 0o644), ("second/plain", 0o755)] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "").unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        }
        let path = |folders: &[PathBuf]| std::env::join_paths(folders).unwrap();
        let both = path(&[at("first"), at("second")]);
        assert_eq!(program_on(&both, "plain"), Some(at("second/plain")));
        assert_eq!(program_on(&both, "other"), None);
        let relative = path(&["bin".into(), at("second")]);
        assert_eq!(program_on(&relative, "plain"), None);
    }
}
