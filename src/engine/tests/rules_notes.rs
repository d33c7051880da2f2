//! What an author is told, and who is told when it cannot be.

use super::play::{Play, from, mesh, who};
use crate::engine::{Event, Phase, Rejected, Step};
use crate::model::Kind;

const REFUSED: &str = "a message of yours was refused";

#[test]
fn a_note_whose_work_ended_in_the_same_turn_wakes_its_author_for_one_turn() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.reject(Some("dev/a"));
    play.finish("dev/a", "o");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), [REFUSED]);
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Idle, "it owes nothing");
    play.all_over();
}

#[test]
fn such_a_note_comes_before_the_next_task() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    play.reject(Some("dev/a"));
    play.finish("dev/a", "o");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), [REFUSED]);
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t2"]);
}

#[test]
fn a_note_for_an_author_that_was_stopped_or_removed_goes_to_core() {
    for removed in [false, true] {
        let mut play = Play::team(&["a", "b"]);
        play.task("dev/a", "t");
        play.take_up("dev/a");
        play.reject(Some("dev/a"));
        if removed {
            play.load(&mesh("dev", &["b"], ""), false);
            play.finish("dev/a", "o");
        } else {
            play.stop("dev/a");
            play.die("dev/a");
            play.drop(from("dev/a").id("o").status("complete"));
        }
        assert_eq!(play.step("t", "dev/a"), Step::Finished);
        let told = play.core_has();
        let note = "a repair note could not be given".to_owned();
        assert!(told.contains(&note), "removed: {removed}: {told:?}");
        assert!(play.told("core/core").contains("TX0101"));
        play.all_over();
    }
}

#[test]
fn a_note_that_its_author_never_lived_to_read_goes_to_core() {
    let mut play = Play::team(&["a"]);
    play.reject(Some("dev/a"));
    for _ in 0..3 {
        assert_eq!(play.is("dev/a"), Phase::Starting);
        play.die("dev/a");
        if play.is("dev/a") == Phase::Backoff {
            play.next_time();
        }
    }
    let told = play.core_has();
    assert!(
        told.contains(&"a repair note could not be given".to_owned()),
        "{told:?}"
    );
    play.all_over();
}

#[test]
fn the_third_note_in_a_row_is_given_too() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    for _ in 0..3 {
        play.reject(Some("dev/a"));
    }
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(play.core_has().contains(&"work was parked".to_owned()));
    play.die("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), [REFUSED, REFUSED, REFUSED]);
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn after_the_third_core_alone_is_told_until_there_is_other_work() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    for _ in 0..3 {
        play.reject(Some("dev/a"));
    }
    play.die("dev/a");
    play.take_up("dev/a");
    let system_messages = |play: &Play| {
        let to = Some(who("dev/a"));
        play.system_messages().iter().filter(|l| l.to == to).count()
    };
    assert_eq!(system_messages(&play), 3);
    play.reject(Some("dev/a"));
    assert_eq!(system_messages(&play), 3, "no fourth note");
    assert!(
        play.core_has()
            .contains(&"again a message that was refused".to_owned())
    );
    play.idle("dev/a");
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    play.reject(Some("dev/a"));
    assert_eq!(
        system_messages(&play),
        4,
        "other work starts the count again"
    );
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), [REFUSED]);
}

#[test]
fn the_third_note_of_who_has_nothing_in_hand_is_given_and_core_is_told() {
    let mut play = Play::team(&["a"]);
    play.reject(Some("dev/a"));
    play.take_up("dev/a");
    play.reject(Some("dev/a"));
    play.reject(Some("dev/a"));
    let why = "three repair notes in a row, and no good message";
    assert!(play.core_has().contains(&why.to_owned()));
    assert_eq!(play.is("dev/a"), Phase::Working, "its turn is not cut");
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), [REFUSED, REFUSED]);
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn more_than_a_hundred_news_park_the_oldest_and_core_is_told_once() {
    let mut play = Play::team(&["a"]);
    for n in 1..=102 {
        let id = format!("n{n}");
        play.drop(from("core/core").to("dev/a").id(&id).kind(Kind::Update));
    }
    for (id, step) in [
        ("n1", Step::Parked),
        ("n2", Step::Parked),
        ("n3", Step::Queued),
        ("n102", Step::Queued),
    ] {
        assert_eq!(play.step(id, "dev/a"), step, "{id}");
    }
    let told = play.core_has();
    let told = told.iter().filter(|name| *name == "too many updates wait");
    assert_eq!(told.count(), 1);
    // A dead letter like any other: it can have another chance.
    play.task("dev/a", "t");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a").len(), 101);
    play.retry("n1", from("core/core").to("dev/a").id("n1"));
    play.finish("dev/a", "o");
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t2", "n1"]);
}

#[test]
fn an_author_is_told_that_its_id_was_taken() {
    let mut play = Play::team(&["a"]);
    for task in ["t1", "t2"] {
        play.task("dev/a", task);
        play.take_up("dev/a");
        play.finish("dev/a", "done");
    }
    assert!(
        play.told("dev/a").contains("known as `done~2`"),
        "{}",
        play.told("dev/a")
    );
    let system_messages = play.system_messages();
    let about = system_messages
        .iter()
        .rfind(|l| l.to == Some(who("dev/a")))
        .unwrap();
    assert_eq!(about.about, ["done~2".parse().unwrap()]);
    play.task("dev/a", "t3");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t3", "about your message"]);
}

#[test]
fn a_note_says_what_was_wrong_to_who_is_told_of_it() {
    let mut play = Play::team(&["a"]);
    play.happen(Event::Rejected(Box::new(Rejected {
        path: "x.md".into(),
        hash: "1".into(),
        author: Some(who("dev/a")),
        report: "TX0104: there is neither a `to` nor a `status`".into(),
        known: Vec::new(),
        unsigned: None,
    })));
    assert!(play.told("dev/a").contains("x.md: TX0104"));
}

#[test]
fn an_ask_given_beside_a_note_is_answered_like_one_alone() {
    let agents = ["a", "b prompt: p, runtime: claude, mode: pane, batch: true"];
    let mut play = Play::new(&[&mesh("dev", &agents, "")]);
    play.task("dev/b", "tb");
    play.take_up("dev/b");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.reject(Some("dev/b"));
    play.finish("dev/b", "ob");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), [REFUSED, "q"]);
    play.drop(from("dev/b").id("r").status("complete"));
    assert_eq!(play.kind("r", "dev/a"), Kind::AskResponse);
}
