//! Captures of the real agent CLIs in each of their states: `tests/screens/states.tsv` says what
//! each of them shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tx::model::ScreenRules;
use tx::runtime::Runtimes;
use tx::runtime::screen::{Look, Screen, Wants, classify};

struct Capture {
    name: String,
    /// By its lines alone, and with its title and cursor.
    expected: [String; 2],
    screen: Screen,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens")
}

fn captures() -> Vec<Capture> {
    let table = fs::read_to_string(folder().join("states.tsv")).unwrap();
    let read = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let text = fs::read_to_string(folder().join(format!("{}.txt", columns[0]))).unwrap();
        let (alone, whole) = columns[1]
            .split_once('|')
            .unwrap_or((columns[1], columns[1]));
        let cursor = columns.get(2).and_then(|cursor| cursor.split_once(','));
        Capture {
            name: columns[0].into(),
            expected: [alone.into(), whole.into()],
            screen: Screen {
                lines: text.lines().map(Into::into).collect(),
                title: columns.get(3).copied().unwrap_or_default().into(),
                cursor: cursor.map(|(x, y)| [x.parse().unwrap(), y.parse().unwrap()]),
                dead: false,
            },
        }
    };
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(read).collect()
}

impl Capture {
    fn rules(&self) -> &'static ScreenRules {
        let (cli, _) = self.name.split_once('-').unwrap();
        &Runtimes::builtin().get(cli).unwrap().screen
    }

    fn alone(&self) -> Screen {
        Screen {
            lines: self.screen.lines.clone(),
            ..Screen::default()
        }
    }
}

fn word(look: &Look) -> String {
    match look {
        Look::Dead => "dead".into(),
        Look::Dialog {
            wants: Wants::Permission,
            ..
        } => "permission".into(),
        Look::Dialog {
            wants: Wants::Answer,
            ..
        } => "question".into(),
        Look::Limited { until: None } => "limited".into(),
        Look::Limited { until: Some(until) } => format!("limited {until}"),
        Look::Busy => "busy".into(),
        Look::Idle => "idle".into(),
        Look::Unknown(_) => "unknown".into(),
    }
}

#[test]
fn every_capture_shows_what_it_is_known_to() {
    let mut wrong = Vec::new();
    for capture in captures() {
        for (screen, expected) in [capture.alone(), capture.screen.clone()]
            .iter()
            .zip(&capture.expected)
        {
            let look = classify(capture.rules(), screen);
            if word(&look) != *expected {
                wrong.push(format!("{}: {expected}, not {look:?}", capture.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_capture() {
    let in_folder = fs::read_dir(folder()).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        let text = path.extension().is_some_and(|extension| extension == "txt");
        text.then(|| path.file_stem().unwrap().to_string_lossy().into_owned())
    });
    let in_table: BTreeSet<String> = captures().into_iter().map(|capture| capture.name).collect();
    assert_eq!(in_folder.collect::<BTreeSet<_>>(), in_table);
}

/// Whatever a person types in an idle composer, it is idle no more: with its cursor and without.
#[test]
fn a_draft_in_any_idle_capture_is_a_draft() {
    let mut tried = 0;
    for mut capture in captures() {
        if classify(capture.rules(), &capture.alone()) != Look::Idle {
            continue;
        }
        let text = capture.screen.lines.join("\n");
        let text = text.trim_end();
        let composer = capture.rules().composer.as_ref().unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let text = lines.join("\n");
        let typed = composer.last(&text).unwrap().name("typed").unwrap().range();
        for draft in [
            "half a thought",
            "y",
            "/",
            "esc to interrupt",
            "1. Yes\n  2. No",
        ] {
            let end = if text[typed.clone()].ends_with('\n') {
                "\n"
            } else {
                ""
            };
            let drafted = format!(
                "{} {draft}{end}{}",
                &text[..typed.start],
                &text[typed.end..]
            );
            capture.screen.lines = drafted.lines().map(Into::into).collect();
            for screen in [capture.alone(), capture.screen.clone()] {
                let look = classify(capture.rules(), &screen);
                assert_ne!(look, Look::Idle, "{} with {draft:?}", capture.name);
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "only {tried} drafts were tried");
}

/// What an answer quotes is no state: each capture, indented as an answer is, above each idle one.
#[test]
fn a_quoted_dialog_or_busy_mark_leaves_an_idle_screen_idle() {
    for cli in ["claude", "codex"] {
        let of_cli = |capture: &Capture| capture.name.starts_with(cli);
        let all: Vec<Capture> = captures().into_iter().filter(of_cli).collect();
        let idle = all
            .iter()
            .find(|capture| capture.name == format!("{cli}-answered"));
        let idle = &idle.unwrap().screen.lines;
        let said = idle
            .iter()
            .position(|line| line.contains("ANSWER-1"))
            .unwrap()
            + 2;
        for quoted in &all {
            let quote = quoted.screen.lines.iter().map(|line| format!("  {line}"));
            let mut lines = idle[..=said].to_vec();
            lines.extend(quote);
            lines.extend(idle[said + 1..].iter().cloned());
            let screen = Screen {
                lines,
                ..Screen::default()
            };
            let look = classify(quoted.rules(), &screen);
            assert_eq!(look, Look::Idle, "{} quoted", quoted.name);
        }
    }
}
