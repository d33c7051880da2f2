//! `tx init --example`: the small projects of `examples/`, built into the program.

use std::path::Path;

use super::Refused;
use crate::model::did_you_mean;

const README: &str = "README.md";

macro_rules! example {
    ($name:literal: $($path:literal),* $(,)?) => {
        Example {
            name: $name,
            readme: concat!("README-", $name, ".md"),
            files: &[$((
                $path,
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/", $name, "/", $path)),
            )),*],
        }
    };
}

/// A small project.
pub(super) struct Example {
    pub(super) name: &'static str,
    /// The name of its README beside another one.
    readme: &'static str,
    files: &'static [(&'static str, &'static str)],
}

const EXAMPLES: &[Example] = &[
    example!("fan-out": "README.md", "meshes/count/body.sh", "meshes/count/config.yaml", "meshes/count/longest.sh", "meshes/count/report.sh"),
    example!("first-mesh": "README.md", "meshes/pair/config.yaml", "meshes/pair/prompts/coder.md", "meshes/pair/prompts/tester.md"),
    example!("graded": "README.md", "meshes/graded/config.yaml", "meshes/graded/judge.sh", "meshes/graded/writer.sh"),
    example!("hello": "README.md", "meshes/hello/config.yaml", "meshes/hello/greet.sh"),
    example!("own-runtime": ".ai/tx/config.yaml", "README.md", "meshes/echo/config.yaml", "parrot.py"),
    example!("pipeline": "README.md", "meshes/pipeline/checker.sh", "meshes/pipeline/config.yaml", "meshes/pipeline/drafter.sh", "meshes/pipeline/publisher.sh"),
    example!("python-agent": "README.md", "meshes/tally/config.yaml", "meshes/tally/keeper.py"),
    example!("shell-agent": "README.md", "meshes/release/config.yaml", "meshes/release/releaser.sh"),
];

/// The names of all examples.
pub(in crate::cli) fn example_names() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|example| example.name)
}

/// The example of a name.
pub(super) fn find(name: &str) -> Result<&'static Example, Refused> {
    let found = EXAMPLES.iter().find(|example| example.name == name);
    found.ok_or_else(|| {
        let hint = did_you_mean(name, example_names(), || {
            let names: Vec<&str> = example_names().collect();
            format!("there are: {}", names.join(", "))
        });
        Refused::no_such_thing(format!("there is no example `{name}`")).hint(hint)
    })
}

impl Example {
    /// Its files. Its README has another name where the project has a README of its own.
    pub(super) fn files_beside(&self, root: &Path) -> Vec<(&'static str, String)> {
        let readme = self.readme_beside(root);
        let files = self.files().map(|(path, text)| match path {
            README => (readme, text),
            path => (path, text),
        });
        files.collect()
    }

    /// The name of its README in a project.
    pub(super) fn readme_beside(&self, root: &Path) -> &'static str {
        let own = self.files().find(|(path, _)| *path == README);
        let there = std::fs::read_to_string(root.join(README));
        match (there, own) {
            (Ok(there), Some((_, own))) if there != own => self.readme,
            _ => README,
        }
    }

    /// Its files: path in the project, text.
    pub(super) fn files(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.files
            .iter()
            .map(|(path, text)| (*path, (*text).to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn every_file_of_every_example_is_built_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let (mut folders, mut there) = (vec![root.clone()], BTreeSet::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => drop(there.insert(path.strip_prefix(&root).unwrap().to_owned())),
                }
            }
        }
        let of = |example: &Example| {
            let paths = example
                .files
                .iter()
                .map(|(path, _)| Path::new(example.name).join(path));
            paths.collect::<Vec<PathBuf>>()
        };
        let built_in: BTreeSet<PathBuf> = EXAMPLES.iter().flat_map(of).collect();
        assert_eq!(built_in, there);
    }
}
