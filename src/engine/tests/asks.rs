//! Asks: who waits for whom, and until when.

use super::play::{Play, from, mesh, who};
use crate::engine::{Effect, KindRow, Phase, Step, Timer};
use crate::model::Kind;

fn row(play: &Play, id: &str, to: &str) -> Option<KindRow> {
    play.facts(id).delivery(&who(to)).unwrap().row
}

/// `a` has a task and has asked `b`, whose turn it is.
pub(super) fn asked() -> Play {
    let mut play = Play::team(&["a", "b", "c"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play
}

#[test]
fn an_answer_with_a_status_is_an_answer() {
    let mut play = asked();
    play.take_up("dev/b");
    play.drop(from("dev/b").id("r").status("complete"));
    assert_eq!(play.kind("r", "dev/a"), Kind::AskResponse);
    assert_eq!(row(&play, "r", "dev/a"), Some(KindRow::WorkIsAsk));
    assert_eq!(play.is("dev/a"), Phase::Starting, "it goes on at once");
    play.idle("dev/b");
    assert_eq!(play.step("q", "dev/b"), Step::Finished);
    play.take_up("dev/a");
    assert_eq!(
        play.given("dev/a"),
        ["r"],
        "its pane lives: only what is new"
    );
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn a_command_agent_answers_by_its_output() {
    let mut play = Play::new(&[&mesh("dev", &["a", "p runtime: command, run: [x]"], "")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/p").id("q"));
    play.idle("dev/a");
    play.take_up("dev/p");
    play.exit("dev/p", 0, "forty-two");
    play.take_up("dev/a");
    let system_messages = play.system_messages();
    let answer = system_messages
        .iter()
        .find(|l| l.from == who("dev/p"))
        .unwrap();
    assert_eq!(play.given("dev/a"), [answer.id.to_string()]);
    assert_eq!(play.kind(answer.id.as_str(), "dev/a"), Kind::AskResponse);
}

#[test]
fn the_first_of_two_asks_is_answered_twice_and_the_second_answer_is_news() {
    let mut play = Play::team(&["a", "b", "c"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q1"));
    play.drop(from("dev/a").to("dev/c").id("q2"));
    play.idle("dev/a");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r1").reply("q1"));
    assert_eq!(play.is("dev/a"), Phase::Awaiting, "one ask is open");
    play.drop(from("dev/b").to("dev/a").id("r1b").reply("q1"));
    assert_eq!(
        (play.kind("r1b", "dev/a"), row(&play, "r1b", "dev/a")),
        (Kind::Update, Some(KindRow::LateAnswer))
    );
    assert!(play.told("dev/b").contains("closed"), "the sender is told");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.take_up("dev/c");
    play.drop(from("dev/c").to("dev/a").id("r2").reply("q2"));
    play.take_up("dev/a");
    assert_eq!(
        play.given("dev/a"),
        ["r1", "r2", "r1b"],
        "all the answers together, then the news"
    );
}

#[test]
fn asks_to_core_and_to_an_agent_at_once_wait_for_both() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q1"));
    play.drop(from("dev/a").to("core").id("q2"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play.drop(from("core/core").to("dev/a").id("r2"));
    assert_eq!(row(&play, "r2", "dev/a"), Some(KindRow::CoreAnswers));
    assert!(
        play.told("core/core").contains("it answers `q2`"),
        "core is told which"
    );
    assert_eq!(
        play.is("dev/a"),
        Phase::Awaiting,
        "the agent's answer is still owed"
    );
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r1"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r2", "r1"]);
}

#[test]
fn blocked_reaches_core_though_the_row_has_several_targets() {
    let table = "routing:\n  a: { blocked: { b: one, c: two } }";
    let mut play = Play::new(&[&mesh("dev", &["a", "b", "c"], table)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q").status("blocked"));
    play.idle("dev/a");
    assert_eq!(play.kind("q", "core/core"), Kind::AskHuman);
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play.drop(from("core/core").to("dev/a").id("r").reply("q"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
    play.drop(from("dev/a").id("o").to("core").status("complete"));
    play.idle("dev/a");
    play.all_over();
}

#[test]
fn an_ask_to_the_human_survives_a_restart() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    play.restart(&[]);
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    let effects = play.drop(from("core/core").to("dev/a").id("r"));
    assert!(
        effects.iter().any(|e| matches!(
            e,
            Effect::Spawn {
                session: Some(_),
                ..
            }
        )),
        "its session is resumed: {effects:?}"
    );
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
}

#[test]
fn an_answer_does_not_queue_behind_another_task() {
    let mut play = asked();
    play.task("dev/a", "t2");
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t2"]);
}

#[test]
fn a_task_of_core_for_a_worker_that_awaits_the_human_waits() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    play.drop(from("core/core").to("dev/a").id("t2").kind(Kind::Task));
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    assert_eq!(play.ladder("t2", "dev/a"), "accepted queued");
    assert!(play.state.stuck().is_none());
}

#[test]
fn an_ask_after_its_own_outcome_is_answered_before_the_work_is_finished() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    assert!(!play.core_has().contains(&"o".to_owned()));
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r"));
    play.idle("dev/b");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
    play.idle("dev/a");
    assert!(play.core_has().contains(&"o".to_owned()));
    play.all_over();
}

#[test]
fn an_agent_with_open_asks_may_not_finish_and_the_note_comes_with_the_answers() {
    let mut play = asked();
    play.drop(from("dev/a").id("o").status("complete"));
    assert!(play.facts("o").refused.is_some());
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r"));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["a message of yours was refused", "r"]);
}

#[test]
fn an_error_withdraws_the_asks() {
    let mut play = asked();
    play.drop(from("dev/a").id("o").status("error"));
    assert_eq!(
        (play.is("dev/a"), play.step("t", "dev/a")),
        (Phase::Idle, Step::Finished)
    );
    play.take_up("dev/b");
    play.drop(from("dev/b").to("dev/a").id("r"));
    play.idle("dev/b");
    assert_eq!(play.kind("r", "dev/a"), Kind::Update);
}

#[test]
fn an_ask_that_waits_in_a_queue_is_withdrawn_with_the_work() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/b", "tb");
    play.take_up("dev/b");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.drop(from("dev/a").id("o").status("error"));
    assert_eq!(play.step("q", "dev/b"), Step::Refused);
}

#[test]
fn the_time_of_an_ask_runs_only_while_nobody_works_on_it() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/b", "tb");
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    play.idle("dev/a");
    let asked = Timer::Ask(play.facts("q").number, who("dev/b"));
    play.take_up("dev/b");
    play.drop(from("dev/b").id("ob").status("complete"));
    play.idle("dev/b");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["q"]);
    play.until(|timer| *timer == Timer::Silence(who("dev/b")));
    assert_eq!(
        play.is("dev/a"),
        Phase::Awaiting,
        "ten minutes are more than five, but it is worked on"
    );
    play.die("dev/b");
    play.until(|timer| *timer == asked);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["no answer in time"]);
}

#[test]
fn a_late_answer_arrives_as_news() {
    let mut play = asked();
    play.take_up("dev/b");
    play.die("dev/b");
    play.until(|timer| matches!(timer, Timer::Ask(..)));
    assert_eq!(play.is("dev/a"), Phase::Starting);
    play.drop(from("dev/b").to("dev/a").id("r").reply("q"));
    assert_eq!(play.kind("r", "dev/a"), Kind::Update);
}

#[test]
fn a_circle_of_asks_is_broken_at_its_youngest() {
    let mut play = Play::team(&["a", "b", "c"]);
    for (agent, asks) in [("a", "b"), ("b", "c"), ("c", "a")] {
        let agent = format!("dev/{agent}");
        play.task(&agent, &format!("t{agent}"));
        play.take_up(&agent);
        play.drop(
            from(&agent)
                .to(&format!("dev/{asks}"))
                .id(&format!("q{asks}")),
        );
    }
    assert!(
        play.core_has()
            .contains(&"a circle of asks was broken".to_owned())
    );
    assert_eq!(play.step("qa", "dev/a"), Step::Refused, "the youngest");
    play.idle("dev/c");
    play.take_up("dev/c");
    assert_eq!(play.given("dev/c"), ["a circle of asks was broken"]);
    assert_eq!(play.state.asks().count(), 2);
}

#[test]
fn an_ask_whose_work_ends_in_another_way_is_answered_by_that_end() {
    let mut play = asked();
    play.take_up("dev/b");
    play.drop(from("dev/b").to("core").id("o").status("complete"));
    play.idle("dev/b");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["your question has no answer"]);
    assert!(play.told("dev/a").contains("`o` (complete): a message"));
}

#[test]
fn an_ask_whose_work_is_parked_is_answered_by_that() {
    let mut play = asked();
    play.take_up("dev/b");
    play.idle("dev/b");
    play.take_up("dev/b");
    play.idle("dev/b");
    assert_eq!(play.step("q", "dev/b"), Step::Parked);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["no answer will come"]);
}

#[test]
fn a_busy_asker_is_interrupted_after_a_minute() {
    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    let before = play.at;
    play.until(|timer| *timer == Timer::Pause(who("dev/a")));
    assert!(play.at - before >= 60_000);
    assert!(
        play.effects
            .iter()
            .any(|e| matches!(e, Effect::Interrupt { .. }))
    );
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
}

#[test]
fn the_default_is_the_answer_when_the_time_of_the_human_is_over() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let expires = chrono::DateTime::from_timestamp_millis(play.at + 65_000).unwrap();
    play.drop(from("dev/a").to("core").id("q").with(|e| {
        e.default = Some("yes".into());
        e.expires = Some(expires.fixed_offset());
    }));
    play.idle("dev/a");
    play.until(|timer| matches!(timer, Timer::Expires(_)));
    play.take_up("dev/a");
    assert_eq!(
        play.given("dev/a"),
        ["nobody answered: the default is taken"]
    );
    assert_eq!(play.told("dev/a"), "yes");
    assert!(
        play.core_has()
            .contains(&"nobody answered: the default is taken".to_owned())
    );
}

#[test]
fn somebody_elses_ask_cannot_be_answered() {
    let mut play = asked();
    play.drop(from("dev/c").to("dev/a").id("r").reply("q"));
    assert!(play.facts("r").refused.is_some());
    assert_eq!(play.is("dev/a"), Phase::Awaiting);
}

#[test]
fn a_mesh_that_pauses_as_a_whole_takes_nothing_new_until_the_human_answers() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], "on_ask: mesh")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    play.task("dev/b", "tb");
    assert_eq!(play.is("dev/b"), Phase::Idle);
    play.drop(from("core/core").to("dev/a").id("r").reply("q"));
    assert_eq!(play.is("dev/b"), Phase::Starting);
}

#[test]
fn who_asks_with_nothing_in_hand_is_answered_in_a_turn_that_owes_nothing() {
    let mut play = Play::team(&["a"]);
    play.drop(from("dev/a").to("core").id("q"));
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    assert!(play.state.stuck().is_none());
    play.task("dev/a", "r");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["r"]);
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::Idle);
    play.all_over();
}

#[test]
fn an_answer_that_a_died_process_was_given_comes_again() {
    let mut play = asked();
    play.take_up("dev/b");
    play.finish("dev/b", "r");
    play.take_up("dev/a");
    play.die("dev/a");
    play.until(|timer| matches!(timer, Timer::State(_)));
    play.take_up("dev/a");
    assert!(
        play.given("dev/a").contains(&"r".to_owned()),
        "{:?}",
        play.given("dev/a")
    );
}
