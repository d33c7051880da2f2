//! What an agent wrote before it was given something is not about that.

use tx::engine::{Step, WorkerState};

use crate::stage::{Project, message, wait_for};

/// One that stays.
const MESH: &str = r#"
mesh: late
agents:
  - { name: one, runtime: command, mode: pane, run: [sh, "{mesh_dir}/one.sh"] }
"#;

/// Its first task has two outcomes. One of them is a bare link, which tx looks at half a
/// second later: by then it has its second task, and takes its time.
const PROGRAM: &str = r#"
outcome() {
    printf -- '---\nto: core\nfrom: %s\nmsg-id: %s\nstatus: complete\nheadline: %s\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\n%s\n' \
        "$TX_AGENT" "$1" "$1" "$1" > "$TX_ROOT/.ai/tx/msgs/.$1"
}
read -r path
outcome linked
ln "$TX_ROOT/.ai/tx/msgs/.linked" "$TX_ROOT/.ai/tx/msgs/linked.md"
sleep 0.1
outcome first
mv "$TX_ROOT/.ai/tx/msgs/.first" "$TX_ROOT/.ai/tx/msgs/first.md"
read -r path
while [ ! -e "$TX_ROOT/go" ]; do sleep 0.05; done
outcome second
mv "$TX_ROOT/.ai/tx/msgs/.second" "$TX_ROOT/.ai/tx/msgs/second.md"
sleep 600
"#;

#[test]
fn a_file_that_was_written_before_a_task_was_handed_over_does_not_finish_it() {
    let project = Project::started(&[("late/config.yaml", MESH), ("late/one.sh", PROGRAM)]);
    for id in ["t1", "t2"] {
        project.drop_file(&format!("{id}.md"), &message("core", "late", id, "", id));
    }
    project.wait_for_step("linked", Step::Finished);
    project.wait_for_step("t1", Step::Finished);
    let outcomes = wait_for("the second task to be in hand", || {
        let state = project.state();
        let worker = state.worker(&"late/one".parse().unwrap())?;
        match &worker.status {
            WorkerState::Working { work } => Some(work.outcomes.len()),
            _ => None,
        }
    });
    assert_eq!(outcomes, 0);
    let late = project.message("linked").unwrap();
    let second = project.message("t2").unwrap();
    assert!(!second.is_over(), "{second:?}");
    assert_ne!(late.work, Some(second.number), "it was not its work");
    project.write("go", "");
    project.wait_for_step("t2", Step::Finished);
    project.wait_for_step("second", Step::Finished);
}
