//! What passes between agents beside tasks and outcomes: questions, news, what is only
//! recorded.

use std::fs;

use tx::engine::{Phase, Step};
use tx::model::Kind;

use crate::stage::{Project, message, wait_for};

/// Two who ask, one in each mode, and one who knows; it is given leave by a file.
const TEAM: &str = r#"
mesh: team
agents:
  - { name: turn, runtime: command, run: [sh, "{mesh_dir}/turn.sh"] }
  - { name: pane, runtime: command, mode: pane, run: [sh, "{mesh_dir}/pane.sh"] }
  - name: knows
    runtime: command
    run: [sh, -c, "until [ -e leave ]; do sleep 0.01; done; echo 'It is 42.'"]
entry_point: turn
guardrails: { ask_timeout: 2 }
"#;

const WORK: &str = r#"
bus=$TX_ROOT/.ai/tx/msgs
drop() {
    printf -- '---\nfrom: %s\nmsg-id: %s\nheadline: %s\ntimestamp: 2026-11-15T10:00:00.000Z\n%b---\n\n%s\n' \
        "$TX_AGENT" "$1" "$1" "$2" "$3" > "$bus/.$1"
    mv "$bus/.$1" "$bus/$1.md"
}
"#;

const TURN: &str = r#"
. "$(dirname "$0")/work.sh"
given=$(cat)
case $given in
*"no answer in time"*) echo "I went on without" ;;
*"type: ask-response"*) echo "I was told: $(printf '%s' "$given" | grep '^It is')" ;;
*) drop ask-of-turn 'to: team/knows\n' 'What is it?' ;;
esac
"#;

const PANE: &str = r#"
. "$(dirname "$0")/work.sh"
while IFS= read -r path; do
    printf '\033]2;busy\007'
    case $(cat "$path") in
    *"type: ask-response"* | *"It is"*)
        drop outcome-of-pane 'to: core\nstatus: complete\n' "I was told: $(grep '^It is' "$path")" ;;
    *) drop ask-of-pane 'to: team/knows\n' 'What is it?' ;;
    esac
    printf '\033]2;idle\007'
done
"#;

fn team() -> Project {
    Project::started(&[
        ("team/config.yaml", TEAM),
        ("team/work.sh", WORK),
        ("team/turn.sh", TURN),
        ("team/pane.sh", PANE),
    ])
}

impl Project {
    fn gives(&self, to: &str, id: &str, more: &str) {
        let text = message("core", to, id, more, "What is it?");
        self.drop_file(&format!("{id}.md"), &text);
    }

    fn wait_until(&self, who: &str, is: Phase) {
        let address = who.parse().unwrap();
        wait_for(&format!("{who} to be {is:?}"), || {
            let state = self.state();
            (state.worker(&address)?.status.is() == is).then_some(())
        });
    }

    /// Let who waits for leave go on.
    fn give_leave(&self) {
        fs::write(self.root().join("leave"), "").unwrap();
    }

    /// What the agents said to core as their outcome, in order.
    fn outcomes(&self) -> Vec<String> {
        let reader = self.reader();
        let inbox = reader.inbox().unwrap().into_iter();
        let outcomes = inbox.filter(|facts| !facts.from.is_system());
        let said = outcomes.map(|facts| reader.text_of(&facts).unwrap().unwrap());
        said.collect()
    }
}

#[test]
fn who_asks_an_agent_waits_for_its_answer_and_goes_on_with_it() {
    let project = team();
    for asker in ["turn", "pane"] {
        let (who, task) = (format!("team/{asker}"), format!("task-{asker}"));
        project.gives(&who, &task, "");
        project.wait_until(&who, Phase::Awaiting);
        project.wait_until("team/knows", Phase::Working);
        project.give_leave();
        project.wait_for_step(&task, Step::Finished);
        let ask = project.wait_for_step(&format!("ask-of-{asker}"), Step::Finished);
        assert_eq!(ask.deliveries[0].kind, Kind::Ask);
        let said = project.outcomes().pop().unwrap();
        assert!(said.contains("I was told: It is 42."), "{said}");
        fs::remove_file(project.root().join("leave")).unwrap();
    }
}

#[test]
fn an_ask_that_nobody_takes_up_ends_in_time_and_its_late_answer_is_news() {
    let project = team();
    // Who knows has something else in hand.
    project.gives("team/knows", "long", "");
    project.wait_until("team/knows", Phase::Working);
    project.gives("team/turn", "task", "");
    project.wait_for_step("task", Step::Finished);
    let said = &project.outcomes()[0];
    assert!(said.contains("I went on without"), "{said}");
    let turns = project.records("pane-started");

    let late = message(
        "team/knows",
        "team/turn",
        "late",
        "in-reply-to: ask-of-turn\n",
        "It is 42.",
    );
    project.drop_file("late.md", &late);
    let late = wait_for("the late answer", || project.message("late"));
    assert_eq!(late.deliveries[0].kind, Kind::Update);
    project.give_leave();
    project.wait_for_step("long", Step::Finished);
    assert_eq!(project.records("pane-started"), turns, "it woke nobody");
}

#[test]
fn a_mesh_may_pause_as_a_whole_while_one_of_it_asks_the_human() {
    let mesh = |name: &str, more: &str| {
        format!(
            "mesh: {name}\n{more}agents:\n  - {{ name: asks, runtime: command, run: [sh, '{{mesh_dir}}/asks.sh'] }}\n  \
             - {{ name: works, runtime: command, run: [echo, done] }}\nentry_point: asks\n"
        )
    };
    let asks = WORK.to_owned()
        + "if grep -q ask-response; then echo fine; else drop ask 'to: core\\n' 'May I?'; fi\n";
    let project = Project::started(&[
        ("whole/config.yaml", &mesh("whole", "on_ask: mesh\n")),
        ("whole/asks.sh", &asks),
        ("other/config.yaml", &mesh("other", "")),
        ("other/asks.sh", &asks),
    ]);
    project.gives("whole/asks", "asking", "");
    project.wait_until("whole/asks", Phase::AwaitingHuman);
    project.gives("whole/works", "held", "");
    project.gives("other/works", "free", "");
    project.wait_for_step("free", Step::Finished);
    assert_eq!(project.message("held").unwrap().step(), Step::Queued);
    project.ok(&["answer", "ask", "You may"]);
    project.wait_for_step("held", Step::Finished);
    project.wait_for_step("asking", Step::Finished);
}

/// Keeps what it is given.
const KEEPS: &str = r#"
mesh: keeps
agents:
  - { name: turn, runtime: command, run: [sh, -c, "cat > given-turn; echo done"] }
  - { name: text, runtime: command, mode: pane, deliver: text, run: [sh, "{mesh_dir}/text.sh"] }
entry_point: turn
"#;

const TEXT: &str = r#"
. "$(dirname "$0")/work.sh"
while IFS= read -r line; do
    echo "$line" >> given-text
    case $line in *"What is it?"*) drop done-text 'to: core\nstatus: complete\n' 'done' ;; esac
done
"#;

#[test]
fn what_is_only_recorded_news_and_slash_commands() {
    let project = Project::started(&[
        ("keeps/config.yaml", KEEPS),
        ("keeps/work.sh", WORK),
        ("keeps/text.sh", TEXT),
    ]);
    let given = |who: &str| fs::read_to_string(project.root().join(format!("given-{who}")));

    project.gives("keeps/turn", "recorded", "headless: true\n");
    let recorded = project.wait_for_step("recorded", Step::Finished);
    let why = recorded.deliveries[0].ladder.last().unwrap().why.clone();
    assert_eq!(why.as_deref(), Some("headless: recorded, not dispatched"));

    project.gives("keeps/turn", "news", "type: update\n");
    wait_for("the news", || project.message("news"));
    assert_eq!(project.records("pane-started"), 0, "nobody woke");

    project.gives(
        "keeps/turn",
        "task",
        "command: /review {feature}\nfeature: login-2\n",
    );
    project.wait_for_step("task", Step::Finished);
    let told = given("turn").unwrap();
    assert!(told.starts_with("/review login-2\n\n"), "{told}");
    assert!(told.contains("msg-id: news\ntype: update"), "{told}");
    assert!(!told.contains("recorded"), "{told}");

    project.gives("keeps/text", "typed", "command: /review\n");
    project.wait_for_step("typed", Step::Finished);
    assert_eq!(given("text").unwrap(), "/review\n\nWhat is it?\n");
}
