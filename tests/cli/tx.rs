//! A temporary folder and the program to run in it.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const TX: &str = env!("CARGO_BIN_EXE_tx");

/// A temporary folder for one test.
pub(crate) struct Sandbox {
    dir: TempDir,
}

/// The result of running the program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    /// An empty folder.
    pub(crate) fn empty() -> Self {
        Sandbox {
            dir: TempDir::new().expect("a temporary folder can be made"),
        }
    }

    /// A folder after `tx init`.
    pub(crate) fn project() -> Self {
        let sandbox = Sandbox::empty();
        sandbox.tx(["init"]).ok();
        sandbox
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder"))
            .expect("folders can be made");
        fs::write(&path, text).expect("a file can be written");
        path
    }

    /// The program, run in this folder, without the tester's environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(TX);
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn tx<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        run(&mut self.command(args))
    }

    /// The program with a text on standard input.
    pub(crate) fn tx_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        // The program may stop reading early.
        let _ = child.stdin.take().expect("stdin is piped").write_all(input);
        child.wait_with_output().expect("the program ends").into()
    }

    /// Run the program at a terminal, and type something once it shows `prompt`. `stdout` has
    /// everything that the terminal shows.
    pub(crate) fn at_a_terminal(&self, args: &[&str], prompt: &str, typed: &str) -> Ran {
        let words = args.iter().map(|arg| format!(" '{arg}'"));
        let line: String = [TX.to_owned()].into_iter().chain(words).collect();
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", "/usr/bin:/bin")
            .env("TZ", "UTC")
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child = command.spawn().expect("`script` starts");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let mut stdout = child.stdout.take().expect("stdout is piped");
        let (mut shown, mut typed) = (Vec::new(), Some(typed));
        let mut bytes = [0; 1024];
        while let Ok(count @ 1..) = stdout.read(&mut bytes) {
            shown.extend(&bytes[..count]);
            if String::from_utf8_lossy(&shown).contains(prompt)
                && let Some(typed) = typed.take()
            {
                stdin.write_all(typed.as_bytes()).expect("it is typed");
            }
        }
        Ran {
            code: child.wait().expect("the program ends").code(),
            stdout: String::from_utf8_lossy(&shown).into(),
            stderr: String::new(),
        }
    }

    /// The message files on the bus, sorted; dotfiles too.
    pub(crate) fn bus(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path().join(".ai/tx/msgs"))
            .map(|entries| {
                entries
                    .map(|e| e.expect("an entry").file_name().to_string_lossy().into())
                    .collect()
            })
            .unwrap_or_default();
        names.sort();
        names
    }
}

/// How often to repeat something: in every run, and in `scripts/soak.sh`.
pub(crate) fn soak(every_run: usize, full: usize) -> usize {
    if std::env::var_os("TX_SOAK").is_some() {
        full
    } else {
        every_run
    }
}

pub(crate) fn run(command: &mut Command) -> Ran {
    command.output().expect("the program starts").into()
}

impl From<std::process::Output> for Ran {
    fn from(output: std::process::Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Ran {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

impl Ran {
    /// Check that it succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.exits(0)
    }

    /// Check that it exited with this code and did not panic.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    /// Its answer as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Check that its error has these words and at most this many lines.
    #[track_caller]
    pub(crate) fn complains(self, words: &str, lines: usize) -> Self {
        assert!(self.stderr.contains(words), "{self:#?}");
        assert!(self.stderr.lines().count() <= lines, "{self:#?}");
        self
    }
}
