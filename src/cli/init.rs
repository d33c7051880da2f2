//! `tx init`: make a project.

mod examples;
mod team;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use self::team::{Choice, FoundView, choose};
use super::output::talk;
use super::{Context, Exit, Refused, short};
use crate::actions::ProgramState;
use crate::project::{Project, write_with_folders};
use crate::runtime::Runtimes;
pub(super) use examples::example_names;

/// Create a tx project: folders, a commented config, a mesh
#[derive(clap::Args)]
#[command(after_help = "Example: tx init my-project\n         tx init --runtime auto")]
pub(super) struct InitArgs {
    /// The folder, created if necessary [default: this one]
    dir: Option<PathBuf>,
    /// Create a team of two agents that this runs: claude, codex, command …; two names with a comma;
    /// auto: the first CLI that is installed and logged in [default: a hello mesh]
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    /// Copy an example: fan-out, first-mesh, graded, hello, own-runtime, pipeline, python-agent
    /// or shell-agent
    #[arg(long, value_name = "NAME", conflicts_with = "runtime")]
    example: Option<String>,
}

/// What was created.
#[derive(Serialize, JsonSchema)]
pub(super) struct InitView {
    root: String,
    created: Vec<String>,
    /// The files that already existed.
    kept: Vec<String>,
    /// The agent CLIs that tx looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    runtimes: Vec<FoundView>,
}

const CONFIG: &str = "\
# Settings of this project. Every setting is optional, and tx runs well with none.
#
# core:
#   run: [my-agent]             what runs in the core session; else your shell
#   idle: \"^> $\"               how it looks when results may be typed there
# notify:
#   popup: true                 open a popup with the question, when nobody types
#   command: [notify-send, --, \"{from}\", \"{headline}\"]    run when an agent asks you
#
# This folder: msgs/ is the bus, where messages are dropped as *.md files. While tx
# runs it adds state/, logs/ and run/, which are its own.
";

const IGNORED: &str = "\
# What tx writes while it runs is not for version control.
/msgs/
/archive/
/state/
/logs/
/run/
";

/// The files that are written: path in the project, and text. The mesh works without installing
/// anything; the shipped mesh of that name needs an AI agent.
const FILES: [(&str, &str); 4] = [
    (".ai/tx/config.yaml", CONFIG),
    (".ai/tx/.gitignore", IGNORED),
    ("meshes/hello/config.yaml", include_str!("init/config.yaml")),
    ("meshes/hello/worker.sh", include_str!("init/worker.sh")),
];

pub(super) fn run(context: &Context, verb: InitArgs) -> Result<Exit, Refused> {
    let dir = match (&context.named, verb.dir) {
        (Some(named), Some(dir)) => Some(named.join(dir)),
        (named, dir) => dir.or(named.clone()),
    };
    let root = std::path::absolute(dir.as_deref().unwrap_or(Path::new(".")))
        .map_err(|error| Refused::new(format!("the current folder cannot be read: {error}")))?;
    let example = verb.example.as_deref().map(examples::find).transpose()?;
    say_where(&root);
    let project = Project { root: root.clone() };
    let runtimes = || Runtimes::with(&project.settings().unwrap_or_default());
    let choice = verb.runtime.as_deref().map(|wanted| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        choose(wanted, &project, &runtimes(), &path)
    });
    let choice = choice.transpose()?;
    let messages = project.messages();
    std::fs::create_dir_all(&messages).map_err(|error| cannot_write(&messages, &error))?;
    let mut written = WrittenFiles::default();
    match (&choice, &example) {
        (None, Some(example)) => {
            written.add(&root, example.files_beside(&root))?;
            written.add(
                &root,
                FILES[..2]
                    .iter()
                    .map(|(path, text)| (*path, (*text).to_owned())),
            )?;
        }
        (None, None) => written.add(&root, FILES.map(|(path, text)| (path, text.to_owned())))?,
        (Some(choice), _) => {
            written.add(&root, choice.settings())?;
            // Use the settings as they are now.
            written.add(&root, choice.mesh(&runtimes()))?;
        }
    }

    let lossy = |paths: &[PathBuf]| {
        let paths = paths.iter().map(|path| path.to_string_lossy().into());
        paths.collect()
    };
    let view = InitView {
        root: root.to_string_lossy().into(),
        created: lossy(&written.created),
        kept: lossy(&written.kept),
        runtimes: choice
            .iter()
            .flat_map(|choice| choice.found.clone())
            .collect(),
    };
    let preferred = runtimes().preferred().to_owned();
    let text = |_: &_| {
        if let Some(example) = &example {
            let read = example.readme_beside(&root);
            let read = format!("\nNext: {read} says what to type.\n");
            return written.report() + &read;
        }
        let team = choice
            .as_ref()
            .map(|choice| about_team(choice, &preferred, &written.kept));
        let (before, after) = team.unwrap_or_default();
        let mesh = match choice {
            None => ("hello", "Are you there?"),
            Some(_) => ("team", "Say hello in HELLO.md"),
        };
        written.report() + &before + &next(dir.as_deref(), mesh) + &after
    };
    context.output.answer(&view, text)
}

/// Warn if there is already a project here or in a folder above.
fn say_where(root: &Path) {
    match Project::find(None, root) {
        Ok(found) if found.root == root => {
            talk("this is already a tx project: existing files are kept, missing ones are added\n");
        }
        Ok(found) => talk(&format!(
            "note: this folder is inside the project {}; it becomes a separate project\n  \
             help: `tx stop` and `rm -r .ai/tx meshes` here undo that\n",
            short(&found.root)
        )),
        Err(_) => {}
    }
}

/// The files of the project.
#[derive(Default)]
struct WrittenFiles {
    created: Vec<PathBuf>,
    kept: Vec<PathBuf>,
}

impl WrittenFiles {
    /// Write files, but do not replace existing ones.
    fn add(
        &mut self,
        root: &Path,
        files: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Result<(), Refused> {
        for (path, text) in files {
            let path = root.join(path);
            match write_with_folders(&path, &text) {
                Ok(true) => self.created.push(path),
                Ok(false) => self.kept.push(path),
                Err(error) => return Err(cannot_write(&path, &error)),
            }
        }
        Ok(())
    }

    fn report(&self) -> String {
        let mut text = String::new();
        for (what, paths) in [("created", &self.created), ("kept", &self.kept)] {
            for path in paths {
                text += &format!("{what:7}  {}\n", short(path));
            }
        }
        text
    }
}

/// What was found about agent CLIs, and what is left to do.
fn about_team(choice: &Choice, preferred: &str, kept: &[PathBuf]) -> (String, String) {
    let mut found = String::new();
    for FoundView {
        runtime,
        state,
        problem,
        fix,
    } in choice.to_report()
    {
        let fix = fix.as_deref().unwrap_or_default();
        found += &match (state, problem) {
            (_, Some(problem)) => format!("{runtime:8}  {problem}: {fix}\n"),
            (ProgramState::LoggedIn, None) => format!("{runtime:8}  is installed and logged in\n"),
            (_, None) => format!("{runtime:8}  is installed\n"),
        };
    }
    let found = match found.is_empty() {
        true => found,
        false => format!("\n{found}"),
    };
    let team = Path::new("meshes/team/config.yaml");
    let is_kept = kept.iter().any(|path| path.ends_with(team));
    let mut after = match choice.preferred() {
        Some(name) if name != preferred => format!(
            "\n.ai/tx/config.yaml was kept: write `runtime: {name}` there, and the shipped meshes \
             use it too.\n"
        ),
        Some(_) => String::new(),
        None => "\nThe agents of this team are placeholder scripts. With an agent CLI \
                 installed and\nlogged in, remove meshes/team and run `tx init --runtime auto` \
                 again.\n"
            .into(),
    };
    if is_kept && choice.preferred().is_some() {
        after +=
            "\nmeshes/team was kept as it is. To get a new team, remove it and run this again.\n";
    }
    (found, after)
}

fn next(dir: Option<&Path>, (mesh, headline): (&str, &str)) -> String {
    let enter = dir
        .map(|dir| format!("  cd {}\n", short(dir)))
        .unwrap_or_default();
    let send = format!("tx send {mesh} \"{headline}\" --wait");
    let width = send.len();
    format!(
        "\nNext:\n{enter}  {:width$}  let the agents work\n  \
         {send}  ask one, and wait for its answer\n  \
         {:width$}  see the status\n",
        "tx start --detach", "tx status",
    )
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Refused {
    let hint = match error.kind() {
        std::io::ErrorKind::NotADirectory => {
            "a file is where a folder should be: move it away, then try again"
        }
        _ => "check that the folder is yours and the disk has room, then try again",
    };
    Refused::new(format!("{} cannot be written: {error}", short(path))).hint(hint)
}
