//! What makes no command line is nobody's failure.

use super::play::Play;
use crate::engine::{Event, Phase, ProcessExit, Step};

#[test]
fn a_message_that_cannot_be_started_with_is_parked_at_once_and_the_next_is_not() {
    let mut play = Play::team(&["a"]);
    for id in ["t1", "t2", "t3", "t4"] {
        play.task("dev/a", id);
    }
    for id in ["t1", "t2", "t3"] {
        assert_eq!(play.is("dev/a"), Phase::Starting);
        let (pane, why) = (play.pane("dev/a"), "its model is no model".to_owned());
        let exit = ProcessExit::Unstartable { why };
        play.happen(Event::PaneExited { pane, exit });
        assert_eq!(play.step(id, "dev/a"), Step::Parked, "{id}");
        let worker = play.state.worker(&"dev/a".parse().unwrap()).unwrap();
        assert_eq!(worker.failures, 0);
    }
    assert!(play.core_has().contains(&"work was parked".to_owned()));
    assert_eq!(play.is("dev/a"), Phase::Starting, "the next is not held up");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t4"]);
}
