//! `tx attach`: go to the core session, or to an agent's window.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use super::output::talk;
use super::{Context, Exit, Refused, agent_here, open_journal};
use crate::actions::{Panes, typing_now};
use crate::daemon;
use crate::format::report::printable;
use crate::model::Address;
use crate::project::{Catalogue, Project};
use crate::tmux;
use crate::view::{agent_of, shell_word};

/// The human's session.
const CORE: &str = "core";
/// Exactly this session, not one whose name begins with it; and its windows.
const CORE_ONLY: &str = "=core";
const IN_CORE: &str = "=core:";
/// When a shell ends, its window closes. An agent's window stays.
const GOES: &str = "set-option -w remain-on-exit off";
/// The variables that new windows get from the terminal that last attached.
const OF_TERMINALS: &str = "DISPLAY KRB5CCNAME SSH_ASKPASS SSH_AUTH_SOCK SSH_AGENT_PID \
                            SSH_CONNECTION WAYLAND_DISPLAY WINDOWID XAUTHORITY";
/// Show the output of a tx command until a key is pressed. The arguments are the program, the
/// project and the command. Only messages that fit are shown, since what is shown counts as read.
const POPUP: &str = r#"
rows=$(stty size | cut -d' ' -f1)
case $3 in inbox) set -- "$@" -n $(((rows - 4) / 2)) ;; esac
tx=$1 root=$2; shift 2
"$tx" -C "$root" "$@"
printf '\n(any key closes this)'
stty -icanon -isig -echo; dd bs=1 count=1 >/dev/null 2>&1"#;
/// Print the greeting, then become the human's shell.
const GREET: &str = "\"$1\" -C \"$2\" greet; exec \"$3\"";
/// The note for a user who attaches from inside another tmux.
const NESTED: &str = "a tmux in a tmux: press the prefix twice, Ctrl-b Ctrl-b d leaves";
/// How long the note about typing is shown, in milliseconds.
const SHOWN: &str = "5000";
/// A program that cannot run has ended by then.
const SETTLES: Duration = Duration::from_millis(200);

/// Go to the core session, or to the window of an agent
#[derive(clap::Args)]
#[command(after_help = "Example: tx attach dev-review/implementer")]
pub(super) struct AttachArgs {
    /// The agent [default: the core session]
    #[arg(value_name = "AGENT")]
    agent: Option<String>,
}

pub(super) fn run(context: &Context, verb: &AttachArgs) -> Result<Exit, Refused> {
    let project = context.project()?;
    let agent = verb.agent.as_ref().map(|agent| find(&project, agent));
    let agent = agent.transpose()?;
    let panes = Panes::of(&project)?;
    // Without a daemon, existing windows can be viewed, but nothing new is opened.
    let is_alone = daemon::running(&project).is_none();
    if is_alone {
        let there = match agent {
            Some(_) => panes.is_there(),
            None => panes.run(&["has-session", "-t", CORE_ONLY]).is_ok(),
        };
        if !there {
            return Err(Refused::from(daemon::NoDaemon::NotRunning));
        }
    }
    match &agent {
        None => core(&project),
        Some(agent) => {
            let agents = panes.agents();
            let (pane, session) = agents.need(agent)?;
            if !is_alone && is_on_terminal() {
                // The key that goes back needs the session. The window can be viewed without it.
                let _ = make_core(&project, &panes);
            }
            bind_keys(&project, &panes);
            let select = ["select-window", "select-pane"].map(|select| vec![select, "-t", pane]);
            let typing = typing_now(&project, &panes, agent, pane);
            let typing = typing.map(|typing| format!("{agent}: {typing}"));
            go(&panes, &select, session, pane, typing.as_deref())
        }
    }
}

/// The agent of a name: one that the journal knows, or one of a mesh that is there.
fn find(project: &Project, name: &str) -> Result<Address, Refused> {
    let past = open_journal(project)?;
    let known = past.iter().flat_map(|past| past.state.agents());
    let meshes = Catalogue::load(Some(project)).entries.into_iter();
    let meshes = meshes.filter_map(|entry| entry.mesh);
    let listed = meshes.flat_map(|mesh| {
        let agents = mesh.agents.keys();
        let agents = agents.map(|agent| Address::new(mesh.name.clone(), agent.clone()));
        agents.collect::<Vec<_>>()
    });
    let agents: BTreeSet<Address> = known.chain(listed).collect();
    agent_of(&Vec::from_iter(agents), name)
}

/// Attach to the core session. It is created if necessary.
pub(super) fn core(project: &Project) -> Result<Exit, Refused> {
    let panes = Panes::of(project)?;
    make_core(project, &panes)?;
    bind_keys(project, &panes);
    go(&panes, &[], CORE_ONLY, CORE_ONLY, None)
}

/// Bind keys to the open questions, the inbox and the way back, and to choosers without the session
/// that only keeps the server alive. tmux's other keys stay.
fn bind_keys(project: &Project, panes: &Panes) {
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let (program, root) = (program.to_string_lossy(), project.root.to_string_lossy());
    let popup = |key, title, verb| {
        let opens = [
            "bind-key",
            key,
            "display-popup",
            "-E",
            "-w",
            "90%",
            "-h",
            "80%",
        ];
        let shows = ["-T", title, "sh", "-c", POPUP, "sh", &program, &root, verb];
        [&opens[..], &shows].concat()
    };
    let without_hub = format!("#{{!=:#{{session_name}},{}}}", tmux::HUB);
    let choose = |key, how| vec!["bind-key", key, "choose-tree", how, "-f", &without_hub];
    let keys = [
        popup("a", " waiting for you ", "asks"),
        popup("i", " inbox ", "inbox"),
        vec!["bind-key", "b", "switch-client", "-t", CORE_ONLY],
        choose("s", "-Zs"),
        choose("w", "-Zw"),
    ];
    // If this fails, everything can still be reached by commands.
    let _ = panes.run_all(&keys);
}

/// Make sure that there is a core session with the human's program or shell in it.
fn make_core(project: &Project, panes: &Panes) -> Result<(), Refused> {
    let settings = project.settings()?;
    let is_shell = settings.core.run.is_empty();
    let shell = std::env::var("SHELL")
        .ok()
        .filter(|shell| !shell.is_empty());
    let shell = shell.unwrap_or_else(|| "/bin/sh".into());
    let mut program: Vec<&str> = settings.core.run.iter().map(String::as_str).collect();
    let tx = std::env::current_exe().unwrap_or_else(|_| "tx".into());
    let (tx, root) = (tx.to_string_lossy(), project.root.to_string_lossy());
    if is_shell {
        program.extend(["sh", "-c", GREET, "sh", &tx, &root, &shell]);
    }
    // tmux would pass a single word to a shell.
    if let [alone] = program[..] {
        program = vec!["env", alone];
    }
    let made = open_core(project, panes, &program, is_shell).map_err(|why| {
        let failure = Refused::new(format!("the core session cannot be created: {why}"));
        failure.hint("`tx doctor` says what is wrong")
    })?;
    let Some(pane) = made else { return Ok(()) };
    let set = ["set-option", "-t", &pane];
    // A login shell would reset the PATH on which tx was found.
    let shells = [&set[..], &["default-command", &shell]].concat();
    let goes = [&set[..], &["-w", "remain-on-exit", "off"]].concat();
    let core = [&set[..], &["-p", tmux::CORE, "1"]].concat();
    let theirs = [&set[..], &["update-environment", OF_TERMINALS]].concat();
    let later = ["set-hook", "-t", IN_CORE, "after-new-window", GOES];
    // The program may have ended by now. That is checked below.
    let _ = panes.run_all(&[shells, goes, core, theirs, later.to_vec()]);
    if is_shell {
        return Ok(());
    }
    std::thread::sleep(SETTLES);
    let alive = ["display-message", "-p", "-t", &pane, "#{pane_dead}"];
    if panes.run(&alive).as_deref().map(str::trim) == Ok("0") {
        return Ok(());
    }
    let _ = panes.run(&["kill-pane", "-t", &pane]);
    let program = settings.core.run.join(" ");
    let why = format!("the program of the core session ended at once: {program}");
    let hint = "run it here by hand to see why, or fix `core.run` in .ai/tx/config.yaml";
    Err(Refused::new(why).hint(hint))
}

/// Open the core pane, unless it exists. Windows that a person has opened beside it get their
/// shells back.
fn open_core(
    project: &Project,
    panes: &Panes,
    program: &[&str],
    is_shell: bool,
) -> Result<Option<String>, String> {
    let root = tmux::literal(&project.root.to_string_lossy());
    let (mut live, mut dead) = (false, None);
    let format = format!("#{{pane_dead}} #{{{}}} #{{pane_id}}", tmux::CORE);
    let listed = panes.run(&["list-panes", "-s", "-t", IN_CORE, "-F", &format]);
    let lines = listed.iter().flat_map(|listed| listed.lines());
    for line in lines {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["0", "1", _] => live = true,
            ["1", "1", pane] => dead = Some(pane.to_owned()),
            ["1", _, pane] => {
                let goes = vec!["set-option", "-w", "-t", pane, "remain-on-exit", "off"];
                let again = vec!["respawn-pane", "-t", pane, "-c", &root];
                panes.run_all(&[goes, again])?;
            }
            _ => {}
        }
    }
    let names = ["-P", "-F", "#{pane_id}", "-c", &root];
    let made = match (listed, dead) {
        (Ok(_), None) if live || is_shell => return Ok(None),
        // The user may have closed it and gone on in another window.
        (Ok(_), None) => panes.run(&[&["new-window", "-t", IN_CORE], &names[..], program].concat()),
        (_, Some(pane)) => {
            let again = ["respawn-pane", "-k", "-t", &pane, "-c", &root];
            panes.run(&[&again[..], program].concat()).map(|_| pane)
        }
        (Err(_), None) => {
            let make = ["new-session", "-d", "-s", CORE];
            panes.run(&[&make[..], &names, program].concat())
        }
    };
    match made {
        Ok(pane) => Ok(Some(pane.trim().to_owned())),
        // Somebody else has created it at the same time.
        Err(why) if why.contains("duplicate session") => Ok(None),
        Err(why) => Err(why),
    }
}

fn is_on_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Become a tmux client of a session, or switch the client that this runs in. Inside another tmux,
/// this nests.
fn go(
    panes: &Panes,
    select: &[Vec<&str>],
    session: &str,
    target: &str,
    says: Option<&str>,
) -> Result<Exit, Refused> {
    let socket = &panes.server().socket;
    let around = std::env::var_os("TMUX");
    let inside = around.as_ref().is_some_and(|tmux| {
        let tmux = tmux.to_string_lossy();
        tmux.split(',').next().map(Path::new) == Some(socket)
    });
    let is_terminal = is_on_terminal();
    let how = if inside {
        "switch-client"
    } else {
        "attach-session"
    };
    // The note stays in the status line for a while.
    let nested = around.is_some() && !inside;
    let shown = says.or(nested.then_some(NESTED)).map(tmux::literal);
    let show = shown
        .iter()
        .map(|says| vec!["display-message", "-d", SHOWN, says]);
    let show: Vec<Vec<&str>> = show.collect();
    let commands = [select, &[vec![how, "-t", session]], &show].concat();
    let mut go = match inside {
        true if is_terminal && agent_here().is_none() => {
            let mut go = panes.server().asked(&commands);
            // Attach with this client.
            go.envs(
                ["TMUX", "TMUX_PANE"]
                    .map(|name| (name, std::env::var_os(name).unwrap_or_default())),
            );
            go
        }
        false if is_terminal => panes.server().asked(&commands),
        true | false => {
            let socket = shell_word(&printable(&socket.to_string_lossy()));
            if let Some(says) = says {
                talk(&format!("{}\n", printable(says)));
            }
            talk(&format!(
                "to see it, type this in a terminal: tmux -S {socket} attach -t '{target}'\n"
            ));
            return Ok(Exit::Done);
        }
    };
    // `exec` returns only on failure.
    let error = go.exec();
    Err(Refused::new(format!("tmux cannot be run: {error}")).hint("`tx doctor` looks for it"))
}
