//! Conversations: several tasks, a compaction, what is used, budgets, output folders and servers.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::lab::wait_for;
use crate::matrix::Case;
use crate::team::{Team, alone, alone_with};

const BOTH: [(&str, &str); 4] = [
    ("claude", "pane"),
    ("claude", "turn"),
    ("codex", "pane"),
    ("codex", "turn"),
];

/// Do the newest request's instructions say how to work here?
fn knows_how(request: &Value) -> bool {
    request.to_string().contains("How you work with others")
}

#[test]
fn two_tasks_are_one_conversation() {
    for (runtime, mode) in [("claude", "pane"), ("claude", "turn"), ("codex", "turn")] {
        let Some(team) = Team::start(&alone(runtime, mode)) else {
            return;
        };
        let _case = Case::of(runtime, mode, "two tasks in one conversation");
        for name in ["first", "second"] {
            team.send(&team.outcome(runtime, name));
            team.wrote(name);
            team.idle("team/builder");
        }
        let last = team.lab.requests().pop().unwrap();
        let text = last.to_string();
        assert!(text.contains("turn-1.md") && text.contains("turn-2.md"));
        assert!(knows_how(&last), "{runtime} {mode}: {last}");
        assert_eq!(team.deliveries().len(), 2, "{:?}", team.deliveries());
    }
}

#[test]
fn after_a_compaction_the_next_outcome_is_still_right() {
    for runtime in ["claude", "codex"] {
        let Some(team) = Team::start(&alone(runtime, "pane")) else {
            return;
        };
        let _case = Case::of(
            runtime,
            "pane",
            "a forced compaction, then the next outcome",
        );
        team.send(&team.outcome(runtime, "first"));
        team.wrote("first");
        team.idle("team/builder");
        // claude refuses to compact a conversation that is too short.
        team.send(&team.outcome(runtime, "second"));
        team.wrote("second");
        team.idle("team/builder");
        std::thread::sleep(std::time::Duration::from_secs(3));
        let posts = || {
            let log = fs::read_to_string(team.lab.path("model.jsonl")).unwrap();
            log.lines().filter(|line| line.contains("\"post\"")).count()
        };
        let before = posts();
        let pane = team.pane();
        team.lab.type_into(&pane, "/compact");
        std::thread::sleep(std::time::Duration::from_millis(500));
        team.lab.press(&pane, &["Enter"]);
        wait_for("the compaction", || (posts() > before).then_some(()));
        wait_for("its end", || {
            let shown = team.peek().to_lowercase();
            shown.contains("compacted").then_some(())
        });
        team.send(&team.outcome(runtime, "third"));
        team.wrote("third");
        let last = team.lab.requests().pop().unwrap();
        assert!(knows_how(&last), "{runtime}: {last}");
        let users = last["turns"].as_array().unwrap().iter();
        let answers = users.filter(|turn| turn[0] == "assistant");
        let kept = answers.count();
        assert!(kept <= 2, "{runtime}: {kept} answers of before are left");
        let result = team.json(&["inbox", "--all"]);
        assert!(result.to_string().contains("complete"), "{result}");
    }
}

#[test]
fn what_is_used_is_what_the_model_served_over_a_resume_too() {
    for (runtime, mode) in BOTH {
        let Some(team) = Team::start(&alone(runtime, mode)) else {
            return;
        };
        let _case = Case::of(
            runtime,
            mode,
            "usage equals what the model served, over a resume",
        );
        let written = if runtime == "claude" { 20 } else { 10 };
        for name in ["first", "second"] {
            team.send(&team.outcome(runtime, name));
            team.wrote(name);
            team.idle("team/builder");
            let pids = team.pids(runtime);
            for pid in pids {
                let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
        }
        let served = team.lab.requests().len() as u64;
        let usage = wait_for("all of it", || {
            let usage = team.json(&["status"])["workers"][0]["usage"].clone();
            (usage["output"].as_u64()? >= (served - 1) * written).then_some(usage)
        });
        // The end of a conversation that was killed may be told with the next turn only.
        let missing = served - usage["output"].as_u64().unwrap() / written;
        assert!(
            missing <= u64::from(mode == "pane"),
            "{runtime} {mode}: {usage}"
        );
        let (input, output) = (usage["input"].as_u64(), usage["output"].as_u64());
        assert_eq!(
            input,
            Some((served - missing) * 100),
            "{runtime} {mode}: {usage}"
        );
        assert_eq!(
            output,
            Some((served - missing) * written),
            "{runtime} {mode}"
        );
    }
}

#[test]
fn a_budget_of_tokens_stops_the_run() {
    for (runtime, mode) in BOTH {
        let config = format!(
            "mesh: team\nentry_point: builder\nagents:\n  \
             - {{name: builder, runtime: {runtime}, mode: {mode}, prompt: You build.}}\n  \
             - {{name: reviewer, runtime: {runtime}, mode: {mode}, prompt: You review.}}\n\
             completion_agents: [reviewer]\nguardrails: {{max_tokens: 150}}\nrouting:\n  \
             builder: {{complete: {{reviewer: review it}}}}\n  \
             reviewer: {{approved: {{core: done}}}}\n"
        );
        let Some(team) = Team::start(&config) else {
            return;
        };
        let _case = Case::of(runtime, mode, "a budget of tokens stops the run");
        team.send(&team.outcome(runtime, "done"));
        let letters = team.parked();
        assert!(letters.contains("team/reviewer"), "{letters}");
        assert!(letters.contains("tokens"), "{runtime} {mode}: {letters}");
        assert_eq!(team.deliveries().len(), 1, "the reviewer was not started");
        // A person grants one more.
        let letters: Value = serde_json::from_str(&letters).unwrap();
        let id = letters[0]["id"].as_str().unwrap();
        team.done(&["dlq", "retry", id]);
        wait_for("the reviewer", || {
            (team.deliveries().len() > 1).then_some(())
        });
    }
}

#[test]
fn an_agent_writes_into_its_output_folder() {
    for (runtime, mode) in BOTH {
        let fields = "prompt: You build., workspace: out/here, \
                      permissions: {mode: acceptEdits, allowedTools: [Bash]}";
        let Some(team) = Team::start(&alone_with(runtime, mode, fields)) else {
            return;
        };
        let _case = Case::of(runtime, mode, "another workspace");
        let done = team.outcome(runtime, "done");
        team.send(&format!(
            "@@shell echo it > \"$TX_WORKSPACE\"/made ;; {done}"
        ));
        team.wrote("done");
        let made = team.lab.project().join("out/here/made");
        assert!(made.exists(), "{runtime} {mode}: {}", made.display());
    }
}

/// A server with one tool.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    answers = {
        "initialize": {"protocolVersion": call.get("params", {}).get("protocolVersion", "2025-06-18"),
                       "capabilities": {"tools": {}}, "serverInfo": {"name": "probe", "version": "1"}},
        "tools/list": {"tools": [{"name": "knock", "description": "Knock.", "inputSchema": {"type": "object", "properties": {}}}]},
    }
    answer = {"jsonrpc": "2.0", "id": call["id"], "result": answers.get(call["method"], {})}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn the_servers_of_an_agent_are_seen_by_its_model() {
    for (runtime, mode) in BOTH {
        let Some(lab) = crate::lab::Lab::open() else {
            return;
        };
        let server = lab.path("server.py");
        fs::write(&server, SERVER).unwrap();
        let fields = format!(
            "prompt: You build., mcpServers: {{probe: {{command: python3, args: [{}]}}}}",
            server.display()
        );
        // claude would show its model the tool only when that looks for it.
        let env = ["ENABLE_TOOL_SEARCH=false"];
        let team = Team::start_in(lab, &alone_with(runtime, mode, &fields), &env);
        let _case = Case::of(runtime, mode, "MCP tool seen");
        team.send(&team.outcome(runtime, "done"));
        team.wrote("done");
        let seen = team.lab.requests().iter().any(|request| {
            let tools = request["tools"].as_array().unwrap().iter();
            let mut tools = tools.filter_map(Value::as_str);
            tools.any(|tool| tool.contains("knock") || tool.contains("probe"))
        });
        let tools = team.lab.requests().pop().unwrap()["tools"].clone();
        assert!(seen, "{runtime} {mode}: {tools}");
    }
}
