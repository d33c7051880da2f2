//! A private tmux server: starting it, setting it up and attaching to it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tmux_interface::{NewSession, SetOption};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::client::Error;
use super::environment::{is_of_tx, refresh};
use super::quote::{arguments, line};

/// The session that keeps the server alive and that the client is attached to. A mesh cannot have
/// this name.
pub const HUB: &str = "_tx";
/// A window in the status line: its number, its name, and whether its program ended.
const WINDOW: &str = "#I:#W#{?window_flags,#{window_flags}, }#{?pane_dead,(ended) ,}";
/// How long the client of an earlier tx may take to go.
const LAST_CLIENT: Duration = Duration::from_secs(2);

/// A private tmux server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its socket.
    pub socket: PathBuf,
}

/// One life of a server. Its ids mean nothing to another server on the same socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId(String);

impl ServerId {
    /// The format that identifies a server in its replies.
    pub(super) const FORMAT: &str = "#{pid}-#{start_time}";

    pub(super) fn new(printed: &str) -> ServerId {
        ServerId(printed.trim().into())
    }
}

impl Server {
    /// A tmux command line for this server, without any user's configuration.
    pub fn command(&self) -> Command {
        self.blocking().into()
    }

    /// The same, blocking.
    pub fn blocking(&self) -> std::process::Command {
        let mut command = std::process::Command::new("tmux");
        command
            .arg("-S")
            .arg(&self.socket)
            .args(["-f", "/dev/null"]);
        command.env_remove("TMUX").env_remove("TMUX_PANE");
        // This may be run by an agent, but what it starts is not one.
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_tx(name)) {
            command.env_remove(name);
        }
        command
    }

    /// The same, with commands for it to run.
    pub fn asked<S: AsRef<str>>(&self, commands: &[Vec<S>]) -> std::process::Command {
        let mut command = self.blocking();
        command.args(arguments(commands));
        command
    }

    /// Start the server if necessary, and attach a client to it.
    pub(super) async fn attach(&self) -> Result<(Child, ServerId), Error> {
        self.start().await?;
        self.refresh_environment().await.map_err(not_started)?;
        self.end_old_clients().await.map_err(not_started)?;
        let mut which = self.command();
        which.args(["display-message", "-p", ServerId::FORMAT]);
        let which = which.stdin(Stdio::null()).output().await;
        let which = which.map_err(not_started)?;
        let server = ServerId::new(&String::from_utf8_lossy(&which.stdout));
        let process = self
            .command()
            .args([
                "-u",
                "-C",
                "attach-session",
                "-f",
                "no-output,ignore-size",
                "-t",
            ])
            .arg(format!("={HUB}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(not_started)?;
        self.announce_end_of_tx(process.id())
            .await
            .map_err(not_started)?;
        Ok((process, server))
    }

    /// Start the server with its settings, unless it runs.
    async fn start(&self) -> Result<(), Error> {
        // A shell would read the user's profile for nothing.
        let hub = NewSession::new().detached().session_name(HUB);
        let hub = hub.shell_command("exec cat").build();
        let settings = [
            ("remain-on-exit", "on"),
            ("window-size", "latest"),
            // Dialogs fit, also where nobody has attached yet.
            ("default-size", "200x50"),
            // An existing session would keep its old environment.
            ("update-environment", ""),
            // The status line changes when tx sets it, not at intervals.
            ("status-interval", "0"),
            ("status-style", "bg=default,fg=default"),
            ("window-status-current-style", "bold"),
            // Every other window shows how to get back.
            (
                "status-left",
                " tx: #{session_name} #{?#{==:#{session_name},core},,(Ctrl-b b: core) }",
            ),
            ("status-left-length", "60"),
            // tmux's own line would push short output out of sight.
            ("remain-on-exit-format", ""),
            ("window-status-format", WINDOW),
            ("window-status-current-format", WINDOW),
            ("status-right", ""),
            ("status-right-length", "120"),
        ];
        // An older tmux does not know all of these options.
        let set = || SetOption::new().global().quiet();
        let settings = settings.map(|(name, value)| set().option(name).value(value).build());
        let mut start = self.command();
        start.args(hub.to_vec().iter().map(AsRef::<str>::as_ref));
        for setting in &settings {
            start
                .arg(";")
                .args(setting.to_vec().iter().map(AsRef::<str>::as_ref));
        }
        let started = start.stdin(Stdio::null()).output().await;
        let started = started.map_err(not_started)?;
        let said = String::from_utf8_lossy(&started.stderr);
        // An existing session is fine.
        if !started.status.success() && !said.contains("duplicate session") {
            return Err(Error::NotStarted(said.trim().to_owned()));
        }
        Ok(())
    }

    /// Set the server's environment to that of this process. A variable that cannot be set stays as
    /// it was.
    async fn refresh_environment(&self) -> std::io::Result<()> {
        let mut show = self.command();
        show.args(["show-environment", "-g"]);
        show.stdin(Stdio::null()).kill_on_drop(true);
        let printed = show.output().await?.stdout;
        // Through standard input, because everybody can see the arguments of a process.
        let mut set = self.command();
        set.args(["source-file", "-"]).stdin(Stdio::piped());
        set.stdout(Stdio::null()).stderr(Stdio::null());
        let mut set = set.kill_on_drop(true).spawn()?;
        if let Some(mut input) = set.stdin.take() {
            let commands = refresh(std::env::vars_os(), &printed).join("\n") + "\n";
            input.write_all(commands.as_bytes()).await?;
        }
        set.wait().await.map(drop)
    }

    /// When tx ends in any way, its client ends. The status line is then out of date, so have tmux
    /// itself say that tx has ended.
    async fn announce_end_of_tx(&self, client: Option<u32>) -> std::io::Result<()> {
        let is_ours = format!("#{{==:#{{hook_client}},client-{}}}", client.unwrap_or(0));
        let say = line(&["set-option", "-g", "status-right", " tx is not running "]);
        let tell = line(&["if-shell", "-F", &is_ours, &say.unwrap_or_default()]);
        let mut hook = self.command();
        hook.args(["set-hook", "-g", "client-detached"]);
        hook.arg(tell.unwrap_or_default());
        hook.stdin(Stdio::null()).output().await.map(drop)
    }

    /// A killed tx may have left a client, which may still send commands. Wait until it is gone, so
    /// that the hook set here is the last.
    async fn end_old_clients(&self) -> std::io::Result<()> {
        let deadline = Instant::now() + LAST_CLIENT;
        loop {
            let mut list = self.command();
            list.args(["list-clients", "-t", &format!("={HUB}"), "-F"]);
            list.arg("#{client_control_mode} #{client_pid}");
            let listed = list.stdin(Stdio::null()).output().await?;
            let listed = String::from_utf8_lossy(&listed.stdout);
            let pids = listed.lines().filter_map(|line| line.strip_prefix("1 "));
            let pids: Vec<Pid> = pids
                .filter_map(|pid| Pid::from_raw(pid.parse().ok()?))
                .collect();
            if pids.is_empty() || Instant::now() >= deadline {
                return Ok(());
            }
            for pid in pids {
                // It may already be gone.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn not_started(error: std::io::Error) -> Error {
    Error::NotStarted(error.to_string())
}
