//! Every rule of mesh configs, every shape seen in the wild, and the lint.

use super::*;
use crate::format::report::report;
use crate::model::{
    Deliver, HookAction, Lifecycle, LifecycleHook, Mode, Name, OnAsk, OnFail, Prompt, RoutingMode,
    Row, Seconds, Target,
};
use serde_json::json;

fn loads(text: &str) -> (Mesh, Vec<Diagnostic>) {
    let ParsedMesh {
        mesh, diagnostics, ..
    } = parse(text.as_bytes());
    match mesh {
        Some(mesh) => (mesh, diagnostics),
        None => panic!(
            "{text}\ndoes not load:\n{}",
            report("config.yaml", text, &diagnostics, false)
        ),
    }
}

/// `code line:column` of each finding.
fn places(diagnostics: &[Diagnostic]) -> Vec<String> {
    let show = |d: &Diagnostic| format!("{} {}:{}", d.code.id(), d.place.line, d.place.column);
    diagnostics.iter().map(show).collect()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn agent_target(text: &str) -> Target {
    Target::Agent(text.parse().unwrap())
}

/// A mesh of these agents, with these other lines.
fn mesh_of(agents: &[&str], lines: &str) -> String {
    let agents: String = agents
        .iter()
        .map(|a| format!("  - {{name: {a}, model: opus, prompt: p.md}}\n"))
        .collect();
    format!("mesh: m\ndescription: d\nagents:\n{agents}{lines}")
}

/// A mesh of one agent, with these other lines: they start at line 4.
fn with(lines: &str) -> String {
    format!("mesh: m\nagents:\n  - {{name: worker, prompt: p.md}}\n{lines}")
}

#[test]
fn defaults_are_filled_in() {
    let (mesh, diagnostics) = loads(&with(""));
    assert_eq!(diagnostics, []);
    assert_eq!(mesh.entry_point, Some(name("worker")));
    assert!(mesh.completion_agents.is_empty());
    assert_eq!(mesh.routing.mode, RoutingMode::Agent);
    assert_eq!(mesh.on_ask, OnAsk::Worker);
    assert_eq!(
        (mesh.iteration.max, mesh.iteration.on_fail),
        (3, OnFail::Loop)
    );
    assert_eq!(mesh.guardrails.ask_timeout, Seconds(300));
    assert!(mesh.stop_on_first_complete && mesh.check_queue_on_complete && !mesh.disabled);
    let agent = &mesh.agents[0];
    assert_eq!(agent.runtime, "claude");
    assert_eq!(agent.prompt, Some(Prompt::File("p.md".into())));
    assert_eq!(
        (agent.mode, agent.deliver, agent.batch),
        (None, Deliver::Path, false)
    );
}

#[test]
fn the_variables_of_an_agent_take_the_place_of_the_meshs() {
    let (mesh, _) = loads(
        "mesh: m\nenv: [KEY, MODE=a=b]\nentry_point: a\nagents:\n\
         - {name: a, prompt: p}\n- {name: b, prompt: p, env: []}\n",
    );
    let of = |agent: usize| mesh.agents[agent].env.clone().unwrap();
    assert_eq!(of(0).passed, ["KEY"]);
    assert_eq!(of(0).set, [("MODE".to_owned(), "a=b".to_owned())]);
    assert_eq!(of(1), crate::model::Variables::default());
}

#[test]
fn every_field_that_is_obeyed_arrives() {
    let (mesh, diagnostics) = loads(
        "mesh: Lab\ndescription: what for\nentry_point: B\ncompletion_agents: [a]\nrouting_mode: dispatcher\n\
         on_ask: mesh\nmax_mesh_messages: 40\nstop_on_first_complete: false\ncheck_queue_on_complete: false\ndisable: true\n\
         rearmatter: {enabled: true, fields: [grade, mood]}\n\
         workspace: {path: 'out/{feature}', create_on_init: true, locations: {notes: n.md}, note: keep tidy}\n\
         guardrails: {strict: true, ask_timeout: 5m, max_messages: 9, routing_error: {max_retries: 2, routing_fallback: core}}\n\
         routing: {b: a, a: {approved: complete, default: b}}\n\
         agents:\n  - name: a\n    description: about a\n    model: opus\n    prompt: |\n      You are a.\n    command: /know {feature}\n    timeout: 90\n    batch: true\n    load: [x.md, y.md]\n    workspace: sub\n    max_messages: 3\n\
         \x20 - name: b\n    run: \"python3 'a b.py' {msg_file}\"\n    mode: pane\n    deliver: text\n    shell: false\n    timeout: 1h\n",
    );
    assert_eq!(diagnostics, []);
    assert_eq!(
        (mesh.name, mesh.entry_point),
        (name("lab"), Some(name("b")))
    );
    assert_eq!(mesh.completion_agents, [name("a")]);
    assert_eq!(
        (mesh.on_ask, mesh.max_mesh_messages),
        (OnAsk::Mesh, Some(40))
    );
    assert!(!mesh.stop_on_first_complete && !mesh.check_queue_on_complete && mesh.disabled);
    assert_eq!(mesh.rearmatter.fields, ["grade", "mood"]);
    let workspace = mesh.workspace.unwrap();
    assert_eq!(
        (
            workspace.path.as_str(),
            workspace.create,
            workspace.note.as_str()
        ),
        ("out/{feature}", true, "keep tidy")
    );
    let rails = mesh.guardrails;
    assert_eq!((rails.ask_timeout.0, rails.max_messages), (300, Some(9)));
    assert!(rails.strict && rails.routing_error.strict);
    assert_eq!(
        (
            rails.routing_error.max_retries,
            rails.routing_error.fallback
        ),
        (Some(2), Some(Target::Core))
    );
    let (a, b) = (&mesh.agents[0], &mesh.agents[1]);
    assert_eq!(a.prompt, Some(Prompt::Text("You are a.\n".into())));
    assert_eq!(
        (a.command.as_deref(), a.timeout),
        (Some("/know {feature}"), Some(Seconds(90)))
    );
    assert_eq!((a.batch, a.max_messages, a.load.len()), (true, Some(3), 2));
    assert_eq!(
        (b.runtime.as_str(), b.run.as_slice()),
        (
            "command",
            &["python3", "a b.py", "{msg_file}"].map(String::from)[..]
        )
    );
    assert_eq!(
        (b.mode, b.deliver, b.timeout),
        (Some(Mode::Pane), Deliver::Text, Some(Seconds(3600)))
    );
    assert_eq!(
        mesh.routing.rows[&name("b")],
        Row::Always(agent_target("lab/a"))
    );
    let Row::ByStatus { words, default } = &mesh.routing.rows[&name("a")] else {
        panic!()
    };
    assert_eq!(
        words[0].keys().collect::<Vec<_>>(),
        [&Target::Core],
        "`complete` as a target is core"
    );
    assert_eq!(default, &Some(agent_target("lab/b")));
}

/// One config for each row of shapes that TX users write: all load, and each
/// field that is not obeyed is named.
#[test]
fn every_shape_in_the_wild_loads() {
    let two = |lines: &str| mesh_of(&["a", "b"], &format!("entry_point: a\n{lines}"));
    let routed = |lines: &str| {
        two(&format!(
            "routing:\n  a: {{complete: {{b: next}}}}\n{lines}"
        ))
    };
    let agent =
        |line: &str| format!("mesh: m\nagents:\n  - name: worker\n    prompt: p.md\n    {line}\n");
    let not_obeyed: &[Code] = &[Code::NotObeyedYet];
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (row, text, expected) in [
        ("top level", routed(""), &[][..]),
        ("an agent with a command alone", "mesh: m\nagents: [{name: x, command: '/know:prebuild {feature}'}]\n".into(), &[]),
        ("permissions", agent("permissions: {allowedTools: [Read, 'Bash(git:*)']}"), &[]),
        ("description of an agent", agent("description: finds sources"), &[]),
        ("mcpServers", agent("mcpServers: {fs: {command: npx, args: [a]}}"), &[]),
        ("max_turns, where the program stays", agent("max_turns: 5"), not_obeyed),
        ("fork_from", agent("fork_from: other"), not_obeyed),
        ("thinking", agent("thinking: true"), &[]),
        ("orchestrator", agent("orchestrator: true"), not_obeyed),
        ("checkpoint", agent("checkpoint: true"), not_obeyed),
        ("load", agent("load: [docs/a.md]"), &[]),
        ("routing, agent form", two("routing:\n  a:\n    complete: {b: \"Analysis complete\"}\n    blocked: {b: x, core: \"Human needed\"}\n  b:\n    complete: {core: Done}\n"), &[]),
        ("status to a plain target", two("routing: {a: {complete: b}, b: {complete: core}}\n"), &[]),
        ("status to a list of targets", two("routing: {a: {complete: [b, core]}}\n"), &[]),
        ("agent to plain text", two("routing: {a: b}\n"), &[]),
        ("agent to a list with options", mesh_of(&["a", "b", "c", "d"], "entry_point: a\nrouting_mode: dispatcher\nrouting: {a: [b, c, {complete: d, fan_in: batch}]}\n"), &[]),
        ("a fan-out option of another sort", mesh_of(&["a", "b", "c", "d"], "entry_point: a\nrouting_mode: dispatcher\nrouting: {a: [b, c, {complete: d, fan_in: first}]}\n"), not_obeyed),
        ("old kinds as statuses", routed("  b: {ask: {a: why}, ask-response: {a: x}, ask-human: core, complete: core}\n"), &[]),
        ("own status words", routed("  b: {needs-more-data: a, low-confidence: a, needs_work: a, approved: core}\n"), &[]),
        ("a target in another mesh", routed("  b: {complete: other-mesh/agent, blocked: core}\n"), &[]),
        ("routing_mode", two("routing_mode: dispatcher\nrouting: {a: b}\n"), &[]),
        ("completion_agents", routed("completion_agents: [b]\n"), &[]),
        ("completion_agent", routed("completion_agent: b\n"), &[]),
        ("boundary_agents", routed("boundary_agents: [b]\n"), &[]),
        ("env", with("env: [KEY, MODE=a b]\n"), &[]),
        ("workspace with a path", with("workspace: {path: 'out/{topic}/$name/{task-id}', create_on_init: true}\n"), &[]),
        ("workspace locations", with("workspace: {path: x, locations: {spec: s.md}, note: n}\n"), &[]),
        ("workspace structure", with("workspace: {path: x, structure: [{dir: a}, {file: b}]}\n"), &[]),
        ("intents", with("intents: {patterns: [build, make it], commands: {build: /build}}\n"), &[]),
        ("rearmatter fields", with("rearmatter: {enabled: true, fields: [grade, confidence]}\n"), &[]),
        ("rearmatter schema", with("rearmatter: {required: true, schema: {grade: how good it is}}\n"), &[]),
        ("rearmatter thresholds", with("rearmatter: {enabled: true, thresholds: {confidence: 0.8, grade: B}}\n"), &[]),
        ("guardrails, empty", with("guardrails: {}\n"), &[]),
        ("guardrails at the top", with("guardrails: {strict: true, warning: true}\n"), not_obeyed),
        ("guardrails, numbers", with("guardrails: {max_messages: 20, max_turns: 30}\n"), not_obeyed),
        ("guardrails, maps", with("guardrails: {max_messages: {limit: 20, strict: true}, max_turns: {limit: 9}}\n"), &[Code::NotObeyedYet, Code::NotObeyedYet]),
        ("guardrails of agents", with("guardrails: {agents: {worker: {max_turns: 3}}}\n"), not_obeyed),
        ("bash_guard", with("guardrails: {bash_guard: {deny: [rm]}}\n"), not_obeyed),
        ("routing_error", with("guardrails: {routing_error: {strict: true, max_retries: 2, routing_retry_max: 3, routing_fallback: core}}\n"), &[]),
        ("lifecycle", with("lifecycle: {pre: ['worktree:create'], post: ['commit:auto', brain-update, 'worktree:cleanup', 'quality:lint', discovery-code]}\n"), &[Code::NotObeyedYet; 2]),
        ("continuation, a flag", with("continuation: false\n"), &[]),
        ("continuation, agents", with("continuation: [worker]\n"), &[]),
        ("manifest", with("manifest: [{id: spec, location: '{workspace}/s.md', description: d, reads: [worker], writes: [worker], persistent: true, autoInject: true}]\nautoInjectManifestFiles: false\n"), &[]),
        ("fsm", with("fsm:\n  initial: s\n  context: {n: 0}\n  scripts: {check: run.sh}\n  states:\n    s:\n      agents: [worker]\n      entry: {set: {a: 1}, run: check, gates: [check]}\n      exit: {gates: {worker: [out/x.md]}, set: {b: 2}, when: [{condition: 'n > 1', target: t}], run: check, default: t}\n      description: d\n      type: x\n    t: {terminal: true, subtask: s}\n"), &[]),
        ("parallelism", mesh_of(&["a", "b", "c", "d"], "entry_point: a\nparallelism: [{agents: [b, c], entry: a, exit: d, timeout: 60000, on_partial: abort}]\n"), &[]),
        ("ensemble", mesh_of(&["a", "b", "c", "d"], "entry_point: a\nensemble: {coordinator: a, agents: [b, c], reviewer: d, aggregation_strategy: voting, timeout_ms: 1000, allow_partial_failure: true, fault_tolerance: {min_success_count: 1}}\n"), &[]),
        ("task_distribution", mesh_of(&["a", "b", "c", "d"], "entry_point: a\ntask_distribution: {spawner: a, subagents: [b, c], reviewer: d, distribution_strategy: equal, subtask_count: 4, timeout_ms: 1000, allow_partial_failure: false}\n"), &[]),
        ("iteration", with("iteration: {maxIterations: 2, onFail: loop}\n"), &[]),
        ("injectOriginalMessage", with("injectOriginalMessage: true\n"), &[]),
        ("brain", with("brain: true\n"), &[]),
        ("graded", with("graded: true\n"), not_obeyed),
        ("type", with("type: persistent\n"), &[]),
        ("load_claude_md", with("load_claude_md: true\n"), &[]),
        ("load_claude_md, off", with("load_claude_md: false\n"), not_obeyed),
        ("type, ephemeral", with("type: ephemeral\n"), &[]),
        ("type, unknown", with("type: odd\n"), not_obeyed),
        ("idle_timeout_minutes, a number", with("idle_timeout_minutes: 30\n"), &[]),
        ("idle_timeout_minutes, true", with("idle_timeout_minutes: true\n"), &[Code::WrongShape]),
        ("guardrails by agent", with("guardrails: {max_messages: {worker: 20}, max_turns: {worker: 50}}\n"), not_obeyed),
        ("guardrails by agent, unknown", with("guardrails: {max_messages: {wroker: 20}}\n"), &[Code::UnknownField]),
        ("idle_timeout_minutes", with("idle_timeout_minutes: false\n"), &[]),
        ("auto_despawn", with("auto_despawn: true\n"), &[]),
        ("capability", with("capability: research\n"), &[]),
        ("capabilities", with("capabilities: [research]\n"), &[]),
        ("config", with("config: {a: 1}\n"), &[]),
        ("playbook_notes", with("playbook_notes: |\n  Long text: with a colon.\n\n  And a second part.\n"), &[]),
        ("quality", with("quality: [{run: lint}]\n"), &[]),
        ("worktree", with("worktree: {branch: x}\n"), &[Code::UnknownField]),
        ("reliability", with("reliability: {retries: 2}\n"), not_obeyed),
        ("manifest_enforcement", with("manifest_enforcement: {pre_validation: true, post_validation: false, max_retry: 1, strict: true, warning: false}\n"), &[]),
        ("comments, quotes, inline, unicode", "# hi\nmesh: \"m\" # name\ndescription: 'naïve: 😀 → ok'\nagents: [{name: 'a', prompt: \"p.md\"}]\n".into(), &[]),
        ("JSON", r#"{"mesh": "m", "agents": [{"name": "a", "prompt": "p.md"}]}"#.into(), &[]),
        ("JSON with tabs", "{\n\t\"mesh\": \"m\",\n\t\"agents\": [{\"name\": \"a\", \"prompt\": \"p.md\"}]\n}\n".into(), &[]),
        ("BOM and CRLF", format!("\u{feff}{}", with("").replace('\n', "\r\n")), &[]),
        ("merge keys", "mesh: m\nagents:\n  - &w {name: worker, prompt: p.md, model: opus}\n  - {<<: *w, name: b}\nrouting: {worker: b}\n".into(), &[]),
        ("anchors", "mesh: m\nagents:\n  - {name: a, prompt: &p p.md}\n  - {name: worker, prompt: *p}\nrouting: {worker: a}\n".into(), &[]),
    ] {
        let (_, diagnostics) = loads(&text);
        let codes: Vec<Code> = diagnostics.iter().map(|d| d.code).collect();
        let value = yaml::parse(text.trim_start_matches('\u{feff}')).unwrap();
        assert!(validator.is_valid(&value), "the schema refuses {row}");
        assert_eq!(codes, expected, "{row}\n{}", report("config.yaml", &text, &diagnostics, false));
    }
}

#[test]
fn what_an_agent_cli_cannot_be_told_is_a_warning() {
    let agent =
        |line: &str| format!("mesh: m\nagents:\n  - {{name: worker, prompt: p.md, {line}}}\n");
    for (line, expected, says) in [
        ("mode: turn, max_turns: 5", &[][..], ""),
        (
            "permissions: {mode: plan, allowedTools: [Read], deny: [Bash]}",
            &[],
            "",
        ),
        (
            "runtime: codex, permissions: {mode: plan}, thinking: low",
            &[],
            "",
        ),
        ("runtime: codex, mcpServers: {fs: {command: npx}}", &[], ""),
        (
            "runtime: codex, permissions: {deny: [Bash]}",
            &[Code::NotObeyedYet],
            "a `codex` agent in mode `pane`",
        ),
        (
            "runtime: codex, mode: turn, max_turns: 5",
            &[Code::NotObeyedYet],
            "a `codex` agent in mode `turn`",
        ),
        (
            "run: cat, permissions: {mode: plan}",
            &[Code::NotObeyedYet],
            "a `command` agent",
        ),
        (
            "run: 'cat {tools}', permissions: {allowedTools: [Read]}",
            &[],
            "",
        ),
        (
            "run: cat, thinking: low",
            &[Code::NotObeyedYet],
            "`agents[0].thinking`",
        ),
        (
            "permissions: {mode: paln}",
            &[Code::WrongShape],
            "default, acceptEdits, plan, bypassPermissions",
        ),
        (
            "thinking: a lot",
            &[Code::WrongShape],
            "low, medium, high, xhigh, max",
        ),
        (
            "mcpServers: {fs: npx}",
            &[Code::WrongShape],
            "expected a map",
        ),
        ("max_turns: many", &[Code::WrongShape], "a whole number"),
    ] {
        let (_, diagnostics) = loads(&agent(line));
        let codes: Vec<Code> = diagnostics.iter().map(|d| d.code).collect();
        let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(codes, expected, "{line}: {messages:?}");
        assert!(messages.concat().contains(says), "{line}: {messages:?}");
    }
}

#[test]
fn an_agent_without_a_runtime_has_the_one_of_the_project() {
    let text = mesh_of(&["a", "b"], "entry_point: a\nrouting: {a: b}\n") + "  # no more\n";
    let text = text.replace("name: b,", "name: b, run: cat,");
    let runtimes = |settings| Runtimes::with(&crate::format::settings::parse(settings).unwrap());
    for (settings, expected) in [
        ("", ["claude", "command"]),
        ("runtime: codex\n", ["codex", "command"]),
    ] {
        let mesh = parse_with(text.as_bytes(), &runtimes(settings))
            .mesh
            .unwrap();
        let names: Vec<&str> = mesh.agents.values().map(|a| a.runtime.as_str()).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn what_keeps_a_mesh_from_loading() {
    for (name, text, expected) in [
        ("empty", "".to_owned(), vec!["TX0013 1:1"]),
        ("not a mapping", "- a\n- b\n".into(), vec!["TX0013 1:1"]),
        (
            "not YAML",
            "mesh: [\nagents: }\n".into(),
            vec!["TX0010 2:9"],
        ),
        ("a key twice", with("mesh: n\n"), vec!["TX0012 4:1"]),
        (
            "a route to nobody",
            with("routing: {worker: {complete: {wroker: x}}}\n"),
            vec!["TX0401 4:31"],
        ),
        (
            "a route to nobody, text",
            with("routing:\n  worker:\n    complete: wroker\n"),
            vec!["TX0401 6:15"],
        ),
        (
            "no mesh",
            "agents: [{name: a, prompt: p}]\n".into(),
            vec!["TX0303 1:1"],
        ),
        ("no agents", "mesh: m\n".into(), vec!["TX0304 1:1"]),
        (
            "agents empty",
            "mesh: m\nagents: []\n".into(),
            vec!["TX0304 2:9"],
        ),
        (
            "agents not a list",
            "mesh: m\nagents: worker\n".into(),
            vec!["TX0304 2:9", "TX0313 2:9"],
        ),
        (
            "two of a name",
            "mesh: m\nagents:\n  - {name: a, prompt: p}\n  - {name: A, prompt: p}\n".into(),
            vec!["TX0305 4:12"],
        ),
        (
            "unknown entry_point",
            with("entry_point: workr\n"),
            vec!["TX0306 4:14"],
        ),
        (
            "nothing to run",
            "mesh: m\nagents:\n  - name: é😀\n  - name: b\n".into(),
            vec!["TX0309 3:11", "TX0308 4:11"],
        ),
        (
            "no name",
            "mesh: m\nagents: [{prompt: p}]\n".into(),
            vec!["TX0309 2:10"],
        ),
        (
            "reserved",
            "mesh: core\nagents: [{name: dispatch, prompt: p}]\n".into(),
            vec!["TX0309 1:7", "TX0309 2:17"],
        ),
        (
            "confidence out of range",
            with("rearmatter: {thresholds: {confidence: 7}}\n"),
            vec!["TX0307 4:39"],
        ),
        (
            "grade out of range",
            with("rearmatter:\n  thresholds:\n    grade: Z\n"),
            vec!["TX0307 6:12"],
        ),
        (
            "negative threshold",
            with("rearmatter: {thresholds: {mood: -1}}\n"),
            vec!["TX0307 4:33"],
        ),
        (
            "deep",
            with(&format!("config: {}\n", "[".repeat(2000))),
            vec!["TX0016 4:1009"],
        ),
    ] {
        let ParsedMesh {
            mesh,
            mut diagnostics,
            ..
        } = parse(text.as_bytes());
        assert!(mesh.is_none(), "{name}");
        diagnostics.sort_by_key(|d| {
            (
                d.code.severity() != crate::model::Severity::Error,
                d.place.line,
            )
        });
        assert_eq!(
            places(&diagnostics),
            expected,
            "{name}\n{}",
            report("config.yaml", &text, &diagnostics, false)
        );
    }
    assert_eq!(places(&parse(b"mesh: \xff").diagnostics), ["TX0001 1:7"]);
    let large = format!("{}# {}", with(""), "x".repeat(MAX_FILE));
    assert_eq!(places(&parse(large.as_bytes()).diagnostics), ["TX0004 1:1"]);
}

#[test]
fn what_is_only_a_warning() {
    for (name, text, expected, hint) in [
        (
            "unknown field",
            with("entry_pont: worker\n"),
            "TX0311 4:1",
            "`entry_point`",
        ),
        (
            "unknown field of an agent",
            "mesh: m\nagents:\n  - name: a\n    promt: x\n    prompt: p\n".into(),
            "TX0311 4:5",
            "`prompt`",
        ),
        (
            "a field of the mesh below an agent",
            "mesh: m\nagents:\n  - name: a\n    prompt: p\n    routing: {a: core}\n".into(),
            "TX0311 5:5",
            "indented too far",
        ),
        (
            "a line for a shell without one",
            "mesh: m\nagents:\n  - {name: a, run: echo hi > out.txt}\n".into(),
            "TX0323 3:20",
            "shell: true",
        ),
        (
            "a variable of a shell in a gate without one",
            with("quality: {command: {run: test -f $HOME/x}}\n"),
            "TX0323 4:20",
            "shell: true",
        ),
        (
            "unknown field of guardrails",
            with("guardrails: {ask_time_out: 3}\n"),
            "TX0311 4:14",
            "`ask_timeout`",
        ),
        (
            "unknown field, nothing near",
            with("zebra: 1\n"),
            "TX0311 4:1",
            "tx mesh schema",
        ),
        (
            "wrong shape",
            with("description: [a]\n"),
            "TX0313 4:14",
            "text",
        ),
        (
            "wrong shape of a flag",
            with("disable: maybe\n"),
            "TX0313 4:10",
            "true or false",
        ),
        (
            "wrong word",
            with("on_ask: nobody\n"),
            "TX0313 4:9",
            "worker",
        ),
        (
            "wrong shape of an agent's field",
            "mesh: m\nagents:\n  - name: a\n    prompt: p\n    batch: [1]\n".into(),
            "TX0313 5:12",
            "true or false",
        ),
        (
            "wrong shape in the table",
            with("routing: {worker: {complete: 5, blocked: core}}\n"),
            "TX0313 4:30",
            "target",
        ),
        (
            "wrong time",
            with("guardrails: {ask_timeout: soon}\n"),
            "TX0313 4:27",
            "left out",
        ),
        (
            "wrong limit",
            with("guardrails: {max_messages: {limit: soon}}\n"),
            "TX0313 4:36",
            "a whole number",
        ),
        (
            "a limit too large",
            with("guardrails: {max_messages: 99999999999}\n"),
            "TX0313 4:28",
            "a number",
        ),
        (
            "a budget in words",
            with("guardrails: {max_cost_usd: much}\n"),
            "TX0313 4:28",
            "2.50",
        ),
        (
            "a debt as a budget",
            with("guardrails: {max_cost_usd: -1}\n"),
            "TX0313 4:28",
            "2.50",
        ),
        (
            "the budget of nobody",
            with("guardrails: {agents: {workr: {max_tokens: 5}}}\n"),
            "TX0311 4:23",
            "`worker`",
        ),
        (
            "unknown field of an agent's limits",
            with("guardrails: {agents: {worker: {max_token: 5}}}\n"),
            "TX0311 4:32",
            "`max_tokens`",
        ),
        (
            "unknown field of a limit",
            with("guardrails: {max_messages: {limt: 1}}\n"),
            "TX0311 4:29",
            "`limit`",
        ),
        (
            "unknown field of rearmatter",
            with("rearmatter: {enabld: true}\n"),
            "TX0311 4:14",
            "`enabled`",
        ),
        (
            "no name of a variable",
            with("env: [A, 'B C']\n"),
            "TX0313 4:6",
            "does not get it",
        ),
        (
            "unknown field of workspace",
            with("workspace: {pth: x}\n"),
            "TX0311 4:13",
            "`path`",
        ),
        (
            "a status without a target",
            with("routing:\n  worker:\n    complete:\n"),
            "TX0404 6:5",
            "core",
        ),
        (
            "a status twice",
            with("routing: {worker: {complete: core, Complete: core}}\n"),
            "TX0411 4:36",
            "keep one",
        ),
        (
            "a row twice",
            with("routing: {worker: core, Worker: core}\n"),
            "TX0411 4:25",
            "keep one",
        ),
        (
            "two defaults",
            with("routing: {worker: {default: [core, worker]}}\n"),
            "TX0411 4:20",
            "keep one",
        ),
        (
            "a runtime with a typo",
            "mesh: m\nagents: [{name: a, prompt: p, runtime: clade}]\n".into(),
            "TX0317 2:40",
            "`claude`",
        ),
        (
            "a program missing",
            "mesh: m\nagents: [{name: a, prompt: p, runtime: command}]\n".into(),
            "TX0317 2:40",
            "run:",
        ),
        (
            "a completion agent that is core",
            with("completion_agents: [core]\n"),
            "TX0407 4:21",
            "one of: worker",
        ),
        (
            "an item of a list",
            mesh_of(
                &["a", "b", "c"],
                "entry_point: a\nrouting: {a: [b, 5, c, {complete: core}]}\n",
            ),
            "TX0313 8:18",
            "an agent",
        ),
        (
            "an open quote in run",
            "mesh: m\nagents: [{name: a, prompt: p, run: \"x 'y\"}]\n".into(),
            "TX0313 2:36",
            "list",
        ),
        (
            "unknown row",
            with("routing: {wroker: core}\n"),
            "TX0402 4:11",
            "`worker`",
        ),
        (
            "unreachable",
            mesh_of(
                &["a", "b", "c"],
                "entry_point: a\nrouting: {a: {complete: b}}\n",
            ),
            "TX0403 6:12",
            "`c`",
        ),
        (
            "no target",
            with("routing: {worker: {complete: {}}}\n"),
            "TX0404 4:20",
            "core",
        ),
        (
            "no members",
            with("routing: {worker: []}\n"),
            "TX0404 4:11",
            "side by side",
        ),
        (
            "unknown completion agent",
            with("completion_agents: [worker, workr]\n"),
            "TX0407 4:29",
            "`worker`",
        ),
        (
            "no join",
            mesh_of(&["a", "b", "c"], "entry_point: a\nrouting: {a: [b, c]}\n"),
            "TX0408 8:11",
            "complete: agent",
        ),
        (
            "no entry point",
            mesh_of(&["a", "b"], "routing: {a: b}\n"),
            "TX0409 3:1",
            "entry_point",
        ),
        (
            "a route back to its own agent",
            with("routing: {worker: {again: worker, complete: core}}\n"),
            "TX0445 4:20",
            "another agent",
        ),
    ] {
        let (_, diagnostics) = loads(&text);
        let shown = report("config.yaml", &text, &diagnostics, false);
        assert_eq!(places(&diagnostics), [expected], "{name}\n{shown}");
        assert!(diagnostics[0].hint.contains(hint), "{name}\n{shown}");
    }
}

#[test]
fn a_flood_of_mistakes_is_told_once_and_quickly() {
    let agents: String = (0..5000)
        .map(|n| format!("  - {{name: a{n}, prompt: p, batch: 3}}\n"))
        .collect();
    let unknown: String = (0..20_000).map(|n| format!("x{n}: 1\n")).collect();
    let elsewhere: String = (0..15_000).map(|n| format!("   x/{n:x}:\n")).collect();
    let selves: String = (0..4000)
        .map(|n| format!("- {{name: a{n}, prompt: p}}\n"))
        .collect();
    let rows: String = (0..4000).map(|n| format!("  a{n}: a{n}\n")).collect();
    for text in [
        format!("mesh: m\nagents:\n{agents}"),
        with(&unknown),
        with(&format!("routing:\n worker:\n  complete:\n{elsewhere}")),
        format!("mesh: m\nagents:\n{selves}routing:\n{rows}"),
    ] {
        let started = std::time::Instant::now();
        let loaded = parse(text.as_bytes());
        if let Some(mesh) = &loaded.mesh {
            in_words(mesh);
            draw(mesh, Drawing::Mermaid, false);
        }
        let diagnostics = loaded.diagnostics;
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
        assert!(diagnostics.len() < 60, "{}", diagnostics.len());
    }
}

#[test]
fn an_agent_that_is_no_map_costs_itself_alone() {
    let text = "mesh: m\nagents:\n  - {name: worker, prompt: p}\n  - other\n  - {name: b, prompt: p, batch: x}\nrouting: {worker: b}\n";
    let (mesh, diagnostics) = loads(text);
    assert_eq!(mesh.agents.len(), 2);
    assert_eq!(places(&diagnostics), ["TX0313 4:5", "TX0313 5:33"]);
    assert!(
        diagnostics[0].message.contains("agents[1]: expected a map"),
        "{}",
        diagnostics[0].message
    );
}

#[test]
fn honest_anchors_of_some_size_are_no_bomb() {
    let others: String = (0..12)
        .map(|n| format!("  - {{<<: *d, name: a{n}}}\n"))
        .collect();
    let text = format!(
        "mesh: m\nagents:\n  - &d {{name: worker, prompt: {}}}\n{others}",
        "word ".repeat(300)
    );
    assert_eq!(loads(&text).0.agents.len(), 13);
}

#[test]
fn one_wrong_field_costs_itself_alone() {
    let (mesh, diagnostics) = loads(
        "mesh: m\ndescription: {}\nagents:\n  - name: worker\n    prompt: p\n    batch: 3\n    timeout: [x]\nrouting:\n  worker: {complete: 5, blocked: core}\n",
    );
    assert_eq!(
        places(&diagnostics),
        ["TX0313 2:14", "TX0313 6:12", "TX0313 7:14", "TX0313 9:22"]
    );
    let Row::ByStatus { words, .. } = &mesh.routing.rows[&name("worker")] else {
        panic!()
    };
    assert_eq!(words.len(), 1);
}

#[test]
fn only_words_for_a_shell_are_taken_for_such() {
    for (run, finds) in [
        ("cat a | sort", true),
        ("make && make test", true),
        ("echo $HOME", true),
        ("echo done;", true),
        ("grep '>' file", false),
        ("echo \"a > b\"", false),
        ("awk '{ print $1 }' file", false),
        ("printf %s -- --x=y", false),
    ] {
        let text = format!("mesh: m\nagents:\n  - name: a\n    run: |-\n      {run}\n");
        let (_, diagnostics) = loads(&text);
        let found = diagnostics.iter().any(|d| d.code == Code::ShellCharacters);
        assert_eq!(found, finds, "{run}");
        let (_, diagnostics) = loads(&format!("{text}    shell: true\n"));
        let found = diagnostics.iter().any(|d| d.code == Code::ShellCharacters);
        assert!(!found, "{run}");
    }
}

#[test]
fn a_field_that_is_not_indented_like_its_item_is_told_how_far() {
    let text = "mesh: m\nagents:\n  - name: a\n  run: cat\n";
    let hint = &parse(text.as_bytes()).diagnostics[0].hint;
    assert!(
        hint.contains("indent it by 4 spaces instead of 2"),
        "{hint}"
    );
}

#[test]
fn a_drawing_has_each_join_once_and_names_words_and_gates() {
    let (mesh, _) = loads(&mesh_of(
        &["lead", "x", "y", "judge"],
        "entry_point: lead\nparallelism: {agents: [x, y], exit: judge}\n\
         routing: {lead: {complete: [x, y]}, judge: {again: [x, y], complete: core}}\n\
         quality: {judge: {command: [cargo, test]}}\n",
    ));
    let drawn = draw(&mesh, Drawing::Text, false);
    assert_eq!(drawn.matches("join").count(), 2, "{drawn}");
    assert!(drawn.contains("again fan-out ─▶ x"), "{drawn}");
    assert!(drawn.contains("judge  [gates: cargo]"), "{drawn}");
}

#[test]
fn a_word_that_is_almost_one_of_tx_is_a_warning_if_that_one_is_not_listed() {
    let found = |row: &str| {
        let routing = format!("entry_point: a\nrouting: {{a: {row}, b: {{complete: core}}}}\n");
        let (_, diagnostics) = loads(&mesh_of(&["a", "b"], &routing));
        let near = |d: &&Diagnostic| d.code == Code::WordNearMiss;
        let said = diagnostics.iter().filter(near).map(|d| d.hint.clone());
        said.collect::<Vec<_>>().join("; ")
    };
    for (row, own) in [
        ("{complte: {b: x}}", "`complete`"),
        ("{completed: b}", "`complete`"),
        ("{compelte: b, blocked: core}", "`complete`"),
        ("{complete: b, eror: core}", "`error`"),
        ("{complete: b, Bloked: core}", "`blocked`"),
    ] {
        let said = found(row);
        assert!(
            said.starts_with("did you mean") && said.contains(own),
            "{row}: {said}"
        );
    }
    for row in [
        "{complete: b, completed: core}",
        "{done: b}",
        "{compete: b, default: core}",
        "{complete: b, mirror: core, terse: core, unlocked: core, locked: core}",
        "{compute: b}",
        "{incomplete: b, error: core, errors: core}",
        "b",
    ] {
        assert_eq!(found(row), "", "{row}");
    }
}

#[test]
fn an_outcome_that_no_gate_checks_is_a_warning_only_where_nothing_else_is_checked() {
    let found = |lines: &str| {
        let (_, diagnostics) = loads(&mesh_of(&["a", "b"], &format!("entry_point: a\n{lines}\n")));
        let past = |d: &&Diagnostic| d.code == Code::PastTheGate;
        let said = diagnostics.iter().filter(past).map(|d| d.message.clone());
        said.collect::<Vec<_>>().join("; ")
    };
    let gate = "quality: {command: [cargo, test]}";
    for (lines, word) in [
        ("routing: {a: {done: core, review: b}}", "`done` of `a`"),
        (
            "routing: {a: {done: b}, b: {fine: {core: x}}}",
            "`fine` of `b`",
        ),
    ] {
        let said = found(&format!("{lines}\n{gate}"));
        assert!(said.starts_with(word), "{lines}: {said}");
        assert_eq!(found(lines), "", "without a gate: {lines}");
    }
    let own =
        "routing: {a: {done: b}, b: {complete: core}}\nquality: {a: {command: [cargo, test]}}";
    assert!(found(own).starts_with("`done` of `a`"), "{}", found(own));
    for lines in [
        "routing: {a: {complete: b, failed: core}, b: {approved: core, changes: a}}",
        "routing: {a: {done: b}, b: {complete: core}}",
        "routing: {a: {done: b, default: core}, b: {complete: core}}",
        "routing: {a: {done: b, error: core, blocked: core}}",
        "routing: {a: b, b: core}",
    ] {
        assert_eq!(found(&format!("{lines}\n{gate}")), "", "{lines}");
    }
}

#[test]
fn loops_need_a_way_out_and_runs_an_end() {
    let lint = |agents: &[&str], lines: &str| {
        let (_, diagnostics) = loads(&mesh_of(agents, &format!("entry_point: a\n{lines}")));
        let mut codes: Vec<Code> = diagnostics.iter().map(|d| d.code).collect();
        codes.dedup();
        codes
    };
    let ab = &["a", "b"];
    for (name, agents, lines, expected) in [
        (
            "a loop with a way out",
            &ab[..],
            "routing: {a: {complete: b}, b: {failed: a, complete: core}}\n",
            vec![],
        ),
        (
            "`complete` is not listed: core",
            ab,
            "routing: {a: {complete: b}, b: {failed: a}}\n",
            vec![],
        ),
        (
            "no way out",
            ab,
            "routing: {a: {complete: b}, b: {complete: a}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "blocked and error are no way out",
            ab,
            "routing: {a: {complete: b}, b: {complete: a, blocked: core, error: core}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "to itself",
            &["a"],
            "routing: {a: {complete: a}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut, Code::BackToSelf],
        ),
        (
            "dispatcher, nothing unlisted",
            ab,
            "routing_mode: dispatcher\nrouting: {a: b, b: {again: a}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "dispatcher, no row is the end",
            ab,
            "routing_mode: dispatcher\nrouting: {a: b}\n",
            vec![],
        ),
        (
            "another mesh may end it",
            ab,
            "routing: {a: {complete: b}, b: {complete: x/y}}\n",
            vec![],
        ),
        (
            "the completion agent does not reach core",
            ab,
            "completion_agents: [a]\nrouting: {a: {complete: b}}\n",
            vec![Code::NeverCompletes],
        ),
        (
            "a loop beside the way",
            &["a", "b", "c"],
            "routing: {a: {complete: core, x: b}, b: {complete: c}, c: {complete: b}}\n",
            vec![Code::NoWayOut],
        ),
        (
            "fan-out and join",
            &["a", "b", "c", "d"],
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: d}]}\n",
            vec![],
        ),
        (
            "a join back to the start",
            &["a", "b", "c"],
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: a}]}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "a member's own row does not count",
            &["a", "b", "c"],
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: a}], b: {complete: core}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut],
        ),
        (
            "nor does where it leads",
            &["a", "b", "c", "d", "e"],
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: e}], b: d}\n",
            vec![Code::Unreachable],
        ),
        (
            "members of other meshes",
            ab,
            "routing_mode: dispatcher\nrouting: {a: [x/y, z/w, {complete: b}]}\n",
            vec![],
        ),
        (
            "escalating is no end",
            &["a"],
            "routing_mode: dispatcher\nrouting: {a: {again: a, escalate: core}}\n",
            vec![Code::NeverCompletes, Code::NoWayOut, Code::BackToSelf],
        ),
        (
            "no table: what others are for",
            ab,
            "",
            vec![Code::Unreachable],
        ),
    ] {
        let mut codes = lint(agents, lines);
        codes.sort();
        let mut expected = expected;
        expected.sort();
        assert_eq!(codes, expected, "{name}");
    }
}

#[test]
fn routes_into_other_meshes_are_noted_with_their_place() {
    let text = mesh_of(
        &["A", "b"],
        "entry_point: a\nrouting:\n  A:\n    complete: {other/agnt: x}\n    Blocked: none/such\n    error: other\n  b: [a, x/y, {complete: z/join}]\n",
    );
    let loaded = parse(text.as_bytes());
    assert_eq!(
        places(&loaded.diagnostics),
        ["TX0401 11:12"],
        "a bare name is an agent of this mesh"
    );
    let found: Vec<String> = loaded
        .elsewhere
        .iter()
        .map(|(address, span)| {
            let place = crate::format::SourceText(&text).place(span.clone());
            format!("{address} {}:{}", place.line, place.column)
        })
        .collect();
    assert_eq!(
        found,
        [
            "other/agnt 9:16",
            "none/such 10:14",
            "x/y 12:10",
            "z/join 12:26"
        ]
    );
}

#[test]
fn a_report_on_a_mesh_shows_the_line() {
    let text = with("rearmatter: {thresholds: {confidence: 7}}\n");
    let diagnostics = parse(text.as_bytes()).diagnostics;
    let error = diagnostics.iter().find(|d| d.is_error()).unwrap();
    assert_eq!(
        report(
            "meshes/m/config.yaml",
            &text,
            std::slice::from_ref(error),
            false
        ),
        "error[TX0307]: confidence: expected a number from 0.0 to 1.0, found 7\n \
          --> meshes/m/config.yaml:4:39\n  |\n\
         4 | rearmatter: {thresholds: {confidence: 7}}\n  |                                       ^\n  |\n  \
           = help: write a number from 0.0 to 1.0\n\n"
    );
}

#[test]
fn the_shipped_meshes_have_nothing_to_say() {
    let mut names = Vec::new();
    for (path, text) in crate::project::BUILTIN {
        if let Some(folder) = path.strip_suffix("/config.yaml") {
            let (mesh, diagnostics) = loads(text);
            assert_eq!(diagnostics, [], "{path}");
            assert_eq!(mesh.name.as_str(), folder);
            for agent in mesh.agents.values() {
                let Some(Prompt::File(file)) = &agent.prompt else {
                    panic!("{path}: {}", agent.name)
                };
                let prompt = format!("{folder}/{file}");
                assert!(
                    crate::project::BUILTIN
                        .iter()
                        .any(|(path, _)| *path == prompt),
                    "{prompt}"
                );
            }
            names.push(folder.to_owned());
        }
    }
    assert_eq!(
        names,
        [
            "council",
            "deep-research",
            "dev-review",
            "ensemble-review",
            "hello",
            "plan-build-check",
            "split-work",
            "triage"
        ]
    );
}

#[test]
fn the_schema_takes_what_loads_and_knows_every_field() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (path, text) in crate::project::BUILTIN {
        if path.ends_with("config.yaml") {
            let value = yaml::parse(text).unwrap();
            assert!(validator.is_valid(&value), "{path}");
        }
    }
    assert!(
        !validator.is_valid(&json!({"mesh": "m"})),
        "agents are required"
    );
    assert!(!validator.is_valid(&json!({"mesh": "m", "agents": [], "on_ask": "nobody"})));
    for pattern in raw::NOT_OBEYED {
        let steps: Vec<yaml::PathSegment> = pattern
            .split('.')
            .map(|key| match key {
                "*" if pattern.starts_with("guardrails") => "any".into(),
                "*" => yaml::PathSegment::Index(0),
                key => key.into(),
            })
            .collect();
        let (last, above) = steps.split_last().unwrap();
        let yaml::PathSegment::Key(last) = last else {
            panic!()
        };
        assert!(schema::fields_at(above).contains(last), "{pattern}");
    }
}

#[test]
fn drawings_show_every_route() {
    let (mesh, _) = loads(&mesh_of(
        &["chair", "x", "y", "end"],
        "entry_point: chair\nrouting_mode: dispatcher\nrouting: {chair: [x, y, {complete: end}]}\n",
    ));
    assert_eq!(
        draw(&mesh, Drawing::Text, false),
        "m\n  core ─▶ chair\n\n  chair\n    ├─ fan-out ─▶ x\n    └─ fan-out ─▶ y\n\n  x\n    └─ join    ─▶ end\n\n  y\n    └─ join    ─▶ end\n\n  end\n    └─ always  ─▶ core\n"
    );
    assert_eq!(
        draw(&mesh, Drawing::Mermaid, false),
        "flowchart TD\n    core([core])\n    n1[\"chair\"]\n    n2[\"x\"]\n    n3[\"y\"]\n    n4[\"end\"]\n    core --> n1\n    n1 -->|\"fan-out\"| n2\n    n1 -->|\"fan-out\"| n3\n    n2 -->|\"join\"| n4\n    n3 -->|\"join\"| n4\n    n4 -->|\"always\"| core\n"
    );
    assert!(
        draw(&mesh, Drawing::Dot, false)
            .contains("\"end\" -> \"core\" [label=\"always\", style=dashed];")
    );
    assert_eq!(in_words(&mesh)[3], ["any status goes to core"]);
}

#[test]
fn a_placeholder_that_nothing_fills_in_is_shown_where_it_stands() {
    let text = "mesh: m\nagents:\n  - name: a\n    run: [x, '{msgfile}', '{model} {{print}} ${x} {n: 1}']\n\
                \x20 - name: b\n    shell: true\n    run: |\n      awk '{print}' {msg_file}\n\
                \x20 - name: c\n    run: x {tone=dry}\nentry_point: a\nrouting: {a: b, b: c}\n";
    let (mesh, diagnostics) = loads(text);
    assert_eq!(
        places(&diagnostics),
        ["TX0318 4:14", "TX0318 8:7", "TX0318 10:10"]
    );
    let said = |n: usize| format!("{}; {}", diagnostics[n].message, diagnostics[n].hint);
    assert!(said(0).ends_with("did you mean `msg_file`?"), "{}", said(0));
    assert!(said(1).ends_with("write `{{print}}`"), "{}", said(1));
    assert!(said(2).contains("`dry` always stands there"), "{}", said(2));
    assert_eq!(mesh.agents[1].run, ["awk '{print}' {msg_file}\n"]);
}

#[test]
fn a_workspace_stays_in_the_project_and_is_made() {
    let of = |line: &str| {
        let (mesh, diagnostics) = loads(&with(&format!("workspace: {line}\n")));
        let codes: Vec<Code> = diagnostics.iter().map(|d| d.code).collect();
        (mesh.workspace.map(|workspace| workspace.create), codes)
    };
    for (line, create, codes) in [
        ("out", Some(true), vec![]),
        ("{path: 'out/{topic}'}", Some(true), vec![]),
        ("{path: out, create_on_init: false}", Some(false), vec![]),
        ("../out", None, vec![Code::OutsideProject]),
        ("{path: out/../../x}", None, vec![Code::OutsideProject]),
        ("/tmp/out", None, vec![Code::OutsideProject]),
        ("'out/{tpic}'", Some(true), vec![Code::UnknownPlaceholder]),
    ] {
        assert_eq!(of(line), (create, codes), "{line}");
    }
}

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
