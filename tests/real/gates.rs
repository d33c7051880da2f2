//! Gates with real agents: a claude is sent back in its own session, and a codex judges it.

use std::fs;

use serde_json::Value;

use crate::team::Team;

const MESH: &str = "mesh: team\nentry_point: builder\nagents:\n  \
     - {name: builder, runtime: claude, prompt: You build., permissions: {allowedTools: [Write]}}\n  \
     - {name: judge, runtime: codex, prompt: You judge.}\n\
     routing:\n  builder: {complete: {core: done}, review: {judge: look}}\n\
     quality:\n  evaluator: judge\n  builder:\n    deterministic: [[sh, gate.sh]]\n    rubric: {threshold: 0.7}\n";

#[test]
fn team_claude_is_sent_back_by_a_gate_in_its_session_and_codex_grades_it() {
    let Some(team) = Team::start(MESH) else {
        return;
    };
    let (project, messages) = (team.lab.project(), team.messages());
    let verdict = team.lab.path("verdict");
    let text = "---\nfrom: team/judge\nstatus: complete\nheadline: seen\n---\n\nGood.\n\n---\nverdict: pass\nscore: 0.9\nfindings: []\n---\n";
    fs::write(&verdict, text).unwrap();
    // What the builder writes is what the judge is given last: its script.
    let outcome = |name: &str| {
        let judge = format!(
            "@@shell cp {} {}",
            verdict.display(),
            messages.join(format!("verdict-{name}.md")).display()
        );
        format!(
            "@@write {} ---\\nfrom: team/builder\\nstatus: complete\\nheadline: {name}\\n---\\n\\nDone.\\n\\n{judge}",
            messages.join(format!("{name}.md")).display()
        )
    };
    // The gate says what to do about it.
    let again = format!(
        "@@write {} yes ;; {}",
        project.join("ok").display(),
        outcome("second")
    );
    let says = team.lab.path("says");
    fs::write(&says, format!("there is no file ok\n{again}\n")).unwrap();
    let gate = format!("test -f ok || {{ cat '{}'; exit 1; }}\n", says.display());
    fs::write(project.join("gate.sh"), gate).unwrap();
    team.send(&outcome("first"));
    let result = team.headed("second");
    assert_eq!(result["verdict"], "pass", "{result}");
    // One conversation: the claude that was told of the failure knows the task.
    let told = |request: &Value, words: &str| {
        let turns = request["turns"].as_array().unwrap();
        let mut users = turns.iter().filter(|turn| turn[0] == "user");
        users.any(|turn| turn[1].as_str().unwrap().contains(words))
    };
    let requests = team.lab.requests();
    let both = |request: &&Value| {
        told(request, "work from core") && told(request, "your outcome failed its gates")
    };
    assert!(requests.iter().any(|request| both(&request)));
    let why = team.done(&["why", result["id"].as_str().unwrap()]);
    for words in [
        "gate quality:deterministic: pass",
        "gate quality:rubric: pass, score 0.9",
    ] {
        assert!(why.contains(words), "{words}: {why}");
    }
    let quality = team.json(&["quality", "team/builder"]);
    let mut gates = quality.as_array().unwrap().iter();
    let rubric = gates.find(|one| one["gate"] == "quality:rubric").unwrap();
    assert_eq!(rubric["passed"], 2, "{quality}");
}
