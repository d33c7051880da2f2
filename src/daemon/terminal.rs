//! A tmux pane, as [`Pane`](crate::pane::Pane) sees it and acts on it.

use super::blocking::run_blocking;
use super::notifier::is_still;
use crate::pane::{Content, Pasted, Saw, Text, View};
use crate::runtime::screen::Screen;
use crate::tmux::{Client, Error, Mark, PaneId, PaneInfo, PaneSnapshot, Paste, PasteContent};

/// A tmux pane, with its screen as of the last look.
pub(super) struct Terminal {
    client: Client,
    moment: Option<PaneSnapshot>,
}

impl Terminal {
    pub(super) fn new(client: Client) -> Terminal {
        Terminal {
            client,
            moment: None,
        }
    }

    /// Look at its screen. `is_free` tells whether the program with this process id has the
    /// terminal to itself; without it, it does.
    pub(super) async fn look(&mut self, at: &PaneId, is_free: Option<fn(i32) -> bool>) -> Saw {
        self.moment = match self.client.look(at).await {
            Ok(moment) => moment,
            Err(error) => return Saw::NotSeen(Some(error.to_string())),
        };
        let Some(moment) = &self.moment else {
            return Saw::NotSeen(None);
        };
        let pid = moment.pid;
        let free = match is_free {
            Some(is_free) => run_blocking(move || is_free(pid)).await,
            None => true,
        };
        Saw::Screen(view(moment, free))
    }

    /// Everything its screen shows; empty if it cannot be read.
    pub(super) async fn text(&mut self, at: &PaneId) -> String {
        match self.look(at, None).await {
            Saw::Screen(view) => view.screen.text(),
            _ => String::new(),
        }
    }

    /// Look at its title alone.
    pub(super) async fn title(&self, at: &PaneId) -> Saw {
        match self.client.panes().await {
            Ok(panes) => {
                let found = panes.iter().find(|found| found.id == *at);
                found.map_or(Saw::NotSeen(None), title)
            }
            Err(error) => Saw::NotSeen(Some(error.to_string())),
        }
    }

    /// Paste a text. With `as_seen`, only if the screen has not changed since the last look.
    pub(super) async fn paste(&self, at: &PaneId, text: &Text, as_seen: bool) -> Saw {
        let what = match &text.content {
            Content::File(file) => PasteContent::File(file),
            Content::Line(line) => PasteContent::Line(line),
        };
        let mark = match &text.content {
            Content::File(_) => text.turn.map(|_| Mark::Turn(&text.mark)),
            Content::Line(_) => text.turn.map(|_| Mark::Messages(&text.mark)),
        };
        let put = Paste { what, mark };
        let pasted = match (as_seen, &self.moment) {
            (false, _) => self.client.paste(at, put).await.map(|()| true),
            (true, Some(moment)) => self.client.paste_if(moment, put).await,
            (true, None) => Ok(false),
        };
        Saw::Pasted(match pasted {
            Ok(true) => Pasted::There,
            Ok(false) => Pasted::Changed,
            Err(Error::Gone) => Pasted::Unknown,
            Err(Error::OtherServer) => Pasted::NoPane,
            Err(
                error @ (Error::NotStarted(_)
                | Error::Refused(_)
                | Error::LineBreak
                | Error::NotText),
            ) => Pasted::Refused(error.to_string()),
        })
    }

    /// Press Enter, if the screen has not changed since the last look.
    pub(super) async fn enter(&self) -> Saw {
        let pressed = match &self.moment {
            Some(moment) => self.client.enter(moment).await.unwrap_or(false),
            None => false,
        };
        Saw::Pressed(pressed)
    }

    /// Press keys, if the screen has not changed since the last look.
    pub(super) async fn press(&self, keys: &[String]) -> Saw {
        let pressed = match &self.moment {
            Some(moment) => self.client.press_if(moment, keys).await.unwrap_or(false),
            None => false,
        };
        Saw::Pressed(pressed)
    }
}

/// The title of a pane, from the list of all panes.
pub(super) fn title(found: &PaneInfo) -> Saw {
    Saw::Title {
        title: found.title.clone(),
        shown: found.active,
        mark: found.turn.to_string(),
    }
}

fn view(moment: &PaneSnapshot, free: bool) -> View {
    View {
        screen: Screen {
            title: moment.title.clone(),
            lines: moment.lines.clone(),
            cursor: Some(moment.cursor),
            dead: moment.dead,
        },
        shown: moment.shown,
        mark: moment.mark.clone(),
        pid: moment.pid,
        keys: moment.keys,
        quiet: is_still(moment.keys) && !moment.scrolled,
        free,
    }
}
