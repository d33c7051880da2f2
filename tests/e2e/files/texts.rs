//! What becomes of a file later: edits, halves that stay halves, and files that go.

use std::fs::{self, File};
use std::io::Write;

use tx::engine::Step;

use super::{GATE, GATED, MESH, accepted, note_about, task};
use crate::stage::{Project, message, wait_for};

#[test]
fn an_edit_while_tx_is_down_is_seen_and_an_edit_back_to_the_same_is_not() {
    let project = Project::started(&MESH);
    for id in ["first", "edited", "same"] {
        project.drop_file(&format!("{id}.md"), &task("sleeper", id));
        wait_for("it to be taken", || project.message(id));
    }
    project.ok(&["stop"]);
    let new = task("sleeper", "edited").replace("the body", "the new body");
    project.drop_file("edited.md", &new);
    project.drop_file("same.md", &task("sleeper", "same"));
    project.start();
    let edited = wait_for("the edit", || {
        let facts = project.message("edited")?;
        let text = project.reader().text_of(&facts).unwrap()?;
        text.contains("the new body").then_some(facts)
    });
    assert_eq!(edited.step(), Step::Queued);
    assert_eq!(accepted(&project), ["first", "edited", "same"]);
    assert_eq!(project.state().counts().duplicates, 0);
}

#[test]
fn an_edit_amends_until_the_lease_and_is_refused_after_it() {
    let project = Project::started(&MESH);
    project.drop_file("leased.md", &task("sleeper", "leased"));
    project.wait_for_step("leased", Step::Delivered);
    project.drop_file("waiting.md", &task("sleeper", "waiting"));
    project.wait_for_step("waiting", Step::Queued);
    let append = |name: &str| {
        let path = project.bus().join(name);
        let mut file = File::options().append(true).open(path).unwrap();
        file.write_all(b"and one thing more\n").unwrap();
    };
    append("waiting.md");
    wait_for("the amended text", || {
        let facts = project.message("waiting")?;
        let text = project.reader().text_of(&facts).unwrap()?;
        text.contains("one thing more").then_some(())
    });
    append("leased.md");
    let why = wait_for("the refusal", || project.refused().remove("leased.md"));
    assert!(why.contains("changed after"), "{why}");
    let note = wait_for("the note to core", || note_about(&project, "changed after"));
    assert!(note.contains("leased.md"), "{note}");
    assert_eq!(accepted(&project), ["leased", "waiting"]);
}

#[test]
fn work_has_its_text_though_the_file_is_gone_or_was_changed() {
    let script = |rest: &str| format!("{GATE}{rest}");
    let turn = script("gate\nout\n");
    let file = script("gate\nout < \"$1\"\n");
    let path = script("gate\nwhile IFS= read -r path; do out < \"$path\"; outcome; done\n");
    let meshes = [
        ("gated/config.yaml", GATED),
        ("gated/turn.sh", turn.as_str()),
        ("gated/file.sh", file.as_str()),
        ("gated/path.sh", path.as_str()),
    ];
    for change in ["deleted", "changed"] {
        let project = Project::started(&meshes);
        for agent in ["turn", "file", "path"] {
            // The first keeps the agent, so that the second waits.
            let to = format!("gated/{agent}");
            let first = format!("first-{agent}");
            project.drop_file(
                &format!("{first}.md"),
                &message("core", &to, &first, "", "wait"),
            );
            project.wait_for_step(&first, Step::Delivered);
            let text = message("core", &to, agent, "", &format!("the words for {agent}"));
            project.drop_file(&format!("{agent}.md"), &text);
            project.wait_for_step(agent, Step::Queued);
        }
        project.ok(&["stop"]);
        for agent in ["turn", "file", "path"] {
            let path = project.bus().join(format!("{agent}.md"));
            match change {
                "deleted" => fs::remove_file(path).unwrap(),
                // No message any more, so it amends nothing.
                _ => fs::write(path, "other words").unwrap(),
            }
        }
        project.start();
        project.write("open", "");
        for agent in ["turn", "file", "path"] {
            let facts = project.wait_for_step(agent, Step::Finished);
            assert_eq!(facts.deliveries[0].to.agent.as_str(), agent);
            let got = fs::read_to_string(project.root().join(format!("got-{agent}"))).unwrap();
            assert!(
                got.contains(&format!("the words for {agent}")),
                "{change}: {agent} got {got:?}"
            );
        }
    }
}

#[test]
fn what_stays_incomplete_is_refused_after_a_while_and_its_author_or_core_is_told() {
    let project = Project::started(&MESH);
    // One is finished in time, by a later write.
    let whole = task("echo", "late");
    let (head, tail) = whole.split_at(40);
    project.drop_file("late.md", head);
    project.drop_file("half.md", "---\nto: slow/echo\nfrom: core\nmsg-id: half\n");
    project.drop_file("empty.md", "");
    let agents = "---\nto: core\nfrom: slow/sleeper\nmsg-id: q\nheadline: half a question\n";
    project.drop_file("agents.md", agents);
    project.drop_file("busy.md", &task("sleeper", "busy"));
    project.wait_for_step("busy", Step::Delivered);
    assert!(project.message("late").is_none());
    let mut file = File::options()
        .append(true)
        .open(project.bus().join("late.md"))
        .unwrap();
    file.write_all(tail.as_bytes()).unwrap();
    drop(file);
    project.wait_for_step("late", Step::Finished);
    let refused = wait_for("the refusals", || {
        let refused = project.refused();
        (refused.len() == 3).then_some(refused)
    });
    for name in ["half.md", "empty.md", "agents.md"] {
        assert!(refused.contains_key(name), "{refused:?}");
    }
    let note = wait_for("a note to core", || note_about(&project, "half.md"));
    assert!(note.contains("to: core"), "{note}");
    let note = wait_for("a note to the author", || note_about(&project, "agents.md"));
    assert!(note.contains("to: slow/sleeper"), "{note}");
}
