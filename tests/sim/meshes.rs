//! Made-up meshes, as their authors would write them.

use std::fmt::Write;

use tx::engine::{LoadedMesh, Traits};
use tx::format;
use tx::model::{
    Check, Evaluation, Gate, GateTime, HookAction, LifecycleHook, Mesh, Mode, OnGateError, Program,
    RearmatterCheck, Seconds, WORKTREES, Worktree,
};

use crate::rng::Rng;
use crate::settings::Settings;

/// The words of the made-up tables.
pub(crate) const WORDS: [&str; 5] = ["complete", "approved", "needs-work", "blocked", "error"];

/// The mesh that may have worktrees. There, what names no feature is for that of its run.
pub(crate) const WITH_WORKTREES: &str = "m1";

/// A mesh of chance. The other meshes are those before it.
pub(crate) fn make(
    rng: &mut Rng,
    name: &str,
    most: usize,
    others: &[String],
    settings: &Settings,
) -> LoadedMesh {
    let Settings {
        workflows, pools, ..
    } = *settings;
    let agents = usize::try_from(rng.within(2.min(most as i64), most as i64)).unwrap();
    let names: Vec<String> = (0..agents).map(|n| format!("a{n}")).collect();
    let mut text = format!("mesh: {name}\ndescription: made up\n");
    let mut traits = Vec::new();
    text.push_str("agents:\n");
    for agent in &names {
        let turn = rng.percent(40);
        let prints = turn && rng.percent(50);
        traits.push(Traits {
            mode: if turn { Mode::Turn } else { Mode::Pane },
            prints,
            resumes: rng.percent(50),
            starts_with_turn: !turn && rng.percent(30),
            resumes_without_turn: agent == "a1",
        });
        write!(text, "  - {{ name: {agent}, prompt: work").unwrap();
        if rng.percent(20) {
            text.push_str(", batch: true");
        }
        if rng.percent(25) {
            write!(text, ", timeout: {}", rng.within(20, 400)).unwrap();
        }
        if rng.percent(15) {
            write!(text, ", max_messages: {}", rng.within(1, 6)).unwrap();
        }
        if pools && rng.percent(30) {
            write!(text, ", count: {}", rng.within(2, 3)).unwrap();
        }
        text.push_str(" }\n");
    }
    if workflows && names.len() > 2 {
        block(rng, &mut text, &names);
    }
    if rng.percent(80) {
        writeln!(text, "entry_point: {}", rng.pick(&names).unwrap()).unwrap();
    }
    if rng.percent(40) {
        writeln!(text, "completion_agents: [{}]", some(rng, &names, 2)).unwrap();
    }
    if rng.percent(30) {
        text.push_str("on_ask: mesh\n");
    }
    if rng.percent(20) {
        writeln!(text, "max_mesh_messages: {}", rng.within(2, 25)).unwrap();
    }
    if rng.percent(30) {
        text.push_str("stop_on_first_complete: false\n");
    }
    if rng.percent(30) {
        text.push_str("check_queue_on_complete: false\n");
    }
    let on_fail = if rng.percent(30) { "halt" } else { "loop" };
    let most = rng.within(0, 3);
    writeln!(
        text,
        "iteration: {{ maxIterations: {most}, onFail: {on_fail} }}"
    )
    .unwrap();
    guardrails(rng, &mut text, &names);
    routing(rng, &mut text, name, &names, others);
    let loaded = format::mesh::parse(text.as_bytes());
    let mesh = loaded.mesh;
    let mut mesh = mesh.unwrap_or_else(|| panic!("{text}\n{:?}", loaded.diagnostics));
    if rng.percent(30) {
        gates(rng, &mut mesh, &names);
    }
    if rng.percent(25) {
        hooks(rng, &mut mesh);
    }
    LoadedMesh { mesh, text, traits }
}

/// A block: some agents work side by side, with a minimum, a time and a strategy of chance.
fn block(rng: &mut Rng, text: &mut String, names: &[String]) {
    let opener = rng.pick(names).unwrap().clone();
    let others: Vec<String> = names
        .iter()
        .filter(|name| **name != opener)
        .cloned()
        .collect();
    let join = rng.pick(&others).unwrap().clone();
    let members: Vec<String> = others.into_iter().filter(|name| *name != join).collect();
    let members = some(rng, &members, 3);
    let time = rng.percent(40).then(|| rng.within(1_000, 100_000));
    let time = |field: &str| time.map_or(String::new(), |time| format!(", {field}: {time}"));
    if rng.percent(30) {
        let partial = if rng.percent(50) { "abort" } else { "continue" };
        let time = time("timeout");
        writeln!(
            text,
            "parallelism: [{{ agents: [{members}], entry: {opener}, exit: {join}, on_partial: {partial}{time} }}]"
        )
        .unwrap();
        return;
    }
    let strategies = ["concat", "deduplicate", "voting", "consensus", "custom"];
    let strategy = rng.pick(&strategies).unwrap();
    let reviewer = match rng.percent(70) {
        true => format!(", reviewer: {join}"),
        false => String::new(),
    };
    let most = i64::try_from(members.split(',').count()).unwrap();
    let min = match rng.below(3) {
        0 => format!(
            ", fault_tolerance: {{ min_success_count: {} }}",
            rng.within(0, most)
        ),
        1 => ", allow_partial_failure: true".to_owned(),
        _ => String::new(),
    };
    let time = time("timeout_ms");
    writeln!(
        text,
        "ensemble: {{ coordinator: {opener}, agents: [{members}]{reviewer}, aggregation_strategy: {strategy}{min}{time} }}"
    )
    .unwrap();
}

fn some(rng: &mut Rng, of: &[String], most: i64) -> String {
    let count = usize::try_from(rng.within(1, most)).unwrap();
    let mut chosen: Vec<&str> = Vec::new();
    for _ in 0..count {
        let one = rng.pick(of).unwrap().as_str();
        if !chosen.contains(&one) {
            chosen.push(one);
        }
    }
    chosen.join(", ")
}

fn guardrails(rng: &mut Rng, text: &mut String, names: &[String]) {
    let strict = rng.percent(30);
    write!(text, "guardrails: {{ strict: {strict}").unwrap();
    if rng.percent(70) {
        write!(text, ", ask_timeout: {}", rng.within(5, 200)).unwrap();
    }
    if rng.percent(20) {
        write!(text, ", max_messages: {}", rng.within(2, 10)).unwrap();
    }
    let strict = rng.percent(50);
    write!(text, ", routing_error: {{ strict: {strict}").unwrap();
    if rng.percent(40) {
        write!(text, ", max_retries: {}", rng.within(0, 2)).unwrap();
    }
    if rng.percent(40) {
        let fallback = match rng.percent(50) {
            true => "core",
            false => rng.pick(names).unwrap(),
        };
        write!(text, ", routing_fallback: {fallback}").unwrap();
    }
    text.push_str(" } }\n");
}

fn routing(rng: &mut Rng, text: &mut String, name: &str, names: &[String], others: &[String]) {
    let dispatcher = rng.percent(50);
    if dispatcher {
        text.push_str("routing_mode: dispatcher\n");
    }
    text.push_str("routing:\n");
    let target = |rng: &mut Rng| match rng.below(10) {
        0..=1 => "core".to_owned(),
        2 if !others.is_empty() => format!("{}/a0", rng.pick(others).unwrap()),
        _ => rng.pick(names).unwrap().clone(),
    };
    let mut rows = 0;
    for agent in names {
        if rng.percent(15) {
            continue;
        }
        rows += 1;
        match rng.below(10) {
            0..=2 if dispatcher => writeln!(text, "  {agent}: {}", target(rng)).unwrap(),
            3..=5 if dispatcher => {
                let members = some(rng, names, 3);
                let join = target(rng);
                writeln!(text, "  {agent}: [{members}, {{ complete: {join} }}]").unwrap();
            }
            _ => {
                write!(text, "  {agent}: {{ ").unwrap();
                for word in WORDS {
                    if rng.percent(45) {
                        let first = target(rng);
                        match dispatcher {
                            true => write!(text, "{word}: {first}, ").unwrap(),
                            false => {
                                write!(text, "{word}: {{ {first}: \"a reason\"").unwrap();
                                let second = target(rng);
                                if rng.percent(30) && second != first {
                                    write!(text, ", {second}: \"another\"").unwrap();
                                }
                                text.push_str(" }, ");
                            }
                        }
                    }
                }
                if dispatcher && rng.percent(50) {
                    write!(text, "default: {}", target(rng)).unwrap();
                }
                text.push_str(" }\n");
            }
        }
    }
    if rows == 0 {
        writeln!(text, "  {}: {{ complete: {{ core: done }} }}", names[0]).unwrap();
    }
    let _ = name;
}

/// Some gates: programs, what authors say, for all agents or for one, which block or pass when
/// they cannot tell.
fn gates(rng: &mut Rng, mesh: &mut Mesh, names: &[String]) {
    let words = ["complete", "approved"].map(|word| word.parse().unwrap());
    let program = Program {
        run: vec!["test".into()],
        shell: false,
        timeout: Seconds(60),
    };
    for n in 0..rng.within(1, 3) {
        let check = match rng.below(6) {
            0 => Check::Rearmatter(RearmatterCheck {
                thresholds: [("confidence".to_owned(), 0.5.into())].into(),
                ..RearmatterCheck::default()
            }),
            1 => Check::Commands(vec![program.clone(), program.clone()]),
            2 | 3 => Check::Evaluation(Evaluation {
                evaluator: rng.pick(names).unwrap().parse().unwrap(),
                instructions: "Judge it.".into(),
                min_score: None,
                timeout: Seconds(1800),
            }),
            _ => Check::Command(program.clone()),
        };
        let one = rng
            .percent(30)
            .then(|| rng.pick(names).unwrap().parse().unwrap());
        let lenient = rng.percent(30);
        // An evaluator may come before the work.
        let before = check.evaluator().is_some() && rng.percent(30);
        mesh.gates.push(Gate {
            name: format!("gate-{n}"),
            agent: one,
            time: if before {
                GateTime::BeforeWork
            } else {
                GateTime::Outcome(words.clone().into())
            },
            check,
            on_error: if lenient {
                OnGateError::Pass
            } else {
                OnGateError::Block
            },
        });
    }
}

/// Some hooks: before the work, after it, and when a run is complete.
fn hooks(rng: &mut Rng, mesh: &mut Mesh) {
    let hook = |name: &str, action: HookAction| LifecycleHook {
        name: name.into(),
        action,
    };
    let program = Program {
        run: vec!["note".into()],
        shell: false,
        timeout: Seconds(60),
    };
    if mesh.name.as_str() == WITH_WORKTREES && rng.percent(60) {
        let path = WORKTREES.into();
        mesh.worktree = Some(Worktree { path });
        let create = hook("worktree:create", HookAction::CreateWorktree);
        mesh.lifecycle.before.push(create);
        if rng.percent(50) {
            let cleanup = hook("worktree:cleanup", HookAction::RemoveWorktree);
            mesh.lifecycle.complete.push(cleanup);
        }
    }
    if rng.percent(50) {
        let action = HookAction::Command(program);
        mesh.lifecycle.before.push(hook("command:note", action));
    }
    if rng.percent(60) {
        let commit = hook("commit:auto", HookAction::Commit);
        mesh.lifecycle.after.push(commit);
    }
    if rng.percent(30) {
        let update = hook("brain-update", HookAction::UpdateBrain);
        mesh.lifecycle.complete.push(update);
    }
}
