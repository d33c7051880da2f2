//! Enters a state: everything changes in one step, and then the work of the state begins.

use std::borrow::Cow;

use super::change::StateChange;
use super::{ChangePoint, Machine, MachineEnd, MachineId, MachinePhase, StateWork};
use crate::engine::fanout::{BlockPhase, BlockRules, FanOut, MemberProgress};
use crate::engine::message_record::{MessageNo, MessageRecord, Step};
use crate::engine::notes::Note;
use crate::engine::state::State;
use crate::engine::work::{Item, Member, WorkflowPlace};
use crate::model::{
    Address, Block, Give, Kind, Members, MinSuccesses, Name, Priority, StateKind, StateName, Target,
};

impl State {
    /// Commit a change: the state, the variables, the visits and the deliveries. Returns the
    /// next change if the state is left at once.
    pub(super) fn enter(
        &mut self,
        id: &MachineId,
        mut machine: Machine,
        change: StateChange,
    ) -> Option<(Machine, StateChange)> {
        let before = machine.references();
        let target = change.target.clone()?;
        let members = self.around(id, &machine);
        let members = members.and_then(|around| change.members(&around).ok().flatten());
        self.warn_of_missing_parts(id, &machine, &change);
        let words = in_words(machine.state.as_ref(), &target, &change.reason);
        let left: Vec<MessageNo> = machine
            .entered
            .iter()
            .chain(&machine.input)
            .copied()
            .collect();
        self.output
            .workflow
            .push(format!("machine {}: {words}", id.mesh));
        let address = id.address();
        for number in &change.messages {
            let why = Cow::Owned(words.clone());
            self.record_step(*number, &address, Step::Delivered, Some(why));
        }
        machine.take_in(target, change, &words);
        let entered = machine.entered.clone();
        let next = self.begin_state(id, machine, members);
        // Messages stay in the state only while their machine is in the map.
        if let Some(machine) = &next {
            self.machines.insert(id, machine.clone());
        }
        let why = format!("left: {words}");
        for number in left.iter().filter(|number| !entered.contains(number)) {
            self.end(*number, &address, Step::Finished, Some(why.clone().into()));
        }
        for number in before {
            self.leave_if_over(number);
        }
        let machine = next?;
        self.machines.remove(id);
        let change = StateChange::leaving(&machine, entered, ChangePoint::ExitGates);
        Some((machine, change))
    }

    /// Begin the work of the state that was entered. Returns the machine if it goes on at once.
    /// `members`: how many copies the block of the state has.
    fn begin_state(
        &mut self,
        id: &MachineId,
        machine: Machine,
        members: Option<u32>,
    ) -> Option<Machine> {
        let entered = machine.entered.clone();
        let (kind, asks) = self.around(id, &machine).and_then(|around| {
            // The state existed when the change was decided.
            let rules = around.rules.states.get(machine.state.as_ref()?)?;
            Some((rules.kind.clone(), !rules.exit.when.is_empty()))
        })?;
        match kind {
            StateKind::Work(agent) => {
                self.machines.insert(id, machine);
                self.give_stage(id, &agent, &entered, "the state is entered");
            }
            StateKind::Ensemble { block, .. } => {
                self.open_machine_block(id, machine, &block, members);
            }
            StateKind::Core if asks => self.ask_core(id, machine),
            StateKind::Core => {
                for number in &entered {
                    self.tell_core_of(*number, Kind::Update);
                }
                return Some(machine);
            }
            StateKind::Choice => return Some(machine),
            StateKind::Last(Some(agent)) => self.end_with_hand_over(id, machine, &agent),
            StateKind::Last(None) => self.end_with_result(id, machine, entered),
        }
        None
    }

    /// Warn if a stage before an ensemble should have divided its result into parts.
    fn warn_of_missing_parts(&mut self, id: &MachineId, machine: &Machine, change: &StateChange) {
        let (Some(author), [outcome]) = (&change.author, change.messages.as_slice()) else {
            return;
        };
        let expected = self.around(id, machine).is_some_and(|around| {
            let left = change.exit(&around).is_ok_and(|left| left.subtask);
            let next = change.entry(&around).map(|next| &next.kind);
            left && matches!(next, Some(StateKind::Ensemble { .. }))
        });
        let parts = self
            .messages
            .get(*outcome)
            .map_or(0, |held| held.parts.len());
        if expected && parts == 0 {
            let warning = "your result should have parts for those who work on it next \
                           (`SUBTASK 1: title`): all of them get the whole of it";
            self.warn(&author.clone(), warning, *outcome);
        }
    }

    /// Assign a stage to its agent: everything that entered, in one delivery.
    pub(super) fn give_stage(
        &mut self,
        id: &MachineId,
        agent: &Name,
        messages: &[MessageNo],
        why: &str,
    ) {
        let Some(machine) = self.machines.get(id) else {
            return;
        };
        let to = Address::new(id.mesh.clone(), agent.clone());
        let place = WorkflowPlace::Stage(id.at(machine.step));
        let priority = machine.priority;
        self.give_state_work(id, &to, messages, place, (why, priority));
    }

    /// Give all that entered a state to one agent, as one item.
    fn give_state_work(
        &mut self,
        id: &MachineId,
        to: &Address,
        messages: &[MessageNo],
        place: WorkflowPlace,
        (why, priority): (&str, Priority),
    ) {
        for number in messages {
            let kind = self.kind_at(*number, &id.address());
            self.add_delivery(*number, to, kind, Some(place.clone()), why);
        }
        let item = Item::of_work(messages.to_vec(), Some(place));
        self.enqueue_item(to, item, priority);
    }

    fn kind_at(&self, number: MessageNo, at: &Address) -> Kind {
        let delivery = self.messages.facts(number).and_then(|f| f.delivery_at(at));
        kind_in_stage(delivery.map_or(Kind::TaskComplete, |delivery| delivery.kind))
    }

    /// Open the block of an ensemble state. Each member gets everything that entered.
    fn open_machine_block(
        &mut self,
        id: &MachineId,
        mut machine: Machine,
        block: &Block,
        count: Option<u32>,
    ) {
        let (entered, run) = (machine.entered.clone(), machine.run);
        let mut messages = entered;
        let mut opener = messages.last().copied().unwrap_or(id.begun);
        if self.fan_outs.is_open(opener) {
            // The machine of another mesh has opened a block with the same message.
            opener = self.write_message(&Note {
                to: &id.address(),
                kind: Kind::TaskComplete,
                headline: "the members of a state begin",
                body: String::new(),
                about: Some(opener),
                hops: 0,
            });
            self.record_step(opener, &id.address(), Step::Delivered, None);
            messages.push(opener);
            machine.entered.push(opener);
        }
        let (agents, copies) = match &block.members {
            Members::Each(agents) | Members::PerPart(agents) => (agents.clone(), false),
            Members::Copies { agent, .. } => {
                let count = usize::try_from(count.unwrap_or_default()).unwrap_or_default();
                (vec![agent.clone(); count], true)
            }
        };
        let agents: Vec<Address> = agents.into_iter().map(Address::from).collect();
        let total = u32::try_from(agents.len()).unwrap_or(u32::MAX);
        let parts = match (messages.as_slice(), block.give) {
            ([one], Give::PartsIfMatching | Give::Parts(_)) => {
                let parts = self.messages.get(*one).map(|held| held.parts.clone());
                parts.filter(|parts| parts.len() == agents.len())
            }
            (_, Give::Whole | Give::PartsIfMatching | Give::Parts(_)) => None,
        };
        let min = match block.min {
            MinSuccesses::All => total,
            MinSuccesses::Number(min) => min,
        };
        let join = Target::Agent(id.address());
        let fan_out = FanOut {
            join: join.clone(),
            run,
            opener: None,
            machine: Some(id.clone()),
            rules: BlockRules {
                min,
                time: block.time.map(|time| time.0),
                copies,
                gather: block.gather.clone(),
            },
            phase: BlockPhase::Open,
            members: agents.iter().cloned().map(MemberProgress::new).collect(),
        };
        machine.phase = MachinePhase::Waiting(StateWork::Block(opener));
        let priority = machine.priority;
        self.machines.insert(id, machine);
        self.begin_block(opener, fan_out);
        for (agent, index) in agents.into_iter().zip(0..) {
            let at = usize::try_from(index).unwrap_or(usize::MAX);
            let part = parts.as_ref().and_then(|parts| parts.get(at).copied());
            let member = Member {
                block: opener,
                index,
                total,
                part,
                join: join.clone(),
            };
            let place = WorkflowPlace::Member(member);
            self.give_state_work(id, &agent, &messages, place, ("a member", priority));
        }
        self.decide_block(opener);
    }

    /// Ask core. The last message that entered is the question, the others are updates.
    fn ask_core(&mut self, id: &MachineId, mut machine: Machine) {
        let (last, others) = match machine.entered.split_last() {
            Some((last, others)) => (*last, others.to_vec()),
            None => (id.begun, Vec::new()),
        };
        for number in others {
            self.tell_core_of(number, Kind::Update);
        }
        let core = Address::core();
        let question = match self.core_knows(last) {
            false => {
                self.add_delivery(last, &core, Kind::AskHuman, None, "a question");
                last
            }
            // Core wrote the message or has it, so tx writes the question.
            true => self.write_question(id, &machine, last),
        };
        machine.phase = MachinePhase::Waiting(StateWork::Question(question));
        self.machines.insert(id, machine);
        self.ask_human(question, &id.address());
    }

    fn write_question(&mut self, id: &MachineId, machine: &Machine, about: MessageNo) -> MessageNo {
        let state = machine.state.as_ref().map_or("", StateName::as_str);
        let rules = self.around(id, machine);
        let rules = rules.and_then(|around| around.rules.states.get(machine.state.as_ref()?));
        let description = rules.map_or("", |rules| rules.description.as_str());
        let ways = rules.into_iter().flat_map(|rules| &rules.exit.when);
        let ways: Vec<String> = ways
            .map(|when| format!("- {} → {}", when.text.trim(), when.target))
            .collect();
        let body = format!(
            "The workflow of `{}` waits for you in the state `{state}`. {description}\n\n\
             What your answer decides:\n\n{}",
            id.mesh,
            ways.join("\n")
        );
        self.write_message(&Note {
            to: &Address::core(),
            kind: Kind::AskHuman,
            headline: &format!("{}: what follows `{state}`?", id.mesh),
            body,
            about: Some(about),
            hops: 0,
        })
    }

    // The end of a machine.

    /// The last state has an agent, which gets what entered as ordinary work.
    fn end_with_hand_over(&mut self, id: &MachineId, machine: Machine, agent: &Name) {
        let to = Address::new(id.mesh.clone(), agent.clone());
        let messages = machine.entered.clone();
        let mut given = Vec::new();
        for number in messages {
            let facts = self.messages.facts(number);
            let has_it = facts.and_then(|facts| facts.delivery_at(&to));
            if has_it.is_some_and(|delivery| !delivery.is_over()) {
                continue;
            }
            let kind = self.kind_at(number, &id.address());
            self.add_delivery(number, &to, kind, None, "the last state of the machine");
            given.push(number);
        }
        if !given.is_empty() {
            self.enqueue_item(&to, Item::of_work(given, None), machine.priority);
        }
        self.end_machine(id, machine, false);
    }

    /// The last state has no agent. What entered goes to core as the result.
    pub(super) fn end_with_result(
        &mut self,
        id: &MachineId,
        machine: Machine,
        results: Vec<MessageNo>,
    ) {
        // Where one has succeeded, the others count as the block says.
        let facts = || results.iter().filter_map(|it| self.messages.facts(*it));
        let succeeded = |facts: &MessageRecord| facts.status.is_some() && !facts.is_error();
        let failed = facts().any(MessageRecord::is_error) && !facts().any(succeeded);
        let run = machine.run.filter(|run| *run == id.begun);
        let mut messages = results.clone();
        messages.retain(|number| !machine.entered.contains(number));
        for number in &results {
            let author = self.messages.facts(*number).map(|facts| facts.from.clone());
            if self.core_knows(*number) {
                continue;
            }
            self.add_delivery(
                *number,
                &Address::core(),
                Kind::TaskComplete,
                None,
                "the result",
            );
            match (run, author) {
                // In a run that another mesh began, it counts like its author's outcome.
                (None, Some(author)) => self.complete_at_core(*number, &author),
                (Some(_), _) | (None, None) => self.reach_core(*number, Kind::TaskComplete),
            }
        }
        if let Some(run) = run {
            self.runs.set_result(run, failed);
        }
        for number in messages {
            let why = Cow::Borrowed("the result, at core");
            self.end(number, &id.address(), Step::Finished, Some(why));
        }
        self.end_machine(id, machine, false);
    }

    /// End a machine and release its messages.
    pub(super) fn end_machine(&mut self, id: &MachineId, machine: Machine, dropped: bool) {
        self.machines.remove(id);
        if let Some(held) = self.messages.get_mut(id.begun) {
            held.facts.machines.push(MachineEnd {
                mesh: id.mesh.clone(),
                state: machine.state.clone(),
                steps: machine.step,
                dropped,
            });
            self.touch_message(id.begun);
        }
        // The run ends before its messages leave, because its first message takes the totals
        // along.
        if let Some(run) = machine.run {
            match dropped {
                true => self.runs.set_dropped(run),
                false => self.end_run_if_complete(run),
            }
        }
        let mut all = machine.references();
        all.insert(id.begun);
        let step = match dropped {
            true => Step::Refused,
            false => Step::Finished,
        };
        let why = match dropped {
            true => "a person dropped it: its machine is over",
            false => "its machine is over",
        };
        let address = id.address();
        for number in &all {
            self.end(*number, &address, step, Some(why.into()));
        }
        for number in all {
            self.leave_if_over(number);
        }
    }
}

impl Machine {
    /// Change to a state, with the variables and the messages of a change.
    fn take_in(&mut self, target: StateName, change: StateChange, words: &str) {
        let stays = self.state.as_ref() == Some(&target) && change.messages != self.entered;
        *self.visits.entry(target.clone()).or_default() += 1;
        self.previous = self.state.replace(target);
        self.step += 1;
        self.variables = change.variables;
        self.sent_back = 0;
        self.phase = MachinePhase::Waiting(StateWork::Stage);
        words.clone_into(&mut self.last_change);
        if stays {
            let new = change.messages.iter().filter(|n| !self.input.contains(n));
            self.entered = self.input.iter().chain(new).copied().collect();
        } else {
            self.input.clone_from(&change.messages);
            self.entered = change.messages;
        }
    }
}

/// Such as `crawl → testing: default`.
fn in_words(from: Option<&StateName>, to: &StateName, reason: &str) -> String {
    match from {
        Some(from) => format!("{from} → {to}: {reason}"),
        None => format!("begin → {to}"),
    }
}

/// The kind of a message for the agent of a stage.
fn kind_in_stage(kind: Kind) -> Kind {
    match kind {
        Kind::TaskComplete => Kind::TaskComplete,
        Kind::Task
        | Kind::Ask
        | Kind::AskHuman
        | Kind::AskResponse
        | Kind::Update
        | Kind::Lifecycle => Kind::Task,
    }
}
