//! What is accepted: addresses, ids, edits, duplicates, refusals.

use super::play::{Play, from, mesh, who};
use crate::engine::{Event, KindRow, MessageRecord, Phase, Rejected, Step};
use crate::model::Kind;

#[test]
fn the_sentinel_is_routed_by_the_table_and_from_core_means_the_entry_point() {
    let table = "entry_point: b\nrouting:\n  a: { complete: { b: go } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], table)]);
    play.task("dev/dispatch", "t");
    assert_eq!(play.kind("t", "dev/b"), Kind::Task);
    play.task("dev/a", "ta");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/dispatch").id("o").status("complete"));
    assert_eq!(play.kind("o", "dev/b"), Kind::TaskComplete);
    play.drop(from("dev/a").to("dev/dispatch").id("nothing"));
    let refused = play.facts("nothing").refused.unwrap();
    assert!(refused.contains("there is no `status`"), "{refused}");
}

#[test]
fn the_sentinel_without_a_status_takes_the_default_of_a_dispatcher() {
    let table = "routing_mode: dispatcher\nrouting:\n  a: { bad: c, default: b }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/dispatch").id("o"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/b"), Phase::Starting);
}

#[test]
fn the_same_id_and_text_in_later_work_is_another_message() {
    let mut play = Play::team(&["a"]);
    for (task, expected) in [("t1", "done"), ("t2", "done~2"), ("t3", "done~3")] {
        play.task("dev/a", task);
        play.take_up("dev/a");
        play.drop(from("dev/a").id("done").status("complete"));
        play.idle("dev/a");
        assert_eq!(play.step(expected, "core/core"), Step::Finished);
        assert_eq!(play.step(task, "dev/a"), Step::Finished);
    }
}

#[test]
fn the_same_again_is_a_duplicate_and_with_other_text_a_conflict() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.drop(from("core/core").to("dev/a").id("t"));
    assert_eq!(play.state.counts().duplicates, 1);
    play.drop(from("core/core").to("dev/a").id("t").text("something else"));
    assert_eq!(play.state.counts().refused, 1);
    assert!(play.told("core/core").contains("an id of its own"));
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.drop(from("core/core").to("dev/a").id("t"));
    assert_eq!(
        play.state.counts().duplicates,
        2,
        "finished, and still known"
    );
    assert_eq!(play.is("dev/a"), Phase::Idle);
}

#[test]
fn a_file_seen_again_is_nothing_new() {
    let mut play = Play::team(&["a"]);
    let msg = from("core/core").to("dev/a").id("t").path("t.md");
    play.drop(msg.clone());
    let effects = play.drop(msg);
    assert!(effects.is_empty());
}

#[test]
fn an_edit_amends_a_message_until_it_is_leased_and_keeps_its_place() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "first");
    let t = from("core/core").to("dev/a").id("t").path("t.md");
    play.drop(t.clone());
    play.task("dev/a", "last");
    play.drop(t.clone().text("better"));
    assert_eq!(play.state.counts().refused, 0);
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(
        play.given("dev/a"),
        ["t"],
        "before the one that came after it"
    );
    play.drop(t.text("too late"));
    assert_eq!(play.state.counts().refused, 1);
    assert!(play.told("core/core").contains("write a new one"));
}

#[test]
fn an_edit_may_change_the_recipient() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "first");
    let t = from("core/core").to("dev/a").id("t").path("t.md");
    play.drop(t.clone());
    play.drop(t.to("dev/b"));
    assert_eq!(play.is("dev/b"), Phase::Starting);
    assert!(play.facts("t").delivery(&who("dev/a")).is_none());
}

#[test]
fn an_outcome_may_be_edited_until_it_is_routed() {
    let table = "routing:\n  a: { complete: { b: go }, bad: { c: no } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let o = from("dev/a").id("o").path("o.md");
    play.drop(o.clone().status("complete"));
    play.drop(o.clone().status("bad"));
    play.idle("dev/a");
    assert_eq!(
        (play.is("dev/b"), play.is("dev/c")),
        (Phase::Idle, Phase::Starting)
    );
    play.drop(o.status("complete"));
    assert_eq!(play.state.counts().refused, 1);
}

#[test]
fn a_mended_file_is_accepted() {
    let mut play = Play::team(&["a"]);
    let t = from("core/core").id("t").path("t.md");
    play.drop(t.clone().to("dev/aa"));
    play.drop(t.to("dev/a"));
    assert_eq!(play.is("dev/a"), Phase::Starting);
}

#[test]
fn an_unknown_sender_is_told_to_core() {
    let mut play = Play::team(&["a"]);
    play.drop(from("dev/nobody").to("core").id("x"));
    assert!(
        play.told("core/core")
            .contains("there is no agent `dev/nobody`")
    );
    play.drop(from("system/consumer").to("dev/a").id("y"));
    assert!(play.told("core/core").contains("only tx writes"));
    assert_eq!(play.is("dev/a"), Phase::Idle);
}

#[test]
fn nobody_writes_to_itself() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/a").id("x"));
    assert!(play.facts("x").refused.is_some());
}

#[test]
fn headless_messages_are_recorded_and_not_dispatched() {
    let mut play = Play::team(&["a"]);
    play.drop(
        from("core/core")
            .to("dev/a")
            .id("t")
            .with(|e| e.headless = true),
    );
    assert_eq!(
        (play.is("dev/a"), play.step("t", "dev/a")),
        (Phase::Idle, Step::Finished)
    );
}

#[test]
fn news_wake_nobody_and_come_with_the_next_turn() {
    let mut play = Play::team(&["a"]);
    play.drop(from("core/core").to("dev/a").id("n").kind(Kind::Update));
    assert_eq!(play.is("dev/a"), Phase::Idle);
    assert!(play.state.stuck().is_none());
    play.task("dev/a", "t");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t", "n"]);
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn a_repair_note_joins_the_work_of_an_agent_at_work() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.reject(Some("dev/a"));
    assert_eq!(
        play.is("dev/a"),
        Phase::Working,
        "not in the middle of its turn"
    );
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["a message of yours was refused"]);
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn three_repair_notes_in_a_row_park_the_work() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.reject(Some("dev/a"));
    play.reject(Some("dev/a"));
    play.drop(from("dev/a").to("core").id("n").kind(Kind::Update));
    play.reject(Some("dev/a"));
    play.reject(Some("dev/a"));
    assert_eq!(
        play.is("dev/a"),
        Phase::Working,
        "a good message in between resets the count"
    );
    play.reject(Some("dev/a"));
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert_eq!(
        (play.is("dev/a"), play.kills("dev/a")),
        (Phase::Stopping, 1)
    );
    assert!(play.core_has().contains(&"work was parked".to_owned()));
}

#[test]
fn a_note_wakes_an_idle_worker_for_one_turn_that_ends_by_itself() {
    let mut play = Play::team(&["a"]);
    play.reject(Some("dev/a"));
    play.take_up("dev/a");
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Idle);
    play.all_over();
}

#[test]
fn a_rejection_without_an_author_is_told_to_core() {
    let mut play = Play::team(&["a"]);
    play.reject(None);
    play.reject(Some("dev/nobody"));
    assert_eq!(
        play.core_has(),
        ["a file was refused", "a file was refused"]
    );
}

#[test]
fn what_tx_wrote_is_known_by_its_id_when_its_file_is_seen() {
    let mut play = Play::new(&[&mesh("dev", &["p runtime: command, run: [x]"], "")]);
    play.task("dev/p", "t");
    play.take_up("dev/p");
    play.exit("dev/p", 0, "done");
    let id = play.system_messages()[0].id.to_string();
    let effects = play.drop(from("dev/p").id(&id).status("complete"));
    assert!(effects.is_empty(), "{effects:?}");
}

#[test]
fn causes_make_the_thread() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r"));
    let number = |id: &str| play.facts(id).number;
    assert_eq!(play.facts("q").cause, [number("t")]);
    assert_eq!(play.facts("r").cause, [number("q")]);
    assert_eq!(play.facts("r").thread, [number("t")]);
    assert_eq!(
        (
            play.facts("t").hops,
            play.facts("q").hops,
            play.facts("r").hops
        ),
        (0, 1, 2)
    );
}

#[test]
fn the_inbox_of_a_removed_agent_is_parked_and_its_turn_is_its_last() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    play.task("dev/a", "t2");
    play.load(&mesh("dev", &["b"], ""), false);
    assert_eq!(play.step("t2", "dev/a"), Step::Parked);
    assert_eq!(play.is("dev/a"), Phase::Working, "what is in hand goes on");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    assert_eq!(play.step("t1", "dev/a"), Step::Finished);
    assert_eq!(
        (play.is("dev/a"), play.kills("dev/a")),
        (Phase::Stopping, 1)
    );
}

#[test]
fn what_tx_writes_in_one_step_has_different_ids() {
    let mut play = Play::team(&["a", "b"]);
    for id in ["t0", "t1", "t2"] {
        play.task("dev/a", id);
    }
    let before = play.system_messages().len();
    play.load(&mesh("dev", &["b"], ""), false);
    let ids: Vec<String> = play.system_messages()[before..]
        .iter()
        .map(|message| message.id.to_string())
        .collect();
    let different: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert!(ids.len() > 1 && different.len() == ids.len(), "{ids:?}");
}

#[test]
fn the_row_that_decided_is_kept() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.drop(from("dev/a").to("core").id("h"));
    let row = |id: &str, to: &str| play.facts(id).delivery(&who(to)).unwrap().row;
    assert_eq!(row("t", "dev/a"), Some(KindRow::FromCore));
    assert_eq!(row("q", "dev/b"), Some(KindRow::BetweenAgents));
    assert_eq!(row("h", "core/core"), Some(KindRow::ToCore));
}

#[test]
fn an_edit_that_is_refused_leaves_the_version_before_in_force() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "first");
    let t = from("core/core").to("dev/a").id("t").path("t.md");
    play.drop(t.clone());
    play.drop(t.to("dev/nobody"));
    assert!(play.told("core/core").contains("dev/nobody"));
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t"]);
}

#[test]
fn a_path_whose_edit_came_too_late_may_carry_another_message() {
    let mut play = Play::team(&["a", "b"]);
    let t = from("core/core").to("dev/a").id("t1").path("t.md");
    play.drop(t.clone());
    play.take_up("dev/a");
    play.drop(t.clone().text("too late"));
    assert_eq!(play.state.counts().refused, 1);
    play.drop(t.id("t2").to("dev/b"));
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["t2"]);
    play.finish("dev/b", "o2");
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["you still owe something"]);
    play.finish("dev/a", "o1");
    play.all_over();
}

#[test]
fn a_refused_file_that_is_seen_again_is_nothing_new() {
    let mut play = Play::team(&["a"]);
    let refused = |hash: &str, known: &[MessageRecord]| {
        Event::Rejected(Box::new(Rejected {
            path: "x.md".into(),
            hash: hash.into(),
            author: None,
            report: "TX0101: there is no `to`".into(),
            known: known.to_vec(),
            unsigned: None,
        }))
    };
    play.happen(refused("1", &[]));
    let known: Vec<MessageRecord> = play.left.values().cloned().collect();
    let told = |play: &Play| play.core_has().len();
    assert_eq!(told(&play), 1);
    play.happen(refused("1", &known));
    let counts = play.state.counts();
    assert_eq!((told(&play), counts.refused, counts.duplicates), (1, 1, 1));
    play.happen(refused("2", &known));
    let counts = play.state.counts();
    assert_eq!((told(&play), counts.refused, counts.duplicates), (2, 2, 1));
}

#[test]
fn an_update_for_nobody_is_refused() {
    let mut play = Play::team(&["a"]);
    play.drop(from("dev/a").id("n").kind(Kind::Update));
    let why = play.facts("n").refused.unwrap();
    assert!(why.contains("there is nobody that it could go to"), "{why}");
}
