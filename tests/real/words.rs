//! What agents write, and what they are given: the mistakes that models make, texts that a shell
//! would change, and questions.

use std::fs;

use crate::cli::{BOTH, EVERY, each, team};
use crate::matrix::Case;
use crate::team::{Team, alone};

/// What a model makes of the example, and the words of its headline.
fn mistakes() -> Vec<(&'static str, String)> {
    let good = |from: &str, status: &str, headline: &str| {
        format!("---\n{from}status: {status}\nheadline: {headline}\n---\n\nAll of it.\n")
    };
    let named = "from: team/builder\n";
    let indented = good(named, "complete", "an indented copy");
    let indented: Vec<String> = indented.lines().map(|line| format!("    {line}")).collect();
    let in_a_fence = good(named, "complete", "in a fence");
    let preamble = good(named, "complete", "behind a preamble");
    vec![
        ("in a fence", format!("```\n{in_a_fence}```")),
        (
            "behind a blank line",
            format!("\n{}", good(named, "complete", "behind a blank line")),
        ),
        (
            "behind a preamble",
            format!("Here is my outcome:\n\n{preamble}"),
        ),
        ("an indented copy", indented.join("\n")),
        (
            "a word in ticks",
            good(named, "`complete`", "a word in ticks"),
        ),
        (
            "a word in stars",
            good(named, "\"**complete**\"", "a word in stars"),
        ),
        ("no from", good("", "complete", "no from")),
        (
            "a bare from",
            good("from: builder\n", "complete", "a bare from"),
        ),
    ]
}

#[test]
fn the_mistakes_of_models_are_read_for_what_they_mean() {
    each(&EVERY, |cli @ (name, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(name, mode, "each mistake that models make is read");
        for (no, (headline, text)) in mistakes().into_iter().enumerate() {
            if name == "aider" && text.contains("```") {
                // It takes the text of an edit out of a fence itself.
                continue;
            }
            let file = team.messages().join(format!("builder-{no}.md"));
            let script = if name == "codex" {
                let prepared = team.lab.path(&format!("prepared-{no}"));
                fs::write(&prepared, text).unwrap();
                format!("@@shell cp {} {}", prepared.display(), file.display())
            } else {
                let text = text.replace('\n', "\\n");
                format!("@@write {} {text}", file.display())
            };
            team.send(&script);
            let result = team.headed(headline);
            assert_eq!(result["from"], "team/builder", "{name} {mode}: {result}");
            assert_eq!(result["status"], "complete", "{name} {mode}: {result}");
            team.idle("team/builder");
        }
    });
}

#[test]
fn texts_arrive_as_they_were_written_and_so_do_their_answers() {
    each(&BOTH, |cli @ (runtime, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(runtime, mode, "quotes, newlines, $(x), 100 KB intact");
        let odd = "It's \"odd\" $(touch gone) `touch gone` \\n %s\n\ttabs; && | > gone <b> é 漢 🦀";
        let long: String = (0..2_500)
            .map(|no| format!("{no}: it's \"$(x)\" 40\n"))
            .collect();
        assert!(long.len() < 120_000 && long.len() > 45_000);
        let long = [&*long, &*long].concat();
        assert!(long.len() > 100_000);
        let prepared = team.lab.path("prepared");
        let front = "---\nfrom: team/builder\nstatus: complete\nheadline: long\n---\n\n";
        fs::write(&prepared, format!("{front}{long}")).unwrap();
        let file = team.messages().join("long.md");
        let copy = format!("@@shell cp {} {}", prepared.display(), file.display());
        team.send(&format!("{odd}\n\n{copy}"));
        let result = team.headed("long");
        let shown = fs::read_to_string(result["path"].as_str().unwrap()).unwrap();
        assert!(shown.ends_with(&long), "{runtime} {mode}");
        // The model was shown the task by its own tool, and nobody ran anything of it.
        let run = team
            .lab
            .project()
            .join(".ai/tx/run/team/builder/1/turn-1.md");
        assert!(fs::read_to_string(run).unwrap().contains(odd));
        let seen = team.lab.requests().iter().any(|request| {
            let turns = request["turns"].as_array().unwrap().iter();
            let mut tools = turns.filter(|turn| turn[0] == "tool");
            tools.any(|turn| {
                turn[1]
                    .as_str()
                    .unwrap()
                    .contains("$(touch gone) `touch gone`")
            })
        });
        assert!(seen, "{runtime} {mode}");
        assert!(
            !team.lab.project().join("gone").exists(),
            "{runtime} {mode}"
        );
        // A task of 100 KB, as it stands.
        let body = format!("{long}\n");
        let task = format!("---\nto: team\nfrom: core\nmsg-id: big\nheadline: big\n---\n\n{body}");
        fs::write(team.messages().join("big.md"), task).unwrap();
        let folder = team.lab.project().join(".ai/tx/run/team/builder");
        crate::lab::wait_for("the long task", || {
            let attempts = fs::read_dir(&folder).ok()?.flatten();
            let files =
                attempts.flat_map(|attempt| fs::read_dir(attempt.path()).into_iter().flatten());
            let mut texts = files.flatten().filter_map(|file| {
                let name = file.file_name().into_string().ok()?;
                name.starts_with("turn-")
                    .then(|| fs::read_to_string(file.path()).ok())?
            });
            texts.any(|text| text.contains(&long)).then_some(())
        });
    });
}

#[test]
fn a_tool_that_was_refused_is_no_complete() {
    let Some(team) = Team::start(&alone("claude", "turn")) else {
        return;
    };
    let _case = Case::of(
        "claude",
        "turn",
        "a refused tool with exit 0 is not complete",
    );
    let made = team.lab.project().join("made");
    team.send(&format!("@@shell touch {}", made.display()));
    let ask = team.ask();
    team.done(&["answer", ask["id"].as_str().unwrap(), "no"]);
    let letters = team.parked();
    assert!(letters.contains("reminded"), "{letters}");
    assert!(!made.exists());
    let inbox = team.json(&["inbox", "--all"]);
    let mut all = inbox.as_array().unwrap().iter();
    assert!(!all.any(|one| one["status"] == "complete"), "{inbox}");
}

#[test]
fn work_goes_from_claude_to_codex_to_claude_and_one_asks_the_human() {
    for mode in ["pane", "turn"] {
        handover(mode);
    }
}

fn handover(mode: &'static str) {
    let config = format!(
        "mesh: team\nentry_point: builder\nagents:\n  \
         - {{name: builder, runtime: claude, mode: {mode}, prompt: You build.}}\n  \
         - {{name: reviewer, runtime: codex, mode: {mode}, prompt: You review.}}\n  \
         - {{name: closer, runtime: claude, mode: turn, prompt: You close.}}\n\
         completion_agents: [closer]\nrouting:\n  \
         builder: {{complete: {{reviewer: review it}}}}\n  \
         reviewer: {{approved: {{closer: close it}}}}\n  \
         closer: {{closed: {{core: done}}}}\n"
    );
    let Some(team) = Team::start(&config) else {
        return;
    };
    let name = "handover claude → codex → claude, one asks the human";
    let _cases = ["claude", "codex"].map(|cli| Case::of(cli, mode, name));
    // The closer is given the reviewer's words, which script it.
    let close = team.writes("closer", "closed");
    let approved =
        format!("---\nfrom: team/reviewer\nstatus: approved\nheadline: approved\n---\n\n{close}\n");
    fs::write(team.lab.path("approved"), approved).unwrap();
    let question =
        "---\nfrom: team/reviewer\nto: core\nheadline: May I?\n---\n\nMay I approve it?\n";
    fs::write(team.lab.path("question"), question).unwrap();
    let copy = |name: &str| {
        let (from, to) = (
            team.lab.path(name),
            team.messages().join(format!("{name}.md")),
        );
        format!("@@shell cp {} {}", from.display(), to.display())
    };
    let file = team.messages().join("builder.md");
    team.send(&format!(
        "@@write {} ---\\nfrom: team/builder\\nstatus: complete\\nheadline: built\\n---\\n\\n{}",
        file.display(),
        copy("question")
    ));
    let ask = team.ask();
    assert_eq!(ask["from"], "team/reviewer", "{ask}");
    let answer = format!("Yes.\n\n{}\n", copy("approved"));
    team.done(&["answer", ask["id"].as_str().unwrap(), &answer]);
    let result = team.result("closed");
    assert_eq!(result["from"], "team/closer", "{result}");
}
