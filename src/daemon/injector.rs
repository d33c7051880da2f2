//! Results that their task wanted in the core session: one line there points at the files,
//! once the program waits and nobody types. What somebody has begun to type is never
//! touched; a result that finds no moment stays in the inbox, and the human is told.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::sync::mpsc;

use super::Input;
use super::notices::{Notice, Notices, is_still};
use super::signals::at_terminal_of;
use crate::engine::Number;
use crate::model::Pattern;
use crate::tmux::{Client, Error, Moment};

/// How often a moment is looked for, and how far apart. It is one if all was the same at
/// the try before: what was typed while the program worked may show long after its prompt.
const TRIES: u32 = 10;
const APART: Duration = Duration::from_secs(3);
/// Programs lose an Enter that comes sooner after a paste, or take it for a part of it.
const BEFORE_ENTER: Duration = Duration::from_millis(200);
/// How often Enter is pressed, if the line stays where it is.
const ENTERS: u32 = 2;
/// More files than these are for the next line: programs fold up what is very long.
const MOST_FILES: usize = 5;
/// They would run the line. So do those in `/etc/shells`.
const SHELLS: [&str; 12] = [
    "ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "mksh", "nu", "sh", "tcsh", "zsh",
];

/// What came of a task that wants it in the core session.
pub(super) struct Response {
    pub(super) number: Number,
    pub(super) status: String,
    /// Its file, from the root of the project.
    pub(super) file: String,
    pub(super) notice: Notice,
}

/// Puts results into the core pane.
pub(super) struct Injector {
    /// Without a bound: each is a message that the journal has, and leaves within tries.
    responses: mpsc::UnboundedSender<Response>,
}

/// What the program there shows when it waits and nothing is typed.
pub(super) struct Waits {
    pub(super) idle: Pattern,
    pub(super) busy: Option<Pattern>,
}

/// What it takes.
struct Task {
    client: Client,
    waits: Waits,
    notices: Arc<Notices>,
    inputs: mpsc::Sender<Input>,
    /// How it was at the last try, if the program waited then.
    before: Option<Moment>,
}

/// What became of a try.
#[derive(Debug, PartialEq, Eq)]
enum Tried {
    /// The line was sent off.
    Sent,
    /// Nothing was touched.
    NotNow(&'static str),
    /// It is in the line of the human, or was: nobody knows.
    Unsure,
}

impl Injector {
    pub(super) fn new(
        client: Client,
        waits: Waits,
        notices: Arc<Notices>,
        inputs: mpsc::Sender<Input>,
    ) -> Injector {
        let (responses, wanted) = mpsc::unbounded_channel();
        let task = Task {
            client,
            waits,
            notices,
            inputs,
            before: None,
        };
        tokio::spawn(task.run(wanted));
        Injector { responses }
    }

    /// Put it there, when it can be done.
    pub(super) fn inject(&self, response: Response) {
        // The task is there as long as this is.
        let _ = self.responses.send(response);
    }
}

impl Task {
    async fn run(mut self, mut responses: mpsc::UnboundedReceiver<Response>) {
        let mut waiting: VecDeque<(Response, u32)> = VecDeque::new();
        loop {
            if waiting.is_empty() {
                let Some(response) = responses.recv().await else {
                    return;
                };
                waiting.push_back((response, 0));
            }
            while let Ok(response) = responses.try_recv() {
                waiting.push_back((response, 0));
            }
            let together = waiting.len().min(MOST_FILES);
            let chosen = waiting.iter().take(together).map(|(response, _)| response);
            let chosen: Vec<&Response> = chosen.collect();
            let tried = match self.attempt(&chosen).await {
                Ok(tried) => tried,
                Err(error) => {
                    tracing::debug!(%error, "the core pane cannot be looked at");
                    Tried::NotNow("it cannot be looked at")
                }
            };
            match tried {
                Tried::Sent => {
                    let done = waiting
                        .drain(..together)
                        .map(|(response, _)| response.number);
                    // If nobody hears it, they stay unread.
                    let _ = self.inputs.send(Input::Read(done.collect())).await;
                }
                Tried::Unsure => {
                    for (response, _) in waiting.drain(..together) {
                        self.give_up(&response, "it may have been typed, and was not sent off");
                    }
                }
                Tried::NotNow(why) => {
                    for (_, tries) in &mut waiting {
                        *tries += 1;
                    }
                    // The first has waited longest.
                    while let Some((response, _)) =
                        waiting.pop_front_if(|(_, tries)| *tries >= TRIES)
                    {
                        self.give_up(&response, why);
                    }
                }
            }
            if !waiting.is_empty() {
                tokio::time::sleep(APART).await;
            }
        }
    }

    fn give_up(&self, response: &Response, why: &str) {
        tracing::info!(message = response.number.0, why, "stays in the inbox");
        self.notices.tell(&response.notice);
    }

    /// Put a line into the core pane and send it off, if this is the moment.
    async fn attempt(&mut self, responses: &[&Response]) -> Result<Tried, Error> {
        let now = match self.client.core().await? {
            Some(now) => self.waits.why_not(&now).map_or(Ok(now), Err),
            None => Err("there is no core session, or somebody reads back in it"),
        };
        let before = self.before.take();
        let now = match now {
            Ok(now) if before.is_some_and(|before| before.is_like(&now)) => now,
            Ok(now) => {
                self.before = Some(now);
                return Ok(Tried::NotNow("it did not wait for long enough"));
            }
            Err(why) => return Ok(Tried::NotNow(why)),
        };
        let numbers = responses
            .iter()
            .map(|response| response.number.0.to_string());
        let note = numbers.collect::<Vec<_>>().join(" ");
        // A tx that was killed may have put it there.
        let mut put_before = now.put.split(' ');
        if put_before.any(|put| note.split(' ').any(|number| number == put)) {
            return Ok(Tried::Unsure);
        }
        let line = line_for(responses);
        match self.client.put(&now, &line, &note).await {
            Ok(true) => {}
            Ok(false) => return Ok(Tried::NotNow("it changed in the last moment")),
            Err(Error::Gone) => return Ok(Tried::Unsure),
            Err(error) => return Err(error),
        }
        // From here on it is on the screen: it is never put there again.
        let sent = self.send_off(&now, &line).await;
        Ok(sent.unwrap_or(Tried::Unsure))
    }

    /// Press Enter on the line, if it is there and nobody types. Once more if nothing at all
    /// came of it: a program that is slow must not find a second one that it takes for
    /// something else.
    async fn send_off(&self, then: &Moment, line: &str) -> Result<Tried, Error> {
        let mut pressed: Option<Moment> = None;
        let mut enters = 0;
        tokio::time::sleep(BEFORE_ENTER).await;
        loop {
            let Some(now) = self.client.core().await? else {
                return Ok(Tried::Unsure);
            };
            if enters > 0 && now.pid == then.pid && !still_holds(now.line(), line) {
                return Ok(Tried::Sent);
            }
            let is_ours = (now.pid, now.active) == (then.pid, then.active)
                && still_holds(now.line(), line)
                && pressed.is_none_or(|before| before == now);
            if enters == ENTERS || !is_ours || !self.client.enter(&now).await? {
                return Ok(Tried::Unsure);
            }
            enters += 1;
            self.wait_until_taken(line).await?;
            pressed = Some(now);
        }
    }

    /// Wait for a while until the line is gone.
    async fn wait_until_taken(&self, line: &str) -> Result<(), Error> {
        let until = Instant::now() + APART;
        while Instant::now() < until {
            tokio::time::sleep(BEFORE_ENTER).await;
            let now = self.client.core().await?;
            if !now.is_some_and(|now| still_holds(now.line(), line)) {
                break;
            }
        }
        Ok(())
    }
}

impl Waits {
    /// Why this is no moment to type, if it is none.
    fn why_not(&self, core: &Moment) -> Option<&'static str> {
        let (before, behind) = core.around_cursor();
        if !self.idle.ends(&before) || !behind.trim_matches(is_frame).is_empty() {
            Some("it does not show `core.idle` at its cursor")
        } else if self.busy.as_ref().is_some_and(|b| b.is_in(&core.screen())) {
            Some("it shows `core.busy`")
        } else if !is_still(core.active) {
            Some("somebody types")
        } else if !has_terminal(core.pid) {
            Some("another program has its terminal, or it is a shell")
        } else {
            None
        }
    }
}

/// Has the program of a pane its terminal for itself, and is it no shell? What cannot be
/// known is none.
fn has_terminal(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else {
        return false;
    };
    let Ok(program) = fs::read_link(format!("/proc/{pid}/exe")) else {
        return false;
    };
    // One that was replaced since has lost its name.
    at_terminal_of(pid) == Some(pid) && program.exists() && !is_shell(&program)
}

fn is_shell(program: &Path) -> bool {
    let listed = fs::read_to_string("/etc/shells").unwrap_or_default();
    let real = |path: &str| fs::canonicalize(path).is_ok_and(|path| path == program);
    let name = program.file_name().unwrap_or_default();
    SHELLS.iter().any(|shell| name == *shell)
        || listed
            .lines()
            .any(|line| line.starts_with('/') && real(line.trim()))
}

/// One line that points at the files. What others named is in it only where it is harmless,
/// whatever reads it.
fn line_for(responses: &[&Response]) -> String {
    let named = responses.iter().map(|response| {
        let from = &response.notice.from;
        let status = harmless(&response.status).unwrap_or("done");
        match harmless(&response.file) {
            Some(file) => format!("{from} {status} {file}"),
            None => format!("{from} {status}, and tx inbox names the file"),
        }
    });
    let named: Vec<String> = named.collect();
    let what = match named.len() {
        1 => "a result has come",
        _ => "results have come",
    };
    format!("tx: {what}: {}", named.join(", "))
}

fn harmless(text: &str) -> Option<&str> {
    let is = |c: char| c.is_alphanumeric() || "._/~-".contains(c);
    (text.chars().all(is) && !text.starts_with('-')).then_some(text)
}

/// Blanks, and what some draw around the line that is typed.
fn is_frame(c: char) -> bool {
    c.is_whitespace() || c == '|' || ('\u{2500}'..='\u{259f}').contains(&c)
}

/// Is the end of a text still in the line of the cursor?
fn still_holds(line: &str, text: &str) -> bool {
    const TAIL: usize = 12;
    let tail = text.char_indices().rev().nth(TAIL - 1);
    let from = tail.map_or(0, |(at, _)| at);
    let line = line.trim_matches(is_frame);
    // A long text is wrapped, and the last line of it may be short.
    !line.is_empty() && (line.contains(&text[from..]) || text.ends_with(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_not_sent_off_is_known_also_when_it_is_wrapped_or_framed() {
        let text = "tx: a result has come: dev/a complete .ai/tx/msgs/a.md";
        for (line, holds) in [
            (format!("> {text}"), true),
            (format!("│ > {text}  │"), true),
            ("sgs/a.md".into(), true),
            ("│ sgs/a.md │".into(), true),
            (">".into(), false),
            ("│ >        │".into(), false),
            (String::new(), false),
            ("working".into(), false),
        ] {
            assert_eq!(still_holds(&line, text), holds, "{line:?}");
        }
    }

    #[test]
    fn a_line_has_nothing_in_it_that_a_program_could_take_for_its_own() {
        let response = |file: &str, status: &str| Response {
            number: Number(1),
            status: status.into(),
            file: file.into(),
            notice: Notice {
                id: String::new(),
                from: "dev/a".into(),
                kind: String::new(),
                headline: String::new(),
            },
        };
        let good = response(".ai/tx/msgs/é-1.md", "complete");
        assert_eq!(
            line_for(&[&good]),
            "tx: a result has come: dev/a complete .ai/tx/msgs/é-1.md"
        );
        let bad = response(".ai/tx/msgs/$(touch x).md", "a;b");
        assert_eq!(
            line_for(&[&good, &bad]),
            "tx: results have come: dev/a complete .ai/tx/msgs/é-1.md, \
             dev/a done, and tx inbox names the file"
        );
    }

    #[test]
    fn shells_are_known_by_the_program_and_not_by_its_name() {
        let sh = fs::canonicalize("/bin/sh").unwrap();
        assert!(is_shell(&sh) && is_shell(Path::new("/opt/bin/fish")));
        assert!(!is_shell(Path::new("/usr/bin/python3")));
    }
}
