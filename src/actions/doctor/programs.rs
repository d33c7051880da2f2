//! Checks that the agents of the meshes can be run here.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use super::CheckView;
use crate::actions::programs::{ProgramState, program_state};
use crate::daemon::program_version;
use crate::model::{Mode, ProgramInfo};
use crate::project::{Catalogue, MeshSource, Project, find_program};
use crate::runtime::cannot;

/// Check the agents' programs. For a mesh that is only shipped, a problem is just a note.
pub(super) fn checks(project: &Project, catalogue: &Catalogue, path: &OsStr) -> Vec<CheckView> {
    let mut needed: BTreeMap<Needed, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for entry in &catalogue.entries {
        let Some(mesh) = entry.mesh.as_ref().filter(|mesh| !mesh.disabled) else {
            continue;
        };
        for agent in mesh.agents.values() {
            let need = match catalogue.runtimes.of(agent) {
                Some(_) if agent.shell => Needed::Program("sh"),
                Some(runtime) if runtime.program.is_some() && agent.run.is_empty() => {
                    Needed::AgentCli(&agent.runtime)
                }
                Some(runtime) => Needed::Program(runtime.program_of(agent)),
                None => Needed::Runtime(&agent.runtime),
            };
            // A program with placeholders cannot be looked up yet.
            if matches!(need, Needed::Program(name) if name.is_empty() || name.contains('{')) {
                continue;
            }
            let (own, shipped) = needed.entry(need).or_default();
            let agents = match entry.place {
                MeshSource::File(_) => own,
                MeshSource::BuiltIn => shipped,
            };
            agents.push(format!("{}/{}", mesh.name, agent.name));
        }
    }
    let checks = needed.into_iter().map(|(need, (own, shipped))| {
        let who = match own.is_empty() {
            true => format!("{} (shipped)", a_few(&shipped)),
            false => a_few(&own),
        };
        let (name, detail, fix) = match need {
            Needed::Program(program) if find_program(project, program, path).is_some() => {
                let name = format!("program {program}");
                return CheckView::passed(name, format!("for {who}"));
            }
            Needed::Program(program) => (
                format!("program {program}"),
                format!("is not there, for {who}"),
                format!("install `{program}`, or name another program in the mesh"),
            ),
            Needed::AgentCli(name) => {
                let check = agent_cli(project, catalogue, name, &who, path);
                let ok = check.ok || own.is_empty();
                return CheckView { ok, ..check };
            }
            Needed::Runtime(runtime) => (
                format!("runtime {runtime}"),
                format!("tx has no such runtime, for {who}"),
                "`tx runtime list` lists those that it has".into(),
            ),
        };
        CheckView {
            ok: own.is_empty(),
            ..CheckView::warned(name, detail, fix)
        }
    });
    checks.collect()
}

/// Check that an agent CLI is installed, tested with tx and logged in. A missing login is only a
/// warning, because some CLIs accept the key of another provider.
fn agent_cli(
    project: &Project,
    catalogue: &Catalogue,
    name: &str,
    who: &str,
    path: &OsStr,
) -> CheckView {
    let runtime = catalogue.runtimes.get(name);
    let program = runtime.and_then(|runtime| runtime.program_name());
    let program = program.unwrap_or(name);
    let none = ProgramInfo::default();
    let info = runtime.and_then(|runtime| runtime.program.as_ref());
    let info = info.unwrap_or(&none);
    let check = format!("runtime {name}");
    let state = program_state(project, program, info, path);
    if let (ProgramState::NotInstalled, Some((what, fix))) = (state, state.problem(info)) {
        return CheckView::failed(check, format!("`{program}` {what}, for {who}"), fix);
    }
    let version = program_version(project, program, path);
    let is_tested = |version: &String| runtime.is_none_or(|runtime| runtime.is_tested(version));
    let mut fixes = Vec::new();
    let mut detail = match &version {
        Some(version) if is_tested(version) => version.clone(),
        version => {
            let tested = info.versions.join(" or ");
            fixes.push(format!(
                "it may work; tx was tested with versions that begin with {tested}"
            ));
            match version {
                Some(version) => format!("{version}, not tested with tx"),
                None => format!("`{program} --version` does not tell its version"),
            }
        }
    };
    match (state, state.problem(info)) {
        (_, Some((_, fix))) => {
            detail += ", nobody is logged in";
            fixes.insert(0, fix);
        }
        (ProgramState::LoggedIn, None) => detail += ", logged in",
        (ProgramState::Installed | ProgramState::LoggedOut | ProgramState::NotInstalled, None) => {}
    }
    let mut detail = format!("{detail}; for {who}");
    let mode = runtime.map_or(Mode::Turn, |runtime| runtime.mode);
    if let Some(cannot) = runtime.and_then(|runtime| cannot(runtime, mode)) {
        let cannot = cannot.join("; ");
        detail += &match cannot.is_empty() {
            true => String::new(),
            false => format!("; cannot: {cannot}"),
        };
    }
    match fixes.is_empty() {
        true => CheckView::passed(check, detail),
        false => CheckView::warned(check, detail, fixes.join("; ")),
    }
}

/// What an agent needs to be run.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Needed<'a> {
    Program(&'a str),
    /// A runtime that tx knows the program of.
    AgentCli(&'a str),
    /// An unknown runtime.
    Runtime(&'a str),
}

fn a_few(agents: &[String]) -> String {
    match agents.len() {
        0..=3 => agents.join(", "),
        count => format!("{} and {} more", agents[..3].join(", "), count - 3),
    }
}
