//! Fields that tx obeys, their defaults, and every shape that people write them in.

use super::*;

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
