//! What the human sees: a client of tx inside an outer tmux, whose screen is looked at.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tx::engine::Step;

use crate::human::Human;
use crate::pages::same_in_page;
use crate::stage::{Project, TX, message, tmux, wait_for};

/// It asks the human once, and waits for leave before it ends.
const ASKER: &str = r#"
mesh: dev
agents:
  - name: asks
    runtime: command
    run: [sh, "{mesh_dir}/asks.sh"]
  - name: works
    runtime: command
    run: [sh, -c, "until [ -e go ]; do sleep 0.01; done; echo done"]
  - { name: fails, runtime: command, run: [echo, "{model}"] }
"#;

const ASKS: &str = r#"
if grep -q 'in blue' ; then echo "blue it is"; exit; fi
bus="$TX_ROOT/.ai/tx/msgs"
printf -- '---\nto: core\nfrom: dev/asks\nmsg-id: colour-%s\nheadline: Which colour?\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\nWhich colour is it to be?\n' "$TX_MSG_ID" > "$bus/.$TX_MSG_ID"
mv "$bus/.$TX_MSG_ID" "$bus/colour-$TX_MSG_ID.md"
"#;

/// A painter who asks, and a helper who is at work until the test ends.
const PAINT: &str = r#"
mesh: paint
agents:
  - { name: painter, runtime: command, run: [sh, "{mesh_dir}/painter.sh"] }
  - { name: helper, runtime: command, run: [sleep, "600"] }
entry_point: painter
routing:
  painter: { complete: { core: "It is painted" }, blocked: { core: "A choice is yours" } }
  helper: { complete: { painter: "The colours are mixed" } }
"#;

#[test]
fn the_foot_of_the_screen_says_what_moves_and_what_waits() {
    let project = Project::new(&[("dev/config.yaml", ASKER), ("dev/asks.sh", ASKS)]);
    project.write(".ai/tx/config.yaml", "core: { run: [env, 'PS1=$ ', sh] }\n");
    project.start();
    let human = Human::attached_to(&project);
    human.wait_for_foot("all idle");
    // Read is what a terminal showed.
    let reads_inbox = || {
        let inbox = format!("'{TX}' -C '{}' inbox", project.root().display());
        human.types(&["-l", &inbox]);
        human.types(&["Enter"]);
    };

    project.drop_file("w.md", &message("core", "dev/works", "w", "", "work"));
    human.wait_for_foot("●");
    assert!(!human.heard_a_bell());

    project.drop_file("a.md", &message("core", "dev/asks", "a", "", "paint it"));
    human.wait_for_foot("●  1 ask");
    wait_for("the bell", || human.heard_a_bell().then_some(()));
    for notification in [
        "\x1b]9;dev/asks: Which colour?\x07",
        "\x1b]777;notify;tx;dev/asks: Which colour?\x07",
    ] {
        wait_for("the notification", || {
            human.received().contains(notification).then_some(())
        });
    }

    project.drop_file("bad.md", "---\nfrom: core\n---\n\nTo nobody.\n");
    human.wait_for_foot("●  1 ask  1 rejection  1 new");
    project.drop_file(
        "bad.md",
        &message("core", "dev/works", "mended", "", "work"),
    );
    human.wait_for_foot("●  1 ask  1 new");

    // Two results, and the news of the file.
    fs::write(project.root().join("go"), "").unwrap();
    human.wait_for_foot("1 ask  3 new");
    project.ok(&["answer", "colour-a", "in blue"]);
    human.wait_for_foot("4 new");
    reads_inbox();
    human.wait_for_foot("all idle");

    // What makes no command line is a dead letter at once.
    let front = "model: --x\n";
    project.drop_file("f.md", &message("core", "dev/fails", "f", front, "work"));
    human.wait_for_foot("1 dead letter  1 new");
    let letters = project.json(&["dlq", "list"]);
    let letter = letters[0]["id"].as_str().unwrap();
    project.ok(&["dlq", "drop", letter]);
    reads_inbox();
    human.wait_for_foot("all idle");

    // Whatever ends tx, the foot tells the truth; so it does when tx is back.
    project.kill_daemon();
    human.wait_for_foot("tx is not running");
    project.start();
    human.wait_for_foot("all idle");
    let clients = ["list-clients", "-F", "#{client_control_mode} #{client_pid}"];
    let clients = tmux(project.socket(), &clients);
    let ours = clients.lines().find_map(|line| line.strip_prefix("1 "));
    let ours = Pid::from_raw(ours.unwrap().parse().unwrap()).unwrap();
    kill_process(ours, Signal::KILL).unwrap();
    human.wait_for_foot("all idle");
    project.ok(&["stop"]);
    human.wait_for_foot("tx is not running");
}

#[test]
fn a_program_of_the_humans_own_is_told_of_an_ask() {
    let project = Project::new(&[("dev/config.yaml", ASKER), ("dev/asks.sh", ASKS)]);
    let settings = "notify:\n  command: [sh, told.sh, \"{from}\", \"{headline}\", \"{id}\"]\n";
    project.write(".ai/tx/config.yaml", settings);
    project.write("told.sh", "printf '%s|' \"$@\" > told\n");
    project.start();
    project.drop_file("a.md", &message("core", "dev/asks", "a", "", "paint it"));
    wait_for("the human's program", || {
        let told = fs::read_to_string(project.root().join("told")).ok()?;
        (told == "dev/asks|Which colour?|colour-a|").then_some(())
    });
}

#[test]
fn wrong_settings_keep_tx_from_starting_and_say_where() {
    let project = Project::new(&[("dev/config.yaml", ASKER)]);
    project.write(".ai/tx/config.yaml", "core:\n  rum: [x]\n");
    let output = project.tx(&["start", "--detach"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        said.contains("unknown field `rum`") && said.contains("config.yaml:2"),
        "{said}"
    );
}

#[test]
fn a_popup_of_the_inbox_shows_what_fits_and_any_key_closes_it() {
    let mesh = "mesh: dev\nagents: [{ name: echoes, run: [echo, done] }]\n";
    let project = Project::started(&[("dev/config.yaml", mesh)]);
    for number in 0..15 {
        let name = format!("m{number}");
        let task = message("core", "dev/echoes", &name, "", "work");
        project.drop_file(&format!("{name}.md"), &task);
    }
    let human = Human::attached_to(&project);
    human.wait_for_foot("15 new");
    human.types(&["C-b", "i"]);
    wait_for(&format!("the popup over {}", human.screen()), || {
        human
            .screen()
            .contains("(any key closes this)")
            .then_some(())
    });
    let screen = human.screen();
    let shown = screen.matches("● done").count();
    assert!(
        shown > 0 && screen.contains("earlier: `tx inbox"),
        "{screen}"
    );
    human.types(&["q"]);
    wait_for("the popup to close", || {
        (!human.screen().contains("any key")).then_some(())
    });
    // What did not fit was not read.
    human.wait_for_foot(&format!("{} new", 15 - shown));
}

#[test]
fn a_popup_asks_and_goes_when_it_is_answered_there_or_elsewhere() {
    let project = Project::new(&[("dev/config.yaml", ASKER), ("dev/asks.sh", ASKS)]);
    project.write(".ai/tx/config.yaml", "notify: { popup: true }\n");
    project.start_quick();
    let human = Human::attached_to(&project);
    human.wait_for_foot("all idle");
    let shows_popup = || {
        let screen = human.screen();
        (screen.contains("dev/asks asks") && screen.contains("Which colour is it to be?"))
            .then_some(())
    };

    // Answered in it.
    project.drop_file("a.md", &message("core", "dev/asks", "a", "", "paint it"));
    wait_for("the popup", shows_popup);
    human.asks_for_the_line();
    human.types(&["-l", "in blue"]);
    human.types(&["Enter"]);
    project.wait_for_step("a", Step::Finished);
    wait_for("the popup to go", || shows_popup().is_none().then_some(()));

    // Answered elsewhere.
    project.drop_file(
        "b.md",
        &message("core", "dev/asks", "b", "", "paint another"),
    );
    wait_for("the popup again", shows_popup);
    project.ok(&["answer", "colour-b", "in blue"]);
    wait_for("the popup to go", || shows_popup().is_none().then_some(()));
    project.wait_for_step("b", Step::Finished);
}

#[test]
fn popups_wait_for_somebody_and_leave_those_of_others_alone() {
    let project = Project::new(&[("dev/config.yaml", ASKER), ("dev/asks.sh", ASKS)]);
    project.write(".ai/tx/config.yaml", "notify: { popup: true }\n");
    project.start_quick();
    let asks = |id: &str| {
        let text = message("core", "dev/asks", id, "", "paint it");
        project.drop_file(&format!("{id}.md"), &text);
    };
    asks("a");
    let asked = |id: &str| {
        let ask = format!("colour-{id}");
        wait_for(&ask, || {
            let asks = project.json(&["asks"]);
            (asks[0]["id"] == ask).then_some(())
        });
    };
    asked("a");
    let human = Human::attached_to(&project);
    let shows = |what: &str| human.screen().contains(what).then_some(());
    wait_for("the popup of before", || shows("dev/asks asks"));
    project.ok(&["answer", "colour-a", "in blue"]);
    wait_for("it to go", || {
        shows("dev/asks asks").is_none().then_some(())
    });

    // One of the human's own stays, whatever becomes of a question, and the next waits.
    let client = ["list-clients", "-t", "=core", "-F", "#{client_name}"];
    let client = tmux(project.socket(), &client).trim().to_owned();
    let mut own = std::process::Command::new("tmux");
    own.arg("-S").arg(project.socket()).env_remove("TMUX");
    own.args(["display-popup", "-c", &client, "echo mine; sleep 600"]);
    let mut own = own.spawn().unwrap();
    wait_for("a popup of its own", || shows("mine"));
    for id in ["b", "c"] {
        asks(id);
        asked(id);
        std::thread::sleep(Duration::from_secs(2));
        assert!(shows("mine").is_some(), "{}", human.screen());
        if id == "b" {
            project.ok(&["answer", "colour-b", "in blue"]);
            project.wait_for_step("b", Step::Finished);
            assert!(shows("mine").is_some(), "{}", human.screen());
        }
    }
    tmux(project.socket(), &["display-popup", "-C", "-c", &client]);
    own.wait().unwrap();
    wait_for("the popup", || shows("dev/asks asks"));
}

#[test]
fn what_is_typed_in_a_popup_is_not_typed_into_the_next() {
    let mesh = ASKER.replace("name: works", "name: also").replace(
        "[sh, -c, \"until [ -e go ]; do sleep 0.01; done; echo done\"]",
        "[sh, \"{mesh_dir}/asks.sh\"]",
    );
    let asks = ASKS.replace("from: dev/asks", "from: '\"$TX_AGENT\"'");
    let project = Project::new(&[("dev/config.yaml", &mesh), ("dev/asks.sh", &asks)]);
    let settings = "core: { run: [cat, -] }\nnotify: { popup: true }\n";
    project.write(".ai/tx/config.yaml", settings);
    project.start();
    let human = Human::attached_to(&project);
    human.wait_for_foot("all idle");
    for (id, agent) in [("a", "asks"), ("b", "also")] {
        let to = format!("dev/{agent}");
        project.drop_file(
            &format!("{id}.md"),
            &message("core", &to, id, "", "paint it"),
        );
    }
    let popup = || {
        let screen = human.screen();
        let mut of = ["dev/asks", "dev/also"].into_iter();
        of.find(|of| screen.contains(&format!("{of} asks:")))
    };
    let first = wait_for("a popup", popup);
    human.asks_for_the_line();
    human.types(&["-l", "1"]);
    project.ok(&["answer", first, "in blue"]);
    let closed = Instant::now();
    while closed.elapsed() < Duration::from_secs(5) {
        human.types(&["-l", "a"]);
        std::thread::sleep(Duration::from_millis(50));
    }
    let second = wait_for("the other popup", popup);
    assert_ne!(first, second);
    let screen = human.screen();
    assert!(!screen.contains("your answer"), "{screen}");
}

#[test]
fn no_popup_takes_the_keyboard_from_somebody_who_types() {
    let project = Project::new(&[("dev/config.yaml", ASKER), ("dev/asks.sh", ASKS)]);
    project.write(
        ".ai/tx/config.yaml",
        "core: { run: [cat, -] }\nnotify: { popup: true }\n",
    );
    project.start();
    let human = Human::attached_to(&project);
    human.wait_for_foot("all idle");
    project.drop_file("a.md", &message("core", "dev/asks", "a", "", "paint it"));
    let mut typed = String::new();
    // A person at work, until well after the ask has come. On a machine that stands still
    // for a while, so does the person: only then may it open.
    let asked = Instant::now();
    let mut last = Instant::now();
    while asked.elapsed() < Duration::from_secs(5) {
        let still = last.elapsed();
        human.types(&["-l", "x"]);
        last = Instant::now();
        let screen = human.screen();
        if screen.contains("dev/asks asks") {
            assert!(still > Duration::from_secs(1), "after {still:?}:\n{screen}");
            return;
        }
        typed.push('x');
        std::thread::sleep(Duration::from_millis(100));
    }
    wait_for("every letter in the pane", || {
        human.screen().contains(&typed).then_some(())
    });
    wait_for("the popup, when it is quiet", || {
        human.screen().contains("dev/asks asks").then_some(())
    });
}

#[test]
fn the_core_session_looks_as_the_docs_show_it() {
    let painter = format!("'{TX}' send core 'Which colour is the door? It was blue.'\n");
    let project = Project::new(&[("paint/config.yaml", PAINT), ("paint/painter.sh", &painter)]);
    let programs = Path::new(TX).parent().unwrap().display();
    let shell = format!("core: {{ run: [env, 'PS1=$ ', 'PATH={programs}:/usr/bin:/bin', sh] }}\n");
    project.write(".ai/tx/config.yaml", &(shell + "notify: { popup: true }\n"));
    project.start();
    let human = Human::attached_to(&project);
    human.wait_for_foot("all idle");
    human.types(&["tx mesh graph paint", "Enter"]);
    wait_for("the graph", || {
        human.screen().contains("helper").then_some(())
    });
    project.ok(&["send", "paint/helper", "Mix the colours"]);
    project.ok(&["send", "paint", "Paint the door"]);
    wait_for("the popup", || {
        human.screen().contains("Esc: close").then_some(())
    });
    human.wait_for_foot("●  1 ask");
    let screen = human.screen();
    let lines = screen.lines().map(|line| line.trim_end().to_owned() + "\n");
    let shown = format!("```screen\n{}```\n", lines.collect::<String>());
    same_in_page(
        "docs/human.md",
        "the core session, captured by a test",
        &shown,
    );
}
