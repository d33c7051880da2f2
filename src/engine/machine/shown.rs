//! What people see of a machine: its status for views, and the facts for the agent of a stage.

use indexmap::IndexSet;

use super::{HeldValue, Machine, MachineId, MachinePhase, ParkedWork, StateWork};
use crate::engine::lines::first_line;
use crate::engine::message_record::{Delivery, MessageNo};
use crate::engine::state::State;
use crate::engine::work::WorkflowPlace;
use crate::model::{Address, StateName, StateRules, VariableName};

/// The status of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineStatus {
    /// The message that began it, and its mesh.
    pub id: MachineId,
    /// The run that it belongs to.
    pub run: Option<MessageNo>,
    /// The current state; `None` while it enters its first.
    pub state: Option<StateName>,
    /// How often that state has been entered, including this time.
    pub visit: u32,
    /// The number of states that it has entered.
    pub step: u32,
    /// The variables as text, each with the record that set it.
    pub variables: Vec<(VariableName, String, u64)>,
    /// The members of its block, if its state has one.
    pub members: Vec<MachineMember>,
    /// What it waits for, in words.
    pub waits_for: String,
    /// The command that lets it continue, if a person has to act.
    pub command: Option<String>,
    /// The last state change with its reason.
    pub last_change: String,
}

/// A member of a machine's block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineMember {
    /// The index in the block, from 0.
    pub index: u32,
    /// The worker that has it, or the agent that it waits for.
    pub who: Address,
    /// Have all its items ended?
    pub done: bool,
    /// Has it given a result?
    pub succeeded: bool,
    /// Is a worker working on it?
    pub working: bool,
}

/// A way out of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateExit {
    /// The condition as written; `None`: if no condition holds.
    pub condition: Option<String>,
    /// The next state.
    pub target: StateName,
}

/// What the agent of a stage is told about its machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageFacts {
    /// The state of the machine.
    pub state: StateName,
    /// How often that state has been entered, including this time.
    pub visit: u32,
    /// The variables that are set, as text.
    pub variables: Vec<(VariableName, String)>,
}

impl MachineStatus {
    /// Does a person have to retry or drop something?
    pub fn is_held_up(&self) -> bool {
        let command = self.command.as_deref();
        command.is_some_and(|command| command.starts_with("tx dlq"))
    }
}

impl State {
    /// The short blocks outside of machines: the opening message, and how many results they
    /// need and have.
    pub fn short_blocks(&self) -> impl Iterator<Item = (MessageNo, usize, usize)> {
        let blocks = self.fan_outs.iter();
        let short = blocks.filter(|(_, block)| block.is_short() && block.machine.is_none());
        short.map(|(opener, block)| (opener, block.needed(), block.successes()))
    }

    /// The changes of machines and blocks in the last step, as log lines.
    pub fn workflow_changes(&self) -> &[String] {
        &self.output.workflow
    }

    /// The open machines.
    pub fn machines(&self) -> impl Iterator<Item = MachineStatus> {
        let all = self.machines.iter();
        all.map(|(id, machine)| self.status_of(id, machine))
    }

    /// An open machine.
    pub fn machine(&self, id: &MachineId) -> Option<&Machine> {
        self.machines.get(id)
    }

    /// The ways out of the state that asked core this question. The answer decides between them.
    pub fn exits_of_question(&self, question: MessageNo) -> Vec<StateExit> {
        let id = self.machines.asking(question);
        let found = id.as_ref().and_then(|id| {
            let machine = self.machines.get(id)?;
            let states = &self.around(id, machine)?.rules.states;
            states.get(machine.state.as_ref()?)
        });
        let Some(StateRules { exit, .. }) = found else {
            return Vec::new();
        };
        let conditions = exit.when.iter().map(|when| StateExit {
            condition: Some(when.text.trim().to_owned()),
            target: when.target.clone(),
        });
        let default = exit.default.iter().map(|target| StateExit {
            condition: None,
            target: target.clone(),
        });
        conditions.chain(default).collect()
    }

    fn status_of(&self, id: MachineId, machine: &Machine) -> MachineStatus {
        let variables = machine.variables.iter().map(|(name, held)| {
            let text = held.value.as_text(&self.messages);
            (name.clone(), text, held.record)
        });
        MachineStatus {
            run: machine.run,
            state: machine.state.clone(),
            visit: machine.visit(),
            step: machine.step,
            variables: variables.collect(),
            members: self.members_of(machine),
            waits_for: self.machine_waits_for(&id, machine),
            command: self.machine_command(machine),
            last_change: machine.last_change.clone(),
            id,
        }
    }

    fn members_of(&self, machine: &Machine) -> Vec<MachineMember> {
        let block = machine.block();
        let block = block.and_then(|block| Some((block, self.fan_outs.get(block)?)));
        let Some((block, fan_out)) = block else {
            return Vec::new();
        };
        let members = fan_out.members.iter().zip(0..);
        let members = members.map(|(member, index)| {
            let has_it = |work: &crate::engine::work::Work| {
                work.member().is_some_and(|it| it.id() == (block, index))
            };
            let holder = self.holder(&member.agent, has_it);
            MachineMember {
                index,
                who: holder.unwrap_or(&member.agent).clone(),
                done: member.open == 0,
                succeeded: member.has_succeeded(),
                working: holder.is_some(),
            }
        });
        members.collect()
    }

    /// What a machine waits for, in words.
    pub(in crate::engine) fn machine_waits_for(&self, id: &MachineId, machine: &Machine) -> String {
        match &machine.phase {
            MachinePhase::Parked { why, .. } => {
                format!("a person: {}", first_line(why).unwrap_or_default())
            }
            MachinePhase::Moving(_) => "a job of its workflow".into(),
            MachinePhase::Waiting(StateWork::Question(_)) => "an answer of the human".into(),
            MachinePhase::Waiting(StateWork::Block(block)) => match self.fan_outs.get(*block) {
                Some(block) if block.is_short() => format!(
                    "a person: its block needs {} results, and has {}",
                    block.needed(),
                    block.successes()
                ),
                Some(_) | None => {
                    let open = self.members_of(machine).into_iter();
                    let open = open.filter(|member| !member.done);
                    let open: IndexSet<String> = open.map(|it| it.who.to_string()).collect();
                    open.into_iter().collect::<Vec<_>>().join(", ")
                }
            },
            MachinePhase::Waiting(StateWork::Stage) => match self.stage_holder(id, machine) {
                Some(who) => who.to_string(),
                None => "its stage".into(),
            },
        }
    }

    /// The worker that has the stage of a machine or gets it next.
    fn stage_holder(&self, id: &MachineId, machine: &Machine) -> Option<Address> {
        let place = WorkflowPlace::Stage(id.at(machine.step));
        let last = machine.entered.last()?;
        let facts = self.messages.facts(*last)?;
        let mine = |d: &&Delivery| {
            !d.to.is_dispatch() && d.place.as_ref().is_some_and(|own| own.is_same(&place))
        };
        let delivery = facts.deliveries.iter().rfind(mine)?;
        Some(match delivery.slot {
            Some(slot) => delivery.to.with_slot(slot),
            None => delivery.to.clone(),
        })
    }

    fn machine_command(&self, machine: &Machine) -> Option<String> {
        let name = |number: MessageNo| {
            let facts = self.messages.facts(number);
            facts.map(|facts| facts.id.to_string())
        };
        match &machine.phase {
            MachinePhase::Parked { what, .. } => {
                let messages = match what {
                    ParkedWork::Change { change, .. } => &change.messages,
                    ParkedWork::Stage => &machine.entered,
                };
                let by_tx = |number: &&MessageNo| {
                    let facts = self.messages.facts(**number);
                    facts.is_some_and(|facts| facts.from.is_system())
                };
                let written = messages.iter().find(|number| !by_tx(number));
                let parked = written.or(messages.first());
                let id = name(*parked?)?;
                Some(format!("tx dlq retry {id}  (or: tx dlq drop {id})"))
            }
            MachinePhase::Moving(_) => None,
            MachinePhase::Waiting(StateWork::Stage) => None,
            MachinePhase::Waiting(StateWork::Question(question)) => {
                Some(format!("tx answer {}", name(*question)?))
            }
            MachinePhase::Waiting(StateWork::Block(block)) => {
                let short = self.fan_outs.get(*block)?.is_short();
                let id = name(*block)?;
                short.then(|| format!("tx dlq retry {id}.N  (or: tx dlq drop {id}.N)"))
            }
        }
    }

    /// The state and the variables for the agent of a stage, as text.
    pub fn stage_facts(&self, id: &MachineId) -> Option<StageFacts> {
        let machine = self.machines.get(id)?;
        let rules = self.mesh(&id.mesh)?.machine.as_ref()?;
        let values = rules.variables.keys().filter_map(|name| {
            let text = match &machine.variables.get(name)?.value {
                HeldValue::Text(text) => text.clone(),
                HeldValue::Messages(numbers) => {
                    let below = numbers.iter().all(|it| machine.entered.contains(it));
                    let place = if below { " below" } else { "" };
                    match numbers.len() {
                        1 => format!("the result{place}"),
                        count => format!("the {count} results{place}"),
                    }
                }
            };
            Some((name.clone(), text))
        });
        Some(StageFacts {
            state: machine.state.clone()?,
            visit: machine.visit(),
            variables: values.collect(),
        })
    }
}
