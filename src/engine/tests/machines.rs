//! Machines: the stage for their sequences, and the kinds of states.

use serde_json::{Value, json};

use super::play::{Msg, Play, from, mesh, who};
use crate::engine::{Effect, Event, Job, JobEnd, JobOwner, JobResult, MachineStatus, Phase, Step};
use crate::model::{Kind, Rearmatter};

/// A mesh `dev` of the agents a, b, c and x with a machine.
pub(super) fn workflow(fsm: &str) -> String {
    named_workflow("dev", fsm)
}

pub(super) fn named_workflow(name: &str, fsm: &str) -> String {
    let fsm: String = fsm.lines().map(|line| format!("  {line}\n")).collect();
    let more = format!("entry_point: a\nfsm:\n{fsm}");
    mesh(name, &["a", "b", "c", "x"], &more)
}

/// Plan, build, and then it is done.
pub(super) const TWO: &str = "\
initial: plan
states:
  plan: {agents: [a], exit: {default: build}}
  build: {agents: [b], exit: {default: done}}
  done: {}
";

pub(super) fn stage(fsm: &str) -> Play {
    Play::new(&[&workflow(fsm)])
}

/// A task for the mesh, and its machine is in its first state.
pub(super) fn begun(fsm: &str) -> Play {
    let mut play = stage(fsm);
    play.task("dev", "t");
    play
}

/// The one machine that is under way.
pub(super) fn machine(play: &Play) -> MachineStatus {
    let mut all = play.state.machines();
    let one = all.next().expect("a machine is under way");
    assert_eq!(all.next(), None, "and no other");
    one
}

pub(super) fn at(play: &Play) -> String {
    machine(play)
        .state
        .map_or(String::new(), |it| it.to_string())
}

pub(super) fn is_over(play: &Play) -> bool {
    play.state.machines().next().is_none()
}

pub(super) fn variable(play: &Play, name: &str) -> String {
    let all = machine(play).variables.into_iter();
    let mut meant = all.filter(|(known, ..)| known.as_str() == name);
    meant.next().map_or("(none)".into(), |(_, text, _)| text)
}

/// A worker takes its stage up, and ends its turn with this outcome.
pub(super) fn gives(play: &mut Play, worker: &str, outcome: Msg) {
    play.take_up(worker);
    play.drop(outcome);
    play.idle(worker);
}

pub(super) fn completes(play: &mut Play, worker: &str, id: &str) {
    gives(play, worker, from(worker).id(id).status("complete"));
}

pub(super) fn says(play: &mut Play, worker: &str, id: &str, rearmatter: Value) {
    let outcome = from(worker).id(id).status("complete").says(rearmatter);
    gives(play, worker, outcome);
}

/// The jobs that were asked for last.
pub(super) fn jobs(play: &Play) -> (JobOwner, u32, Vec<Job>, Vec<(String, String)>) {
    let mut asked = play.effects.iter().filter_map(|effect| match effect {
        Effect::RunJobs {
            owner,
            job,
            jobs,
            env,
            ..
        } => Some((owner.clone(), *job, jobs.clone(), env.clone())),
        _ => None,
    });
    asked.next_back().expect("jobs are asked for")
}

pub(super) fn scripts(play: &Play) -> Vec<String> {
    let (_, _, jobs, _) = jobs(play);
    let text = |job: Job| match job {
        Job::Script { text, .. } => text,
        Job::File { path, .. } => path,
        Job::Gate { .. } | Job::Commit { .. } | Job::Git(_) | Job::Gather { .. } => {
            "another".into()
        }
    };
    jobs.into_iter().map(text).collect()
}

pub(super) fn env(play: &Play, name: &str) -> String {
    let (_, _, _, env) = jobs(play);
    let mut meant = env.into_iter().rev().filter(|(known, _)| known == name);
    meant.next().map_or("(none)".into(), |(_, value)| value)
}

/// The jobs that were asked for last end so.
pub(super) fn jobs_end(play: &mut Play, code: i32, output: &str) -> Vec<Effect> {
    end_jobs(play, JobEnd::Code(code), output)
}

pub(super) fn jobs_fail(play: &mut Play) -> Vec<Effect> {
    let why = "it was killed".into();
    end_jobs(play, JobEnd::Failed { why }, "")
}

fn end_jobs(play: &mut Play, end: JobEnd, output: &str) -> Vec<Effect> {
    let (owner, job, jobs, _) = jobs(play);
    let result = JobResult {
        end,
        output: output.into(),
        rearmatter: Rearmatter::default(),
    };
    play.happen(Event::JobsFinished {
        owner,
        job,
        results: vec![result; jobs.len()],
    })
}

/// What the ladder at the machine says last, with a reason.
pub(super) fn reason(play: &Play, id: &str) -> String {
    let facts = play.facts(id);
    let delivery = facts.delivery_at(&who("dev/dispatch")).unwrap();
    let mut said = delivery.ladder.iter().filter_map(|it| it.why.as_deref());
    said.next_back().unwrap_or_default().to_owned()
}

/// All that the ladder at the machine says.
pub(super) fn reasons(play: &Play, id: &str) -> String {
    let facts = play.facts(id);
    let delivery = facts.delivery_at(&who("dev/dispatch")).unwrap();
    let said = delivery.ladder.iter().filter_map(|it| it.why.as_deref());
    said.collect::<Vec<&str>>().join("; ")
}

pub(super) fn dispatch_step(play: &Play, id: &str) -> Step {
    play.step(id, "dev/dispatch")
}

/// A person gives the item of a dead letter another chance, or gives it up.
pub(super) fn retry(play: &mut Play, id: &str) {
    let facts = play.facts(id);
    let held = play.state.message(facts.number);
    let envelope = held.and_then(|held| held.envelope.clone());
    let envelope = envelope.unwrap_or_else(|| Box::new(from("core/core").id(id).envelope));
    play.command(crate::engine::Command::Retry {
        known: Vec::new(),
        facts: Box::new(facts),
        envelope,
        rearmatter: Rearmatter::default(),
        member: None,
    });
}

pub(super) fn drop_item(play: &mut Play, id: &str) {
    let facts = Box::new(play.facts(id));
    play.command(crate::engine::Command::Drop {
        facts,
        member: None,
    });
}

// The kinds of states.

#[test]
fn a_task_begins_a_machine_and_its_outcomes_move_it() {
    let mut play = begun(TWO);
    assert_eq!(
        play.ladder("t", "dev/dispatch"),
        "accepted queued delivered"
    );
    assert_eq!((at(&play).as_str(), machine(&play).step), ("plan", 1));
    completes(&mut play, "dev/a", "o1");
    assert_eq!((at(&play).as_str(), machine(&play).step), ("build", 2));
    assert_eq!(reason(&play, "o1"), "plan → build: default");
    assert_eq!(
        dispatch_step(&play, "t"),
        Step::Finished,
        "its state is left"
    );
    assert!(!play.is_complete());
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["o1"]);
    play.finish("dev/b", "o2");
    assert!(is_over(&play) && play.is_complete());
    assert!(play.core_has().contains(&"o2".to_owned()));
    let ends = play.facts("t").machines;
    let end = ends.first().unwrap();
    assert_eq!(end.state.as_ref().unwrap().as_str(), "done");
    assert_eq!((end.steps, end.dropped), (3, false));
    play.all_over();
}

#[test]
fn table_says_otherwise_and_is_not_read() {
    let fsm =
        workflow(TWO) + "routing:\n  a: { complete: { x: no } }\n  b: { complete: { x: no } }\n";
    let mut play = Play::new(&[&fsm]);
    play.task("dev", "t");
    let outcome = from("dev/a").id("o1").status("complete").to("x");
    gives(&mut play, "dev/a", outcome);
    assert_eq!(at(&play), "build");
    assert_eq!(play.is("dev/x"), Phase::Idle);
    assert!(
        play.told("dev/a").contains("`x` is not read"),
        "{}",
        play.told("dev/a")
    );
    // What nobody is called is not looked up either.
    let outcome = from("dev/b").id("o2").status("complete").to("nobody");
    gives(&mut play, "dev/b", outcome);
    assert!(is_over(&play));
}

#[test]
fn work_that_core_gives_to_another_agent_goes_by_the_table() {
    let fsm = workflow(TWO) + "routing:\n  b: { complete: { x: go } }\n";
    let mut play = Play::new(&[&fsm]);
    play.task("dev/b", "t");
    assert!(is_over(&play), "no machine begins");
    completes(&mut play, "dev/b", "o");
    play.take_up("dev/x");
    assert_eq!(play.given("dev/x"), ["o"]);
}

#[test]
fn the_mesh_its_entry_point_and_dispatch_all_begin_one_machine() {
    for to in ["dev", "dev/a", "dev/dispatch"] {
        let mut play = stage(TWO);
        play.task(to, "t");
        assert_eq!(at(&play), "plan", "{to}");
        assert_eq!(
            play.facts("t").deliveries.len(),
            2,
            "{to}: the machine and its stage"
        );
    }
}

#[test]
fn first_state_is_a_choice_and_a_chain_of_them_is_one_step_each() {
    let mut play = begun(
        "\
initial: one
states:
  one: {exit: {default: two}}
  two: {exit: {default: plan}}
  plan: {agents: [a], exit: {default: done}}
  done: {}
",
    );
    assert_eq!((at(&play).as_str(), machine(&play).step), ("plan", 3));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t"]);
    play.finish("dev/a", "o");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn first_state_is_last_and_core_does_not_get_its_own_task() {
    let play = begun("initial: done\nstates:\n  done: {}\n");
    assert!(is_over(&play) && play.is_complete());
    assert!(!play.core_has().contains(&"t".to_owned()));
    play.all_over();
}

#[test]
fn first_state_is_core_and_tx_asks_since_core_wrote_the_task() {
    let mut play = begun(CORE_FIRST);
    assert_eq!(at(&play), "ask");
    let asked = play.core_has();
    assert_eq!(asked, ["dev: what follows `ask`?"]);
    assert!(play.told("core/core").contains("status == \"yes\" → plan"));
    let (question, ..) = play.state.asks().next().unwrap();
    let question = play.state.message(question).unwrap().facts.id.to_string();
    play.drop(
        from("core/core")
            .to("dev/dispatch")
            .id("ans")
            .reply(&question)
            .status("yes"),
    );
    assert_eq!(at(&play), "plan");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["ans"]);
    play.finish("dev/a", "o");
    play.all_over();
}

const CORE_FIRST: &str = "\
initial: ask
states:
  ask: {agents: [core], exit: {when: [{condition: 'status == \"yes\"', target: plan}], default: done}}
  plan: {agents: [a], exit: {default: done}}
  done: {}
";

const CORE: &str = "\
initial: plan
states:
  plan: {agents: [a], exit: {default: ask}}
  ask: {agents: [core], exit: {when: [{condition: 'status == \"yes\"', target: build}], default: done}}
  build: {agents: [b], exit: {default: done}}
  done: {}
";

#[test]
fn core_question_answered() {
    let mut play = begun(CORE);
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "ask");
    assert_eq!(play.core_has(), ["o"], "the outcome is the question");
    assert!(play.state.stuck().is_none());
    let answer = from("core/core")
        .to("dev")
        .id("ans")
        .reply("o")
        .status("yes");
    play.drop(answer);
    assert_eq!(at(&play), "build");
    assert_eq!(
        reason(&play, "ans"),
        "ask → build: when 1: status == \"yes\""
    );
    completes(&mut play, "dev/b", "o2");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn the_human_is_told_which_machine_waits_for_the_answer() {
    for (machine, question) in [(CORE, "o"), (CORE_FIRST, "dev: what follows `ask`?")] {
        let mut play = begun(machine);
        if machine == CORE {
            completes(&mut play, "dev/a", "o");
        }
        let askers: Vec<_> = play
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::NotifyHuman {
                    number,
                    kind: Kind::AskHuman,
                    asker,
                    ..
                } => Some((play.name(*number), asker.clone())),
                _ => None,
            })
            .collect();
        assert_eq!(askers, [(question.to_owned(), Some(who("dev/dispatch")))]);
    }
}

#[test]
fn core_question_is_answered_by_complete_without_a_word() {
    let mut play = begun(CORE);
    completes(&mut play, "dev/a", "o");
    play.drop(from("core/core").to("dev/a").id("ans").reply("o"));
    assert!(is_over(&play) && play.is_complete());
    play.all_over();
}

#[test]
fn core_question_expired_takes_the_default() {
    let mut play = begun(CORE);
    let expires = chrono::DateTime::from_timestamp_millis(play.at + 100_000).unwrap();
    let outcome = from("dev/a").id("o").status("complete").with(|envelope| {
        envelope.expires = Some(expires.fixed_offset());
        envelope.default = Some("go on".into());
    });
    gives(&mut play, "dev/a", outcome);
    assert_eq!(at(&play), "ask");
    play.until(|timer| matches!(timer, crate::engine::Timer::Expires(_)));
    assert!(
        is_over(&play),
        "the default has no word of its own: `complete`"
    );
    assert!(play.is_complete());
}

#[test]
fn a_new_task_while_a_core_question_is_open_begins_another_machine() {
    let mut play = begun(CORE);
    completes(&mut play, "dev/a", "o");
    play.task("dev", "t2");
    let states: Vec<String> = play
        .state
        .machines()
        .filter_map(|it| Some(it.state?.to_string()))
        .collect();
    assert_eq!(states, ["ask", "plan"]);
}

#[test]
fn task_to_the_mesh_while_its_entry_point_asks_core_is_no_answer() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    play.drop(from("dev/a").to("core").id("q"));
    play.idle("dev/a");
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman);
    play.task("dev", "t2");
    assert_eq!(play.state.machines().count(), 2);
    assert_eq!(play.is("dev/a"), Phase::AwaitingHuman, "it is not answered");
    // A word to the agent itself is its answer, as ever.
    play.drop(from("core/core").to("dev/a").id("ans"));
    assert_eq!(play.facts("ans").deliveries[0].to, who("dev/a"));
    play.take_up("dev/a");
    play.finish("dev/a", "o");
    assert_eq!(play.state.machines().count(), 2);
}

#[test]
fn a_core_state_without_conditions_tells_core_and_moves_on() {
    let mut play = begun(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {default: tell}}
  tell: {agents: [core], exit: {default: build}}
  build: {agents: [b], exit: {default: done}}
  done: {}
",
    );
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "build");
    assert_eq!(play.core_has(), ["o"]);
    assert!(!play.is_complete());
    play.take_up("dev/b");
    assert_eq!(play.given("dev/b"), ["o"]);
}

#[test]
fn asks_for_the_mesh_go_to_its_entry_point() {
    let mut play = Play::new(&[&workflow(TWO), &mesh("ops", &["o"], "")]);
    play.task("ops/o", "t");
    play.take_up("ops/o");
    play.drop(from("ops/o").to("dev").id("q"));
    assert!(is_over(&play));
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["q"]);
}

#[test]
fn terminal_with_an_agent_is_an_ordinary_hand_over() {
    let fsm = workflow(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {default: done}}
  done: {agents: [b], terminal: true}
",
    );
    let mut play = Play::new(&[&(fsm + "routing:\n  b: { complete: { x: go } }\n")]);
    play.task("dev", "t");
    completes(&mut play, "dev/a", "o");
    assert!(is_over(&play), "the machine ends");
    assert!(!play.is_complete());
    completes(&mut play, "dev/b", "o2");
    play.take_up("dev/x");
    assert_eq!(
        play.given("dev/x"),
        ["o2"],
        "last state with agents goes by the table"
    );
    play.finish("dev/x", "o3");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn self_loop_gives_input_and_latest_outcome_only() {
    let mut play = begun(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {when: [{condition: 'signal == PASS', target: done}], default: plan}}
  done: {}
",
    );
    completes(&mut play, "dev/a", "o1");
    assert_eq!(machine(&play).visit, 2);
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t", "o1"]);
    play.finish("dev/a", "o2");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t", "o2"]);
    assert_eq!(dispatch_step(&play, "o1"), Step::Finished);
    play.drop(
        from("dev/a")
            .id("o3")
            .status("complete")
            .says(json!({"signal": "PASS"})),
    );
    play.idle("dev/a");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn two_states_in_a_row_of_one_agent() {
    let mut play = begun(
        "\
initial: one
states:
  one: {agents: [a], exit: {default: two}}
  two: {agents: [a], exit: {default: done}}
  done: {}
",
    );
    completes(&mut play, "dev/a", "o1");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["o1"], "its own outcome wakes it");
    play.finish("dev/a", "o2");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn custom_word_is_an_ordinary_word() {
    let mut play = begun(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {when: [{condition: 'status == approved', target: done}], default: plan}}
  done: {}
",
    );
    gives(&mut play, "dev/a", from("dev/a").id("o").status("rejected"));
    assert_eq!(machine(&play).visit, 2);
    gives(
        &mut play,
        "dev/a",
        from("dev/a").id("o2").status("approved"),
    );
    assert!(play.is_complete());
}

const ENSEMBLE: &str = "\
initial: plan
states:
  plan: {agents: [a], exit: {default: review}}
  review:
    ensemble: {agents: [b, c], fault_tolerance: {min_success_count: 1}}
    exit: {set: {found: $ENSEMBLE_OUTPUT}, default: build}
  build: {agents: [x], exit: {default: done}}
  done: {}
";

#[test]
fn an_ensemble_joins_at_the_machine() {
    let mut play = begun(ENSEMBLE);
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "review");
    assert_eq!(machine(&play).members.len(), 2);
    for member in ["dev/b", "dev/c"] {
        play.take_up(member);
        assert_eq!(play.given(member), ["o"]);
    }
    play.finish("dev/c", "rc");
    assert_eq!(at(&play), "review");
    play.finish("dev/b", "rb");
    assert_eq!(at(&play), "build");
    assert_eq!(variable(&play, "found"), "rb rc");
    play.take_up("dev/x");
    assert_eq!(play.given("dev/x"), ["rb", "rc"]);
    play.finish("dev/x", "end");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn an_ensemble_with_one_error_goes_on_with_enough() {
    let mut play = begun(ENSEMBLE);
    completes(&mut play, "dev/a", "o");
    gives(&mut play, "dev/b", from("dev/b").id("eb").status("error"));
    completes(&mut play, "dev/c", "rc");
    assert_eq!(at(&play), "build");
    play.take_up("dev/x");
    assert_eq!(play.given("dev/x"), ["rc", "eb"]);
}

#[test]
fn a_member_that_is_parked_is_finished_when_the_machine_goes_on_without_it() {
    let mut play = begun(ENSEMBLE);
    completes(&mut play, "dev/a", "o");
    play.take_up("dev/b");
    play.park("dev/b");
    completes(&mut play, "dev/c", "rc");
    assert_eq!(at(&play), "build");
    assert!(!play.facts("o").is_dead_letter(), "joined without it");
    // What it says after that moves nothing.
    play.drop(from("dev/b").id("rb").status("complete"));
    assert_eq!(at(&play), "build");
    assert_eq!(reason(&play, "rb"), "recorded: its member is closed");
}

#[test]
fn a_short_ensemble_is_retried_as_a_whole_item() {
    let all = ENSEMBLE.replace("min_success_count: 1", "min_success_count: 2");
    let mut play = begun(&all);
    completes(&mut play, "dev/a", "o");
    gives(&mut play, "dev/b", from("dev/b").id("eb").status("error"));
    completes(&mut play, "dev/c", "rc");
    assert_eq!(at(&play), "review");
    assert!(
        machine(&play)
            .waits_for
            .contains("needs 2 results, and has 1")
    );
    assert_eq!(
        machine(&play).command.unwrap(),
        "tx dlq retry o.N  (or: tx dlq drop o.N)"
    );
    play.of_member("o", 0, true);
    completes(&mut play, "dev/b", "rb");
    assert_eq!(at(&play), "build");
    play.take_up("dev/x");
    assert_eq!(play.given("dev/x"), ["rb", "rc"]);
}

#[test]
fn first_state_is_ensemble() {
    let mut play = begun(
        "\
initial: review
states:
  review: {ensemble: {agents: [b, c]}, exit: {default: done}}
  done: {}
",
    );
    completes(&mut play, "dev/b", "rb");
    completes(&mut play, "dev/c", "rc");
    assert!(play.is_complete());
    assert!(
        ["rb", "rc"]
            .iter()
            .all(|id| play.core_has().contains(&(*id).to_owned()))
    );
    play.all_over();
}

#[test]
fn ensemble_is_last_and_its_results_are_the_result() {
    let mut play = begun(
        "\
initial: plan
states:
  plan: {agents: [a], exit: {default: review}}
  review: {ensemble: {agents: [b, c]}}
",
    );
    completes(&mut play, "dev/a", "o");
    completes(&mut play, "dev/b", "rb");
    assert!(!play.is_complete());
    completes(&mut play, "dev/c", "rc");
    assert!(is_over(&play) && play.is_complete());
    play.all_over();
}

#[test]
fn a_member_with_a_part_gets_it() {
    let mut play = begun(ENSEMBLE);
    let outcome = from("dev/a").id("o").status("complete").parts(&[1, 2]);
    gives(&mut play, "dev/a", outcome);
    let facts = play.facts("o");
    let parts: Vec<Option<u32>> = facts
        .deliveries
        .iter()
        .filter_map(|delivery| Some(delivery.member()?.part))
        .collect();
    assert_eq!(parts, [Some(1), Some(2)]);
}

#[test]
fn parts_that_are_expected_and_missing_are_warned_of() {
    let fsm = ENSEMBLE.replace("plan: {", "plan: {subtask: true, ");
    let mut play = begun(&fsm);
    completes(&mut play, "dev/a", "o");
    assert!(
        play.told("dev/a").contains("SUBTASK 1"),
        "{}",
        play.told("dev/a")
    );
}

#[test]
fn parts_are_expected_only_before_an_ensemble() {
    let mut play = begun(&TWO.replace("plan: {", "plan: {subtask: true, "));
    completes(&mut play, "dev/a", "o");
    assert_eq!(
        (at(&play).as_str(), play.told("dev/a").as_str()),
        ("build", "")
    );
}

#[test]
fn the_last_agent_that_has_the_task_already_gets_it_once() {
    let mut play = stage("initial: done\nstates:\n  done: {agents: [x]}\n");
    play.task("dev,dev/x", "t");
    play.take_up("dev/x");
    assert_eq!(play.given("dev/x"), ["t"]);
    play.finish("dev/x", "o");
    assert_eq!(play.is("dev/x"), Phase::Idle);
    assert!(is_over(&play));
    play.all_over();
}

#[test]
fn an_author_is_told_that_its_recipient_is_not_read() {
    for (to, read) in [
        ("dev", true),
        ("dev/dispatch", true),
        ("dev/x", false),
        ("x", false),
        ("ops/dispatch", false),
    ] {
        let mut play = Play::new(&[&workflow(TWO), &named_workflow("ops", TWO)]);
        play.task("dev", "t");
        play.take_up("dev/a");
        play.drop(from("dev/a").to(to).id("o").status("complete"));
        assert!(play.facts("o").refused.is_none());
        let told = play.told("dev/a").contains("is not read");
        assert_eq!(told, !read, "{to}");
    }
}

#[test]
fn what_a_variable_holds_stays_until_its_machine_ends() {
    let check = "check}}\n  check: {agents: [a], exit: {default: done}}";
    let fsm = ENSEMBLE.replace(
        "build: {agents: [x], exit: {default: done}}",
        &format!("build: {{agents: [x], exit: {{default: {check}"),
    );
    let mut play = begun(&fsm);
    completes(&mut play, "dev/a", "o");
    completes(&mut play, "dev/b", "rb");
    completes(&mut play, "dev/c", "rc");
    completes(&mut play, "dev/x", "ox");
    assert_eq!(at(&play), "check");
    assert_eq!(variable(&play, "found"), "rb rc");
    completes(&mut play, "dev/a", "end");
    play.all_over();
}
