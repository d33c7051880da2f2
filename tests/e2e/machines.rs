//! Machines, with real processes: stages in panes, scripts and files as jobs, and what people see.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

/// An agent that is this shell script.
fn agent(name: &str, script: &str) -> String {
    let script = serde_json::to_string(script).unwrap();
    format!("  - {{ name: {name}, runtime: command, shell: true, run: {script} }}\n")
}

fn mesh(agents: &[(&str, &str)], fsm: &str) -> String {
    let agents: String = agents.iter().map(|(name, it)| agent(name, it)).collect();
    let fsm: String = fsm.lines().map(|line| format!("  {line}\n")).collect();
    let entry = "entry_point: a\n";
    format!("mesh: dev\n{entry}agents:\n{agents}fsm:\n{fsm}")
}

fn task(project: &Project, id: &str, body: &str) {
    project.drop_file(&format!("{id}.md"), &message("core", "dev", id, "", body));
}

/// The one machine that is under way, as scripts are told of it.
fn machine(project: &Project) -> serde_json::Value {
    let now = project.json(&["status"]);
    now["machines"][0].clone()
}

fn headlines(project: &Project) -> Vec<String> {
    let inbox = project.json(&["inbox", "--all"]);
    let all = inbox.as_array().unwrap().iter();
    let outcomes = all.filter(|one| one["status"] == "complete");
    let headline = |one: &serde_json::Value| one["headline"].as_str().unwrap().to_owned();
    outcomes.map(headline).collect()
}

#[test]
fn two_runs_of_one_machine_cross_and_never_mix() {
    let of_run = "run=$(grep -o 'run-[12]' | head -n 1)";
    let plan = format!("{of_run}; [ $run = run-1 ] && sleep 0.5; echo \"plan of $run\"");
    let build = format!("{of_run}; echo \"built $run\"");
    let config = mesh(
        &[("a", &plan), ("b", &build)],
        "initial: plan\nstates:\n  plan: {agents: [a], exit: {default: build}}\n  build: {agents: [b], exit: {default: done}}\n  done: {}\n",
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t1", "run-1");
    task(&project, "t2", "run-2");
    project.wait_for_step("t1", Step::Finished);
    project.wait_for_step("t2", Step::Finished);
    let mut done = headlines(&project);
    done.sort();
    assert_eq!(done, ["built run-1", "built run-2"]);
    let trace = project.ok(&["trace", "t1"]);
    assert!(
        trace.contains("[plan → build]") && trace.contains("[build → done]"),
        "{trace}"
    );
    let first = project.message("t1").unwrap();
    assert_eq!(first.machines[0].steps, 3);
}

#[test]
fn a_script_that_runs_when_tx_is_killed_is_not_run_twice() {
    let config = mesh(
        &[("a", "cat > given; echo planned")],
        "initial: plan\nscripts:\n  slow: 'echo begun >> s.log; sleep 2; echo ended >> s.log; echo done'\nstates:\n  plan: {agents: [a], exit: {run: slow, default: plan}}\n  done: {}\n",
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t", "do it");
    let log = project.root().join("s.log");
    wait_for("the script to begin", || fs::read_to_string(&log).ok());
    project.kill_daemon();
    project.start();
    project.wait_for_step("t", Step::Finished);
    assert_eq!(fs::read_to_string(&log).unwrap(), "begun\nended\n");
    assert_eq!(headlines(&project), ["planned"]);
    let given = fs::read_to_string(project.root().join("given")).unwrap();
    assert!(
        given.contains("The state `plan` of the mesh's workflow"),
        "{given}"
    );
}

#[test]
fn a_script_that_was_killed_with_tx_left_no_end_and_is_run_again() {
    let config = mesh(
        &[("a", "echo planned")],
        "initial: plan\nscripts:\n  slow: 'echo $$ $PPID >> pids; if [ $(wc -l < pids) = 1 ]; then sleep 300; fi; echo done'\nstates:\n  plan: {agents: [a], exit: {run: slow, default: plan}}\n  done: {}\n",
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t", "do it");
    let pids = || fs::read_to_string(project.root().join("pids")).ok();
    let first = wait_for("the script to begin", || {
        pids().filter(|text| text.ends_with('\n'))
    });
    project.kill_daemon();
    for pid in first.split_whitespace() {
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
    project.start();
    let first = project.wait_for_step("t", Step::Finished);
    assert_eq!(first.machines[0].steps, 2, "the script named the end");
    assert_eq!(pids().unwrap().lines().count(), 2);
    assert_eq!(headlines(&project), ["planned"]);
}

#[test]
fn a_reload_that_removes_the_state_parks_the_outcome_until_it_is_back() {
    let agents = [
        ("a", "echo planned"),
        ("b", "while [ ! -e go ]; do sleep 0.05; done; echo built"),
    ];
    let whole = mesh(
        &agents,
        "initial: plan\nstates:\n  plan: {agents: [a], exit: {default: build}}\n  build: {agents: [b], exit: {default: done}}\n  done: {}\n",
    );
    let without = mesh(
        &agents,
        "initial: plan\nstates:\n  plan: {agents: [a], exit: {default: done}}\n  done: {}\n",
    );
    let project = Project::started(&[("dev/config.yaml", &whole)]);
    task(&project, "t", "do it");
    wait_for("the second state", || {
        (machine(&project)["state"] == "build").then_some(())
    });
    let loads = |count: usize| {
        wait_for("the mesh to be loaded", || {
            (project.records("mesh-loaded") >= count).then_some(())
        });
    };
    let loaded = project.records("mesh-loaded");
    project.write("meshes/dev/config.yaml", &without);
    loads(loaded + 1);
    project.write("go", "");
    let parked = wait_for("the outcome to be parked", || {
        let machine = machine(&project);
        let why = machine["waits_for"].as_str()?.to_owned();
        why.contains("`build` does not exist").then_some(machine)
    });
    let status = project.ok(&["status"]);
    let command = parked["command"].as_str().unwrap();
    assert!(
        status.contains("waits for you") && status.contains(command),
        "{status}"
    );
    project.write("meshes/dev/config.yaml", &whole);
    loads(loaded + 2);
    let id = command.split_whitespace().nth(3).unwrap().to_owned();
    project.ok(&["dlq", "retry", &id]);
    project.wait_for_step("t", Step::Finished);
    assert_eq!(headlines(&project), ["built"]);
    let why = project.ok(&["why", &id]);
    assert!(
        why.contains("moved the workflow: build → done: default"),
        "{why}"
    );
}

#[test]
fn count_comes_from_rearmatter_and_each_member_knows_its_place() {
    let config = mesh(
        &[
            (
                "a",
                "printf 'three are needed\\n\\n---\\ncount: 3\\n---\\n'",
            ),
            ("b", "echo \"member $ENSEMBLE_INDEX of $ENSEMBLE_TOTAL\""),
        ],
        "initial: plan\ncontext: {n: ''}\nstates:\n  plan: {agents: [a], exit: {set: {n: \"$(echo '$rearmatter' | yq '.count')\"}, default: search}}\n  search: {ensemble: {agent: b, count: $n}}\n",
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t", "do it");
    project.wait_for_step("t", Step::Finished);
    let mut members = headlines(&project);
    members.sort();
    assert_eq!(members, ["member 0 of 3", "member 1 of 3", "member 2 of 3"]);
    let trace = project.ok(&["trace", "t"]);
    assert!(
        trace.contains('⋈') && trace.contains("[plan → search]"),
        "{trace}"
    );
}

#[test]
fn nothing_that_an_agent_wrote_is_ever_run() {
    let evil = r#"'; touch hacked1; "$(touch hacked2)" `touch hacked3` \n $HOME"#;
    let says = format!(
        "cat <<'END'\nplanned\n\n---\nword: {}\nn: 'a[$(touch hacked4)]'\n---\nEND",
        serde_json::to_string(&format!("{evil}\nsecond line")).unwrap()
    );
    let config = mesh(
        &[("a", &says)],
        "initial: plan\ncontext: {word: '', n: 0}\nscripts:\n  keep: |\n    printf %s \"$word\" > word.txt\n    echo '$rearmatter' > rearmatter.json\n    echo \"n=$((n + 1))\"\n    echo done\nstates:\n  plan:\n    agents: [a]\n    exit:\n      set: {word: \"$(echo '$rearmatter' | yq '.word')\", n: \"$(echo '$rearmatter' | yq '.n')\"}\n      run: keep\n      default: plan\n  done: {}\n",
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t", "do it");
    project.wait_for_step("t", Step::Finished);
    let word = fs::read_to_string(project.root().join("word.txt")).unwrap();
    assert_eq!(word, format!("{evil}\nsecond line"));
    let said = fs::read_to_string(project.root().join("rearmatter.json")).unwrap();
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["n"], "a[$(touch hacked4)]");
    let names = fs::read_dir(project.root()).unwrap();
    let hacked: Vec<_> = names
        .flatten()
        .filter(|it| it.file_name().to_string_lossy().starts_with("hacked"))
        .collect();
    assert!(hacked.is_empty(), "{hacked:?}");
}

#[test]
fn scripts_that_hang_shout_or_name_no_state_cost_nothing_but_their_time() {
    let fsm = |script: &str| {
        mesh(
            &[("a", "echo planned")],
            &format!(
                "initial: plan\nscripts:\n  odd: {}\nstates:\n  plan: {{agents: [a], exit: {{run: odd, default: done}}}}\n  done: {{}}\n",
                serde_json::to_string(script).unwrap()
            ),
        )
    };
    let project = Project::new(&[("dev/config.yaml", &fsm("sleep 600"))]);
    project.start_with("TX_TEST_SCRIPT", 1);
    let sent = project.tx(&["send", "dev", "hang", "--wait", "60"]);
    assert_eq!(sent.status.code(), Some(1), "parked is no success");
    let said = String::from_utf8_lossy(&sent.stdout);
    let talk = String::from_utf8_lossy(&sent.stderr);
    assert!(
        said.contains("parked") && said.contains("it took longer than 1 s"),
        "{said}{talk}"
    );
    assert_eq!(project.records("jobs-finished"), 3);
    for (script, id) in [
        (
            "head -c 10000000 /dev/zero | tr '\\0' x; echo; echo plan",
            "loud",
        ),
        (
            "echo '../../etc'; echo '$(touch hacked)'; echo 'next_state=nowhere'",
            "evil",
        ),
    ] {
        let loaded = project.records("mesh-loaded");
        project.write("meshes/dev/config.yaml", &fsm(script));
        wait_for("the mesh to be loaded", || {
            (project.records("mesh-loaded") > loaded).then_some(())
        });
        task(&project, id, "do it");
        let first = project.wait_for_step(id, Step::Finished);
        assert_eq!(first.machines[0].steps, 2, "{id}: by default");
    }
    assert!(!project.root().join("hacked").exists());
}

#[test]
fn a_file_gate_wants_a_file_of_this_run_inside_of_the_project() {
    let config = mesh(
        &[(
            "a",
            "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n; \
             [ $n = 1 ] && ln -s /etc/passwd plan.md; [ $n = 2 ] && rm plan.md && echo new > plan.md; echo try $n",
        )],
        "initial: plan\nstates:\n  plan: {agents: [a], exit: {gates: [./plan.md], default: done}}\n  done: {}\n",
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t", "do it");
    project.wait_for_step("t", Step::Finished);
    assert_eq!(
        headlines(&project),
        ["try 2"],
        "a link out of the project is no plan"
    );
}
