//! What an agent is started with, and what is not started at all.

use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

const WRITER: &str = r#"
mesh: writers
entry_point: first
workspace: { path: "out/{mesh}/{task-id}/{topic}" }
agents:
  - { name: first, runtime: command, shell: true, run: ['grep -F "$TX_WORKSPACE" > "$TX_WORKSPACE/first"; pwd'] }
  - { name: second, runtime: command, shell: true, run: ['ls "$TX_WORKSPACE"; pwd'] }
routing:
  first: { complete: { second: "Look at it" } }
"#;

/// Two agents of one run share a folder that nobody has made before, and work elsewhere.
#[test]
fn a_workspace_is_an_output_folder_with_its_placeholders_filled() {
    let project = Project::started(&[("writers/config.yaml", WRITER)]);
    let send = [
        "send",
        "writers",
        "Write: it!",
        "--front",
        "msg-id=w1",
        "--wait",
        "60",
        "--json",
    ];
    let answer = project.json(&send);
    let root = project.root().canonicalize().unwrap();
    let expected = format!("first\n{}\n", root.display());
    assert_eq!(answer["result"]["body"], expected.as_str(), "{answer}");
    let told = root.join("out/writers/w1/write-it/first");
    let told = std::fs::read_to_string(told).unwrap();
    assert!(told.contains("Put the files that you make in"), "{told}");
}

/// Nothing on this machine runs these: to try again would change nothing.
#[test]
fn what_cannot_be_run_is_parked_at_once() {
    let config = "mesh: m\nentry_point: a\nagents:\n  - { name: a, run: no-such-program }\n  \
                  - { name: b, run: cat, prompt: missing.md }\n";
    let project = Project::started(&[("m/config.yaml", config)]);
    for agent in ["a", "b"] {
        let text = message("core", &format!("m/{agent}"), agent, "", "Do it");
        project.drop_file(&format!("{agent}.md"), &text);
        let parked = project.wait_for_step(agent, Step::Parked);
        let ladder = &parked.deliveries[0].ladder;
        let leased = ladder.iter().filter(|entry| entry.step == Step::Leased);
        assert_eq!(leased.count(), 1, "{ladder:?}");
    }
}

/// The last good one goes on, and the human is told wherever they look: once, not at each start.
#[test]
fn a_mesh_that_an_edit_broke_is_told_in_the_inbox_and_shown_until_it_is_fixed() {
    let good = "mesh: m\nagents: [{ name: a, run: cat }]\n";
    let project = Project::started(&[("m/config.yaml", good)]);
    project.write(
        "meshes/m/config.yaml",
        &format!("{good}routing: {{ a: {{ complete: b }} }}\n"),
    );
    let told = || {
        let inbox = project.json(&["inbox", "--json"]);
        let news = inbox.as_array().unwrap().len();
        (news > 0).then_some(inbox)
    };
    let inbox = wait_for("news of the mesh", told);
    let path = inbox[0]["path"].as_str().unwrap();
    // The file is written after the commit that the inbox shows.
    let text = wait_for("the file of the message", || {
        std::fs::read_to_string(path).ok()
    });
    assert!(text.contains("meshes/m/config.yaml"), "{text}");
    assert!(text.contains("error[TX0401]"), "{text}");
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["problems"][0]["mesh"], "m", "{status}");
    assert_eq!(status["rejections"], serde_json::json!([]), "{status}");
    project.kill_daemon();
    project.start();
    assert_eq!(told().unwrap().as_array().unwrap().len(), 1);
    project.write("meshes/m/config.yaml", good);
    let status = project.json(&["status", "--json"]);
    assert_eq!(status["problems"], serde_json::json!([]), "{status}");
}
