//! The project's tmux server as verbs see it: they look, and never start it.

use std::process::Stdio;

use super::{Exit, Failure};
use crate::daemon::pane_of;
use crate::engine::Pane;
use crate::model::Address;
use crate::project::Project;
use crate::tmux::Server;

/// The server of a project, which need not be there.
pub(super) struct Panes {
    server: Server,
}

/// A pane of an agent.
#[derive(Debug, PartialEq)]
struct Tagged {
    id: String,
    session: String,
    of: Pane,
}

impl Panes {
    pub(super) fn of(project: &Project) -> Result<Panes, Failure> {
        let socket = project.tmux_socket().map_err(|error| {
            Failure::new(format!("the tmux socket cannot be reached: {error}"))
                .hint("`tx doctor` says what is wrong")
        })?;
        Ok(Panes {
            server: Server { socket },
        })
    }

    /// The server itself.
    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    /// Run a command; what it prints, or why it failed.
    pub(super) fn run(&self, command: &[&str]) -> Result<String, String> {
        self.run_all(&[command.to_vec()])
    }

    /// Run commands one after the other.
    pub(super) fn run_all(&self, commands: &[Vec<&str>]) -> Result<String, String> {
        let mut command = self.server.asked(commands);
        match command.stdin(Stdio::null()).output() {
            Ok(ran) if ran.status.success() => {
                Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
            }
            Ok(ran) => {
                let said = String::from_utf8_lossy(&ran.stderr);
                Err(format!("tmux says: {}", said.trim()))
            }
            Err(error) => Err(format!("tmux cannot be started: {error}")),
        }
    }

    /// Does the server run?
    pub(super) fn is_there(&self) -> bool {
        self.run(&["list-sessions"]).is_ok()
    }

    /// End the server, if it runs.
    pub(super) fn end(&self) {
        // Not to be there is as good.
        let _ = self.run(&["kill-server"]);
    }

    /// The panes of agents that there are now; none without a server.
    pub(super) fn agents(&self) -> Agents {
        let format = "#{pane_id} #{session_id} #{pane_start_command}";
        let listed = self.run(&["list-panes", "-a", "-F", format]);
        Agents(
            listed
                .unwrap_or_default()
                .lines()
                .filter_map(tagged)
                .collect(),
        )
    }
}

/// The panes of agents, at one time.
pub(super) struct Agents(Vec<Tagged>);

impl Agents {
    /// The pane of an agent's last attempt, and the session it is in, by their ids.
    pub(super) fn pane(&self, agent: &Address) -> Option<(&str, &str)> {
        let own = self.0.iter().filter(|tagged| tagged.of.worker == *agent);
        let last = own.max_by_key(|tagged| tagged.of.attempt)?;
        Some((&last.id, &last.session))
    }

    /// The same, or that there is none.
    pub(super) fn need(&self, agent: &Address) -> Result<(&str, &str), Failure> {
        self.pane(agent).ok_or_else(|| {
            let message =
                format!("{agent} has no pane: nothing of it runs, nor is left to be seen");
            Failure::new(message)
                .hint(format!("`tx why {agent}` tells what it does"))
                .exit(Exit::NoSuchThing)
        })
    }
}

fn tagged(line: &str) -> Option<Tagged> {
    let (id, rest) = line.split_once(' ')?;
    let (session, command) = rest.split_once(' ')?;
    Some(Tagged {
        id: id.into(),
        session: session.into(),
        of: pane_of(command)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pane_of_the_last_attempt_is_found_by_its_tag() {
        let listed = "%1 $0 /bin/tx turn dev/worker 9 --folder /run/a\n\
                      %2 $1 /bin/tx turn dev/worker 10 --folder /run/b\n\
                      %3 $1 /bin/tx turn dev/worker-2 11 --folder /run/c\n%4 $0 bash\n%5 $0 \n";
        let agents = Agents(listed.lines().filter_map(tagged).collect());
        let pane = |agent: &str| agents.pane(&agent.parse().unwrap());
        assert_eq!(pane("dev/worker"), Some(("%2", "$1")));
        assert_eq!(pane("dev/worker-2"), Some(("%3", "$1")));
        assert_eq!(pane("dev/other"), None);
    }
}
