//! Every file that is dropped into the folder, in any way, is accepted once and completely, or
//! reported.

mod arrival;
mod meshes;
mod odd;
mod texts;
mod trouble;

use std::fs;

use tx::engine::Step;

use crate::stage::{Project, message};

/// A program that never ends, and one that prints what it was given.
pub(super) const SLOW: &str = r#"
mesh: slow
agents:
  - { name: sleeper, runtime: command, run: [sleep, "600"] }
  - { name: echo, runtime: command, run: [cat] }
"#;

pub(super) const MESH: [(&str, &str); 1] = [("slow/config.yaml", SLOW)];

pub(super) fn task(to: &str, id: &str) -> String {
    message(
        "core",
        &format!("slow/{to}"),
        id,
        "",
        &format!("the body of {id}"),
    )
}

/// The ids of all messages of core, in the order in which they were accepted.
pub(super) fn accepted(project: &Project) -> Vec<String> {
    let reader = project.reader();
    let state = project.state();
    let mut all = Vec::new();
    for step in [Step::Finished, Step::Refused, Step::Parked] {
        all.extend(reader.at_step(step).unwrap());
    }
    all.extend(state.open_messages().map(|held| held.facts.clone()));
    all.retain(|facts| facts.from.is_core() && facts.refused.is_none());
    all.sort_by_key(|facts| facts.number);
    all.iter().map(|facts| facts.id.to_string()).collect()
}

/// The number of files that tx itself has written.
pub(super) fn system_messages(project: &Project) -> usize {
    let files = fs::read_dir(project.bus()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("202")).count()
}

/// The newest message of tx with these words.
pub(super) fn note_about(project: &Project, words: &str) -> Option<String> {
    let files = fs::read_dir(project.bus()).unwrap().filter_map(Result::ok);
    let texts = files
        .filter(|file| file.file_name().to_string_lossy().starts_with("202"))
        .filter_map(|file| fs::read_to_string(file.path()).ok());
    let mut notes = texts.filter(|text| text.contains("system/") && text.contains(words));
    notes.next()
}

/// Shell functions for agents' scripts: to wait, to keep what they read, to finish.
pub(super) const GATE: &str = r#"
gate() { until [ -e "$TX_ROOT/open" ]; do sleep 0.02; done; }
out() { cat > "$TX_ROOT/got-$(basename "$TX_AGENT")"; }
outcome() {
    count=$((count + 1)); id="done-$$-$count"
    printf -- '---\nfrom: %s\nmsg-id: %s\nstatus: complete\nheadline: done\n---\n\nx\n' "$TX_AGENT" "$id" > "$TX_ROOT/.ai/tx/msgs/.$id"
    mv "$TX_ROOT/.ai/tx/msgs/.$id" "$TX_ROOT/.ai/tx/msgs/$id.md"
}
"#;

/// One agent that stays and gets the path of its message, one that gets the text, and one that
/// reads its prompt. Each begins when the test says so.
pub(super) const GATED: &str = r#"
mesh: gated
agents:
  - { name: turn, runtime: command, run: [sh, "{mesh_dir}/turn.sh"] }
  - { name: file, runtime: command, run: [sh, "{mesh_dir}/file.sh", "{msg_file}"] }
  - { name: path, runtime: command, mode: pane, run: [sh, "{mesh_dir}/path.sh"] }
"#;
