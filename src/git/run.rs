//! One call of the `git` program.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Variables that would point git at another repository. They are removed.
const FOREIGN: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
];

/// git in a folder, with an index if it is not the folder's own.
pub(super) struct Git<'a> {
    pub(super) folder: &'a Path,
    pub(super) index: Option<&'a Path>,
}

impl<'a> Git<'a> {
    pub(super) fn at(folder: &'a Path) -> Git<'a> {
        Git {
            folder,
            index: None,
        }
    }

    /// Run git. Returns its output without the last line break; the error is git's message.
    pub(super) fn text(&self, arguments: &[&str]) -> Result<String, String> {
        let output = self.output(arguments, "")?;
        match output.status.success() {
            true => Ok(printed(&output.stdout)),
            false => Err(said(arguments, &output)),
        }
    }

    /// The same, with this on its standard input.
    pub(super) fn text_of(&self, arguments: &[&str], stdin: &str) -> Result<String, String> {
        let output = self.output(arguments, stdin)?;
        match output.status.success() {
            true => Ok(printed(&output.stdout)),
            false => Err(said(arguments, &output)),
        }
    }

    /// Whether it exits with 0.
    pub(super) fn holds(&self, arguments: &[&str]) -> Result<bool, String> {
        Ok(self.output(arguments, "")?.status.success())
    }

    fn output(&self, arguments: &[&str], stdin: &str) -> Result<Output, String> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => "git is not installed".to_owned(),
            _ => format!("git cannot be run: {error}"),
        };
        let mut command = Command::new("git");
        for name in FOREIGN {
            command.env_remove(name);
        }
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        let mut child = command
            .args(arguments)
            .current_dir(self.folder)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        if let Some(mut pipe) = child.stdin.take() {
            // If git does not read its input, its exit code says why.
            let _ = pipe.write_all(stdin.as_bytes());
        }
        child.wait_with_output().map_err(failed)
    }
}

fn printed(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

/// git's error message, or a note that there was none.
fn said(arguments: &[&str], output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = match text.trim() {
        "" => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        text => text.to_owned(),
    };
    let verb = arguments.first().copied().unwrap_or_default();
    match text.is_empty() {
        true => format!("git {verb} failed"),
        false => format!("git {verb}: {text}"),
    }
}
