//! Kills of everything, under load: the daemon, the agents, the tmux server.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tx::engine::{MessageRecord, Step};

use crate::stage::{Project, message, tmux, wait_for};

/// A turn: it notes what it was given, and whether another of its agent runs.
const TURN: &str = r#"
exec 9> "$TX_ROOT/lock-$1"
flock -n 9 || echo "$TX_MSG_ID" >> "$TX_ROOT/doubles"
echo "$TX_MSG_ID" >> "$TX_ROOT/ran-$1"
sleep "0.0$(( $$ % 9 ))"
echo done
"#;

/// A program that stays: the same for every line it is given.
const STAYS: &str = r#"
echo $$ >> "$TX_ROOT/began-$1"
exec 9> "$TX_ROOT/lock-$1"
flock -n 9 || echo "a second $1" >> "$TX_ROOT/doubles"
while IFS= read -r path; do
    id=$(basename "$path" .md)
    echo "$id" >> "$TX_ROOT/ran-$1"
    out="$TX_ROOT/.ai/tx/msgs/.out-$id-$$"
    printf -- '---\nto: core\nfrom: %s\nmsg-id: out-%s\nstatus: complete\nheadline: done\ntimestamp: 2026-11-15T10:00:00.000Z\nin-reply-to: %s\n---\n\ndone\n' \
        "$TX_AGENT" "$id-$$" "$id" > "$out"
    mv "$out" "$TX_ROOT/.ai/tx/msgs/out-$id-$$.md"
done
"#;

const AGENTS: usize = 8;

fn mesh() -> String {
    let mut config = String::from("mesh: load\nagents:\n");
    for agent in 0..AGENTS {
        config += &match agent % 2 {
            0 => format!(
                "  - {{ name: a{agent}, runtime: command, run: [sh, '{{mesh_dir}}/turn.sh', a{agent}] }}\n"
            ),
            _ => format!(
                "  - {{ name: a{agent}, runtime: command, mode: pane, run: [sh, '{{mesh_dir}}/stays.sh', a{agent}] }}\n"
            ),
        };
    }
    config
}

fn loaded() -> Project {
    let project = Project::new(&[
        ("load/config.yaml", &mesh()),
        ("load/turn.sh", TURN),
        ("load/stays.sh", STAYS),
    ]);
    project.start();
    project
}

/// Drop so many messages, to the agents in turn.
fn drop_messages(project: &Project, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let id = format!("m{number}");
        let to = format!("load/a{}", number % AGENTS);
        project.drop_file(&format!("{id}.md"), &message("core", &to, &id, "", "work"));
    }
}

/// Wait until all are finished, and see that each is so once.
fn check_finished(project: &Project, count: usize) {
    let is_task = |facts: &&MessageRecord| facts.id.as_str().starts_with('m');
    let finished = wait_for("every message to be finished", || {
        let finished = project.reader().at_step(Step::Finished).unwrap();
        (finished.iter().filter(is_task).count() == count).then_some(finished)
    });
    let mut outcomes: BTreeMap<u64, u32> = BTreeMap::new();
    for facts in finished.iter().filter(|facts| facts.status.is_some()) {
        for cause in &facts.cause {
            *outcomes.entry(cause.0).or_default() += 1;
        }
    }
    for facts in finished.iter().filter(is_task) {
        let number = &facts.id;
        let ladder = &facts.deliveries[0].ladder;
        let ends = ladder.iter().filter(|entry| entry.step.is_end()).count();
        assert_eq!(ends, 1, "{number}: {ladder:?}");
        assert_eq!(
            outcomes.get(&facts.number.0),
            Some(&1),
            "outcomes of {number}"
        );
    }
    let doubles = fs::read_to_string(project.root().join("doubles")).unwrap_or_default();
    assert_eq!(doubles, "", "two of an agent ran at once");
    check_panes(project);
}

/// At most one live pane a worker.
fn check_panes(project: &Project) {
    let mut panes: BTreeMap<String, u32> = BTreeMap::new();
    for command in project.live_panes() {
        let worker = command.split(" turn ").nth(1).unwrap();
        let worker = worker.split(' ').next().unwrap().to_owned();
        *panes.entry(worker).or_default() += 1;
    }
    assert!(panes.values().all(|count| *count == 1), "{panes:?}");
}

/// What each agent was given, in order.
fn ran(project: &Project) -> BTreeMap<String, u32> {
    let mut ran: BTreeMap<String, u32> = BTreeMap::new();
    for agent in 0..AGENTS {
        let path = project.root().join(format!("ran-a{agent}"));
        for id in fs::read_to_string(path).unwrap_or_default().lines() {
            *ran.entry(id.to_owned()).or_default() += 1;
        }
    }
    ran
}

fn kills(few: usize) -> usize {
    match std::env::var("TX_KILLS") {
        Ok(kills) => kills.parse().unwrap(),
        Err(_) => few,
    }
}

/// Numbers that look random, and are the same each time.
fn chances() -> impl FnMut(u64) -> u64 {
    let mut seed = 7_u64;
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    }
}

#[test]
fn the_daemon_killed_under_load_loses_nothing_repeats_nothing_and_restarts_nobody() {
    let project = loaded();
    let mut chance = chances();
    let kills = kills(5);
    let each = 2 * AGENTS;
    for round in 0..kills {
        let half = round * each + each / 2;
        drop_messages(&project, round * each..half);
        std::thread::sleep(Duration::from_millis(chance(250)));
        project.kill_daemon();
        // Some come while it is down.
        drop_messages(&project, half..(round + 1) * each);
        project.start();
    }
    check_finished(&project, kills * each);
    // The agents lived on, and nobody was given anything twice.
    let ran = ran(&project);
    let twice: Vec<_> = ran.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "given more than once: {twice:?}");
    assert_eq!(ran.len(), kills * each);
    // An attempt that a kill came before has begun no process.
    for agent in (1..AGENTS).step_by(2) {
        let began = project.root().join(format!("began-a{agent}"));
        let began = fs::read_to_string(began).unwrap();
        assert_eq!(began.lines().count(), 1, "load/a{agent} was restarted");
    }
}

#[test]
fn the_tmux_server_killed_under_load_loses_nothing_and_doubles_nobody() {
    let project = loaded();
    let mut chance = chances();
    let kills = kills(3);
    let each = 2 * AGENTS;
    for round in 0..kills {
        drop_messages(&project, round * each..(round + 1) * each);
        std::thread::sleep(Duration::from_millis(100 + chance(250)));
        match chance(2) {
            0 => drop(tmux(project.socket(), &["kill-server"])),
            _ => {
                let server = tmux(project.socket(), &["display-message", "-p", "#{pid}"]);
                if let Some(server) = server.trim().parse().ok().and_then(Pid::from_raw) {
                    let _ = kill_process(server, Signal::KILL);
                }
            }
        }
    }
    check_finished(&project, kills * each);
}

/// It does not mind the hang-up of its terminal, and takes its time.
const STUBBORN: &str = r#"
trap '' HUP TERM INT
exec 9> "$TX_ROOT/lock-$1"
flock -n 9 || echo "a second $1" >> "$TX_ROOT/doubles"
echo "$$" >> "$TX_ROOT/pids-$1"
if [ "$2" = stays ]; then
    while :; do
        IFS= read -r path && sleep 0.5
    done
else
    sleep 1
    echo done
fi
"#;

#[test]
fn an_orphan_that_ignores_the_hang_up_never_leads_to_two_live_agents() {
    let config = "mesh: load\nagents:\n  \
        - { name: a0, runtime: command, run: [sh, '{mesh_dir}/stubborn.sh', a0, turns] }\n  \
        - { name: a1, runtime: command, mode: pane, run: [sh, '{mesh_dir}/stubborn.sh', a1, stays] }\n";
    let project = Project::started(&[("load/config.yaml", config), ("load/stubborn.sh", STUBBORN)]);
    for (id, to) in [("m0", "load/a0"), ("m1", "load/a1")] {
        project.drop_file(&format!("{id}.md"), &message("core", to, id, "", "work"));
    }
    let pids = |agent: &str| -> Vec<i32> {
        let text = fs::read_to_string(project.root().join(format!("pids-{agent}")));
        let text = text.unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    wait_for("both to run", || {
        (pids("a0").len() == 1 && pids("a1").len() == 1).then_some(())
    });
    tmux(project.socket(), &["kill-server"]);
    // The turn goes on without its pane, and its outcome counts.
    project.wait_for_step("m0", Step::Finished);
    assert_eq!(pids("a0").len(), 1);
    // The other one is of no use without its pane: it is ended, then started again.
    wait_for("a new process of a1", || {
        (pids("a1").len() == 2).then_some(())
    });
    let doubles = fs::read_to_string(project.root().join("doubles")).unwrap_or_default();
    assert_eq!(doubles, "");
    let first = Pid::from_raw(pids("a1")[0]).unwrap();
    assert!(
        rustix::process::test_kill_process(first).is_err(),
        "the orphan lives"
    );
    project.ok(&["stop", "--kill-agents"]);
}

#[test]
fn an_agent_that_is_killed_is_tried_again_then_parked_and_can_be_retried() {
    let script = "echo x >> \"$TX_ROOT/tries\"; [ -e \"$TX_ROOT/well\" ] || kill -9 $$; echo well";
    let config = format!(
        "mesh: frail\nagents:\n  - {{ name: a, runtime: command, run: [sh, -c, {script:?}] }}\n"
    );
    let project = Project::started(&[("frail/config.yaml", &config)]);
    project.drop_file("m.md", &message("core", "frail", "m", "", "work"));
    let parked = project.wait_for_step("m", Step::Parked);
    let reason = parked.deliveries[0]
        .ladder
        .last()
        .unwrap()
        .why
        .clone()
        .unwrap();
    assert!(reason.contains("signal 9"), "{reason}");
    let tries = fs::read_to_string(project.root().join("tries")).unwrap();
    assert!(tries.lines().count() > 1, "it was tried once only");
    let list = project.json(&["dlq", "list"]);
    assert_eq!(list[0]["message"], "m", "{list}");
    fs::write(project.root().join("well"), "").unwrap();
    project.ok(&["dlq", "retry", "m"]);
    project.wait_for_step("m", Step::Finished);
    assert_eq!(project.json(&["dlq", "list"]), serde_json::json!([]));
}

#[test]
fn what_escaped_from_a_killed_wrapper_does_not_keep_its_agent_from_going_on() {
    // Its child is in a session of its own, and holds what its parent held.
    let script = "if [ ! -e \"$TX_ROOT/once\" ]; then : > \"$TX_ROOT/once\"; \
        setsid sh -c 'echo $$ > \"$TX_ROOT/escaped\"; exec sleep 600' & sleep 600; fi; echo done";
    let config = format!(
        "mesh: frail\nagents:\n  - {{ name: a, runtime: command, run: [sh, -c, {script:?}] }}\n"
    );
    let project = Project::started(&[("frail/config.yaml", &config)]);
    project.drop_file("m.md", &message("core", "frail", "m", "", "work"));
    let escaped = wait_for("the child to escape", || {
        let text = fs::read_to_string(project.root().join("escaped")).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    });
    let began = project.root().join(".ai/tx/run/frail/a/1/began");
    let wrapper = fs::read_to_string(began).unwrap().parse().unwrap();
    kill_process(Pid::from_raw(wrapper).unwrap(), Signal::KILL).unwrap();
    project.wait_for_step("m", Step::Finished);
    let stat = fs::read_to_string(format!("/proc/{escaped}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "it lives: {stat}");
}

#[test]
fn what_a_program_prints_is_kept_though_its_pane_takes_nothing() {
    let script = "until [ -e \"$TX_ROOT/go\" ]; do sleep 0.01; done; \
        i=0; while [ $i -lt 20000 ]; do echo \"line $i\"; i=$((i + 1)); done";
    let config = format!(
        "mesh: loud\nagents:\n  - {{ name: a, runtime: command, run: [sh, -c, {script:?}] }}\n"
    );
    let project = Project::started(&[("loud/config.yaml", &config)]);
    project.drop_file("m.md", &message("core", "loud", "m", "", "work"));
    let panes = || {
        tmux(
            project.socket(),
            &["list-panes", "-a", "-F", "#{pane_id} #{window_name}"],
        )
    };
    let pane = wait_for("its pane", || {
        let panes = panes();
        let line = panes.lines().find(|line| line.ends_with(" a"))?;
        Some(line.split(' ').next().unwrap().to_owned())
    });
    // Somebody stops the output, to read it.
    tmux(project.socket(), &["send-keys", "-t", &pane, "C-s"]);
    fs::write(project.root().join("go"), "").unwrap();
    project.wait_for_step("m", Step::Finished);
    let outcome = project.reader().at_step(Step::Finished).unwrap();
    let outcome = outcome.iter().find(|facts| facts.status.is_some()).unwrap();
    let text = project.reader().text_of(outcome).unwrap().unwrap();
    assert_eq!(text.lines().count(), 20_000);
    assert!(text.ends_with("line 19999\n"));
}

#[test]
fn a_timer_that_falls_due_while_the_meshes_are_read_does_not_stop_the_loop() {
    let quick = "mesh: quick\nagents:\n  - { name: a, run: [sleep, '600'], timeout: 2 }\n";
    let slow = "mesh: slow\nagents:\n  - { name: c, runtime: claude, prompt: work }\n";
    let project = Project::new(&[("quick/config.yaml", quick), ("slow/config.yaml", slow)]);
    let bin = project.root().join("bin");
    let claude = |waits: &str| {
        project.write("bin/claude", &format!("#!/bin/sh\n{waits}\necho 2.0.0\n"));
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bin.join("claude"), mode).unwrap();
    };
    claude("");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut start = project.command(&["start", "--detach"]);
    assert!(start.env("PATH", path).status().unwrap().success());
    // Whoever reads the meshes asks this program for its version, since it is another now.
    let root = project.root().to_owned();
    let at = root.display();
    claude(&format!(
        ": > '{at}/asked'; until [ -e '{at}/go' ]; do sleep 0.01; done"
    ));
    project.drop_file("m.md", &message("core", "quick", "m", "", "work"));
    project.wait_for_step("m", Step::Delivered);
    project.drop_file("x.md", &message("core", "nobody", "x", "", "work"));
    wait_for("the meshes to be read", || {
        root.join("asked").exists().then_some(())
    });
    let due = project.state().next_timer().unwrap().0;
    wait_for("the timer to be due", || {
        (chrono::Utc::now().timestamp_millis() > due).then_some(())
    });
    fs::write(root.join("go"), "").unwrap();
    wait_for("the message to be refused", || {
        (project.refused().len() == 1).then_some(())
    });
    wait_for("the work to be tried again", || {
        root.join(".ai/tx/run/quick/a/2").exists().then_some(())
    });
}
