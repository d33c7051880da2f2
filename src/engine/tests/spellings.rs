//! Each spelling of a table, a block, a pool and a machine, as its author meant it: scripted agents do what they are
//! given, and the order is held against the config.

use serde_json::{Value, json};

use super::play::{Play, from, mesh};
use crate::engine::{Effect, Event, Job, JobEnd, JobResult, Phase};
use crate::model::Line;

/// What an agent says when it is given work for the n-th time.
#[derive(Clone)]
struct ScriptedLine {
    agent: &'static str,
    time: usize,
    word: &'static str,
    to: Option<&'static str>,
    parts: &'static [u32],
    rearmatter: Value,
}

fn line(agent: &'static str, time: usize) -> ScriptedLine {
    ScriptedLine {
        agent,
        time,
        word: "complete",
        to: None,
        parts: &[],
        rearmatter: json!({}),
    }
}

impl ScriptedLine {
    fn word(self, word: &'static str) -> ScriptedLine {
        ScriptedLine { word, ..self }
    }
    fn to(self, to: &'static str) -> ScriptedLine {
        let to = Some(to);
        ScriptedLine { to, ..self }
    }
    fn parts(self, parts: &'static [u32]) -> ScriptedLine {
        ScriptedLine { parts, ..self }
    }
    fn says(self, rearmatter: Value) -> ScriptedLine {
        ScriptedLine { rearmatter, ..self }
    }
}

/// Agents that work whenever they are given something, and note what that was.
struct Players {
    play: Play,
    /// What they say, where that is not only `complete`.
    lines: Vec<ScriptedLine>,
    /// What scripts print, in their order: a word of the script, and its output.
    printed: Vec<(&'static str, &'static str)>,
    /// The words that core answers questions with.
    answers: Vec<&'static str>,
    order: Vec<String>,
    answered: usize,
}

impl Players {
    fn of(configs: &[&str]) -> Players {
        Players {
            play: Play::new(configs),
            lines: Vec::new(),
            printed: Vec::new(),
            answers: Vec::new(),
            order: Vec::new(),
            answered: 0,
        }
    }

    /// Work until nothing is left to do.
    fn work(&mut self) {
        for _ in 0..100 {
            if !self.answer_jobs() && !self.one_turn() && !self.answer_question() {
                return;
            }
        }
        panic!("it does not end: {:?}", self.order);
    }

    fn answer_jobs(&mut self) -> bool {
        let jobs = self.play.effects.iter().filter_map(|effect| match effect {
            Effect::RunJobs {
                owner, job, jobs, ..
            } => Some((owner.clone(), *job, jobs.clone())),
            _ => None,
        });
        let Some((owner, job, jobs)) = jobs.collect::<Vec<_>>().get(self.answered).cloned() else {
            return false;
        };
        self.answered += 1;
        let results = jobs.iter().map(|job| {
            let text = match job {
                Job::Gather { results, .. } => format!("{} results", results.len()),
                Job::Script { text, .. } => self.print(text),
                _ => String::new(),
            };
            JobResult::of(JobEnd::Code(0), text)
        });
        let results = results.collect();
        self.play.happen(Event::JobsFinished {
            owner,
            job,
            results,
        });
        true
    }

    fn print(&mut self, script: &str) -> String {
        let known = self.printed.iter();
        let place = known
            .into_iter()
            .position(|(word, _)| script.contains(word));
        let echoed = script.strip_prefix("echo ").map(|text| format!("{text}\n"));
        place.map_or(echoed.unwrap_or_default(), |place| {
            self.printed.remove(place).1.into()
        })
    }

    fn one_turn(&mut self) -> bool {
        let workers = self.play.state.workers();
        let starting = workers.filter(|(_, worker)| worker.status.is() == Phase::Starting);
        let Some(worker) = starting.map(|(who, _)| who.to_string()).next() else {
            return false;
        };
        self.play.take_up(&worker);
        let name = worker.split('/').nth(1).unwrap().to_owned();
        let given = self.play.given(&worker).join(" ");
        self.order.push(format!("{name} <- {given}"));
        let begin = format!("{name} <-");
        let times = self.order.iter().filter(|line| line.starts_with(&begin));
        let times = times.count();
        let agent = name.split('#').next().unwrap();
        let mut lines = self.lines.iter();
        let said = lines.find(|line| line.agent == agent && line.time == times);
        let said = said.cloned().unwrap_or_else(|| line("", 0));
        let id = format!("{}{times}", name.replace('#', "-"));
        let message = from(&worker).id(&id).status(said.word).parts(said.parts);
        let message = message.says(said.rearmatter);
        self.play.drop(match said.to {
            Some(to) => message.to(to),
            None => message,
        });
        self.play.idle(&worker);
        true
    }

    fn answer_question(&mut self) -> bool {
        let mut asks = self.play.state.asks();
        let open = asks.find(|(_, asked, _)| asked.is_core());
        let open = open.map(|(number, _, ask)| (number, ask.asker.to_string()));
        drop(asks);
        let Some((number, asker)) = open.filter(|_| !self.answers.is_empty()) else {
            return false;
        };
        let word = self.answers.remove(0);
        let ask = self.play.state.message(number).unwrap();
        let ask = ask.facts.id.to_string();
        let id = format!("answer{}", self.answers.len());
        self.order.push(format!("core answers {word}"));
        let answer = from("core/core").to(&asker).reply(&ask).id(&id);
        // A config may decide by the word or by the first line.
        let headline = Line::from(word.to_owned());
        let answer = answer.status(word).with(|it| it.headline = headline);
        self.play.drop(answer);
        true
    }

    /// A task for the mesh is done in this order, and its run is complete with this result.
    fn check(mut self, to: &str, expected: &[&str], result: &str) -> Players {
        self.play.task(to, "t");
        self.end(expected, result);
        self
    }

    fn end(&mut self, expected: &[&str], result: &str) {
        self.work();
        assert_eq!(self.order, expected);
        let core = self.play.core_has();
        assert!(self.play.is_complete(), "{:?}, {core:?}", self.order);
        let has = core.iter().any(|it| it == result);
        assert!(has, "{result} is not in {core:?}");
        assert!(self.play.state.stuck().is_none());
    }
}

/// A task for a mesh of tests/shapes is done in this order, and its run is complete.
fn check(config: &str, lines: &[ScriptedLine], expected: &[&str], result: &str) {
    let mut players = Players::of(&[config]);
    players.lines = lines.to_vec();
    let name = config.lines().find_map(|line| line.strip_prefix("mesh: "));
    players.check(name.unwrap(), expected, result);
}

#[test]
fn a_row_that_is_a_list_runs_as_meant() {
    check(
        include_str!("../../../tests/shapes/dispatcher.yaml"),
        &[],
        &["start <- t", "a <- start1", "b <- start1", "end <- a1 b1"],
        "end1",
    );
}

#[test]
fn parallelism_runs_as_meant_and_a_second_round_too() {
    let config = include_str!("../../../tests/shapes/parallelism.yaml");
    check(
        config,
        &[],
        &[
            "brief <- t",
            "con <- brief1",
            "pro <- brief1",
            "judge <- pro1 con1",
        ],
        "judge1",
    );
    check(
        config,
        &[line("judge", 1).word("needs_work")],
        &[
            "brief <- t",
            "con <- brief1",
            "pro <- brief1",
            "judge <- pro1 con1",
            "con <- judge1",
            "pro <- judge1",
            "judge <- pro2 con2",
        ],
        "judge2",
    );
}

#[test]
fn an_ensemble_runs_as_meant_and_goes_back_to_its_coordinator() {
    check(
        include_str!("../../../tests/shapes/ensemble.yaml"),
        &[],
        &[
            "lead <- t",
            "one <- lead1",
            "three <- lead1",
            "two <- lead1",
            "lead <- the results of the block, gathered",
        ],
        "lead2",
    );
}

#[test]
fn a_distribution_runs_as_meant_with_each_part_once() {
    check(
        include_str!("../../../tests/shapes/task-distribution.yaml"),
        &[line("spawner", 1).parts(&[1, 2, 3, 4])],
        &[
            "spawner <- t",
            "worker1 <- spawner1",
            "worker1 <- spawner1",
            "worker2 <- spawner1",
            "worker2 <- spawner1",
            "reviewer <- worker11 worker21 worker12 worker22",
        ],
        "reviewer1",
    );
}

#[test]
fn a_manifest_runs_as_meant() {
    check(
        include_str!("../../../tests/shapes/manifest.yaml"),
        &[],
        &["reader <- t", "writer <- reader1"],
        "writer1",
    );
}

#[test]
fn a_pool_runs_as_meant() {
    let mut players = Players::of(&[include_str!("../../../tests/shapes/pool.yaml")]);
    for task in ["t1", "t2", "t3", "t4", "t5", "t6"] {
        players.play.task("pool", task);
    }
    players.work();
    let mut order = players.order.clone();
    order.sort();
    let expected = [
        "worker#1 <- t1",
        "worker#1 <- t6",
        "worker#2 <- t2",
        "worker#3 <- t3",
        "worker#4 <- t4",
        "worker#5 <- t5",
    ];
    assert_eq!(order, expected);
    players.play.all_over();
}

#[test]
fn a_refine_loop_runs_as_meant_with_as_many_members_as_there_are_bugs() {
    let config = include_str!("../../../tests/shapes/refine-loop.yaml");
    let mut players = Players::of(&[config]);
    players.lines = vec![
        line("tester", 1).says(json!({"bugs_found": 2})),
        line("tester", 2).says(json!({"bugs_found": 0})),
        line("reporter", 1).says(json!({"tests": "green"})),
    ];
    players.printed = vec![("echo report", "fixing\n"), ("echo report", "report\n")];
    players.check(
        "refine-loop",
        &[
            "crawler <- t",
            "tester <- crawler1",
            "fixer#1 <- tester1",
            "fixer#2 <- tester1",
            "tester <- fixer-11 fixer-21",
            "reporter <- tester2",
        ],
        "reporter1",
    );
}

#[test]
fn a_mode_router_runs_as_meant_both_ways() {
    let config = include_str!("../../../tests/shapes/mode-router.yaml");
    Players::of(&[config]).check("mode-router", &["quick <- t"], "quick1");
    let mut players = Players::of(&[config]);
    let deep = from("core/core").to("mode-router").id("t");
    players.play.drop(deep.with(|envelope| {
        envelope.extra.insert("mode".into(), "deep".into());
    }));
    players.end(&["planner <- t", "deep <- planner1"], "deep1");
}

#[test]
fn a_last_ensemble_runs_as_meant_and_its_results_are_the_result() {
    check(
        include_str!("../../../tests/shapes/last-ensemble.yaml"),
        &[line("planner", 1).parts(&[1, 2])],
        &["planner <- t", "left <- planner1", "right <- planner1"],
        "the results of the block, gathered",
    );
}

#[test]
fn a_draft_for_the_human_runs_as_meant_and_comes_back() {
    let mut players = Players::of(&[include_str!("../../../tests/shapes/ask-the-human.yaml")]);
    players.answers = vec!["changes", "approved"];
    players.check(
        "ask-the-human",
        &[
            "writer <- t",
            "core answers changes",
            "writer <- answer1",
            "core answers approved",
        ],
        "writer2",
    );
}

#[test]
fn a_machine_with_mistakes_says_so_and_reports_nothing_as_done() {
    let mut players = Players::of(&[include_str!("../../../tests/shapes/odd-machine.yaml")]);
    players.play.task("odd-machine", "t");
    players.work();
    assert!(!players.play.is_complete(), "{:?}", players.order);
    assert_eq!(players.order[0], "a#1 <- t");
    // Its gate has no script, so that it never passes.
    let core = players.play.core_has();
    let parked = core.iter().any(|it| it.starts_with("gates parked work"));
    assert!(parked, "{core:?}");
}

#[test]
fn rules_for_files_that_are_not_listed_change_nothing() {
    check(
        include_str!("../../../tests/shapes/rules-without-files.yaml"),
        &[],
        &["worker <- t"],
        "worker1",
    );
}

/// Agents a to d of a mesh `dev`, in panes, and what it says besides.
fn dev(more: &str) -> String {
    mesh("dev", &["a", "b", "c", "d"], more)
}

/// A config, what its agents say, what happens, and the result.
type Shape = (
    &'static str,
    Vec<ScriptedLine>,
    &'static [&'static str],
    &'static str,
);

fn run_all(shapes: Vec<Shape>) {
    for (more, lines, expected, result) in shapes {
        let mut players = Players::of(&[&dev(&format!("entry_point: a\n{more}"))]);
        players.lines = lines;
        players.play.task("dev", "t");
        players.work();
        let core = players.play.core_has();
        assert_eq!(players.order, expected, "{more}");
        assert!(players.play.is_complete(), "{more}: {core:?}");
        assert!(core.iter().any(|it| it == result), "{more}: {core:?}");
    }
}

#[test]
fn every_form_of_a_table_runs_as_meant() {
    run_all(vec![
        // A status with a target and its reason, and words of the author's own.
        (
            "routing: {a: {complete: {b: go}}, b: {needs-more-data: {a: more}, complete: {core: done}}}",
            vec![line("b", 1).word("needs-more-data")],
            &["a <- t", "b <- a1", "a <- b1", "b <- a2"],
            "b2",
        ),
        // A status with a plain target.
        (
            "routing: {a: {complete: b}, b: {complete: c}, c: {complete: core}}",
            vec![],
            &["a <- t", "b <- a1", "c <- b1"],
            "c1",
        ),
        // An agent with a plain target.
        (
            "routing_mode: dispatcher\nrouting: {a: b, b: c, c: core}",
            vec![],
            &["a <- t", "b <- a1", "c <- b1"],
            "c1",
        ),
        // Several targets under one status: the agent chooses.
        (
            "routing: {a: {complete: {b: one way, c: another}}, b: {complete: core}, c: {complete: core}}",
            vec![line("a", 1).to("c")],
            &["a <- t", "c <- a1"],
            "c1",
        ),
        // A list is a fan-out, with a join or without.
        (
            "routing_mode: dispatcher\nrouting: {a: [b, c, {complete: d, fan_in: batch}], d: core}",
            vec![],
            &["a <- t", "b <- a1", "c <- a1", "d <- b1 c1"],
            "d1",
        ),
        (
            "routing_mode: dispatcher\nrouting: {a: [b, c]}",
            vec![],
            &["a <- t", "b <- a1", "c <- a1"],
            "c1",
        ),
        // Old kinds of messages as statuses say whom to ask, and route nothing.
        (
            "routing: {a: {complete: b, ask: {c: facts}}, b: {complete: core, ask-human: {core: taste}}, c: {ask-response: {a: facts}}}",
            vec![],
            &["a <- t", "b <- a1"],
            "b1",
        ),
        // Who completes a run, as a list and as one name; another agent may reach core before.
        (
            "completion_agents: [b]\nrouting: {a: {complete: b}, b: {complete: core}}",
            vec![],
            &["a <- t", "b <- a1"],
            "b1",
        ),
        (
            "completion_agent: b\nrouting: {a: {complete: b}, b: {complete: core}}",
            vec![],
            &["a <- t", "b <- a1"],
            "b1",
        ),
        // Guardrails as maps, and all that has no effect.
        (
            "guardrails: {max_turns: {a: 50}, max_messages: {b: 40}, strict: true, warning: true}\n\
             playbook_notes: long\nconfig: {x: 1}\ncapability: y\ngraded: true\nbrain: true\n\
             intents: {patterns: [do it], commands: {do: it}}\n\
             rearmatter: {enabled: true, fields: [grade]}\n\
             routing: {a: {complete: b}, b: {complete: core}}",
            vec![
                line("a", 1).says(json!({"grade": "A"})),
                line("b", 1).says(json!({"grade": "A"})),
            ],
            &["a <- t", "b <- a1"],
            "b1",
        ),
        // Sessions and panes.
        (
            "continuation: [b]\nauto_despawn: true\nidle_timeout_minutes: false\ntype: ephemeral\n\
             routing: {a: {complete: b}, b: {complete: core}}",
            vec![],
            &["a <- t", "b <- a1"],
            "b1",
        ),
    ]);
}

#[test]
fn a_target_in_another_mesh_runs_as_meant() {
    let there = "mesh: ops\nagents: [{name: o, prompt: p, runtime: claude, mode: pane}]\nrouting: {o: {complete: core}}\n";
    let here = dev("entry_point: a\nrouting: {a: {complete: {ops/o: over there}}}");
    Players::of(&[&here, there]).check("dev", &["a <- t", "o <- a1"], "o1");
}

#[test]
fn every_spelling_of_a_block_runs_as_meant() {
    run_all(vec![
        // Too few fail: the reviewer gets the rest, and what failed.
        (
            "ensemble: {coordinator: a, agents: [a, b, c], reviewer: d, fault_tolerance: {min_success_count: 1}}",
            vec![line("b", 1).word("error")],
            &["a <- t", "b <- a1", "c <- a1", "d <- c1 b1"],
            "d1",
        ),
        (
            "ensemble: {coordinator: a, agents: [b, c, d], allow_partial_failure: true, aggregation_strategy: voting}",
            vec![],
            &[
                "a <- t",
                "b <- a1",
                "c <- a1",
                "d <- a1",
                "a <- the results of the block, gathered",
            ],
            "a2",
        ),
        (
            "ensemble: {coordinator: a, agents: [b, c, d], aggregation_strategy: custom, aggregation_prompt: Sum it up}",
            vec![],
            &[
                "a <- t",
                "b <- a1",
                "c <- a1",
                "d <- a1",
                "a <- the results of the block, gathered",
            ],
            "a2",
        ),
        (
            "parallelism: [{agents: [b, c], entry: a, exit: d, on_partial: continue}]",
            vec![line("c", 1).word("error")],
            &["a <- t", "b <- a1", "c <- a1", "d <- b1 c1"],
            "d1",
        ),
        (
            "parallelism: [{agents: [b, c], entry: a, exit: d, on_partial: abort}]",
            vec![],
            &["a <- t", "b <- a1", "c <- a1", "d <- b1 c1"],
            "d1",
        ),
        (
            "task_distribution: {spawner: a, subagents: [b, c], reviewer: d, distribution_strategy: weighted}",
            vec![line("a", 1).parts(&[1, 2, 3])],
            &["a <- t", "b <- a1", "b <- a1", "c <- a1", "d <- b1 c1 b2"],
            "d1",
        ),
    ]);
}

#[test]
fn every_spelling_of_a_machine_runs_as_meant() {
    run_all(vec![
        // States as a list, one agent as a text, `onExit`, an absent `initial`.
        (
            "fsm:\n  states:\n    - {name: one, agents: a, onExit: {default: two}}\n    - {name: two, coordinator: b, participants: [c], exit: {default: end}}\n    - {name: end}\n",
            vec![],
            &["a <- t", "b <- a1"],
            "b1",
        ),
        // A literal `run` is the next state; `terminal` with an agent is an ordinary hand-over.
        (
            "fsm:\n  initial: one\n  states:\n    one: {agents: [a], exit: {run: two}}\n    two: {agents: [b], terminal: true}\n",
            vec![],
            &["a <- t", "b <- a1"],
            "b1",
        ),
        // A counter, a comparison, a self-loop.
        (
            "fsm:\n  initial: one\n  context: {n: 0}\n  states:\n    one: {agents: [a], exit: {set: {n: $((n + 1))}, when: [{condition: n < 3, target: one}], default: end}}\n    end: {}\n",
            vec![],
            &["a <- t", "a <- t a1", "a <- t a2"],
            "a3",
        ),
        // What an agent says decides, by its rearmatter and by its word.
        (
            "fsm:\n  initial: one\n  context: {signal: ''}\n  states:\n    one: {agents: [a], exit: {set: {signal: \"$(echo '$rearmatter' | yq '.signal')\"}, when: [{condition: signal == REFINE, target: two}], default: end}}\n    two: {agents: [b], exit: {when: [{condition: status == redo, target: one}], default: end}}\n    end: {}\n",
            vec![
                line("a", 1).says(json!({"signal": "REFINE"})),
                line("a", 2).says(json!({"signal": "PASS"})),
                line("b", 1).word("redo"),
            ],
            &["a <- t", "b <- a1", "a <- b1"],
            "a2",
        ),
        // A state for copies of one agent, and one for several agents.
        (
            "fsm:\n  initial: one\n  states:\n    one: {type: ensemble, ensemble: {agent: b, count: 3, aggregation: concat}, exit: {default: two}}\n    two: {ensemble: {agents: [c, d]}, exit: {default: three}}\n    three: {agents: [a], exit: {default: end}}\n    end: {}\n",
            vec![],
            &[
                "b#1 <- t",
                "b#2 <- t",
                "b#3 <- t",
                "c <- b-11 b-21 b-31",
                "d <- b-11 b-21 b-31",
                "a <- c1 d1",
            ],
            "a1",
        ),
        // Scripts by name, by text, as a list; gates by name; both spellings of entry.
        (
            "fsm:\n  initial: one\n  context: {x: ''}\n  scripts: {fine: 'true', next: echo two}\n  states:\n    one: {agents: [a], entry_gates: [fine], onEnter: {run: [fine, {script: 'echo x=1'}]}, exit: {gates: {a: [fine]}, run: next}}\n    two: {agents: [b], entry: {gates: [fine], set: {x: $mesh/$agent}}, exit: {default: end}}\n    end: {terminal: true}\n",
            vec![],
            &["a <- t", "b <- a1"],
            "b1",
        ),
    ]);
}

/// The configs of docs/workflows.md that are right.
fn documented() -> Vec<&'static str> {
    let page = include_str!("../../../docs/workflows.md");
    let blocks = page.split("```yaml ok\n").skip(1);
    let configs = blocks.map(|rest| rest.split("```").next().unwrap());
    configs.collect()
}

#[test]
fn every_example_in_the_docs_runs_as_they_say() {
    let examples: Vec<Shape> = vec![
        (
            "council",
            vec![],
            &[
                "chair <- t",
                "no <- chair1",
                "yes <- chair1",
                "judge <- yes1 no1",
            ],
            "judge1",
        ),
        (
            "rounds",
            vec![line("judge", 1).word("again"), line("no", 1).word("error")],
            &[
                "chair <- t",
                "no <- chair1",
                "yes <- chair1",
                "judge <- yes1 no1",
                "no <- judge1",
                "yes <- judge1",
                "judge <- yes2 no2",
            ],
            "judge2",
        ),
        (
            "reviews",
            vec![line("c", 1).word("error")],
            &[
                "lead <- t",
                "a <- lead1",
                "b <- lead1",
                "c <- lead1",
                "editor <- the results of the block, gathered",
            ],
            "editor1",
        ),
        (
            "split",
            vec![line("splitter", 1).parts(&[1, 2, 3])],
            &[
                "splitter <- t",
                "worker#1 <- splitter1",
                "worker#2 <- splitter1",
                "worker#3 <- splitter1",
                "joiner <- worker-11 worker-21 worker-31",
            ],
            "joiner1",
        ),
        ("pool", vec![], &["worker#1 <- t"], "worker-11"),
        (
            "refine",
            vec![line("critic", 2).says(json!({"signal": "PASS"}))],
            &[
                "writer <- t",
                "critic <- writer1",
                "writer <- critic1",
                "critic <- writer2",
            ],
            "critic2",
        ),
        (
            "fan",
            vec![line("planner", 1).says(json!({"n": 2}))],
            &[
                "planner <- t",
                "searcher#1 <- planner1",
                "searcher#2 <- planner1",
                "writer <- the results of the block, gathered",
            ],
            "writer1",
        ),
        (
            "papers",
            vec![],
            &["reader <- t", "writer <- reader1"],
            "writer1",
        ),
    ];
    let mut configs = documented();
    for (name, lines, expected, result) in examples {
        let is_it = |config: &&str| config.starts_with(&format!("mesh: {name}\n"));
        let place = configs.iter().position(is_it);
        let config = configs.remove(place.unwrap_or_else(|| panic!("{name} is not there")));
        check(config, &lines, expected, result);
    }
    assert_eq!(configs, [""; 0], "each has its run above");
}

#[test]
fn the_loop_in_the_docs_asks_the_human_after_three_rounds() {
    let config = documented()
        .into_iter()
        .find(|config| config.starts_with("mesh: refine"));
    let mut players = Players::of(&[config.unwrap()]);
    players.answers = vec!["stop"];
    players.check(
        "refine",
        &[
            "writer <- t",
            "critic <- writer1",
            "writer <- critic1",
            "critic <- writer2",
            "writer <- critic2",
            "critic <- writer3",
            "core answers stop",
        ],
        "critic3",
    );
}
