//! Configs as TX users write them, one for each spelling of a workflow: `tests/shapes/*.yaml`.
//! The first line of each says what the checks find in it, and nothing else may be found.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tx::format::mesh;
use tx::format::report::report;

#[test]
fn every_spelling_of_a_workflow_has_just_the_findings_it_names() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shapes");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let expected = text
            .lines()
            .next()
            .unwrap()
            .strip_prefix("# finds: ")
            .unwrap();
        let expected: BTreeSet<&str> = expected
            .split(' ')
            .filter(|word| *word != "nothing")
            .collect();
        let parsed = mesh::parse(text.as_bytes());
        let shown = report(&path.to_string_lossy(), &text, &parsed.diagnostics, false);
        let found: BTreeSet<&str> = parsed.diagnostics.iter().map(|d| d.code.id()).collect();
        assert_eq!(found, expected, "{shown}");
        let mesh = parsed
            .mesh
            .unwrap_or_else(|| panic!("does not load:\n{shown}"));
        assert_eq!(
            mesh.name.as_str(),
            path.file_stem().unwrap().to_str().unwrap()
        );
        // What is stored in a journal is what was read.
        let stored = serde_json::to_string(&mesh).unwrap();
        let again: tx::model::Mesh = serde_json::from_str(&stored).unwrap();
        assert_eq!(again, mesh, "{}", path.display());
    }
}
