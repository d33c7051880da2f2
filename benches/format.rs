//! What docs/performance.md claims of the formats and of starting up, as ratios within one run.
//!
//! `cargo bench --bench format` measures each thing beside its floor and prints
//! the ratio with the limit it must keep. With `--test` (as `cargo test` runs
//! it) everything runs once and nothing is judged.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use chrono::DateTime;
use criterion::{BenchmarkId, Criterion};
use serde_yaml::Value;
use tx::format::message::{Origin, Parsed, parse};

mod ratio;
use ratio::{alternate, judge, timed};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let judged = std::env::args().any(|arg| arg == "--bench");
    let message = message();
    parsing(&mut criterion, &message);
    let mut kept = true;
    if judged {
        kept &= parsing_ratio(&message);
    }
    let files = if judged { 10_000 } else { 100 };
    kept &= checking("", &message, files, judged, Some(4.0));
    // No limit: an unquoted colon costs a second parser and a report.
    let sloppy = message.replace("headline: \"", "headline: Note: \"");
    checking(" with an unquoted colon", &sloppy, files, judged, None);
    // Nor this: what it costs without `format::yaml::plain`, which reads no quoted keys.
    let quoted = message.replace("---\nto:", "---\n\"to\":");
    let quoted = quoted.replace("---\ngrade:", "---\n\"grade\":");
    assert_ne!(quoted, message);
    checking(
        " that only the YAML crate reads",
        &quoted,
        files,
        judged,
        None,
    );
    kept &= starting(judged);
    if judged && !kept {
        eprintln!("error: a limit was not kept");
        std::process::exit(1);
    }
}

/// A message of 2 KB as agents write them: both blocks, a body with code, and a
/// dash and an accent that are not ASCII.
fn message() -> String {
    let front = "to: dev-review/reviewer\nfrom: dev-review/tester\nmsg-id: login-redirect-tested-3\n\
                 headline: \"Login redirect: tests pass — review the change\"\ntimestamp: 2026-11-15T10:00:00.000Z\n\
                 status: complete\nin-reply-to: login-redirect-built-2\npriority: high\nfeature: login-redirect\n";
    let rear = "grade: A\nconfidence: 0.95\niteration: 2\ngaps:\n  - No test with a proxy in between, à la nginx\n  - Only Linux\n\
                assumptions:\n  - The session cookie is set before the redirect\nspeculation: []\nsources:\n  \
                - url: docs/login.md\n    type: first-party\n    title: How login works\n    verified: true\n  \
                - url: src/login.rs\n    type: first-party\n    verified: true\ntoolCalls: [cargo test, git diff]\nlimitations: []\n";
    let line = "The redirect keeps its query string now; `cargo test login` passes, 14 tests.\n";
    let code =
        "```rust\nassert_eq!(redirect(\"/a?b=1\"), \"/login?next=%2Fa%3Fb%3D1\");\n```\n\n---\n\n";
    let fixed = front.len() + rear.len() + code.len() + "---\n---\n\n\n---\n---\n".len();
    let body = line.repeat((2048 - fixed) / line.len());
    format!("---\n{front}---\n\n{body}{code}\n---\n{rear}---\n")
}

fn origin() -> Origin {
    Origin {
        name: "m.md".into(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    }
}

/// The two YAML blocks of the message.
fn yaml_blocks(message: &str) -> (&str, &str) {
    let front = message
        .split("---\n")
        .nth(1)
        .expect("a message has frontmatter");
    let rear = message
        .rsplit("---\n")
        .nth(1)
        .expect("the message has rearmatter");
    (front, rear)
}

fn both_blocks(front: &str, rear: &str) {
    black_box(serde_yaml::from_str::<Value>(black_box(front)).expect("the frontmatter is YAML"));
    black_box(serde_yaml::from_str::<Value>(black_box(rear)).expect("the rearmatter is YAML"));
}

fn whole_message(message: &str, origin: &Origin) {
    let parsed = parse(black_box(message.as_bytes()), origin);
    assert!(matches!(&parsed, Parsed::Message(read) if read.warnings.is_empty()));
    black_box(parsed);
}

fn parsing(criterion: &mut Criterion, message: &str) {
    let (front, rear) = yaml_blocks(message);
    let mut group = criterion.benchmark_group("2 KB message");
    group.bench_function(BenchmarkId::from_parameter("YAML of both blocks"), |b| {
        b.iter(|| both_blocks(front, rear));
    });
    let origin = origin();
    group.bench_function(BenchmarkId::from_parameter("whole message"), |b| {
        b.iter(|| whole_message(message, &origin));
    });
    group.finish();
}

/// Both in turn, many times, so that a noisy moment hits both.
fn parsing_ratio(message: &str) -> bool {
    let (front, rear) = yaml_blocks(message);
    let origin = origin();
    let (floor, ours) = alternate(
        200,
        || timed(|| (0..50).for_each(|_| both_blocks(front, rear))),
        || timed(|| (0..50).for_each(|_| whole_message(message, &origin))),
    );
    judge(
        "parse a 2 KB message / YAML of its two blocks",
        floor,
        ours,
        2.5,
    )
}

fn checking(what: &str, message: &str, count: usize, judged: bool, limit: Option<f64>) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let files: Vec<PathBuf> = (0..count)
        .map(|n| {
            let path = folder.path().join(format!("{n}.md"));
            fs::write(&path, message).expect("a file can be written");
            path
        })
        .collect();
    let read = || {
        for file in &files {
            black_box(fs::read(file).expect("a file can be read"));
        }
    };
    let check = || {
        let done = Command::new(env!("CARGO_BIN_EXE_tx"))
            .arg("check")
            .args(&files)
            .stdout(Stdio::null())
            .status();
        assert!(done.expect("tx starts").success());
    };
    let (floor, ours) = alternate(if judged { 15 } else { 1 }, || timed(read), || timed(check));
    judge(
        &format!("tx check of {count} files{what} / reading them"),
        floor,
        ours,
        limit,
    )
}

fn starting(judged: bool) -> bool {
    let start = |program: &str, args: &[&str]| {
        let done = Command::new(program)
            .args(args)
            .stdout(Stdio::null())
            .status();
        assert!(done.expect("the program starts").success());
    };
    let (floor, ours) = alternate(
        if judged { 300 } else { 1 },
        || timed(|| start("/bin/true", &[])),
        || timed(|| start(env!("CARGO_BIN_EXE_tx"), &["--version"])),
    );
    judge("tx --version / /bin/true", floor, ours, 3.0)
}
