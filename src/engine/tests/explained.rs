//! What people read when they ask why something waits.

use super::play::{Play, Verdict, from, mesh, who};
use crate::engine::{Event, Phase, Sent, Step};
use crate::model::Kind;

fn waits(play: &Play, id: &str) -> String {
    play.state.waiting_for(play.facts(id).number).join("; ")
}

fn does(play: &Play, worker: &str) -> String {
    play.state.worker_waits_for(&who(worker))
}

#[test]
fn a_message_says_what_it_waits_for() {
    let mut play = Play::team(&["a", "b", "c"]);
    play.task("dev/a", "t");
    assert_eq!(
        waits(&play, "t"),
        "dev/a, which has it in hand: its process is starting"
    );
    play.take_up("dev/a");
    play.task("dev/a", "t2");
    play.task("dev/a", "t3");
    assert_eq!(
        (waits(&play, "t2"), waits(&play, "t3")),
        (
            "dev/a (it is next): it works on “a message” (`t`)".into(),
            "dev/a (1 before it): it works on “a message” (`t`)".into()
        )
    );
    play.drop(from("dev/a").to("dev/b").id("q"));
    assert_eq!(
        waits(&play, "q"),
        "dev/b, which has it in hand: its process is starting"
    );
    play.drop(from("dev/a").to("core").id("h"));
    assert_eq!(waits(&play, "h"), "an answer of the human");
    play.drop(from("dev/a").to("dev/c").id("u").kind(Kind::Update));
    assert_eq!(
        waits(&play, "u"),
        "the next turn of dev/c: an update does not wake it"
    );
    // Its turn is over, and one of its two answers has come.
    play.idle("dev/a");
    play.drop(from("core/core").to("dev/a").id("r").reply("h"));
    assert_eq!(
        waits(&play, "r"),
        "the next turn of dev/a: it has asked: “a message” (`q`) of dev/b"
    );
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    assert_eq!(
        waits(&play, "o"),
        "the end of the turn of dev/a, whose outcome it is"
    );
}

#[test]
fn a_worker_says_what_it_does_while_it_has_work() {
    let mut play = Play::new(&[]);
    play.load(&mesh("dev", &["a", "b"], ""), true);
    assert_eq!(does(&play, "dev/a"), "it has had no work yet");
    play.task("dev/a", "t");
    play.ready("dev/a");
    assert_eq!(does(&play, "dev/a"), "its work is being delivered");
    play.not_delivered("dev/a", Sent::Perhaps);
    assert!(does(&play, "dev/a").starts_with("its work may have been delivered"));
    play.delivered("dev/a");
    assert_eq!(does(&play, "dev/a"), "it works on “a message” (`t`)");
    play.ask("dev/a");
    assert_eq!(does(&play, "dev/a"), "it asks for permission in its pane");
    play.busy("dev/a");
    play.limit("dev/a", 3_600_000);
    assert_eq!(
        does(&play, "dev/a"),
        "its account has hit its limit, until 1970-01-01T01:00:00Z"
    );
    play.busy("dev/a");
    play.drop(from("dev/a").id("o").status("complete"));
    play.idle("dev/a");
    assert_eq!(
        does(&play, "dev/a"),
        "its outcome is being checked (sent back 0 times so far)"
    );
    play.verdict("dev/a", Verdict::Pass);
    assert_eq!(does(&play, "dev/a"), "nothing waits for it");
    play.busy_with("dev/a", None);
    assert_eq!(does(&play, "dev/a"), "it is busy with something else");
}

#[test]
fn a_process_that_lives_for_one_turn_has_its_work_from_its_start() {
    let agent = "a prompt: p, runtime: claude, mode: turn";
    let mut play = Play::new(&[&mesh("dev", &[agent], "")]);
    play.task("dev/a", "t");
    assert_eq!(does(&play, "dev/a"), "its process is starting");
    let (pane, session) = (play.pane("dev/a"), None);
    play.happen(Event::PaneStarted { pane, session });
    assert_eq!(does(&play, "dev/a"), "its work is being delivered");
}

#[test]
fn a_worker_that_fails_says_when_it_is_tried_again() {
    let mut play = Play::team(&["a"]);
    play.task("dev/a", "t");
    play.at = 3_600_000;
    play.next_time();
    assert_eq!(
        does(&play, "dev/a"),
        "its process is being ended: its work could not be given in time"
    );
    play.die("dev/a");
    let told = does(&play, "dev/a");
    assert!(
        told.starts_with("attempt 1 of its work failed; it is tried again at 1970-01-01T01:00:0"),
        "{told}"
    );
    while play.step("t", "dev/a") != Step::Parked {
        play.next_time();
        play.die("dev/a");
    }
    let told = does(&play, "dev/a");
    assert!(
        told.starts_with("it failed 3 times in a row, and is left alone until 1970"),
        "{told}"
    );
}

#[test]
fn a_worker_says_why_it_takes_nothing() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], "on_ask: mesh")]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    assert_eq!(
        does(&play, "dev/a"),
        "it has asked: “a message” (`q`) of core/core"
    );
    play.task("dev/b", "tb");
    assert_eq!(
        does(&play, "dev/b"),
        "its mesh is paused: somebody in it waits for the human"
    );
    // A person stops it as well: that is what a person can undo.
    play.stop("dev/b");
    assert_eq!(
        does(&play, "dev/b"),
        "a person stopped it: `tx worker restart dev/b` continues it"
    );
    play.restart_worker("dev/b");
    play.drop(from("core/core").to("dev/a").id("r").reply("q"));
    assert_eq!(play.is("dev/b"), Phase::Starting);
    play.stop("dev/b");
    assert!(
        does(&play, "dev/b").starts_with("its process is being ended"),
        "it is not stopped yet"
    );

    let mut play = Play::team(&["a", "b"]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    play.task("dev/a", "t2");
    play.load(&mesh("dev", &["a", "b"], "disable: true"), false);
    play.finish("dev/a", "o");
    assert_eq!(does(&play, "dev/a"), "its mesh is disabled");
    play.exit("dev/a", 0, "");
    play.load(&mesh("dev", &["b"], ""), false);
    assert_eq!(does(&play, "dev/a"), "it is no longer in its mesh");
}

#[test]
fn agents_are_those_of_the_meshes_and_those_that_were_removed() {
    let mut play = Play::team(&["b", "a", "c"]);
    play.task("dev/c", "t");
    play.drop(from("dev/c").to("core").id("u").kind(Kind::Update));
    play.load(&mesh("dev", &["b", "a"], ""), false);
    let agents = |play: &Play| -> Vec<String> {
        let agents = play.state.agents();
        agents.map(|agent| agent.to_string()).collect()
    };
    assert_eq!(agents(&play), ["dev/a", "dev/b", "dev/c"]);
    play.happen(Event::MeshRemoved {
        mesh: "dev".parse().unwrap(),
    });
    assert_eq!(agents(&play), ["dev/c"], "it has had something to do");
}

#[test]
fn the_steps_of_what_is_unfinished_are_counted() {
    let mut play = Play::team(&["a"]);
    for id in ["t1", "t2", "t3"] {
        play.task("dev/a", id);
    }
    assert_eq!(
        play.state.at_steps(),
        [(Step::Queued, 2), (Step::Leased, 1)]
    );
}
