//! Conversations: several tasks, what is used, and servers.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cli::{BOTH, each, every_but, team};
use crate::lab::Lab;
use crate::matrix::Case;
use crate::team::{Team, alone, alone_with};

/// Do the newest request's instructions say how to work here?
fn knows_how(request: &Value) -> bool {
    request.to_string().contains("How you work with others")
}

#[test]
fn two_tasks_are_one_conversation() {
    each(&BOTH, |(runtime, mode)| {
        let Some(team) = Team::start(&alone(runtime, mode)) else {
            return;
        };
        let _routed = Case::of(runtime, mode, "task → outcome → routed → core");
        let _case = Case::of(runtime, mode, "two tasks in one conversation");
        for name in ["first", "second"] {
            team.send(&team.outcome(runtime, name));
            team.wrote(name);
            let result = team.result("complete");
            assert_eq!(result["from"], "team/builder", "{runtime} {mode}: {result}");
            team.idle("team/builder");
        }
        let last = team.lab.requests().pop().unwrap();
        let text = last.to_string();
        assert!(text.contains("turn-1.md") && text.contains("turn-2.md"));
        assert!(knows_how(&last), "{runtime} {mode}: {last}");
        assert_eq!(team.deliveries().len(), 2, "{:?}", team.deliveries());
    });
}

#[test]
fn what_is_used_is_what_the_model_served_over_a_resume_too() {
    let clis = every_but(&[("gemini", "pane"), ("aider", "turn")]);
    each(&clis, |cli @ (name, mode)| {
        let Some(team) = team(cli) else { return };
        let _case = Case::of(
            name,
            mode,
            "usage equals what the model served, over a resume",
        );
        let written = if name == "claude" { 20 } else { 10 };
        for outcome in ["first", "second"] {
            team.send(&team.outcome(name, outcome));
            team.wrote(outcome);
            team.idle("team/builder");
            // The last message of a turn is written a moment after its end.
            std::thread::sleep(Duration::from_secs(2));
            for pid in team.pids(name) {
                let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
            }
        }
        let served = u64::try_from(team.asked(name).len()).unwrap();
        let usage = team.json(&["status"])["workers"][0]["usage"].clone();
        let told = (usage["input"].as_u64(), usage["output"].as_u64());
        let served = (Some(served * 100), Some(served * written));
        assert_eq!(told, served, "{name} {mode}: {usage}");
    });
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
    each(&BOTH, |(runtime, mode)| {
        let Some(lab) = Lab::open() else { return };
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
    });
}
