//! Can the agents of the meshes be run here?

use std::collections::BTreeMap;
use std::ffi::OsStr;

use super::CheckView;
use crate::project::{Catalogue, Place, Project, is_program};

/// Can the agents be run, and are their programs there? For a mesh that was only shipped,
/// it is enough to know.
pub(super) fn checks(project: &Project, catalogue: &Catalogue, path: &OsStr) -> Vec<CheckView> {
    let mut needed: BTreeMap<Needed, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for entry in &catalogue.entries {
        let Some(mesh) = entry.mesh.as_ref().filter(|mesh| !mesh.disabled) else {
            continue;
        };
        for agent in mesh.agents.values() {
            let need = match catalogue.runtimes.of(agent) {
                Some(_) if agent.shell => Needed::Program("sh"),
                Some(runtime) => Needed::Program(runtime.program_of(agent)),
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
    let checks = needed.into_iter().map(|(need, (own, shipped))| {
        let who = match own.is_empty() {
            true => format!("{} (shipped)", a_few(&shipped)),
            false => a_few(&own),
        };
        let (name, detail, fix) = match need {
            Needed::Program(program) if is_program(project, program, path) => {
                let name = format!("program {program}");
                return CheckView::well(name, format!("for {who}"));
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
        CheckView {
            ok: own.is_empty(),
            ..CheckView::odd(name, detail, fix)
        }
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
