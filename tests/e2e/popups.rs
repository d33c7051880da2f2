//! A popup takes no key that was meant for elsewhere.

use std::fs;

use tx::engine::Step;

use crate::human::Human;
use crate::stage::{Project, TX, message, tmux, wait_for};

/// Asks as it is told, and stays in its window.
const ASKER: &str = r#"
mesh: dev
agents:
  - { name: stays, runtime: command, mode: pane, deliver: text, run: [cat, -] }
"#;

fn project(core: &str) -> Project {
    let project = Project::new(&[("dev/config.yaml", ASKER)]);
    let settings = format!("core: {{ run: {core} }}\nnotify: {{ popup: true }}\n");
    project.write(".ai/tx/config.yaml", &settings);
    project.start_quick();
    project.drop_file("m.md", &message("core", "dev/stays", "m", "", "work"));
    project.wait_for_step("m", Step::Delivered);
    project
}

fn ask(project: &Project, id: &str) {
    let text = message("dev/stays", "core", id, "", &format!("What of {id}?"));
    project.drop_file(&format!("ask{id}.md"), &text);
    wait_for(id, || is_open(project, id).then_some(()));
}

fn is_open(project: &Project, id: &str) -> bool {
    let asks = project.json(&["asks"]);
    asks.as_array().unwrap().iter().any(|ask| ask["id"] == id)
}

impl Human {
    fn shows_popup(&self, id: &str) -> bool {
        let screen = self.screen();
        screen.contains("dev/stays asks") && screen.contains(&format!("What of {id}?"))
    }

    fn waits_for_popup(&self, id: &str) {
        wait_for(&format!("the popup of {id}"), || {
            self.shows_popup(id).then_some(())
        });
    }
}

#[test]
fn what_is_typed_into_a_popup_that_just_opened_answers_nothing() {
    let project = project("[cat, -]");
    let human = Human::attached_to(&project);
    human.wait_for_foot("●");
    // Of this id nothing is to be thought either.
    ask(&project, "-");
    human.waits_for_popup("-");
    human.types(&["-l", "a ihello aa"]);
    human.types(&["Escape"]);
    wait_for("it to close", || (!human.shows_popup("-")).then_some(()));
    human.types(&["-l", ":wq"]);
    human.types(&["Enter"]);
    wait_for("what was typed below it", || {
        human.screen().contains(":wq").then_some(())
    });
    assert!(!human.screen().contains("error"), "{}", human.screen());
    assert!(is_open(&project, "-"));
    let answers = fs::read_dir(project.bus()).unwrap();
    let answers = answers.filter(|file| {
        let text = fs::read_to_string(file.as_ref().unwrap().path()).unwrap_or_default();
        text.contains("ask-response")
    });
    assert_eq!(answers.count(), 0);
}

#[test]
fn the_line_of_a_popup_is_left_by_esc_and_by_ctrl_c_without_an_error() {
    let project = project("[cat, -]");
    let human = Human::attached_to(&project);
    human.wait_for_foot("●");
    for (id, key) in [("q1", "Escape"), ("q2", "C-c")] {
        ask(&project, id);
        human.waits_for_popup(id);
        human.asks_for_the_line();
        human.types(&["-l", "half"]);
        human.types(&[key]);
        wait_for("it to close", || (!human.shows_popup(id)).then_some(()));
        assert!(!human.screen().contains("error"), "{}", human.screen());
        assert!(is_open(&project, id));
    }
}

#[test]
fn no_popup_opens_over_a_full_screen_program_or_an_answer() {
    let project = project("[env, 'PS1=$ ', sh]");
    let human = Human::attached_to(&project);
    human.wait_for_foot("●");
    let other = Human::who_runs(&project, &["attach", "dev/stays"]);
    human.types(&["-l", r"printf '\033[?1049h'"]);
    human.types(&["Enter"]);
    wait_for("the full screen", || {
        let is_full = ["display-message", "-p", "-t", "=core:", "#{alternate_on}"];
        (tmux(project.socket(), &is_full).trim() == "1").then_some(())
    });
    ask(&project, "q1");
    other.waits_for_popup("q1");
    assert!(!human.shows_popup("q1"), "{}", human.screen());
    human.types(&["-l", r"printf '\033[?1049l'"]);
    human.types(&["Enter"]);
    human.waits_for_popup("q1");
    for human in [&human, &other] {
        human.types(&["Escape"]);
        wait_for("it to close", || (!human.shows_popup("q1")).then_some(()));
    }

    // Somebody answers the one, in an editor that does not take the whole screen.
    project.write("editor.sh", "echo edited; read -r _\n");
    let (root, editor) = (project.root().display(), "sh editor.sh");
    human.types(&["-l", &format!("EDITOR='{editor}' {TX} -C {root} answer q1")]);
    human.types(&["Enter"]);
    wait_for("the line", || {
        human.screen().contains("your answer").then_some(())
    });
    human.types(&["Enter"]);
    wait_for("the editor", || {
        human.screen().contains("edited").then_some(())
    });
    ask(&project, "q2");
    other.waits_for_popup("q2");
    assert!(!human.shows_popup("q2"), "{}", human.screen());
}
