//! Results in the core session, beside a human who types there.

use std::fs;
use std::time::Duration;

use tx::model::Kind;

use crate::human::Human;
use crate::stage::{Project, message, wait_for};

const WORKS: &str = r#"
mesh: dev
agents:
  - { name: works, runtime: command, run: [echo, done] }
"#;

/// A program with a line editor. It keeps every line that is sent off, and is busy when it
/// is told to be.
const EDITOR: &str = r#"
while IFS= read -er -p '> ' line; do
    printf '%s\n' "$line" >> lines
    case $line in
    busy) stty -echo; echo 'working ...'; until [ -e rest ]; do sleep 0.01; done; stty echo ;;
    esac
done
"#;

const SETTINGS: &str = r#"
core:
  run: [bash, -c, "exec -a line-editor bash editor.sh"]
  idle: ">"
notify:
  command: [sh, -c, 'printf "%s\n" "$0" >> told', "{id}"]
"#;

/// Longer than the core pane is left alone for, and than it takes to try twice.
const TWO_TRIES: Duration = Duration::from_secs(7);

fn at_the_editor() -> (Project, Human) {
    let project = Project::new(&[("dev/config.yaml", WORKS)]);
    project.write(".ai/tx/config.yaml", SETTINGS);
    project.write("editor.sh", EDITOR);
    project.start();
    let human = Human::attached_to(&project);
    wait_for("the prompt", || (human.line() == ">").then_some(()));
    (project, human)
}

impl Human {
    /// What is in the line that the program waits in: the last that there is.
    fn line(&self) -> String {
        let screen = self.screen();
        let mut lines = screen.trim_end().lines().rev().skip(1);
        lines.find(|l| !l.is_empty()).unwrap_or_default().into()
    }
}

impl Project {
    fn tasks_with_results(&self, count: usize) {
        for task in 0..count {
            let front = "inject-response: true\n";
            let text = message("core", "dev/works", &format!("t{task}"), front, "work");
            self.drop_file(&format!("t{task}.md"), &text);
        }
    }

    /// The files of the results that have come.
    fn results(&self) -> Vec<String> {
        let inbox = self.reader().inbox().unwrap();
        let results = inbox.iter().filter(|facts| {
            let core = facts.deliveries.first();
            core.is_some_and(|core| core.kind == Kind::TaskComplete)
        });
        results.map(tx::daemon::file_with).collect()
    }

    fn wait_for_results(&self, count: usize) -> Vec<String> {
        wait_for("all results", || {
            Some(self.results()).filter(|results| results.len() == count)
        })
    }

    /// The lines that were sent off at the editor.
    fn lines(&self) -> Vec<String> {
        let lines = fs::read_to_string(self.root().join("lines")).unwrap_or_default();
        lines.lines().map(String::from).collect()
    }

    /// How many of the unread messages are results.
    fn unread_results(&self) -> usize {
        let unread = self.reader().unread().unwrap();
        unread.iter().filter(|f| !f.from.is_system()).count()
    }
}

#[test]
fn a_result_is_put_where_the_program_waits_and_was_read_then() {
    let (project, _human) = at_the_editor();
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    let line = format!("tx: a result has come: dev/works complete .ai/tx/msgs/{file}");
    wait_for("the line", || (project.lines() == [&*line]).then_some(()));
    wait_for("what was read", || {
        (project.unread_results() == 0).then_some(())
    });
    // A task that does not want it is not answered there.
    project.drop_file("u.md", &message("core", "dev/works", "u", "", "work"));
    project.wait_for_results(2);
    std::thread::sleep(TWO_TRIES);
    assert_eq!(project.lines(), [line]);
}

#[test]
fn a_half_typed_line_is_left_alone_while_ten_results_come() {
    let (project, human) = at_the_editor();
    human.types(&["-l", "half a thought"]);
    wait_for("the draft", || {
        (human.line() == "> half a thought").then_some(())
    });
    project.tasks_with_results(10);
    let files = project.wait_for_results(10);
    std::thread::sleep(TWO_TRIES);
    assert_eq!(human.line(), "> half a thought");
    assert_eq!((project.lines(), project.unread_results()), (vec![], 10));

    human.types(&["C-u"]);
    wait_for("the results", || {
        let lines = project.lines().join("\n");
        files
            .iter()
            .all(|file| lines.contains(&**file))
            .then_some(())
    });
    for file in &files {
        let times = project
            .lines()
            .iter()
            .flat_map(|l| l.matches(&**file))
            .count();
        assert_eq!(times, 1, "{file}");
    }
    assert!(project.lines().iter().all(|line| line.starts_with("tx: ")));
    wait_for("what was read", || {
        (project.unread_results() == 0).then_some(())
    });
}

#[test]
fn what_was_typed_while_the_program_worked_is_left_alone_too() {
    let (project, human) = at_the_editor();
    human.types(&["-l", "busy"]);
    human.types(&["Enter"]);
    wait_for("work", || human.screen().contains("working").then_some(()));
    human.types(&["-l", "and then"]);
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    std::thread::sleep(TWO_TRIES);
    assert_eq!(project.lines(), ["busy"]);

    fs::write(project.root().join("rest"), "").unwrap();
    wait_for("the draft", || (human.line() == "> and then").then_some(()));
    std::thread::sleep(TWO_TRIES);
    assert_eq!(human.line(), "> and then");
    human.types(&["Enter"]);
    wait_for("the result", || {
        project
            .lines()
            .get(2)
            .filter(|l| l.contains(&**file))
            .map(drop)
    });
    assert_eq!(project.lines()[..2], ["busy", "and then"]);
}

#[test]
fn a_result_that_finds_no_moment_stays_in_the_inbox_and_the_human_is_told() {
    let (project, human) = at_the_editor();
    human.types(&["-l", "half a thought"]);
    project.tasks_with_results(1);
    project.wait_for_results(1);
    assert!(!human.heard_a_bell());
    wait_for("the human's program", || {
        fs::read_to_string(project.root().join("told")).ok()
    });
    wait_for("the bell", || human.heard_a_bell().then_some(()));
    assert_eq!((project.lines(), project.unread_results()), (vec![], 1));
    assert_eq!(human.line(), "> half a thought");
}

#[test]
fn nothing_is_typed_into_a_shell() {
    let project = Project::new(&[("dev/config.yaml", WORKS)]);
    let settings = "core: { run: [env, PS1=>, bash, --norc], idle: '>' }\n";
    project.write(".ai/tx/config.yaml", settings);
    project.start();
    let human = Human::attached_to(&project);
    wait_for("the prompt", || (human.line() == ">").then_some(()));
    project.tasks_with_results(1);
    human.wait_for_foot("2 new");
    std::thread::sleep(TWO_TRIES);
    assert_eq!(human.line(), ">");
    assert_eq!(project.unread_results(), 1);
}
