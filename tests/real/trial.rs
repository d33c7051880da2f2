//! The trial: many turns of claude and codex in panes, each frame classified. No frame between
//! a submit and its stop, and none with a draft or a dialog, may be Idle; and the model gets
//! each message once.
//!
//! The first message of a pane is an argument of the CLI. Those after it go to codex by
//! `codex queue`, and to claude by a hook that waits (`asyncRewake`): nothing is typed but the
//! drafts of a person and the answers to dialogs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tx::runtime::Runtimes;
use tx::runtime::screen::{Look, Screen, classify};

use crate::lab::{Lab, Pane, wait_for};

const HOOK: &str = r#"#!/bin/sh
printf '%s\t%s\t%s\n' "$(date +%s%N)" "$1" "$(tr -d '\n')" >> "$2"
"#;

/// Only the newest waiter may speak: each end of a turn starts one more.
const WAITER: &str = r#"#!/bin/sh
cat > /dev/null
echo $$ > "$1/waiter"
while [ "$(cat "$1/waiter" 2> /dev/null)" = $$ ]; do
  if mv "$1/next" "$1/taken" 2> /dev/null; then cat "$1/taken" >&2; exit 2; fi
  sleep 0.1
done
"#;

const QUOTE: &str = "@@lines A dialog:\\n\\n Do you want to proceed?\\n ❯ 1. Yes\\n   2. No\\n\\n \
    Esc to cancel\\n\\n✻ Baking… (3s · esc to interrupt)\\n\\n› 1. Yes, proceed (y)\\n  2. No\\n\\n  \
    Press enter to confirm or esc to cancel\\n\\n• Working (3s • esc to interrupt)";
/// A submit is told by its hook before the screen shows it. So long, in milliseconds, a screen
/// without the message is that of the turn before, and counted apart.
const DRAWN: u128 = 1_000;
const DRAFT: &str = "half a thought of mine";

#[test]
fn no_frame_of_two_hundred_turns_is_idle_when_it_is_not() {
    let Some(lab) = Lab::open() else { return };
    for (name, text) in [("hook.sh", HOOK), ("waiter.sh", WAITER)] {
        std::fs::write(lab.path(name), text).unwrap();
        let mode = PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(lab.path(name), mode).unwrap();
    }
    let turns = std::env::var("TX_TRIAL_TURNS").map_or(25, |turns| turns.parse().unwrap());
    let sizes = [[200, 50], [80, 24], [200, 50], [80, 24]];
    let lanes: Vec<Lane> = (["claude", "codex"].into_iter())
        .flat_map(|cli| sizes.into_iter().enumerate().map(move |lane| (cli, lane)))
        .map(|(cli, (number, size))| {
            let lane = Lane::new(&lab, cli, number, size);
            if number == 0 {
                // Several codex that find a new home at once fail to set up their database.
                lane.wait_for_hook("UserPromptSubmit", 0, "");
            }
            lane
        })
        .collect();
    let counts: Vec<(&str, Counts)> = std::thread::scope(|scope| {
        let spawned = lanes
            .iter()
            .map(|lane| (lane.cli, scope.spawn(|| lane.play(turns))));
        let spawned: Vec<_> = spawned.collect();
        let joined = spawned
            .into_iter()
            .map(|(cli, lane)| (cli, lane.join().unwrap()));
        joined.collect()
    });
    let mut whole = BTreeMap::<&str, Counts>::new();
    let mut offenders = String::new();
    for (cli, mut counts) in counts {
        offenders += &std::mem::take(&mut counts.offenders);
        whole.entry(cli).or_default().add(&counts);
    }
    let said = lab.requests();
    for lane in &lanes {
        whole.get_mut(lane.cli).unwrap().once += lane.once(&said, turns);
    }
    for (cli, counts) in &whole {
        eprintln!("{cli}: {counts:?}");
    }
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("trial-offenders.txt");
    std::fs::write(&file, &offenders).unwrap();
    for (cli, counts) in &whole {
        let wrong = (
            counts.idle_at_work,
            counts.idle_with_draft,
            counts.idle_in_dialog,
        );
        assert_eq!(wrong, (0, 0, 0), "{cli}: see {}", file.display());
        assert_eq!(
            counts.once, counts.turns,
            "{cli}: a message was lost or came twice"
        );
        assert_eq!(
            counts.drafts_kept, counts.drafts,
            "{cli}: a draft was spoiled"
        );
        assert!(
            counts.dialogs > 0 && counts.drafts > 0 || turns < 6,
            "{cli}"
        );
    }
}

/// What was counted.
#[derive(Debug, Default)]
struct Counts {
    turns: usize,
    frames: usize,
    at_work: usize,
    /// By what the screen shows, without the title.
    idle_at_work_by_lines: usize,
    /// With the message on the screen, or later than [`DRAWN`].
    idle_at_work: usize,
    /// Its hook had told of the submit, and the screen did not show the message yet.
    idle_not_drawn: usize,
    /// The latest of those, in milliseconds after the submit.
    drawn_late: u128,
    drafts: usize,
    drafts_kept: usize,
    with_draft: usize,
    idle_with_draft: usize,
    dialogs: usize,
    in_dialog: usize,
    idle_in_dialog: usize,
    once: usize,
    offenders: String,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.turns += other.turns;
        self.frames += other.frames;
        self.at_work += other.at_work;
        self.idle_at_work_by_lines += other.idle_at_work_by_lines;
        self.idle_at_work += other.idle_at_work;
        self.idle_not_drawn += other.idle_not_drawn;
        self.drawn_late = self.drawn_late.max(other.drawn_late);
        self.drafts += other.drafts;
        self.drafts_kept += other.drafts_kept;
        self.with_draft += other.with_draft;
        self.idle_with_draft += other.idle_with_draft;
        self.dialogs += other.dialogs;
        self.in_dialog += other.in_dialog;
        self.idle_in_dialog += other.idle_in_dialog;
    }
}

/// A pane and all that was seen of it.
struct Lane<'a> {
    lab: &'a Lab,
    cli: &'static str,
    name: String,
    folder: PathBuf,
    pane: Pane,
    frames: Mutex<Vec<Frame>>,
    ended: AtomicBool,
}

struct Frame {
    from: u128,
    to: u128,
    look: Look,
    by_lines: Look,
    /// Kept of what may be an offender.
    screen: Option<Screen>,
}

impl<'a> Lane<'a> {
    fn new(lab: &'a Lab, cli: &'static str, number: usize, size: [u16; 2]) -> Lane<'a> {
        let name = format!("{cli}-{number}");
        let folder = lab.path(&name);
        std::fs::create_dir(&folder).unwrap();
        let show = |path: PathBuf| path.to_str().unwrap().to_owned();
        let (hook, log) = (show(lab.path("hook.sh")), show(folder.join("hooks")));
        let told =
            |event: &str| json!({"type": "command", "command": format!("{hook} {event} {log}")});
        let events = [
            "SessionStart",
            "UserPromptSubmit",
            "PermissionRequest",
            "Stop",
        ];
        let mut args: Vec<String> = vec![cli.into()];
        if cli == "claude" {
            let waiter = format!("{} {}", show(lab.path("waiter.sh")), show(folder.clone()));
            let waits = json!({
                "type": "command", "command": waiter, "asyncRewake": true, "timeout": 3600,
            });
            let hooks = events.map(|event| {
                let waits = ["SessionStart", "Stop"]
                    .contains(&event)
                    .then(|| waits.clone());
                let all: Vec<Value> = std::iter::once(told(event)).chain(waits).collect();
                (event.to_owned(), json!([{ "hooks": all }]))
            });
            let hooks: serde_json::Map<String, Value> = hooks.into_iter().collect();
            let allow = json!({ "allow": ["Bash(sleep:*)"] });
            let settings = json!({ "hooks": hooks, "permissions": allow });
            let file = folder.join("settings.json");
            std::fs::write(&file, settings.to_string()).unwrap();
            args.extend(["--settings".into(), show(file)]);
            args.extend(["--permission-mode", "manual"].map(Into::into));
        } else {
            args.extend(["--no-daemon", "--dangerously-bypass-hook-trust"].map(Into::into));
            for setting in [
                "approval_policy=\"on-request\"",
                "sandbox_mode=\"workspace-write\"",
            ] {
                args.extend(["-c".into(), setting.into()]);
            }
            for event in events {
                let hook = format!("{{type=\"command\",command=\"{hook} {event} {log}\"}}");
                args.extend(["-c".into(), format!("hooks.{event}=[{{hooks=[{hook}]}}]")]);
            }
        }
        args.push(text(lab, cli, &name, 0));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Lane {
            pane: lab.pane(size, &args),
            lab,
            cli,
            name,
            folder,
            frames: Mutex::default(),
            ended: AtomicBool::new(false),
        }
    }

    fn play(&self, turns: usize) -> Counts {
        std::thread::scope(|scope| {
            scope.spawn(|| self.watch());
            let played =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.turns(turns)));
            self.ended.store(true, Ordering::Relaxed);
            played.unwrap_or_else(|panic| {
                let shown = self.pane.look().lines.join("\n");
                eprintln!("{}: {shown}", self.name);
                std::panic::resume_unwind(panic)
            })
        })
    }

    fn watch(&self) {
        let rules = &Runtimes::builtin().get(self.cli).unwrap().screen;
        while !self.ended.load(Ordering::Relaxed) {
            let from = now();
            let screen = self.pane.look();
            let to = now();
            let look = classify(rules, &screen);
            let alone = Screen {
                lines: screen.lines.clone(),
                ..Screen::default()
            };
            let by_lines = classify(rules, &alone);
            let screen = (look == Look::Idle || by_lines == Look::Idle).then_some(screen);
            self.frames.lock().unwrap().push(Frame {
                from,
                to,
                look,
                by_lines,
                screen,
            });
            std::thread::sleep(Duration::from_millis(80));
        }
    }

    fn turns(&self, turns: usize) -> Counts {
        let mut counts = Counts::default();
        for turn in 0..turns {
            let id = format!("{}-{turn}.", self.name);
            let mut draft_from = None;
            if turn > 0 {
                let asked = now();
                self.wait_to_see(&format!("idle before {id}"), asked, |look| {
                    *look == Look::Idle
                });
                if turn % 5 == 4 {
                    self.pane.keys(&["-l", DRAFT]);
                    wait_for("the draft", || self.shows_draft().then_some(()));
                    draft_from = Some(now());
                }
                self.give(turn);
            }
            let submit = self.wait_for_hook("UserPromptSubmit", 0, &id);
            if turn % 6 == 5 {
                let is_dialog = |look: &Look| matches!(look, Look::Dialog { .. });
                let from = self.wait_to_see(&format!("a dialog of {id}"), submit, is_dialog);
                std::thread::sleep(Duration::from_millis(700));
                self.count(&mut counts, &id, [from, now()], Of::Dialog);
                self.pane
                    .keys(&[if self.cli == "claude" { "1" } else { "y" }]);
            }
            let stop = self.wait_for_hook("Stop", submit, "");
            // The last frame of the turn may still be under way.
            std::thread::sleep(Duration::from_millis(300));
            self.count(&mut counts, &id, [submit, stop], Of::Work);
            if let Some(from) = draft_from {
                counts.drafts_kept += usize::from(self.shows_draft());
                self.count(&mut counts, &id, [from, now()], Of::Draft);
                self.pane.keys(&["C-u"]);
                wait_for("an end of the draft", || {
                    (!self.shows_draft()).then_some(())
                });
            }
            counts.turns += 1;
            eprintln!("{id} {} ms", (stop - submit) / 1_000_000);
        }
        counts.frames = self.frames.lock().unwrap().len();
        counts
    }

    /// Does its composer hold the draft?
    fn shows_draft(&self) -> bool {
        let screen = self.pane.look();
        let foot = screen.lines.iter().rev().take(10);
        foot.into_iter()
            .any(|line| line.trim_start_matches(['❯', '›', ' ', '\u{a0}']) == DRAFT)
    }

    fn give(&self, turn: usize) {
        let text = text(self.lab, self.cli, &self.name, turn);
        if self.cli == "claude" {
            let file = self.folder.join("being-written");
            std::fs::write(&file, text).unwrap();
            std::fs::rename(file, self.folder.join("next")).unwrap();
        } else {
            let started = self
                .hooks()
                .into_iter()
                .find(|hook| hook.1 == "SessionStart");
            let input: Value = serde_json::from_str(&started.unwrap().2).unwrap();
            let thread = input["session_id"].as_str().unwrap();
            let queued = self
                .lab
                .run(&["codex", "queue", "--thread", thread, "--message", &text]);
            assert!(queued.status.success(), "{queued:?}");
        }
    }

    fn hooks(&self) -> Vec<(u128, String, String)> {
        let log = std::fs::read_to_string(self.folder.join("hooks")).unwrap_or_default();
        let read = |line: &str| {
            let mut parts = line.splitn(3, '\t').map(str::to_owned);
            Some((parts.next()?.parse().ok()?, parts.next()?, parts.next()?))
        };
        log.lines().filter_map(read).collect()
    }

    fn wait_for_hook(&self, event: &str, after: u128, with: &str) -> u128 {
        wait_for(&format!("{event} of {} {with}", self.name), || {
            let found = |hook: &&(u128, String, String)| {
                hook.0 > after && hook.1 == event && hook.2.contains(with)
            };
            self.hooks().iter().find(found).map(|hook| hook.0)
        })
    }

    fn wait_to_see(&self, what: &str, after: u128, is_it: impl Fn(&Look) -> bool) -> u128 {
        wait_for(what, || {
            let frames = self.frames.lock().unwrap();
            let mut newer = frames.iter().rev().take_while(|frame| frame.from > after);
            newer
                .find(|frame| is_it(&frame.look))
                .map(|frame| frame.from)
        })
    }

    fn count(&self, counts: &mut Counts, id: &str, [from, to]: [u128; 2], of: Of) {
        let frames = self.frames.lock().unwrap();
        let inside = frames
            .iter()
            .filter(|frame| frame.from >= from && frame.to <= to);
        let (mut all, mut idle) = (0, 0);
        for frame in inside {
            all += 1;
            let wrong = frame.look == Look::Idle;
            if matches!(of, Of::Work) && frame.by_lines == Look::Idle {
                counts.idle_at_work_by_lines += 1;
            }
            let since = (frame.from - from) / 1_000_000;
            let mut lines = frame.screen.iter().flat_map(|screen| &screen.lines);
            let is_drawn = lines.any(|line| line.contains(&format!("message {id}")));
            if wrong && matches!(of, Of::Work) && since < DRAWN && !is_drawn {
                counts.idle_not_drawn += 1;
                counts.drawn_late = counts.drawn_late.max(since);
            } else if wrong {
                idle += 1;
            }
            if let Some(screen) = frame
                .screen
                .as_ref()
                .filter(|_| wrong || matches!(of, Of::Work))
            {
                let left = (to - frame.to) / 1_000_000;
                let _ = writeln!(
                    counts.offenders,
                    "== {} {of:?} {since} ms after, {left} ms before, wrong: {wrong}, {:?} {:?}\n{}",
                    self.name,
                    screen.title,
                    screen.cursor,
                    screen.lines.join("\n").trim_end()
                );
            }
        }
        let (frames, wrong, windows) = match of {
            Of::Work => (&mut counts.at_work, &mut counts.idle_at_work, None),
            Of::Draft => {
                let windows = Some(&mut counts.drafts);
                (&mut counts.with_draft, &mut counts.idle_with_draft, windows)
            }
            Of::Dialog => {
                let windows = Some(&mut counts.dialogs);
                (&mut counts.in_dialog, &mut counts.idle_in_dialog, windows)
            }
        };
        *frames += all;
        *wrong += idle;
        if let Some(windows) = windows {
            *windows += 1;
        }
    }

    /// How many of its messages the model has in its last request, each once?
    fn once(&self, requests: &[Value], turns: usize) -> usize {
        let first = format!("{}-0.", self.name);
        let texts = |request: &Value| -> Vec<String> {
            let turns = request["turns"].as_array().into_iter().flatten();
            let users = turns.filter(|turn| turn[0] == "user");
            users
                .map(|turn| turn[1].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let own = requests.iter().rev().map(texts);
        let mut own = own.filter(|texts| texts.iter().any(|text| text.contains(&first)));
        let last = own.next().unwrap_or_default().join("\n");
        let is_once = |turn: &usize| {
            last.matches(&format!("message {}-{turn}.", self.name))
                .count()
                == 1
        };
        (0..turns).filter(is_once).count()
    }
}

/// A part of the time.
#[derive(Clone, Copy, Debug)]
enum Of {
    Work,
    Draft,
    Dialog,
}

/// The message of a turn, with its script.
fn text(lab: &Lab, cli: &str, lane: &str, turn: usize) -> String {
    let script = match turn % 6 {
        0 => "@@say It is done.".into(),
        1 => "@@slow 2".into(),
        2 => "@@think 2".into(),
        3 => QUOTE.into(),
        4 => "@@shell sleep 2".into(),
        _ if cli == "claude" => {
            format!(
                "@@write {}/{lane}-{turn}.txt some text",
                lab.project().display()
            )
        }
        _ => format!(
            "@@escalate touch {}",
            lab.path(&format!("{lane}-{turn}.txt")).display()
        ),
    };
    format!("tx: this is message {lane}-{turn}.\n{script}")
}

fn now() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos()
}
