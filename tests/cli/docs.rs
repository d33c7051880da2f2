//! The docs are true: commands run, examples parse, tables match the code.
//!
//! In a ```` ```console ```` block a line `$ command` is run in the page's own folder (a
//! here-document ends at `END`), and the lines after it are the expected output: `[..]` matches
//! anything within a line, a line `...` matches any lines. A block marked `markdown` or `yaml` with
//! `ok` or codes after it is a message or mesh with exactly these diagnostics. `TX_UPDATE=1 cargo
//! test` writes the generated files again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use chrono::DateTime;
use tx::format::message::{Origin, Parsed, parse};
use tx::format::{mesh, settings};
use tx::model::{Code, Diagnostic, Severity};

use crate::pages::{blocks, matches, same_as_file};
use crate::tx::{Sandbox, TX};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md, everything in docs/, and the README of each example.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        pages.push(entry.unwrap().path().join("README.md"));
    }
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

#[test]
fn every_command_in_the_docs_runs_and_prints_what_they_say() {
    let mut count = 0;
    for page in pages() {
        let sandbox = Sandbox::empty();
        if page.components().any(|part| part.as_os_str() == "examples") {
            let from = page.parent().unwrap().join(".");
            let copied = Command::new("cp")
                .arg("-R")
                .arg(from)
                .arg(sandbox.path())
                .status();
            assert!(copied.unwrap().success());
        }
        let _stop = StopAtEnd(&sandbox);
        for block in blocks(&page).iter().filter(|block| block.info == "console") {
            for (command, expected) in steps(&block.text) {
                let printed = shell(&sandbox, &command);
                assert!(
                    matches(&expected, &printed),
                    "{}: `{command}` should print\n{expected}\nand prints\n{printed}",
                    block.place
                );
                count += 1;
            }
        }
    }
    assert!(count >= 10, "only {count} commands were found in the docs");
}

/// A page may start a daemon. If its output is wrong, the test never reaches the command that stops
/// it.
struct StopAtEnd<'s>(&'s Sandbox);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        if self.0.path().join(".ai/tx/state").exists() {
            self.0.tx(["stop", "--kill-agents"]);
        }
    }
}

/// Commands, each with what it prints.
fn steps(block: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut here_document = false;
    for line in block.lines() {
        if here_document {
            let (command, _) = steps.last_mut().unwrap();
            *command += &format!("\n{line}");
            here_document = line != "END";
            continue;
        }
        here_document = line.ends_with("<<'END'");
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push((command.into(), String::new()));
        } else if let Some((_, printed)) = steps.last_mut() {
            *printed += &format!(
                "{line}
"
            );
        }
    }
    steps
}

fn shell(sandbox: &Sandbox, command: &str) -> String {
    let programs = Path::new(TX).parent().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(sandbox.path())
        .env_clear()
        .env("HOME", sandbox.path())
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_example_in_the_docs_has_just_the_diagnostics_it_names() {
    let mut shown = BTreeSet::new();
    for page in pages() {
        for block in blocks(&page) {
            let mut words = block.info.split_whitespace();
            let is_settings = block.info.starts_with("yaml settings");
            let diagnostics = match words.next() {
                Some("markdown") => message_diagnostics(&block.text),
                Some("yaml") if is_settings => {
                    settings::parse(&block.text).err().into_iter().collect()
                }
                Some("yaml") => mesh::parse(block.text.as_bytes()).diagnostics,
                _ => continue,
            };
            let words = words.filter(|word| !["ok", "settings"].contains(word));
            let expected: BTreeSet<&str> = words.collect();
            if expected.is_empty() && !block.info.ends_with(" ok") {
                continue;
            }
            // Examples are short: what a message takes from its file is left out.
            let filled_in = [
                Code::MissingId,
                Code::MissingHeadline,
                Code::MissingTimestamp,
            ];
            let found: BTreeSet<&str> = diagnostics
                .iter()
                .filter(|d| expected.contains(d.code.id()) || !filled_in.contains(&d.code))
                .map(|d| d.code.id())
                .collect();
            assert_eq!(found, expected, "{}: {diagnostics:#?}", block.place);
            shown.extend(found.iter().map(|code| (*code).to_owned()));
        }
    }
    // Diagnostics that a text alone cannot show.
    let elsewhere = [
        Code::NotText,
        Code::FileTooLarge,
        Code::BlockTooLarge,
        Code::NotAFile,
        Code::Unreadable,
        Code::YamlTooDeep,
        Code::MoreFindings,
        Code::WriterKnown,
        Code::UnknownAddress,
        Code::PromptMissing,
        Code::CannotRun,
        Code::NameNotFolder,
        Code::MeshTwice,
        Code::NoBrain,
        Code::UntestedVersion,
    ];
    for code in Code::ALL.iter().filter(|code| !elsewhere.contains(code)) {
        assert!(
            shown.contains(code.id()),
            "no example in the docs shows {} ({code:?})",
            code.id()
        );
    }
}

fn message_diagnostics(text: &str) -> Vec<Diagnostic> {
    let origin = Origin {
        name: "example.md".into(),
        modified: DateTime::UNIX_EPOCH.fixed_offset(),
    };
    match parse(text.as_bytes(), &origin) {
        Parsed::Message(read) => read.warnings,
        Parsed::Rejected(why) | Parsed::Incomplete(why) => why.diagnostics,
    }
}

#[test]
fn the_page_of_diagnostics_lists_every_code() {
    let mut page = String::from(
        "# Diagnostics\n\n\
         What `tx check`, `tx mesh check` and the repair notes say. Every diagnostic has one of\n\
         these codes, a place (`file:line:column`, columns in characters) and a hint that says what\n\
         to do. An *error* keeps a file from being accepted; with a *warning* it is accepted. Codes\n\
         never change their meaning and are never used again.\n\n\
         | code | severity | meaning |\n|---|---|---|\n",
    );
    for code in Code::ALL {
        let severity = match code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        page += &format!("| {} | {severity} | {} |\n", code.id(), code.meaning());
    }
    page += "\nThis page is made from the code by a test.\n";
    same_as_file("docs/diagnostics.md", &page);
}

#[test]
fn the_page_of_the_mesh_format_names_every_field() {
    let page = fs::read_to_string(root().join("docs/mesh-format.md")).unwrap();
    let schema = mesh::schema();
    let mut fields: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    for name in [
        "Agent",
        "RearmatterRules",
        "Iteration",
        "WorkspaceRules",
        "Guardrails",
        "RoutingError",
    ] {
        let part = &schema["definitions"][name]["properties"];
        fields.extend(
            part.as_object()
                .unwrap_or_else(|| panic!("no {name} in the schema"))
                .keys(),
        );
    }
    for field in fields {
        assert!(
            page.contains(&format!("`{field}`")),
            "docs/mesh-format.md does not name `{field}`"
        );
    }
}

#[test]
fn links_and_anchors_between_pages_lead_somewhere() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|link| !link.contains("://"))
        {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            assert!(target.exists(), "{}: {link}", page.display());
            assert!(
                anchor.is_empty() || anchors(&target).contains(anchor),
                "{}: {link}: there is no such heading",
                page.display()
            );
        }
    }
}

/// The anchors that GitHub makes from headings: lower case, dashes for spaces, no punctuation.
fn anchors(page: &Path) -> BTreeSet<String> {
    let mut fence = 0;
    let mut anchors = BTreeSet::new();
    for line in fs::read_to_string(page).unwrap().lines() {
        let marks = line.len() - line.trim_start_matches('`').len();
        match fence {
            0 if marks >= 3 => fence = marks,
            open if open > 0 && marks >= open && marks == line.trim().len() => fence = 0,
            _ => {}
        }
        let title = line.trim_start_matches('#');
        if fence > 0 || title.len() == line.len() {
            continue;
        }
        let title = title.trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        anchors.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    anchors
}

#[test]
fn the_index_of_the_docs_names_every_page() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    for page in pages() {
        let name = page.file_name().unwrap().to_string_lossy();
        if page.parent() == Some(&root().join("docs")) && name != "README.md" {
            assert!(
                index.contains(&format!("({name}")),
                "docs/README.md does not name {name}"
            );
        }
    }
}

#[test]
fn the_page_of_troubles_quotes_what_the_program_prints() {
    let mut program = String::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                // A string that goes on in the next line is one string.
                let mut parts = text.split("\\\n");
                program += parts.next().unwrap();
                parts.for_each(|part| program += part.trim_start());
            }
        }
    }
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let mut heading = "";
    let mut count = 0;
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cell = line.split('|').nth(1).unwrap();
        if line.contains("meaning |") || cell.trim() == "symptom" || cell.trim() == "command" {
            heading = cell.trim();
        } else if heading == "tx prints" {
            for quote in cell.split('`').skip(1).step_by(2) {
                let quote = quote.trim();
                assert!(
                    program.contains(quote),
                    "docs/troubleshooting.md: nothing prints `{quote}`"
                );
                count += 1;
            }
        }
    }
    assert!(count > 40, "only {count} quotes were found");
}

#[test]
fn the_shipped_meshes_are_all_built_in() {
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .flat_map(|path| {
                if path.is_dir() {
                    files(&path)
                } else {
                    vec![path]
                }
            })
            .collect()
    }
    let meshes = root().join("meshes");
    let mut found: Vec<String> = files(&meshes)
        .iter()
        .map(|p| p.strip_prefix(&meshes).unwrap().to_str().unwrap().into())
        .collect();
    found.sort();
    let built_in: Vec<&str> = tx::project::BUILTIN.iter().map(|(path, _)| *path).collect();
    assert_eq!(found, built_in);
}
