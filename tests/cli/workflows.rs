//! What people see of blocks and machines: `tx why`, `tx spy`, `tx status`.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::daemon::StandIn;
use crate::story::Story;

/// A machine with one state of work; its agent has three workers.
const FLOW: &str = "mesh: flow
agents:
  - { name: worker, prompt: Work., run: cat, mode: pane, count: 3 }
  - { name: checker, prompt: Check., run: cat, mode: pane }
entry_point: worker
fsm:
  initial: build
  context: { round: 0 }
  states:
    build: { agents: [worker], entry: { set: { round: $((round + 1)) } }, exit: { default: check } }
    check: { agents: [checker], exit: { when: [{ condition: status == again, target: build }], default: done } }
    done: {}
";

/// An ensemble: both members are copies of one agent.
const TEAM: &str = "mesh: team
agents:
  - { name: lead, prompt: Lead., run: cat, mode: pane }
  - { name: worker, prompt: Work., run: cat, mode: pane, count: 2 }
task_distribution: { spawner: lead, subagents: [worker], reviewer: lead }
entry_point: lead
";

fn task(story: &mut Story, mesh: &str, id: &str) {
    let front = format!("to: {mesh}\nfrom: core\nmsg-id: {id}\n");
    story.drop(&format!("{id}.md"), &front, &format!("Do {id}"));
}

#[test]
fn why_tells_the_stage_and_the_member_that_a_numbered_worker_has() {
    let mut story = Story::begin();
    story.loads("flow", FLOW);
    for id in ["one", "two"] {
        task(&mut story, "flow", id);
    }
    story.takes_up("flow/worker#2");
    let sandbox = story.sandbox.clone();
    let said = sandbox.tx(["why", "flow/worker#2"]).ok().stdout;
    let expected = "works on a stage: state build of flow (visit 1, step 1, run two)";
    assert!(said.contains(expected), "{said}");
    let said = sandbox.tx(["why", "flow/worker#2", "--json"]).ok().stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["workflow"], expected.trim_start_matches("works on "));
    let said = sandbox.tx(["why", "flow/worker#3"]).ok().stdout;
    assert!(!said.contains("works on"), "{said}");

    story.loads("team", TEAM);
    task(&mut story, "team", "large");
    story.takes_up("team/lead");
    let text = "---\nfrom: team/lead\nstatus: complete\nmsg-id: parts\nheadline: Two parts\n\
                timestamp: 2026-11-15T10:00:00Z\n---\n\nSUBTASK 1: first\n\nSUBTASK 2: second\n";
    story.take_in("parts.md", text.into());
    story.is_idle("team/lead");
    story.takes_up("team/worker#2");
    let said = sandbox.tx(["why", "team/worker#2"]).ok().stdout;
    let expected = "works on member 1 of 2, part 2: the block of parts";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn spy_shows_what_moved_machines_and_blocks() {
    let mut story = Story::begin();
    story.loads("flow", FLOW);
    story.loads("team", TEAM);
    task(&mut story, "flow", "one");
    story.takes_up("flow/worker#1");
    let front = "from: flow/worker#1\nstatus: complete\nmsg-id: built\n";
    story.drop("built.md", front, "It is built");
    story.is_idle("flow/worker#1");
    task(&mut story, "team", "large");
    story.takes_up("team/lead");
    let text = "---\nfrom: team/lead\nstatus: complete\nmsg-id: parts\nheadline: Two parts\n\
                timestamp: 2026-11-15T10:00:00Z\n---\n\nSUBTASK 1: first\n\nSUBTASK 2: second\n";
    story.take_in("parts.md", text.into());
    story.is_idle("team/lead");
    let sandbox = story.end();
    let changes = |kind: &str| -> Vec<String> {
        let said = sandbox.tx(["spy", "--json", "--kind", kind]).ok().stdout;
        let events = said.lines().map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            event["workflow"][0].as_str().unwrap().to_owned()
        });
        events.collect()
    };
    let machine = changes("machine");
    assert_eq!(machine.len(), 2, "{machine:?}");
    assert!(machine[1].contains("build → check"), "{machine:?}");
    let block = changes("block");
    assert_eq!(block.len(), 1, "{block:?}");
    assert!(block[0].ends_with("opened, 2 members"), "{block:?}");
    let shown = sandbox.tx(["spy", "--kind", "machine"]).ok().stdout;
    assert_eq!(shown.lines().count(), 2, "{shown}");
    let wrong = sandbox.tx(["spy", "--kind", "machin"]).exits(6);
    wrong.complains("did you mean `machine`", 2);
}

#[test]
fn status_shows_two_hundred_runs_that_are_under_way() {
    let mut story = Story::begin();
    story.loads("flow", FLOW);
    for n in 0..200 {
        task(&mut story, "flow", &format!("task-{n}"));
    }
    let sandbox = story.end();
    let begun = Instant::now();
    let said = sandbox.tx(["status"]).ok().stdout;
    let took = begun.elapsed();
    let runs = said.lines().filter(|line| line.contains("  build  step 1"));
    assert_eq!(runs.count(), 200, "{said}");
    assert!(said.contains("tasks  200 under way"), "{said}");
    assert!(said.contains("and 190 more: `tx runs`"), "{said}");
    // 100 ms is the limit of the program as it is released: `cargo bench --bench journal`.
    assert!(took < Duration::from_secs(5), "{took:?}");
}

fn gives(story: &mut Story, agent: &str, id: &str, word: &str) {
    story.takes_up(agent);
    let front = format!("from: {agent}\nstatus: {word}\nmsg-id: {id}\n");
    story.drop(&format!("{id}.md"), &front, &format!("It is {word}"));
    story.is_idle(agent);
}

/// Send a task to the workflow, play the script, and look at the answer of `--wait`.
fn waited(config: &str, exit: i32, script: impl FnMut(&mut Story, &str) + Send + 'static) -> Value {
    let mut story = Story::begin();
    story.loads("flow", config);
    let daemon = StandIn::of(story, script);
    let send = ["send", "flow", "Do it", "--front", "msg-id=task"];
    let wait = ["--wait", "20", "--json"];
    let said = daemon.sandbox.tx([&send[..], &wait].concat()).exits(exit);
    said.json()
}

#[test]
fn wait_ends_well_when_the_workflow_is_complete() {
    let answer = waited(FLOW, 0, |story, _| {
        gives(story, "flow/worker#1", "built", "complete");
        gives(story, "flow/checker", "checked", "complete");
    });
    assert_eq!(answer["result"]["id"], "checked", "{answer}");
    assert_eq!(answer.get("over"), None, "{answer}");
}

#[test]
fn wait_ends_badly_when_the_workflow_has_failed_or_is_held_up() {
    let failing = FLOW.replace(
        "status == again, target: build",
        "status == error, target: done",
    );
    let answer = waited(&failing, 1, |story, _| {
        gives(story, "flow/worker#1", "built", "complete");
        gives(story, "flow/checker", "failed", "error");
    });
    assert_eq!(answer["result"]["id"], "failed", "{answer}");

    let answer = waited(FLOW, 1, |story, _| {
        gives(story, "flow/worker#1", "built", "complete");
        gives(story, "flow/checker", "failed", "error");
    });
    assert_eq!(answer["over"]["step"], "parked", "{answer}");
    let why = answer["over"]["why"].as_str().unwrap();
    assert!(
        why.contains("in `check`") && why.contains("tx dlq retry built"),
        "{why}"
    );

    let both = FLOW.replace(
        "build: { agents: [worker]",
        "build: { ensemble: { agent: worker, count: 2 }",
    );
    let answer = waited(&both, 1, |story, _| {
        gives(story, "flow/worker#1", "one", "complete");
        gives(story, "flow/worker#2", "two", "error");
    });
    let why = answer["over"]["why"].as_str().unwrap();
    assert!(why.contains("needs 2 results, and has 1"), "{why}");
    assert!(why.contains("tx dlq retry task.1"), "{why}");
}

#[test]
fn status_has_a_line_for_each_run_of_a_workflow() {
    let mut story = Story::begin();
    let both = FLOW.replace(
        "build: { agents: [worker]",
        "build: { ensemble: { agent: worker, count: 3 }",
    );
    story.loads("flow", &both);
    task(&mut story, "flow", "one");
    for slot in 1..=3 {
        gives(
            &mut story,
            &format!("flow/worker#{slot}"),
            &format!("a{slot}"),
            "complete",
        );
    }
    gives(&mut story, "flow/checker", "no", "again");
    gives(&mut story, "flow/worker#1", "b1", "complete");
    story.takes_up("flow/worker#2");
    story.takes_up("flow/worker#3");
    let said = story.sandbox.tx(["status"]).ok().stdout;
    let expected = "  flow  one  build (visit 2)  step 3  1 of 3 members: worker#2, worker#3 working  round=2\n";
    assert!(said.contains(expected), "{said}");
    let said = story.sandbox.tx(["why", "flow"]).ok().stdout;
    assert!(
        said.contains("waits for flow/worker#2, flow/worker#3\n"),
        "{said}"
    );
    assert!(said.contains("round = 2  (record "), "{said}");
}

#[test]
fn the_results_that_a_join_has_parked_are_one_dead_letter() {
    let mut story = Story::begin();
    let team = TEAM.replace("reviewer: lead", "reviewer: judge");
    let judge = "  - { name: judge, prompt: Judge., run: cat, mode: pane }\ntask_distribution";
    story.loads("team", &team.replace("task_distribution", judge));
    task(&mut story, "team", "large");
    story.takes_up("team/lead");
    let text = "---\nfrom: team/lead\nstatus: complete\nmsg-id: parts\nheadline: Two parts\n\
                timestamp: 2026-11-15T10:00:00Z\n---\n\nSUBTASK 1: first\n\nSUBTASK 2: second\n";
    story.take_in("parts.md", text.into());
    story.is_idle("team/lead");
    for slot in 1..=2 {
        gives(
            &mut story,
            &format!("team/worker#{slot}"),
            &format!("r{slot}"),
            "complete",
        );
    }
    for _ in 0..3 {
        story.takes_up("team/judge");
        story.dies("team/judge");
        let due = tx::engine::Timer::State("team/judge".parse().unwrap());
        while story.time_comes() != due {}
    }
    let sandbox = story.end();
    let said = sandbox.tx(["dlq", "list", "--json"]).ok().stdout;
    let letters: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(letters.as_array().map(Vec::len), Some(1), "{letters}");
    assert_eq!(
        (&letters[0]["agent"], &letters[0]["message"]),
        (&"team/judge".into(), &"r1".into())
    );
}
