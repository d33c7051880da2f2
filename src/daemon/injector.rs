//! Results that their task wanted in the core session: one line there points at the files,
//! once the program waits and nobody types. What somebody has begun to type is never
//! touched; a result that finds no moment stays in the inbox, and the human is told.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::mpsc;

use super::Input;
use super::notices::{Notice, Notices};
use crate::engine::Number;
use crate::format::report::printable;
use crate::model::Pattern;
use crate::tmux::{Client, Error, Moment};

/// How often a moment is looked for, and how far apart.
const TRIES: u32 = 10;
const APART: Duration = Duration::from_secs(3);
/// Nobody has typed for so long. tmux tells of it in whole seconds.
const STILL: Duration = Duration::from_secs(3);
/// All has to be the same for so long: what was typed while the program worked shows
/// only after its prompt.
const SETTLED: Duration = Duration::from_millis(300);
/// Programs lose an Enter that comes sooner after a paste, or take it for a part of it.
const BEFORE_ENTER: Duration = Duration::from_millis(200);
/// How often Enter is pressed, if the line stays where it is.
const ENTERS: u32 = 3;
/// More files than these are for the next line.
const MOST_FILES: usize = 10;
/// They would run the line.
const SHELLS: [&str; 10] = [
    "ash", "bash", "csh", "dash", "fish", "ksh", "nu", "sh", "tcsh", "zsh",
];

/// A result.
pub(super) struct Wanted {
    pub(super) number: Number,
    pub(super) status: String,
    /// Its file, from the root of the project.
    pub(super) file: String,
    pub(super) notice: Notice,
}

/// Puts results into the core pane.
pub(super) struct Injector {
    results: mpsc::UnboundedSender<Wanted>,
}

/// What it takes.
struct Task {
    client: Client,
    /// What the program shows when it waits and nothing is typed.
    idle: Pattern,
    notices: Arc<Notices>,
    inputs: mpsc::Sender<Input>,
}

impl Injector {
    pub(super) fn new(
        client: Client,
        idle: Pattern,
        notices: Arc<Notices>,
        inputs: mpsc::Sender<Input>,
    ) -> Injector {
        let (results, wanted) = mpsc::unbounded_channel();
        let task = Task {
            client,
            idle,
            notices,
            inputs,
        };
        tokio::spawn(task.run(wanted));
        Injector { results }
    }

    /// Put it there, when it can be done.
    pub(super) fn inject(&self, result: Wanted) {
        // The task is there as long as this is.
        let _ = self.results.send(result);
    }
}

impl Task {
    async fn run(self, mut results: mpsc::UnboundedReceiver<Wanted>) {
        let mut waiting: VecDeque<(Wanted, u32)> = VecDeque::new();
        loop {
            if waiting.is_empty() {
                let Some(result) = results.recv().await else {
                    return;
                };
                waiting.push_back((result, 0));
            }
            while let Ok(result) = results.try_recv() {
                waiting.push_back((result, 0));
            }
            let together = waiting.len().min(MOST_FILES);
            let line = line_for(waiting.iter().take(together).map(|(result, _)| result));
            match self.put(&line).await {
                Ok(true) => {
                    let done = waiting.drain(..together).map(|(result, _)| result.number);
                    // If nobody hears it, they stay unread.
                    let _ = self.inputs.send(Input::Read(done.collect())).await;
                }
                tried => {
                    if let Err(error) = tried {
                        tracing::debug!(%error, "the core pane cannot be looked at");
                    }
                    for (_, tries) in &mut waiting {
                        *tries += 1;
                    }
                    // The first has waited longest.
                    while let Some((result, _)) = waiting.pop_front_if(|(_, tries)| *tries >= TRIES)
                    {
                        tracing::info!(message = result.number.0, "stays in the inbox");
                        self.notices.tell(&result.notice);
                    }
                }
            }
            if !waiting.is_empty() {
                tokio::time::sleep(APART).await;
            }
        }
    }

    /// Put a line into the core pane and send it off, if this is the moment. Was it?
    async fn put(&self, line: &str) -> Result<bool, Error> {
        let Some(first) = self.waits().await? else {
            return Ok(false);
        };
        tokio::time::sleep(SETTLED).await;
        let Some(then) = self.waits().await?.filter(|now| *now == first) else {
            return Ok(false);
        };
        if !self.client.put(&then, line).await? {
            return Ok(false);
        }
        // From here on it is on the screen: whoever types now sees it, and has it.
        for _ in 0..ENTERS {
            tokio::time::sleep(BEFORE_ENTER).await;
            if !self.client.enter(&then).await? {
                break;
            }
            tokio::time::sleep(BEFORE_ENTER).await;
            let now = self.client.core().await?;
            if !now.is_some_and(|now| still_holds(&now.line, line)) {
                break;
            }
        }
        Ok(true)
    }

    /// The core pane, if its program waits and nobody types.
    async fn waits(&self) -> Result<Option<Moment>, Error> {
        let core = self.client.core().await?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs();
        Ok(core.filter(|core| {
            self.idle.matches(&core.line)
                && !SHELLS.contains(&core.program.trim_start_matches('-'))
                && now.saturating_sub(core.active) >= STILL.as_secs()
        }))
    }
}

/// One line that points at the files.
fn line_for<'a>(results: impl Iterator<Item = &'a Wanted>) -> String {
    let named = results.map(|result| {
        let Wanted { status, file, .. } = result;
        format!("{} {status} {file}", result.notice.from)
    });
    let named: Vec<String> = named.collect();
    let what = match named.len() {
        1 => "a result has come",
        _ => "results have come",
    };
    printable(&format!("tx: {what}: {}", named.join(" ; ")))
}

/// Is the end of a text still in the line of the cursor?
fn still_holds(line: &str, text: &str) -> bool {
    const TAIL: usize = 12;
    let from = text.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
    let line = line.trim();
    // A long text is wrapped, and the last line of it may be short.
    !line.is_empty() && (line.ends_with(&text[from..]) || text.ends_with(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_not_sent_off_is_known_also_when_it_is_wrapped() {
        let text = "tx: a result has come: dev/a complete .ai/tx/msgs/a.md";
        for (line, holds) in [
            (format!("> {text}"), true),
            ("sgs/a.md".into(), true),
            (">".into(), false),
            (String::new(), false),
            ("working".into(), false),
        ] {
            assert_eq!(still_holds(&line, text), holds, "{line:?}");
        }
    }
}
