//! Puts text into panes: at once, or only if the pane is unchanged since the last look. Check and
//! paste are one step then.

use std::path::Path;

use tmux_interface::{
    CapturePane, ListPanes, LoadBuffer, PasteBuffer, SelectPane, SendKeys, SetBuffer, SetOption,
};

use super::client::{Client, Error};
use super::panes::{PaneId, words};
use super::quote::literal;
use super::server::ServerId;

/// The option that marks the core pane.
pub const CORE: &str = "@tx-core";

/// The state of a pane at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneSnapshot {
    pane: PaneId,
    /// A person has scrolled up in it.
    pub scrolled: bool,
    /// Its process is gone.
    pub dead: bool,
    /// The process that was started in it.
    pub pid: i32,
    /// The column and the line of the cursor.
    pub cursor: [usize; 2],
    /// When something was last typed in its session, in seconds since 1970.
    pub keys: u64,
    /// When it last showed something new, in seconds since 1970.
    pub shown: i64,
    /// The marks of what it was given last.
    pub mark: String,
    /// Its title, which its program sets.
    pub title: String,
    /// Its lines, without blanks at their ends.
    pub lines: Vec<String>,
}

/// A text, and the mark that is set with it.
#[derive(Clone, Copy, Debug)]
pub struct Paste<'a> {
    /// What is pasted.
    pub what: PasteContent<'a>,
    /// A mark that is set on the pane in the same step.
    pub mark: Option<Mark<'a>>,
}

/// What is pasted.
#[derive(Clone, Copy, Debug)]
pub enum PasteContent<'a> {
    /// The content of a file.
    File(&'a Path),
    /// A line.
    Line(&'a str),
}

/// A mark on a pane.
#[derive(Clone, Copy, Debug)]
pub enum Mark<'a> {
    /// The last turn that was given.
    Turn(&'a str),
    /// The last messages that were pasted.
    Messages(&'a str),
}

impl Mark<'_> {
    /// The pane option with the last turn.
    pub(super) const TURN: &'static str = "@tx-turn";
    /// The pane option with the last messages.
    const MESSAGES: &'static str = "@tx-put";

    fn set(self, target: &str) -> Vec<String> {
        let (option, value) = match self {
            Mark::Turn(value) => (Self::TURN, value),
            Mark::Messages(value) => (Self::MESSAGES, value),
        };
        let set = SetOption::new().pane().target_pane(target);
        words(&set.option(option).value(value).build())
    }
}

impl Client {
    /// The core pane, if there is one.
    pub async fn core(&self) -> Result<Option<PaneId>, Error> {
        let list = ListPanes::new().all();
        let list = list.format(format!("#{{{CORE}}}\t{}\t#{{pane_id}}", ServerId::FORMAT));
        let panes = self.run(&words(&list.build())).await?;
        Ok(panes.iter().find_map(|line| {
            let line = String::from_utf8_lossy(line);
            let (server, id) = line.strip_prefix("1\t")?.split_once('\t')?;
            Some(PaneId::new(server, id))
        }))
    }

    /// Read a pane; `None` if it does not exist.
    pub async fn look(&self, pane: &PaneId) -> Result<Option<PaneSnapshot>, Error> {
        let fields = [
            ServerId::FORMAT,
            "#{pane_in_mode}",
            "#{pane_dead}",
            "#{pane_pid}",
            "#{cursor_x}",
            "#{cursor_y}",
            "#{session_activity}",
            "#{window_activity}",
            &format!("#{{{}}}#{{{}}}", Mark::TURN, Mark::MESSAGES),
            "#{pane_title}",
        ];
        let tell = ["display-message", "-p", "-t", pane.as_str()].map(String::from);
        let tell = [&tell[..], &[fields.join("\t")]].concat();
        let capture = CapturePane::new().stdout().target_pane(pane.as_str());
        // The screen may contain text that looks like the end of a control-mode reply.
        let looked = self.print(&[tell, words(&capture.build())]).await?;
        Ok(moment(pane, &looked))
    }

    /// Paste a text and set its mark, both or neither, even if tx dies meanwhile. The pane's old
    /// title is cleared.
    pub async fn paste(&self, pane: &PaneId, put: Paste<'_>) -> Result<(), Error> {
        let target = pane.as_str();
        // Leave copy mode, in case a person has scrolled up.
        let leave = ["copy-mode", "-q", "-t", target].map(String::from);
        let rename = SelectPane::new().target_pane(target).title("busy").build();
        let mut commands = commands(pane, put)?;
        commands.splice(1..1, [leave.into(), words(&rename)]);
        self.run_on(pane.server(), &commands).await.map(drop)
    }

    /// The same, only if the pane is unchanged since that snapshot. Returns whether it was.
    pub async fn paste_if(&self, then: &PaneSnapshot, put: Paste<'_>) -> Result<bool, Error> {
        let commands = commands(&then.pane, put)?;
        self.run_if(&then.pane, &then.is_now(), &commands).await
    }

    /// Press Enter, if the pane is unchanged since that snapshot. Returns whether it was.
    pub async fn enter(&self, then: &PaneSnapshot) -> Result<bool, Error> {
        let press = SendKeys::new().target_pane(then.pane.as_str()).key("Enter");
        let commands = [words(&press.build())];
        self.run_if(&then.pane, &then.is_now(), &commands).await
    }

    /// Press keys without looking at the pane.
    pub async fn press(&self, pane: &PaneId, keys: &[String]) -> Result<(), Error> {
        self.run_on(pane.server(), &presses(pane, keys))
            .await
            .map(drop)
    }

    /// Press keys, if the pane is unchanged and has shown nothing new since that snapshot. Returns
    /// whether it was.
    pub async fn press_if(&self, then: &PaneSnapshot, keys: &[String]) -> Result<bool, Error> {
        let rests = format!("#{{==:#{{window_activity}},{}}}", then.shown);
        let same = format!("#{{&&:{},{rests}}}", then.is_now());
        self.run_if(&then.pane, &same, &presses(&then.pane, keys))
            .await
    }
}

impl PaneSnapshot {
    /// A tmux format that is true if the same program has its cursor at the same place and nobody
    /// has typed since. tmux records a key before it passes it on, in whole seconds, so keys within
    /// the second of the snapshot cannot be detected.
    fn is_now(&self) -> String {
        let [x, y] = self.cursor;
        let fields = "#{pane_in_mode} #{pane_pid} #{cursor_x} #{cursor_y} #{session_activity}";
        let were = format!("0 {} {x} {y} {}", self.pid, self.keys);
        format!("#{{==:{fields},{were}}}")
    }
}

/// The commands that press keys, one after the other.
fn presses(pane: &PaneId, keys: &[String]) -> Vec<Vec<String>> {
    let press = |key: &String| {
        let press = SendKeys::new().target_pane(pane.as_str()).key(key.as_str());
        words(&press.build())
    };
    keys.iter().map(press).collect()
}

/// The commands that paste a text into a pane and set its mark.
fn commands(pane: &PaneId, put: Paste) -> Result<Vec<Vec<String>>, Error> {
    let target = pane.as_str();
    let buffer = format!("tx-{}", target.trim_start_matches('%'));
    let load = match put.what {
        PasteContent::File(file) => {
            // tmux would expand it as a format, and run the content of `#(…)`.
            let file = literal(file.to_str().ok_or(Error::NotText)?);
            let load = LoadBuffer::new().buffer_name(buffer.as_str());
            words(&load.path(file.as_str()).build())
        }
        PasteContent::Line(line) => {
            let set = SetBuffer::new().buffer_name(buffer.as_str());
            words(&set.data(line).build())
        }
    };
    let paste = PasteBuffer::new().delete().bracket_codes().no_replacement();
    let paste = paste.buffer_name(buffer.as_str()).target_pane(target);
    let mut commands = vec![load, words(&paste.build())];
    commands.extend(put.mark.map(|mark| mark.set(target)));
    Ok(commands)
}

fn moment(pane: &PaneId, looked: &[u8]) -> Option<PaneSnapshot> {
    let looked = String::from_utf8_lossy(looked);
    let mut lines = looked.lines();
    let fields: Vec<&str> = lines.next()?.splitn(10, '\t').collect();
    let [server, scrolled, dead, pid, x, y, keys, shown, mark, title] = fields[..] else {
        return None;
    };
    // The same id may belong to another pane by now.
    if ServerId::new(server) != *pane.server() {
        return None;
    }
    Some(PaneSnapshot {
        pane: pane.clone(),
        scrolled: scrolled == "1",
        dead: dead == "1",
        pid: pid.parse().ok()?,
        cursor: [x.parse().ok()?, y.parse().ok()?],
        keys: keys.parse().ok()?,
        shown: shown.parse().unwrap_or(0),
        mark: mark.into(),
        title: title.into(),
        lines: lines.map(|line| line.trim_end().to_owned()).collect(),
    })
}
