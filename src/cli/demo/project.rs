//! The project of the demo: a temporary folder with its own daemon and tmux server. Everything is
//! removed when the demo ends.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::{SecondsFormat, Utc};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tempfile::TempDir;

use crate::actions::{Panes, end_agents, stop_daemon};
use crate::format::report::printable;
use crate::project::{Project, write_numbered};
use crate::view::{Refused, shell_word};

/// How many lines of the daemon's log are shown after an error.
const LAST: usize = 20;

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        [$(($path, include_str!(concat!("meshes/", $path)))),*]
    };
}

/// The meshes: path below `meshes/`, text.
const MESHES: &[(&str, &str)] = &files![
    "council/chair.sh",
    "council/config.yaml",
    "council/member.sh",
    "council/synthesizer.sh",
    "dev-review/config.yaml",
    "dev-review/implementer.sh",
    "dev-review/message.sh",
    "dev-review/reviewer.sh",
    "dev-review/tester.sh",
    "ensemble-review/config.yaml",
    "ensemble-review/editor.sh",
    "ensemble-review/lead.sh",
    "ensemble-review/reviewer.sh",
    "plan-build-check/builder.sh",
    "plan-build-check/checker.sh",
    "plan-build-check/config.yaml",
    "plan-build-check/planner.sh",
    "split-work/config.yaml",
    "split-work/joiner.sh",
    "split-work/splitter.sh",
    "split-work/worker.sh",
];

/// A project that is removed at the end.
pub(super) struct DemoProject {
    folder: TempDir,
    pub(super) project: Project,
}

impl DemoProject {
    pub(super) fn new() -> Result<DemoProject, Refused> {
        let made = TempDir::with_prefix("tx-demo-").and_then(|folder| {
            let root = folder.path().to_path_buf();
            let project = Project { root };
            fs::create_dir_all(project.messages())?;
            for (path, text) in MESHES {
                let path = project.meshes().join(path);
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(path, text)?;
            }
            Ok(DemoProject { folder, project })
        });
        made.map_err(|error: io::Error| {
            let hint = "check that the folder for temporary files, TMPDIR, has room and is yours";
            Refused::new(format!("a project for the demo cannot be created: {error}")).hint(hint)
        })
    }

    /// How to see the panes.
    pub(super) fn attach(&self) -> Result<String, Refused> {
        let panes = Panes::of(&self.project)?;
        let socket = shell_word(&printable(&panes.server().socket.to_string_lossy()));
        Ok(format!("tmux -S {socket} attach"))
    }

    /// Write a message of the human to the bus. Returns its id.
    pub(super) fn write(
        &self,
        to: &str,
        headline: &str,
        body: &str,
        in_reply_to: Option<&str>,
    ) -> Result<String, Refused> {
        let words = headline.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        let id = words.join("-");
        let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
        let answers = in_reply_to.map(|ask| format!("in-reply-to: {ask}\n"));
        let text = format!(
            "---\nto: {to}\nfrom: core\nmsg-id: {id}\nheadline: {headline}\ntimestamp: {now}\n{}---\n\n{body}\n",
            answers.unwrap_or_default()
        );
        let written = write_numbered(&self.project.messages(), &format!("{id}.md"), &text);
        written.map_err(|error| Refused::new(format!("a message cannot be written: {error}")))?;
        Ok(id)
    }

    /// The end of the daemon's log.
    pub(super) fn log(&self) -> String {
        let files = fs::read_dir(self.project.logs()).into_iter().flatten();
        let texts = files
            .filter_map(Result::ok)
            .map(|file| fs::read_to_string(file.path()).unwrap_or_default());
        let text: String = texts.collect();
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LAST)..];
        let last: Vec<String> = last.iter().map(|line| printable(line)).collect();
        format!("\nThe end of the daemon's log:\n{}\n", last.join("\n"))
    }

    /// End the daemon, its agents and its tmux server, and remove the folder.
    pub(super) fn end(self) -> Result<(), Refused> {
        let DemoProject { folder, project } = self;
        let socket = project.tmux_socket();
        let ended = match stop_daemon(&project, true, || {}) {
            // If the daemon ended by itself, its agents may still run.
            Ok(false) => end_agents(&project).map(drop),
            Ok(true) => Ok(()),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = ended {
            // Something that still runs may write there, so the folder is kept.
            let kept = folder.keep();
            return Err(failure.hint(format!("the files of the demo are in {}", kept.display())));
        }
        if let Ok(socket) = socket {
            let real = fs::canonicalize(folder.path()).unwrap_or_default();
            if let Some(sockets) = socket.parent().filter(|dir| !dir.starts_with(real)) {
                let _ = fs::remove_dir_all(sockets);
            }
        }
        let path = folder.path().to_path_buf();
        folder.close().map_err(|error| {
            let message = format!("{} cannot be removed: {error}", path.display());
            Refused::new(message).hint("nothing in it is needed: remove it by hand")
        })
    }
}

/// Set when the user presses Ctrl-C.
pub(super) struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    pub(super) fn watch() -> Result<Interrupted, Refused> {
        let told = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, told.clone())
                .map_err(|error| Refused::new(format!("signals cannot be received: {error}")))?;
        }
        Ok(Interrupted(told))
    }

    pub(super) fn check(&self) -> Result<(), Refused> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Refused::new("the demo was interrupted")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::format::mesh;

    #[test]
    fn every_file_of_the_meshes_is_there_and_without_fault() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/demo/meshes");
        let mut found = Vec::new();
        for mesh in fs::read_dir(&folder).unwrap() {
            for file in fs::read_dir(mesh.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                found.push(path.strip_prefix(&folder).unwrap().to_owned());
            }
        }
        found.sort();
        let listed: Vec<_> = MESHES.iter().map(|(path, _)| Path::new(path)).collect();
        assert_eq!(found, listed);
        for (path, text) in MESHES.iter().filter(|(path, _)| path.ends_with(".yaml")) {
            let diagnostics = mesh::parse(text.as_bytes()).diagnostics;
            assert!(diagnostics.is_empty(), "{path}: {diagnostics:#?}");
        }
    }
}
