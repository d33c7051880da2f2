//! The human is told that an agent asks: in every terminal that shows tx, and by a program
//! of the human's own. Who is not there is told by nobody; the ask waits.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::fs::OFlags;

use crate::format::report::printable;
use crate::model::Notify;
use crate::tmux::Client;

/// How the human is reached.
pub(super) struct Notices {
    client: Client,
    settings: Notify,
    root: PathBuf,
}

/// What the human is told of.
pub(super) struct Notice {
    pub(super) id: String,
    pub(super) from: String,
    pub(super) kind: String,
    pub(super) headline: String,
}

impl Notices {
    pub(super) fn new(client: Client, settings: Notify, root: PathBuf) -> Notices {
        Notices {
            client,
            settings,
            root,
        }
    }

    /// Tell the human. It takes its time, and if it fails nothing is the worse for it.
    pub(super) fn tell(&self, notice: Notice) {
        self.run_command(&notice);
        let client = self.client.clone();
        tokio::spawn(async move {
            let text = printable(&format!("{} asks: {}", notice.from, notice.headline));
            let terminals = client.terminals().await.unwrap_or_default();
            // A terminal that takes nothing must not hold anybody up.
            let ring = move || terminals.iter().for_each(|terminal| ring(terminal, &text));
            let _ = tokio::task::spawn_blocking(ring).await;
        });
    }

    /// The human's own program: no shell, the fields as arguments.
    fn run_command(&self, notice: &Notice) {
        let Some((program, arguments)) = self.settings.command.split_first() else {
            return;
        };
        let filled = arguments.iter().map(|argument| {
            match argument.as_str() {
                "{id}" => &notice.id,
                "{from}" => &notice.from,
                "{kind}" => &notice.kind,
                "{headline}" => &notice.headline,
                _ => argument,
            }
            .clone()
        });
        let mut command = tokio::process::Command::new(program);
        command.args(filled).current_dir(&self.root);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match command.spawn() {
            Ok(mut child) => {
                tokio::spawn(async move { child.wait().await });
            }
            Err(error) => tracing::warn!(program, %error, "notify.command cannot be run"),
        }
    }
}

/// The bell, and the two ways in which terminals are told to show something.
fn ring(terminal: &str, text: &str) {
    let flags = OFlags::NOCTTY | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(terminal);
    if let Ok(mut terminal) = opened {
        let said = format!("\x07\x1b]9;{text}\x07\x1b]777;notify;tx;{text}\x07");
        let _ = terminal.write_all(said.as_bytes());
    }
}
