//! A conversation that is summed up: the briefing is still there, and the next outcome is right.

use std::fs;
use std::time::Duration;

use crate::cli::{Cli, each, is_installed, team_in};
use crate::lab::{Lab, wait_for};
use crate::matrix::Case;
use crate::team::Team;

const CASE: &str = "a forced compaction, then the next outcome";

/// How many requests of any kind the model has answered.
fn posts(team: &Team) -> usize {
    let log = fs::read_to_string(team.lab.path("model.jsonl")).unwrap_or_default();
    log.lines().filter(|line| line.contains("\"post\"")).count()
}

/// Two tasks: some refuse to sum up a conversation that is too short.
fn two_tasks(team: &Team, cli: &str) {
    for name in ["first", "second"] {
        let long = "There is nothing more to say about this. ".repeat(500);
        team.give(name, &format!("{long}\n\n{}", team.outcome(cli, name)));
        team.wrote(name);
        team.idle("team/builder");
    }
}

/// A team that has done two tasks in a lab that was prepared for it; `None`: there is no lab, or
/// this CLI is not in it.
fn after_two_tasks(cli @ (name, mode): Cli, prepare: impl Fn(&Lab)) -> Option<(Team, Case)> {
    if !is_installed(name) {
        return None;
    }
    let lab = Lab::open()?;
    prepare(&lab);
    let team = team_in(lab, cli, "prompt: You build.", &[])?;
    let case = Case::of(name, mode, CASE);
    two_tasks(&team, name);
    Some((team, case))
}

/// The third task is done, by one who knows how to work here and not what was said before.
fn third_task(team: &Team, (cli, mode): Cli) {
    team.give("third", &team.outcome(cli, "third"));
    team.wrote("third");
    let last = team.asked(cli).pop().unwrap();
    let knows = last.to_string().contains("How you work with others");
    assert!(knows, "{cli} {mode}: {last}");
    let turns = last["turns"].as_array().unwrap().iter();
    let kept = turns.filter(|turn| turn[0] == "assistant").count();
    // Two of this task, where there were eight; pi keeps the last one before.
    let most = 2 + usize::from(cli == "pi");
    assert!(
        kept <= most,
        "{cli} {mode}: {kept} answers are left: {last}"
    );
    team.result("complete");
}

#[test]
fn after_a_compaction_in_a_pane_the_next_outcome_is_still_right() {
    let clis = [
        ("claude", "pane"),
        ("codex", "pane"),
        ("gemini", "pane"),
        ("opencode", "pane"),
        ("pi", "pane"),
    ];
    each(&clis, |cli @ (name, _)| {
        let prepare = |lab: &Lab| match name {
            // It compresses nothing that is shorter than the summary.
            "gemini" => fs::write(lab.path("tokens"), "50000").unwrap(),
            "pi" => {
                let settings = lab.path("lab/home/.pi/agent/settings.json");
                let pi = r#"{"defaultProvider":"fake","defaultModel":"fake-model","compaction":{"keepRecentTokens":1}}"#;
                fs::write(settings, pi).unwrap();
            }
            _ => {}
        };
        let Some((team, _case)) = after_two_tasks(cli, prepare) else {
            return;
        };
        std::thread::sleep(Duration::from_secs(3));
        let (before, pane) = (posts(&team), team.pane());
        let (command, shows) = match name {
            "gemini" => ("/compress", "compressed"),
            "opencode" => ("/compact", "compaction"),
            _ => ("/compact", "compacted"),
        };
        team.lab.type_into(&pane, command);
        std::thread::sleep(Duration::from_secs(1));
        team.lab.press(&pane, &["Enter"]);
        wait_for("the compaction", || (posts(&team) > before).then_some(()));
        wait_for("its end", || {
            let shown = team.peek().to_lowercase();
            shown.contains(shows).then_some(())
        });
        third_task(&team, cli);
    });
}

#[test]
fn after_a_compaction_between_turns_the_next_outcome_is_still_right() {
    let cli = ("claude", "turn");
    let Some((team, _case)) = after_two_tasks(cli, |_| ()) else {
        return;
    };
    // A person sums it up.
    let session = team.json(&["status"])["workers"][0]["session"].clone();
    let project = team.lab.project();
    let compact = format!(
        "cd '{}' && claude --print --resume {} /compact",
        project.display(),
        session.as_str().unwrap()
    );
    let compacted = team.lab.run(&["sh", "-c", &compact]);
    assert!(compacted.status.success(), "{compacted:?}");
    third_task(&team, cli);
}

#[test]
fn a_codex_that_compacts_by_itself_in_a_turn_gives_the_right_outcome() {
    let cli @ (name, _) = ("codex", "turn");
    let compact_soon = |lab: &Lab| {
        let settings = lab.path("lab/home/.codex/config.toml");
        let known = fs::read_to_string(&settings).unwrap();
        let limit = "model_auto_compact_token_limit = 5000";
        fs::write(settings, format!("{limit}\n{known}")).unwrap();
        // The end of its first task says that the conversation has become long.
        fs::write(lab.path("tokens"), "9000").unwrap();
    };
    let Some((team, _case)) = after_two_tasks(cli, compact_soon) else {
        return;
    };
    fs::write(team.lab.path("tokens"), "9000").unwrap();
    team.give("long", &team.outcome(name, "long"));
    team.wrote("long");
    team.idle("team/builder");
    third_task(&team, cli);
}

#[test]
fn aider_sums_its_history_up_and_still_gives_the_right_outcome() {
    let cli @ (name, _) = ("aider", "turn");
    let Some((team, _case)) = after_two_tasks(cli, |_| ()) else {
        return;
    };
    team.give("third", &team.outcome(name, "third"));
    team.wrote("third");
    let last = team.asked(name).pop().unwrap().to_string();
    for words in ["I spoke to you previously", "How you work with others"] {
        assert!(last.contains(words), "{words}: {last}");
    }
}
