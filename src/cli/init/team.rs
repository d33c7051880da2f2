//! `tx init --runtime`: a team of two agents, run by the agent CLIs that are here.

use std::ffi::OsStr;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CONFIG, IGNORED, Refused};
use crate::actions::{ProgramState, program_state};
use crate::model::{ProgramInfo, Runtime, did_you_mean};
use crate::project::Project;
use crate::runtime::Runtimes;

/// The runtime that needs no installation.
const COMMAND: &str = "command";

const TEAM: &str = include_str!("team/config.yaml");
const PROMPTS: [(&str, &str); 2] = [
    (
        "meshes/team/prompts/builder.md",
        include_str!("team/prompts/builder.md"),
    ),
    (
        "meshes/team/prompts/reviewer.md",
        include_str!("team/prompts/reviewer.md"),
    ),
];
const SCRIPTS: [(&str, &str); 2] = [
    ("meshes/team/builder.sh", include_str!("team/builder.sh")),
    ("meshes/team/reviewer.sh", include_str!("team/reviewer.sh")),
];

/// The runtimes of a new team.
pub(super) struct Choice {
    builder: String,
    reviewer: String,
    /// The agent CLIs that were looked for.
    pub(super) found: Vec<FoundView>,
}

/// An agent CLI that was looked for.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct FoundView {
    pub(super) runtime: String,
    pub(super) state: ProgramState,
    /// What is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<&'static str>,
    /// The commands that fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fix: Option<String>,
}

/// Choose the runtimes: `auto`, one name, or two with a comma.
pub(super) fn choose(
    wanted: &str,
    project: &Project,
    runtimes: &Runtimes,
    path: &OsStr,
) -> Result<Choice, Refused> {
    let look = |name: &str, runtime: &Runtime| {
        let info = runtime.program.as_ref()?;
        Some(FoundView::of(name, runtime, info, project, path))
    };
    if wanted == "auto" {
        let found = runtimes.agent_clis();
        let found: Vec<FoundView> = found
            .filter_map(|(name, runtime)| look(name, runtime))
            .collect();
        let first = |state| found.iter().find(|found| found.state == state);
        let usable = first(ProgramState::LoggedIn).or_else(|| first(ProgramState::Installed));
        let name = usable.map_or(COMMAND, |found| &found.runtime).to_owned();
        return Ok(Choice {
            builder: name.clone(),
            reviewer: name,
            found,
        });
    }
    let names: Vec<&str> = wanted.split(',').map(str::trim).collect();
    let (builder, reviewer) = match names[..] {
        [one] => (one, one),
        [builder, reviewer] => (builder, reviewer),
        [] | [..] => {
            let message = format!("`{wanted}` names {} runtimes for two agents", names.len());
            return Err(Refused::new(message).hint("name one or two: `--runtime claude,codex`"));
        }
    };
    let mut found: Vec<FoundView> = Vec::new();
    for name in [builder, reviewer] {
        let runtime = runtimes.get(name).ok_or_else(|| unknown(name, runtimes))?;
        if runtime.program_name().is_none() && name != COMMAND {
            let message = format!("the runtime `{name}` has no program to run");
            return Err(Refused::new(message).hint("give it a `run` in .ai/tx/config.yaml"));
        }
        if !found.iter().any(|found| found.runtime == name) {
            found.extend(look(name, runtime));
        }
    }
    Ok(Choice {
        builder: builder.into(),
        reviewer: reviewer.into(),
        found,
    })
}

fn unknown(name: &str, runtimes: &Runtimes) -> Refused {
    let message = format!("there is no runtime `{name}`");
    let known: Vec<&str> = ["auto"].into_iter().chain(runtimes.names()).collect();
    let hint = did_you_mean(name, known.iter().copied(), || {
        format!("there are {}", known.join(", "))
    });
    Refused::new(message).hint(hint)
}

impl FoundView {
    fn of(
        name: &str,
        runtime: &Runtime,
        info: &ProgramInfo,
        project: &Project,
        path: &OsStr,
    ) -> FoundView {
        let program = runtime.program_name().unwrap_or(name);
        let state = program_state(project, program, info, path);
        let (problem, fix) = state.problem(info).unzip();
        FoundView {
            runtime: name.into(),
            state,
            problem,
            fix,
        }
    }
}

impl Choice {
    /// The chosen agent CLIs and those that are installed; all if there are none.
    pub(super) fn to_report(&self) -> impl Iterator<Item = &FoundView> {
        let nothing = self.preferred().is_none();
        let chosen = [&self.builder, &self.reviewer];
        self.found.iter().filter(move |found| {
            let is_here = found.state != ProgramState::NotInstalled;
            nothing || is_here || chosen.contains(&&found.runtime)
        })
    }

    /// The runtime for agents that do not name one; `None` if the team consists of scripts.
    pub(super) fn preferred(&self) -> Option<&str> {
        Some(self.builder.as_str()).filter(|name| *name != COMMAND)
    }

    /// The project's settings, and its .gitignore.
    pub(super) fn settings(&self) -> Vec<(&'static str, String)> {
        let runtime = match self.preferred() {
            Some(name) => format!("runtime: {name}"),
            None => "# runtime: claude".into(),
        };
        let config = format!(
            "# What runs the agents of meshes that do not say: `tx runtime list`.\n{runtime}\n\n{CONFIG}"
        );
        vec![
            (".ai/tx/config.yaml", config),
            (".ai/tx/.gitignore", IGNORED.into()),
        ]
    }

    /// The mesh. It names its runtimes where they differ from the project's settings.
    pub(super) fn mesh(&self, runtimes: &Runtimes) -> Vec<(&'static str, String)> {
        let mut config = TEAM.to_owned();
        for (agent, runtime) in [("builder", &self.builder), ("reviewer", &self.reviewer)] {
            let line = match runtime.as_str() {
                COMMAND => {
                    format!("    runtime: command\n    run: [sh, \"{{mesh_dir}}/{agent}.sh\"]\n")
                }
                name if name == runtimes.preferred() && self.builder == self.reviewer => {
                    String::new()
                }
                name => format!("    runtime: {name}\n"),
            };
            config = config.replace(&format!("    # PROGRAM {agent}\n"), &line);
        }
        let builder = runtimes.get(&self.builder);
        if !builder.is_some_and(|runtime| runtime.permissions.contains_key("acceptEdits")) {
            let line = TEAM.lines().find(|line| line.contains("permissions:"));
            config = config.replace(&format!("{}\n", line.unwrap_or_default()), "");
        }
        let scripts = SCRIPTS.into_iter().zip([&self.builder, &self.reviewer]);
        let scripts = scripts.filter(|(_, runtime)| *runtime == COMMAND);
        let files = PROMPTS.into_iter().chain(scripts.map(|(file, _)| file));
        let files = files.map(|(path, text)| (path, text.to_owned()));
        [("meshes/team/config.yaml", config)]
            .into_iter()
            .chain(files)
            .collect()
    }
}
