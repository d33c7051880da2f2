//! The riskiest part alone: the wrapper with its lock and its record, and the paste with its turn,
//! while the driver and the tmux server are killed again and again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tx::daemon::{AttemptFolder, AttemptState, LaunchSpec};
use tx::engine::AttemptId;
use tx::model::Mode;
use tx::tmux::{Client, Mark, Paste, PasteContent, Server, Window};

use crate::stage::{Stage, TX, tmux, wait_for};

const WORKERS: u32 = 3;

/// A program for one turn. It notices if another process of its worker runs, and records when it
/// begins and ends.
const TURN: &str = r#"
trap '' HUP
mkdir "$1/running" 2>/dev/null || echo "double $2" >> "$1/log"
echo "begin $2" >> "$1/log"
sleep "0.0$(( $2 % 7 ))"
rmdir "$1/running"
echo "end $2" >> "$1/log"
"#;

/// A program that stays and records every line that it gets.
const LISTENER: &str = r#"
while IFS= read -r line; do echo "$line" >> "$1/$2"; done
"#;

#[test]
fn no_turn_runs_twice_and_no_exit_is_lost_under_kills() {
    let kills: u64 = match std::env::var("TX_KILLS") {
        Ok(kills) => kills.parse().unwrap(),
        Err(_) => 40,
    };
    let stage = Stage::new();
    let folder = stage.folder();
    for worker in 0..WORKERS {
        fs::create_dir(folder.join(format!("w{worker}"))).unwrap();
    }
    fs::create_dir(folder.join("heard")).unwrap();
    let mut seed = 1_u64;
    let mut chance = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut driver = drive(folder);
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(chance(120)));
        if chance(4) == 0 {
            kill_server(&stage);
        }
        driver.kill().unwrap();
        driver.wait().unwrap();
        driver = drive(folder);
    }
    // It continues after the last kill.
    let before = heard(folder).values().map(Vec::len).sum::<usize>();
    wait_for("lines after the last kill", || {
        let after = heard(folder).values().map(Vec::len).sum::<usize>();
        (after > before + 3).then_some(())
    });
    let mut killed = false;
    // On a slow machine there may not have been a server to kill.
    wait_for("another life of the listener", || {
        if heard(folder).len() > 1 {
            return Some(());
        }
        // Only kill one that has worked, or none ever would.
        let lines = heard(folder).values().map(Vec::len).sum::<usize>();
        if lines > before + 3 && !std::mem::replace(&mut killed, true) {
            kill_server(&stage);
        }
        None
    });
    wait_for("every worker to have run", || {
        (0..WORKERS)
            .all(|worker| {
                let log = fs::read_to_string(folder.join(format!("w{worker}/log")));
                log.unwrap_or_default().matches("begin").count() > 3
            })
            .then_some(())
    });
    driver.kill().unwrap();
    driver.wait().unwrap();
    let turns = check_turns(folder);
    let lives = heard(folder).len();
    let pastes = check_pastes(folder);
    println!(
        "{kills} kills: {turns} turns, {pastes} pastes to {lives} lives of a program; no double run, no lost exit"
    );
}

/// Check that every turn began once, alone, and has a record. Returns their number.
fn check_turns(folder: &Path) -> usize {
    let mut turns = 0;
    for worker in 0..WORKERS {
        let log = fs::read_to_string(folder.join(format!("w{worker}/log"))).unwrap();
        let mut begun: BTreeMap<&str, u32> = BTreeMap::new();
        let mut ended: BTreeMap<&str, u32> = BTreeMap::new();
        for line in log.lines() {
            let (what, attempt) = line.split_once(' ').unwrap();
            match what {
                "begin" => *begun.entry(attempt).or_default() += 1,
                "end" => *ended.entry(attempt).or_default() += 1,
                other => panic!("worker {worker} ran twice at once: {other} {attempt}"),
            }
        }
        assert!(begun.len() > 3, "worker {worker} has hardly run: {log}");
        assert!(
            begun.values().all(|times| *times == 1),
            "begun twice: {log}"
        );
        turns += begun.len();
        for attempt in begun.keys() {
            let attempt = turn_of(folder, worker, attempt.parse().unwrap());
            wait_for("the end of every turn that began", || {
                matches!(attempt.state().unwrap(), AttemptState::Ended(_)).then_some(())
            });
        }
    }
    turns
}

/// Check that each process got its turns once each, in order. Returns their number.
fn check_pastes(folder: &Path) -> usize {
    let heard = heard(folder);
    let pastes = heard.values().map(Vec::len).sum();
    assert!(heard.len() > 1, "no tmux server was killed");
    for (attempt, lines) in heard {
        let numbers: Vec<u32> = lines.iter().map(|line| line.parse().unwrap()).collect();
        let first = numbers.first().copied().unwrap_or(0);
        let last = first + u32::try_from(numbers.len()).unwrap();
        let expected: Vec<u32> = (first..last).collect();
        assert_eq!(numbers, expected, "heard by attempt {attempt}");
    }
    pastes
}

fn heard(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let entries = fs::read_dir(folder.join("heard")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let lines = |path: &PathBuf| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        text.lines().map(Into::into).collect()
    };
    files
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into(),
                lines(&path),
            )
        })
        .collect()
}

fn kill_server(stage: &Stage) {
    let server = tmux(stage.socket(), &["display-message", "-p", "#{pid}"]);
    if let Some(server) = server.trim().parse().ok().and_then(pid) {
        let _ = rustix::process::kill_process(server, rustix::process::Signal::KILL);
    }
}

fn pid(raw: i32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(raw)
}

fn drive(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "wrapper::driver", "--ignored", "--nocapture"])
        .env("TX_DRIVER_FOLDER", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// The process that is killed: it keeps one process per worker running, and sends turns to the
/// listener.
#[test]
#[ignore = "it is what the test above kills"]
fn driver() {
    let Some(folder) = std::env::var_os("TX_DRIVER_FOLDER") else {
        return;
    };
    let folder = PathBuf::from(folder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let client = Client::new(Server {
            socket: folder.join("tmux.sock"),
        });
        let mut all = tokio::task::JoinSet::new();
        for worker in 0..WORKERS {
            all.spawn(take_turns(worker, client.clone(), folder.clone()));
        }
        all.spawn(tell_turns(client, folder));
        all.join_all().await;
    });
}

/// Run one process after the other, each after the one before is known to be over.
async fn take_turns(worker: u32, client: Client, folder: PathBuf) {
    let mut number = latest(&folder, &format!("w{worker}"));
    let mut just_opened = false;
    loop {
        if number > 0 {
            over(&turn_of(&folder, worker, number), just_opened).await;
        }
        number += 1;
        let name = format!("w{worker}");
        let log = folder.join(&name);
        let arguments = [log.to_str().unwrap(), &number.to_string()];
        let opened = open(
            &client,
            &folder,
            &name,
            number,
            Mode::Turn,
            TURN,
            &arguments,
        )
        .await;
        just_opened = opened.is_ok();
    }
}

/// Wait until an attempt has ended, or make sure that it never begins.
async fn over(attempt: &AttemptFolder, just_opened: bool) {
    let begins_by = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        match attempt.state().unwrap() {
            AttemptState::Ended(_) | AttemptState::Revoked => return,
            AttemptState::Vanished => {
                panic!("{} is gone without a record", attempt.folder().display())
            }
            AttemptState::NotBegun if !just_opened || std::time::Instant::now() > begins_by => {
                if attempt.revoke().unwrap() {
                    return;
                }
            }
            AttemptState::Running(_) | AttemptState::NotBegun => {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }
}

/// Send the listener one turn after the other. Each is recorded before it is sent, and the pane
/// shows what was sent.
async fn tell_turns(client: Client, folder: PathBuf) {
    let noted = folder.join("told");
    loop {
        let number = latest(&folder, "listener");
        let tag = format!(" turn mesh/listener {number} ");
        let Ok(panes) = client.panes().await else {
            continue;
        };
        let found = panes.iter().find(|p| !p.dead && p.command.contains(&tag));
        let Some(found) = found else {
            if number > 0 {
                over(&attempt_of(&folder, "listener", number), false).await;
            }
            let heard = folder.join("heard");
            let arguments = [heard.to_str().unwrap(), &(number + 1).to_string()];
            let name = "listener";
            let _ = open(
                &client,
                &folder,
                name,
                number + 1,
                Mode::Pane,
                LISTENER,
                &arguments,
            )
            .await;
            continue;
        };
        let last = fs::read_to_string(&noted)
            .unwrap_or_default()
            .parse()
            .unwrap_or(1);
        let turn = if found.turn == last { last + 1 } else { last };
        fs::write(folder.join("new-told"), turn.to_string()).unwrap();
        fs::rename(folder.join("new-told"), &noted).unwrap();
        let text = folder.join("text");
        fs::write(&text, format!("{turn}\n")).unwrap();
        let turn = turn.to_string();
        let put = Paste {
            what: PasteContent::File(&text),
            mark: Some(Mark::Turn(&turn)),
        };
        let _ = client.paste(&found.id, put).await;
    }
}

async fn open(
    client: &Client,
    folder: &Path,
    name: &str,
    number: u32,
    mode: Mode,
    script: &str,
    arguments: &[&str],
) -> Result<(), tx::tmux::Error> {
    let attempt = attempt_of(folder, name, number);
    let mut program: Vec<String> = ["sh", "-c", script, "sh"].map(Into::into).into();
    program.extend(arguments.iter().map(ToString::to_string));
    let spec = LaunchSpec {
        passed: None,
        program,
        folder: folder.into(),
        environment: Vec::new(),
        mode,
        runtime: "command".into(),
        turn: None,
        stream: false,
    };
    attempt.prepare(&spec, "").unwrap();
    let command = [
        TX,
        "turn",
        &format!("mesh/{name}"),
        &number.to_string(),
        "--folder",
        attempt.folder().to_str().unwrap(),
    ];
    let window = Window {
        session: "mesh",
        name,
        command: &command.map(Into::into),
    };
    client.open(window, None).await.map(drop)
}

fn turn_of(folder: &Path, worker: u32, number: u32) -> AttemptFolder {
    attempt_of(folder, &format!("w{worker}"), number)
}

fn attempt_of(folder: &Path, name: &str, attempt: u32) -> AttemptFolder {
    let worker = format!("mesh/{name}").parse().unwrap();
    AttemptFolder::of(&folder.join("run"), &AttemptId { worker, attempt })
}

/// The number of the last attempt.
fn latest(folder: &Path, name: &str) -> u32 {
    let Ok(entries) = fs::read_dir(folder.join("run/mesh").join(name)) else {
        return 0;
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.map(|name| name.parse().unwrap()).max().unwrap_or(0)
}
