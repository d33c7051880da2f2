//! The status line at the foot of every window: who works, and what waits for the human. It is sent
//! to tmux when it changes, not at intervals.

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::engine::State;
use crate::tmux::Client;

/// With more agents than these, the line shows a count instead of marks.
const MAX_MARKS: usize = 20;
/// Unread messages are counted up to this number.
pub(super) const MAX_UNREAD: usize = 100;
pub(super) const MAX_REJECTIONS: usize = 10;

/// Keeps tmux's status line current.
pub(super) struct StatusLine {
    line: watch::Sender<String>,
}

/// What waits for the human, apart from asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attention {
    /// Unread messages in the inbox.
    pub(super) unread: usize,
    /// Rejected files that were not fixed since.
    pub(super) rejections: usize,
    /// Messages that nobody could take.
    pub(super) dead_letters: usize,
    /// Meshes that do not load, or load with problems.
    pub(super) meshes: usize,
}

impl StatusLine {
    pub(super) fn new(client: Client, tasks: &mut JoinSet<()>) -> StatusLine {
        let (line, shown) = watch::channel(String::new());
        tasks.spawn(keep(client, shown));
        StatusLine { line }
    }

    /// Show this from now on.
    pub(super) fn show(&self, line: String) {
        self.line.send_if_modified(|shown| {
            let is_new = *shown != line;
            *shown = line;
            is_new
        });
    }
}

/// Send each new line to tmux, also to a server that was started again.
async fn keep(client: Client, mut line: watch::Receiver<String>) {
    let mut server = client.server();
    loop {
        let changed = tokio::select! {
            changed = line.changed() => changed,
            changed = server.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
        let text = line.borrow_and_update().clone();
        // If this fails, tmux gets the next change.
        let _ = client.show_status(&text).await;
    }
}

/// The text of the line, with tmux's colour codes.
pub(super) fn line(state: &State, waiting: Attention) -> String {
    let at_work = state
        .workers()
        .filter(|(_, worker)| worker.status.is_at_work());
    let dialogs = state
        .workers()
        .filter(|(_, worker)| worker.status.has_dialog());
    let asks = state.asks().filter(|(_, asked, _)| asked.is_core());
    let Attention {
        unread,
        rejections,
        dead_letters,
        meshes,
    } = waiting;
    let parts = [
        ("green", marks(at_work.count())),
        (
            "yellow",
            count(asks.count() + dialogs.count(), "ask", "asks"),
        ),
        (
            "red",
            up_to(MAX_REJECTIONS, rejections, "rejection", "rejections"),
        ),
        ("red", count(dead_letters, "dead letter", "dead letters")),
        ("red", count(meshes, "bad mesh", "bad meshes")),
        ("default", up_to(MAX_UNREAD, unread, "new", "new")),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(colour, text)| format!("#[fg={colour}]{text}#[default]"))
        .collect();
    match parts.is_empty() {
        true => " all idle ".into(),
        false => format!(" {} ", parts.join("  ")),
    }
}

/// One mark for each worker.
fn marks(count: usize) -> String {
    match count {
        0..=MAX_MARKS => "●".repeat(count),
        _ => format!("● {count}"),
    }
}

/// `100+` if the count stopped at its limit.
fn up_to(most: usize, number: usize, one: &str, many: &str) -> String {
    match number >= most {
        true => format!("{}+ {many}", most - 1),
        false => count(number, one, many),
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    match number {
        0 => String::new(),
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_waits_and_nothing_else() {
        let state = State::default();
        assert_eq!(line(&state, Attention::default()), " all idle ");
        let waiting = Attention {
            rejections: 1,
            dead_letters: 2,
            unread: 3,
            meshes: 1,
        };
        assert_eq!(
            line(&state, waiting),
            " #[fg=red]1 rejection#[default]  #[fg=red]2 dead letters#[default]  \
             #[fg=red]1 bad mesh#[default]  \
             #[fg=default]3 new#[default] "
        );
        assert_eq!((marks(3), marks(21)), ("●●●".into(), "● 21".into()));
        assert_eq!(up_to(100, 99, "new", "new"), "99 new");
        assert_eq!(up_to(100, 100, "new", "new"), "99+ new");
    }
}
