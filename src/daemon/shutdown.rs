//! The end of the daemon: on request, or because the project or its state is gone.

use std::fs;
use std::time::Duration;

use super::control::Reply;
use super::lock::Lost;
use super::run::{Daemon, End};
use crate::project::create_private;

/// How long agents may take to end before tx ends without them. This is less than `tx stop` waits.
const LAST: Duration = Duration::from_secs(25);

impl Daemon {
    /// Save a copy of the journal: it is still open, and its removal may have been a mistake.
    pub(super) fn save_journal(&self, lost: Lost) -> Lost {
        match lost {
            Lost::State { path, copy: _ } => {
                let name = format!("journal-{}.saved", self.clock.now());
                let copy = self.project.root.join(".ai/tx").join(name);
                let saved = copy.parent().map_or(Ok(()), fs::create_dir_all);
                let saved = saved.and_then(|()| create_private(&copy).map(drop));
                let saved = saved.map_err(|error| error.to_string()).and_then(|()| {
                    let copied = self.store.reader().copy_to(&copy);
                    copied.map_err(|error| error.to_string())
                });
                if let Err(error) = &saved {
                    tracing::error!(%error, "the journal cannot be saved");
                }
                Lost::State {
                    path,
                    copy: saved.is_ok().then_some(copy),
                }
            }
            lost @ (Lost::Moved { .. } | Lost::Removed(_)) => lost,
        }
    }

    /// Nothing is left to work with. End the agents, which could never be found again, and show the
    /// reason to everybody who watches.
    pub(super) async fn shut_down(&mut self, lost: &Lost) {
        self.consumer.stop();
        self.notifier.last_word(&format!("tx: {lost}")).await;
        self.jobs.end_all().await;
        let ended = tokio::time::timeout(LAST, self.processes.end_agents());
        if ended.await.is_err() {
            tracing::error!("agents could not be ended: `ps` shows them");
        }
    }

    pub(super) async fn stop(&mut self, end: End) {
        tracing::info!(kill_agents = end.kill_agents, "tx stops");
        self.consumer.stop();
        // After a snapshot, the next start would take these messages for written.
        if self.system_messages.end().await
            && let Err(error) = self.store.snapshot()
        {
            tracing::warn!(%error, "no snapshot: the next start takes longer");
        }
        if end.kill_agents {
            self.jobs.end_all().await;
        }
        if end.kill_agents
            && tokio::time::timeout(LAST, self.processes.end_all())
                .await
                .is_err()
        {
            tracing::error!("not all agents have ended: `tx stop --kill-agents` tries again");
        }
        if let Some(asked) = end.asked {
            let _ = asked.send(Reply::Done);
        }
    }
}
