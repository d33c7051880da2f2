//! A simulated human: a client of tx inside an outer tmux, on its own private socket. The test
//! reads its screen there, including popups.

use std::time::{Duration, Instant};

use crate::stage::{Project, Stage, TX, tmux, wait_for};

/// A human at a terminal.
pub(crate) struct Human {
    outer: Stage,
}

impl Drop for Human {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the screen of the human:\n{}", self.screen());
        }
    }
}

impl Human {
    pub(crate) fn attached_to(project: &Project) -> Human {
        Human::who_runs(project, &["attach"])
    }

    pub(crate) fn who_runs(project: &Project, words: &[&str]) -> Human {
        let outer = Stage::new();
        // An argument that ends with `;` would end the command.
        let root = project.root().to_str().unwrap();
        let root = match root.strip_suffix(';') {
            Some(root) => format!(r"{root}\;"),
            None => root.into(),
        };
        let attach = ["env", "-u", "TMUX", TX, "-C", &root];
        let attach = [&attach[..], words].concat();
        let start = ["new-session", "-d", "-s", "human", "-x", "100", "-y", "24"];
        tmux(outer.socket(), &[&start[..], &attach].concat());
        let keep = format!("cat > '{}'", outer.folder().join("received").display());
        tmux(outer.socket(), &["pipe-pane", "-t", "human:0", &keep]);
        // Show another window, so that a bell is recorded.
        tmux(outer.socket(), &["new-window", "-t", "human"]);
        Human { outer }
    }

    pub(crate) fn screen(&self) -> String {
        tmux(
            self.outer.socket(),
            &["capture-pane", "-p", "-t", "human:0"],
        )
    }

    /// The status line, without the windows.
    pub(crate) fn foot(&self) -> String {
        let screen = self.screen();
        let foot = screen.trim_end().lines().last().unwrap_or_default();
        let (windows, says) = foot.rsplit_once('*').unwrap_or_default();
        assert!(
            foot.is_empty() || windows.starts_with(" tx: core "),
            "{foot}"
        );
        says.trim().to_owned()
    }

    pub(crate) fn wait_for_foot(&self, says: &str) {
        wait_for(
            &format!("{says:?} at the foot of {}", self.screen()),
            || (self.foot() == says).then_some(()),
        );
    }

    /// Everything that was sent to the terminal.
    pub(crate) fn received(&self) -> String {
        let received = std::fs::read(self.outer.folder().join("received"));
        String::from_utf8_lossy(&received.unwrap_or_default()).into()
    }

    /// Press the key that makes a popup accept text.
    pub(crate) fn asks_for_the_line(&self) {
        let mut pressed = Instant::now();
        wait_for(&format!("the line of {}", self.screen()), || {
            if pressed.elapsed() > Duration::from_millis(1500) {
                self.types(&["a"]);
                pressed = Instant::now();
            }
            self.screen().contains("your answer").then_some(())
        });
    }

    pub(crate) fn types(&self, keys: &[&str]) {
        let send = ["send-keys", "-t", "human:0"];
        tmux(self.outer.socket(), &[&send[..], keys].concat());
    }

    pub(crate) fn heard_a_bell(&self) -> bool {
        let flag = [
            "display-message",
            "-p",
            "-t",
            "human:0",
            "#{window_bell_flag}",
        ];
        tmux(self.outer.socket(), &flag).trim() == "1"
    }
}
