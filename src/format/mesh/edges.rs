//! The routing table and the blocks as a graph: every way that an outcome can take.

use std::collections::BTreeSet;

use crate::model::{
    Block, Join, Mesh, Name, Opener, OutcomeWord, Routing, RoutingMode, Row, StateKind, StateRules,
    Target,
};

/// One way that an outcome can take.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edge<'m> {
    pub(super) from: &'m Name,
    pub(super) label: Label<'m>,
    pub(super) to: Target,
    pub(super) reason: &'m str,
}

/// When an outcome takes this way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Label<'m> {
    /// With this outcome word.
    Word(&'m str),
    /// With any word that is not listed.
    Default,
    /// With any word.
    Always,
    /// To a member of a fan-out; with this word, or with any.
    FanOut(Option<&'m str>),
    /// The results of all members, to the join.
    Join,
    /// No row exists, so it goes to core.
    Unlisted,
}

impl Label<'_> {
    /// Whether a successful outcome takes this way. In dispatcher mode, `escalate` asks the human.
    pub(super) fn goes_on(self, mode: RoutingMode) -> bool {
        match self {
            Label::Word("escalate") => mode == RoutingMode::Agent,
            Label::Word(word) => word != "blocked" && word != "error",
            Label::Default | Label::Always | Label::FanOut(_) | Label::Join | Label::Unlisted => {
                true
            }
        }
    }

    pub(super) fn is_fan_out(self) -> bool {
        matches!(self, Label::FanOut(_))
    }
}

/// Every way that outcomes can take by blocks and table, including the implicit ones.
pub(super) fn edges(mesh: &Mesh) -> Vec<Edge<'_>> {
    let Routing {
        mode,
        rows,
        asks: _,
    } = &mesh.routing;
    let mut edges = Edges::default();
    for (from, row) in rows {
        match row {
            Row::Always(target) => edges.add(from, Label::Always, target, ""),
            Row::ByStatus { words, default } => {
                for (word, targets) in words {
                    let word = word.as_str();
                    if let Some(block) = opened(mesh, from, Some(word)) {
                        edges.open(mesh, from, Some(word), block);
                        continue;
                    }
                    for (target, reason) in targets {
                        edges.add(from, Label::Word(word), target, reason);
                    }
                }
                if let Some(target) = default {
                    edges.add(from, Label::Default, target, "");
                }
                let complete = words.keys().any(OutcomeWord::is_complete);
                let opens = opened(mesh, from, Some("complete")).is_some();
                if *mode == RoutingMode::Agent && !complete && default.is_none() && !opens {
                    edges.add(from, Label::Unlisted, &Target::Core, "");
                }
            }
            Row::FanOut { members, join } => edges.fan_out(mesh, from, None, members, join),
        }
    }
    for block in &mesh.blocks {
        for opener in &block.opens_for {
            if let Opener::Complete(agent) = opener
                && !edges.opened.contains(&(agent, block.source.as_str()))
            {
                edges.open(mesh, agent, Some("complete"), block);
            }
        }
    }
    // An agent that only works as a member or in a state has no implicit way: its outcome goes to
    // the join or the machine.
    let states = || {
        mesh.machine
            .iter()
            .flat_map(|machine| machine.states.values())
    };
    let stages: BTreeSet<Name> = states().flat_map(agents_of).collect();
    let mut handed: BTreeSet<usize> = states()
        .filter_map(|state| last_agent(mesh, state))
        .collect();
    let entry = mesh.entry_point.as_ref().filter(|_| mesh.machine.is_none());
    handed.extend(entry.and_then(|name| mesh.agents.get_index_of(name)));
    let hand_overs = edges.all.iter().filter(|edge| !edge.label.is_fan_out());
    handed.extend(hand_overs.filter_map(|edge| own_agent(mesh, &edge.to)));
    for (index, agent) in mesh.agents.keys().enumerate() {
        let elsewhere = edges.joined.contains(&index) || stages.contains(agent);
        let opens = opened(mesh, agent, Some("complete")).is_some();
        let is_said = rows.contains_key(agent) || opens || elsewhere && !handed.contains(&index);
        if !is_said {
            edges.add(agent, Label::Unlisted, &Target::Core, "");
        }
    }
    edges.all
}

/// Edges, while they are collected.
#[derive(Default)]
struct Edges<'m> {
    all: Vec<Edge<'m>>,
    /// The agents that are members of a block.
    joined: BTreeSet<usize>,
    /// The blocks that were added, with the agent that opens each.
    opened: BTreeSet<(&'m Name, &'m str)>,
}

impl<'m> Edges<'m> {
    fn add(&mut self, from: &'m Name, label: Label<'m>, to: &Target, reason: &'m str) {
        self.all.push(Edge {
            from,
            label,
            to: to.clone(),
            reason,
        });
    }

    fn open(&mut self, mesh: &Mesh, from: &'m Name, word: Option<&'m str>, block: &'m Block) {
        self.opened.insert((from, &block.source));
        if let Join::To(join) = &block.join {
            self.fan_out(mesh, from, word, block.members.agents(), join);
        }
    }

    fn fan_out(
        &mut self,
        mesh: &Mesh,
        from: &'m Name,
        word: Option<&'m str>,
        members: &[Target],
        join: &Target,
    ) {
        for member in members {
            self.add(from, Label::FanOut(word), member, "");
        }
        self.add(from, Label::Join, join, "");
        let own = members.iter().filter_map(|member| own_agent(mesh, member));
        self.joined.extend(own);
    }
}

/// The index of an agent of this mesh.
pub(super) fn own_agent(mesh: &Mesh, target: &Target) -> Option<usize> {
    match target {
        Target::Agent(address) if address.mesh == mesh.name => {
            mesh.agents.get_index_of(&address.agent)
        }
        Target::Agent(_) | Target::Core => None,
    }
}

/// The block that an outcome of an agent opens. A word of `None` stands for any word that no row
/// lists.
pub(in crate::format) fn opened<'m>(
    mesh: &'m Mesh,
    from: &Name,
    word: Option<&str>,
) -> Option<&'m Block> {
    mesh.blocks.iter().find(|block| {
        block.opens_for.iter().any(|opener| match opener {
            Opener::Complete(agent) => {
                let is_join =
                    matches!(&block.join, Join::To(to) if own_name(mesh, to) == Some(from));
                agent == from && word == Some("complete") && !is_join
            }
            Opener::RowOfAll => lists_all(mesh, from, word, block),
            // The row itself opens it, or the machine does.
            Opener::AnyWord(_) | Opener::State(_) => false,
        })
    })
}

pub(super) fn lists_all(mesh: &Mesh, from: &Name, word: Option<&str>, block: &Block) -> bool {
    let targets = match (mesh.routing.rows.get(from), word) {
        (Some(Row::ByStatus { words, .. }), Some(word)) => {
            words.iter().find(|(known, _)| known.as_str() == word)
        }
        (Some(_) | None, _) => None,
    };
    let members = block.members.agents();
    targets.is_some_and(|(_, targets)| members.iter().all(|to| targets.contains_key(to)))
}

fn own_name<'m>(mesh: &'m Mesh, target: &Target) -> Option<&'m Name> {
    own_agent(mesh, target).map(|index| &mesh.agents[index].name)
}

/// The agent that a last state hands over to.
pub(super) fn last_agent(mesh: &Mesh, state: &StateRules) -> Option<usize> {
    match &state.kind {
        StateKind::Last(agent) => mesh.agents.get_index_of(agent.as_ref()?),
        StateKind::Work(_) | StateKind::Ensemble { .. } | StateKind::Choice | StateKind::Core => {
            None
        }
    }
}

/// The agents that a state gives work to.
pub(super) fn agents_of(state: &StateRules) -> Vec<Name> {
    match &state.kind {
        StateKind::Work(agent) | StateKind::Last(Some(agent)) => vec![agent.clone()],
        StateKind::Ensemble { block, .. } => {
            let agents = block.members.agents().iter();
            let agent = |target: &Target| match target {
                Target::Agent(address) => Some(address.agent.clone()),
                Target::Core => None,
            };
            agents.filter_map(agent).collect()
        }
        StateKind::Choice | StateKind::Core | StateKind::Last(None) => Vec::new(),
    }
}
