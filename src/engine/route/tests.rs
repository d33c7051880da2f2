//! Every rule of both forms.

use super::*;
use crate::model::{
    Agent, Deliver, Guardrails, Iteration, Manifest, OnAsk, Permissions, Pool, RearmatterRules,
    Routing, RoutingError, SessionRules,
};

fn agent(name: &str) -> (Name, Agent) {
    let name: Name = name.parse().unwrap();
    let agent = Agent {
        name: name.clone(),
        description: String::new(),
        model: None,
        prompt: None,
        command: None,
        runtime: "command".into(),
        run: Vec::new(),
        shell: false,
        timeout: None,
        mode: None,
        deliver: Deliver::Path,
        batch: false,
        load: Vec::new(),
        workspace: None,
        max_messages: None,
        env: None,
        permissions: Permissions::default(),
        mcp_servers: serde_json::Map::new(),
        max_turns: None,
        thinking: None,
        pool: Pool::default(),
    };
    (name, agent)
}

/// A mesh `m` of a, b and c with one row, for `a`.
fn mesh(mode: RoutingMode, strict: bool, row: Option<Row>) -> Mesh {
    let rows = row.map(|row| ("a".parse().unwrap(), row));
    Mesh {
        name: "m".parse().unwrap(),
        description: String::new(),
        agents: ["a", "b", "c"].into_iter().map(agent).collect(),
        entry_point: None,
        completion_agents: Vec::new(),
        routing: Routing {
            mode,
            rows: rows.into_iter().collect(),
            asks: IndexMap::new(),
        },
        on_ask: OnAsk::Worker,
        rearmatter: RearmatterRules::default(),
        gates: Vec::new(),
        lifecycle: crate::model::Lifecycle::default(),
        worktree: None,
        iteration: Iteration::default(),
        guardrails: Guardrails {
            routing_error: RoutingError {
                strict,
                ..RoutingError::default()
            },
            ..Guardrails::default()
        },
        workspace: None,
        max_mesh_messages: None,
        stop_on_first_complete: true,
        check_queue_on_complete: true,
        disabled: false,
        blocks: Vec::new(),
        machine: None,
        manifest: Manifest::default(),
        sessions: SessionRules::default(),
        inject_original: false,
        brain: false,
        intents: Vec::new(),
    }
}

fn target(name: &str) -> Target {
    match name {
        "core" => Target::Core,
        name => Target::Agent(format!("m/{name}").parse().unwrap()),
    }
}

/// `complete=b failed=b,c default=core`.
fn by_status(text: &str) -> Option<Row> {
    let mut words = IndexMap::new();
    let mut default = None;
    for (word, targets) in text.split(' ').filter_map(|part| part.split_once('=')) {
        let targets: IndexMap<Target, String> = targets
            .split(',')
            .map(|name| (target(name), format!("why {name}")))
            .collect();
        match word {
            "default" => default = targets.into_keys().next(),
            word => {
                words.insert(word.parse().unwrap(), targets);
            }
        }
    }
    Some(Row::ByStatus { words, default })
}

/// `status to route_to`, `-` for none.
fn routed(mesh: &Mesh, outcome: &str) -> String {
    let [status, to, route_to] = outcome.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{outcome:?} has not three words");
    };
    let wanted = |name: &str| match name {
        "-" => Addressee::Routing,
        "core" => Addressee::Core,
        name => Addressee::Agent(format!("m/{name}").parse().unwrap()),
    };
    let sender: Name = "a".parse().unwrap();
    let status = (status != "-").then(|| status.parse::<OutcomeWord>().unwrap());
    let outcome = Outcome {
        sender: &sender,
        status: status.as_ref(),
        to: wanted(to),
        route_to: (route_to != "-").then(|| wanted(route_to)),
    };
    match route(mesh, &outcome) {
        Route::To { target, rule } => format!("{} by {rule:?}", target.within(&mesh.name)),
        Route::FanOut { members, join } => {
            let members: Vec<String> = members.iter().map(|m| m.within(&mesh.name)).collect();
            format!("{} then {}", members.join("+"), join.within(&mesh.name))
        }
        Route::Refused(why) => format!("refused: {why}"),
    }
}

#[test]
fn the_agent_form() {
    let listed = by_status("complete=b failed=b,c done=core,b");
    let several =
        "refused: `failed` has several targets; name one of them in `to`: `b` (why b), `c` (why c)";
    let words = "the valid ones are: complete, failed, done, error, blocked";
    for (strict, row, outcome, expected) in [
        // 1: a target that is named and listed
        (true, &listed, "complete b -", "b by Listed"),
        (true, &listed, "failed c -", "c by Listed"),
        (true, &listed, "failed - c", "c by Listed"),
        (true, &listed, "done core -", "core by Listed"),
        // 2: the one target; several are alternatives
        (true, &listed, "complete - -", "b by OnlyTarget"),
        (true, &listed, "complete core -", "b by OnlyTarget"),
        (true, &listed, "failed - -", several),
        (true, &listed, "failed core -", several),
        // 3: words that are not listed
        (true, &listed, "error - -", "core by FailureUnlisted"),
        (true, &listed, "blocked - -", "core by FailureUnlisted"),
        (
            true,
            &by_status("failed=b"),
            "complete - -",
            "core by CompleteUnlisted",
        ),
        (true, &None, "complete - -", "core by CompleteUnlisted"),
        (true, &None, "error - -", "core by FailureUnlisted"),
        (
            true,
            &listed,
            "odd - -",
            &format!("refused: `odd` is not a status you can give; {words}"),
        ),
        (
            true,
            &listed,
            "odd core -",
            &format!("refused: `odd` is not a status you can give; {words}"),
        ),
        (
            true,
            &None,
            "odd - -",
            "refused: `odd` is not a status you can give; the valid ones are: complete, error, blocked",
        ),
        // 4: a target that is not listed
        (
            true,
            &listed,
            "complete c -",
            "refused: `c` is not a target of `complete`; the table has: `b` (why b)",
        ),
        (
            true,
            &listed,
            "odd c -",
            "refused: `c` is not a target of `odd`; the table has: none",
        ),
        (false, &listed, "complete c -", "c by PassedUnlisted"),
        (false, &listed, "odd c -", "c by PassedUnlisted"),
        (
            true,
            &listed,
            "complete - c",
            "refused: `c` is not a target of `complete`; the table has: `b` (why b)",
        ),
        (false, &listed, "complete - c", "c by PassedUnlisted"),
        (true, &listed, "complete - core", "b by OnlyTarget"),
        // 5: an agent can always get to the human
        (
            true,
            &by_status("blocked=b"),
            "blocked core -",
            "core by BlockedToCore",
        ),
        (
            true,
            &by_status("blocked=b,c"),
            "blocked core -",
            "core by BlockedToCore",
        ),
        (
            true,
            &by_status("blocked=b"),
            "blocked - -",
            "b by OnlyTarget",
        ),
        // A row that is one target, and no status at all
        (
            true,
            &Some(Row::Always(target("b"))),
            "anything - -",
            "b by Always",
        ),
        (
            true,
            &listed,
            "- - -",
            "refused: there is no `status`; give one of: complete, failed, done, error, blocked",
        ),
        (
            true,
            &Some(Row::Always(target("b"))),
            "- - -",
            "refused: there is no `status`; give one of: complete, error, blocked",
        ),
        (
            true,
            &by_status("approved=b default=c"),
            "- - -",
            "refused: there is no `status`; give one of: approved, complete, error, blocked",
        ),
    ] {
        let mesh = mesh(RoutingMode::Agent, strict, row.clone());
        assert_eq!(routed(&mesh, outcome), expected, "{row:?} {outcome}");
    }
}

#[test]
fn the_dispatcher_form() {
    let always = Some(Row::Always(target("b")));
    let map = by_status("approved=b failed=c default=b");
    let closed = by_status("approved=b");
    let fan_out = Some(Row::FanOut {
        members: vec![target("b"), target("c")],
        join: target("core"),
    });
    for (row, outcome, expected) in [
        (&always, "anything - -", "b by Always"),
        (&always, "complete core -", "b by Always"),
        (&map, "approved - -", "b by OnlyTarget"),
        (&map, "odd - -", "b by Default"),
        (&map, "complete core -", "b by Default"),
        (
            &closed,
            "odd - -",
            "refused: `odd` is not a status you can give; the valid ones are: approved, error, blocked",
        ),
        (
            &closed,
            "complete - -",
            "refused: `complete` is not a status you can give; the valid ones are: approved, error, blocked",
        ),
        (&closed, "error - -", "core by FailureUnlisted"),
        (&map, "blocked - -", "b by Default"),
        (&fan_out, "complete - -", "b+c then core"),
        (&None, "anything - -", "core by NoRow"),
        (&map, "odd - c", "c by Overridden"),
        (&map, "odd - core", "core by Overridden"),
        (&map, "escalate - -", "core by Escalated"),
        (&map, "blocked core -", "core by BlockedToCore"),
        (&always, "- - -", "b by Always"),
        (&map, "- - -", "b by Default"),
        (&map, "- - c", "c by Overridden"),
        (
            &closed,
            "- - -",
            "refused: there is no `status`; give one of: approved, error, blocked",
        ),
        (
            &fan_out,
            "- - -",
            "refused: there is no `status`; give one of: error, blocked",
        ),
        (
            &None,
            "- - -",
            "refused: there is no `status`; give one of: error, blocked",
        ),
    ] {
        let mesh = mesh(RoutingMode::Dispatcher, true, row.clone());
        assert_eq!(routed(&mesh, outcome), expected, "{row:?} {outcome}");
    }
}
