//! Pools: several workers of one agent, and who gets what.

use super::play::{Msg, Play, from, mesh, who};
use crate::engine::{Phase, Step};
use crate::model::{Block, Count, Gather, Give, Join, Kind, Members, MinSuccesses, Opener, Target};

const POOL: &str = "a prompt: p, runtime: claude, mode: pane, count: 3";

fn pool() -> Play {
    Play::new(&[&mesh("dev", &["s", POOL, "x"], "")])
}

/// Tasks for the pool, the slots at work on the first of them.
fn busy(tasks: usize) -> Play {
    let mut play = pool();
    for n in 1..=tasks {
        play.task("dev/a", &format!("t{n}"));
    }
    for slot in 1..=tasks.min(3) {
        play.take_up(&format!("dev/a#{slot}"));
    }
    play
}

#[test]
fn the_lowest_free_slot_takes_what_is_next() {
    let mut play = busy(5);
    for (slot, task) in [(1, "t1"), (2, "t2"), (3, "t3")] {
        assert_eq!(play.given(&format!("dev/a#{slot}")), [task]);
    }
    let waits = play.state.waiting_for(play.facts("t4").number);
    assert!(waits[0].contains("its 3 workers are busy"), "{waits:?}");
    play.finish("dev/a#2", "r2");
    assert_eq!(play.given("dev/a#2"), ["t4"]);
    play.take_up("dev/a#2");
    play.finish("dev/a#1", "r1");
    assert_eq!(play.given("dev/a#1"), ["t5"]);
    play.take_up("dev/a#1");
    for (slot, id) in [(3, "r3"), (1, "r5"), (2, "r4")] {
        play.finish(&format!("dev/a#{slot}"), id);
        assert_eq!(play.step(id, "core/core"), Step::Finished);
    }
    assert_eq!(play.facts("t4").deliveries[0].slot, Some(2));
    play.all_over();
}

#[test]
fn a_batch_is_shared_among_free_slots_in_order() {
    let agents = [
        "s",
        "a prompt: p, runtime: claude, mode: pane, count: 3, batch: true",
    ];
    let mut play = Play::new(&[&mesh("dev", &agents, "")]);
    play.stop("dev/a");
    for n in 1..=5 {
        play.task("dev/a", &format!("t{n}"));
    }
    play.restart_worker("dev/a");
    for slot in 1..=3 {
        play.take_up(&format!("dev/a#{slot}"));
    }
    assert_eq!(play.given("dev/a#1"), ["t1", "t2"]);
    assert_eq!(play.given("dev/a#2"), ["t3", "t4"]);
    assert_eq!(play.given("dev/a#3"), ["t5"]);
}

#[test]
fn an_answer_goes_to_the_slot_that_asked() {
    let mut play = busy(2);
    play.drop(from("dev/a#2").to("dev/x").id("q2"));
    play.idle("dev/a#2");
    play.drop(from("dev/a#1").to("core").id("q1"));
    play.idle("dev/a#1");
    play.take_up("dev/x");
    play.drop(from("dev/x").to("dev/a").reply("q2").id("r2"));
    play.idle("dev/x");
    assert_eq!(play.step("r2", "dev/a#2"), Step::Leased);
    assert_eq!(play.is("dev/a#1"), Phase::AwaitingHuman);
    // A message from core to the plain name answers the oldest ask of any slot.
    play.drop(from("core/core").to("dev/a").id("r1"));
    assert_eq!(play.kind("r1", "dev/a#1"), Kind::AskResponse);
}

#[test]
fn work_for_one_slot_is_refused_and_an_answer_to_one_is_not() {
    let mut play = busy(1);
    for kind in [Kind::Task, Kind::Ask] {
        play.drop(from("dev/x").to("dev/a#1").id("w").kind(kind));
        let refused = play.facts("w").refused.unwrap();
        assert!(refused.contains("write to `dev/a`"), "{refused}");
    }
    play.drop(from("dev/a#1").to("dev/x").id("q"));
    play.idle("dev/a#1");
    play.take_up("dev/x");
    play.drop(from("dev/x").to("dev/a#1").reply("q").id("r"));
    play.idle("dev/x");
    assert_eq!(play.kind("r", "dev/a#1"), Kind::AskResponse);
}

#[test]
fn an_ask_of_a_pool_is_answered_by_the_slot_that_takes_it() {
    let mut play = pool();
    play.task("dev/x", "t");
    play.take_up("dev/x");
    play.drop(from("dev/x").to("dev/a").id("q"));
    play.idle("dev/x");
    play.take_up("dev/a#1");
    play.drop(from("dev/a#1").to("dev/x").reply("q").id("r"));
    play.idle("dev/a#1");
    assert_eq!(play.kind("r", "dev/x"), Kind::AskResponse);
    assert_eq!(play.step("q", "dev/a"), Step::Finished);
    assert_eq!(play.is("dev/x"), Phase::Starting);
}

#[test]
fn a_plain_name_with_one_slot_in_a_turn_is_that_slot() {
    let mut play = busy(1);
    play.drop(from("dev/a").id("r1").status("complete"));
    play.idle("dev/a#1");
    assert_eq!(play.facts("r1").from, who("dev/a#1"));
    assert_eq!(play.step("t1", "dev/a"), Step::Finished);
}

/// What the ladder of a message says of how it was decided who wrote it.
fn bound(play: &Play, id: &str) -> String {
    let facts = play.facts(id);
    let first = &facts.deliveries[0].ladder[0];
    first.why.as_deref().unwrap_or_default().to_owned()
}

#[test]
fn a_plain_name_is_bound_by_in_reply_to() {
    let mut play = busy(3);
    play.drop(from("dev/a").id("r2").status("complete").reply("t2"));
    assert_eq!(play.facts("r2").from, who("dev/a#2"));
    assert!(bound(&play, "r2").contains("alone has what it replies to"));
    play.idle("dev/a#2");
    assert_eq!(play.step("t2", "dev/a"), Step::Finished);
    assert_eq!(play.is("dev/a#1"), Phase::Working);
}

#[test]
fn a_plain_name_is_bound_to_the_slot_that_ends_its_turn_with_nothing() {
    let mut play = busy(3);
    play.drop(from("dev/a").id("r").status("complete"));
    play.drop(from("dev/a#1").id("r1").status("complete"));
    play.idle("dev/a#1");
    assert_eq!(
        play.step("t1", "dev/a"),
        Step::Finished,
        "it has one of its own"
    );
    play.idle("dev/a#3");
    assert_eq!(play.facts("r").from, who("dev/a#3"));
    assert!(bound(&play, "r").contains("ended its turn with nothing else"));
    assert_eq!(bound(&play, "r1"), "", "it signed with its number");
    assert_eq!(play.step("t3", "dev/a"), Step::Finished);
    assert!(play.told("dev/a#3").contains("sign with your number"));
    assert_eq!(play.is("dev/a#2"), Phase::Working);
}

#[test]
fn a_plain_ask_is_bound_too_and_an_edit_before_that_counts() {
    let mut play = busy(2);
    play.drop(from("dev/a").to("dev/x").id("q").path("q.md"));
    play.drop(from("dev/a").to("core").id("q").path("q.md"));
    play.idle("dev/a#2");
    assert_eq!(play.is("dev/a#2"), Phase::AwaitingHuman);
    assert_eq!(play.facts("q").from, who("dev/a#2"));
    assert_eq!(
        play.is("dev/x"),
        Phase::Idle,
        "what it said first counts no more"
    );
}

#[test]
fn a_plain_rejected_file_is_told_to_the_slot_that_wrote_it() {
    let mut play = busy(2);
    play.reject(Some("dev/a"));
    assert_eq!(play.told("dev/a#1"), "");
    play.drop(from("dev/a#1").id("r1").status("complete"));
    play.idle("dev/a#1");
    play.idle("dev/a#2");
    assert!(
        play.system_messages()
            .iter()
            .any(|l| l.to == Some(who("dev/a#2")) && l.headline.contains("refused"))
    );
}

#[test]
fn a_crash_binds_nothing_and_the_message_is_another_slots() {
    let mut play = busy(2);
    play.drop(from("dev/a").id("r").status("complete"));
    play.die("dev/a#1");
    assert_eq!(play.is("dev/a#1"), Phase::Backoff);
    play.idle("dev/a#2");
    assert_eq!(play.facts("r").from, who("dev/a#2"));
    assert_eq!(play.step("t2", "dev/a"), Step::Finished);
    play.until(|timer| *timer == crate::engine::Timer::State(who("dev/a#1")));
    play.take_up("dev/a#1");
    play.finish("dev/a#1", "r1");
    assert_eq!(play.step("t1", "dev/a"), Step::Finished);
}

#[test]
fn with_no_slot_in_a_turn_a_plain_outcome_is_late() {
    let mut play = busy(2);
    play.park("dev/a#2");
    play.finish("dev/a#1", "r1");
    play.drop(from("dev/a").id("late").status("complete"));
    assert_eq!(play.facts("late").from, who("dev/a#2"));
    assert_eq!(
        play.step("t2", "dev/a"),
        Step::Finished,
        "an outcome came after all"
    );
}

#[test]
fn what_nobody_ends_a_turn_with_comes_outside_of_one() {
    let mut play = busy(2);
    play.drop(from("dev/a").id("r").status("complete"));
    for slot in ["dev/a#1", "dev/a#2"] {
        play.drop(
            from(slot)
                .id(&format!("r{}", &slot[6..]))
                .status("complete"),
        );
        play.idle(slot);
    }
    assert_eq!(play.facts("r").from, who("dev/a#1"));
    assert_eq!(play.step("r", "core/core"), Step::Finished);
}

#[test]
fn slots_crash_and_are_restored_alone() {
    let mut play = busy(3);
    play.die("dev/a#2");
    assert_eq!(play.is("dev/a#2"), Phase::Backoff);
    assert_eq!(play.is("dev/a#1"), Phase::Working);
    play.restart(&[("dev/a#1", 1), ("dev/a#3", 1)]);
    play.finish("dev/a#1", "r1");
    play.finish("dev/a#3", "r3");
    assert_eq!(play.step("t3", "dev/a"), Step::Finished);
}

#[test]
fn a_lower_count_ends_slots_when_their_work_is_done() {
    let mut play = busy(3);
    play.task("dev/a", "t4");
    let less = POOL.replace("count: 3", "count: 2");
    play.load(&mesh("dev", &["s", &less, "x"], ""), false);
    play.finish("dev/a#3", "r3");
    assert_eq!(
        play.step("r3", "core/core"),
        Step::Finished,
        "it finishes what it has"
    );
    assert_eq!(play.kills("dev/a#3"), 1, "and ends");
    assert_eq!(
        play.step("t4", "dev/a"),
        Step::Queued,
        "it takes nothing more"
    );
    play.die("dev/a#3");
    // An agent with one worker has no numbers.
    play.load(&mesh("dev", &["s", "a", "x"], ""), false);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t4"]);
    play.drop(
        from("dev/a#3")
            .id("late words")
            .to("core")
            .kind(Kind::Update),
    );
    assert!(
        play.facts("late words").refused.is_none(),
        "an ended slot stays an author"
    );
    play.finish("dev/a#1", "r1");
    play.finish("dev/a", "r4");
    play.finish("dev/a#2", "r2");
    assert_eq!(play.kills("dev/a#1") + play.kills("dev/a#2"), 2);
}

#[test]
fn a_slot_that_has_asked_is_answered_after_a_reload_leaves_one_worker() {
    let mut play = busy(2);
    play.drop(from("dev/a#2").to("core").id("q"));
    play.idle("dev/a#2");
    play.load(&mesh("dev", &["s", "a", "x"], ""), false);
    play.drop(from("core/core").to("dev/a#2").reply("q").id("r"));
    assert_eq!(play.kind("r", "dev/a#2"), Kind::AskResponse);
    play.take_up("dev/a#2");
    assert_eq!(play.given("dev/a#2"), ["r"]);
    play.finish("dev/a#2", "r2");
    // It has ended: nobody writes to it any more.
    play.drop(
        from("core/core")
            .to("dev/a#2")
            .id("more")
            .kind(Kind::Update),
    );
    assert!(play.told("core/core").contains("there is no agent"));
    play.finish("dev/a#1", "r1");
    play.all_over();
}

#[test]
fn a_circle_of_asks_is_none_while_a_slot_is_free() {
    let agents = ["b", "a prompt: p, runtime: claude, mode: pane, count: 2"];
    let mut play = Play::new(&[&mesh("dev", &agents, "")]);
    play.task("dev/a", "t1");
    play.take_up("dev/a#1");
    play.drop(from("dev/a#1").to("dev/b").id("q1"));
    play.idle("dev/a#1");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("q2").kind(Kind::Ask));
    play.idle("dev/b");
    play.take_up("dev/a#2");
    assert_eq!(play.given("dev/a#2"), ["q2"], "the free slot takes it");
    // Now every slot waits.
    play.drop(from("dev/a#2").to("dev/b").id("q3").kind(Kind::Ask));
    assert!(
        play.system_messages()
            .iter()
            .any(|l| l.headline == "a circle of asks was broken")
    );
}

#[test]
fn a_tier_takes_its_own_and_an_unknown_one_is_the_first() {
    let tiers = "a prompt: p, runtime: claude, mode: pane, tiers: { cheap: { model: haiku, count: 1 }, good: { model: opus, count: 1 } }";
    let mut play = Play::new(&[&mesh("dev", &["s", tiers], "")]);
    let task = |id: &str, tier: &str| {
        let tier = tier.to_owned();
        from("core/core")
            .to("dev/a")
            .id(id)
            .with(|envelope| drop(envelope.extra.insert("tier".into(), tier.into())))
    };
    play.drop(task("t1", "good"));
    play.take_up("dev/a#2");
    assert_eq!(play.given("dev/a#2"), ["t1"]);
    play.drop(task("t2", "good"));
    assert_eq!(play.is("dev/a#1"), Phase::Idle, "it waits for its tier");
    play.drop(task("t3", "odd"));
    assert!(play.told("core/core").contains("has no tier `odd`"));
    play.take_up("dev/a#1");
    assert_eq!(play.given("dev/a#1"), ["t3"]);
    play.finish("dev/a#2", "r1");
    play.take_up("dev/a#2");
    assert_eq!(play.given("dev/a#2"), ["t2"]);
}

#[test]
fn more_members_than_slots_wait_for_a_free_one() {
    let config = mesh(
        "dev",
        &[
            "s",
            "a prompt: p, runtime: claude, mode: pane, count: 2",
            "j",
        ],
        "task_distribution: { spawner: s, subagents: [a], reviewer: j }\n",
    );
    let mut play = Play::new(&[&config]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.drop(
        from("dev/s")
            .id("o")
            .status("complete")
            .parts(&[1, 2, 3, 4]),
    );
    play.idle("dev/s");
    let parts = |play: &Play, slot: &str| {
        let work = play.state.worker(&who(slot)).unwrap().status.work();
        work.unwrap().member().unwrap().part
    };
    play.take_up("dev/a#1");
    play.take_up("dev/a#2");
    assert_eq!(
        (parts(&play, "dev/a#1"), parts(&play, "dev/a#2")),
        (Some(1), Some(2))
    );
    play.finish("dev/a#2", "r2");
    play.take_up("dev/a#2");
    assert_eq!(parts(&play, "dev/a#2"), Some(3));
    play.finish("dev/a#2", "r3");
    play.take_up("dev/a#2");
    play.finish("dev/a#2", "r4");
    play.finish("dev/a#1", "r1");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["r1", "r2", "r3", "r4"]);
    play.finish("dev/j", "end");
    play.all_over();
}

#[test]
fn two_open_blocks_lend_slots_of_one_agent_and_the_larger_counts() {
    let copies = |opener: &str, count: u32| Block {
        source: "fsm.states.S.ensemble".into(),
        opens_for: vec![Opener::Complete(opener.parse().unwrap())],
        members: Members::Copies {
            agent: Target::Agent(who("dev/a")),
            count: Count::Number(count),
        },
        join: Join::To(Target::Agent(who("dev/j"))),
        min: MinSuccesses::All,
        time: None,
        give: Give::Whole,
        gather: Gather::Concat,
    };
    let mut play = Play::new(&[]);
    let agents = [
        "s",
        "x",
        "a prompt: p, runtime: claude, mode: pane, count: 2",
        "j",
    ];
    let more = "guardrails: { max_instances: 4 }\n";
    play.load_with(&mesh("dev", &agents, more), false, |mesh| {
        mesh.blocks = vec![copies("s", 3), copies("x", 6)];
    });
    let slots = |play: &Play| play.state.slots(&who("dev/a"));
    assert_eq!(slots(&play), Some(2));
    for (opener, task, outcome) in [("dev/s", "t1", "o1"), ("dev/x", "t2", "o2")] {
        play.task(opener, task);
        play.take_up(opener);
        play.finish(opener, outcome);
    }
    assert_eq!(
        slots(&play),
        Some(4),
        "six members, and no more than four slots"
    );
    let slot = |n: u32| format!("dev/a#{n}");
    for n in 1..=4 {
        play.take_up(&slot(n));
    }
    // The three members of the first block, then one of the second.
    for n in 1..=4 {
        let expected = if n < 4 { "o1" } else { "o2" };
        assert_eq!(play.given(&slot(n)), [expected]);
    }
    for n in 1..=3 {
        play.finish(&slot(n), &format!("r{n}"));
        play.take_up(&slot(n));
        assert_eq!(play.given(&slot(n)), ["o2"]);
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j"), ["r1", "r2", "r3"]);
    play.finish("dev/j", "end1");
    assert_eq!(slots(&play), Some(4), "the second block is open");
    for (n, id) in [(1, "q1"), (2, "q2")] {
        play.finish(&slot(n), id);
        play.take_up(&slot(n));
    }
    for n in 1..=4 {
        play.finish(&slot(n), &format!("p{n}"));
    }
    assert_eq!(slots(&play), Some(2), "what was lent is given back");
    assert_eq!((play.kills(&slot(3)), play.kills(&slot(4))), (1, 1));
    assert_eq!((play.kills(&slot(1)), play.kills(&slot(2))), (0, 0));
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j").len(), 6);
    play.finish("dev/j", "end2");
    play.all_over();
}

#[test]
fn a_batch_of_a_pool_never_has_the_work_of_a_member() {
    let pool = "a prompt: p, runtime: claude, mode: pane, count: 2, batch: true";
    let more = "task_distribution: { spawner: s, subagents: [a], reviewer: j }\n";
    let mut play = Play::new(&[&mesh("dev", &["s", pool, "j"], more)]);
    play.stop("dev/a");
    for id in ["t1", "t2"] {
        play.task("dev/a", id);
    }
    play.task("dev/s", "t");
    play.take_up("dev/s");
    play.drop(from("dev/s").id("o").status("complete").parts(&[1, 2, 3]));
    play.idle("dev/s");
    play.restart_worker("dev/a");
    for slot in ["dev/a#1", "dev/a#2"] {
        play.take_up(slot);
    }
    assert_eq!(play.given("dev/a#1"), ["t1", "t2"]);
    assert_eq!(play.given("dev/a#2"), ["o"]);
    for (slot, id) in [("dev/a#2", "r1"), ("dev/a#1", "r"), ("dev/a#1", "r2")] {
        play.finish(slot, id);
        if play.is(slot) != Phase::Idle {
            play.take_up(slot);
        }
        let work = play.state.worker(&who(slot)).unwrap().status.work();
        assert!(work.is_none_or(|work| work.items.len() == 1));
    }
    play.finish("dev/a#2", "r3");
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j").len(), 3);
}

#[test]
fn a_hundred_members_on_a_pool_of_eight_give_a_hundred_results() {
    let pool = "a prompt: p, runtime: claude, mode: pane, count: 8";
    let more =
        "task_distribution: { spawner: s, subagents: [a], reviewer: j }\nmax_mesh_messages: 500\n";
    let mut play = Play::new(&[&mesh("dev", &["s", pool, "j"], more)]);
    play.task("dev/s", "t");
    play.take_up("dev/s");
    let parts: Vec<u32> = (1..=100).collect();
    play.drop(from("dev/s").id("o").status("complete").parts(&parts));
    play.idle("dev/s");
    let mut results = 0;
    while results < 100 {
        for slot in (1..=8).map(|n| format!("dev/a#{n}")) {
            if play.is(&slot) == Phase::Starting {
                play.take_up(&slot);
                results += 1;
                play.finish(&slot, &format!("r{results}"));
            }
        }
    }
    play.take_up("dev/j");
    assert_eq!(play.given("dev/j").len(), 100);
    play.finish("dev/j", "end");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn an_agent_that_got_several_workers_stops_and_goes_on_with_the_one_that_it_had() {
    let mut play = Play::new(&[&mesh("dev", &["s", "a", "x"], "")]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.stop("dev/a");
    play.load(&mesh("dev", &["s", POOL, "x"], ""), false);
    play.die("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Backoff);
    play.restart_worker("dev/a");
    play.take_up("dev/a");
    play.stop("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Stopping);
    play.die("dev/a");
    play.restart_worker("dev/a");
    play.take_up("dev/a");
    play.finish("dev/a", "r1");
    play.all_over();
}

#[test]
fn a_circle_of_asks_is_one_when_every_slot_waits() {
    let agents = ["b", "a prompt: p, runtime: claude, mode: pane, count: 2"];
    for waiting in [1, 2] {
        let mut play = Play::new(&[&mesh("dev", &agents, "")]);
        for slot in 1..=2 {
            play.task("dev/a", &format!("t{slot}"));
            play.take_up(&format!("dev/a#{slot}"));
        }
        for slot in 1..=waiting {
            let slot = format!("dev/a#{slot}");
            play.drop(from(&slot).to("dev/b").id(&slot.replace(['/', '#'], "-")));
            play.idle(&slot);
        }
        play.take_up("dev/b");
        play.drop(from("dev/b").to("dev/a").id("back").kind(Kind::Ask));
        play.idle("dev/b");
        let broken = "a circle of asks was broken".to_owned();
        assert_eq!(play.core_has().contains(&broken), waiting == 2, "{waiting}");
    }
}

#[test]
fn a_file_without_a_known_writer_is_kept_once() {
    let mut play = busy(2);
    let outcome = || from("dev/a").id("r").status("complete").path("r.md");
    play.drop(outcome());
    let hash = |msg: &Msg| format!("{:?}{}", msg.envelope, msg.text);
    let first = hash(&outcome());
    assert!(play.state.is_unbound("r.md", &first));
    assert!(!play.state.is_unbound("r.md", "other") && !play.state.is_unbound("x.md", &first));
    play.drop(outcome());
    assert_eq!(play.state.counts().duplicates, 1);
    let changed = outcome().text("changed");
    play.drop(changed.clone());
    assert_eq!(play.state.counts().duplicates, 1);
    assert!(play.state.is_unbound("r.md", &hash(&changed)));
    assert!(!play.state.is_unbound("r.md", &first));
    play.idle("dev/a#2");
    assert_eq!(play.facts("r").from, who("dev/a#2"));
}
