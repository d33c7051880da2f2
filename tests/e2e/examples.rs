//! The examples run: the commands of each README, as they stand there, print what it says.
//!
//! What is run is the ```` ```sh ```` block, in a copy of the folder; what it is to print is
//! the ```` ```text ```` block after it, in which `[..]` stands for anything in a line and a
//! line `...` for any lines.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::pages::{blocks, matches};
use crate::stage::{Project, TX};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The commands of a page and what they print, in a project.
fn check(page: &Path, project: &Project) {
    let all = blocks(page);
    let block = |info: &str| {
        let mut blocks = all.iter().filter(|block| block.info == info);
        let found = blocks.next();
        assert!(
            blocks.next().is_none(),
            "{}: two {info} blocks",
            page.display()
        );
        found.unwrap_or_else(|| panic!("{}: no {info} block", page.display()))
    };
    let (commands, expected) = (block("sh"), block("text"));
    let path = std::env::var("PATH").unwrap();
    let programs = Path::new(TX).parent().unwrap().display();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &format!("exec 2>&1\n{}", commands.text)]);
    shell
        .current_dir(project.root())
        .env("PATH", format!("{programs}:{path}"));
    for name in ["TMUX", "TX_ROOT", "TX_AGENT"] {
        shell.env_remove(name);
    }
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && matches(&expected.text, &printed),
        "{}: should print\n{}\nand prints, with {}\n{printed}",
        expected.place,
        expected.text,
        output.status,
    );
}

/// A copy of an example, checked.
fn check_example(name: &str) {
    let folder = root().join("examples").join(name);
    let project = Project::new(&[]);
    let copied = Command::new("cp")
        .arg("-R")
        .arg(folder.join("."))
        .arg(project.root())
        .status();
    assert!(copied.unwrap().success());
    project.ok(&["mesh", "check", "--strict"]);
    check(&folder.join("README.md"), &project);
}

#[test]
fn hello_prints_what_its_readme_says() {
    check_example("hello");
}

#[test]
fn pipeline_prints_what_its_readme_says() {
    check_example("pipeline");
}

#[test]
fn fan_out_prints_what_its_readme_says() {
    check_example("fan-out");
}

#[test]
fn shell_agent_prints_what_its_readme_says() {
    check_example("shell-agent");
}

#[test]
fn python_agent_prints_what_its_readme_says() {
    let python = Command::new("python3").arg("--version").output();
    assert!(
        python.is_ok_and(|output| output.status.success()),
        "python3 is not installed, and the example python-agent needs it"
    );
    check_example("python-agent");
}

#[test]
fn graded_prints_what_its_readme_says() {
    check_example("graded");
}

#[test]
fn own_runtime_prints_what_its_readme_says() {
    check_example("own-runtime");
}

#[test]
fn the_demo_prints_what_the_docs_say() {
    check(&root().join("docs/examples.md"), &Project::new(&[]));
}

#[test]
fn the_page_of_the_human_prints_what_it_says() {
    check(&root().join("docs/human.md"), &Project::new(&[]));
}

/// Those with a block of commands are run above; the others by the tests of the docs.
#[test]
fn every_example_is_run_and_listed() {
    let run = [
        "fan-out",
        "graded",
        "hello",
        "own-runtime",
        "pipeline",
        "python-agent",
        "shell-agent",
    ];
    let listed = std::fs::read_to_string(root().join("docs/examples.md")).unwrap();
    let entries = std::fs::read_dir(root().join("examples")).unwrap();
    let folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            listed.contains(&format!("../examples/{name}/README.md")),
            "{name}"
        );
        let blocks = blocks(&folder.join("README.md"));
        let is_run = blocks.iter().any(|block| block.info == "sh");
        let is_console = blocks.iter().any(|block| block.info == "console");
        assert_eq!(is_run, run.contains(&name.as_str()), "{name}");
        assert!(is_run || is_console, "{name} is not run by any test");
    }
}
