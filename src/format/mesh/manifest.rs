//! The manifest: the path of each file, and who reads and writes it.

use std::collections::HashMap;

use super::document::at;
use super::raw_workflow::{RawManifest, RawManifestRules};
use super::resolve::Scope;
use super::shapes::OneOrMany;
use crate::format::yaml::PathSegment;
use crate::model::{Code, Manifest, ManifestEntry, ManifestPath, ManifestRules, Name, Workspace};

impl Scope<'_, '_, '_> {
    pub(super) fn manifest(
        &mut self,
        raw: Option<Vec<Option<RawManifest>>>,
        rules: Option<RawManifestRules>,
        inject: Option<bool>,
        workspace: Option<&Workspace>,
    ) -> Manifest {
        let inject = inject.unwrap_or(true);
        let rules = rules.unwrap_or_default();
        let usual = ManifestRules::default();
        let mut entries: Vec<ManifestEntry> = Vec::new();
        let mut paths: HashMap<ManifestPath, String> = HashMap::new();
        for (index, raw) in raw.into_iter().flatten().enumerate() {
            let at = at!["manifest", index];
            let Some(entry) = raw.and_then(|raw| self.manifest_entry(raw, &at, inject, workspace))
            else {
                continue;
            };
            if let Some(other) = paths.insert(entry.path.clone(), entry.id.clone()) {
                let message = format!("`{}` and `{other}` have the same path", entry.id);
                let hint = "list a file once, with all who read and write it";
                self.document
                    .about_value(Code::ManifestGap, &at, message, hint);
            }
            entries.push(entry);
        }
        // Rules without files have no effect, and are not kept.
        if entries.is_empty() {
            return Manifest::default();
        }
        Manifest {
            entries,
            rules: ManifestRules {
                before: rules.pre_validation.unwrap_or(usual.before),
                after: rules.post_validation.unwrap_or(usual.after),
                max_retry: rules.max_retry.unwrap_or(usual.max_retry),
                strict: rules.strict.unwrap_or(usual.strict),
                warning: rules.warning.unwrap_or(usual.warning),
            },
        }
    }

    fn manifest_entry(
        &mut self,
        raw: RawManifest,
        at: &[PathSegment],
        inject: bool,
        workspace: Option<&Workspace>,
    ) -> Option<ManifestEntry> {
        let Some(id) = raw
            .id
            .map(|id| id.0.trim().to_owned())
            .filter(|id| !id.is_empty())
        else {
            let message = "this entry has no `id`";
            let hint = "add `id: file.md`; until then it is ignored";
            self.document
                .about_value(Code::WrongShape, at, message, hint);
            return None;
        };
        let location = raw.location.map(|location| location.0.trim().to_owned());
        let path = self.manifest_path(&id, location.as_deref(), at, workspace)?;
        let reads = self.readers(raw.reads, &[at, &at!["reads"]].concat());
        let writes = self.readers(raw.writes, &[at, &at!["writes"]].concat());
        let persistent = raw.persistent.unwrap_or(false);
        if writes.is_empty() && !persistent {
            let message = format!("nobody writes `{id}`, and it is not `persistent`");
            let hint = "name who writes it, or say `persistent: true`";
            self.document
                .about_value(Code::ManifestGap, at, message, hint);
        }
        let (ManifestPath::InWorkspace(text) | ManifestPath::InProject(text)) = &path;
        Some(ManifestEntry {
            folder: id.ends_with('/') || text.ends_with('/'),
            id,
            path,
            description: raw.description.map(|text| text.0).unwrap_or_default(),
            reads,
            writes,
            persistent,
            inject: raw.auto_inject.unwrap_or(inject),
        })
    }

    /// The path of a file: a location of the workspace and the id, the path itself, or the
    /// workspace and the id.
    fn manifest_path(
        &mut self,
        id: &str,
        location: Option<&str>,
        at: &[PathSegment],
        workspace: Option<&Workspace>,
    ) -> Option<ManifestPath> {
        let places = workspace.map(|workspace| &workspace.locations);
        let path = match location {
            None | Some("") => ManifestPath::InWorkspace(id.into()),
            Some(location) => match places.and_then(|places| places.get(location)) {
                Some(folder) => in_place(&format!("{}/{id}", folder.trim_end_matches('/'))),
                None if is_path(location) => in_workspace(location),
                None => {
                    let message = format!(
                        "location: `{location}` is neither a path nor a location of the workspace"
                    );
                    let hint = "name one of `workspace.locations`; until then it is the workspace";
                    let at = [at, &at!["location"]].concat();
                    self.document
                        .about_value(Code::ManifestGap, &at, message, hint);
                    ManifestPath::InWorkspace(id.into())
                }
            },
        };
        let (ManifestPath::InWorkspace(text) | ManifestPath::InProject(text)) = &path;
        if text.starts_with('/') || text.split('/').any(|part| part == "..") {
            let message = format!("`{text}` leads out of the project; the entry is ignored");
            let hint = "name a path below the project's root, without `..`";
            self.document
                .about_value(Code::OutsideProject, at, message, hint);
            return None;
        }
        Some(path)
    }

    fn readers(&mut self, raw: Option<OneOrMany>, at: &[PathSegment]) -> Vec<Name> {
        let mut names = Vec::new();
        for text in raw.map(OneOrMany::into_vec).into_iter().flatten() {
            match self.own_agent(&text) {
                Some(name) => names.push(name),
                None => {
                    let message = format!("there is no agent `{text}` in this mesh");
                    let hint = self.did_you_mean(&text, &[]);
                    self.document
                        .about_value(Code::ManifestGap, at, message, hint);
                }
            }
        }
        names
    }
}

fn is_path(location: &str) -> bool {
    let name = location.rsplit('/').next().unwrap_or(location);
    location.contains(['/', '{']) || name.trim_start_matches('.').contains('.')
}

/// A location is below the workspace, unless it says otherwise.
fn in_place(path: &str) -> ManifestPath {
    match path.starts_with(['.', '{', '/']) {
        true => in_workspace(path),
        false => ManifestPath::InWorkspace(path.into()),
    }
}

fn in_workspace(path: &str) -> ManifestPath {
    match path.strip_prefix("{workspace}") {
        Some(rest) => ManifestPath::InWorkspace(rest.trim_start_matches('/').into()),
        None => ManifestPath::InProject(path.trim_start_matches("./").into()),
    }
}
