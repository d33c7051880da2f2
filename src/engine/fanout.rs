//! Open blocks: their members, how far each member is, and whether the join may begin. The
//! rules that act on them are in `blocks`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::machine::MachineId;
use super::message_record::MessageNo;
use super::skipped::{is_false, is_zero};
use super::work::{Item, Member};
use crate::model::{Address, Gather, Target};

/// The blocks that are not joined, by the outcomes that opened them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct FanOuts(BTreeMap<MessageNo, FanOut>);

/// What a block requires of its members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRules {
    /// How many members must succeed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min: u32,
    /// The time limit of each member, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// All members are copies of one agent, which gets as many slots.
    #[serde(default, skip_serializing_if = "is_false")]
    pub copies: bool,
    /// How the results are combined for the join.
    #[serde(default, skip_serializing_if = "is_concat")]
    pub gather: Gather,
}

/// How far a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockPhase {
    /// Members are working.
    #[default]
    Open,
    /// All members are closed with too few successes. A person has to retry or drop one.
    Short,
    /// The block is decided, and the daemon combines the results into one message.
    Gathering {
        /// The number of the attempt, from 1.
        job: u32,
        /// The deadline of the attempt, in milliseconds since 1970.
        due: i64,
    },
}

/// A block that is not joined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FanOut {
    /// Who gets the results.
    pub(super) join: Target,
    /// The run of the block. Blocks of two runs never mix.
    pub(super) run: Option<MessageNo>,
    /// Who opened the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) opener: Option<Address>,
    /// The machine whose state opened the block, which gets the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) machine: Option<MachineId>,
    #[serde(default, skip_serializing_if = "BlockRules::is_plain")]
    pub(super) rules: BlockRules,
    #[serde(default, skip_serializing_if = "is_open")]
    pub(super) phase: BlockPhase,
    pub(super) members: Vec<MemberProgress>,
}

/// How far a member of a block is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MemberProgress {
    pub(super) agent: Address,
    /// The number of its unfinished items.
    pub(super) open: u32,
    /// Its results: for each turn the first outcome and those that followed.
    #[serde(default)]
    pub(super) results: Vec<MessageNo>,
    /// Its `error` outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<MessageNo>,
    /// Why it gave no result, if no message says so.
    #[serde(default)]
    pub(super) failures: Vec<String>,
    /// Items that ended with `error`, kept until the block is decided, each with its worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) held: Vec<(Address, Item)>,
    /// A person has decided to continue without it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) dropped: bool,
    /// The deadline of the member while it is being worked on, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due: Option<i64>,
    /// The milliseconds left while nobody works on it; `None` if all of its time is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) left: Option<i64>,
}

/// What follows for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockDecision {
    /// Nothing yet.
    Wait,
    /// The join gets the results.
    Join,
    /// A person has to decide.
    Short,
}

impl BlockRules {
    pub(super) fn is_plain(&self) -> bool {
        *self == BlockRules::default()
    }
}

impl FanOuts {
    pub(super) fn open(&mut self, opener: MessageNo, fan_out: FanOut) {
        self.0.insert(opener, fan_out);
    }

    pub(super) fn is_open(&self, opener: MessageNo) -> bool {
        self.0.contains_key(&opener)
    }

    pub(super) fn get(&self, opener: MessageNo) -> Option<&FanOut> {
        self.0.get(&opener)
    }

    pub(super) fn get_mut(&mut self, opener: MessageNo) -> Option<&mut FanOut> {
        self.0.get_mut(&opener)
    }

    pub(super) fn take(&mut self, opener: MessageNo) -> Option<FanOut> {
        self.0.remove(&opener)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (MessageNo, &FanOut)> {
        self.0.iter().map(|(opener, fan_out)| (*opener, fan_out))
    }

    /// Does this run have a block that is not joined?
    pub(super) fn has_open(&self, run: MessageNo) -> bool {
        self.0.values().any(|fan_out| fan_out.run == Some(run))
    }

    /// The block that keeps this message, as a result or as work that ended with `error`.
    pub(super) fn keeping(&self, message: MessageNo) -> Option<&FanOut> {
        self.0.values().find(|fan_out| {
            fan_out.members.iter().any(|member| {
                let mut held = member.held.iter();
                member.results.contains(&message)
                    || member.errors.contains(&message)
                    || held.any(|(_, item)| item.messages.contains(&message))
            })
        })
    }

    /// Does the member belong to a block that is not decided?
    pub(super) fn is_undecided(&self, member: &Member, who: &Address) -> bool {
        let fan_out = self.get(member.block).filter(|it| it.gathers().is_none());
        fan_out.is_some_and(|fan_out| fan_out.find(member, who).is_some())
    }

    /// The progress of a member, if its block is not decided.
    pub(super) fn member_mut(
        &mut self,
        member: &Member,
        who: &Address,
    ) -> Option<&mut MemberProgress> {
        let fan_out = self.0.get_mut(&member.block)?;
        if fan_out.gathers().is_some() {
            return None;
        }
        let place = fan_out.find(member, who)?;
        fan_out.members.get_mut(place)
    }

    /// Reopen an agent's member for new work in the same run, if the agent has exactly one
    /// member in the block.
    pub(super) fn reopen(&mut self, run: MessageNo, who: &Address) -> Option<Member> {
        let mut all = self.0.iter_mut();
        all.find_map(|(opener, fan_out)| {
            let of_machine = fan_out.machine.is_some();
            if of_machine || fan_out.run != Some(run) || fan_out.phase != BlockPhase::Open {
                return None;
            }
            let total = u32::try_from(fan_out.members.len()).unwrap_or(u32::MAX);
            let mut mine = fan_out.members.iter_mut().zip(0..);
            let mut mine = mine.by_ref().filter(|(member, _)| member.agent == *who);
            let (Some((member, index)), None) = (mine.next(), mine.next()) else {
                return None;
            };
            member.open += 1;
            Some(Member {
                block: *opener,
                index,
                total,
                part: None,
                join: fan_out.join.clone(),
            })
        })
    }
}

impl FanOut {
    /// The index of a member. Members of older journals have no index and are found by their
    /// agent.
    pub(super) fn find(&self, member: &Member, who: &Address) -> Option<usize> {
        let index = usize::try_from(member.index).ok()?;
        let known = self.members.get(index);
        match known.filter(|known| who.is_of(&known.agent)) {
            Some(_) => Some(index),
            None => self
                .members
                .iter()
                .position(|known| who.is_of(&known.agent)),
        }
    }

    /// The members that are not done.
    pub(super) fn at_work(&self) -> impl Iterator<Item = &Address> {
        let open = self.members.iter().filter(|member| member.open > 0);
        open.map(|member| &member.agent)
    }

    pub(super) fn is_short(&self) -> bool {
        self.phase == BlockPhase::Short
    }

    /// The attempt that gathers the results, and its deadline.
    pub(super) fn gathers(&self) -> Option<(u32, i64)> {
        match self.phase {
            BlockPhase::Gathering { job, due } => Some((job, due)),
            BlockPhase::Open | BlockPhase::Short => None,
        }
    }

    pub(super) fn successes(&self) -> usize {
        let members = self.members.iter();
        members.filter(|member| member.has_succeeded()).count()
    }

    /// How many members must succeed. Members that a person dropped do not count.
    pub(super) fn needed(&self) -> usize {
        let min = usize::try_from(self.rules.min).unwrap_or(usize::MAX);
        let dropped = self.members.iter();
        let dropped = dropped.filter(|member| member.dropped && !member.has_succeeded());
        min.min(self.members.len() - dropped.count())
    }

    pub(super) fn decision(&self) -> BlockDecision {
        if self.at_work().next().is_some() || self.gathers().is_some() {
            return BlockDecision::Wait;
        }
        match self.successes() >= self.needed() {
            true => BlockDecision::Join,
            false if self.is_short() => BlockDecision::Wait,
            false => BlockDecision::Short,
        }
    }

    /// The closed members without a success.
    pub(super) fn failed(&self) -> impl Iterator<Item = (usize, &MemberProgress)> {
        let members = self.members.iter().enumerate();
        members.filter(|(_, member)| member.open == 0 && !member.has_succeeded())
    }

    /// The lines that tell the join about members without a message.
    pub(super) fn failures(&self) -> Vec<String> {
        let members = self.members.iter();
        let failures = members.flat_map(|member| {
            let messages = member.results.is_empty() && member.errors.is_empty();
            let nothing = messages && member.failures.is_empty();
            let nothing = nothing.then(|| "it has no result".to_owned());
            let failures = member.failures.iter().cloned().chain(nothing);
            failures.map(move |why| format!("- {}: {why}", member.agent))
        });
        failures.collect()
    }
}

impl MemberProgress {
    pub(super) fn new(agent: Address) -> MemberProgress {
        MemberProgress {
            agent,
            open: 1,
            results: Vec::new(),
            errors: Vec::new(),
            failures: Vec::new(),
            held: Vec::new(),
            dropped: false,
            due: None,
            left: None,
        }
    }

    pub(super) fn has_succeeded(&self) -> bool {
        !self.results.is_empty()
    }
}

fn is_concat(gather: &Gather) -> bool {
    *gather == Gather::Concat
}

fn is_open(phase: &BlockPhase) -> bool {
    *phase == BlockPhase::Open
}
