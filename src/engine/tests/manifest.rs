//! The files of the manifest: what work has to leave, and what follows when it does not.

use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Effect, Job, Phase, Step};

const FILES: &str = "entry_point: a
workspace: { path: 'out/{task-id}' }
routing: { a: { complete: b }, b: { complete: core } }
manifest:
  - { id: plan.md, writes: [a], reads: [b] }
  - { id: rules.md, location: docs/rules.md, writes: [a], persistent: true }
";

fn stage(rules: &str) -> Play {
    let more = format!("{FILES}manifest_enforcement: {{ {rules} }}\n");
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], &more)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play
}

/// The jobs that were asked for last.
fn jobs(play: &Play) -> Vec<Job> {
    let mut asked = play.effects.iter().filter_map(|effect| match effect {
        Effect::RunJobs { jobs, .. } => Some(jobs.clone()),
        _ => None,
    });
    asked.next_back().unwrap_or_default()
}

/// Both files are looked at: the first is missing, or nothing is.
fn look(play: &mut Play, missing: bool) {
    let worker = who("dev/a");
    let job = play
        .state
        .worker(&worker)
        .unwrap()
        .status
        .work()
        .unwrap()
        .job;
    let found = match missing {
        true => Verdict::Fail {
            findings: "out/t/plan.md does not exist".into(),
        },
        false => Verdict::Pass,
    };
    play.jobs_finished_with(worker, job, vec![found, Verdict::Pass]);
}

#[test]
fn what_work_leaves_is_looked_at_and_must_be_new_unless_it_is_kept() {
    let mut play = stage("strict: true");
    play.finish("dev/a", "r");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    let began = play.facts("t").at;
    let file = |path: &str, since| Job::File {
        path: path.into(),
        since,
        not_empty: true,
    };
    let expected = [file("$workspace/plan.md", began), file("docs/rules.md", 0)];
    assert_eq!(jobs(&play), expected);
    look(&mut play, false);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.take_up("dev/b");
    play.finish("dev/b", "end");
    play.all_over();
}

#[test]
fn a_strict_manifest_sends_work_back_and_parks_it_in_the_end() {
    let mut play = stage("strict: true, max_retry: 2");
    for (round, id) in ["r1", "r2", "r3"].iter().enumerate() {
        play.finish("dev/a", id);
        look(&mut play, true);
        assert_eq!(play.step(id, "dev/b"), Step::Refused);
        if round < 2 {
            assert!(play.told("dev/a").contains("plan.md does not exist"));
            play.take_up("dev/a");
        }
    }
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(play.told("core/core").contains("plan.md does not exist"));
    // An outcome that comes late has to leave the files too.
    play.drop(from("dev/a").id("late").status("complete"));
    let worker = who("dev/a");
    let job = play.state.worker(&worker).unwrap().late[0].job;
    play.jobs_finished_with(worker, job, vec![Verdict::Pass, Verdict::Pass]);
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["late"]);
}

#[test]
fn without_strict_the_author_is_told_and_the_outcome_goes_on() {
    let mut play = stage("strict: false");
    play.finish("dev/a", "r");
    look(&mut play, true);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    assert!(
        play.told("dev/a")
            .contains("file plan.md: out/t/plan.md does not exist")
    );
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["r"]);
    let mut play = stage("strict: false");
    play.finish("dev/a", "r");
    let worker = who("dev/a");
    let job = play
        .state
        .worker(&worker)
        .unwrap()
        .status
        .work()
        .unwrap()
        .job;
    let why = "it cannot be read".into();
    play.jobs_finished_with(worker, job, vec![Verdict::Error { why }, Verdict::Pass]);
    assert_eq!(play.step("t", "dev/a"), Step::Finished, "nobody can tell");
}

#[test]
fn nothing_is_looked_at_where_nothing_is_asked_for() {
    for rules in ["post_validation: false, strict: true", "warning: false"] {
        let mut play = stage(rules);
        play.finish("dev/a", "r");
        assert_eq!(play.step("t", "dev/a"), Step::Finished, "{rules}");
    }
    for word in ["error", "blocked"] {
        let mut play = stage("strict: true");
        play.drop(from("dev/a").id("r").status(word));
        play.idle("dev/a");
        assert_eq!(jobs(&play), [], "{word} leaves no files");
    }
}

#[test]
fn who_has_finished_in_a_run_is_known_until_it_is_over() {
    let mut play = stage("post_validation: false");
    let run = play.facts("t").run.unwrap();
    let finished = |play: &Play| {
        let names = play.state.finished_in(run, &"dev".parse().unwrap());
        names.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(finished(&play), [""; 0]);
    play.finish("dev/a", "r");
    assert_eq!(finished(&play), ["a"]);
    play.take_up("dev/b");
    play.drop(from("dev/b").id("e").status("error"));
    assert_eq!(finished(&play), ["a"], "an error is no finish");
    play.idle("dev/b");
    play.all_over();
}
