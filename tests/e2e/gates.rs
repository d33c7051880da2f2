//! Gates, with real programs: outcomes go back until they pass, and what tx runs for them is
//! run once, whatever happens to tx.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

/// The jobs of the agent.
const JOBS: &str = ".ai/tx/run/_jobs/worker/dev/a";

fn task(project: &Project, id: &str) {
    project.drop_file(
        &format!("{id}.md"),
        &message("core", "dev", id, "", "do it"),
    );
}

#[test]
fn an_outcome_goes_back_until_its_gates_pass_and_false_evidence_with_it() {
    // The third attempt writes the file that the gate wants and the evidence names.
    let agent = "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n; \
                 if [ $n = 3 ]; then echo ok > ok; fi; \
                 printf 'Done, try %s\\n\\n---\\ngrade: A\\nconfidence: 0.9\\nevidence:\\n  - {file: ok}\\n---\\n' $n";
    let config = format!(
        "mesh: dev\nagents:\n  - {{ name: a, runtime: command, shell: true, run: {} }}\n\
         quality:\n  evidence: required\n  deterministic: [[test, -f, ok]]\n",
        serde_json::to_string(agent).unwrap()
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t");
    project.wait_for_step("t", Step::Finished);
    assert_eq!(fs::read_to_string(project.root().join("n")).unwrap(), "3\n");
    assert_eq!(project.records("jobs-finished"), 3);
    let inbox = project.json(&["inbox", "--all"]);
    let done = inbox
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["status"] == "complete");
    let done = done.expect("its outcome has come");
    assert_eq!(
        (&done["grade"], &done["verdict"]),
        (&"A".into(), &"pass".into())
    );
    let why = project.ok(&["why", done["id"].as_str().unwrap()]);
    assert!(why.contains("gate quality:deterministic: pass"), "{why}");
    assert!(why.contains("gate evidence: pass"), "{why}");
    let quality = project.json(&["quality", "dev"]);
    let evidence = quality
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["gate"] == "evidence");
    let evidence = evidence.expect("it is calibrated");
    assert_eq!(
        (&evidence["failed"], &evidence["passed"]),
        (&2.into(), &1.into())
    );
    assert_eq!(evidence["too_few"], true);
}

#[test]
fn a_gate_that_runs_when_tx_is_killed_is_not_run_twice() {
    let gate = "echo begun >> gate.log; sleep 2; echo ended >> gate.log";
    let config = format!(
        "mesh: dev\nagents: [{{ name: a, runtime: command, run: [cat] }}]\n\
         quality: {{ command: {{ name: slow, shell: true, run: '{gate}' }} }}\n"
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t");
    let log = project.root().join("gate.log");
    wait_for("the gate to begin", || fs::read_to_string(&log).ok());
    project.kill_daemon();
    project.start();
    project.wait_for_step("t", Step::Finished);
    assert_eq!(fs::read_to_string(&log).unwrap(), "begun\nended\n");
}

#[test]
fn a_gate_whose_outcome_changes_meanwhile_is_ended_before_it_is_run_again() {
    // Each run looks for the ones before it. One that is dead may not have been waited for yet.
    let gate = "touch pids; for p in $(cat pids); do ps -o stat= -p $p | grep -qv ^Z && echo twice >> log; done; \
                echo $$ >> pids; if [ $(wc -l < pids) = 1 ]; then sleep 300; fi";
    let config = format!(
        "mesh: dev\nagents: [{{ name: a, runtime: command, run: [cat] }}]\n\
         quality: {{ command: {{ name: slow, shell: true, run: '{gate}' }} }}\n"
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t");
    let pids = project.root().join("pids");
    let begun = || {
        fs::read_to_string(&pids)
            .ok()
            .filter(|text| !text.is_empty())
    };
    wait_for("the gate to begin", begun);
    let second = message("dev/a", "core", "o2", "status: complete\n", "better");
    project.drop_file("o2.md", &second);
    project.wait_for_step("t", Step::Finished);
    let runs = fs::read_to_string(&pids).unwrap().lines().count();
    assert_eq!(runs, 3, "once, and then for each of two outcomes");
    assert!(!project.root().join("log").exists(), "two ran at once");
}

#[test]
fn a_gate_that_hangs_or_prints_ten_megabytes_costs_neither_time_nor_room() {
    let config = "mesh: dev\nagents: [{ name: a, runtime: command, run: [cat] }]\n\
                  iteration: { maxIterations: 0 }\n\
                  quality:\n  command:\n\
                  \x20   - { name: hangs, run: [sleep, '600'], timeout: 1 }\n\
                  \x20   - { name: loud, shell: true, run: 'env > env.log; head -c 10000000 /dev/zero | tr \"\\\\0\" x; echo the end; exit 1' }\n";
    let project = Project::started(&[("dev/config.yaml", config)]);
    task(&project, "t");
    let parked = project.wait_for_step("t", Step::Parked);
    let why = format!("{parked:?}");
    assert!(why.contains("loud:"), "{why}");
    assert!(why.len() < 100_000, "{} bytes are kept", why.len());
    let environment = fs::read_to_string(project.root().join("env.log")).unwrap();
    let names = environment.lines().filter_map(|line| line.split_once('='));
    let needless: Vec<&str> = names
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("CARGO") || name.starts_with("TMUX"))
        .collect();
    assert_eq!(needless, Vec::<&str>::new());
    assert!(environment.contains("TX_AGENT=dev/a"), "{environment}");
}

#[test]
fn of_several_gates_each_runs_once_when_tx_is_killed_in_the_middle() {
    let config = "mesh: dev\nagents: [{ name: a, runtime: command, run: [cat] }]\n\
                  quality:\n  command:\n\
                  \x20   - { name: one, shell: true, run: 'echo one >> gate.log' }\n\
                  \x20   - { name: two, shell: true, run: 'echo two >> gate.log; sleep 2; echo ended >> gate.log' }\n\
                  \x20   - { name: three, shell: true, run: 'echo three >> gate.log' }\n";
    let project = Project::started(&[("dev/config.yaml", config)]);
    task(&project, "t");
    let log = project.root().join("gate.log");
    let read = || fs::read_to_string(&log).ok();
    wait_for("the second gate to begin", || {
        read().filter(|text| text.contains("two"))
    });
    project.kill_daemon();
    project.start();
    project.wait_for_step("t", Step::Finished);
    assert_eq!(read().unwrap(), "one\ntwo\nended\nthree\n");
}

#[test]
fn a_gate_whose_wrapper_is_killed_is_ended_before_it_is_run_again() {
    let gate = "touch pids; for p in $(cat pids); do ps -o stat= -p $p | grep -qv ^Z && echo twice >> log; done; \
                echo $PPID > wrapper; echo $$ >> pids; if [ $(wc -l < pids) = 1 ]; then sleep 300; fi";
    let config = format!(
        "mesh: dev\nagents: [{{ name: a, runtime: command, run: [cat] }}]\n\
         quality: {{ command: {{ name: slow, shell: true, run: '{gate}' }} }}\n"
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "t");
    let read = |name: &str| fs::read_to_string(project.root().join(name)).ok();
    wait_for("the gate to begin", || {
        read("pids").filter(|text| !text.is_empty())
    });
    let wrapper: i32 = read("wrapper").unwrap().trim().parse().unwrap();
    let wrapper = Pid::from_raw(wrapper).unwrap();
    kill_process(wrapper, Signal::KILL).unwrap();
    project.wait_for_step("t", Step::Finished);
    assert_eq!(read("pids").unwrap().lines().count(), 2);
    assert_eq!(read("log"), None, "two ran at once");
}

#[test]
fn after_tx_is_killed_no_other_gate_begins_until_it_runs_again() {
    let config = "mesh: dev\nagents: [{ name: a, runtime: command, run: [cat] }]\n\
                  quality:\n  command:\n\
                  \x20   - { name: one, shell: true, run: 'echo one >> gate.log; sleep 1; echo ended >> gate.log' }\n\
                  \x20   - { name: two, shell: true, run: 'echo two >> gate.log' }\n";
    let project = Project::started(&[("dev/config.yaml", config)]);
    task(&project, "t");
    let log = project.root().join("gate.log");
    let read = || fs::read_to_string(&log).ok();
    wait_for("the first gate to begin", || {
        read().filter(|text| text.contains("one"))
    });
    project.kill_daemon();
    let record = project.root().join(JOBS).join("1/record-1");
    let record = fs::File::open(record).unwrap();
    wait_for("its wrapper to end", || record.try_lock_shared().ok());
    record.unlock().unwrap();
    assert_eq!(read().unwrap(), "one\nended\n");
    // This process still has the record open, and is not taken for a part of the gate.
    project.start();
    project.wait_for_step("t", Step::Finished);
    assert_eq!(read().unwrap(), "one\nended\ntwo\n");
}

#[test]
fn gates_that_print_nothing_leave_one_file() {
    let config = "mesh: dev\nagents: [{ name: a, runtime: command, run: [cat] }]\n\
                  quality: { deterministic: [['true'], ['true'], ['true']] }\n";
    let project = Project::started(&[("dev/config.yaml", config)]);
    task(&project, "t");
    project.wait_for_step("t", Step::Finished);
    let left = fs::read_dir(project.root().join(JOBS).join("1")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["record-1"]);
}
