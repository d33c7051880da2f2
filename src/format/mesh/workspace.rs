//! The output folder of a mesh or an agent.

use indexmap::IndexMap;

use super::document::{Document, at};
use super::lifecycle::leads_out;
use super::scalars::text;
use super::shapes::RawWorkspace;
use crate::format::yaml::PathSegment;
use crate::model::{Code, Workspace, did_you_mean};

/// The placeholders that the path of a workspace may have.
const PLACEHOLDERS: [&str; 4] = ["task-id", "topic", "feature", "mesh"];

/// The output folder; `None` if it leads out of the project.
pub(super) fn workspace(
    document: &mut Document,
    at: &[PathSegment],
    raw: RawWorkspace,
) -> Option<Workspace> {
    let (at, workspace) = match raw {
        RawWorkspace::Path(path) => (
            at.to_vec(),
            Workspace {
                path,
                create: true,
                locations: IndexMap::new(),
                note: String::new(),
                structure: None,
            },
        ),
        RawWorkspace::Rules(raw) => (
            [at, &at!["path"]].concat(),
            Workspace {
                path: raw.path.map_or_else(|| ".".into(), |path| path.0),
                create: raw.create_on_init.unwrap_or(true),
                locations: raw
                    .locations
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(key, path)| (key, path.0))
                    .collect(),
                note: text(raw.note),
                structure: raw.structure,
            },
        ),
    };
    let path = &workspace.path;
    if leads_out(path) {
        let message = format!("workspace: `{path}` leads out of the project; it is ignored");
        let hint = "name a folder from the project's root, without `..`";
        document.about_value(Code::OutsideProject, &at, message, hint);
        return None;
    }
    let names = path
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}'));
    for (name, _) in names.filter(|(name, _)| !PLACEHOLDERS.contains(name)) {
        let message = format!("workspace: `{{{name}}}` is not a placeholder; it stays as it is");
        let hint = did_you_mean(name, PLACEHOLDERS, || {
            format!("there are {}", PLACEHOLDERS.join(", "))
        });
        document.about_value(Code::UnknownPlaceholder, &at, message, hint);
    }
    Some(workspace)
}
