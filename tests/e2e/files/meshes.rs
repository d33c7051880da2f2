//! Meshes come, change and go while tx runs.

use std::fs;

use tx::engine::{Phase, Step};

use super::{MESH, SLOW, task};
use crate::stage::{Project, message, wait_for};

#[test]
fn a_mesh_is_picked_up_when_it_is_edited_and_a_broken_edit_keeps_the_last_good_one() {
    let project = Project::started(&MESH);
    let send = |id: &str, to: &str| {
        project.drop_file(&format!("{id}.md"), &message("core", to, id, "", "x"));
    };
    let loads = || project.records("mesh-loaded");
    let before = loads();
    project.write(
        "meshes/slow/config.yaml",
        &SLOW.replace("name: echo", "name: parrot"),
    );
    wait_for("the edit", || (loads() > before).then_some(()));
    send("to-new", "slow/parrot");
    project.wait_for_step("to-new", Step::Finished);
    // Broken: the last good one is kept, and it is said once.
    project.write("meshes/slow/config.yaml", "mesh: slow\nagents: [}\n");
    wait_for("the log to say so", || {
        project
            .log()
            .contains("the last good one is kept")
            .then_some(())
    });
    send("to-kept", "slow/parrot");
    project.wait_for_step("to-kept", Step::Finished);
    // A restart does not forget it.
    project.ok(&["stop"]);
    project.start();
    send("to-kept-still", "slow/parrot");
    project.wait_for_step("to-kept-still", Step::Finished);
    // A new one, with its first message, in either order of seeing them.
    for (name, first) in [("late", "message"), ("early", "mesh")] {
        let config =
            format!("mesh: {name}\nagents: [{{ name: a, runtime: command, run: [cat] }}]\n");
        let drop_mesh = || project.write(&format!("meshes/{name}/config.yaml"), &config);
        match first {
            "mesh" => {
                drop_mesh();
                send(name, name);
            }
            _ => {
                project.write(&format!("meshes/.{name}/config.yaml"), &config);
                let from = project.root().join(format!("meshes/.{name}"));
                fs::rename(from, project.root().join(format!("meshes/{name}"))).unwrap();
                send(name, name);
            }
        }
        project.wait_for_step(name, Step::Finished);
    }
}

#[test]
fn a_removed_mesh_parks_what_waits_for_it() {
    let project = Project::started(&MESH);
    project.drop_file("given.md", &task("sleeper", "given"));
    project.wait_for_step("given", Step::Delivered);
    project.drop_file("waits.md", &task("sleeper", "waits"));
    project.wait_for_step("waits", Step::Queued);
    fs::remove_dir_all(project.root().join("meshes/slow")).unwrap();
    project.wait_for_step("waits", Step::Parked);
    assert!(project.message("given").is_some());
    project.drop_file("more.md", &task("sleeper", "more"));
    let why = wait_for("the refusal", || project.refused().remove("more.md"));
    assert!(why.contains("slow"), "{why}");
    let worker = "slow/sleeper".parse().unwrap();
    assert_ne!(
        project.state().worker(&worker).unwrap().status.is(),
        Phase::Idle
    );
}
