//! Ids are their senders' own, and a verdict speaks of the check that was asked for.

use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Phase, Step};

#[test]
fn two_senders_may_use_one_id() {
    let mut play = Play::team(&["a", "b"]);
    for agent in ["dev/a", "dev/b"] {
        play.task(agent, &format!("t-{agent}"));
        play.take_up(agent);
    }
    play.drop(from("dev/a").id("done").status("complete"));
    play.drop(from("dev/b").id("done").status("complete").text("another"));
    assert_eq!(play.state.counts().refused, 0);
    assert_eq!(play.state.counts().duplicates, 0);
    play.idle("dev/a");
    play.idle("dev/b");
    for agent in ["dev/a", "dev/b"] {
        assert_eq!(play.step(&format!("t-{agent}"), agent), Step::Finished);
    }
    let both = play.core_has().into_iter().filter(|name| name == "done");
    assert_eq!(both.count(), 2);
}

#[test]
fn a_verdict_of_an_older_check_counts_for_nothing() {
    let mut play = Play::team(&["a"]);
    play.load(&mesh("dev", &["a"], ""), true);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.is("dev/a"), Phase::Checking);
    play.verdict(
        "dev/a",
        Verdict::Fail {
            findings: "no".into(),
        },
    );
    play.take_up("dev/a");
    play.finish("dev/a", "o2");
    let checks = |play: &Play| {
        let worker = play.state.worker(&who("dev/a")).unwrap();
        worker.status.work().unwrap().job
    };
    assert_eq!((play.is("dev/a"), checks(&play)), (Phase::Checking, 2));
    play.jobs_finished(who("dev/a"), 1, Verdict::Pass);
    assert_eq!(play.is("dev/a"), Phase::Checking, "it speaks of the first");
    play.verdict("dev/a", Verdict::Pass);
    assert_eq!(play.is("dev/a"), Phase::Idle);
}
