//! What tx does with panes: open one, list all, close one.

use tmux_interface::{
    KillPane, ListPanes, NewSession, NewWindow, RespawnPane, SelectPane, SetOption, TmuxCommand,
};

use super::client::{Client, Error, OutputLines};
use super::quote::literal;
use super::server::ServerId;
use super::typing::Mark;

/// A pane, by the id that its server gave it. Only the id is unique.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PaneId {
    server: ServerId,
    id: String,
}

/// A window to open.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Its session. It is created if it does not exist.
    pub session: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The program that runs in it, and its arguments. No shell sees them.
    pub command: &'a [String],
}

/// A pane, as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneInfo {
    /// Its id.
    pub id: PaneId,
    /// Whether its process is gone.
    pub dead: bool,
    /// The last turn that it was given; 0 if none.
    pub turn: u32,
    /// When it last showed something new, in seconds since 1970.
    pub active: i64,
    /// Its title, which its program sets.
    pub title: String,
    /// The command that it was started with.
    pub command: String,
}

/// A person who is attached to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name of the tmux client.
    pub name: String,
    /// The terminal.
    pub terminal: String,
    /// When something was last typed there, in seconds since 1970.
    pub active: u64,
    /// Whether the visible pane shows a full-screen program.
    pub full_screen: bool,
    /// The terminal device of the visible pane.
    pub pane_terminal: String,
}

impl Client {
    /// Open a window, or use a dead pane again.
    pub async fn open(&self, window: Window<'_>, dead: Option<&PaneId>) -> Result<PaneId, Error> {
        if let Some(pane) = dead {
            let unset = SetOption::new().pane().unset().quiet();
            let unset = unset.target_pane(pane.as_str()).option(Mark::TURN).build();
            // tmux may not have noticed yet that the process is gone.
            let again = RespawnPane::new().kill().target_pane(pane.as_str()).build();
            let again = with_command(&again, window.command);
            // The title belongs to the old program.
            let untitled = SelectPane::new()
                .target_pane(pane.as_str())
                .title("")
                .build();
            let commands = [words(&unset), again, words(&untitled)];
            match self.run_on(&pane.server, &commands).await {
                Ok(_) => return Ok(pane.clone()),
                // Somebody has closed the pane.
                Err(Error::Refused(_) | Error::OtherServer) => {}
                Err(error) => return Err(error),
            }
        }
        let session = session_name(window.session);
        let (named, name) = (literal(&session), literal(window.name));
        let printed = format!("{} #{{pane_id}}", ServerId::FORMAT);
        loop {
            let beside = NewWindow::new().detached().print().format(printed.as_str());
            let beside = beside
                .target_window(format!("={session}:"))
                .window_name(name.as_str())
                .build();
            let opened = self.run(&with_command(&beside, window.command)).await;
            let opened = match opened {
                Err(Error::Refused(_)) => {
                    let first = NewSession::new().detached().print();
                    let first = first
                        .format(printed.as_str())
                        .session_name(named.as_str())
                        .window_name(name.as_str())
                        .build();
                    self.run(&with_command(&first, window.command)).await
                }
                opened => opened,
            };
            match opened {
                Ok(reply) => return pane_id(&reply),
                // Somebody else has created the session at the same time.
                Err(Error::Refused(why)) if why.contains("duplicate session") => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// All panes of the server.
    pub async fn panes(&self) -> Result<Vec<PaneInfo>, Error> {
        let fields = [
            ServerId::FORMAT,
            "#{pane_id}",
            "#{pane_dead}",
            "#{@tx-turn}",
            "#{window_activity}",
            "#{pane_title}",
            "#{pane_start_command}",
        ];
        let list = ListPanes::new().all().format(fields.join("\t")).build();
        let reply = self.run(&words(&list)).await?;
        Ok(reply.iter().filter_map(|line| found(line)).collect())
    }

    /// Set the status line of every window, with tmux's colour codes.
    pub async fn show_status(&self, line: &str) -> Result<(), Error> {
        let show = SetOption::new().global().option("status-right").value(line);
        self.run(&words(&show.build())).await.map(drop)
    }

    /// The people who are attached to this server.
    pub async fn people(&self) -> Result<Vec<Person>, Error> {
        let fields = [
            "#{client_control_mode}",
            "#{client_activity}",
            "#{alternate_on}",
            "#{pane_tty}",
            "#{client_tty}",
            "#{client_name}",
        ];
        let fields = fields.join("\t");
        let reply = self.run(&["list-clients", "-F", &fields]).await?;
        Ok(reply.iter().filter_map(|line| person(line)).collect())
    }

    /// Close a pane. A pane that is already gone is fine.
    pub async fn close(&self, pane: &PaneId) -> Result<(), Error> {
        let close = KillPane::new().target_pane(pane.as_str()).build();
        match self.run_on(&pane.server, &[words(&close)]).await {
            Ok(_) | Err(Error::Refused(_) | Error::OtherServer) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl PaneId {
    pub(super) fn new(server: &str, id: &str) -> PaneId {
        PaneId {
            server: ServerId::new(server),
            id: id.into(),
        }
    }

    /// The id as its server writes it.
    pub fn as_str(&self) -> &str {
        &self.id
    }

    /// The server that named it.
    pub fn server(&self) -> &ServerId {
        &self.server
    }
}

/// The name of a mesh's session: tmux gives `.` and `:` a meaning of its own.
pub fn session_name(mesh: &str) -> String {
    mesh.replace(['.', ':'], "_")
}

pub(super) fn words(command: &TmuxCommand) -> Vec<String> {
    command.to_vec().iter().map(ToString::to_string).collect()
}

fn with_command(command: &TmuxCommand, program: &[String]) -> Vec<String> {
    let mut words = words(command);
    words.push("--".into());
    words.extend_from_slice(program);
    words
}

fn pane_id(reply: &OutputLines) -> Result<PaneId, Error> {
    let printed = reply.first().map(|line| String::from_utf8_lossy(line));
    let named = printed.as_deref().and_then(|line| line.split_once(' '));
    match named {
        Some((server, id)) => Ok(PaneId::new(server, id)),
        None => Err(Error::Refused("it named no pane".into())),
    }
}

fn found(line: &[u8]) -> Option<PaneInfo> {
    let line = String::from_utf8_lossy(line);
    let mut fields = line.splitn(7, '\t');
    let mut next = || fields.next();
    Some(PaneInfo {
        id: PaneId::new(next()?, next()?),
        dead: next()? == "1",
        turn: next()?.parse().unwrap_or(0),
        active: next()?.parse().unwrap_or(0),
        title: next()?.into(),
        command: next()?.into(),
    })
}

fn person(line: &[u8]) -> Option<Person> {
    let line = String::from_utf8_lossy(line);
    // The other clients are not people.
    let mut fields = line.strip_prefix("0\t")?.splitn(5, '\t');
    Some(Person {
        active: fields.next()?.parse().unwrap_or(0),
        full_screen: fields.next()? == "1",
        pane_terminal: fields.next()?.into(),
        terminal: fields.next()?.into(),
        name: fields.next()?.into(),
    })
}
