//! Whatever is dropped into the folder, however it gets there, is taken once and whole, or
//! is told about.

mod arrival;
mod meshes;
mod odd;
mod texts;
mod trouble;

use std::fs;

use tx::engine::Step;

use crate::stage::{Project, message};

/// A program that never ends, and one that says what it was given.
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

/// The ids of all messages of core's, in the order in which they were taken in.
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

/// How many files tx itself has written.
pub(super) fn system_messages(project: &Project) -> usize {
    let files = fs::read_dir(project.bus()).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("202")).count()
}

/// The newest message of tx's with these words in it.
pub(super) fn note_about(project: &Project, words: &str) -> Option<String> {
    let files = fs::read_dir(project.bus()).unwrap().filter_map(Result::ok);
    let texts = files
        .filter(|file| file.file_name().to_string_lossy().starts_with("202"))
        .filter_map(|file| fs::read_to_string(file.path()).ok());
    let mut notes = texts.filter(|text| text.contains("system/") && text.contains(words));
    notes.next()
}

/// What a script of an agent can lean on: to wait, to keep what it reads, to be done.
pub(super) const GATE: &str = r#"
gate() { until [ -e "$TX_ROOT/open" ]; do sleep 0.02; done; }
out() { cat > "$TX_ROOT/got-$(basename "$TX_AGENT")"; }
outcome() {
    count=$((count + 1)); id="done-$$-$count"
    printf -- '---\nfrom: %s\nmsg-id: %s\nstatus: complete\nheadline: done\n---\n\nx\n' "$TX_AGENT" "$id" > "$TX_ROOT/.ai/tx/msgs/.$id"
    mv "$TX_ROOT/.ai/tx/msgs/.$id" "$TX_ROOT/.ai/tx/msgs/$id.md"
}
"#;

/// One that stays and is given the path of its message, one that is given the text, and
/// one that reads its prompt; each begins when it is told to.
pub(super) const GATED: &str = r#"
mesh: gated
agents:
  - { name: turn, runtime: command, run: [sh, "{mesh_dir}/turn.sh"] }
  - { name: file, runtime: command, run: [sh, "{mesh_dir}/file.sh", "{msg_file}"] }
  - { name: path, runtime: command, mode: pane, run: [sh, "{mesh_dir}/path.sh"] }
"#;
