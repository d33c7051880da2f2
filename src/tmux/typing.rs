//! Typing where a person types: only if all is as it was when it was looked at, in one step
//! with looking again.

use tmux_interface::{CapturePane, ListPanes, PasteBuffer, SendKeys, SetBuffer, SetOption};

use super::client::{Client, Error, ServerId};
use super::panes::{PaneId, words};

/// The option of the pane that the human's program runs in.
pub const CORE: &str = "@tx-core";
/// What was put there last, as an option of it.
const PUT: &str = "@tx-put";

/// The pane of the human's program, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pane: PaneId,
    /// The process that was started in it.
    pub pid: i32,
    cursor: [usize; 2],
    /// When something was last typed in its session, in seconds since 1970.
    pub active: u64,
    /// What was put there last.
    pub put: String,
    screen: Vec<String>,
}

impl Client {
    /// The pane of the human's program; `None` if there is none, or if somebody reads back
    /// in it.
    pub async fn core(&self) -> Result<Option<Moment>, Error> {
        let list = ListPanes::new().all();
        let list = list.format(format!("#{{{CORE}}}\t{}\t#{{pane_id}}", ServerId::FORMAT));
        let panes = self.run(&words(&list.build())).await?;
        let core = panes.iter().find_map(|line| {
            let line = String::from_utf8_lossy(line);
            let (server, id) = line.strip_prefix("1\t")?.split_once('\t')?;
            Some(PaneId::new(server, id))
        });
        let Some(pane) = core else { return Ok(None) };
        let fields = [
            ServerId::FORMAT,
            "#{pane_in_mode}#{pane_dead}",
            "#{pane_pid}",
            "#{cursor_x}",
            "#{cursor_y}",
            "#{session_activity}",
            &format!("#{{{PUT}}}"),
        ];
        let tell = ["display-message", "-p", "-t", pane.as_str()].map(String::from);
        let tell = [&tell[..], &[fields.join("\t")]].concat();
        let capture = CapturePane::new().stdout().target_pane(pane.as_str());
        // What the screen shows may look like the end of a reply of control mode.
        let looked = self.print(&[tell, words(&capture.build())]).await?;
        Ok(moment(pane, &looked))
    }

    /// Put a line where the cursor is, and note what that was, if all is as it was at that
    /// moment. Was it?
    pub async fn put(&self, then: &Moment, text: &str, note: &str) -> Result<bool, Error> {
        let (target, buffer) = (then.pane.as_str(), "tx-core");
        let set = SetBuffer::new().buffer_name(buffer).data(text).build();
        let paste = PasteBuffer::new().delete().bracket_codes().no_replacement();
        let paste = paste.buffer_name(buffer).target_pane(target).build();
        let noted = SetOption::new().pane().target_pane(target);
        let noted = noted.option(PUT).value(note).build();
        let commands = [words(&set), words(&paste), words(&noted)];
        self.run_if(&then.pane, &then.is_now(), &commands).await
    }

    /// Press Enter, if all is as it was at that moment. Was it?
    pub async fn enter(&self, then: &Moment) -> Result<bool, Error> {
        let press = SendKeys::new().target_pane(then.pane.as_str()).key("Enter");
        let commands = [words(&press.build())];
        self.run_if(&then.pane, &then.is_now(), &commands).await
    }
}

impl Moment {
    /// Is all the same at the cursor? What else the screen shows may move.
    pub fn is_like(&self, other: &Moment) -> bool {
        let at = |moment: &Moment| (moment.pid, moment.cursor, moment.active);
        (&self.pane, at(self), self.line()) == (&other.pane, at(other), other.line())
    }

    /// All that the screen shows.
    pub fn screen(&self) -> String {
        self.screen.join("\n")
    }

    /// What it shows up to the cursor, and in that line behind it.
    pub fn around_cursor(&self) -> (String, String) {
        let [x, y] = self.cursor;
        let line = &self.screen[y];
        let mut before: String = line.chars().take(x).collect();
        let behind = line.chars().skip(x).collect();
        let blanks = x.saturating_sub(before.chars().count());
        before.extend(std::iter::repeat_n(' ', blanks));
        let above = self.screen[..y].iter().map(|line| line.clone() + "\n");
        (above.collect::<String>() + &before, behind)
    }

    /// The line of the cursor.
    pub fn line(&self) -> &str {
        let [_, y] = self.cursor;
        &self.screen[y]
    }

    /// The same program has the cursor where it was, and nobody has typed since, as tmux
    /// can tell it. It notes a key before it passes it on, in whole seconds: it cannot be
    /// told of keys in the second of that moment itself.
    fn is_now(&self) -> String {
        let [x, y] = self.cursor;
        let fields = "#{pane_in_mode} #{pane_pid} #{cursor_x} #{cursor_y} #{session_activity}";
        let were = format!("0 {} {x} {y} {}", self.pid, self.active);
        format!("#{{==:{fields},{were}}}")
    }
}

fn moment(pane: PaneId, looked: &[u8]) -> Option<Moment> {
    let looked = String::from_utf8_lossy(looked);
    let mut screen = looked.lines();
    let fields: Vec<&str> = screen.next()?.split('\t').collect();
    let [server, "00", pid, x, y, active, put] = fields[..] else {
        return None;
    };
    // The same id may be another's by now.
    if ServerId::new(server) != *pane.server() {
        return None;
    }
    let cursor = [x.parse().ok()?, y.parse().ok()?];
    let mut screen: Vec<String> = screen.map(|line| line.trim_end().to_owned()).collect();
    screen.resize(screen.len().max(cursor[1] + 1), String::new());
    Some(Moment {
        pane,
        pid: pid.parse().ok()?,
        cursor,
        active: active.parse().ok()?,
        put: put.into(),
        screen,
    })
}
