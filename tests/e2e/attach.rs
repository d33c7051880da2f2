//! People go to panes: those of agents, by what they are, and the core session.

use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tx::engine::Step;

use crate::human::Human;
use crate::stage::{Project, TX, message, tmux, wait_for};

const DOTTED: &str = r#"
mesh: odd.names
agents:
  - { name: a, runtime: command, mode: pane, run: [cat] }
  - { name: a.1, runtime: command, mode: pane, run: [cat] }
"#;

/// A verb on a terminal, which `script` makes. Ended with it.
struct OnTerminal(Child);

impl OnTerminal {
    fn run(project: &Project, arguments: &str) -> OnTerminal {
        OnTerminal::inside(project, arguments, None)
    }

    /// The same, in a terminal that another tmux shows.
    fn inside(project: &Project, arguments: &str, tmux: Option<&str>) -> OnTerminal {
        let line = format!("{TX} -C {} {arguments}", project.root().display());
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]);
        for name in ["TMUX", "TX_ROOT", "TX_AGENT"] {
            script.env_remove(name);
        }
        script.envs(tmux.map(|tmux| ("TMUX", tmux)));
        script.env("TERM", "xterm").env("SHELL", "/bin/sh");
        script.stdin(Stdio::piped()).stdout(Stdio::null());
        OnTerminal(script.spawn().unwrap())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Where the people are that look at something: session and pane.
fn clients(project: &Project) -> Vec<String> {
    let format = "#{client_control_mode} #{session_name} #{pane_id}";
    let listed = tmux(project.socket(), &["list-clients", "-F", format]);
    let people = listed.lines().filter_map(|line| line.strip_prefix("0 "));
    people.map(Into::into).collect()
}

#[test]
fn attach_goes_to_the_pane_of_just_that_agent() {
    let project = Project::started(&[("odd.names/config.yaml", DOTTED)]);
    for (id, to) in [("m0", "odd.names/a"), ("m1", "odd.names/a.1")] {
        project.drop_file(&format!("{id}.md"), &message("core", to, id, "", "work"));
        project.wait_for_step(id, Step::Delivered);
    }
    let workers = project.json(&["worker", "list"]);
    assert_eq!(workers, project.json(&["status"])["workers"]);
    for worker in workers.as_array().unwrap() {
        let (agent, pane) = (&worker["agent"], worker["pane"].as_str().unwrap());
        let agent = agent.as_str().unwrap();
        let _terminal = OnTerminal::run(&project, &format!("attach {agent}"));
        wait_for(&format!("somebody to look at {agent}"), || {
            let clients = clients(&project);
            clients
                .iter()
                .any(|c| c.ends_with(&format!(" {pane}")))
                .then_some(())
        });
        let sessions = tmux(
            project.socket(),
            &["list-sessions", "-F", "#{session_name}"],
        );
        let has_core = sessions.lines().any(|name| name == "core");
        assert!(has_core, "the way back leads nowhere: {sessions}");
        let told = project.tx(&["attach", agent]);
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.contains(&format!("attach -t '{pane}'")), "{told}");
        let says = format!("{agent}: what you type goes to its program");
        assert!(told.contains(&says), "{told}");
    }
}

#[test]
fn the_core_session_has_a_live_shell_whenever_one_goes_there() {
    let project = Project::started(&[]);
    let panes = || {
        let format = "#{pane_dead} #{session_name}";
        let listed = tmux(project.socket(), &["list-panes", "-a", "-F", format]);
        let core = listed.lines().filter(|line| line.ends_with(" core"));
        core.map(Into::into).collect::<Vec<String>>()
    };
    // As if somebody typed `exit` in each.
    let end_shells = || {
        let list = ["list-panes", "-s", "-t", "=core:", "-F", "#{pane_pid}"];
        for pid in tmux(project.socket(), &list).lines() {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            let _ = kill_process(pid, Signal::KILL);
        }
    };
    project.ok(&["attach"]);
    assert_eq!(panes(), ["0 core"]);
    tmux(project.socket(), &["new-window", "-t", "=core:"]);
    assert_eq!(panes(), ["0 core", "0 core"]);
    end_shells();
    wait_for("the session to go with its shells", || {
        panes().is_empty().then_some(())
    });
    project.ok(&["attach"]);
    assert_eq!(panes(), ["0 core"]);
    // As an older tx has left it.
    let stay = ["set-option", "-w", "-t", "=core:", "remain-on-exit", "on"];
    tmux(project.socket(), &stay);
    end_shells();
    wait_for("the shell to be dead", || {
        (panes() == ["1 core"]).then_some(())
    });
    project.ok(&["attach"]);
    assert_eq!(panes(), ["0 core"]);
}

#[test]
fn inside_of_another_tmux_one_goes_in_is_greeted_and_finds_the_way_back() {
    let project = Project::started(&[("odd.names/config.yaml", DOTTED)]);
    let other = "/tmp/another-tmux,1234,0";
    let _terminal = OnTerminal::inside(&project, "start", Some(other));
    wait_for("somebody to be in the core session", || {
        let clients = clients(&project);
        clients.iter().any(|c| c.starts_with("core ")).then_some(())
    });
    let shown = wait_for("the greeting", || {
        let shown = tmux(project.socket(), &["capture-pane", "-p", "-t", "=core:"]);
        shown.contains("d: detach").then_some(shown)
    });
    for part in ["meshes: odd.names", "tx send MESH", "tx attach AGENT"] {
        assert!(shown.contains(part), "{shown}");
    }
    let keys = tmux(project.socket(), &["list-keys", "-T", "prefix"]);
    for (key, does) in [
        ("a", "asks"),
        ("i", "inbox"),
        ("b", "switch-client -t =core"),
        ("s", "_tx"),
        ("w", "_tx"),
    ] {
        let mut lines = keys.lines();
        let bound = lines.find(|line| line.split_whitespace().nth(3) == Some(key));
        assert!(
            bound.is_some_and(|line| line.contains(does)),
            "{key}: {keys}"
        );
    }
    let left = ["show-options", "-gv", "status-left"];
    assert!(tmux(project.socket(), &left).contains("Ctrl-b b: core"));
}

#[test]
fn a_dead_pane_shows_its_last_output() {
    let mesh = "mesh: brief\nagents:\n  - { name: a, mode: pane, run: [sh, -c, 'echo the only line; exit 3'] }\n";
    let project = Project::started(&[("brief/config.yaml", mesh)]);
    project.drop_file("m.md", &message("core", "brief/a", "m", "", "work"));
    wait_for("its last output", || {
        let list = [
            "list-panes",
            "-a",
            "-F",
            "#{pane_dead} #{session_name} #{pane_id}",
        ];
        let panes = tmux(project.socket(), &list);
        let pane = panes
            .lines()
            .find_map(|line| line.strip_prefix("1 brief "))?
            .to_owned();
        let shown = tmux(project.socket(), &["capture-pane", "-p", "-t", &pane]);
        shown.contains("the only line").then_some(())
    });
}

#[test]
fn without_a_daemon_attach_starts_nothing() {
    let project = Project::new(&[]);
    for arguments in [&["attach"][..], &["attach", "hello/worker"]] {
        let none = project.tx(arguments);
        let said = String::from_utf8_lossy(&none.stderr).into_owned();
        assert_eq!(none.status.code(), Some(4), "{said}");
        assert!(said.contains("`tx start` starts it"), "{said}");
    }
    assert!(!project.socket().exists());
}

#[test]
fn the_program_of_the_core_session_is_there_again_though_other_windows_are() {
    let project = Project::new(&[]);
    project.write(".ai/tx/config.yaml", "core: { run: [cat, -] }\n");
    project.start();
    let core = || {
        let format = "#{@tx-core} #{pane_id}";
        let listed = tmux(project.socket(), &["list-panes", "-a", "-F", format]);
        let core = listed.lines().find_map(|line| line.strip_prefix("1 "));
        core.map(String::from)
    };
    project.ok(&["attach"]);
    let first = core().unwrap();
    tmux(
        project.socket(),
        &["new-window", "-d", "-t", "=core:", "cat"],
    );
    tmux(project.socket(), &["kill-pane", "-t", &first]);
    assert_eq!(core(), None);
    project.ok(&["attach"]);
    let again = core().unwrap();
    project.ok(&["attach"]);
    assert_eq!(core(), Some(again));
}

#[test]
fn a_program_of_the_core_session_that_ends_at_once_is_said_so() {
    let project = Project::new(&[]);
    project.write(".ai/tx/config.yaml", "core: { run: [sh, -c, exit 3] }\n");
    project.start();
    for _ in 0..2 {
        let told = project.tx(&["attach"]);
        let said = String::from_utf8_lossy(&told.stderr);
        assert_eq!(told.status.code(), Some(1));
        assert!(said.contains("ended at once: sh -c exit 3"), "{said}");
    }
    project.write(".ai/tx/config.yaml", "core: { run: [cat, -] }\n");
    project.ok(&["attach"]);
    let listed = [
        "list-panes",
        "-s",
        "-t",
        "=core:",
        "-F",
        "#{pane_start_command}",
    ];
    assert_eq!(tmux(project.socket(), &listed).trim(), "cat -");
}

#[test]
fn inside_of_the_core_session_attach_switches() {
    let mesh = "mesh: dev\nagents: [{ name: a, runtime: command, mode: pane, run: [cat] }]\n";
    let project = Project::started(&[("dev/config.yaml", mesh)]);
    project.drop_file("m.md", &message("core", "dev/a", "m", "", "work"));
    project.wait_for_step("m", Step::Delivered);
    let human = Human::attached_to(&project);
    human.wait_for_foot("●");
    let root = project.root().display();
    human.types(&["-l", &format!("{TX} -C {root} attach dev/a")]);
    human.types(&["Enter"]);
    wait_for("the agent's window", || {
        let there = clients(&project);
        (there.len() == 1 && there[0].starts_with("dev ")).then_some(())
    });
}
