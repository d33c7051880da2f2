//! What people see of blocks and machines: `tx why`, `tx spy`, `tx status`.

use std::time::{Duration, Instant};

use serde_json::Value;

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
