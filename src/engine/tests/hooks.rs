//! Hooks: before an agent's first turn in a run, after work, and when a run is complete.

use super::play::{Msg, Play, from, mesh, who};
use crate::engine::{
    Effect, Event, GitJob, Job, JobEnd, JobOwner, JobPlace, JobResult, MessageNo, Phase, Step,
    Timer,
};
use crate::model::Kind;

const WORKTREE: &str = "worktree: true\n";
const COMMIT: &str = "lifecycle: {post: ['commit:auto', 'command:note it']}\n";
const CLEANUP: &str = "worktree: true\nlifecycle: {post: ['worktree:cleanup']}\n";

fn play(more: &str) -> Play {
    Play::new(&[&mesh("dev", &["a", "b"], more)])
}

/// A task whose worktree is made.
fn prepared() -> Play {
    let mut play = play(WORKTREE);
    play.task("dev/a", "t");
    ran(&mut play, &[done()]);
    play
}

/// Jobs that were asked for.
struct AskedJobs {
    owner: JobOwner,
    job: u32,
    place: JobPlace,
    jobs: Vec<Job>,
    until_failure: bool,
}

fn all_asked(play: &Play) -> Vec<AskedJobs> {
    let asked = play.effects.iter().filter_map(|effect| match effect {
        Effect::RunJobs {
            owner,
            job,
            place,
            jobs,
            until_failure,
            ..
        } => Some(AskedJobs {
            owner: owner.clone(),
            job: *job,
            place: place.clone(),
            jobs: jobs.clone(),
            until_failure: *until_failure,
        }),
        _ => None,
    });
    asked.collect()
}

fn asked(play: &Play) -> AskedJobs {
    all_asked(play).pop().expect("jobs were asked for")
}

/// The jobs that were asked for last end so.
fn ran(play: &mut Play, results: &[JobResult]) -> Vec<Effect> {
    let AskedJobs { owner, job, .. } = asked(play);
    let results = results.to_vec();
    play.happen(Event::JobsFinished {
        owner,
        job,
        results,
    })
}

fn code(code: i32, output: &str) -> JobResult {
    JobResult::of(JobEnd::Code(code), output.into())
}

fn done() -> JobResult {
    code(0, "")
}

fn core_was_told(play: &Play, what: &str) -> bool {
    play.core_has().iter().any(|said| said.contains(what))
}

#[test]
fn a_worktree_is_made_before_the_first_turn_of_each_agent_in_a_run_and_once() {
    let mut play = play(WORKTREE);
    play.drop(from("core/core").to("dev/a").id("Fix_it.1"));
    assert_eq!(play.is("dev/a"), Phase::Checking);
    assert!(
        !play
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Spawn { .. }))
    );
    let first = asked(&play);
    assert_eq!(first.jobs, [Job::Git(GitJob::Create)]);
    assert!(first.until_failure);
    assert_eq!(first.place.feature.unwrap().as_str(), "fix-it-1");
    ran(&mut play, &[done()]);
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.take_up("dev/a");
    // An ask of the same run: its recipient has not had a turn in it.
    play.drop(from("dev/a").to("dev/b").id("q"));
    assert_eq!(play.is("dev/b"), Phase::Checking);
    ran(&mut play, &[done()]);
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r").reply("q"));
    play.idle("dev/b");
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(all_asked(&play).len(), 2);
    assert!(
        play.ladder("Fix_it.1", "dev/a")
            .contains("queued queued leased")
    );
}

#[test]
fn a_failing_pre_is_a_failed_start_and_says_why() {
    let mut play = play(WORKTREE);
    play.task("dev/a", "t");
    for attempt in 1..=3 {
        assert_eq!(play.is("dev/a"), Phase::Checking, "{attempt}");
        ran(&mut play, &[code(1, "the repository has no commit yet")]);
        if attempt < 3 {
            assert_eq!(play.is("dev/a"), Phase::Backoff);
            play.until(|timer| matches!(timer, Timer::State(_)));
        }
    }
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(core_was_told(&play, "work was parked"));
    let told = play.told("core");
    let why = "worktree:create failed: the repository has no commit yet";
    assert!(told.contains(why), "{told}");
    assert_eq!(all_asked(&play).len(), 3);
    play.all_over();
}

#[test]
fn work_that_is_done_while_it_is_prepared_again_is_finished_and_not_queued_again() {
    let mut play = prepared();
    play.die("dev/a");
    play.until(|timer| matches!(timer, Timer::State(_)));
    assert_eq!(play.is("dev/a"), Phase::Checking);
    // It had its work after all, and what it wrote is noticed now.
    play.drop(from("dev/a").id("o").status("complete").reply("t"));
    ran(&mut play, &[done()]);
    assert_eq!(
        play.ladder("t", "dev/a"),
        "accepted queued queued leased finished"
    );
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    play.all_over();
}

#[test]
fn work_whose_start_failed_is_not_queued_again_when_it_is_prepared_again() {
    let mut play = prepared();
    play.die("dev/a");
    play.until(|timer| matches!(timer, Timer::State(_)));
    ran(&mut play, &[done()]);
    let ladder = play.ladder("t", "dev/a");
    assert_eq!(ladder, "accepted queued queued leased leased");
}

#[test]
fn a_pre_that_a_reload_brings_does_not_run_in_the_middle_of_work() {
    let mut play = play("");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.load(
        &mesh(
            "dev",
            &["a", "b"],
            "lifecycle: {pre: ['command:note it']}\n",
        ),
        false,
    );
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Starting, "it is reminded at once");
    assert!(all_asked(&play).is_empty());
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.task("dev/a", "t2");
    assert_eq!(asked(&play).jobs.len(), 1, "the next run has it");
}

#[test]
fn a_start_that_fails_has_its_worktree_made_again() {
    let mut play = prepared();
    play.die("dev/a");
    play.until(|timer| matches!(timer, Timer::State(_)));
    assert_eq!(play.is("dev/a"), Phase::Checking);
    assert_eq!(all_asked(&play).len(), 2);
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.step("o", "core/core"), Step::Finished);
}

#[test]
fn two_features_have_two_processes_and_a_process_works_for_one() {
    let mut play = play(WORKTREE);
    let task = |id: &str, feature: &str| {
        let feature = feature.parse().unwrap();
        let msg = from("core/core").to("dev/a").id(id);
        msg.with(|envelope| envelope.feature = Some(feature))
    };
    play.drop(task("t1", "login"));
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.drop(task("t2", "logout"));
    play.finish("dev/a", "o1");
    // The process of the first feature is ended before the second is begun.
    assert_eq!(play.is("dev/a"), Phase::Stopping);
    assert_eq!(play.kills("dev/a"), 1);
    play.die("dev/a");
    play.until(|timer| matches!(timer, Timer::State(_)));
    assert_eq!(asked(&play).place.feature.unwrap().as_str(), "logout");
}

#[test]
fn outcomes_wait_for_what_is_done_after_the_work() {
    let mut play = play(COMMIT);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    assert_eq!(play.step("o", "core/core"), Step::Accepted);
    let asked = asked(&play);
    let outcome = play.facts("o").number;
    assert_eq!(asked.jobs[0], Job::Git(GitJob::Commit { outcome }));
    assert_eq!((asked.jobs.len(), asked.until_failure), (2, false));
    ran(&mut play, &[done(), done()]);
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn a_failing_post_is_told_and_undoes_nothing() {
    let mut play = play(COMMIT);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    ran(&mut play, &[code(1, "a merge is under way"), done()]);
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    assert!(core_was_told(&play, "commit:auto failed"));
    assert!(!core_was_told(&play, "command:note it failed"));
    play.all_over();
}

#[test]
fn work_that_failed_and_answers_have_no_hooks() {
    let mut play = play(COMMIT);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r").reply("q"));
    play.idle("dev/b");
    assert_eq!(play.is("dev/b"), Phase::Idle);
    play.idle("dev/a");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("error"));
    play.idle("dev/a");
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    assert_eq!(all_asked(&play).len(), 0);
}

#[test]
fn what_comes_while_hooks_run_passes_the_gates_first() {
    let more = format!("{COMMIT}rearmatter: {{thresholds: {{confidence: 0.8}}}}\n");
    let mut play = play(&more);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let says = serde_json::json!({"confidence": 0.9});
    play.drop(from("dev/a").id("o1").status("complete").says(says));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    play.drop(from("dev/a").id("o2").status("complete"));
    assert_eq!(all_asked(&play).len(), 1);
    ran(&mut play, &[done(), done()]);
    // The second has no confidence: both go back.
    assert_eq!(play.step("o2", "core/core"), Step::Refused);
    assert_eq!(play.step("o1", "core/core"), Step::Refused);
    assert_eq!(play.is("dev/a"), Phase::Starting);
}

#[test]
fn hooks_are_asked_for_again_by_their_number_after_a_restart() {
    for more in [WORKTREE, COMMIT] {
        let mut play = play(more);
        play.task("dev/a", "t");
        let is_after = more == COMMIT;
        if is_after {
            play.take_up("dev/a");
            play.finish("dev/a", "o");
        }
        let before = asked(&play);
        let turn = play.turn("dev/a");
        let alive = [("dev/a", turn)];
        play.restart(if is_after { &alive } else { &[] });
        let again = asked(&play);
        assert_eq!((again.job, &again.jobs), (before.job, &before.jobs));
        assert_eq!(again.until_failure, before.until_failure);
        assert_eq!(all_asked(&play).len(), 2);
        let results: Vec<JobResult> = again.jobs.iter().map(|_| done()).collect();
        ran(&mut play, &results);
        let expected = if is_after {
            Phase::Idle
        } else {
            Phase::Starting
        };
        assert_eq!(play.is("dev/a"), expected);
        // Told twice, it counts once.
        ran(&mut play, &results);
        assert_eq!(play.is("dev/a"), expected);
    }
}

fn edited() -> Msg {
    from("core/core").to("dev/a").id("t").path("t.md")
}

#[test]
fn a_task_may_be_edited_until_its_hooks_have_run() {
    let mut play = play(WORKTREE);
    play.drop(edited());
    let first = asked(&play);
    play.drop(edited().text("better"));
    assert_eq!(play.state.counts().refused, 0);
    assert_eq!(play.is("dev/a"), Phase::Checking);
    let second = asked(&play);
    assert!(second.job > first.job, "the hooks run again");
    // What is known of the first ones comes late.
    let AskedJobs { owner, job, .. } = first;
    let results = vec![code(1, "it was ended")];
    play.happen(Event::JobsFinished {
        owner,
        job,
        results,
    });
    assert_eq!(play.is("dev/a"), Phase::Checking);
    ran(&mut play, &[done()]);
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.drop(edited().text("too late"));
    assert_eq!(play.state.counts().refused, 1);
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn hooks_that_have_run_stay_valid_when_a_task_is_edited_and_criteria_are_asked_for_again() {
    let more = format!("{WORKTREE}quality: {{evaluator: judge, preflight: true}}\n");
    let criteria = |id: &str, says: &str| {
        let says = serde_json::json!({ "criteria": says });
        from("dev/judge").id(id).status("complete").says(says)
    };
    for judge_has_begun in [false, true] {
        let mut play = Play::new(&[&mesh("dev", &["a", "judge"], &more)]);
        if !judge_has_begun {
            play.stop("dev/judge");
        }
        play.drop(edited());
        ran(&mut play, &[done()]);
        assert_eq!(play.is("dev/a"), Phase::Checking);
        if judge_has_begun {
            // It works in the worktree too.
            ran(&mut play, &[done()]);
            play.take_up("dev/judge");
        }
        let jobs = all_asked(&play).len();
        play.drop(edited().text("better"));
        assert_eq!(play.state.counts().refused, 0);
        assert_eq!(all_asked(&play).len(), jobs, "nothing is prepared again");
        if judge_has_begun {
            play.drop(criteria("c1", "of the old text"));
            play.idle("dev/judge");
        } else {
            play.restart_worker("dev/judge");
            ran(&mut play, &[done()]);
        }
        assert_eq!(play.is("dev/a"), Phase::Checking, "of the new text");
        play.take_up("dev/judge");
        play.drop(criteria("c2", "of the new text"));
        play.idle("dev/judge");
        assert_eq!(play.is("dev/a"), Phase::Starting);
        let kept = play.facts("t").criteria.unwrap();
        assert_eq!(kept, "of the new text");
        play.take_up("dev/a");
        play.finish("dev/a", "o");
        assert!(play.is_complete());
        play.all_over();
    }
}

#[test]
fn an_edit_while_hooks_run_may_change_recipient_and_feature() {
    let mut play = play(WORKTREE);
    play.drop(edited());
    play.drop(edited().to("dev/b"));
    assert_eq!(
        (play.is("dev/a"), play.is("dev/b")),
        (Phase::Idle, Phase::Checking)
    );
    ran(&mut play, &[done()]);
    play.take_up("dev/b");
    play.finish("dev/b", "o");
    play.all_over();

    let mut play = self::play(WORKTREE);
    play.drop(edited());
    let feature = "login".parse().unwrap();
    play.drop(edited().with(|envelope| envelope.feature = Some(feature)));
    assert_eq!(asked(&play).place.feature.unwrap().as_str(), "login");
    ran(&mut play, &[done()]);
    assert_eq!(play.is("dev/a"), Phase::Starting);
}

#[test]
fn a_task_may_be_edited_while_its_failed_hooks_wait_for_another_attempt() {
    let mut play = play(WORKTREE);
    play.drop(edited());
    ran(&mut play, &[code(1, "no")]);
    assert_eq!(play.is("dev/a"), Phase::Backoff);
    play.drop(edited().text("better"));
    assert_eq!(play.state.counts().refused, 0);
    assert_eq!(play.is("dev/a"), Phase::Backoff);
    play.until(|timer| matches!(timer, Timer::State(_)));
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.all_over();
}

#[test]
fn an_edit_of_a_batch_that_waits_for_its_hooks_leaves_the_rest_and_the_order() {
    let mesh = "mesh: dev\nworktree: true\nagents: [{name: a, prompt: x, batch: true}]\n";
    let mut play = Play::new(&[mesh]);
    let task = |id: &str| {
        let feature = "login".parse().unwrap();
        let path = format!("{id}.md");
        let msg = from("core/core").to("dev/a").id(id).path(&path);
        msg.with(|envelope| envelope.feature = Some(feature))
    };
    play.stop("dev/a");
    play.drop(task("t1"));
    play.drop(task("t2"));
    play.restart_worker("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    play.drop(task("t1").text("better"));
    assert_eq!(play.state.counts().refused, 0);
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t1", "t2"]);
    play.finish("dev/a", "o");
    play.all_over();
}

#[test]
fn hooks_that_take_too_long_have_failed() {
    let mut play = play(WORKTREE);
    play.task("dev/a", "t");
    play.until(|timer| matches!(timer, Timer::State(_)));
    assert_eq!(play.is("dev/a"), Phase::Backoff);
    let mut play = self::play(COMMIT);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.until(|timer| matches!(timer, Timer::State(_)));
    assert_eq!(play.step("o", "core/core"), Step::Finished);
    assert!(core_was_told(&play, "commit:auto failed"));
}

fn run_of(play: &Play, id: &str) -> MessageNo {
    play.facts(id).run.unwrap()
}

#[test]
fn a_worktree_is_taken_away_when_nobody_is_in_it_any_more() {
    let mut play = play(CLEANUP);
    play.task("dev/a", "t");
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert!(play.is_complete());
    // Its pane stays idle: it is ended first.
    assert_eq!(play.kills("dev/a"), 1);
    assert_eq!(all_asked(&play).len(), 1);
    play.die("dev/a");
    let run = run_of(&play, "t");
    let cleanup = asked(&play);
    assert_eq!(cleanup.owner, JobOwner::Run(run));
    assert_eq!(cleanup.jobs, [Job::Git(GitJob::Remove)]);
    assert_eq!(cleanup.place.feature.unwrap().as_str(), "t");
    // Meanwhile nothing new begins in this mesh.
    play.task("dev/b", "t2");
    assert_eq!(play.is("dev/b"), Phase::Idle);
    let before = all_asked(&play).len();
    play.restart(&[]);
    assert_eq!(all_asked(&play).len(), before + 1, "it is asked for again");
    assert_eq!(asked(&play).owner, JobOwner::Run(run));
    ran(&mut play, &[code(0, "refs/tx/kept/t-123\n")]);
    assert!(core_was_told(
        &play,
        "uncommitted work on t is kept on refs/tx/kept/t-123"
    ));
    assert_eq!(play.is("dev/b"), Phase::Checking);
    assert_eq!(asked(&play).place.feature.unwrap().as_str(), "t2");
}

#[test]
fn a_run_that_failed_keeps_its_worktree_and_a_failed_cleanup_is_told() {
    let mut play = play(CLEANUP);
    play.task("dev/a", "t");
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("error"));
    play.idle("dev/a");
    play.die("dev/a");
    assert_eq!(all_asked(&play).len(), 1);
    let mut play = self::play(CLEANUP);
    play.task("dev/a", "t");
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.die("dev/a");
    ran(&mut play, &[code(1, "the worktree is locked")]);
    assert!(core_was_told(
        &play,
        "worktree:cleanup failed: the worktree is locked"
    ));
    play.all_over();
}

#[test]
fn cleanup_waits_for_other_work_on_the_same_feature() {
    let mut play = play(CLEANUP);
    let task = |id: &str, to: &str| {
        let msg = from("core/core").to(to).id(id);
        msg.with(|envelope| envelope.feature = Some("login".parse().unwrap()))
    };
    play.drop(task("t1", "dev/a"));
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.drop(task("t2", "dev/b"));
    ran(&mut play, &[done()]);
    play.take_up("dev/b");
    play.finish("dev/a", "o1");
    assert_eq!((play.kills("dev/a"), all_asked(&play).len()), (0, 2));
    play.finish("dev/b", "o2");
    play.die("dev/a");
    play.die("dev/b");
    assert_eq!(asked(&play).jobs, [Job::Git(GitJob::Remove)]);
}

#[test]
fn only_the_removal_of_a_worktree_stops_its_mesh_and_no_other() {
    let mut play = Play::new(&[
        &mesh("dev", &["a", "b", "c"], CLEANUP),
        &mesh("ops", &["x", "y"], BRAIN),
    ]);
    let task = |id: &str, to: &str, feature: &str| {
        let msg = from("core/core").to(to).id(id);
        msg.with(|envelope| envelope.feature = Some(feature.parse().unwrap()))
    };
    play.drop(task("t1", "dev/a", "login"));
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.drop(task("t2", "dev/b", "login"));
    ran(&mut play, &[done()]);
    play.take_up("dev/b");
    play.finish("dev/a", "o1");
    play.drop(task("t3", "dev/c", "search"));
    assert_eq!(play.is("dev/c"), Phase::Checking, "the removal waits for b");
    ran(&mut play, &[done()]);
    play.take_up("dev/c");
    play.finish("dev/b", "o2");
    play.die("dev/a");
    play.die("dev/b");
    assert_eq!(asked(&play).jobs, [Job::Git(GitJob::Remove)]);
    play.task("ops/x", "t4");
    assert_eq!(play.is("ops/x"), Phase::Starting);
    play.take_up("ops/x");
    play.finish("ops/x", "o4");
    assert_eq!(asked(&play).jobs, [Job::Git(GitJob::Changes)]);
    play.task("ops/y", "t5");
    assert_eq!(play.is("ops/y"), Phase::Starting);
}

#[test]
fn hooks_of_a_complete_run_wait_for_whoever_works_for_it() {
    let more = format!("completion_agents: [a]\n{BRAIN}");
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], &more)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("w").kind(Kind::Task));
    play.take_up("dev/b");
    play.finish("dev/a", "o");
    assert!(play.is_complete());
    assert_eq!(all_asked(&play).len(), 0);
    // Work of another run holds nothing up.
    play.task("dev/a", "t2");
    play.finish("dev/b", "ow");
    assert_eq!(asked(&play).owner, JobOwner::Run(run_of(&play, "t")));
}

#[test]
fn only_idle_processes_in_a_worktree_end_before_its_removal() {
    let mut play = Play::new(&[
        &mesh("dev", &["a", "b", "c"], CLEANUP),
        &mesh("ops", &["x"], ""),
    ]);
    let task = |id: &str, to: &str, feature: &str| {
        let msg = from("core/core").to(to).id(id);
        msg.with(|envelope| envelope.feature = Some(feature.parse().unwrap()))
    };
    for (to, feature) in [("dev/b", "login"), ("dev/c", "search"), ("dev/a", "login")] {
        play.drop(task(&format!("t-{to}").replace('/', "-"), to, feature));
        ran(&mut play, &[done()]);
        play.take_up(to);
    }
    play.drop(task("tx", "ops/x", "login"));
    play.take_up("ops/x");
    play.finish("ops/x", "ox");
    play.finish("dev/b", "ob");
    play.ask("dev/b");
    play.finish("dev/a", "oa");
    let kills = |play: &Play| ["dev/a", "dev/b", "dev/c", "ops/x"].map(|who| play.kills(who));
    assert_eq!(kills(&play), [1, 0, 0, 0], "b shows a dialog");
    play.die("dev/a");
    assert_eq!(all_asked(&play).len(), 3);
    play.idle("dev/b");
    assert_eq!(kills(&play), [1, 1, 0, 0]);
    play.die("dev/b");
    assert_eq!(asked(&play).jobs, [Job::Git(GitJob::Remove)]);
}

#[test]
fn nobody_starts_again_in_a_worktree_that_was_removed() {
    let mut play = play(CLEANUP);
    let task = |id: &str, to: &str, feature: &str| {
        let msg = from("core/core").to(to).id(id);
        msg.with(|envelope| envelope.feature = Some(feature.parse().unwrap()))
    };
    for (id, to, feature) in [("t1", "dev/b", "search"), ("t2", "dev/a", "login")] {
        play.drop(task(id, to, feature));
        ran(&mut play, &[done()]);
        play.take_up(to);
    }
    play.die("dev/b");
    play.finish("dev/a", "o");
    play.die("dev/a");
    assert_eq!(asked(&play).jobs, [Job::Git(GitJob::Remove)]);
    ran(&mut play, &[done()]);
    assert!(!core_was_told(&play, "uncommitted work"));
    let of = |play: &Play, who_: &str| {
        let worker = play.state.worker(&who(who_)).unwrap();
        let feature = worker.overrides.feature.as_ref().map(ToString::to_string);
        (feature, worker.session.clone())
    };
    assert_eq!(of(&play, "dev/a"), (None, None));
    let kept = (Some("search".to_owned()), Some("session".to_owned()));
    assert_eq!(of(&play, "dev/b"), kept);
}

#[test]
fn a_cleanup_that_takes_too_long_is_told_and_lets_the_mesh_go_on() {
    let mut play = play(CLEANUP);
    play.task("dev/a", "t");
    ran(&mut play, &[done()]);
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.die("dev/a");
    play.task("dev/b", "t2");
    play.until(|timer| matches!(timer, Timer::Job(JobOwner::Run(_))));
    assert!(core_was_told(
        &play,
        "worktree:cleanup failed: it took too long"
    ));
    assert_eq!(play.is("dev/b"), Phase::Checking);
}

const BRAIN: &str = "lifecycle: {post: [brain-update]}\n";

#[test]
fn the_brain_is_told_of_a_complete_run_in_a_run_of_its_own_and_tells_nobody() {
    let mut play = Play::new(&[
        &mesh("dev", &["a"], BRAIN),
        &mesh("brain", &["keeper"], BRAIN),
    ]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let says = serde_json::json!({"grade": "A"});
    play.drop(from("dev/a").id("o").status("complete").says(says));
    play.idle("dev/a");
    assert_eq!(asked(&play).jobs, [Job::Git(GitJob::Changes)]);
    ran(&mut play, &[code(0, " a.txt | 2 +-")]);
    let told = play.told("brain/keeper");
    for part in [
        "`t` in dev",
        "`o` from dev/a (complete)",
        "grade: \"A\"",
        "a.txt | 2 +-",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    play.take_up("brain/keeper");
    let work = play.state.worker(&who("brain/keeper")).unwrap();
    let task = work.status.work().unwrap().messages().next().unwrap();
    assert_eq!(play.state.message(task).unwrap().facts.run, Some(task));
    play.finish("brain/keeper", "noted");
    assert_eq!(all_asked(&play).len(), 1);
    play.all_over();
}

#[test]
fn the_brain_is_told_that_nothing_has_changed_or_why_that_is_not_known() {
    for (result, told) in [
        (code(0, "\n"), "No file has changed."),
        (
            code(128, ""),
            "Which files changed is not known: it exited with 128",
        ),
        (
            code(128, "no repository"),
            "Which files changed is not known: no repository",
        ),
    ] {
        let meshes = [mesh("dev", &["a"], BRAIN), mesh("brain", &["keeper"], "")];
        let mut play = Play::new(&meshes.each_ref().map(String::as_str));
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.finish("dev/a", "o");
        ran(&mut play, &[result]);
        let text = play.told("brain/keeper");
        assert!(text.ends_with(&format!("\n{told}\n")), "{text}");
    }
}

#[test]
fn without_a_brain_that_is_told_once() {
    let mut play = Play::new(&[&mesh("dev", &["a"], BRAIN)]);
    for id in ["1", "2"] {
        play.task("dev/a", &format!("t{id}"));
        play.take_up("dev/a");
        play.finish("dev/a", &format!("o{id}"));
        ran(&mut play, &[done()]);
    }
    let told = play.core_has();
    let told = told.iter().filter(|said| said.contains("no mesh `brain`"));
    assert_eq!(told.count(), 1);
    play.all_over();
}
