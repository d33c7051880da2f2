//! Decides which block an outcome opens and who its members are. Whether a block's join may
//! begin is decided in `fanout`.

use super::{Addressee, Outcome};
use crate::model::{
    Address, Block, Count, Give, Join, Members, Mesh, MinSuccesses, Name, Opener, Row, Target,
};

/// A block that opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Opening {
    /// The members, each with its part of the message.
    pub(in crate::engine) members: Vec<(Address, Option<u32>)>,
    /// Who gets the results.
    pub(in crate::engine) join: Target,
    /// How many members must succeed.
    pub(in crate::engine) min: u32,
    /// The time limit of each member, in milliseconds.
    pub(in crate::engine) time: Option<u64>,
    /// All members are copies of one agent.
    pub(in crate::engine) copies: bool,
    /// Hints for the author. The block opens anyway.
    pub(in crate::engine) warnings: Vec<String>,
}

/// Why a block does not open.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::engine) enum NotOpened {
    /// The members need parts, and the message has none.
    #[error(
        "your work is to be divided, and your message has no parts: begin each part with a line of its own, \
         `SUBTASK 1: title`, `SUBTASK 2: title` and so on"
    )]
    NoParts,
    /// The author is the only member.
    #[error("all members of the block are yourself: nobody wakes by their own message")]
    OnlyItself,
}

/// The block that an outcome opens, checked before the routing table. `to` has all targets that
/// the author named. `own_join` means that the author works on the results of a block that it
/// opened itself.
pub(in crate::engine) fn block_for<'m>(
    mesh: &'m Mesh,
    outcome: &Outcome,
    to: &[Addressee],
    own_join: bool,
) -> Option<&'m Block> {
    let word = outcome.status?;
    mesh.blocks.iter().find(|block| {
        block.opens_for.iter().any(|opener| match opener {
            Opener::Complete(agent) => agent == outcome.sender && word.is_complete() && !own_join,
            Opener::RowOfAll => row_opens(mesh, outcome, to, block),
            // The row and the machine open these.
            Opener::AnyWord(_) | Opener::State(_) => false,
        })
    })
}

/// Does the author's row list all members for the word, and did the author name none or all of
/// them?
fn row_opens(mesh: &Mesh, outcome: &Outcome, to: &[Addressee], block: &Block) -> bool {
    let Some(word) = outcome.status else {
        return false;
    };
    let Some(Row::ByStatus { words, .. }) = mesh.routing.rows.get(outcome.sender) else {
        return false;
    };
    let Some(listed) = words.get(word) else {
        return false;
    };
    let agents = block.members.agents();
    let is_sender = |target: &Target| is_agent(target, mesh, outcome.sender);
    let lists_all = agents
        .iter()
        .all(|agent| listed.contains_key(agent) || is_sender(agent));
    let human = word.is_blocked() && to.contains(&Addressee::Core);
    let named: Vec<Target> = to
        .iter()
        .chain(&outcome.route_to)
        .filter_map(Addressee::target)
        .filter(|target| listed.contains_key(target))
        .collect();
    let names_all = agents
        .iter()
        .all(|agent| named.contains(agent) || is_sender(agent));
    lists_all && !agents.is_empty() && !human && (named.is_empty() || names_all)
}

fn is_agent(target: &Target, mesh: &Mesh, name: &Name) -> bool {
    match target {
        Target::Core => false,
        Target::Agent(address) => address.mesh == mesh.name && address.agent == *name,
    }
}

/// Work out the members of a block for a message with these parts.
pub(in crate::engine) fn opening(
    block: &Block,
    from: &Address,
    parts: &[u32],
) -> Result<Opening, NotOpened> {
    let Join::To(join) = block.join.clone() else {
        // A machine opens its own blocks.
        return Err(NotOpened::OnlyItself);
    };
    let agents: Vec<Address> = block
        .members
        .agents()
        .iter()
        .cloned()
        .map(Address::from)
        .filter(|agent| !from.is_of(agent))
        .collect();
    if agents.is_empty() && !block.members.agents().is_empty() {
        return Err(NotOpened::OnlyItself);
    }
    let mut warnings = Vec::new();
    let members: Vec<(Address, Option<u32>)> = match (&block.members, block.give) {
        (Members::PerPart(_), give) => {
            if parts.is_empty() {
                return Err(NotOpened::NoParts);
            }
            if let Give::Parts(Some(expected)) = give
                && usize::try_from(expected).is_ok_and(|expected| expected != parts.len())
            {
                warnings.push(format!(
                    "your message has {} parts, and {expected} are expected",
                    parts.len()
                ));
            }
            warnings.extend(irregular(parts));
            let agents = agents.iter().cycle();
            let members = parts.iter().zip(agents);
            members
                .map(|(part, agent)| (agent.clone(), Some(*part)))
                .collect()
        }
        (Members::Each(_), give) => {
            let matching = parts.len() == agents.len();
            let given = match give {
                Give::Whole => false,
                Give::PartsIfMatching => matching,
                Give::Parts(_) => match parts.is_empty() {
                    true => return Err(NotOpened::NoParts),
                    false => matching,
                },
            };
            let parts = parts.iter().copied().map(Some);
            let parts = parts.chain(std::iter::repeat(None));
            let members = agents.into_iter().zip(parts);
            members
                .map(|(agent, part)| (agent, part.filter(|_| given)))
                .collect()
        }
        // Only a machine knows the value of a variable.
        (Members::Copies { count, .. }, _) => {
            let count = match count {
                Count::Number(count) => usize::try_from(*count).unwrap_or(usize::MAX),
                Count::Variable(_) | Count::Bad(_) => 0,
            };
            let members = agents.iter().cycle().take(count);
            members.map(|agent| (agent.clone(), None)).collect()
        }
    };
    let min = match block.min {
        MinSuccesses::All => u32::try_from(members.len()).unwrap_or(u32::MAX),
        MinSuccesses::Number(min) => min,
    };
    Ok(Opening {
        members,
        join,
        min,
        time: block.time.map(|time| time.0),
        copies: matches!(block.members, Members::Copies { .. }),
        warnings,
    })
}

/// A hint about duplicate or missing part numbers.
fn irregular(parts: &[u32]) -> Option<String> {
    let mut sorted = parts.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() < parts.len() {
        return Some("two of your parts have the same number: each is given on".into());
    }
    let last = sorted.last().copied().unwrap_or_default();
    let gaps = usize::try_from(last).is_ok_and(|last| last != sorted.len());
    gaps.then(|| "the numbers of your parts have gaps: each part is given on".into())
}
