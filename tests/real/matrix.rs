//! What each test shows about a CLI, as a row of the table in docs/runtimes.md.
//!
//! A test appends `cli<TAB>version<TAB>mode<TAB>case<TAB>result` to the file that `TX_MATRIX`
//! names, and `matrix.py` makes the table of it. Without the variable nothing is written.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

/// One case with one CLI in one mode. Its result is written when it goes out of scope: `yes`, or
/// `no` if the test panics.
pub(crate) struct Case {
    cli: &'static str,
    mode: &'static str,
    name: &'static str,
}

impl Case {
    /// Call it once the lab is open: a case that was skipped has no result.
    pub(crate) fn of(cli: &'static str, mode: &'static str, name: &'static str) -> Case {
        Case { cli, mode, name }
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let Some(file) = std::env::var_os("TX_MATRIX") else {
            return;
        };
        let Case { cli, mode, name } = self;
        let result = if std::thread::panicking() {
            "no"
        } else {
            "yes"
        };
        let line = format!("{cli}\t{}\t{mode}\t{name}\t{result}\n", version(cli));
        let appended = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = appended {
            eprintln!("the result of {cli} {mode} {name} is not written: {error}");
        }
    }
}

/// The version that the CLI of the lab reports, asked once.
fn version(cli: &str) -> String {
    static KNOWN: LazyLock<Mutex<BTreeMap<String, String>>> = LazyLock::new(Mutex::default);
    let Ok(mut known) = KNOWN.lock() else {
        return "?".into();
    };
    let ask = || {
        let lab = std::env::var_os("TX_LAB").unwrap_or_default();
        let program = Path::new(&lab).join("bin").join(cli);
        let output = Command::new(program).arg("--version").output().ok()?;
        // pi says it on its standard error.
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let is_version = |word: &&str| word.contains('.') && word.starts_with(char::is_numeric);
        said.split_whitespace().find(is_version).map(str::to_owned)
    };
    let asked = known.entry(cli.to_owned());
    asked
        .or_insert_with(|| ask().unwrap_or_else(|| "?".into()))
        .clone()
}
