//! A file is dropped, and its result reaches the human: both modes, one and many.

use std::collections::BTreeMap;

use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

/// A program for one turn, which hands on to a program that stays.
const RELAY: &str = r#"
mesh: relay
agents:
  - name: first
    runtime: command
    run: [sh, -c, "echo first was here; cat"]
  - name: second
    runtime: command
    mode: pane
    run: [sh, "{mesh_dir}/second.sh"]
entry_point: first
routing:
  first: { complete: { second: "it was read" } }
  second: { complete: { core: "it is done" } }
"#;

/// Reads the path of a message a line, and answers each by a file.
const SECOND: &str = r#"
while IFS= read -r path; do
    count=$((count + 1))
    id="$(basename "$TX_AGENT")-$$-$count"
    printf -- '---\nto: core\nfrom: %s\nmsg-id: %s\nstatus: complete\nheadline: read\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\n%s\n' \
        "$TX_AGENT" "$id" "$(tail -n 1 "$path")" > "$TX_ROOT/.ai/tx/msgs/.$id"
    mv "$TX_ROOT/.ai/tx/msgs/.$id" "$TX_ROOT/.ai/tx/msgs/$id.md"
done
"#;

#[test]
fn a_dropped_file_goes_through_both_modes_to_the_human() {
    let project = Project::started(&[("relay/config.yaml", RELAY), ("relay/second.sh", SECOND)]);
    project.drop_file("one.md", &message("core", "relay", "one", "", "the body"));
    let task = project.wait_for_step("one", Step::Finished);
    let ladder: Vec<Step> = task.deliveries[0]
        .ladder
        .iter()
        .map(|entry| entry.step)
        .collect();
    let expected = [Step::Accepted, Step::Queued, Step::Leased, Step::Delivered];
    assert_eq!(ladder[..4], expected, "{ladder:?}");
    let thread = wait_for("the whole thread", || {
        let trace = project.json(&["trace", "one"]);
        let messages = trace["messages"].as_array()?.clone();
        let done = |m: &serde_json::Value| m["from"] == "relay/second" && m["step"] == "finished";
        messages.iter().any(done).then_some(messages)
    });
    let hops: Vec<(&str, &str)> = thread
        .iter()
        .filter(|m| m["kind"] != "lifecycle")
        .map(|m| (m["from"].as_str().unwrap(), m["to"][0].as_str().unwrap()))
        .collect();
    assert_eq!(
        hops,
        [
            ("core/core", "relay/first"),
            ("relay/first", "relay/second"),
            ("relay/second", "core/core"),
        ]
    );
    // The program that stays has answered what it was given, and stays.
    let panes = project.live_panes();
    assert!(
        panes.iter().any(|pane| pane.contains("relay/second")),
        "{panes:?}"
    );
    // Again, to the same process.
    let before = project
        .state()
        .worker(&"relay/second".parse().unwrap())
        .unwrap()
        .attempt;
    let answer = project.json(&["send", "relay", "once more", "--wait", "60"]);
    assert_eq!(answer["result"]["from"], "relay/second", "{answer}");
    let after = project
        .state()
        .worker(&"relay/second".parse().unwrap())
        .unwrap()
        .attempt;
    assert_eq!(before, after);
}

#[test]
fn two_hundred_messages_to_twenty_agents_are_answered_once_each() {
    let mut config = String::from("mesh: crowd\nagents:\n");
    for agent in 0..20 {
        config += &match agent % 2 {
            0 => {
                format!("  - {{ name: a{agent}, runtime: command, run: [sh, -c, 'echo done'] }}\n")
            }
            _ => format!(
                "  - {{ name: a{agent}, runtime: command, mode: pane, run: [sh, '{{mesh_dir}}/second.sh'] }}\n"
            ),
        };
    }
    let meshes = [
        ("crowd/config.yaml", config.as_str()),
        ("crowd/second.sh", SECOND),
    ];
    let project = Project::started(&meshes);
    for number in 0..200 {
        let to = format!("crowd/a{}", number % 20);
        let id = format!("m{number}");
        project.drop_file(&format!("{id}.md"), &message("core", &to, &id, "", "work"));
    }
    wait_for("every message to be finished", || {
        // It counts tasks, not their outcomes.
        let queue = &project.json(&["status"])["queue"];
        let is_quiet = queue["queued"] == 0 && queue["leased"] == 0;
        (queue["finished"] == 200 && is_quiet).then_some(())
    });
    // Each has one outcome at core, caused by it and by nothing else.
    let reader = project.reader();
    let mut outcomes: BTreeMap<u64, u32> = BTreeMap::new();
    for facts in reader.at_step(Step::Finished).unwrap() {
        if facts.status.is_some() {
            assert_eq!(facts.cause.len(), 1);
            *outcomes.entry(facts.cause[0].0).or_default() += 1;
        }
    }
    assert_eq!(outcomes.len(), 200);
    assert!(outcomes.values().all(|count| *count == 1), "{outcomes:?}");
    assert_eq!(project.state().open_messages().count(), 0);
    assert!(project.live_panes().len() <= 20);
}

/// Two that stay, and call themselves idle when they are done.
const TITLED: &str = r#"
mesh: titled
agents:
  - { name: quick, runtime: command, mode: pane, run: [sh, "{mesh_dir}/titled.sh"] }
  - { name: slow, runtime: command, mode: pane, run: [sh, "{mesh_dir}/titled.sh"] }
"#;

/// Answers at once; what is long takes two seconds before it says so, and then as long as
/// somebody likes.
const TITLED_PROGRAM: &str = r#"
while IFS= read -r path; do
    count=$((count + 1))
    if grep -q '^long$' "$path"; then
        sleep 2
        touch "$TX_ROOT/long"
        while [ -e "$TX_ROOT/long" ]; do sleep 0.05; done
    elif grep -q '^late$' "$path"; then
        sleep 1
    fi
    id="$(basename "$TX_AGENT")-$count"
    printf -- '---\nfrom: %s\nmsg-id: %s\nstatus: complete\nheadline: done\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\ndone\n' \
        "$TX_AGENT" "$id" > "$TX_ROOT/.ai/tx/msgs/.$id"
    mv "$TX_ROOT/.ai/tx/msgs/.$id" "$TX_ROOT/.ai/tx/msgs/$id.md"
    printf '\033]2;idle\007'
done
"#;

#[test]
fn a_title_from_before_a_delivery_does_not_end_the_turn() {
    let project = Project::started(&[
        ("titled/config.yaml", TITLED),
        ("titled/titled.sh", TITLED_PROGRAM),
    ]);
    let send = |to: &str, id: &str| {
        project.drop_file(&format!("{id}.md"), &message("core", to, id, "", id));
    };
    send("titled/quick", "first");
    project.wait_for_step("first", Step::Finished);
    // While one is busy the panes are looked at: the other one is idle, and says so.
    send("titled/slow", "long");
    wait_for("the slow one to be at it", || {
        project.root().join("long").exists().then_some(())
    });
    send("titled/quick", "late");
    project.wait_for_step("late", Step::Finished);
    std::fs::remove_file(project.root().join("long")).unwrap();
    project.wait_for_step("long", Step::Finished);
    // Nobody was reminded of what it owed.
    let thread = project.json(&["trace", "late"]);
    let messages = thread["messages"].as_array().unwrap().iter();
    let reminders = messages.filter(|m| m["to"][0] == "titled/quick" && m["id"] != "late");
    assert_eq!(reminders.count(), 0, "{thread:#}");
}
