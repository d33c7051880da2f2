//! How files get there: while tx is down, in pieces, by links, many at once.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tx::engine::Step;

use super::{MESH, accepted, system_messages, task};
use crate::stage::{Project, message, soak, wait_for};

#[test]
fn files_dropped_while_tx_is_down_are_taken_in_order_and_never_again() {
    let old = if soak() { 20_000 } else { 2_000 };
    let project = Project::new(&MESH);
    let mut expected = Vec::new();
    for number in 0..old {
        let id = format!("m{number:05}");
        project.drop_file(&format!("{id}.md"), &task("sleeper", &id));
        expected.push(id);
    }
    project.start();
    assert_eq!(accepted(&project), expected);
    // tx's own messages lie there too.
    for number in 0..5 {
        project.drop_file(
            &format!("bad{number}.md"),
            "---\nto: nobody/at-all\nfrom: core\n---\n\nx\n",
        );
        let id = format!("e{number}");
        project.drop_file(&format!("{id}.md"), &task("echo", &id));
        project.wait_for_step(&id, Step::Finished);
    }
    wait_for("the refusals", || {
        (project.refused().len() == 5).then_some(())
    });
    let system_messages = system_messages(&project);
    assert!(system_messages >= 10, "{system_messages}");
    let (arrivals, rejected) = (project.arrivals(), project.records("rejected"));
    for how in ["stopped", "killed", "stopped again"] {
        match how {
            "killed" => project.kill_daemon(),
            _ => drop(project.ok(&["stop"])),
        }
        project.start();
        // All that it found was taken in before this.
        project.drop_file(&format!("{how}.md"), &task("echo", how));
        project.wait_for_step(how, Step::Finished);
    }
    assert_eq!(
        project.arrivals(),
        arrivals + 3,
        "known files were taken again"
    );
    assert_eq!(project.records("rejected"), rejected);
    let state = project.state();
    assert_eq!((state.counts().duplicates, state.counts().refused), (0, 5));
}

#[test]
fn a_file_arrives_whole_and_once_however_it_is_put_there() {
    let project = Project::started(&MESH);
    let bus = project.bus();
    let text = |id: &str| task("echo", id) + &"more of it\n".repeat(100);
    let mut waited = Vec::new();
    std::thread::scope(|scope| {
        // In ten pieces through one handle, two of them late.
        scope.spawn(|| {
            let text = text("pieces");
            let mut file = File::create(bus.join("pieces.md")).unwrap();
            for (number, piece) in text.as_bytes().chunks(text.len().div_ceil(10)).enumerate() {
                // The gap is what is tested. The portable variant is not told when a file is
                // closed: it takes what stands for 100 ms.
                let late = if cfg!(feature = "portable") { 50 } else { 700 };
                let gap = if number == 1 || number == 5 { late } else { 20 };
                std::thread::sleep(Duration::from_millis(gap));
                file.write_all(piece).unwrap();
                file.flush().unwrap();
            }
        });
        waited.push("pieces");
        fs::write(bus.join(".renamed"), text("renamed")).unwrap();
        fs::rename(bus.join(".renamed"), bus.join("renamed.md")).unwrap();
        waited.push("renamed");
        fs::write(project.root().join("elsewhere"), text("moved")).unwrap();
        fs::rename(project.root().join("elsewhere"), bus.join("moved.md")).unwrap();
        waited.push("moved");
        fs::write(bus.join(".linked"), text("linked")).unwrap();
        fs::hard_link(bus.join(".linked"), bus.join("linked.md")).unwrap();
        fs::remove_file(bus.join(".linked")).unwrap();
        waited.push("linked");
        if unnamed_then_linked(&bus, "unnamed.md", &text("unnamed")) {
            waited.push("unnamed");
        }
        // Over another, as editors do.
        fs::write(bus.join("replaced.md"), text("replaced")).unwrap();
        fs::write(bus.join(".new"), text("replaced")).unwrap();
        fs::rename(bus.join(".new"), bus.join("replaced.md")).unwrap();
        waited.push("replaced");
        // By two handles, one after the other.
        let whole = text("appended");
        let (head, tail) = whole.split_at(30);
        fs::write(bus.join("appended.md"), head).unwrap();
        let mut file = File::options()
            .append(true)
            .open(bus.join("appended.md"))
            .unwrap();
        file.write_all(tail.as_bytes()).unwrap();
        waited.push("appended");
    });
    for id in &waited {
        let facts = project.wait_for_step(id, Step::Finished);
        assert_eq!(project.reader().text_of(&facts).unwrap().unwrap(), text(id));
    }
    let mut all = accepted(&project);
    all.sort_unstable();
    waited.sort_unstable();
    assert_eq!(all, waited);
    assert_eq!(project.state().counts().refused, 0);
}

/// A file without a name is given one. False where the file system has no such files.
fn unnamed_then_linked(folder: &Path, name: &str, text: &str) -> bool {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::WRONLY;
    let Ok(file) = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) else {
        eprintln!("SKIPPED: there are no unnamed files here");
        return false;
    };
    rustix::io::write(&file, text.as_bytes()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file);
    let from = format!("/proc/self/fd/{number}");
    let linked = rustix::fs::linkat(CWD, from, CWD, folder.join(name), AtFlags::SYMLINK_FOLLOW);
    linked.is_ok()
}

/// Its outcome is a link, made a moment before it ends: or written, or moved, by the
/// words of the task.
const LINKER: &str = r#"
mesh: quick
agents:
  - name: linker
    runtime: command
    run:
      - sh
      - -c
      - |
        bus="$TX_ROOT/.ai/tx/msgs"; id="$TX_MSG_ID"
        how=$(grep -o 'how-[a-z]*' | head -n 1)
        printf -- '---\nfrom: %s\nmsg-id: out-%s\nstatus: complete\nheadline: done\n---\n\nby file\n' "$TX_AGENT" "$id" > "$bus/.$id"
        case "$how" in
          how-link) ln "$bus/.$id" "$bus/out-$id.md" ;;
          how-move) mv "$bus/.$id" "$bus/out-$id.md" ;;
          how-copy) cat "$bus/.$id" > "$bus/out-$id.md" ;;
        esac
        echo by output
"#;

#[test]
fn an_outcome_written_just_before_the_exit_is_seen_before_the_exit() {
    let project = Project::started(&[("quick/config.yaml", LINKER)]);
    let ways = ["link", "move", "copy"];
    let rounds = if soak() { 100 } else { 4 };
    for round in 0..rounds {
        for way in ways {
            let id = format!("{way}-{round}");
            let text = message("core", "quick/linker", &id, "", &format!("how-{way}"));
            project.drop_file(&format!("{id}.md"), &text);
        }
    }
    for round in 0..rounds {
        for way in ways {
            project.wait_for_step(&format!("{way}-{round}"), Step::Finished);
        }
    }
    let outcomes: Vec<_> = project
        .reader()
        .at_step(Step::Finished)
        .unwrap()
        .into_iter()
        .filter(|facts| !facts.from.is_core() && !facts.from.is_system())
        .collect();
    for facts in &outcomes {
        let text = project.reader().text_of(facts).unwrap().unwrap();
        assert!(text.contains("by file"), "{}: {text}", facts.id);
    }
    assert_eq!(outcomes.len(), rounds * ways.len());
}

#[test]
fn an_outcome_written_just_before_a_start_is_seen_before_the_exit() {
    let gate = "until [ -e \"$TX_ROOT/open\" ]; do sleep 0.02; done\n        bus=";
    let mesh = LINKER.replacen("bus=", gate, 1);
    for way in ["link", "copy"] {
        let project = Project::started(&[("quick/config.yaml", &mesh)]);
        let text = message("core", "quick/linker", "m", "", &format!("how-{way}"));
        project.drop_file("m.md", &text);
        project.wait_for_step("m", Step::Delivered);
        project.ok(&["stop"]);
        project.write("open", "");
        let ended = project.root().join(".ai/tx/run/quick/linker/1/ended");
        wait_for("the end of the turn", || ended.exists().then_some(()));
        project.start();
        project.wait_for_step("m", Step::Finished);
        let outcome = wait_for("its outcome", || project.message("out-m"));
        let text = project.reader().text_of(&outcome).unwrap().unwrap();
        assert!(text.contains("by file"), "{text}");
        let finished = project.reader().at_step(Step::Finished).unwrap();
        let outcomes = finished.iter().filter(|facts| facts.status.is_some());
        assert_eq!(outcomes.count(), 1);
        assert_eq!(project.state().open_messages().count(), 0);
    }
}

#[test]
fn whoever_goes_on_making_links_holds_nobody_up() {
    let project = Project::started(&MESH);
    let bus = project.bus();
    let on = AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            fs::write(bus.join(".link"), task("sleeper", "link")).unwrap();
            while on.load(Ordering::Relaxed) {
                let _ = fs::hard_link(bus.join(".link"), bus.join("link.md"));
                // The pace is what is tested: it never stands for as long as it should.
                std::thread::sleep(Duration::from_millis(50));
                let _ = fs::remove_file(bus.join("link.md"));
            }
        });
        let finished = std::panic::catch_unwind(|| {
            project.drop_file("m.md", &task("echo", "m"));
            project.wait_for_step("m", Step::Finished)
        });
        on.store(false, Ordering::Relaxed);
        finished.unwrap();
    });
}

#[test]
fn a_flood_of_files_is_queued_once_each() {
    let many = if soak() { 20_000 } else { 2_000 };
    let project = Project::started(&MESH);
    let mut expected = BTreeSet::new();
    for number in 0..many {
        let id = format!("m{number}");
        project.drop_file(&format!("{id}.md"), &task("sleeper", &id));
        expected.insert(id);
    }
    wait_for("all to be taken", || {
        (project.arrivals() >= many).then_some(())
    });
    let all = accepted(&project);
    assert_eq!(all.len(), many);
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), expected);
    let state = project.state();
    assert_eq!((state.counts().duplicates, state.counts().refused), (0, 0));
    let queued = state
        .open_messages()
        .filter(|h| h.facts.step() == Step::Queued)
        .count();
    assert_eq!(queued, many - 1);
}
