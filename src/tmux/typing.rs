//! Putting text into panes: at once, or only if all is as it was when it was looked at, in one
//! step with looking again.

use std::path::Path;

use tmux_interface::{
    CapturePane, ListPanes, LoadBuffer, PasteBuffer, SelectPane, SendKeys, SetBuffer, SetOption,
};

use super::client::{Client, Error};
use super::panes::{PaneId, words};
use super::quote::literal;
use super::server::ServerId;

/// The option of the pane that the human's program runs in.
pub const CORE: &str = "@tx-core";

/// A pane at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneSnapshot {
    pane: PaneId,
    /// Somebody reads back in it.
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
    /// What its program calls it.
    pub title: String,
    /// Its lines, without blanks at their ends.
    pub lines: Vec<String>,
}

/// A text, and the mark that is set with it.
#[derive(Clone, Copy, Debug)]
pub struct Paste<'a> {
    /// What is put.
    pub what: What<'a>,
    /// Noted on the pane in one step with it.
    pub mark: Option<Mark<'a>>,
}

/// What is put.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// All that is in a file.
    File(&'a Path),
    /// A line.
    Line(&'a str),
}

/// What is noted on a pane.
#[derive(Clone, Copy, Debug)]
pub enum Mark<'a> {
    /// The turn that it was given last.
    Turn(&'a str),
    /// The messages that were put there last.
    Messages(&'a str),
}

impl Mark<'_> {
    /// The last turn that a pane was given, as an option of it.
    pub(super) const TURN: &'static str = "@tx-turn";
    /// The messages that were put into it last, as an option of it.
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
    /// The pane of the human's program, if there is one.
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

    /// Look at a pane; `None` if there is none.
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
        // What the screen shows may look like the end of a reply of control mode.
        let looked = self.print(&[tell, words(&capture.build())]).await?;
        Ok(moment(pane, &looked))
    }

    /// Put a text into a pane, and note what it was: both or neither, whatever becomes of tx
    /// meanwhile. What its program called the pane before is over.
    pub async fn paste(&self, pane: &PaneId, put: Paste<'_>) -> Result<(), Error> {
        let target = pane.as_str();
        // A person may have scrolled up.
        let leave = ["copy-mode", "-q", "-t", target].map(String::from);
        let rename = SelectPane::new().target_pane(target).title("busy").build();
        let mut commands = commands(pane, put)?;
        commands.splice(1..1, [leave.into(), words(&rename)]);
        self.run_on(pane.server(), &commands).await.map(drop)
    }

    /// The same if all is as it was at that moment, and nothing else is touched. Was it?
    pub async fn paste_if(&self, then: &PaneSnapshot, put: Paste<'_>) -> Result<bool, Error> {
        let commands = commands(&then.pane, put)?;
        self.run_if(&then.pane, &then.is_now(), &commands).await
    }

    /// Press Enter, if all is as it was at that moment. Was it?
    pub async fn enter(&self, then: &PaneSnapshot) -> Result<bool, Error> {
        let press = SendKeys::new().target_pane(then.pane.as_str()).key("Enter");
        let commands = [words(&press.build())];
        self.run_if(&then.pane, &then.is_now(), &commands).await
    }

    /// Press keys, whatever the pane shows.
    pub async fn press(&self, pane: &PaneId, keys: &[String]) -> Result<(), Error> {
        self.run_on(pane.server(), &presses(pane, keys))
            .await
            .map(drop)
    }

    /// Press keys, if the pane has shown nothing new since that moment, too. Has it not?
    pub async fn press_if(&self, then: &PaneSnapshot, keys: &[String]) -> Result<bool, Error> {
        let rests = format!("#{{==:#{{window_activity}},{}}}", then.shown);
        let same = format!("#{{&&:{},{rests}}}", then.is_now());
        self.run_if(&then.pane, &same, &presses(&then.pane, keys))
            .await
    }
}

impl PaneSnapshot {
    /// The same program has the cursor where it was, and nobody has typed since, as tmux
    /// can tell it. It notes a key before it passes it on, in whole seconds: it cannot be
    /// told of keys in the second of that moment itself.
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

/// The commands that put a text into a pane, and its mark on it.
fn commands(pane: &PaneId, put: Paste) -> Result<Vec<Vec<String>>, Error> {
    let target = pane.as_str();
    let buffer = format!("tx-{}", target.trim_start_matches('%'));
    let load = match put.what {
        What::File(file) => {
            // It would be read as a format, and what is in `#(…)` would be run.
            let file = literal(file.to_str().ok_or(Error::NotText)?);
            let load = LoadBuffer::new().buffer_name(buffer.as_str());
            words(&load.path(file.as_str()).build())
        }
        What::Line(line) => {
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
    // The same id may be another's by now.
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
