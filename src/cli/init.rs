//! `tx init`: make a project.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::{Context, Exit, Refused, short};
use crate::project::write_with_folders;

/// Make a tx project: folders, a commented config, a hello mesh
#[derive(clap::Args)]
#[command(after_help = "Example: tx init my-project")]
pub(super) struct Init {
    /// The folder, made if it is not there [default: this one]
    dir: Option<PathBuf>,
}

/// What was made.
#[derive(Serialize, JsonSchema)]
pub(super) struct InitView {
    root: String,
    created: Vec<String>,
    /// The files that were there already.
    kept: Vec<String>,
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

/// What is written: path in the project, text. The mesh runs as it is, with nothing to be
/// installed; the shipped one of that name is for an AI agent.
const FILES: [(&str, &str); 4] = [
    (".ai/tx/config.yaml", CONFIG),
    (".ai/tx/.gitignore", IGNORED),
    ("meshes/hello/config.yaml", include_str!("init/config.yaml")),
    ("meshes/hello/worker.sh", include_str!("init/worker.sh")),
];

pub(super) fn run(context: &Context, verb: Init) -> Result<Exit, Refused> {
    let dir = match (&context.named, verb.dir) {
        (Some(named), Some(dir)) => Some(named.join(dir)),
        (named, dir) => dir.or(named.clone()),
    };
    let root = std::path::absolute(dir.as_deref().unwrap_or(Path::new(".")))
        .map_err(|error| Refused::new(format!("the current folder cannot be read: {error}")))?;
    let messages = root.join(".ai/tx/msgs");
    std::fs::create_dir_all(&messages).map_err(|error| cannot_write(&messages, &error))?;
    let mut created = Vec::new();
    let mut kept = Vec::new();
    for (path, text) in FILES {
        let path = root.join(path);
        match write_with_folders(&path, text) {
            Ok(true) => created.push(path),
            Ok(false) => kept.push(path),
            Err(error) => return Err(cannot_write(&path, &error)),
        }
    }

    let lossy = |paths: &[PathBuf]| {
        let paths = paths.iter().map(|path| path.to_string_lossy().into());
        paths.collect()
    };
    let view = InitView {
        root: root.to_string_lossy().into(),
        created: lossy(&created),
        kept: lossy(&kept),
    };
    let text = |_: &_| report(dir.as_deref(), &created, &kept);
    context.output.answer(&view, text)
}

fn report(dir: Option<&Path>, created: &[PathBuf], kept: &[PathBuf]) -> String {
    let mut text = String::new();
    for (what, paths) in [("created", created), ("kept", kept)] {
        for path in paths {
            text += &format!("{what:7}  {}\n", short(path));
        }
    }
    let enter = dir
        .map(|dir| format!("  cd {}\n", short(dir)))
        .unwrap_or_default();
    text + &format!(
        "\nNext:\n{enter}  tx start --detach                      let the agents work\n  \
         tx send hello \"Are you there?\" --wait  ask one, and wait for its answer\n  \
         tx status                              see how things are\n"
    )
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Refused {
    Refused::new(format!("{} cannot be written: {error}", short(path)))
        .hint("see that the folder is yours and the disk has room, then try again")
}
