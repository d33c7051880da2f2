//! The folder goes, the disk is full: all goes on when they are well again.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tx::engine::Step;

use super::{GATE, GATED, MESH, accepted, system_messages, task};
use crate::stage::{Project, message, skip, soak, wait_for};

#[test]
fn the_folder_may_go_and_come_back() {
    let project = Project::started(&MESH);
    let begun = Instant::now();
    let finish = |id: &str| {
        project.drop_file(&format!("{id}.md"), &task("echo", id));
        project.wait_for_step(id, Step::Finished);
    };
    finish("before");
    // Away and back: what was known is known.
    let away = project.root().join(".ai/tx/away");
    fs::rename(project.bus(), &away).unwrap();
    fs::write(away.join("while-away.md"), task("echo", "while-away")).unwrap();
    // tx may have made another meanwhile, for a message of tx.
    wait_for("the folder to be back", || {
        let back = fs::rename(&away, project.bus());
        back.inspect_err(|_| drop(fs::remove_dir_all(project.bus())))
            .ok()
    });
    project.wait_for_step("while-away", Step::Finished);
    finish("after");
    // Gone and made again, with files right after.
    let remove = || {
        // tx may write a message of tx into it meanwhile, and make it for that.
        wait_for("the folder to go", || {
            fs::remove_dir_all(project.bus()).ok()
        });
    };
    let rounds = if soak() { 200 } else { 6 };
    for round in 0..rounds {
        remove();
        fs::create_dir_all(project.bus()).unwrap();
        finish(&format!("made-{round}"));
        finish(&format!("again-{round}"));
    }
    // Another in its place.
    fs::create_dir(&away).unwrap();
    fs::write(away.join("in-place.md"), task("echo", "in-place")).unwrap();
    wait_for("another in its place", || {
        remove();
        fs::rename(&away, project.bus()).ok()
    });
    project.wait_for_step("in-place", Step::Finished);
    finish("at-last");
    // Not by the scan that comes now and then.
    assert!(
        soak() || begun.elapsed() < Duration::from_secs(25),
        "{:?}",
        begun.elapsed()
    );
    let all = accepted(&project);
    assert_eq!(all.len(), 5 + 2 * rounds, "{all:?}");
    assert_eq!(project.state().counts().duplicates, 0);
}

#[test]
fn files_are_known_when_their_folder_is_back_after_others_stood_in_its_place() {
    let project = Project::started(&MESH);
    let finish = |id: &str| {
        project.drop_file(&format!("{id}.md"), &task("echo", id));
        project.wait_for_step(id, Step::Finished);
    };
    finish("before");
    let away = project.root().join(".ai/tx/away");
    fs::rename(project.bus(), &away).unwrap();
    let others = ["instead-1", "instead-2", "instead-3"];
    for other in others {
        // tx may have made it for a message of its own.
        fs::create_dir_all(project.bus()).unwrap();
        finish(other);
        fs::rename(project.bus(), project.root().join(".ai/tx").join(other)).unwrap();
    }
    // tx may make another one until then, for a message of its own.
    wait_for("the folder to be back", || {
        let back = fs::rename(&away, project.bus());
        back.inspect_err(|_| drop(fs::remove_dir_all(project.bus())))
            .ok()
    });
    finish("after");
    let all = ["before", "instead-1", "instead-2", "instead-3", "after"];
    assert_eq!(accepted(&project), all);
    assert_eq!(project.state().counts().duplicates, 0);
}

#[test]
fn a_full_disk_loses_nothing_and_all_goes_on_when_there_is_room() {
    let project = Project::new(&MESH);
    let disk = project.root().join(".ai");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
        .arg(&disk)
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        skip("a small file system cannot be mounted here");
        return;
    }
    let _unmount = Unmount(&disk);
    fs::create_dir_all(project.bus()).unwrap();
    project.start();
    project.drop_file("before.md", &task("echo", "before"));
    project.wait_for_step("before", Step::Finished);
    // They lie there, and are nobody's yet.
    let many = 20;
    let body = "word ".repeat(2_000);
    for number in 0..many {
        let id = format!("m{number:02}");
        let text = message("core", "slow/echo", &id, "", &body);
        project.drop_file(&format!(".{id}"), &text);
    }
    let mut filler = File::create(disk.join("filler")).unwrap();
    while filler.write_all(&[0; 4096]).is_ok() {}
    for number in 0..many {
        let name = project.bus().join(format!("m{number:02}.md"));
        fs::rename(project.bus().join(format!(".m{number:02}")), name).unwrap();
    }
    let full = "the journal cannot be written";
    // Its log has no room either: what it says there it says when there is.
    wait_for("the intake to stop", || {
        let stalled = project.tx(&["worker", "stop", "slow/sleeper"]);
        let said = String::from_utf8_lossy(&stalled.stderr).into_owned();
        said.contains(full).then_some(())
    });
    let taken = project.state().counts().accepted;
    fs::remove_file(disk.join("filler")).unwrap();
    drop(filler);
    for number in 0..many {
        project.wait_for_step(&format!("m{number:02}"), Step::Finished);
    }
    let all = accepted(&project);
    assert_eq!(all.len(), many + 1, "{all:?}");
    for facts in project.reader().at_step(Step::Finished).unwrap() {
        let status = facts.status.as_ref().map_or("", |status| status.as_str());
        assert!(["", "complete"].contains(&status), "{facts:?}");
    }
    let own = project.reader().own_messages().unwrap().len();
    wait_for("every letter to have its file", || {
        (system_messages(&project) == own).then_some(())
    });
    assert!(taken < project.state().counts().accepted);
    assert!(project.log().contains(full), "{}", project.log());
    project.kill_daemon();
    project.start();
    assert_eq!(project.state().counts().duplicates, 0);
    project.ok(&["stop", "--kill-agents"]);
}

#[test]
fn a_letter_that_cannot_be_written_is_written_when_it_can_be() {
    let turn = format!("{GATE}gate\nout\n");
    let meshes = [("gated/config.yaml", GATED), ("gated/turn.sh", &turn)];
    for restarted in [false, true] {
        let project = Project::started(&meshes);
        project.drop_file("m.md", &message("core", "gated/turn", "m", "", "x"));
        project.wait_for_step("m", Step::Delivered);
        // Something else is where the folder was.
        let away = project.root().join("away");
        fs::rename(project.bus(), &away).unwrap();
        fs::write(project.bus(), "in the way").unwrap();
        project.write("open", "");
        project.wait_for_step("m", Step::Finished);
        wait_for("the log to say so", || {
            project.log().contains("cannot be written").then_some(())
        });
        if restarted {
            project.ok(&["stop"]);
        }
        fs::remove_file(project.bus()).unwrap();
        fs::rename(&away, project.bus()).unwrap();
        if restarted {
            project.start();
        }
        let own = project.reader().own_messages().unwrap().len();
        wait_for("every letter to have its file", || {
            (own > 0 && system_messages(&project) == own).then_some(())
        });
    }
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}
