//! Running machines: where each run is in the workflow of its mesh.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{MachineStatus, MessageNo};
use crate::journal::{Error, History};
use crate::model::{Address, Name};

/// A running machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MachineView {
    /// The id of the message that began its run.
    pub(crate) run: String,
    pub(crate) mesh: Name,
    /// `None` while it enters its first state.
    pub(crate) state: Option<String>,
    /// How often it has entered that state.
    pub(crate) visit: u32,
    /// How many states it has entered.
    pub(crate) step: u32,
    /// Its variables. References to messages are shown as ids.
    pub(crate) context: BTreeMap<String, String>,
    /// The members of its block, if its state has one.
    pub(crate) members: Vec<MachineMemberView>,
    pub(crate) waits_for: String,
    /// The last transition, with the reason.
    pub(crate) last_change: String,
    /// The command that a person can use to continue it, if necessary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    /// The sequence number of the record that set each variable.
    #[serde(skip)]
    pub(crate) set_by: Vec<(String, u64)>,
}

/// A member of a machine's block.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MachineMemberView {
    pub(crate) index: u32,
    /// The worker that works on it, or the agent that it waits for.
    pub(crate) agent: Address,
    /// `done`, `failed`, `working` or `waiting`.
    pub(crate) state: &'static str,
}

/// All running machines.
pub(crate) fn machines(history: History) -> Result<Vec<MachineView>, Error> {
    let all = history.state.machines();
    all.map(|status| MachineView::of(history, status)).collect()
}

/// The command that a person can use to continue a machine, for the first failed member of its
/// block.
pub(super) fn command(status: &MachineStatus) -> Option<String> {
    let command = status.command.as_ref()?;
    let mut members = status.members.iter();
    let failed = members.find(|member| member.done && !member.succeeded);
    let member = failed.map_or_else(|| ".N".into(), |member| format!(".{}", member.index));
    Some(command.replace(".N", &member))
}

impl MachineView {
    fn of(history: History, status: MachineStatus) -> Result<MachineView, Error> {
        let first: MessageNo = status.run.unwrap_or(status.id.begun);
        let run = history.ids([first])?;
        let command = command(&status);
        let members = status.members.into_iter().map(|member| MachineMemberView {
            index: member.index,
            agent: member.who,
            state: match (member.done, member.succeeded, member.working) {
                (true, true, _) => "done",
                (true, false, _) => "failed",
                (false, _, true) => "working",
                (false, _, false) => "waiting",
            },
        });
        let variables = || status.variables.iter();
        Ok(MachineView {
            run: run.into_iter().next().unwrap_or_default(),
            mesh: status.id.mesh,
            state: status.state.map(|state| state.to_string()),
            visit: status.visit,
            step: status.step,
            context: variables()
                .map(|(name, text, _)| (name.as_str().to_owned(), text.clone()))
                .collect(),
            members: members.collect(),
            waits_for: status.waits_for,
            last_change: status.last_change,
            command,
            set_by: variables()
                .map(|(name, _, record)| (name.as_str().to_owned(), *record))
                .collect(),
        })
    }
}
