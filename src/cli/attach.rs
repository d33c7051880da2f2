//! `tx attach`: into the core session, or an agent's window.

use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::output::talk;
use super::{Context, Exit, Failure};
use crate::daemon;
use crate::model::Address;
use crate::project::Project;
use crate::tmux::session_name;

/// Go to the core session, or to the window of an agent
#[derive(clap::Args)]
#[command(after_help = "Example: tx attach dev-review/implementer")]
pub(super) struct Attach {
    /// The agent [default: the core session]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
}

pub(super) fn run(context: &Context, verb: &Attach) -> Result<Exit, Failure> {
    let project = context.project()?;
    match &verb.agent {
        None => core(&project),
        Some(agent) => {
            let agent: Address = agent.parse().map_err(|error| {
                let hint = "write mesh/agent; `tx worker list` lists them";
                Failure::new(format!("{error}"))
                    .hint(hint)
                    .exit(Exit::NoSuchThing)
            })?;
            let session = session_name(agent.mesh.as_str());
            go(&project, &session, Some(agent.agent.as_str()))
        }
    }
}

/// Into the core session, which is made if it is not there.
pub(super) fn core(project: &Project) -> Result<Exit, Failure> {
    let mut make = tmux(&socket(project)?);
    make.args(["new-session", "-d", "-s", "core", "-c"]);
    make.arg(&project.root).stderr(Stdio::null());
    // If it is there already, all the better.
    let _ = make.status();
    go(project, "core", None)
}

/// Become a tmux client of a session. Inside of a tmux that is not ours, only say how.
fn go(project: &Project, session: &str, window: Option<&str>) -> Result<Exit, Failure> {
    let socket = socket(project)?;
    let target = match window {
        Some(window) => format!("={session}:={window}"),
        None => format!("={session}"),
    };
    if !exists(&socket, &target) {
        let failure = Failure::new(format!("there is no window of {session} to go to"));
        let hint = match daemon::running(project) {
            Some(_) => "an agent has one once it has been given work: `tx status` shows them",
            None => "no daemon runs here; `tx start` starts one",
        };
        return Err(failure.hint(hint).exit(Exit::NoSuchThing));
    }
    let mut go = tmux(&socket);
    go.args(["attach-session", "-t", &target]);
    if std::env::var_os("TMUX").is_some() || !std::io::stdout().is_terminal() {
        let socket = crate::format::report::printable(&socket.to_string_lossy());
        talk(&format!(
            "to see it, in a terminal of its own: tmux -S {socket} attach -t '{target}'\n"
        ));
        return Ok(Exit::Done);
    }
    // Comes back only if it cannot be done.
    let error = go.exec();
    Err(Failure::new(format!("tmux cannot be run: {error}")).hint("`tx doctor` looks for it"))
}

fn exists(socket: &std::path::Path, target: &str) -> bool {
    let mut look = tmux(socket);
    look.args(["list-panes", "-t", target]);
    look.stdout(Stdio::null()).stderr(Stdio::null());
    look.status().is_ok_and(|status| status.success())
}

/// The socket of the project's tmux server.
pub(super) fn socket(project: &Project) -> Result<PathBuf, Failure> {
    let socket = project.socket("tmux.sock");
    socket.map_err(|error| Failure::new(format!("the tmux socket cannot be reached: {error}")))
}

/// A call of tmux that reads no settings of the user's.
pub(super) fn tmux(socket: &std::path::Path) -> Command {
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket).args(["-f", "/dev/null"]);
    command.env_remove("TMUX").env_remove("TMUX_PANE");
    command
}
