//! What the panes show, read once a second while somebody wants to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::tmux::{Client, PaneInfo};

/// How often they are read. Nothing is read while nobody wants to know.
const OFTEN: Duration = Duration::from_secs(1);

/// What the panes show.
#[derive(Clone)]
pub(super) struct Screens {
    shown: watch::Receiver<Arc<[PaneInfo]>>,
    wanted: Arc<Interest>,
}

#[derive(Default)]
struct Interest {
    by: AtomicUsize,
    now: Notify,
}

/// Keeps the panes being read.
pub(super) struct ScreenWatch(Arc<Interest>);

impl Screens {
    /// Read the panes of a server whenever somebody wants to know.
    pub(super) fn new(client: Client, tasks: &mut JoinSet<()>) -> Screens {
        let (shows, shown) = watch::channel(Arc::from([]));
        let wanted = Arc::new(Interest::default());
        tasks.spawn(look(client, Arc::clone(&wanted), shows));
        Screens { shown, wanted }
    }

    /// What the panes show, updated with each read.
    pub(super) fn watch(&self) -> watch::Receiver<Arc<[PaneInfo]>> {
        self.shown.clone()
    }

    /// Have the panes read until this is dropped.
    pub(super) fn look(&self) -> ScreenWatch {
        if self.wanted.by.fetch_add(1, Ordering::Relaxed) == 0 {
            self.wanted.now.notify_one();
        }
        ScreenWatch(Arc::clone(&self.wanted))
    }
}

impl Drop for ScreenWatch {
    fn drop(&mut self) {
        self.0.by.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn look(client: Client, wanted: Arc<Interest>, shows: watch::Sender<Arc<[PaneInfo]>>) {
    loop {
        tokio::time::sleep(OFTEN).await;
        if shows.is_closed() {
            return;
        }
        if wanted.by.load(Ordering::Relaxed) == 0 {
            wanted.now.notified().await;
            continue;
        }
        if let Ok(found) = client.panes().await {
            let _ = shows.send(found.into());
        }
    }
}
