//! What a name stands for, explained: messages, an agent, or the runs of a mesh.

use super::task::open_tasks;
use super::worker::agent;
use super::{AgentView, MachineView, MessageView, Refused, TaskView, find_messages, machines};
use crate::journal::History;
use crate::model::{Address, Mesh};

/// What there is to say about a name.
pub(crate) enum Explained {
    /// The messages of this name, newest first; never none.
    Messages(Vec<MessageView>),
    Agent(AgentView),
    /// The runs in the workflow of a mesh.
    Workflow(Vec<MachineView>),
    /// The runs of a mesh without a workflow.
    Runs(Vec<TaskView>),
}

impl Explained {
    /// Look a name up. An agent or a mesh comes before an id that only begins like it.
    pub(crate) fn of(
        history: History,
        name: &str,
        daemon_runs: bool,
    ) -> Result<Explained, Refused> {
        let state = history.state;
        if history.named_or_in(name)?.is_empty() {
            let is_agent = |who: &Address| state.worker(who).is_some() || state.knows(who);
            if let Some(who) = name.parse().ok().filter(is_agent) {
                return Ok(Explained::Agent(agent(history, &who, daemon_runs)?));
            }
            let mesh = name.trim_end_matches("/dispatch");
            let mut meshes = state.meshes().map(|loaded| &loaded.mesh);
            if let Some(mesh) = meshes.find(|known| known.name.as_str() == mesh) {
                return Explained::of_mesh(history, mesh);
            }
        }
        let found = find_messages(history, name)?;
        let views = found.iter().map(|facts| MessageView::of(history, facts));
        Ok(Explained::Messages(views.collect::<Result<_, _>>()?))
    }

    fn of_mesh(history: History, mesh: &Mesh) -> Result<Explained, Refused> {
        if mesh.machine.is_some() {
            let mut machines = machines(history)?;
            machines.retain(|machine| machine.mesh == mesh.name);
            return Ok(Explained::Workflow(machines));
        }
        let (mut tasks, _) = open_tasks(history, usize::MAX)?;
        tasks.retain(|task| task.mesh.as_ref() == Some(&mesh.name));
        Ok(Explained::Runs(tasks))
    }
}
