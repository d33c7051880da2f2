//! Gates and evaluators, with real processes: sent back in the same session, parked in time, and
//! told apart from what cannot tell.

use std::fs;

use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

fn task(project: &Project, to: &str, id: &str) {
    let text = message("core", to, id, "", "do it");
    project.drop_file(&format!("{id}.md"), &text);
}

/// It stays in its pane, and claims more with every turn. What it is given goes to a log.
const STAYS: &str = r#"
n=0
while read -r path; do
    n=$((n + 1))
    echo "process $$ turn $n" >> "$TX_ROOT/log"
    cat "$path" >> "$TX_ROOT/given-$n"
    printf -- '---\nfrom: %s\nmsg-id: o%s\nstatus: complete\nheadline: Try %s\n---\n\nDone.\n\n---\nconfidence: 0.%s\n---\n' \
        "$TX_AGENT" $n $n $((n * 4)) > "$TX_ROOT/.ai/tx/msgs/.o$n"
    mv "$TX_ROOT/.ai/tx/msgs/.o$n" "$TX_ROOT/.ai/tx/msgs/o$n.md"
done
"#;

const STAYING: &str = r#"
mesh: dev
agents: [{ name: a, runtime: command, mode: pane, run: [sh, "{mesh_dir}/a.sh"] }]
rearmatter: { thresholds: { confidence: 0.8 } }
"#;

#[test]
fn a_worker_below_its_threshold_goes_on_in_the_same_process_with_the_findings() {
    let project = Project::started(&[("dev/config.yaml", STAYING), ("dev/a.sh", STAYS)]);
    task(&project, "dev", "t");
    project.wait_for_step("t", Step::Finished);
    let log = fs::read_to_string(project.root().join("log")).unwrap();
    let turns: Vec<&str> = log.lines().collect();
    let processes = turns.iter().filter_map(|line| line.split(' ').nth(1));
    let mut processes: Vec<&str> = processes.collect();
    processes.dedup();
    assert_eq!((turns.len(), processes.len()), (2, 1), "{log}");
    let given = fs::read_to_string(project.root().join("given-2")).unwrap();
    assert!(
        given.contains("`confidence` is 0.4, and must be 0.8 at least"),
        "{given}"
    );
}

#[test]
fn what_never_passes_is_parked_after_just_so_many_rounds_or_goes_on_as_an_error() {
    let agent = "echo x >> $TX_AGENT.log; echo Done";
    let config = |name: &str, on_fail: &str| {
        format!(
            "mesh: {name}\nagents: [{{ name: a, runtime: command, shell: true, run: 'mkdir -p {name}; {agent}' }}]\n\
             quality: {{ deterministic: [['false']] }}\niteration: {{ maxIterations: 2, onFail: {on_fail} }}\n"
        )
    };
    let meshes = [
        ("loops", config("loops", "loop")),
        ("halts", config("halts", "halt")),
    ];
    let meshes = meshes.map(|(name, text)| (format!("{name}/config.yaml"), text));
    let meshes: Vec<(&str, &str)> = meshes
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect();
    let project = Project::started(&meshes);
    task(&project, "loops", "t1");
    task(&project, "halts", "t2");
    let parked = project.wait_for_step("t1", Step::Parked);
    project.wait_for_step("t2", Step::Finished);
    assert!(
        format!("{parked:?}").contains("failed its gates 3 times"),
        "{parked:?}"
    );
    for mesh in ["loops", "halts"] {
        let log = project.root().join(format!("{mesh}/a.log"));
        assert_eq!(fs::read_to_string(log).unwrap(), "x\n".repeat(3), "{mesh}");
    }
    let inbox = project.ok(&["inbox", "--all"]);
    assert!(
        inbox.contains("gates parked work: quality:deterministic"),
        "{inbox}"
    );
    let inbox = project.json(&["inbox", "--all"]);
    let mut all = inbox.as_array().unwrap().iter();
    assert!(all.any(|one| one["status"] == "error" && one["from"] == "halts/a"));
}

/// The judge of a mesh, by what it prints; and a threshold that its verdicts must not be held to.
fn judged(name: &str, judge: &str) -> (String, String) {
    let judge = serde_json::to_string(judge).unwrap();
    let worker = "printf 'Done\\n\\n---\\nconfidence: 0.9\\n---\\n'";
    let worker = serde_json::to_string(worker).unwrap();
    let text = format!(
        "mesh: {name}\nentry_point: a\nagents:\n\
         \x20 - {{ name: a, runtime: command, shell: true, run: {worker} }}\n\
         \x20 - {{ name: judge, runtime: command, shell: true, run: {judge} }}\n\
         routing: {{ a: {{ complete: core, review: judge }} }}\n\
         rearmatter: {{ thresholds: {{ confidence: 0.8 }} }}\n\
         quality: {{ evaluator: judge, a: {{ checklist: [it is good] }} }}\n"
    );
    (format!("{name}/config.yaml"), text)
}

#[test]
fn an_evaluator_that_says_nothing_says_it_twice_or_is_graded_itself() {
    let verdict = |word: &str| format!("printf 'Seen.\\n\\n---\\nverdict: {word}\\n---\\n'");
    // It writes a verdict, and then another one.
    let twice = format!(
        "write() {{ printf -- '---\\nfrom: twice/judge\\nmsg-id: %s\\nstatus: complete\\nheadline: %s\\n---\\n\\nx\\n\\n---\\nverdict: %s\\n---\\n' $1 $1 $2 > $TX_ROOT/.ai/tx/msgs/.$1; \
         mv $TX_ROOT/.ai/tx/msgs/.$1 $TX_ROOT/.ai/tx/msgs/$1.md; }}; write v1 pass; write v2 fail; {}",
        verdict("fail")
    );
    let meshes = [
        judged("silent", "echo Well."),
        judged("twice", &twice),
        judged("graded", &verdict("pass")),
        judged("gone", "exit 3"),
    ];
    let meshes: Vec<(&str, &str)> = meshes
        .iter()
        .map(|(p, t)| (p.as_str(), t.as_str()))
        .collect();
    let project = Project::started(&meshes);
    for mesh in ["silent", "twice", "graded", "gone"] {
        task(&project, mesh, &format!("t-{mesh}"));
    }
    for mesh in ["twice", "graded"] {
        project.wait_for_step(&format!("t-{mesh}"), Step::Finished);
    }
    for (mesh, why) in [
        ("silent", "`verdict` is missing"),
        ("gone", "It exited with 3"),
    ] {
        let parked = project.wait_for_step(&format!("t-{mesh}"), Step::Parked);
        let said = format!("{parked:?}");
        assert!(
            said.contains("gate quality:checklist cannot tell"),
            "{said}"
        );
        let inbox = project.ok(&["inbox", "--all"]);
        assert!(said.contains(why) || inbox.contains(why), "{said}\n{inbox}");
    }
    // Only outcomes of workers reach the human, and a verdict never does.
    let inbox = project.json(&["inbox", "--all"]);
    let mut all = inbox.as_array().unwrap().iter();
    assert!(all.all(|one| !one["from"].as_str().unwrap().ends_with("/judge")));
}

#[test]
fn a_gate_that_crashes_cannot_tell_and_is_run_three_times() {
    let config = "mesh: dev\nagents: [{ name: a, runtime: command, run: [cat] }]\n\
                  quality: { command: { name: dies, shell: true, run: 'echo x >> runs; kill -9 $$' } }\n";
    let project = Project::started(&[("dev/config.yaml", config)]);
    task(&project, "dev", "t");
    let parked = project.wait_for_step("t", Step::Parked);
    let why = format!("{parked:?}");
    assert!(
        why.contains("gate dies cannot tell: it was ended by signal 9"),
        "{why}"
    );
    let runs = wait_for("its runs", || {
        fs::read_to_string(project.root().join("runs")).ok()
    });
    assert_eq!(runs, "x\n".repeat(3));
}

#[test]
fn criteria_come_before_the_work_and_reach_worker_and_gates() {
    let judge = "printf 'Think of this.\\n\\n---\\ncriteria: [it says hello]\\n---\\n'";
    let worker = "cat > given; echo hello";
    let gate = "echo \"$TX_CRITERIA\" > criteria";
    let config = format!(
        "mesh: dev\nentry_point: a\nagents:\n\
         \x20 - {{ name: a, runtime: command, shell: true, run: {} }}\n\
         \x20 - {{ name: judge, runtime: command, shell: true, run: {} }}\n\
         routing: {{ a: {{ complete: core, review: judge }} }}\n\
         lifecycle: {{ pre: ['quality:preflight'] }}\n\
         quality: {{ evaluator: judge, a: {{ command: {{ name: see, shell: true, run: {} }} }} }}\n",
        serde_json::to_string(worker).unwrap(),
        serde_json::to_string(judge).unwrap(),
        serde_json::to_string(gate).unwrap()
    );
    let project = Project::started(&[("dev/config.yaml", &config)]);
    task(&project, "dev", "t");
    project.wait_for_step("t", Step::Finished);
    let given = fs::read_to_string(project.root().join("given")).unwrap();
    assert!(
        given.contains("# What the work must fulfil\n\n- it says hello"),
        "{given}"
    );
    let criteria = fs::read_to_string(project.root().join("criteria")).unwrap();
    assert_eq!(criteria, "- it says hello\n");
}
