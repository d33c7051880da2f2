//! Gates and hooks in every shape.

use super::*;

#[test]
fn gates_are_read_in_every_shape() {
    use crate::model::{Check, OnGateError};
    let two = "mesh: m\nentry_point: a\nagents: [{name: a, prompt: p.md}, {name: b, prompt: p.md}]\nrouting: {a: {complete: b}}\n";
    let text = two.to_owned()
        + "rearmatter: {required: true, fields: [gaps], thresholds: {confidence: 0.8, grade: B}}\n\
         lifecycle: {post: ['quality:deterministic', 'quality:adversarial']}\n\
         quality:\n  evaluator: b\n  gate_error: pass\n  evidence: required\n\
         \x20 checks: {tests: [cargo, test]}\n\
         \x20 deterministic: {commands: [[cargo, test], 'cargo fmt --check'], timeout: 5m}\n\
         \x20 accuracy: {sources: 2, first_party: 0.5, verified: true}\n\
         \x20 command: {name: lint, run: [./lint.sh], timeout: 9}\n\
         \x20 checklist: [it builds, it is tested]\n\
         \x20 a:\n    thresholds: {confidence: 0.9}\n    rubric: {criteria: {clear: is it?}, threshold: 0.7}\n";
    let (mesh, diagnostics) = loads(&text);
    assert_eq!(
        diagnostics,
        [],
        "{}",
        report("c", &text, &diagnostics, false)
    );
    let gates: Vec<(String, Option<&str>)> = mesh
        .gates
        .iter()
        .map(|gate| (gate.name.clone(), gate.agent.as_ref().map(Name::as_str)))
        .collect();
    let expected = [
        ("rearmatter", None),
        ("quality:deterministic", None),
        ("quality:accuracy", None),
        ("evidence", None),
        ("lint", None),
        ("quality:checklist", None),
        ("quality:thresholds", Some("a")),
        ("quality:rubric", Some("a")),
        ("quality:adversarial", None),
    ];
    let expected = expected.map(|(name, agent)| (name.to_owned(), agent));
    assert_eq!(gates, expected);
    let Check::Commands(programs) = &mesh.gates[1].check else {
        panic!("{:?}", mesh.gates[1]);
    };
    assert_eq!(programs[1].run, ["cargo", "fmt", "--check"]);
    assert_eq!(programs[0].timeout, Seconds(300));
    assert_eq!(mesh.gates[4].on_error, OnGateError::Pass);
    let Check::Evaluation(rubric) = &mesh.gates[7].check else {
        panic!("{:?}", mesh.gates[7]);
    };
    assert_eq!(
        (rubric.evaluator.as_str(), rubric.min_score),
        ("b", Some(0.7))
    );
    assert!(rubric.instructions.contains("- clear: is it?"));
}

#[test]
fn gates_have_names_of_their_own_and_agents_checks_of_their_own() {
    use crate::model::Check;
    let text = "mesh: m\nentry_point: a\nagents: [{name: a, prompt: p.md}, {name: b, prompt: p.md}]\n\
         quality:\n  thresholds: {confidence: 0.5}\n  evidence: required\n\
         \x20 command: [[cargo, test], [cargo, clippy], [cargo, test]]\n\
         \x20 a: {thresholds: {confidence: 0.9}, checks: {tests: [make]}, evidence: required}\n\
         \x20 b: {evidence: required}\n";
    let (mesh, _) = loads(text);
    let names: Vec<&str> = mesh.gates.iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "quality:thresholds",
            "evidence",
            "cargo",
            "cargo clippy",
            "cargo test",
            "quality:thresholds of a",
            "evidence of a",
            "evidence of b",
        ]
    );
    let checks = |index: usize| match &mesh.gates[index].check {
        Check::Evidence(checks) => checks.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!([checks(1), checks(6), checks(7)], [0, 1, 0]);
}

#[test]
fn what_is_wrong_with_gates_is_said() {
    for (text, code) in [
        ("quality: {thresholds: 5}\n", Code::WrongShape),
        ("quality: {checks: [a]}\n", Code::WrongShape),
        ("quality: {fields: x}\n", Code::WrongShape),
        ("quality: {required: maybe}\n", Code::WrongShape),
        ("quality: {accuracy: {sources: '3'}}\n", Code::WrongShape),
        ("quality: {accuracy: {verified: x}}\n", Code::WrongShape),
        ("quality: {deterministic: []}\n", Code::WrongShape),
        ("quality: {worker: strict}\n", Code::WrongShape),
        ("quality: {checklist: [a]}\n", Code::WrongShape),
        (
            "quality: {checklist: {evaluator: nobody}}\n",
            Code::WrongShape,
        ),
        (
            "quality: {deterministic: {commands: []}}\nquality2: 1\n",
            Code::UnknownField,
        ),
        ("quality: {deterministik: [a]}\n", Code::UnknownField),
        ("quality: {gate_error: maybe}\n", Code::WrongShape),
        ("quality: {preflight: true}\n", Code::WrongShape),
        (
            "lifecycle: {pre: ['quality:checklist']}\n",
            Code::NotObeyedYet,
        ),
        ("lifecycle: {pre: ['commit:auto']}\n", Code::NotObeyedYet),
        ("lifecycle: {post: ['command:']}\n", Code::WrongShape),
        (
            "lifecycle: {post: ['worktree:cleanup']}\n",
            Code::WrongShape,
        ),
        ("worktree: {path: ../x}\n", Code::OutsideProject),
        ("worktree: {path: /x}\n", Code::OutsideProject),
        ("workspace: {path: ../x}\n", Code::OutsideProject),
        (
            "lifecycle: {post: ['quality:deterministic']}\n",
            Code::WrongShape,
        ),
    ] {
        let (_, diagnostics) = loads(&with(text));
        let codes: Vec<Code> = diagnostics.iter().map(|d| d.code).collect();
        assert!(codes.contains(&code), "{text}: {codes:?}");
    }
}

#[test]
fn hooks_have_their_moments_and_their_order() {
    let config = mesh_of(
        &["worker", "judge"],
        "worktree: {path: trees}\n\
         lifecycle:\n  pre: ['command:make ready', {command: 'echo $HOME', shell: true, timeout: 5s}]\n\
         \x20 post: [brain-update, 'commit:auto', 'quality:checklist', 'command:make note', 'worktree:cleanup']\n\
         quality: {evaluator: judge, checklist: [a]}\n",
    );
    let (mesh, _) = loads(&config);
    let names = |hooks: &[LifecycleHook]| -> Vec<String> {
        hooks.iter().map(|hook| hook.name.clone()).collect()
    };
    let Lifecycle {
        before,
        after,
        complete,
    } = &mesh.lifecycle;
    assert_eq!(
        names(before),
        [
            "worktree:create",
            "command:make ready",
            "command:echo $HOME"
        ]
    );
    assert_eq!(names(after), ["commit:auto", "command:make note"]);
    assert_eq!(names(complete), ["brain-update", "worktree:cleanup"]);
    let HookAction::Command(program) = &before[2].action else {
        panic!("{before:?}");
    };
    assert_eq!((program.shell, program.timeout.0), (true, 5));
    let HookAction::Command(program) = &before[1].action else {
        panic!("{before:?}");
    };
    assert_eq!(program.run, ["make", "ready"]);
    assert_eq!(mesh.worktree.unwrap().path, "trees/{feature}");
    let (mesh, _) = loads(&with("worktree: true\n"));
    assert_eq!(mesh.worktree.unwrap().path, ".ai/worktrees/{feature}");
    let (mesh, _) = loads(&with("worktree: false\n"));
    assert_eq!((mesh.worktree, mesh.lifecycle.is_empty()), (None, true));
}
