//! What tx does with panes: open one, look at all, give one something, close it.

use std::path::Path;

use tmux_interface::{
    CapturePane, KillPane, ListPanes, LoadBuffer, NewSession, NewWindow, PasteBuffer, RespawnPane,
    SendKeys, SetOption, TmuxCommand,
};

use super::client::{Client, Error, Reply};

/// The last turn that a pane was given, as an option of it.
const TURN: &str = "@tx-turn";

/// A pane, by the id that tmux gave it. Nothing else names one for sure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PaneId(String);

/// A window to be opened.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Its session, made if it is not there.
    pub session: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The program that runs in it, and its arguments. No shell sees them.
    pub command: &'a [String],
}

/// A pane that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: PaneId,
    /// Is its process gone?
    pub dead: bool,
    /// The last turn that it was given; 0 if none.
    pub turn: u32,
    /// When it last showed something new, in seconds since 1970.
    pub active: i64,
    /// What its program calls it.
    pub title: String,
    /// What it was started with.
    pub command: String,
}

impl Client {
    /// Open a window, in place of a dead pane if there is one.
    pub async fn open(&self, window: Window<'_>, dead: Option<&PaneId>) -> Result<PaneId, Error> {
        if let Some(pane) = dead {
            let unset = SetOption::new().pane().unset().quiet();
            let unset = unset.target_pane(pane.as_str()).option(TURN).build();
            let again = RespawnPane::new().target_pane(pane.as_str()).build();
            let again = with_command(&again, window.command);
            match self.run_all(&[words(&unset), again]).await {
                Ok(_) => return Ok(pane.clone()),
                // Somebody has closed it since.
                Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let session = session_name(window.session);
        let id = "#{pane_id}";
        loop {
            let beside = NewWindow::new().detached().print().format(id);
            let beside = beside
                .target_window(format!("={session}:"))
                .window_name(window.name)
                .build();
            let opened = self.run(&with_command(&beside, window.command)).await;
            let opened = match opened {
                Err(Error::Refused(_)) => {
                    let first = NewSession::new().detached().print().format(id);
                    let first = first
                        .session_name(session.as_str())
                        .window_name(window.name)
                        .build();
                    self.run(&with_command(&first, window.command)).await
                }
                opened => opened,
            };
            match opened {
                Ok(reply) => return pane_id(&reply),
                // Another has made the session at the same time: beside that, then.
                Err(Error::Refused(why)) if why.contains("duplicate session") => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// All panes of the server.
    pub async fn panes(&self) -> Result<Vec<Found>, Error> {
        let fields = "#{pane_id}\t#{pane_dead}\t#{@tx-turn}\t#{window_activity}\t#{pane_title}\t#{pane_start_command}";
        let list = ListPanes::new().all().format(fields).build();
        let reply = self.run(&words(&list)).await?;
        Ok(reply.iter().filter_map(|line| found(line)).collect())
    }

    /// Put the text of a file into a pane, and note which turn that was: both or neither,
    /// whatever becomes of tx meanwhile.
    pub async fn paste(&self, pane: &PaneId, file: &Path, turn: u32) -> Result<(), Error> {
        let file = file.to_str().ok_or(Error::NotText)?;
        let buffer = format!("tx-{}", pane.0.trim_start_matches('%'));
        let load = LoadBuffer::new().buffer_name(buffer.as_str()).path(file);
        let paste = PasteBuffer::new().delete().bracket_codes().no_replacement();
        let paste = paste
            .buffer_name(buffer.as_str())
            .target_pane(pane.as_str());
        let note = SetOption::new().pane().target_pane(pane.as_str());
        let note = note.option(TURN).value(turn.to_string());
        // A person may have scrolled up.
        let leave: Vec<String> = ["copy-mode", "-q", "-t", pane.as_str()]
            .map(Into::into)
            .into();
        let commands = [
            words(&load.build()),
            leave,
            words(&paste.build()),
            words(&note.build()),
        ];
        self.run_all(&commands).await.map(drop)
    }

    /// Press a key in a pane.
    pub async fn press(&self, pane: &PaneId, key: &str) -> Result<(), Error> {
        let press = SendKeys::new().target_pane(pane.as_str()).key(key).build();
        self.run(&words(&press)).await.map(drop)
    }

    /// What a pane shows, and some of what it has shown.
    pub async fn capture(&self, pane: &PaneId, lines_back: u32) -> Result<Reply, Error> {
        let capture = CapturePane::new().stdout().target_pane(pane.as_str());
        let capture = capture.start_line(format!("-{lines_back}")).build();
        self.run(&words(&capture)).await
    }

    /// Close a pane. One that is gone is as good as closed.
    pub async fn close(&self, pane: &PaneId) -> Result<(), Error> {
        let close = KillPane::new().target_pane(pane.as_str()).build();
        match self.run(&words(&close)).await {
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl PaneId {
    /// The id as tmux writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A session as tmux can name it: it takes `.` and `:` for its own.
pub fn session_name(mesh: &str) -> String {
    mesh.replace(['.', ':'], "_")
}

fn words(command: &TmuxCommand) -> Vec<String> {
    command.to_vec().iter().map(ToString::to_string).collect()
}

fn with_command(command: &TmuxCommand, program: &[String]) -> Vec<String> {
    let mut words = words(command);
    words.push("--".into());
    words.extend_from_slice(program);
    words
}

fn pane_id(reply: &Reply) -> Result<PaneId, Error> {
    let id = reply.first().map(|line| String::from_utf8_lossy(line));
    match id.filter(|id| id.starts_with('%')) {
        Some(id) => Ok(PaneId(id.into())),
        None => Err(Error::Refused("it named no pane".into())),
    }
}

fn found(line: &[u8]) -> Option<Found> {
    let line = String::from_utf8_lossy(line);
    let mut fields = line.splitn(6, '\t');
    let mut next = || fields.next();
    Some(Found {
        id: PaneId(next()?.into()),
        dead: next()? == "1",
        turn: next()?.parse().unwrap_or(0),
        active: next()?.parse().unwrap_or(0),
        title: next()?.into(),
        command: next()?.into(),
    })
}
