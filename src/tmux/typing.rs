//! Typing where a person types: only while nobody does, and in one step with looking.

use tmux_interface::{CapturePane, ListPanes, PasteBuffer, SendKeys, SetBuffer};

use super::client::{Client, Error, ServerId};
use super::panes::{PaneId, words};

/// The option of the pane that the human's program runs in.
pub const CORE: &str = "@tx-core";

/// Where a person types, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    pane: PaneId,
    cursor: [String; 2],
    /// Where something was last typed in its session, in seconds since 1970.
    pub active: u64,
    /// The line that the cursor is in.
    pub line: String,
    /// The program that has the terminal.
    pub program: String,
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
            "#{pane_in_mode}#{pane_dead}",
            "#{cursor_x}",
            "#{cursor_y}",
            "#{session_activity}",
            "#{pane_current_command}",
        ];
        let tell = ["display-message", "-p", "-t", pane.as_str()].map(String::from);
        let tell = [&tell[..], &[fields.join("\t")]].concat();
        let capture = CapturePane::new().stdout().target_pane(pane.as_str());
        let looked = self
            .run_on(pane.server(), &[tell, words(&capture.build())])
            .await?;
        let [told, screen] = &looked[..] else {
            return Ok(None);
        };
        let told = told.first().map(|line| String::from_utf8_lossy(line));
        let fields: Vec<&str> = told.iter().flat_map(|line| line.split('\t')).collect();
        let ["00", x, y, active, program] = fields[..] else {
            return Ok(None);
        };
        let row = y.parse().ok().and_then(|y: usize| screen.get(y));
        Ok(row.map(|line| Moment {
            cursor: [x, y].map(String::from),
            active: active.parse().unwrap_or(u64::MAX),
            line: String::from_utf8_lossy(line).into_owned(),
            program: program.into(),
            pane: pane.clone(),
        }))
    }

    /// Put a line where the cursor is, if all is as it was at that moment. Was it?
    pub async fn put(&self, then: &Moment, text: &str) -> Result<bool, Error> {
        let buffer = "tx-core";
        let set = SetBuffer::new().buffer_name(buffer).data(text).build();
        let paste = PasteBuffer::new().delete().bracket_codes().no_replacement();
        let paste = paste.buffer_name(buffer).target_pane(then.pane.as_str());
        let [x, y] = &then.cursor;
        let place = format!("#{{&&:#{{==:#{{cursor_x}},{x}}},#{{==:#{{cursor_y}},{y}}}}}");
        let same = format!("#{{&&:{place},{}}}", then.is_still());
        self.run_if(&then.pane, &same, &[words(&set), words(&paste.build())])
            .await
    }

    /// Press Enter, if nobody has typed since that moment. Was it pressed?
    pub async fn enter(&self, then: &Moment) -> Result<bool, Error> {
        let press = SendKeys::new().target_pane(then.pane.as_str()).key("Enter");
        self.run_if(&then.pane, &then.is_still(), &[words(&press.build())])
            .await
    }
}

impl Moment {
    /// Nobody has typed since, as tmux can tell it. It notes that before it passes a key on,
    /// in whole seconds: it cannot be told of keys in the second of that moment itself.
    fn is_still(&self) -> String {
        let active = format!("#{{==:#{{session_activity}},{}}}", self.active);
        format!("#{{&&:{active},#{{==:#{{pane_in_mode}},0}}}}")
    }
}
