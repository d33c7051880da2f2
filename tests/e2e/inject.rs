//! Results in the core session, beside a human who types there.

use std::fs;
use std::time::Duration;

use tx::model::Kind;

use crate::human::Human;
use crate::stage::{Project, message, soak, tmux, wait_for};

const WORKS: &str = r#"
mesh: dev
agents:
  - { name: works, runtime: command, run: [echo, done] }
  - { name: fails, runtime: command, run: [/nonexistent/program] }
entry_point: works
"#;

/// A program that shows what is typed, and is awkward in the ways that its arguments say.
const COMPOSER: &str = include_str!("composer.py");

/// Longer than the core pane is left alone for, and than it takes to try twice, by a daemon that
/// was started with [`Project::start_quick`].
const TWO_TRIES: Duration = Duration::from_secs(3);
/// Longer than it takes to try once more.
const ONE_TRY: Duration = Duration::from_secs(2);

fn settings(awkward: &str, idle: &str) -> String {
    format!(
        "core:\n  run: [python3, composer.py, {awkward}]\n  idle: \"{idle}\"\n  \
         busy: esc to interrupt|Allow\nnotify:\n  command: [sh, told.sh, \"{{id}}\"]\n"
    )
}

fn with_settings(settings: &str) -> Project {
    let project = Project::new(&[("dev/config.yaml", WORKS)]);
    project.write(".ai/tx/config.yaml", settings);
    project.write("composer.py", COMPOSER);
    project.write("told.sh", "printf '%s\\n' \"$1\" >> told\n");
    project
}

/// A human at a program that waits.
fn at_the_composer(awkward: &str) -> (Project, Human) {
    let project = with_settings(&settings(awkward, "^> $"));
    project.start_quick();
    let human = Human::attached_to(&project);
    wait_for("the prompt", || (human.line() == ">").then_some(()));
    (project, human)
}

/// The same, where the line has a frame.
fn at_the_frame(awkward: &str) -> (Project, Human) {
    at_the_frame_of(awkward, Project::start_quick)
}

fn at_the_frame_of(awkward: &str, start: fn(&Project)) -> (Project, Human) {
    let settings = settings(&format!("framed, {awkward}"), r"^╭─+╮\n│ > $");
    let project = with_settings(&settings);
    start(&project);
    let human = Human::attached_to(&project);
    wait_for("the frame", || {
        human.screen().contains("│ > ").then_some(())
    });
    (project, human)
}

impl Human {
    /// What is in the line that the program waits in: the last that there is.
    fn line(&self) -> String {
        let screen = self.screen();
        let mut lines = screen.trim_end().lines().rev().skip(1);
        lines.find(|l| !l.is_empty()).unwrap_or_default().into()
    }

    fn sends(&self, text: &str) {
        self.types(&["-l", text]);
        self.types(&["Enter"]);
    }
}

impl Project {
    fn tasks_with_results(&self, count: usize) {
        for task in 0..count {
            self.task_with_result("works", &format!("t{task}"));
        }
    }

    fn task_with_result(&self, agent: &str, id: &str) {
        let (to, front) = (format!("dev/{agent}"), "inject-response: true\n");
        self.drop_file(
            &format!("{id}.md"),
            &message("core", &to, id, front, "work"),
        );
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

    /// The lines that were sent off at the program.
    fn lines(&self) -> Vec<String> {
        let lines = fs::read_to_string(self.root().join("lines")).unwrap_or_default();
        lines.lines().map(String::from).collect()
    }

    fn wait_for_line(&self, with: &str) {
        wait_for(with, || {
            let mut lines = self.lines().into_iter();
            lines.any(|line| line.contains(with)).then_some(())
        });
    }

    /// How many of the unread messages are results.
    fn unread_results(&self) -> usize {
        let unread = self.reader().unread().unwrap();
        unread.iter().filter(|f| !f.from.is_system()).count()
    }

    fn wait_until_all_is_read(&self) {
        wait_for("what was read", || {
            (self.unread_results() == 0).then_some(())
        });
    }

    /// Has the human's own program been told?
    fn told(&self) -> bool {
        self.root().join("told").exists()
    }

    fn wait_until_told(&self) {
        wait_for("the human's program", || self.told().then_some(()));
    }
}

#[test]
fn a_result_is_put_where_the_program_waits_and_was_read_then() {
    let (project, _human) = at_the_composer("plain");
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    let line = format!("tx: a result has come: dev/works complete .ai/tx/msgs/{file}");
    wait_for("the line", || (project.lines() == [&*line]).then_some(()));
    project.wait_until_all_is_read();
    // A task that does not want it is not answered there.
    project.drop_file("u.md", &message("core", "dev/works", "u", "", "work"));
    project.wait_for_results(2);
    std::thread::sleep(TWO_TRIES);
    assert_eq!(project.lines(), [line]);
    assert!(!project.told());
    // One of which nothing will come is.
    project.task_with_result("fails", "f");
    project.wait_for_line("system/dispatcher parked .ai/tx/msgs/");
}

#[test]
fn a_half_typed_line_is_left_alone_while_ten_results_come() {
    let (project, human) = at_the_composer("plain");
    human.types(&["-l", "half a thought"]);
    wait_for("the draft", || {
        (human.line() == "> half a thought").then_some(())
    });
    project.tasks_with_results(10);
    let files = project.wait_for_results(10);
    std::thread::sleep(ONE_TRY);
    assert_eq!(human.line(), "> half a thought");
    assert_eq!((project.lines(), project.unread_results()), (vec![], 10));

    human.types(&["C-u"]);
    for file in &files {
        project.wait_for_line(file);
    }
    let lines = project.lines();
    assert_eq!(lines.len(), 2, "five a line: {lines:#?}");
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("tx: results have come: "))
    );
    for file in &files {
        let times = lines.iter().flat_map(|l| l.matches(&**file)).count();
        assert_eq!(times, 1, "{file}");
    }
    project.wait_until_all_is_read();
}

#[test]
fn a_draft_of_several_lines_is_left_alone_though_its_last_is_empty() {
    let (project, human) = at_the_frame("");
    human.sends("half a thought\\");
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    std::thread::sleep(TWO_TRIES);
    assert_eq!(project.lines(), [""; 0]);
    human.sends("and the other half");
    project.wait_for_line(file);
    assert_eq!(
        project.lines()[..2],
        ["half a thought", "and the other half"]
    );
}

#[test]
fn what_was_typed_while_the_program_worked_is_left_alone_though_it_shows_late() {
    let (project, human) = at_the_composer("late");
    human.sends("busy");
    wait_for("work", || human.screen().contains("working").then_some(()));
    human.types(&["-l", "and then"]);
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    std::thread::sleep(TWO_TRIES);
    assert_eq!(project.lines(), ["busy"]);

    fs::write(project.root().join("rest"), "").unwrap();
    std::thread::sleep(TWO_TRIES);
    assert_eq!(human.line(), "> and then");
    human.types(&["Enter"]);
    project.wait_for_line(file);
    assert_eq!(project.lines()[..2], ["busy", "and then"]);
}

#[test]
fn a_program_that_works_is_left_alone_though_its_line_is_empty() {
    let (project, human) = at_the_frame("");
    human.sends("busy");
    wait_for("work", || human.screen().contains("working").then_some(()));
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    std::thread::sleep(TWO_TRIES);
    assert_eq!(project.lines(), ["busy"]);
    fs::write(project.root().join("rest"), "").unwrap();
    project.wait_for_line(file);
}

#[test]
fn blanks_are_a_draft_too() {
    for awkward in ["plain", "framed"] {
        let (project, human) = match awkward {
            "plain" => at_the_composer(""),
            _ => at_the_frame(""),
        };
        human.types(&["-l", "   "]);
        project.tasks_with_results(1);
        let file = &project.wait_for_results(1)[0];
        std::thread::sleep(TWO_TRIES);
        assert_eq!(project.lines(), [""; 0]);
        human.types(&["C-u"]);
        project.wait_for_line(file);
        assert!(project.lines()[0].starts_with("tx: "));
    }
}

#[test]
fn who_reads_back_is_left_alone() {
    let (project, human) = at_the_composer("plain");
    human.types(&["C-b", "["]);
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    std::thread::sleep(TWO_TRIES);
    assert_eq!(project.lines(), [""; 0]);
    human.types(&["q"]);
    project.wait_for_line(file);
}

#[test]
fn enter_is_pressed_again_where_a_program_loses_it() {
    let (project, _human) = at_the_frame("drops-enter");
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    project.wait_for_line(file);
    project.wait_until_all_is_read();
    assert_eq!(project.lines().len(), 1);
}

#[test]
fn enter_is_never_pressed_on_what_came_up_meanwhile() {
    let (project, human) = at_the_frame("dialog");
    project.tasks_with_results(1);
    wait_for("the dialog", || {
        human.screen().contains("Allow").then_some(())
    });
    project.wait_until_told();
    assert!(!project.root().join("allowed").exists());
    assert_eq!((project.lines(), project.unread_results()), (vec![], 1));
}

#[test]
fn a_slow_program_does_not_find_a_second_enter() {
    // The waits of every day, once.
    let (project, human) = at_the_frame_of("slow", Project::start);
    project.tasks_with_results(1);
    let file = &project.wait_for_results(1)[0];
    project.wait_for_line(file);
    wait_for("the dialog", || {
        human.screen().contains("Allow").then_some(())
    });
    project.wait_until_all_is_read();
    assert!(!project.root().join("allowed").exists());
}

#[test]
fn a_result_that_finds_no_moment_stays_in_the_inbox_and_the_human_is_told() {
    let (project, human) = at_the_composer("plain");
    human.types(&["-l", "half a thought"]);
    project.tasks_with_results(1);
    project.wait_for_results(1);
    assert!(!human.heard_a_bell());
    project.wait_until_told();
    wait_for("the bell", || human.heard_a_bell().then_some(()));
    assert_eq!((project.lines(), project.unread_results()), (vec![], 1));
    assert_eq!(human.line(), "> half a thought");
}

#[test]
fn a_result_that_waits_outlives_the_daemon_and_what_was_put_comes_once() {
    let (project, human) = at_the_composer("plain");
    human.types(&["-l", "half a thought"]);
    project.tasks_with_results(1);
    project.wait_for_results(1);
    project.kill_daemon();
    human.wait_for_foot("tx is not running");
    // It comes once too if it is taken in while tx starts.
    project.task_with_result("works", "meanwhile");
    project.start_quick();
    let files = project.wait_for_results(2);
    human.types(&["C-u"]);
    for file in &files {
        project.wait_for_line(file);
    }
    project.wait_until_all_is_read();
    let lines = project.lines().join("\n");
    assert!(
        files.iter().all(|file| lines.matches(&**file).count() == 1),
        "{lines}"
    );
    assert!(!project.told());

    // As if it had been killed after the paste.
    human.types(&["-l", "half a thought"]);
    project.task_with_result("works", "again");
    let again = project.wait_for_results(3).pop().unwrap();
    let number = project.reader().unread().unwrap();
    let number = number.iter().find(|facts| !facts.from.is_system()).unwrap();
    let number = number.number.0.to_string();
    tmux(
        project.socket(),
        &["set", "-p", "-t", "=core:", "@tx-put", &number],
    );
    human.types(&["C-u"]);
    project.wait_until_told();
    assert!(project.lines().iter().all(|line| !line.contains(&again)));
    assert_eq!(project.unread_results(), 1);
}

#[test]
fn nothing_is_typed_into_a_shell_whatever_it_is_called() {
    let is_left_alone = |run: &str| {
        let project = with_settings(&format!("core:\n  run: {run}\n  idle: '>'\n"));
        project.start_quick();
        let human = Human::attached_to(&project);
        wait_for("the prompt", || (human.line() == ">").then_some(()));
        project.tasks_with_results(1);
        project.wait_for_results(1);
        std::thread::sleep(TWO_TRIES);
        project.unread_results() == 1 && !human.screen().contains("tx: a result")
    };
    std::thread::scope(|scope| {
        for run in [
            "[env, 'PS1=>', bash, --norc]",
            "[bash, -c, \"PS1='>' exec -a agent bash --norc\"]",
        ] {
            scope.spawn(move || assert!(is_left_alone(run), "{run}"));
        }
    });
}

/// Keys that come at any moment around the one in which a result is put there.
#[test]
fn a_key_never_has_a_result_typed_after_it() {
    let (project, human) = at_the_composer("plain");
    let rounds: u64 = if soak() { 60 } else { 4 };
    let mut ids = Vec::new();
    for round in 0..rounds {
        project.task_with_result("works", &format!("r{round}"));
        // The line comes between one and three seconds after the last key.
        std::thread::sleep(Duration::from_millis(900 + round * 1277 % 2400));
        human.types(&["-l", "xxx"]);
        std::thread::sleep(Duration::from_millis(round * 31 % 300));
        human.types(&["Enter"]);
    }
    let files = project.wait_for_results(usize::try_from(rounds).unwrap());
    for facts in project.reader().inbox().unwrap() {
        ids.push((tx::daemon::file_with(&facts), facts.id.to_string()));
    }
    let has_come = |file: &String| {
        let told = fs::read_to_string(project.root().join("told")).unwrap_or_default();
        let id = ids.iter().find(|(of, _)| of == file).map(|(_, id)| id);
        let is_told = told.lines().any(|line| Some(line) == id.map(|id| &**id));
        is_told || project.lines().iter().any(|line| line.contains(&**file))
    };
    wait_for("every result, there or told", || {
        files.iter().all(has_come).then_some(())
    });
    let typed = |lines: &[String]| {
        let typed = lines.iter().map(|line| line.matches("xxx").count());
        typed.sum::<usize>() as u64
    };
    // tmux has the last keys before the program does.
    let lines = wait_for("all that was typed", || {
        Some(project.lines()).filter(|lines| typed(lines) >= rounds)
    });
    for line in &lines {
        // One who types into the line that has just come has it, and sends it off.
        let is_ours = line
            .strip_prefix("tx: ")
            .is_some_and(|rest| !rest.contains("tx: "));
        assert!(is_ours || line == "xxx", "{lines:#?}");
    }
    assert_eq!(typed(&lines), rounds, "{lines:#?}");
    let put = lines.iter().filter(|line| line.starts_with("tx: ")).count();
    assert!(
        put > 0,
        "nothing was put there between the keys: {lines:#?}"
    );
}
