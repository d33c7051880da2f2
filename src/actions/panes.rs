//! The project's tmux server, for people who look at it. It is never started here.

use std::process::Stdio;

use crate::daemon::pane_of;
use crate::engine::AttemptId;
use crate::model::Address;
use crate::project::Project;
use crate::tmux::Server;
use crate::view::Refused;

/// The server of a project, which may not be running.
pub(crate) struct Panes {
    server: Server,
}

/// A pane of an agent.
#[derive(Debug, PartialEq)]
struct Tagged {
    id: String,
    session: String,
    of: AttemptId,
}

impl Panes {
    pub(crate) fn of(project: &Project) -> Result<Panes, Refused> {
        let socket = project.tmux_socket().map_err(|error| {
            Refused::new(format!("the tmux socket cannot be reached: {error}"))
                .hint("`tx doctor` says what is wrong")
        })?;
        Ok(Panes {
            server: Server { socket },
        })
    }

    /// The server itself.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Run a command. Returns its output, or why it failed.
    pub(crate) fn run(&self, command: &[&str]) -> Result<String, String> {
        self.run_all(&[command.to_vec()])
    }

    /// Run commands one after the other.
    pub(crate) fn run_all(&self, commands: &[Vec<&str>]) -> Result<String, String> {
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

    /// Whether the server runs.
    pub(crate) fn is_there(&self) -> bool {
        self.run(&["list-sessions"]).is_ok()
    }

    /// End the server, if it runs.
    pub(crate) fn end(&self) {
        // It may already be gone.
        let _ = self.run(&["kill-server"]);
    }

    /// The current panes of agents; empty without a server.
    pub(crate) fn agents(&self) -> Agents {
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
pub(crate) struct Agents(Vec<Tagged>);

impl Agents {
    /// The ids of the pane of an agent's last attempt, and of its session.
    pub(crate) fn pane(&self, agent: &Address) -> Option<(&str, &str)> {
        let own = self.0.iter().filter(|tagged| tagged.of.worker == *agent);
        let last = own.max_by_key(|tagged| tagged.of.attempt)?;
        Some((&last.id, &last.session))
    }

    /// The same; an error if there is none.
    pub(crate) fn need(&self, agent: &Address) -> Result<(&str, &str), Refused> {
        self.pane(agent).ok_or_else(|| {
            let message =
                format!("{agent} has no pane: it is not running, and left nothing to show");
            Refused::no_such_thing(message).hint(format!("`tx why {agent}` shows what it does"))
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
