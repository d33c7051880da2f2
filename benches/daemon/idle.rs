//! What tx costs while nothing happens.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use crate::project::{Project, wait_for};

/// Of one core, in percent.
const MOST_CPU: f64 = 0.5;
/// In MB.
const MOST_MEMORY: f64 = 40.0;

/// With so many idle programs in panes, for so long.
pub(crate) fn measure(workers: usize, seconds: u64) -> bool {
    let script = "while read -r path; do n=$((n+1)); printf -- '---\\nto: core\\nfrom: %s\\nmsg-id: %s-%s\\nstatus: complete\\nheadline: h\\ntimestamp: 2026-11-15T10:00:00.000Z\\n---\\n' \"$TX_AGENT\" \"$$\" \"$n\" > \"$TX_ROOT/.ai/tx/msgs/$$-$n.md\"; done";
    let mut config = String::from("mesh: bench\nagents:\n");
    for worker in 0..workers {
        config += &format!(
            "  - name: a{worker}\n    runtime: command\n    mode: pane\n    run: [sh, -c, {script:?}]\n"
        );
    }
    let project = Project::new("bench", &config);
    project.tx(&["start", "--detach"]);
    for worker in 0..workers {
        project.drop_message(&format!("bench/a{worker}"), &format!("m{worker}"), "");
    }
    wait_for("everybody to be idle", || {
        let state = project.state();
        state.counts().left >= 2 * workers as u64 && state.open_messages().count() == 0
    });
    watch(
        &project,
        &format!("{workers} idle programs in panes"),
        seconds,
    )
}

/// With so many old messages in the folder.
pub(crate) fn measure_old(messages: usize, seconds: u64) -> bool {
    let config = "mesh: bench\nagents:\n  - { name: a, runtime: command, run: ['true'] }\n";
    let project = Project::new("bench", config);
    project.tx(&["start", "--detach"]);
    for number in 0..messages {
        project.drop_message("bench", &format!("m{number}"), "headless: true\n");
    }
    wait_for("all to be taken in", || {
        project
            .reader()
            .last()
            .is_ok_and(|last| last >= messages as u64)
            && project.state().counts().left >= messages as u64
    });
    let what = format!("{messages} old messages in the folder");
    let began = Instant::now();
    project.tx(&["stop"]);
    project.tx(&["start", "--detach"]);
    println!("time   {:.1?}  stop and start with {what}", began.elapsed());
    let kept = watch(&project, &what, seconds);
    let began = Instant::now();
    project.tx(&["stop"]);
    project.tx(&["prune", "--before", "2100-01-01"]);
    let left = fs::read_dir(project.bus()).map_or(0, Iterator::count);
    println!(
        "time   {:.1?}  prune, which leaves {left} files",
        began.elapsed()
    );
    kept && left == 0
}

/// Watch the daemon, its client and its tmux server do nothing.
fn watch(project: &Project, what: &str, seconds: u64) -> bool {
    let daemon = project.daemon();
    let all = family(daemon, project.tmux_server());
    // What is left to do of before is done by then.
    std::thread::sleep(Duration::from_secs(seconds.min(3)));
    let before: u64 = all.iter().map(|pid| ticks(*pid)).sum();
    let woken = wakes_by_thread(daemon);
    std::thread::sleep(Duration::from_secs(seconds));
    let after: u64 = all.iter().map(|pid| ticks(*pid)).sum();
    let woken = wakes(daemon, &woken);
    // A tick is a hundredth of a second.
    let cpu = (after - before) as f64 / seconds as f64;
    let memory = status(daemon, "VmRSS:") as f64 / 1024.0;
    // The rest is the program's file, which the kernel can drop and read again.
    let own = status(daemon, "RssAnon:") as f64 / 1024.0;
    println!(
        "idle   {cpu:.2} % of a core of at most {MOST_CPU}, {memory:.1} MB of at most {MOST_MEMORY}, \
         {own:.1} MB of them its own, woken {woken} times in {seconds} s  {what}"
    );
    cpu <= MOST_CPU && memory <= MOST_MEMORY
}

/// The daemon, its children, and its tmux server.
fn family(daemon: u32, tmux: u32) -> Vec<u32> {
    let children = format!("/proc/{daemon}/task/{daemon}/children");
    let children = fs::read_to_string(children).unwrap_or_default();
    let mut all: Vec<u32> = children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect();
    all.extend([daemon, tmux]);
    all
}

fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(") ")
        .next()
        .unwrap_or_default()
        .split(' ')
        .collect();
    let field = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok());
    field(11).unwrap_or(0) + field(12).unwrap_or(0)
}

fn status(pid: u32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// How often it was woken since then, all its threads together that still run.
fn wakes(pid: u32, before: &BTreeMap<u32, u64>) -> u64 {
    let since = |(task, now): (u32, u64)| now - before.get(&task).copied().unwrap_or(0);
    wakes_by_thread(pid).into_iter().map(since).sum()
}

fn wakes_by_thread(pid: u32) -> BTreeMap<u32, u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let ids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    ids.map(|id| (id, status_of_task(pid, id))).collect()
}

fn status_of_task(pid: u32, task: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{task}/status")).unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}
