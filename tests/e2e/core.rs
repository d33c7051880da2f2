//! What the human sees: a client of tx inside an outer tmux, whose screen is looked at.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use tx::engine::Step;

use crate::human::Human;
use crate::pages::same_in_page;
use crate::stage::{Project, TX, message, wait_for};

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
    let project = Project::started(&[("dev/config.yaml", ASKER), ("dev/asks.sh", ASKS)]);
    let human = Human::attached_to(&project);
    human.wait_for_foot("all is quiet");
    assert!(human.foot().contains("tx: core"), "{}", human.foot());

    project.drop_file("w.md", &message("core", "dev/works", "w", "", "work"));
    human.wait_for_foot("●");
    assert!(!human.heard_a_bell());

    project.drop_file("a.md", &message("core", "dev/asks", "a", "", "paint it"));
    human.wait_for_foot("●  1 asks you");
    wait_for("the bell", || human.heard_a_bell().then_some(()));

    project.drop_file("bad.md", "no frontmatter\n");
    human.wait_for_foot("●  1 asks you  1 rejection  1 new");
    project.drop_file(
        "bad.md",
        &message("core", "dev/works", "mended", "", "work"),
    );
    human.wait_for_foot("●  1 asks you  1 new");

    // Each result comes with the news that its run is complete.
    fs::write(project.root().join("go"), "").unwrap();
    human.wait_for_foot("1 asks you  5 new");
    project.ok(&["answer", "colour-a", "in blue"]);
    human.wait_for_foot("7 new");
    project.ok(&["inbox"]);
    human.wait_for_foot("all is quiet");
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
fn a_popup_asks_and_goes_when_it_is_answered_there_or_elsewhere() {
    let project = Project::new(&[("dev/config.yaml", ASKER), ("dev/asks.sh", ASKS)]);
    project.write(".ai/tx/config.yaml", "notify: { popup: true }\n");
    project.start();
    let human = Human::attached_to(&project);
    human.wait_for_foot("all is quiet");
    let shows_popup = || {
        let screen = human.screen();
        (screen.contains("dev/asks asks") && screen.contains("Which colour is it to be?"))
            .then_some(())
    };

    // Answered in it.
    project.drop_file("a.md", &message("core", "dev/asks", "a", "", "paint it"));
    wait_for("the popup", shows_popup);
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
fn no_popup_takes_the_keyboard_from_somebody_who_types() {
    let project = Project::new(&[("dev/config.yaml", ASKER), ("dev/asks.sh", ASKS)]);
    project.write(
        ".ai/tx/config.yaml",
        "core: { run: [cat, -] }\nnotify: { popup: true }\n",
    );
    project.start();
    let human = Human::attached_to(&project);
    human.wait_for_foot("all is quiet");
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
    human.wait_for_foot("all is quiet");
    human.types(&["tx mesh graph paint", "Enter"]);
    wait_for("the graph", || {
        human.screen().contains("helper").then_some(())
    });
    project.ok(&["send", "paint/helper", "Mix the colours"]);
    project.ok(&["send", "paint", "Paint the door"]);
    wait_for("the popup", || {
        human.screen().contains("your answer").then_some(())
    });
    human.wait_for_foot("●  1 asks you");
    let screen = human.screen();
    let lines = screen.lines().map(|line| line.trim_end().to_owned() + "\n");
    let shown = format!("```screen\n{}```\n", lines.collect::<String>());
    same_in_page(
        "docs/human.md",
        "the core session, captured by a test",
        &shown,
    );
}
