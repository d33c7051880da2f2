//! The results of a block become one message, and what follows when they do not.

use super::blocks::{ensemble, fail, member_step, opened};
use super::play::{Play, from};
use crate::engine::{
    Effect, Event, Job, JobEnd, JobOwner, JobResult, MessageNo, Phase, Step, Timer,
};
use crate::format::gather::{GatheredResult, gather};
use crate::model::{Block, Gather, Join, MinSuccesses, Target};

fn gathering(gather: Gather, min: MinSuccesses) -> Play {
    opened(
        Block {
            gather,
            ..ensemble(min)
        },
        "",
    )
}

fn voting() -> Play {
    gathering(Gather::Voting, MinSuccesses::Number(1))
}

/// The gather jobs so far: their numbers, and the ids of the results.
fn jobs(play: &Play) -> Vec<(u32, Vec<String>)> {
    let jobs = play.effects.iter().filter_map(|effect| match effect {
        Effect::RunJobs {
            owner: JobOwner::Block(_),
            job,
            jobs,
            ..
        } => match jobs.as_slice() {
            [Job::Gather { results, .. }] => Some((*job, results)),
            _ => None,
        },
        _ => None,
    });
    jobs.map(|(job, results)| (job, results.iter().map(|no| play.name(*no)).collect()))
        .collect()
}

fn block(play: &Play) -> MessageNo {
    play.facts("o").number
}

/// The job of this number ends.
fn ends(play: &mut Play, job: u32, end: JobEnd, output: &str) -> Vec<Effect> {
    let owner = JobOwner::Block(block(play));
    let results = vec![JobResult::of(end, output.into())];
    play.happen(Event::JobsFinished {
        owner,
        job,
        results,
    })
}

fn error() -> JobEnd {
    JobEnd::Failed {
        why: "it cannot be read".into(),
    }
}

fn finish_all(play: &mut Play) {
    for (member, id) in [("dev/a", "ra"), ("dev/b", "rb"), ("dev/c", "rc")] {
        play.finish(member, id);
    }
}

#[test]
fn gather_of_each_strategy_gives_the_join_one_message() {
    let texts = ["Use a lock now", "use a lock now", "Nothing to do"];
    for (strategy, expected) in [
        (Gather::Deduplicate, "Use a lock now (a, b)"),
        (Gather::Voting, "2/3: a, b\n\nUse a lock now"),
        (Gather::Consensus, "at least 2 of the 3 results"),
        (Gather::Custom("Weigh them.".into()), "Weigh them.\n\n## a"),
    ] {
        let mut play = gathering(strategy.clone(), MinSuccesses::All);
        finish_all(&mut play);
        let results = ["ra", "rb", "rc"].map(str::to_owned).to_vec();
        assert_eq!(jobs(&play), [(1, results)], "{strategy:?}");
        assert_eq!(play.is("dev/j"), Phase::Idle, "nothing is delivered yet");
        let waits = play.state.waiting_for(play.facts("ra").number);
        assert!(waits[0].contains("gathers"), "{waits:?}");
        let each = ["a", "b", "c"].into_iter().zip(texts);
        let each: Vec<GatheredResult> = each
            .map(|(author, text)| GatheredResult { author, text })
            .collect();
        let text = gather(&strategy, &each).unwrap();
        ends(&mut play, 1, JobEnd::Code(0), &text);
        play.take_up("dev/j");
        assert_eq!(play.given("dev/j"), ["the results of the block, gathered"]);
        assert!(
            play.told("dev/j").contains(expected),
            "{strategy:?}: {text}"
        );
        let written = play.system_messages();
        let about: Vec<&str> = written
            .last()
            .unwrap()
            .about
            .iter()
            .map(crate::model::MsgId::as_str)
            .collect();
        assert_eq!(about, ["ra", "rb", "rc"], "it replies to all of them");
        for id in ["ra", "rb", "rc"] {
            let facts = play.facts(id);
            let last = facts.deliveries[0].ladder.last().unwrap().clone();
            assert_eq!(last.step, Step::Finished);
            assert!(last.why.unwrap().starts_with("gathered into tx-"));
        }
        play.finish("dev/j", "end");
        assert!(play.is_complete());
        play.all_over();
    }
}

#[test]
fn a_tie_of_votes_reaches_the_join_as_such() {
    let mut play = voting();
    finish_all(&mut play);
    let results = ["yes indeed", "never ever", "maybe later"];
    let results = results.map(|text| GatheredResult { author: "x", text });
    let text = gather(&Gather::Voting, &results).unwrap();
    ends(&mut play, 1, JobEnd::Code(0), &text);
    play.take_up("dev/j");
    assert!(
        play.told("dev/j")
            .starts_with("There is a tie of 3 answers")
    );
}

#[test]
fn only_the_first_result_of_each_success_is_gathered_and_failures_come_last() {
    let mut play = voting();
    play.drop(from("dev/a").id("ra").status("complete"));
    play.drop(from("dev/a").id("ra2").status("complete"));
    play.idle("dev/a");
    fail(&mut play, "dev/b", "eb");
    play.park("dev/c");
    assert_eq!(jobs(&play), [(1, vec!["ra".to_owned()])]);
    assert_eq!(member_step(&play, "o", 1), Step::Finished, "it is decided");
    ends(&mut play, 1, JobEnd::Code(0), "1/1: a\n\ntext\n");
    play.take_up("dev/j");
    let told = play.told("dev/j");
    assert!(
        told.starts_with("1/1: a\n\ntext\n\nThese members failed:\n\n"),
        "{told}"
    );
    assert!(told.contains("- member 1, dev/b: `eb`"), "{told}");
    assert!(
        told.contains("- member 2, dev/c: it ended its turn"),
        "{told}"
    );
    assert_eq!(play.step("ra2", "dev/j"), Step::Finished);
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn a_crash_while_gathering_gathers_again_and_an_old_result_does_nothing() {
    let mut play = voting();
    finish_all(&mut play);
    play.restart(&[]);
    assert_eq!(jobs(&play).len(), 2);
    assert_eq!(jobs(&play)[1].0, 1, "under the number that it had");
    ends(&mut play, 1, error(), "");
    assert_eq!(jobs(&play)[2].0, 2, "an error is queued again");
    ends(&mut play, 1, JobEnd::Code(0), "of the first attempt");
    assert_eq!(play.is("dev/j"), Phase::Idle, "that one is over");
    ends(&mut play, 2, JobEnd::Code(0), "of the second attempt");
    play.take_up("dev/j");
    assert_eq!(play.told("dev/j"), "of the second attempt");
    ends(&mut play, 2, JobEnd::Code(0), "told twice");
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn what_a_member_says_while_its_block_gathers_is_late() {
    let mut play = gathering(Gather::Voting, MinSuccesses::Number(2));
    play.park("dev/a");
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    play.drop(from("dev/a").id("late").status("complete"));
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["late"], "an ordinary hand-over");
    ends(&mut play, 1, JobEnd::Code(0), "2/2: b, c");
    play.finish("dev/j", "about late");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["the results of the block, gathered"]);
    assert!(play.told("dev/j").contains("- member 0, dev/a"));
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn a_member_that_is_retried_or_dropped_while_its_block_gathers_changes_nothing_of_it() {
    for again in [true, false] {
        let mut play = gathering(Gather::Voting, MinSuccesses::Number(2));
        play.park("dev/a");
        play.finish("dev/b", "rb");
        play.finish("dev/c", "rc");
        play.of_member("o", 0, again);
        ends(&mut play, 1, JobEnd::Code(0), "2/2: b, c");
        play.take_up("dev/j");
        play.finish("dev/j", "end");
        if again {
            play.take_up("dev/a");
            play.finish("dev/a", "ra");
            play.take_up("dev/j");
            assert_eq!(play.given("dev/j"), ["ra"]);
            play.finish("dev/j", "end2");
        }
        play.all_over();
    }
}

#[test]
fn what_cannot_be_gathered_is_given_as_it_is_with_a_warning() {
    // Three errors, one of them a time that is over.
    let mut play = voting();
    finish_all(&mut play);
    ends(&mut play, 1, error(), "");
    play.until(|timer| matches!(timer, Timer::Job(JobOwner::Block(_))));
    ends(&mut play, 3, error(), "");
    play.take_up("dev/j");
    let given = play.given("dev/j");
    assert_eq!(given, ["ra", "rb", "rc", "the results are not gathered"]);
    assert!(
        play.told("dev/j")
            .contains("3 attempts failed, the last with: it cannot be read")
    );
    play.finish("dev/j", "end");
    play.all_over();
    // Too much for one message.
    let mut play = voting();
    finish_all(&mut play);
    ends(
        &mut play,
        1,
        JobEnd::Code(1),
        "they are too long for one message",
    );
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j").len(), 4);
    assert!(play.told("dev/j").contains("too long for one message"));
    // Nothing to gather.
    let mut play = gathering(Gather::Voting, MinSuccesses::Number(0));
    for (member, id) in [("dev/a", "ea"), ("dev/b", "eb"), ("dev/c", "ec")] {
        fail(&mut play, member, id);
    }
    assert_eq!(jobs(&play), []);
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j").len(), 4);
    assert!(play.told("dev/j").contains("no member has succeeded"));
}

#[test]
fn results_that_are_gathered_for_core_complete_their_run() {
    let block = Block {
        join: Join::To(Target::Core),
        gather: Gather::Deduplicate,
        ..ensemble(MinSuccesses::All)
    };
    let mut play = opened(block, "completion_agents: [a, b, c]\n");
    finish_all(&mut play);
    assert!(!play.is_complete());
    ends(&mut play, 1, JobEnd::Code(0), "each line once");
    assert!(play.is_complete());
    let gathered = "the results of the block, gathered".to_owned();
    assert_eq!(play.core_has()[0], gathered);
    assert!(
        !play.core_has().contains(&"ra".into()),
        "core has one message"
    );
    play.all_over();
}

#[test]
fn a_reload_or_a_removed_mesh_does_not_keep_a_block_from_its_end() {
    let mut play = voting();
    finish_all(&mut play);
    play.happen(Event::MeshRemoved {
        mesh: "dev".parse().unwrap(),
    });
    ends(&mut play, 1, JobEnd::Code(0), "3/3: a, b, c");
    assert_eq!(play.step("ra", "dev/j"), Step::Finished);
    assert!(play.state.stuck().is_none());
}
