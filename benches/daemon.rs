//! What docs/performance.md claims of the daemon: real files, real tmux, real processes.
//!
//! `cargo bench --bench daemon` fails if a limit is not kept; as `cargo test` runs it, a
//! little of everything runs once and nothing is judged.

#[path = "daemon/burst.rs"]
mod burst;
#[path = "daemon/gates.rs"]
mod gates;
#[path = "daemon/idle.rs"]
mod idle;
#[path = "daemon/latency.rs"]
mod latency;
#[path = "daemon/panes.rs"]
mod panes;
#[path = "daemon/project.rs"]
mod project;
#[allow(dead_code, reason = "it is shared, and not all of it is needed here")]
mod ratio;

fn main() {
    // The program in the pane is this one.
    if let Some(at) = std::env::args().position(|arg| arg == "--reader") {
        let socket = std::env::args().nth(at + 1).expect("it is told where to");
        return panes::read_lines(&socket, std::env::args().any(|arg| arg == "--silent"));
    }
    let judged = std::env::args().any(|arg| arg == "--bench");
    let only = std::env::args().nth(1).filter(|arg| !arg.starts_with('-'));
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let mut kept = true;
    if wanted("latency") {
        kept &= latency::measure(if judged { 300 } else { 2 });
    }
    if wanted("gates") {
        kept &= gates::measure(if judged { 200 } else { 2 });
    }
    if wanted("burst") {
        let files = if judged { 20_000 } else { 50 };
        kept &= burst::measure(files, "");
        // Not judged: what it costs without `format::yaml::plain`, which reads no quoted keys.
        burst::measure(files, "\"priority\": normal\n");
    }
    if wanted("idle") {
        kept &= idle::measure(if judged { 50 } else { 2 }, if judged { 60 } else { 1 });
    }
    if wanted("old") {
        kept &= idle::measure_old(
            if judged { 100_000 } else { 100 },
            if judged { 60 } else { 1 },
        );
    }
    if judged && !kept {
        eprintln!("error: a limit was not kept");
        std::process::exit(1);
    }
}
