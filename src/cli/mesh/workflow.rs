//! Blocks, states and files of a mesh, for `tx mesh show`.

use std::fmt::Write;

use super::one_line;
use crate::format::mesh::states_in_words;
use crate::model::{
    GateTime, Gather, Join, ManifestPath, Members, Mesh, MinSuccesses, Name, Opener, Target,
};

/// The blocks, states and files; empty if there are none.
pub(super) fn shown(mesh: &Mesh) -> String {
    let mut text = String::new();
    for block in &mesh.blocks {
        let openers = block.opens_for.iter().map(|opener| match opener {
            Opener::AnyWord(agent) => format!("any status of {agent}"),
            Opener::Complete(agent) => format!("`complete` of {agent}"),
            Opener::RowOfAll => "a status whose row lists them all".into(),
            Opener::State(state) => format!("the state {state}"),
        });
        let openers: Vec<String> = openers.collect();
        let names = block.members.agents().iter();
        let names: Vec<String> = names.map(|to: &Target| to.within(&mesh.name)).collect();
        let each = match &block.members {
            Members::Each(_) | Members::Copies { .. } => "",
            Members::PerPart(_) => ", a part each",
        };
        let join = match &block.join {
            Join::To(to) => to.within(&mesh.name),
            Join::Machine => "the machine".into(),
        };
        let min = match block.min {
            MinSuccesses::All => "all must succeed".into(),
            MinSuccesses::Number(0) => "even if members fail".into(),
            MinSuccesses::Number(number) => format!("{number} must succeed"),
        };
        let time = block.time.map_or_else(String::new, |time| {
            format!(", {} each", time_in_words(time.0))
        });
        let gather = match &block.gather {
            Gather::Concat => "",
            Gather::Deduplicate => ", deduplicated",
            Gather::Voting => ", by vote",
            Gather::Consensus => ", by consensus",
            Gather::Custom(_) => ", with a prompt",
        };
        let _ = writeln!(
            text,
            "\nblock {}: {} ({}{each}) ─▶ {join}\n  opens for {}; {min}{time}{gather}",
            block.source,
            names.join(" + "),
            names.len(),
            openers.join(", or ")
        );
    }
    for gate in &mesh.gates {
        let of = match &gate.agent {
            Some(agent) => format!("of {agent}"),
            None => "of every agent".into(),
        };
        let when = match gate.time {
            GateTime::BeforeWork => "before the work",
            GateTime::Outcome(_) => "checks `complete`",
        };
        let _ = writeln!(text, "\ngate {}: {when} {of}", one_line(&gate.name));
    }
    if let Some(worktree) = &mesh.worktree {
        let _ = writeln!(
            text,
            "\nworktree for each feature: {}",
            one_line(&worktree.path)
        );
    }
    for line in states_in_words(mesh) {
        let _ = writeln!(text, "{line}");
    }
    for entry in &mesh.manifest.entries {
        let (ManifestPath::InWorkspace(path) | ManifestPath::InProject(path)) = &entry.path;
        let names = |names: &[Name]| match names {
            [] => "nobody".to_owned(),
            names => names
                .iter()
                .map(Name::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        };
        let _ = writeln!(
            text,
            "\nfile {} ({path}): {} writes it, {} reads it",
            one_line(&entry.id),
            names(&entry.writes),
            names(&entry.reads)
        );
    }
    text
}

/// A time in milliseconds as people write it: `10m`, `90s`, `250ms`.
fn time_in_words(milliseconds: u64) -> String {
    match milliseconds {
        time if time > 0 && time % 60_000 == 0 => format!("{}m", time / 60_000),
        time if time > 0 && time % 1_000 == 0 => format!("{}s", time / 1_000),
        time => format!("{time}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_write_them() {
        for (time, words) in [
            (600_000, "10m"),
            (90_000, "90s"),
            (250, "250ms"),
            (0, "0ms"),
        ] {
            assert_eq!(time_in_words(time), words);
        }
    }
}
