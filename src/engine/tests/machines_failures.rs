//! Machines: limits, crashes, meshes that change, and what a person decides.

use super::machines::*;
use super::play::{Play, from, mesh, who};
use crate::engine::{Effect, Event, JobOwner, JobResult, Phase, Step, Timer};
use crate::model::Rearmatter;

const LOOP: &str = "\
initial: plan
max_steps: 3
states:
  plan: {agents: [a], exit: {when: [{condition: 'status == done', target: done}], default: plan}}
  done: {}
";

#[test]
fn max_steps_parks_and_a_retry_grants_one_more() {
    let mut play = begun(LOOP);
    for id in ["o1", "o2"] {
        completes(&mut play, "dev/a", id);
    }
    completes(&mut play, "dev/a", "o3");
    assert_eq!(
        (machine(&play).step, dispatch_step(&play, "o3")),
        (3, Step::Parked)
    );
    assert!(machine(&play).waits_for.contains("max_steps: 3"));
    retry(&mut play, "o3");
    assert_eq!(machine(&play).step, 4);
    completes(&mut play, "dev/a", "o4");
    assert_eq!(dispatch_step(&play, "o4"), Step::Parked, "one, and no more");
    drop_item(&mut play, "o4");
    assert!(is_over(&play) && !play.is_complete());
    play.all_over();
}

#[test]
fn an_endless_chain_of_choices_ends_at_max_steps() {
    let play = begun(
        "initial: one\nmax_steps: 9000\nstates:\n  one: {exit: {default: two}}\n  two: {exit: {default: one}}\n",
    );
    assert_eq!(machine(&play).step, 9000);
    assert_eq!(dispatch_step(&play, "t"), Step::Parked);
}

#[test]
fn the_steps_of_a_machine_and_not_its_hops_bound_the_chain() {
    let mut play = begun(&LOOP.replace("max_steps: 3", "max_steps: 100"));
    for n in 0..60 {
        completes(&mut play, "dev/a", &format!("o{n}"));
    }
    assert_eq!(machine(&play).step, 61);
    assert_eq!(play.facts("o59").hops, 1);
}

#[test]
fn over_budget_is_parked_at_the_machine_and_a_retry_grants_one_more() {
    for retried in [true, false] {
        let text = workflow(TWO) + "max_mesh_messages: 1\n";
        let mut play = Play::new(&[&text]);
        play.task("dev", "t");
        completes(&mut play, "dev/a", "o1");
        completes(&mut play, "dev/b", "o2");
        assert_eq!(
            (at(&play).as_str(), dispatch_step(&play, "o2")),
            ("build", Step::Parked)
        );
        assert_eq!(play.is("dev/b"), Phase::Idle, "its work is done");
        assert!(!play.is_complete() && play.state.stuck().is_none());
        if retried {
            retry(&mut play, "o2");
            assert!(is_over(&play) && play.is_complete());
        } else {
            drop_item(&mut play, "o2");
            assert!(is_over(&play) && !play.is_complete());
        }
        play.all_over();
    }
}

const JOBS: &str = "\
initial: plan
context: {word: ''}
scripts: {pick: 'echo build'}
states:
  plan: {agents: [a], exit: {set: {word: '$(date | wc -c)'}, run: pick, default: build}}
  build: {agents: [b], entry: {gates: [pick], run: pick}, exit: {default: done}}
  done: {}
";

#[test]
fn three_errors_of_a_job_park_the_change() {
    let mut play = begun(JOBS);
    completes(&mut play, "dev/a", "o");
    let mut numbers = Vec::new();
    for _ in 0..3 {
        numbers.push(jobs(&play).1);
        jobs_fail(&mut play);
    }
    assert_eq!(numbers, [1, 2, 3]);
    assert_eq!(dispatch_step(&play, "o"), Step::Parked);
    retry(&mut play, "o");
    assert_eq!(jobs(&play).1, 4);
    for _ in 0..4 {
        jobs_end(&mut play, 0, "");
    }
    assert_eq!(at(&play), "build");
}

#[test]
fn a_job_that_is_never_told_of_is_an_error_in_time() {
    let mut play = begun(JOBS);
    completes(&mut play, "dev/a", "o");
    for _ in 0..3 {
        play.until(|timer| matches!(timer, Timer::Job(_)));
    }
    assert_eq!(dispatch_step(&play, "o"), Step::Parked);
}

/// Crash before, during, after each job: kill at every record.
#[test]
fn a_crash_at_every_record_ends_in_the_same_place() {
    for killed in 0..12 {
        let mut play = begun(JOBS);
        completes(&mut play, "dev/a", "o");
        for record in 0..4 {
            if record == killed {
                // Before its result is told: the same jobs are asked for by the same number.
                let before = jobs(&play);
                play.restart(&[("dev/a", 1)]);
                assert_eq!(jobs(&play), before);
            }
            jobs_end(&mut play, 0, "");
            if record + 6 == killed {
                play.restart(&[("dev/a", 1)]);
            }
        }
        assert_eq!(
            (at(&play).as_str(), machine(&play).step),
            ("build", 2),
            "{killed}"
        );
        completes(&mut play, "dev/b", "o2");
        assert!(play.is_complete());
    }
}

#[test]
fn a_result_with_an_old_job_number_changes_nothing() {
    let mut play = begun(JOBS);
    completes(&mut play, "dev/a", "o");
    let (owner, job, ..) = jobs(&play);
    jobs_fail(&mut play);
    let before = play.state.clone();
    let effects = play.happen(Event::JobsFinished {
        owner,
        job,
        results: vec![JobResult::of(
            crate::engine::JobEnd::Code(0),
            "build".into(),
        )],
    });
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(
        play.state.machines().collect::<Vec<_>>(),
        before.machines().collect::<Vec<_>>()
    );
    let nobody = JobOwner::Machine(crate::engine::MachineId {
        begun: crate::engine::MessageNo(99),
        mesh: "dev".parse().unwrap(),
    });
    play.happen(Event::JobsFinished {
        owner: nobody,
        job: 1,
        results: Vec::new(),
    });
}

#[test]
fn reload_with_the_state_changed_decides_by_the_newest() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    play.load(&workflow("initial: plan\nstates:\n  plan: {agents: [a], exit: {default: check}}\n  check: {agents: [c], exit: {default: done}}\n  done: {}\n"), false);
    play.finish("dev/a", "o");
    assert_eq!(at(&play), "check");
}

#[test]
fn reload_with_the_state_gone_parks_the_outcome_and_back_again_goes_on() {
    let mut play = begun(TWO);
    completes(&mut play, "dev/a", "o");
    play.take_up("dev/b");
    play.load(
        &workflow(
            "initial: plan\nstates:\n  plan: {agents: [a], exit: {default: done}}\n  done: {}\n",
        ),
        false,
    );
    play.finish("dev/b", "o2");
    assert_eq!(
        (at(&play).as_str(), dispatch_step(&play, "o2")),
        ("build", Step::Parked)
    );
    assert!(
        machine(&play)
            .waits_for
            .contains("the state `build` does not exist")
    );
    play.load(&workflow(TWO), false);
    retry(&mut play, "o2");
    assert!(is_over(&play) && play.is_complete());
    play.all_over();
}

#[test]
fn reload_with_fsm_gone_parks_the_outcome_and_back_again_goes_on() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    play.load(
        &mesh("dev", &["a", "b", "c", "x"], "entry_point: a\n"),
        false,
    );
    play.finish("dev/a", "o");
    assert_eq!(
        (at(&play).as_str(), dispatch_step(&play, "o")),
        ("plan", Step::Parked)
    );
    play.load(&workflow(TWO), false);
    retry(&mut play, "o");
    assert_eq!(at(&play), "build");
}

#[test]
fn reload_during_a_script_starts_the_change_again() {
    let mut play = begun(JOBS);
    completes(&mut play, "dev/a", "o");
    jobs_end(&mut play, 0, "7");
    let (owner, job, ..) = jobs(&play);
    play.load(&workflow(JOBS), false);
    assert_eq!(jobs(&play).1, job + 1);
    assert_eq!(scripts(&play), ["date | wc -c"], "from its first job");
    play.happen(Event::JobsFinished {
        owner,
        job,
        results: vec![JobResult::of(
            crate::engine::JobEnd::Code(0),
            "build".into(),
        )],
    });
    assert_eq!(at(&play), "plan", "the old result is late");
    for _ in 0..4 {
        jobs_end(&mut play, 0, "");
    }
    assert_eq!(at(&play), "build");
}

#[test]
fn reload_gives_new_variables_their_first_value() {
    let mut play = begun(TWO);
    play.load(&workflow(&format!("context: {{fresh: 7}}\n{TWO}")), false);
    assert_eq!(variable(&play, "fresh"), "7");
}

#[test]
fn an_agent_that_is_gone_parks_the_stage_and_a_retry_goes_to_the_newest() {
    let mut play = stage(TWO);
    play.stop("dev/a");
    play.task("dev", "t");
    let fsm = "initial: plan\nstates:\n  plan: {agents: [c], exit: {default: done}}\n  done: {}\n";
    let more = format!(
        "entry_point: c\nfsm:\n{}",
        fsm.lines().map(|l| format!("  {l}\n")).collect::<String>()
    );
    play.load(&mesh("dev", &["b", "c", "x"], &more), false);
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    assert!(machine(&play).waits_for.contains("removed from its mesh"));
    retry(&mut play, "t");
    completes(&mut play, "dev/c", "o");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn a_machine_without_a_first_state_parks_its_tasks() {
    let mut play = begun(
        "initial: nowhere\nstates:\n  plan: {agents: [a], exit: {default: done}}\n  done: {}\n",
    );
    assert_eq!(dispatch_step(&play, "t"), Step::Parked);
    assert!(machine(&play).waits_for.contains("TX0420"));
    play.load(&workflow(TWO), false);
    retry(&mut play, "t");
    assert_eq!(at(&play), "plan");
}

#[test]
fn retry_of_a_stage_with_several_messages_gives_all_of_them() {
    let mut play = begun(LOOP);
    completes(&mut play, "dev/a", "o1");
    play.take_up("dev/a");
    play.park("dev/a");
    for id in ["t", "o1"] {
        let facts = play.facts(id);
        assert!(facts.is_dead_letter(), "{id}");
    }
    retry(&mut play, "o1");
    play.take_up("dev/a");
    assert_eq!(play.given("dev/a"), ["t", "o1"]);
    assert!(!play.facts("t").is_dead_letter());
    gives_end(&mut play);
    play.all_over();
}

fn gives_end(play: &mut Play) {
    play.drop(from("dev/a").id("end").status("done"));
    play.idle("dev/a");
    assert!(play.is_complete());
}

#[test]
fn retry_after_the_machine_ended_is_refused() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    play.park("dev/a");
    let dead = play.facts("t");
    assert_eq!(play.state.not_retried(&dead), None);
    play.drop(from("dev/a").id("late").status("complete"));
    completes(&mut play, "dev/b", "o2");
    assert!(is_over(&play));
    assert_eq!(play.state.not_retried(&dead), Some("its machine has ended"));
    let before = play.state.open_messages().count();
    play.command(crate::engine::Command::Retry {
        known: Vec::new(),
        facts: Box::new(dead),
        envelope: Box::new(from("core/core").id("t").envelope),
        rearmatter: Rearmatter::default(),
        member: None,
    });
    assert_eq!(play.state.open_messages().count(), before);
    assert_eq!(play.is("dev/a"), Phase::Idle);
}

#[test]
fn a_stage_is_adopted_after_a_restart() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    play.restart(&[("dev/a", 1)]);
    play.finish("dev/a", "o");
    assert_eq!(at(&play), "build");
}

#[test]
fn a_disabled_mesh_and_a_stopped_worker_only_wait() {
    let mut play = stage(TWO);
    play.stop("dev/a");
    play.task("dev", "t");
    assert_eq!(at(&play), "plan");
    assert!(play.state.stuck().is_none());
    play.restart_worker("dev/a");
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "build");
}

#[test]
fn jobs_that_run_when_a_machine_is_dropped_are_late() {
    let mut play = begun(JOBS);
    completes(&mut play, "dev/a", "o");
    assert!(matches!(jobs(&play).0, JobOwner::Machine(_)));
    for _ in 0..3 {
        jobs_fail(&mut play);
    }
    drop_item(&mut play, "o");
    assert!(is_over(&play));
    jobs_end(&mut play, 0, "build");
    play.all_over();
    let asks = |effect: &&Effect| matches!(effect, Effect::RunJobs { .. });
    assert_eq!(play.effects.iter().filter(asks).count(), 3);
    assert_eq!(play.step("o", "dev/dispatch"), Step::Refused);
    assert_eq!(who("dev/dispatch").to_string(), "dev/dispatch");
}

const ALL: &str = "initial: all\nstates:\n  all: {ensemble: {agents: [b, c]}, exit: {default: done}}\n  done: {}\n";

#[test]
fn a_member_over_budget_is_retried_or_dropped() {
    for retried in [true, false] {
        let mut play = Play::new(&[&(workflow(ALL) + "max_mesh_messages: 1\n")]);
        play.task("dev", "t");
        completes(&mut play, "dev/b", "rb");
        completes(&mut play, "dev/c", "rc");
        assert_eq!(dispatch_step(&play, "rc"), Step::Parked);
        assert!(
            machine(&play)
                .waits_for
                .contains("needs 2 results, and has 1")
        );
        assert_eq!(play.state.not_retried(&play.facts("rc")), None);
        match retried {
            true => retry(&mut play, "rc"),
            false => drop_item(&mut play, "rc"),
        }
        assert!(is_over(&play) && play.is_complete(), "{retried}");
        play.all_over();
    }
}

#[test]
fn a_hand_over_that_is_over_budget_begins_its_machine_when_it_is_retried() {
    let ops = "mesh: ops\nentry_point: o\nmax_mesh_messages: 1\nagents:\n  - {name: o, prompt: p, runtime: claude, mode: pane}\n  - {name: p, prompt: p, runtime: claude, mode: pane}\nrouting:\n  o: {complete: {p: go}}\n  p: {complete: {dev/a: go}}\n";
    let fsm = "initial: plan\ncontext: {word: ''}\nstates:\n  plan: {agents: [a], entry: {set: {word: \"$(echo '$rearmatter' | yq '.word')\"}}, exit: {default: done}}\n  done: {}\n";
    let mut play = Play::new(&[&workflow(fsm), ops]);
    play.task("ops", "t");
    completes(&mut play, "ops/o", "h1");
    completes(&mut play, "ops/p", "h2");
    assert_eq!(dispatch_step(&play, "h2"), Step::Parked);
    assert!(is_over(&play), "nothing has begun");
    assert_eq!(play.state.not_retried(&play.facts("h2")), None);
    let said = from("ops/p").id("h2").status("complete");
    play.retry("h2", said.says(serde_json::json!({"word": "kept"})));
    assert_eq!(
        (at(&play).as_str(), variable(&play, "word").as_str()),
        ("plan", "kept")
    );
    // Parked again, it is at its machine, and begins no other.
    play.take_up("dev/a");
    play.park("dev/a");
    retry(&mut play, "h2");
    assert_eq!(machine(&play).step, 1);
}

#[test]
fn a_late_outcome_that_could_not_be_checked_leaves_the_state_when_it_is_retried() {
    let fsm = "initial: plan\nscripts: {check: 'true'}\nstates:\n  plan: {agents: [a], exit: {gates: [check], when: [{condition: 'grade == A', target: build}], default: plan}}\n  build: {agents: [b], exit: {default: done}}\n  done: {}\n";
    let mut play = begun(fsm);
    play.take_up("dev/a");
    play.park("dev/a");
    let late = || {
        from("dev/a")
            .id("late")
            .status("complete")
            .says(serde_json::json!({"grade": "A"}))
    };
    play.drop(late());
    for _ in 0..3 {
        jobs_fail(&mut play);
    }
    assert_eq!(dispatch_step(&play, "late"), Step::Parked);
    assert_eq!(play.step("t", "dev/a"), Step::Parked);
    play.retry("late", late());
    assert_eq!(at(&play), "build");
    assert_eq!(play.step("t", "dev/a"), Step::Finished);
    completes(&mut play, "dev/b", "o");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn nothing_is_sent_back_to_a_state_that_a_reload_made_a_choice() {
    let fsm = "initial: plan\nscripts: {check: 'true'}\nstates:\n  plan: {agents: [a], exit: {default: build}}\n  build: {agents: [b], entry: {gates: [check]}, exit: {default: done}}\n  done: {}\n";
    let mut play = begun(fsm);
    completes(&mut play, "dev/a", "o");
    let choice = fsm.replace("plan: {agents: [a], exit", "plan: {exit");
    play.load(&workflow(&choice), false);
    jobs_end(&mut play, 1, "not yet");
    assert_eq!(dispatch_step(&play, "o"), Step::Parked);
    retry(&mut play, "o");
    jobs_end(&mut play, 0, "");
    assert_eq!(at(&play), "build");
}

#[test]
fn a_block_whose_state_is_gone_is_parked_and_goes_on_when_that_is_back() {
    let mut play = begun(ALL);
    play.take_up("dev/b");
    play.take_up("dev/c");
    play.load(&workflow(TWO), false);
    play.finish("dev/b", "rb");
    play.finish("dev/c", "rc");
    assert!(
        machine(&play)
            .waits_for
            .contains("the state `all` does not exist")
    );
    play.load(&workflow(ALL), false);
    retry(&mut play, "rc");
    assert!(play.is_complete());
    play.all_over();
}

#[test]
fn a_mesh_that_is_removed_parks_the_outcome_until_it_is_back() {
    let mut play = begun(TWO);
    play.take_up("dev/a");
    let mesh = "dev".parse().unwrap();
    play.happen(Event::MeshRemoved { mesh });
    play.finish("dev/a", "o");
    assert_eq!(
        (at(&play).as_str(), dispatch_step(&play, "o")),
        ("plan", Step::Parked)
    );
    play.load(&workflow(TWO), false);
    retry(&mut play, "o");
    assert_eq!(at(&play), "build");
}

#[test]
fn a_gate_of_a_choice_that_fails_parks_what_would_move() {
    let mut play = begun(
        "initial: pick\nscripts: {ok: 'true'}\nstates:\n  pick: {exit: {gates: [ok], default: done}}\n  done: {}\n",
    );
    jobs_end(&mut play, 1, "no");
    assert_eq!(dispatch_step(&play, "t"), Step::Parked);
    assert!(
        machine(&play)
            .waits_for
            .contains("its gates on the way out failed: no")
    );
    retry(&mut play, "t");
    jobs_end(&mut play, 0, "");
    assert!(play.is_complete());
}

#[test]
fn an_agent_that_never_was_there_parks_its_stage() {
    let mut play = begun(
        "initial: plan\nstates:\n  plan: {agents: [nobody], exit: {default: done}}\n  done: {}\n",
    );
    assert!(
        machine(&play)
            .waits_for
            .contains("its recipient is no longer there")
    );
    assert!(play.state.stuck().is_none());
    play.load(&workflow(TWO), false);
    retry(&mut play, "t");
    completes(&mut play, "dev/a", "o");
    assert_eq!(at(&play), "build");
}
