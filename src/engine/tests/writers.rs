//! Who wrote a file that does not say so in full.

use std::collections::BTreeMap;

use chrono::DateTime;

use super::play::{Play, from, mesh, who};
use crate::engine::Unsigned;
use crate::model::Address;

fn unsigned(name: &str) -> Unsigned {
    Unsigned {
        name: name.parse().ok(),
        bytes: Vec::new(),
        modified: DateTime::default(),
        turns: BTreeMap::new(),
    }
}

fn at_work(play: &mut Play, agent: &str) {
    play.task(agent, &agent.replace('/', "-"));
    play.take_up(agent);
}

#[test]
fn it_is_the_only_one_in_a_turn_or_the_only_one_of_that_name() {
    let mut play = Play::new(&[&mesh("dev", &["a", "b"], ""), &mesh("lab", &["a"], "")]);
    let all = |names: &[&str]| -> Vec<Address> { names.iter().map(|n| who(n)).collect() };
    assert_eq!(play.state.writer(&unsigned("")), Err(vec![]));
    assert_eq!(play.state.writer(&unsigned("a")), Err(vec![]));
    at_work(&mut play, "dev/a");
    assert_eq!(play.state.writer(&unsigned("")), Ok(who("dev/a")));
    assert_eq!(play.state.writer(&unsigned("a")), Ok(who("dev/a")));
    assert_eq!(play.state.writer(&unsigned("b")), Err(vec![]));
    at_work(&mut play, "dev/b");
    let both = Err(all(&["dev/a", "dev/b"]));
    assert_eq!(play.state.writer(&unsigned("")), both);
    assert_eq!(play.state.writer(&unsigned("b")), Ok(who("dev/b")));
    at_work(&mut play, "lab/a");
    let named = Err(all(&["dev/a", "lab/a"]));
    assert_eq!(play.state.writer(&unsigned("a")), named);
}

#[test]
fn a_turn_lasts_from_its_delivery_to_its_end() {
    let mut play = Play::team(&["a", "b"]);
    let a = || Ok(who("dev/a"));
    play.task("dev/a", "t");
    let none = Err(vec![]);
    assert_eq!(play.state.writer(&unsigned("")), none, "its pane comes up");
    play.take_up("dev/a");
    assert_eq!(play.state.writer(&unsigned("")), a());
    play.ask("dev/a");
    assert_eq!(play.state.writer(&unsigned("")), a(), "with a dialog too");
    play.busy("dev/a");
    play.limit("dev/a", play.at + 1000);
    assert_eq!(play.state.writer(&unsigned("")), a(), "and with a limit");
    play.busy("dev/a");
    play.drop(from("dev/a").to("dev/b").id("q"));
    assert_eq!(play.state.writer(&unsigned("")), a(), "an ask ends no turn");
    play.idle("dev/a");
    assert_eq!(play.state.writer(&unsigned("")), none, "it waits");
}

#[test]
fn what_was_written_before_its_work_was_given_is_not_by_it() {
    let mut play = Play::team(&["a"]);
    at_work(&mut play, "dev/a");
    let turn = play.turn("dev/a");
    for (by_then, expected) in [
        (turn, Ok(who("dev/a"))),
        (turn + 1, Ok(who("dev/a"))),
        (turn - 1, Err(vec![])),
    ] {
        let mut file = unsigned("");
        file.turns.insert(who("dev/a"), by_then);
        assert_eq!(play.state.writer(&file), expected, "{by_then}");
    }
}
