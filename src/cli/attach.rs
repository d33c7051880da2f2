//! `tx attach`: into the core session, or an agent's window.

use std::io::IsTerminal;
use std::os::unix::process::CommandExt;

use super::output::talk;
use super::panes::Panes;
use super::{Context, Exit, Failure};
use crate::daemon;
use crate::format::report::printable;
use crate::model::Address;
use crate::project::Project;
use crate::tmux;

/// The session of the human.
const CORE: &str = "core";
/// That session and no other whose name begins so; and its windows.
const CORE_ONLY: &str = "=core";
const IN_CORE: &str = "=core:";
/// A shell that has ended takes its window with it, unlike an agent.
const GOES: &str = "set-option -w remain-on-exit off";

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
    let agent = verb.agent.as_ref().map(|agent| {
        agent.parse::<Address>().map_err(|error| {
            let hint = "write mesh/agent; `tx worker list` lists them";
            let failure = Failure::new(error.to_string());
            failure.hint(hint).exit(Exit::NoSuchThing)
        })
    });
    let agent = agent.transpose()?;
    let panes = Panes::of(&project)?;
    // What a daemon has left can be looked at, but nothing is added to it.
    if daemon::running(&project).is_none() {
        let there = match agent {
            Some(_) => panes.is_there(),
            None => panes.run(&["has-session", "-t", CORE_ONLY]).is_ok(),
        };
        if !there {
            return Err(Failure::from(daemon::NoDaemon::NotRunning));
        }
    }
    match &agent {
        None => core(&project),
        Some(agent) => {
            let agents = panes.agents();
            let (pane, session) = agents.need(agent)?;
            let select = ["select-window", "-t", pane, ";", "select-pane", "-t", pane];
            go(&panes, &select, session, pane)
        }
    }
}

/// Into the core session, which is made if it is not there.
pub(super) fn core(project: &Project) -> Result<Exit, Failure> {
    let panes = Panes::of(project)?;
    make_core(project, &panes)?;
    go(&panes, &[], CORE_ONLY, CORE_ONLY)
}

/// See to it that there is a core session, with the human's program or shell in it.
fn make_core(project: &Project, panes: &Panes) -> Result<(), Failure> {
    let failed = |why: String| {
        let failure = Failure::new(format!("the core session cannot be made: {why}"));
        failure.hint("`tx doctor` says what is wrong")
    };
    let settings = project.settings();
    let settings = settings.map_err(|error| Failure::new(error.to_string()))?;
    let mut program: Vec<&str> = settings.core.run.iter().map(String::as_str).collect();
    // One word alone would be given to a shell.
    if let [alone] = program[..] {
        program = vec!["env", alone];
    }
    let root = project.root.to_string_lossy();
    let format = "#{pane_dead} #{pane_id}";
    let list = ["list-panes", "-s", "-t", IN_CORE, "-F", format];
    let listed = match panes.run(&list) {
        Ok(listed) => listed,
        Err(_) => {
            let make = ["new-session", "-d", "-s", CORE, "-c", &root];
            let this = [
                "set-option",
                "-w",
                "-t",
                IN_CORE,
                "remain-on-exit",
                "off",
                ";",
            ];
            let core = ["set-option", "-p", "-t", IN_CORE, tmux::CORE, "1", ";"];
            let later = ["set-hook", "-t", IN_CORE, "after-new-window", GOES];
            match panes.run(&[&make[..], &program, &[";"], &this, &core, &later].concat()) {
                // Somebody else has made it in the same moment: that is as good.
                Err(why) if !why.contains("duplicate session") => return Err(failed(why)),
                Ok(_) | Err(_) => return Ok(()),
            }
        }
    };
    for dead in listed.lines().filter_map(|line| line.strip_prefix("1 ")) {
        let goes = ["set-option", "-w", "-t", dead, "remain-on-exit", "off", ";"];
        let again = ["respawn-pane", "-t", dead, "-c", &root];
        let done = panes.run(&[&goes[..], &again].concat());
        done.map_err(failed)?;
    }
    Ok(())
}

/// Become a tmux client of a session. Inside of a tmux that is not ours, only say how.
fn go(panes: &Panes, select: &[&str], session: &str, target: &str) -> Result<Exit, Failure> {
    if std::env::var_os("TMUX").is_some() || !std::io::stdout().is_terminal() {
        let socket = printable(&panes.server().socket.to_string_lossy());
        talk(&format!(
            "to see it, in a terminal of its own: tmux -S {socket} attach -t '{target}'\n"
        ));
        return Ok(Exit::Done);
    }
    let mut go = panes.server().blocking();
    if !select.is_empty() {
        go.args(select).arg(";");
    }
    go.args(["attach-session", "-t", session]);
    // Comes back only if it cannot be done.
    let error = go.exec();
    Err(Failure::new(format!("tmux cannot be run: {error}")).hint("`tx doctor` looks for it"))
}
