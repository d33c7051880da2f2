//! What three gates that pass add to an outcome, beside the same three programs in a loop of a
//! shell that keeps their output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::panes::Panes;
use crate::ratio::judge;

const LOOP: &str = "n=0; for c in /bin/true /bin/true /bin/true; do n=$((n+1)); \
                    $c </dev/null >out$n 2>err$n || exit; done";

pub(crate) fn measure(samples: usize) -> bool {
    let mut shell = Shell::new();
    let gated = outcomes("quality:\n  worker: { deterministic: [['true'], ['true'], ['true']] }\n");
    let plain = outcomes("");
    let mut times: [Vec<Duration>; 4] = Default::default();
    for sample in 0..samples + 5 {
        let round = [
            shell.start_and_loop(),
            shell.only_loop(),
            once(&plain, sample),
            once(&gated, sample),
        ];
        // The first few warm up.
        if sample >= 5 {
            for (times, time) in times.iter_mut().zip(round) {
                times.push(time);
            }
        }
    }
    let [with_start, without, plain, gated] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    let gates = gated.saturating_sub(plain);
    let ratio = gates.as_secs_f64() / without.as_secs_f64();
    println!("time   {gated:.1?} an outcome through three gates, {plain:.1?} one without gates");
    println!(
        "ratio  {ratio:.2}, not judged  three gates that pass / the loop in a shell that runs already  \
         ({gates:.1?} / {without:.1?})"
    );
    judge(
        "three gates that pass / the same programs in a shell loop",
        with_start,
        gates,
        1.3,
    )
}

/// The loop.
struct Shell {
    folder: TempDir,
    running: Child,
    asks: ChildStdin,
    says: BufReader<ChildStdout>,
}

impl Shell {
    fn new() -> Shell {
        let folder = TempDir::with_prefix("tx-shell-").expect("a temporary folder can be made");
        let mut running = Command::new("sh")
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let asks = running.stdin.take().expect("it is a pipe");
        let says = BufReader::new(running.stdout.take().expect("it is a pipe"));
        Shell {
            folder,
            running,
            asks,
            says,
        }
    }

    /// With the start of the shell.
    fn start_and_loop(&self) -> Duration {
        let began = Instant::now();
        let mut shell = Command::new("sh");
        let ended = shell.args(["-c", LOOP]).current_dir(&self.folder).status();
        assert!(ended.expect("there is a shell").success());
        began.elapsed()
    }

    /// In a shell that runs already.
    fn only_loop(&mut self) -> Duration {
        let began = Instant::now();
        writeln!(self.asks, "{LOOP}; echo done").expect("the shell lives");
        let mut line = String::new();
        self.says.read_line(&mut line).expect("the shell lives");
        assert_eq!(line, "done\n");
        began.elapsed()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

/// A worker that sends outcomes to an idle program in a pane.
fn outcomes(quality: &str) -> Panes {
    Panes::new(|reads| {
        format!(
            "mesh: bench\nentry_point: worker\nagents:\n  - name: worker\n    {reads}, --silent]\n  \
             - name: reader\n    {reads}]\n\
             routing: {{ worker: {{ complete: reader }}, reader: {{ complete: core }} }}\n{quality}"
        )
    })
}

/// From the close of an outcome's file to its bytes in the reader.
fn once(panes: &Panes, sample: usize) -> Duration {
    let task = format!("task-{sample}");
    panes.project.drop_message("bench", &task, "");
    panes.heard();
    let text = format!(
        "---\nto: bench/reader\nfrom: bench/worker\nmsg-id: outcome-{sample}\nstatus: complete\n\
         headline: done\ntimestamp: 2026-11-15T10:00:00.000Z\n---\n\nIt is done.\n"
    );
    panes.deliver(&format!("outcome-{sample}.md"), &text)
}
