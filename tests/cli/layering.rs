//! The import rules: which room may import which.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each room and those it may import from. A room that is not listed is a failure.
const ROOMS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("runtime", &["model"]),
    ("format", &["model", "runtime"]),
    ("engine", &["model"]),
    ("pane", &["model", "engine", "runtime"]),
    ("journal", &["model", "format", "engine"]),
    ("project", &["model", "format", "runtime"]),
    ("git", &["model"]),
    ("tmux", &[]),
    (
        "daemon",
        &[
            "model", "format", "engine", "pane", "journal", "project", "runtime", "tmux", "git",
        ],
    ),
    (
        "view",
        &[
            "model", "format", "engine", "journal", "project", "runtime", "daemon", "git",
        ],
    ),
    (
        "actions",
        &[
            "model", "format", "engine", "journal", "project", "runtime", "tmux", "daemon", "view",
            "git",
        ],
    ),
    (
        "cli",
        &[
            "model", "format", "project", "runtime", "tmux", "daemon", "view", "actions", "git",
        ],
    ),
];

/// What views and actions may use of the daemon: its control client, and what tells whether it
/// runs.
const OF_DAEMON: &[&str] = &[
    "Control",
    "DaemonLock",
    "Follow",
    "NoAnswer",
    "NoDaemon",
    "Reply",
    "Request",
    "Running",
    "end_orphans",
    "file_with",
    "orphans",
    "pane_of",
    "program_output",
    "program_version",
    "running",
];

/// What a view must not use.
const NOT_IN_VIEWS: &[&str] = &[
    "std::env",
    "std::fs",
    "std::io",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "tokio",
    "Utc::now",
    "print!",
    "println!",
];

/// What the pure rooms must not use.
const IMPURE: &[&str] = &[
    "std::{",
    "std::fs",
    "std::process",
    "std::net",
    "std::env",
    "std::thread",
    "tokio",
    "Utc::now",
    "SystemTime",
    "Instant::now",
    // What is async waits for somebody.
    "async fn",
    "async move",
    "async {",
    // An order that differs from run to run.
    "HashMap",
    "HashSet",
];

/// The files of the daemon that run entirely on the loop.
const ON_THE_LOOP: &[&str] = &[
    "input_builder.rs",
    "job_input.rs",
    "notify.rs",
    "requests.rs",
    "perform.rs",
    "input_queue.rs",
    "commit.rs",
];

/// What would make the loop wait for something other than a commit.
const WAITS: &[&str] = &[
    ".await",
    "std::fs",
    "std::io",
    "std::process",
    "std::thread",
    "briefing",
    "cannot_run",
    "make_workspace",
    "read_regular",
    "write_new",
    "write_private",
];

/// The sources below a folder, without those of unit tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let is_test = |path: &Path| {
        path.iter()
            .any(|part| part == "tests" || part == "tests.rs")
    };
    let mut found = all_sources(folder);
    found.retain(|path| !is_test(path.strip_prefix(folder).unwrap()));
    found
}

fn all_sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(all_sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

/// The code of a file without comments and unit tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end]
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn rooms_import_only_what_they_may() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(&src).unwrap() {
        let folder = entry.unwrap().path();
        let room = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !folder.is_dir() {
            assert!(
                ["lib.rs", "main.rs"].contains(&room.as_str()),
                "{room} stands outside of the rooms"
            );
            continue;
        }
        let (_, may) = ROOMS
            .iter()
            .find(|(name, _)| *name == room)
            .unwrap_or_else(|| panic!("no rule for the room {room}"));
        for path in sources(&folder) {
            let code = code(&path);
            // Imports that this test would not see through.
            for hidden in ["crate::{", "super::super", "use crate;"] {
                assert!(
                    !code.contains(hidden),
                    "{}: `{hidden}`; name the room: `crate::room::…`",
                    path.display()
                );
            }
            for (other, _) in ROOMS
                .iter()
                .filter(|(name, _)| *name != room && !may.contains(name))
            {
                let used = code.contains(&format!("crate::{other}"));
                assert!(
                    !used,
                    "{} imports {other}; {room} may import {may:?}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn answers_and_actions_use_the_control_client_alone() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in ["view", "actions"]
        .map(|room| sources(&src.join(room)))
        .concat()
    {
        let code = code(&path);
        for (_, used) in code
            .match_indices("crate::daemon")
            .map(|(at, _)| code.split_at(at))
        {
            let used = used.split([';', '(']).next().unwrap();
            let names = used
                .trim_start_matches("crate::daemon")
                .split(|c: char| !c.is_alphanumeric() && c != '_');
            let mut names = names.filter(|name| !name.is_empty());
            while let Some(name) = names.next() {
                assert!(
                    OF_DAEMON.contains(&name),
                    "{} uses daemon::{name}",
                    path.display()
                );
                // The name after `as` belongs to the file.
                if used.contains(&format!("{name} as ")) {
                    assert_eq!(names.next(), Some("as"));
                    names.next();
                }
            }
        }
    }
}

#[test]
fn answers_are_made_of_what_they_are_given() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&src.join("view")) {
        let code = code(&path);
        for word in NOT_IN_VIEWS {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
    }
    for path in sources(&src.join("actions")) {
        let code = code(&path);
        for word in ["print!", "println!", "stdout()", "stderr()", "stdin()"] {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
    }
}

#[test]
fn the_pure_rooms_touch_nothing() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for room in ["model", "format", "engine", "pane", "runtime"] {
        for path in sources(&src.join(room)) {
            if path.file_name().is_some_and(|name| name == "properties.rs") {
                continue;
            }
            let code = code(&path);
            for word in IMPURE {
                assert!(!code.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}

/// An arm for everything would also take a variant that is added later.
#[test]
fn decisions_name_every_variant() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in ["engine", "pane"]
        .map(|room| sources(&src.join(room)))
        .concat()
    {
        for line in code(&path).lines() {
            let arm = line.trim_start();
            let takes_all = arm.starts_with("_ =>") || arm.contains("| _ =>");
            assert!(!takes_all, "{}: `{arm}`", path.display());
        }
    }
}

#[test]
fn the_loop_waits_for_nothing_but_a_commit() {
    let daemon = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/daemon");
    for file in ON_THE_LOOP {
        let code = code(&daemon.join(file));
        for word in WAITS {
            assert!(!code.contains(word), "{file} uses {word}");
        }
    }
}

/// The name of the type that this line defines. A type that belongs to a trait or a module's own
/// `Error` may have the name of another.
fn type_defined(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let item = match item.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => item,
    };
    let (keyword, rest) = item.split_once(' ')?;
    let associated = keyword == "type" && line.starts_with(' ');
    let defines = ["struct", "enum", "trait", "type", "union"].contains(&keyword) && !associated;
    let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase());
    (defines && is_name && name != "Error").then_some(name)
}

/// The names that imports give to types of other names. One letter is a table's own shorthand.
fn types_renamed(text: &str) -> Vec<&str> {
    let mut renamed = Vec::new();
    let mut in_import = false;
    for line in text.lines() {
        let item = line.trim_start();
        in_import |= item.starts_with("use ") || item.starts_with("pub") && item.contains(" use ");
        if in_import {
            let given = line.split(" as ").skip(1);
            let names = given.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
            let is_type = |name: &&str| name.starts_with(|c: char| c.is_ascii_uppercase());
            renamed.extend(names.filter(is_type).filter(|name| name.len() > 1));
        }
        in_import &= !line.contains(';');
    }
    renamed
}

#[test]
fn a_type_name_exists_once() {
    let defined = [
        ("pub(super) struct One<'a> {", Some("One")),
        ("        enum Two {", Some("Two")),
        ("pub type Three = u8;", Some("Three")),
        ("    type Item = u8;", None),
        ("pub enum Error {", None),
        ("structure of Things", None),
    ];
    for (line, name) in defined {
        assert_eq!(type_defined(line), name, "{line}");
    }
    let imports = "use a::{B, C as Dee, e as f};\nuse g::H as I;\nlet j = k as Ell;\n";
    assert_eq!(types_renamed(imports), ["Dee"]);
    let mut places = BTreeMap::<String, Vec<String>>::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in all_sources(&src) {
        let text = fs::read_to_string(&path).unwrap();
        for name in text
            .lines()
            .filter_map(type_defined)
            .chain(types_renamed(&text))
        {
            let place = path.strip_prefix(&src).unwrap().display().to_string();
            places.entry(name.to_owned()).or_default().push(place);
        }
    }
    assert!(places.len() > 300, "only {} types were found", places.len());
    places.retain(|_, places| places.len() > 1);
    assert!(places.is_empty(), "one name, several types: {places:#?}");
}

#[test]
fn every_task_of_the_daemon_is_joined() {
    let daemon = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/daemon");
    for path in sources(&daemon) {
        let code = code(&path);
        // Tasks belong to a `JoinSet`, and `blocking` waits for work on other threads.
        let is_blocking = path.file_name().is_some_and(|name| name == "blocking.rs");
        let spawns = code.contains("tokio::spawn") || code.contains("task::spawn");
        assert!(
            is_blocking || !(spawns || code.contains("spawn_blocking")),
            "{}: a task that nobody joins",
            path.display()
        );
    }
}
