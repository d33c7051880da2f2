//! The mistakes that models make in their files, by programs that make them.

use serde_json::Value;
use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

/// Each writes a file its own way, and prints that all is well.
const SLIPS: &str = r#"
mesh: slips
agents:
  - { name: fenced, runtime: command, run: [sh, "{mesh_dir}/fenced.sh"] }
  - { name: unsigned, runtime: command, run: [sh, "{mesh_dir}/unsigned.sh"] }
  - { name: lost, runtime: command, run: [sh, "{mesh_dir}/lost.sh"] }
  - { name: slow, runtime: command, run: [sh, "{mesh_dir}/slow.sh"] }
  - { name: slower, runtime: command, run: [sh, "{mesh_dir}/slow.sh"] }
entry_point: fenced
routing:
  fenced: { failed: { core: "it failed" }, complete: { core: "it is done" } }
  unsigned: { failed: { core: "it failed" }, complete: { core: "it is done" } }
"#;

const FENCED: &str = r#"
printf '```markdown\n---\nto: core\nfrom: slips/fenced\nmsg-id: in-fence\nstatus: failed\n---\n\nIt broke.\n```\n' \
    > "$TX_ROOT/.ai/tx/msgs/in-fence.md"
echo All is well.
"#;

const UNSIGNED: &str = r#"
printf -- '---\nto: core\nmsg-id: no-from\nstatus: **failed**\n---\n\nIt broke.\n' > "$TX_ROOT/.ai/tx/msgs/no-from.md"
echo All is well.
"#;

/// Its first file says nothing that can be read; once told so, it gives its outcome.
const LOST: &str = r#"
if [ -e "$TX_ROOT/.ai/tx/msgs/prose.md" ]; then
    printf -- '---\nto: core\nfrom: lost\nmsg-id: mended\nstatus: complete\n---\n\nNow.\n' > "$TX_ROOT/.ai/tx/msgs/mended.md"
else
    echo 'The task is done, and all is well.' > "$TX_ROOT/.ai/tx/msgs/prose.md"
fi
echo All is well.
"#;

const SLOW: &str = r#"
until [ -e "$TX_ROOT/go" ]; do sleep 0.1; done
echo All is well.
"#;

fn project() -> Project {
    Project::started(&[
        ("slips/config.yaml", SLIPS),
        ("slips/fenced.sh", FENCED),
        ("slips/unsigned.sh", UNSIGNED),
        ("slips/lost.sh", LOST),
        ("slips/slow.sh", SLOW),
    ])
}

/// The outcomes in the thread of a task, with their words, once it is done.
fn outcomes(project: &Project, task: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    project.wait_for_step(task, Step::Finished);
    let trace = project.json(&["trace", task]);
    let messages = trace["messages"].as_array().unwrap().iter();
    let outcomes = messages.filter(|m| m["status"].is_string());
    outcomes
        .map(|m| (text(&m["id"]), text(&m["status"])))
        .collect()
}

#[test]
fn a_file_in_a_fence_or_without_a_sender_is_the_outcome_and_what_was_printed_is_not() {
    let project = project();
    for (agent, id) in [("fenced", "in-fence"), ("unsigned", "no-from")] {
        let task = message("core", &format!("slips/{agent}"), agent, "", "Do it.");
        project.drop_file(&format!("{agent}.md"), &task);
        let expected = [(id.to_owned(), "failed".to_owned())];
        assert_eq!(outcomes(&project, agent), expected);
        let sent = project.message(id).unwrap();
        assert_eq!(sent.from.to_string(), format!("slips/{agent}"));
    }
    assert_eq!(project.records("rejected"), 0);
}

#[test]
fn what_stays_refused_goes_back_to_its_writer() {
    let project = project();
    let task = message("core", "slips/lost", "lost", "", "Do it.");
    project.drop_file("lost.md", &task);
    let expected = [("mended".to_owned(), "complete".to_owned())];
    assert_eq!(outcomes(&project, "lost"), expected);
    let refused = project.refused();
    assert!(refused.contains_key("prose.md"), "{refused:?}");
}

#[test]
fn of_two_in_a_turn_neither_is_guessed_and_core_is_told_of_both() {
    let project = project();
    for agent in ["slow", "slower"] {
        let task = message("core", &format!("slips/{agent}"), agent, "", "Do it.");
        project.drop_file(&format!("{agent}.md"), &task);
        wait_for("it to be at work", || {
            let worker = format!("slips/{agent}").parse().unwrap();
            let state = project.state();
            state.worker(&worker).filter(|w| w.is_in_turn()).map(drop)
        });
    }
    project.drop_file(
        "whose.md",
        "---\nto: core\nstatus: failed\n---\n\nIt broke.\n",
    );
    let why = wait_for("it to be refused", || project.refused().remove("whose.md"));
    assert!(why.contains("there is no `from`"), "{why}");
    let told = project.ok(&["inbox"]);
    assert!(told.contains("a file was refused"), "{told}");
    let shown = project.ok(&["why", "whose.md"]);
    assert!(shown.contains("slips/slow, slips/slower"), "{shown}");
    // By its bare name it is known which of them it is.
    project.drop_file(
        "whose.md",
        "---\nto: core\nfrom: slower\nmsg-id: whose\nstatus: failed\n---\n\nIt broke.\n",
    );
    let sent = wait_for("it to be accepted", || project.message("whose"));
    assert_eq!(sent.from.to_string(), "slips/slower");
    project.write("go", "");
}
