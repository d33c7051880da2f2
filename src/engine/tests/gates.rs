//! Gates of every sort: what they decide, in every order of events.

use serde_json::json;

use super::play::{Play, from, mesh, who};
use crate::engine::gates::{verdict as verdict_of, wrong_with};
use crate::engine::{Effect, Event, Job, JobEnd, JobOwner, JobResult, Phase, Step, Timer};
use crate::model::{Evaluation, GateVerdict, Kind, Rearmatter, RearmatterCheck, Seconds};

const JUDGE: &str = "quality:\n  evaluator: judge\n  checklist: [it works]\n";

fn play(more: &str) -> Play {
    Play::new(&[&mesh("dev", &["a", "judge"], more)])
}

/// `a` has its task, and gives this outcome.
fn outcome(play: &mut Play, id: &str, says: serde_json::Value) -> Vec<Effect> {
    play.drop(from("dev/a").id(id).status("complete").says(says));
    play.idle("dev/a")
}

fn working(more: &str) -> Play {
    let mut play = play(more);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play
}

fn verdict(play: &mut Play, id: &str, says: serde_json::Value) {
    play.drop(from("dev/judge").id(id).status("complete").says(says));
    play.idle("dev/judge");
}

/// The jobs that were asked for last, with their number.
fn jobs(play: &Play) -> (u32, Vec<Job>) {
    let mut asked = play.effects.iter().rev().filter_map(|effect| match effect {
        Effect::RunJobs { job, jobs, .. } => Some((*job, jobs.clone())),
        _ => None,
    });
    asked.next().expect("jobs were asked for")
}

fn ran(play: &mut Play, results: &[JobResult]) -> Vec<Effect> {
    let (job, _) = jobs(play);
    play.happen(Event::JobsFinished {
        owner: JobOwner::Worker(who("dev/a")),
        job,
        results: results.to_vec(),
    })
}

fn code(code: i32, output: &str) -> JobResult {
    JobResult::of(JobEnd::Code(code), output.into())
}

fn core_was_told(play: &Play, what: &str) -> bool {
    play.core_has()
        .iter()
        .any(|headline| headline.contains(what))
}

#[test]
fn an_outcome_below_its_threshold_goes_back_with_the_name_of_the_field() {
    let mut play = working("rearmatter: {thresholds: {confidence: 0.8, grade: B}}\n");
    outcome(&mut play, "o1", json!({"confidence": 0.5}));
    assert_eq!(play.step("o1", "core/core"), Step::Refused);
    let told = play.told("dev/a");
    assert!(
        told.contains("`confidence` is 0.5, and must be 0.8 at least"),
        "{told}"
    );
    assert!(told.contains("`grade` is missing"), "{told}");
    play.take_up("dev/a");
    outcome(&mut play, "o2", json!({"confidence": 0.9, "grade": "A"}));
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    assert_eq!(play.step("o2", "core/core"), Step::Finished);
    let quality = play.facts("o2").quality.unwrap();
    assert_eq!(quality.verdict(), Some(GateVerdict::Pass));
    play.all_over();
}

#[test]
fn other_words_and_a_mesh_without_gates_are_not_checked() {
    let mut play = working("rearmatter: {thresholds: {confidence: 0.8}}\n");
    play.drop(from("dev/a").id("o").status("error"));
    play.idle("dev/a");
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    assert_eq!(play.facts("o").quality, None);
}

#[test]
fn all_gates_report_and_their_findings_go_back_together() {
    let more = "rearmatter: {thresholds: {confidence: 0.8}}\n\
                quality: {command: [{name: lint, run: [lint]}, {name: spell, run: [spell]}]}\n";
    let mut play = working(more);
    outcome(&mut play, "o", json!({"confidence": 0.1}));
    assert_eq!(play.is("dev/a"), Phase::Checking);
    assert_eq!(jobs(&play).1.len(), 2);
    ran(&mut play, &[code(1, "lint says no"), code(0, "")]);
    let told = play.told("dev/a");
    assert!(told.contains("rearmatter: `confidence` is 0.1"), "{told}");
    assert!(told.contains("lint: lint says no"), "{told}");
    assert!(!told.contains("spell"), "{told}");
    let ladder = format!("{:?}", play.facts("o").deliveries);
    assert!(
        ladder.contains("gate spell: pass") && ladder.contains("gate lint: fail"),
        "{ladder}"
    );
}

#[test]
fn halt_goes_on_with_an_error_and_loop_parks_with_the_history() {
    for (on_fail, headline) in [
        ("halt", "gates failed: rearmatter"),
        ("loop", "gates parked work: rearmatter"),
    ] {
        let more = format!(
            "rearmatter: {{thresholds: {{confidence: 0.8}}}}\niteration: {{maxIterations: 1, onFail: {on_fail}}}\n"
        );
        let mut play = working(&more);
        outcome(&mut play, "o1", json!({"confidence": 0.1}));
        play.take_up("dev/a");
        outcome(&mut play, "o2", json!({"confidence": 0.2}));
        let end = play.step("t", "dev/a");
        let told = play.told("core");
        if on_fail == "halt" {
            assert_eq!(end, Step::Finished);
            let error = play
                .system_messages()
                .into_iter()
                .find(|l| l.from == who("dev/a"))
                .unwrap();
            assert_eq!(error.status.as_ref().unwrap().as_str(), "error");
            assert!(error.headline.starts_with(headline), "{}", error.headline);
            assert!(error.body.contains("Round 2"), "{}", error.body);
        } else {
            assert_eq!(end, Step::Parked);
            assert!(core_was_told(&play, headline), "{:?}", play.core_has());
            assert!(
                told.contains("Round 1") && told.contains("is 0.2"),
                "{told}"
            );
        }
        play.all_over();
    }
}

#[test]
fn a_gate_that_crashes_is_run_again_alone_and_then_blocks_unless_it_may_pass() {
    for (rule, end) in [("block", Step::Parked), ("pass", Step::Finished)] {
        let more = format!(
            "quality: {{gate_error: {rule}, command: [{{name: x, run: [x]}}, {{name: y, run: [y]}}]}}\n"
        );
        let mut play = working(&more);
        outcome(&mut play, "o", json!({}));
        let failed = || JobResult::failed("no such program".into());
        ran(&mut play, &[code(0, ""), failed()]);
        if rule == "block" {
            assert_eq!(jobs(&play).1.len(), 1, "x has passed");
            ran(&mut play, &[failed()]);
            assert_eq!(play.is("dev/a"), Phase::Checking);
            ran(&mut play, &[failed()]);
        }
        assert_eq!(play.step("t", "dev/a"), end, "{rule}");
    }
}

#[test]
fn gates_that_a_reload_takes_away_while_they_cannot_tell_keep_nothing() {
    for is_late in [false, true] {
        let mut play = working("quality: {command: {name: x, run: [x]}}\n");
        if is_late {
            play.park("dev/a");
            play.drop(from("dev/a").id("o").status("complete"));
        } else {
            outcome(&mut play, "o", json!({}));
        }
        play.load(&mesh("dev", &["a", "judge"], ""), false);
        ran(&mut play, &[JobResult::failed("x crashed".into())]);
        assert_eq!(play.step("t", "dev/a"), Step::Finished, "late: {is_late}");
        assert_eq!(play.step("o", "core/core"), Step::Finished);
    }
}

#[test]
fn a_late_outcome_passes_the_gates_like_any_other() {
    let mut play = working("quality: {command: {name: x, run: [x]}}\n");
    play.park("dev/a");
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    play.drop(from("dev/a").id("o1").status("complete"));
    assert_eq!(play.step("t", "dev/a"), Step::Parked, "not checked yet");
    ran(&mut play, &[code(1, "no")]);
    assert_eq!(play.step("o1", "core/core"), Step::Refused);
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(core_was_told(&play, "a late outcome failed its gates"));
    play.drop(from("dev/a").id("o2").status("complete"));
    let (job, _) = jobs(&play);
    let again = play.restart(&[]);
    let is_same =
        |effect: &Effect| matches!(effect, Effect::RunJobs { job: known, .. } if *known == job);
    assert!(
        again.iter().any(is_same),
        "a restart asks for the same jobs"
    );
    ran(&mut play, &[code(0, "")]);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    assert_eq!(play.step("o2", "core/core"), Step::Finished);
}

#[test]
fn a_late_check_that_hangs_is_given_up_and_the_outcome_parked() {
    let mut play = working("quality: {command: {name: x, run: [x]}}\n");
    play.park("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    for _ in 0..3 {
        play.until(|timer| matches!(timer, Timer::Check(..)));
    }
    assert_eq!(play.step("o", "core/core"), Step::Parked);
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
}

#[test]
fn a_late_outcome_does_not_finish_what_a_person_has_retried_meanwhile() {
    let mut play = working("quality: {command: {name: x, run: [x]}}\n");
    play.park("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.retry("t", from("core/core").to("dev/a").id("t"));
    ran(&mut play, &[code(0, "")]);
    assert_ne!(play.step("t", "dev/a"), Step::Finished);
    play.take_up("dev/a");
    outcome(&mut play, "o2", json!({}));
    ran(&mut play, &[code(0, "")]);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
}

#[test]
fn the_outcome_of_an_evaluator_is_its_verdict_and_goes_nowhere_else() {
    let mut play = working(JUDGE);
    outcome(&mut play, "o1", json!({}));
    assert_eq!(play.is("dev/a"), Phase::Checking);
    play.take_up("dev/judge");
    assert_eq!(
        play.given("dev/judge"),
        ["judge the work of dev/a: quality:checklist"]
    );
    verdict(
        &mut play,
        "v1",
        json!({"verdict": "fail", "score": 0.2, "findings": ["no tests", "no docs"]}),
    );
    assert!(!play.core_has().contains(&"v1".to_owned()));
    assert_eq!(play.step("o1", "core/core"), Step::Refused);
    let told = play.told("dev/a");
    assert!(told.contains("- no tests\n- no docs"), "{told}");
    play.take_up("dev/a");
    outcome(&mut play, "o2", json!({}));
    play.take_up("dev/judge");
    verdict(&mut play, "v2", json!({"verdict": "pass", "score": 0.9}));
    assert_eq!(play.step("o2", "core/core"), Step::Finished);
    let report = &play.facts("o2").quality.unwrap().reports[0];
    assert_eq!(
        (report.verdict, report.score),
        (GateVerdict::Pass, Some(0.9))
    );
    play.all_over();
}

#[test]
fn an_evaluator_without_a_verdict_is_reminded_once_then_its_gate_cannot_tell() {
    let mut play = working(JUDGE);
    outcome(&mut play, "o", json!({}));
    play.take_up("dev/judge");
    verdict(&mut play, "v1", json!({"verdict": "maybe"}));
    assert!(play.told("dev/judge").contains("`verdict` is maybe"));
    play.take_up("dev/judge");
    verdict(&mut play, "v2", json!({}));
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(
        play.told("core").contains("cannot tell"),
        "{}",
        play.told("core")
    );
    play.all_over();
}

#[test]
fn an_evaluator_that_is_blocked_reaches_the_human_whatever_its_table_says() {
    let more = format!(
        "{JUDGE}routing: {{judge: {{blocked: {{a: ask it}}, complete: {{core: done}}}}}}\n"
    );
    let mut play = working(&more);
    outcome(&mut play, "o", json!({}));
    play.take_up("dev/judge");
    play.drop(from("dev/judge").id("help").status("blocked"));
    play.idle("dev/judge");
    assert_eq!(play.kind("help", "core/core"), Kind::AskHuman);
    assert_eq!(play.is("dev/judge"), Phase::AwaitingHuman);
    play.drop(from("core/core").to("dev/judge").id("r").reply("help"));
    play.take_up("dev/judge");
    verdict(&mut play, "v", json!({"verdict": "pass"}));
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    play.all_over();
}

#[test]
fn an_evaluator_that_never_answers_or_is_removed_cannot_tell() {
    let mut play = working(JUDGE);
    outcome(&mut play, "o", json!({}));
    play.take_up("dev/judge");
    play.park("dev/judge");
    assert_eq!(play.step("t", "dev/a"), Step::Parked, "it never answered");
    play.all_over();
    let mut play = working(JUDGE);
    play.task("dev/judge", "other");
    outcome(&mut play, "o", json!({}));
    let more = "quality: {command: {name: x, run: [x]}}\n";
    play.load(&mesh("dev", &["a"], more), false);
    assert_eq!(play.step("t", "dev/a"), Step::Parked, "it was removed");
}

#[test]
fn the_first_verdict_counts_and_an_evaluator_is_not_graded_for_it() {
    let more = format!("{JUDGE}rearmatter: {{thresholds: {{confidence: 0.5}}}}\n");
    let mut play = working(&more);
    outcome(&mut play, "o", json!({"confidence": 0.9}));
    play.take_up("dev/judge");
    play.drop(
        from("dev/judge")
            .id("v1")
            .status("complete")
            .says(json!({"verdict": "pass"})),
    );
    verdict(&mut play, "v2", json!({"verdict": "fail"}));
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    play.task("dev/judge", "own");
    play.take_up("dev/judge");
    verdict(&mut play, "w", json!({"confidence": 0.1}));
    assert_eq!(
        play.step("w", "core/core"),
        Step::Refused,
        "its own work is graded"
    );
}

#[test]
fn an_evaluation_is_no_part_of_a_batch() {
    let judge = "judge prompt: p, runtime: claude, mode: pane, batch: true";
    for evaluation_first in [true, false] {
        let mut play = Play::new(&[&mesh("dev", &["a", judge], JUDGE)]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.task("dev/judge", "first");
        play.take_up("dev/judge");
        if evaluation_first {
            outcome(&mut play, "o", json!({}));
        }
        play.task("dev/judge", "own");
        if !evaluation_first {
            outcome(&mut play, "o", json!({}));
        }
        play.finish("dev/judge", "f");
        play.take_up("dev/judge");
        let given = play.given("dev/judge");
        assert_eq!(given.len(), 1, "{given:?}");
        assert_eq!(given[0] == "own", !evaluation_first, "{given:?}");
    }
}

#[test]
fn a_round_ends_with_its_last_report_whatever_comes_first() {
    for jobs_first in [true, false] {
        let mut play = working(&format!("{JUDGE}  command: {{name: x, run: [x]}}\n"));
        outcome(&mut play, "o", json!({}));
        let judged = |play: &mut Play| {
            play.take_up("dev/judge");
            verdict(play, "v", json!({"verdict": "pass"}));
        };
        if jobs_first {
            ran(&mut play, &[code(0, "")]);
        } else {
            judged(&mut play);
        }
        assert_eq!(play.is("dev/a"), Phase::Checking);
        if jobs_first {
            judged(&mut play);
        } else {
            ran(&mut play, &[code(0, "")]);
        }
        assert_eq!(play.step("o", "core/core"), Step::Finished, "{jobs_first}");
    }
}

#[test]
fn an_evaluation_that_nobody_needs_any_more_is_withdrawn_or_counts_for_nothing() {
    let mut play = working(JUDGE);
    outcome(&mut play, "o", json!({}));
    // An edit of the outcome begins a new round.
    play.take_up("dev/judge");
    play.drop(from("dev/a").id("o2").status("complete"));
    assert_eq!(play.is("dev/a"), Phase::Checking);
    verdict(&mut play, "old", json!({"verdict": "fail"}));
    assert_eq!(
        play.is("dev/a"),
        Phase::Checking,
        "it speaks of the first round"
    );
    play.take_up("dev/judge");
    verdict(&mut play, "v", json!({"verdict": "pass"}));
    play.take_up("dev/judge");
    verdict(&mut play, "v2", json!({"verdict": "pass"}));
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.all_over();
}

#[test]
fn claims_become_jobs_and_what_is_not_so_goes_back() {
    let more = "quality: {evidence: required, checks: {tests: [cargo, test]}}\n";
    let mut play = working(more);
    outcome(&mut play, "o1", json!({}));
    assert!(play.told("dev/a").contains("`evidence` is missing"));
    play.take_up("dev/a");
    let claims = json!({"evidence": [
        {"file": "src/x.rs"}, {"commit": "ABC123"}, {"check": "tests", "exit": 0},
        {"check": "rm -rf"}, {"commit": "$(id)"}, {"mood": "good"},
    ]});
    outcome(&mut play, "o2", claims);
    let (_, asked) = jobs(&play);
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(matches!(&asked[0], Job::File { path, .. } if path == "src/x.rs"));
    assert!(matches!(&asked[1], Job::Commit { commit } if commit == "abc123"));
    assert!(matches!(&asked[2], Job::Gate { program, .. } if program.run == ["cargo", "test"]));
    ran(
        &mut play,
        &[
            code(1, "src/x.rs does not exist"),
            code(0, ""),
            code(101, "2 failed"),
        ],
    );
    let told = play.told("dev/a");
    for part in [
        "src/x.rs does not exist",
        "it exits with 101, not 0",
        "check rm -rf",
        "no commit hash",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn sources_are_counted() {
    let more = "quality: {accuracy: {sources: 2, first_party: 0.5, verified: true}}\n";
    let mut play = working(more);
    outcome(&mut play, "o1", json!({"sources": [{"url": "a"}]}));
    let told = play.told("dev/a");
    for part in [
        "there are 1 sources",
        "0 of 1 sources are first-party",
        "a is not verified",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    play.take_up("dev/a");
    let first = json!({"url": "b", "type": "first-party", "verified": true});
    outcome(
        &mut play,
        "o2",
        json!({"sources": [first, {"url": "c", "verified": true}]}),
    );
    assert_eq!(play.step("o2", "core/core"), Step::Finished);
}

#[test]
fn an_outcome_that_names_parked_work_too_finishes_that_when_it_has_passed() {
    for passes in [true, false] {
        let mut play = play("quality: {command: [check]}\n");
        play.task("dev/a", "old");
        play.take_up("dev/a");
        play.park("dev/a");
        assert_eq!(play.step("old", "dev/a"), Step::Parked);
        play.task("dev/a", "new");
        play.take_up("dev/a");
        let both = from("dev/a").id("o").status("complete");
        play.drop(both.reply("new").reply("old"));
        play.idle("dev/a");
        assert_eq!(play.step("old", "dev/a"), Step::Parked);
        ran(&mut play, &[code(i32::from(!passes), "no")]);
        let expected = if passes { Step::Finished } else { Step::Parked };
        assert_eq!(play.step("old", "dev/a"), expected);
    }
}

#[test]
fn a_rearmatter_is_held_against_each_rule() {
    let rules = |more: serde_json::Value| -> RearmatterCheck {
        let mut rules = json!({"required": false, "fields": [], "thresholds": {}});
        let rules_ = rules.as_object_mut().unwrap();
        rules_.extend(more.as_object().unwrap().clone());
        serde_json::from_value(rules).unwrap()
    };
    let least = |least: serde_json::Value| rules(json!({"thresholds": {"x": least}}));
    for (check, said, wrong) in [
        (rules(json!({"required": true})), json!({}), 1),
        (rules(json!({"required": true})), json!({"y": 1}), 0),
        (rules(json!({})), json!({}), 0),
        (rules(json!({"fields": ["x"]})), json!({}), 1),
        (rules(json!({"fields": ["x"]})), json!({"x": 1}), 0),
        // What must be there and is not is said once.
        (
            rules(json!({"fields": ["x"], "thresholds": {"x": 1}})),
            json!({}),
            1,
        ),
        (least(json!(0.5)), json!({}), 1),
        (least(json!(0.5)), json!({"x": 0.4}), 1),
        (least(json!(0.5)), json!({"x": 0.5}), 0),
        (least(json!("B")), json!({"x": "C"}), 1),
        (least(json!("B")), json!({"x": "B"}), 0),
        (least(json!("B")), json!({"x": "A"}), 0),
        (least(json!("good")), json!({"x": "good"}), 0),
        (least(json!("good")), json!({"x": "bad"}), 1),
        (least(json!("B")), json!({"x": 1}), 1),
    ] {
        let said: Rearmatter = serde_json::from_value(said).unwrap();
        let found = wrong_with(&check, &said);
        assert_eq!(found.len(), wrong, "{check:?}, {said:?}: {found:?}");
    }
}

#[test]
fn a_passing_verdict_needs_its_score() {
    let rules = |min_score| Evaluation {
        evaluator: "judge".parse().unwrap(),
        instructions: String::new(),
        min_score,
        timeout: Seconds(1),
    };
    let found = |least, said: serde_json::Value| {
        let said: Rearmatter = serde_json::from_value(said).unwrap();
        verdict_of("g", Some(&rules(least)), &said).unwrap().verdict
    };
    for (least, said, expected) in [
        (None, json!({"verdict": "pass"}), GateVerdict::Pass),
        (Some(0.5), json!({"verdict": "pass"}), GateVerdict::Fail),
        (
            Some(0.5),
            json!({"verdict": "pass", "score": 0.4}),
            GateVerdict::Fail,
        ),
        (
            Some(0.5),
            json!({"verdict": "pass", "score": 0.5}),
            GateVerdict::Pass,
        ),
        (
            Some(0.5),
            json!({"verdict": "pass", "score": 0.6}),
            GateVerdict::Pass,
        ),
        (
            Some(0.5),
            json!({"verdict": "fail", "score": 0.6}),
            GateVerdict::Fail,
        ),
    ] {
        assert_eq!(found(least, said.clone()), expected, "{least:?}, {said}");
    }
}

#[test]
fn a_gate_of_one_agent_checks_nobody_else() {
    let mut play = Play::new(&[]);
    play.load_with(&mesh("dev", &["a", "b"], ""), true, |mesh| {
        mesh.gates[0].agent = Some("b".parse().unwrap());
    });
    for (agent, phase) in [("dev/a", Phase::Idle), ("dev/b", Phase::Checking)] {
        play.task(agent, &agent.replace('/', "-"));
        play.take_up(agent);
        play.finish(agent, &agent.replace("dev/", "o"));
        assert_eq!(play.is(agent), phase, "{agent}");
    }
}

#[test]
fn an_outcome_does_not_finish_what_it_names_and_a_person_has_retried_meanwhile() {
    let mut play = play("quality: {command: [check]}\n");
    play.task("dev/a", "old");
    play.take_up("dev/a");
    play.park("dev/a");
    play.task("dev/a", "other");
    play.take_up("dev/a");
    play.park("dev/a");
    play.task("dev/a", "new");
    play.take_up("dev/a");
    let all = from("dev/a").id("o").status("complete");
    play.drop(all.reply("new").reply("old").reply("other"));
    play.idle("dev/a");
    play.retry("old", from("core/core").to("dev/a").id("old"));
    ran(&mut play, &[code(0, "")]);
    assert_eq!(play.step("new", "dev/a"), Step::Finished);
    assert_eq!(play.step("other", "dev/a"), Step::Finished);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["old"]);
}
