//! The past, judged again under another table.

use super::play::{Msg, Play, from, mesh, who};
use crate::engine::{Event, Judged, LoadedMesh, ProcessExit};
use crate::format::mesh::parse;
use crate::model::Kind;

const TO_B: &str = "routing:\n  a: { complete: { b: go on } }\n";
const TO_CORE: &str = "routing:\n  a: { complete: { core: done } }\n";

fn judged(play: &Play, msg: Msg) -> Judged {
    play.state
        .judge_message(&msg.envelope, &[], &msg.rearmatter, &[])
}

#[test]
fn a_message_is_judged_by_the_table_that_is_there_and_nothing_changes() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], TO_B)]);
    play.task("dev/a", "t");
    play.take_up("dev/a");
    let outcome = || from("dev/a").id("o").status("complete");
    let before = play.state.snapshot();
    let to = |whom: &str| Judged::To(vec![(who(whom), Kind::TaskComplete)]);
    assert_eq!(judged(&play, outcome()), to("dev/b"));
    let refused = judged(&play, from("dev/x").id("o").status("complete"));
    assert_eq!(refused, Judged::Refused("there is no agent `dev/x`".into()));
    assert_eq!(play.state.snapshot(), before);

    let text = mesh("dev", &["a", "b"], TO_CORE);
    let old = play.state.meshes().next().unwrap().clone();
    let new = LoadedMesh {
        mesh: parse(text.as_bytes()).mesh.unwrap(),
        text,
        ..old.clone()
    };
    assert_eq!(play.state.exchange_mesh(new), Some(old));
    assert_eq!(judged(&play, outcome()), to("core/core"));
}

#[test]
fn the_threads_of_an_agent_are_those_of_its_work_or_of_its_last() {
    let mut play = Play::team(&["a"]);
    let threads = |play: &Play| play.state.threads_in_hand(&who("dev/a"));
    assert!(threads(&play).is_empty(), "nothing has come for it");
    play.task("dev/a", "t1");
    play.take_up("dev/a");
    let first = play.facts("t1").number;
    assert_eq!(threads(&play), [first]);
    play.finish("dev/a", "o1");
    assert_eq!(threads(&play), [first], "what it had in hand last");
    play.task("dev/a", "t2");
    play.take_up("dev/a");
    assert_eq!(threads(&play), [play.facts("t2").number]);
}

#[test]
fn a_message_is_of_meshes_that_are_loaded_or_not() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], ""), &mesh("ops", &["x"], "")]);
    let knows = |play: &Play, from_: &str, to: &str| {
        let message = from(from_).to(to);
        play.state.knows_meshes_of(&message.envelope)
    };
    for to in ["dev/b", "ops/x", "core", "b", "ops", "dev/b,ops/x"] {
        assert!(knows(&play, "dev/a", to), "{to}");
    }
    assert!(knows(&play, "core/core", "dev/a"));
    play.happen(Event::MeshRemoved {
        mesh: "ops".parse().unwrap(),
    });
    for to in ["ops/x", "ops", "x", "dev/b,ops/x"] {
        assert!(!knows(&play, "dev/a", to), "{to}");
    }
    assert!(!knows(&play, "ops/x", "dev/a"));
    assert!(play.state.knows(&who("dev/a")) && play.state.knows(&who("core/core")));
    assert!(!play.state.knows(&who("ops/x")) && !play.state.knows(&who("dev/x")));
}

#[test]
fn the_exit_of_a_process_is_judged_only_if_its_work_is_owed_by_it() {
    let agents = ["a prompt: p, runtime: command, run: [x]", "b"];
    let mut play = Play::new(&[&mesh("dev", &agents, TO_B)]);
    let exit = |code: i32| ProcessExit::Code {
        code,
        stdout: String::new(),
        stderr: String::new(),
        rearmatter: Box::default(),
        parts: Vec::new(),
    };
    let judge =
        |play: &Play, who_: &str, exit: &ProcessExit| play.state.judge_exit(&play.pane(who_), exit);
    assert_eq!(judge(&play, "dev/a", &exit(0)), None, "it has no work");
    play.task("dev/a", "t");
    assert_eq!(judge(&play, "dev/a", &exit(0)), None, "it has not begun");
    play.take_up("dev/a");
    let to = |whom: &str| Judged::To(vec![(who(whom), Kind::TaskComplete)]);
    let (id, judged) = judge(&play, "dev/a", &exit(0)).unwrap();
    assert_eq!(judged, to("dev/b"));
    let (_, judged) = judge(&play, "dev/a", &exit(1)).unwrap();
    assert_eq!(judged, to("core/core"), "an error");
    let lost = ProcessExit::Lost { why: "gone".into() };
    assert_eq!(judge(&play, "dev/a", &lost), None);
    let mut older = play.pane("dev/a");
    older.attempt -= 1;
    assert_eq!(play.state.judge_exit(&older, &exit(0)), None);
    let mut asked = play.clone();
    asked.drop(from("dev/a").to("dev/b").id("q"));
    assert_eq!(
        judge(&asked, "dev/a", &exit(0)),
        None,
        "it waits for an answer"
    );
    let mut done = play.clone();
    done.drop(from("dev/a").id("o").status("complete"));
    assert_eq!(judge(&done, "dev/a", &exit(0)), None, "nothing is owed");
    let mut told = play.clone();
    told.reject(Some("dev/a"));
    assert_eq!(judge(&told, "dev/a", &exit(0)), None, "a note waits for it");
    play.exit("dev/a", 0, "text");
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), [id.as_str()]);
    assert_eq!(judge(&play, "dev/b", &exit(0)), None, "it prints nothing");
}
