//! What a message says reaches its agent byte for byte, and is never anything but text.

use std::fs;
use std::path::Path;
use std::process::Command;

use tx::engine::Step;

use crate::stage::{Project, message, wait_for};

/// One that stays in a terminal in raw mode and notes every byte; one that reads its
/// prompt.
const MESH: &str = r#"
mesh: text
agents:
  - { name: raw, runtime: command, mode: pane, deliver: text, run: [python3, "{mesh_dir}/raw.py"] }
  - { name: turn, runtime: command, run: [sh, -c, 'cat > "$TX_ROOT/prompt"; echo done'] }
"#;

/// It ends a turn when it has read the mark.
const RAW: &str = r#"
import os, termios, tty
# What was given before this is kept.
tty.setraw(0, termios.TCSANOW)
root, count, heard = os.environ["TX_ROOT"], 0, b""
open(root + "/ready", "w").close()
while True:
    heard += os.read(0, 65536)
    if heard.endswith(b"THE END\n"):
        count += 1
        with open(root + "/heard.new", "wb") as file:
            file.write(heard)
        os.rename(root + "/heard.new", root + "/heard-%d" % count)
        heard = b""
        name = root + "/.ai/tx/msgs/out-%d.md" % count
        with open(root + "/out", "w") as file:
            file.write("---\nfrom: text/raw\nmsg-id: out-%d\nstatus: complete\nheadline: h\n---\n\nx\n" % count)
        os.rename(root + "/out", name)
"#;

fn bodies() -> Vec<(&'static str, String)> {
    let long: String = (0..2_000)
        .map(|n| format!("line {n} of many, with words in it to fill it up\n"))
        .collect();
    vec![
        ("quotes", "it's \"quoted\" and \\escaped\\ 'twice'".into()),
        (
            "shell",
            "$(touch ran) `touch ran` ; touch ran ; $HOME ${HOME} && touch ran | touch ran > ran"
                .into(),
        ),
        ("dashes", "-t --help -- - -rf".into()),
        (
            "tmux",
            "#{pane_id} #(touch ran) %1 %% ## #[fg=red] ; kill-server ; {last}".into(),
        ),
        ("keys", "Enter\nC-c\nEscape Space M-x ^C ^D\n".into()),
        ("semicolon", "ends with one;".into()),
        ("tabs", "\ta\tb\n\n\n   indented\n".into()),
        (
            "unicode",
            "👩‍👩‍👧‍👦 e\u{301} n\u{303} 日本語 \u{200d} ﷽ 🦀 \u{202e}rtl".into(),
        ),
        ("one line", "x".repeat(20 * 1024)),
        ("many lines", long),
        ("commands", "/quit\n!ls\n:q!\n~.\n".into()),
    ]
}

#[test]
fn a_text_reaches_a_terminal_and_a_program_byte_for_byte() {
    let project = Project::started(&[("text/config.yaml", MESH), ("text/raw.py", RAW)]);
    for (number, (name, body)) in bodies().into_iter().enumerate() {
        let body = format!("{}\nTHE END", body.trim_end());
        let number = number + 1;
        for agent in ["raw", "turn"] {
            let id = format!("{agent}-{number}");
            let text = message("core", &format!("text/{agent}"), &id, "", &body);
            project.drop_file(&format!("{id}.md"), &text);
        }
        project.wait_for_step(&format!("raw-{number}"), Step::Finished);
        let heard = fs::read(project.root().join(format!("heard-{number}"))).unwrap();
        assert_same(name, &heard, format!("{body}\n").as_bytes());
        project.wait_for_step(&format!("turn-{number}"), Step::Finished);
        let prompt = fs::read_to_string(project.root().join("prompt")).unwrap();
        assert!(
            prompt.contains(&format!("\n\n{body}\n")),
            "{name}: {prompt}"
        );
    }
    assert_nothing_ran(&project);
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    let project = Project::started(&[("text/config.yaml", MESH), ("text/raw.py", RAW)]);
    let body =
        "a\x1b[201~b\x1b]0;title\x07c\x08d\x00e\x7ff\u{9b}31mg\x03h\x04i\r\nj\tk\x1a\nTHE END";
    project.drop_file("m.md", &message("core", "text/raw", "m", "", body));
    project.wait_for_step("m", Step::Finished);
    let heard = fs::read(project.root().join("heard-1")).unwrap();
    let expected = "a[201~b]0;titlecdef31mghi\nj\tk\nTHE END\n";
    assert_same("controls", &heard, expected.as_bytes());
    // A whole file with other line ends.
    let text = message("core", "text/raw", "crlf", "", "one\ntwo\nTHE END").replace('\n', "\r\n");
    project.drop_file("crlf.md", &text);
    project.wait_for_step("crlf", Step::Finished);
    let heard = fs::read(project.root().join("heard-2")).unwrap();
    assert_same("line ends", &heard, b"one\ntwo\nTHE END\n");
}

#[track_caller]
fn assert_same(name: &str, found: &[u8], expected: &[u8]) {
    if found != expected {
        let at = found.iter().zip(expected).position(|(a, b)| a != b);
        let at = at.unwrap_or(found.len().min(expected.len()));
        let around = |bytes: &[u8]| {
            let from = at.saturating_sub(20).min(bytes.len());
            let to = (at + 40).min(bytes.len());
            String::from_utf8_lossy(&bytes[from..to]).into_owned()
        };
        panic!(
            "{name}: {} bytes instead of {}, other from byte {at} on: {:?} instead of {:?}",
            found.len(),
            expected.len(),
            around(found),
            around(expected)
        );
    }
}

/// What would be there if a text had been run, or had left its folder.
fn assert_nothing_ran(project: &Project) {
    let found = Command::new("find")
        .arg(project.outside())
        .args(["-name", "ran*"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

const NASTY: [&str; 12] = [
    "$(touch ran)",
    "`touch ran`",
    "; touch ran ;",
    "' ; touch ran ; '",
    "\\\" ; touch ran ; \\\"",
    "#(touch ran)",
    "| touch ran",
    "../../../../ran",
    "../ran",
    "/tmp/ran",
    "--ran",
    "{mesh_dir} ${IFS}touch${IFS}ran",
];

/// Everything that a message can say goes into a command line, with a shell and without.
const FILLED: &str = r#"
mesh: filled
agents:
  - { name: plain, runtime: command, run: [sh, "{mesh_dir}/note.sh", "{model=none}", "{session}", "{msg_file}", "{agent}", "{workdir}"] }
  - { name: shell, runtime: command, shell: true, run: ['sh "{mesh_dir}"/note.sh {model=none} "{session}" ''{msg_file}'' {agent} "in {workdir}"'] }
  - { name: pane, runtime: command, mode: pane, run: [sh, "{mesh_dir}/pane.sh", "{model=none}", "{session}"] }
"#;
const NOTE: &str = r#"printf '%s\n' "$@" >> "$TX_ROOT/noted"; cat > /dev/null; echo done"#;
const PANE: &str = r#"
while IFS= read -r path; do
    count=$((count + 1))
    printf -- '---\nfrom: filled/pane\nmsg-id: out-%s-%s\nstatus: complete\nheadline: h\n---\n\nx\n' $$ $count > "$TX_ROOT/out"
    mv "$TX_ROOT/out" "$TX_ROOT/.ai/tx/msgs/out-$$-$count.md"
done
"#;

#[test]
fn nothing_in_a_message_is_run_or_leaves_its_folder() {
    let meshes = [
        ("filled/config.yaml", FILLED),
        ("filled/note.sh", NOTE),
        ("filled/pane.sh", PANE),
    ];
    // Deep, so that a way out ends within the folder of the test.
    let project = Project::below("a/b/c/d/e", &meshes);
    project.start();
    let quoted = |text: &str| format!("\"{text}\"");
    let mut sent = 0;
    for (number, nasty) in NASTY.iter().enumerate() {
        let nasty = quoted(nasty);
        // Turns of one agent come one after the other, so that a message has many fields.
        let mut fields = vec!["headline", "command", "extra"];
        // Such a model or session is refused.
        if !nasty.starts_with("\"-") {
            fields.extend(["model", "session-id"]);
        }
        let all: String = fields.iter().map(|f| format!("{f}: {nasty}\n")).collect();
        for agent in ["plain", "shell", "pane"] {
            // A model or a session of its own takes another process.
            if agent == "pane" && number % 4 != 0 {
                continue;
            }
            let id = format!("{agent}-{number}");
            for (name, front) in [
                (format!("{id}-named"), format!("msg-id: {nasty}\n")),
                (format!("{id}-all"), format!("msg-id: {id}\n{all}")),
            ] {
                sent += 1;
                let text = format!("---\nto: filled/{agent}\nfrom: core\n{front}---\n\n{nasty}\n");
                project.drop_file(&format!("{name}.md"), &text);
            }
        }
        for field in [
            "to",
            "from",
            "feature",
            "status",
            "in-reply-to",
            "route_to",
            "type",
            "priority",
            "timestamp",
        ] {
            sent += 1;
            let mut text = "---\nto: filled/plain\nfrom: core\n---\n\nx\n".to_owned();
            if ["to", "from"].contains(&field) {
                text = text.replace(&format!("{field}: "), "was: ");
            }
            text = text.replacen("---\n", &format!("---\n{field}: {nasty}\n"), 1);
            project.drop_file(&format!("{field}-{number}.md"), &text);
        }
        // Also as an agent that is there, whose outcomes tx names and routes.
        sent += 1;
        let text = format!(
            "---\nfrom: filled/plain\nmsg-id: {nasty}\nstatus: {nasty}\nheadline: {nasty}\n---\n\nx\n"
        );
        project.drop_file(&format!("outcome-{number}.md"), &text);
    }
    let settled = || {
        let queue = project.json(&["status"])["queue"].take();
        let is_over = queue["queued"] == 0 && queue["leased"] == 0;
        let taken = || project.arrivals() + project.records("rejected");
        (is_over && taken() >= sent).then_some(())
    };
    wait_for("everything to be done or refused", settled);
    assert_nothing_ran(&project);
    assert!(!Path::new("/tmp/ran").exists());
    // What is left of the fields is what they were.
    let noted = fs::read_to_string(project.root().join("noted")).unwrap();
    for nasty in [
        "$(touch ran)",
        "`touch ran`",
        "' ; touch ran ; '",
        "../../../../ran",
    ] {
        assert!(noted.lines().any(|line| line == nasty), "{nasty}: {noted}");
    }
    assert!(noted.lines().any(|line| line == "filled/shell"), "{noted}");
}

#[test]
fn a_mesh_cannot_leave_its_folder_by_a_name() {
    let project = Project::below("a/b/c/d/e", &[]);
    for (number, name) in [
        "../../ran",
        "$(touch ran)",
        "ran/x",
        ".",
        "..",
        "#(touch ran)",
        "a b",
    ]
    .iter()
    .enumerate()
    {
        let config =
            format!("mesh: \"{name}\"\nagents: [{{ name: a, runtime: command, run: [cat] }}]\n");
        project.write(&format!("meshes/m{number}/config.yaml"), &config);
        let config = format!(
            "mesh: n{number}\nagents: [{{ name: \"{name}\", runtime: command, run: [cat] }}]\n"
        );
        project.write(&format!("meshes/n{number}/config.yaml"), &config);
    }
    let good = "mesh: good\nagents: [{ name: a, runtime: command, run: [cat] }]\n";
    project.write("meshes/good/config.yaml", good);
    project.write(
        "meshes/$(touch ran) #(touch ran)/config.yaml",
        &good.replace("good", "odd-folder"),
    );
    project.start();
    for mesh in ["good", "odd-folder"] {
        project.drop_file(&format!("{mesh}.md"), &message("core", mesh, mesh, "", "x"));
        project.wait_for_step(mesh, Step::Finished);
    }
    wait_for("the log to tell of the others", || {
        let log = project.log();
        (log.matches("mesh does not load").count() >= 10).then_some(())
    });
    assert_nothing_ran(&project);
}
