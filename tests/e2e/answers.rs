//! Agents ask the human. They wait through every crash, and continue once, with all the answers.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tx::engine::{Phase, Step};
use tx::model::Address;

use crate::stage::{Project, TX, message, tmux, wait_for};

const MESH: &str = r#"
mesh: ask
agents:
  - { name: turn, runtime: command, run: [sh, "{mesh_dir}/turn.sh"] }
  - { name: pane, runtime: command, mode: pane, run: [sh, "{mesh_dir}/pane.sh"] }
"#;

/// Asks what its task says, a file a line. With the answers it notes them, all in a line,
/// and is done.
const WORK: &str = r#"
name=${TX_AGENT#*/}
bus=$TX_ROOT/.ai/tx/msgs
drop() {
    printf -- '---\nfrom: %s\nmsg-id: %s\nheadline: What of %s?\ntimestamp: 2026-11-15T10:00:00.000Z\n%b---\n\n%s\n' \
        "$TX_AGENT" "$1" "$1" "$2" "$3" > "$bus/.$1"
    mv "$bus/.$1" "$bus/$1.md"
}
answers() { grep '^answer ' "$1" | tr '\n' ';'; }
is_answered() { grep -q '^type: ask-response' "$1"; }
asks() {
    grep '^ask ' "$1" | while read -r _ id more; do
        drop "$id" "to: core\n$more" "What of $id?"
    done
    if grep -q '^slow$' "$1"; then
        until [ -e "$TX_ROOT/go" ]; do sleep 0.01; done
    fi
}
"#;

const TURN: &str = r#"
. "$(dirname "$0")/work.sh"
given=$TX_ROOT/given-turn
cat > "$given"
if is_answered "$given"; then
    echo "$(answers "$given")" | tee -a "$TX_ROOT/resumed-turn"
else
    asks "$given"
fi
"#;

const PANE: &str = r#"
. "$(dirname "$0")/work.sh"
while IFS= read -r path; do
    printf '\033]2;busy\007'
    if is_answered "$path"; then
        echo "$(answers "$path")" >> "$TX_ROOT/resumed-pane"
        count=$((count + 1))
        drop "done-$$-$count" 'status: complete\n' "$(answers "$path")"
    else
        asks "$path"
    fi
    printf '\033]2;idle\007'
done
"#;

const AGENTS: [&str; 2] = ["turn", "pane"];

fn project() -> Project {
    Project::started(&[
        ("ask/config.yaml", MESH),
        ("ask/work.sh", WORK),
        ("ask/turn.sh", TURN),
        ("ask/pane.sh", PANE),
    ])
}

/// Give an agent a task that lets it ask, and wait until it is paused.
fn asked(project: &Project, agent: &str, questions: &[String]) {
    let asks: String = questions.iter().map(|ask| format!("ask {ask}\n")).collect();
    let (to, id) = (format!("ask/{agent}"), format!("task-{agent}"));
    project.drop_file(&format!("{id}.md"), &message("core", &to, &id, "", &asks));
    wait_until_paused(project, agent);
}

fn wait_until_paused(project: &Project, agent: &str) {
    let address: Address = format!("ask/{agent}").parse().unwrap();
    wait_for(&format!("{agent} to wait for the human"), || {
        let is = project.state().worker(&address)?.status.is();
        (is == Phase::AwaitingHuman).then_some(())
    });
}

/// Wait until its work is done; the answers that it went on with, each time.
fn resumed(project: &Project, agent: &str) -> Vec<String> {
    project.wait_for_step(&format!("task-{agent}"), Step::Finished);
    let noted = fs::read_to_string(project.root().join(format!("resumed-{agent}")));
    noted.unwrap().lines().map(Into::into).collect()
}

fn open(project: &Project) -> Vec<String> {
    let asks = project.json(&["asks"]);
    let ids = asks
        .as_array()
        .unwrap()
        .iter()
        .map(|ask| ask["id"].as_str());
    ids.map(|id| id.unwrap().into()).collect()
}

fn answer(project: &Project, ask: &str) {
    project.ok(&["answer", ask, &format!("answer {ask}")]);
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into()
}

#[test]
fn an_answer_lets_who_asked_go_on_in_both_modes() {
    let project = project();
    for agent in AGENTS {
        let ask = format!("q-{agent}");
        let send = ["send", &format!("ask/{agent}"), &format!("ask {ask}")];
        let id = format!("msg-id=task-{agent}");
        let waited = [&send[..], &["--front", &id, "--wait", "60"]].concat();
        // Waiting for it ends on the question, with the words that answer it.
        let shown = project.ok(&waited);
        assert!(shown.contains(&format!("What of {ask}?")), "{shown}");
        assert!(
            shown.ends_with(&format!("\ntx answer {ask} \"…\"\n")),
            "{shown}"
        );
        wait_until_paused(&project, agent);
        let asks = project.json(&["asks"]);
        assert_eq!(asks[0]["id"], ask.as_str(), "{asks}");
        assert_eq!(asks[0]["body"], format!("What of {ask}?"), "{asks}");
        assert_eq!(project.json(&["status"])["asks"], asks);
        let text = format!("answer {ask}");
        let told = project.ok(&["answer", &ask[..3], &text]);
        assert_eq!(told, format!("ask/{agent} continues\n"));
        assert_eq!(resumed(&project, agent), [format!("{text};")]);
        assert_eq!(open(&project), [""; 0]);
    }
}

#[test]
fn the_pause_outlives_the_daemon_and_the_answer_comes_once() {
    for answered_while_dead in [true, false] {
        let project = project();
        for agent in AGENTS {
            asked(&project, agent, &[format!("q-{agent}")]);
        }
        project.kill_daemon();
        assert_eq!(open(&project).len(), 2, "it is in the journal");
        let answer_all = || {
            for agent in AGENTS {
                answer(&project, &format!("q-{agent}"));
            }
        };
        if answered_while_dead {
            answer_all();
            assert_eq!(open(&project).len(), 2, "nobody took them in yet");
            project.start();
        } else {
            project.start();
            assert_eq!(open(&project).len(), 2);
            answer_all();
        }
        for agent in AGENTS {
            assert_eq!(resumed(&project, agent), [format!("answer q-{agent};")]);
        }
        // The program that stays was not started again.
        let pane = project.state();
        let pane = pane.worker(&"ask/pane".parse().unwrap()).unwrap().attempt;
        assert_eq!(pane, 1);
    }
}

#[test]
fn the_pause_outlives_the_tmux_server_and_the_machine() {
    for whole_machine in [false, true] {
        let project = project();
        for agent in AGENTS {
            asked(&project, agent, &[format!("q-{agent}")]);
        }
        if whole_machine {
            project.kill_daemon();
        }
        tmux(project.socket(), &["kill-server"]);
        if whole_machine {
            project.start();
        }
        wait_for("its process to be gone", || {
            let state = project.state();
            let worker = state.worker(&"ask/pane".parse().unwrap())?;
            (!worker.live).then_some(())
        });
        assert_eq!(open(&project), ["q-turn", "q-pane"]);
        for agent in AGENTS {
            answer(&project, &format!("q-{agent}"));
            assert_eq!(resumed(&project, agent), [format!("answer q-{agent};")]);
        }
    }
}

#[test]
fn three_asks_answered_in_reverse_are_given_together() {
    for agent in AGENTS {
        let project = project();
        let asks = ["first", "second", "third"];
        asked(&project, agent, &asks.map(Into::into));
        for (place, ask) in asks.iter().enumerate().rev() {
            let text = format!("answer {ask}");
            let told = project.ok(&["answer", ask, &text]);
            let left: Vec<String> = asks[..place]
                .iter()
                .map(|a| format!("{a} (of core/core)"))
                .collect();
            let expected = match place {
                0 => format!("ask/{agent} continues\n"),
                _ => format!(
                    "answered; ask/{agent} still waits for {}\n",
                    left.join(", ")
                ),
            };
            assert_eq!(told, expected);
            wait_for("it to be taken in", || {
                (open(&project) == asks[..place]).then_some(())
            });
        }
        assert_eq!(
            resumed(&project, agent),
            ["answer third;answer second;answer first;"]
        );
    }
}

#[test]
fn the_asks_of_two_do_not_mix() {
    let project = project();
    let asks = |agent: &str| [1, 2].map(|n| format!("{agent}-{n}"));
    for agent in AGENTS {
        asked(&project, agent, &asks(agent));
    }
    // The human may as well drop files.
    let by_file = |ask: &str, agent: &str| {
        let (to, more) = (format!("ask/{agent}"), format!("in-reply-to: {ask}\n"));
        let text = message(
            "core",
            &to,
            &format!("a-{ask}"),
            &more,
            &format!("answer {ask}"),
        );
        project.drop_file(&format!("a-{ask}.md"), &text);
        wait_for("it to be taken in", || project.message(&format!("a-{ask}")));
    };
    answer(&project, "pane-2");
    by_file("turn-1", "turn");
    by_file("pane-1", "pane");
    answer(&project, "turn-2");
    assert_eq!(resumed(&project, "pane"), ["answer pane-2;answer pane-1;"]);
    assert_eq!(resumed(&project, "turn"), ["answer turn-1;answer turn-2;"]);
}

#[test]
fn only_core_answers_and_only_what_is_open() {
    let project = project();
    asked(&project, "pane", &["q".into()]);
    // Another agent, by a file and by the verb.
    let more = "in-reply-to: q\ntype: ask-response\n";
    let forged = message("ask/turn", "ask/pane", "forged", more, "answer forged");
    project.drop_file("forged.md", &forged);
    let refused = wait_for("the forged answer to be refused", || {
        let status = project.json(&["status"]);
        let refused = status["rejections"].as_array()?.first().cloned();
        refused.filter(|refused| refused["path"] == "forged.md")
    });
    let why = refused["diagnostics"][0]["message"].as_str().unwrap();
    assert!(
        why.contains("is not an ask that the recipient made of you"),
        "{why}"
    );
    let mut command = project.command(&["answer", "q", "answer forged"]);
    let output = command.env("TX_AGENT", "ask/turn").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(open(&project), ["q"]);
    let unknown = project.tx(&["answer", "p", "answer p"]);
    assert_eq!(unknown.status.code(), Some(6), "{}", said(&unknown));

    answer(&project, "q");
    assert_eq!(resumed(&project, "pane"), ["answer q;"]);
    let closed = project.tx(&["answer", "q", "answer q again"]);
    assert_eq!(closed.status.code(), Some(6));
    assert!(
        said(&closed).contains("`q` is closed: answered"),
        "{}",
        said(&closed)
    );
    // By a file it is news to the agent, and the human is told.
    let late = message(
        "core",
        "ask/pane",
        "late",
        "in-reply-to: q\n",
        "answer q again",
    );
    project.drop_file("late.md", &late);
    wait_for("the human to be told", || {
        let inbox = project.json(&["inbox", "--all"]);
        let told = |m: &&Value| m["headline"] == "about your message";
        inbox.as_array()?.iter().find(told).map(|_| ())
    });
    assert_eq!(
        project.message("late").unwrap().deliveries[0].kind,
        tx::model::Kind::Update
    );
    assert_eq!(resumed(&project, "pane"), ["answer q;"]);
}

#[test]
fn the_default_is_taken_when_its_time_has_come() {
    let project = project();
    let expires = chrono::Utc::now() + chrono::TimeDelta::seconds(200);
    let expires = expires.to_rfc3339();
    for agent in AGENTS {
        let ask = format!(r"q-{agent} default: answer yes\nexpires: {expires}\n");
        asked(&project, agent, &[ask]);
    }
    let shown = project.ok(&["asks"]);
    let by_itself = "answers itself with `answer yes` ";
    assert_eq!(shown.matches(by_itself).count(), 2, "{shown}");
    project.kill_daemon();
    project.start_later(300);
    for agent in AGENTS {
        assert_eq!(resumed(&project, agent), ["answer yes;"]);
        let late = project.tx(&["answer", &format!("q-{agent}"), "answer no"]);
        assert_eq!(late.status.code(), Some(6));
        assert!(
            said(&late).contains("the default is taken"),
            "{}",
            said(&late)
        );
    }
    let inbox = project.json(&["inbox"]);
    let told = |m: &&Value| m["headline"] == "nobody answered: the default is taken";
    let told: Vec<&Value> = inbox.as_array().unwrap().iter().filter(told).collect();
    assert_eq!(told.len(), 2, "{inbox}");
    for told in told {
        // It is a file, as it is said to be.
        let path = told["path"].as_str().unwrap();
        assert!(fs::exists(path).unwrap(), "{told}");
    }
}

#[test]
fn an_answer_that_came_in_time_counts_though_nobody_was_there_to_take_it_in() {
    let project = project();
    let expires = chrono::Utc::now() + chrono::TimeDelta::seconds(200);
    for agent in AGENTS {
        let ask = format!(
            r"q-{agent} default: answer yes\nexpires: {}\n",
            expires.to_rfc3339()
        );
        asked(&project, agent, &[ask]);
    }
    project.kill_daemon();
    answer(&project, "q-turn");
    project.start_later(300);
    assert_eq!(resumed(&project, "turn"), ["answer q-turn;"]);
    assert_eq!(resumed(&project, "pane"), ["answer yes;"]);
}

#[test]
fn an_answer_before_the_turn_has_ended_waits_for_its_end() {
    let project = project();
    for agent in AGENTS {
        let (to, id) = (format!("ask/{agent}"), format!("task-{agent}"));
        let text = format!("ask q-{agent}\nslow");
        project.drop_file(&format!("{id}.md"), &message("core", &to, &id, "", &text));
    }
    wait_for("both to ask", || (open(&project).len() == 2).then_some(()));
    for agent in AGENTS {
        answer(&project, &format!("q-{agent}"));
    }
    wait_for("both to be answered", || {
        open(&project).is_empty().then_some(())
    });
    let given = |agent: &str| project.root().join(format!("resumed-{agent}")).exists();
    assert!(!AGENTS.iter().any(|agent| given(agent)));
    project.write("go", "");
    for agent in AGENTS {
        assert_eq!(resumed(&project, agent), [format!("answer q-{agent};")]);
    }
}

#[test]
fn what_was_shown_is_read_for_good() {
    let project = project();
    asked(&project, "turn", &["q".into()]);
    // To a pipe it is shown, and stays new.
    assert!(project.ok(&["inbox"]).contains("What of q?"));
    let shown = project.at_a_terminal("inbox");
    assert!(shown.contains("What of q?"), "{shown}");
    assert!(project.ok(&["inbox"]).starts_with("nothing new"));
    project.kill_daemon();
    project.start();
    answer(&project, "q");
    resumed(&project, "turn");
    let inbox = wait_for("what came since", || {
        let inbox = project.json(&["inbox"]);
        (inbox.as_array()?.len() == 1).then_some(inbox)
    });
    // The ask that was read is still so, now that it is finished.
    assert_eq!(inbox[0]["kind"], "task-complete", "{inbox}");
    let all = project.json(&["inbox", "--all"]);
    assert_eq!(all[0]["read"], true);
    for item in all.as_array().unwrap() {
        let path = item["path"].as_str().unwrap();
        wait_for(path, || fs::exists(path).unwrap().then_some(()));
    }
}

/// A person at a terminal: a pane of a tmux server of its own.
struct Person<'p> {
    project: &'p Project,
    socket: std::path::PathBuf,
}

impl Person<'_> {
    fn runs<'p>(project: &'p Project, editor: &str, words: &str) -> Person<'p> {
        // A server of the same socket may still be on its way out.
        static SERVERS: AtomicUsize = AtomicUsize::new(0);
        let server = SERVERS.fetch_add(1, Ordering::Relaxed);
        let socket = project.root().join(format!("person-{server}.sock"));
        let root = project.root().display();
        let run = format!("EDITOR='{editor}' {TX} -C {root} {words}; echo \"exit $?\"; sleep 60");
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&socket);
        command.args([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
        ]);
        command.args(["sh", "-c", &run]);
        for name in ["TMUX", "TX_ROOT", "TX_AGENT", "VISUAL"] {
            command.env_remove(name);
        }
        assert!(command.stdin(Stdio::null()).status().unwrap().success());
        Person { project, socket }
    }

    fn sees(&self, words: &str) {
        wait_for(&format!("the screen to show `{words}`"), || {
            let screen = tmux(&self.socket, &["capture-pane", "-p"]);
            screen.contains(words).then_some(())
        });
    }

    fn types(&self, line: &str) {
        tmux(&self.socket, &["send-keys", "-l", line]);
        tmux(&self.socket, &["send-keys", "Enter"]);
    }
}

impl Drop for Person<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let screen = tmux(&self.socket, &["capture-pane", "-p"]);
            eprintln!("the screen:\n{screen}\n{:?}", open(self.project));
        }
        tmux(&self.socket, &["kill-server"]);
    }
}

#[test]
fn a_person_picks_a_question_and_answers_in_a_line_or_in_an_editor() {
    let project = project();
    asked(&project, "pane", &["colour".into(), "size".into()]);
    {
        let person = Person::runs(&project, "false", "answer");
        person.sees("which one?");
        person.sees("2  ◆ ask/pane  What of size?");
        person.types("7");
        person.types("2");
        person.sees("ask/pane asks: What of size?");
        person.types("answer large");
        person.sees("still waits for colour");
        person.sees("exit 0");
    }
    wait_for("it to be taken in", || {
        (open(&project) == ["colour"]).then_some(())
    });
    // An editor that shows nothing new: nothing is sent.
    {
        let person = Person::runs(&project, "true", "answer");
        person.sees("your answer");
        person.types("");
        person.sees("there is no text");
        person.sees("exit 2");
    }
    // One with an option, which writes another file in the place of the one it was given.
    project.write(
        "editor.sh",
        "cp \"$2\" \"$0.seen\"; { echo answer blue; cat \"$2\"; } > \"$2.new\"; mv \"$2.new\" \"$2\"\n",
    );
    let editor = format!("sh {}/editor.sh --wait", project.root().display());
    {
        let person = Person::runs(&project, &editor, "answer");
        person.sees("your answer");
        person.types("");
        person.sees("exit 0");
    }
    let seen = fs::read_to_string(project.root().join("editor.sh.seen")).unwrap();
    assert!(seen.contains("ask/pane asks: What of colour?"), "{seen}");
    assert_eq!(resumed(&project, "pane"), ["answer large;answer blue;"]);
}

#[test]
fn what_is_pasted_is_one_answer_and_one_that_came_first_counts() {
    let project = project();
    asked(&project, "pane", &["colour".into(), "size".into()]);
    {
        let person = Person::runs(&project, "false", "answer colour");
        person.sees("your answer");
        tmux(
            &person.socket,
            &["set-buffer", "answer blue\nanswer and green"],
        );
        tmux(&person.socket, &["paste-buffer", "-p"]);
        person.sees("and green");
        person.types("ish");
        person.sees("exit 0");
    }
    wait_for("it to be taken in", || {
        (open(&project) == ["size"]).then_some(())
    });
    let person = Person::runs(&project, "false", "answer size");
    person.sees("your answer");
    answer(&project, "size");
    let resumed = resumed(&project, "pane");
    assert_eq!(resumed, ["answer blue;answer and greenish;answer size;"]);
    person.types("too late");
    person.sees("`size` is closed");
    person.sees("exit 6");
}
