//! Path patterns: `*` and `?` within one name, `**` for any folders.

use std::fs;
use std::path::Path;

/// How many folders and files one pattern may look at.
const MAX_LOOKED_AT: usize = 20_000;

/// Whether this is a pattern and not one path.
pub(super) fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// The files below a folder that a pattern matches, in order. Links are not followed. A name that
/// begins with a dot only matches a pattern that does.
pub(super) fn matching(root: &Path, pattern: &str) -> Vec<String> {
    let parts: Vec<&str> = pattern
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let mut found = Vec::new();
    let mut seen = 0;
    walk(root, "", &parts, &mut found, &mut seen);
    found.sort();
    found.dedup();
    found
}

fn walk(folder: &Path, at: &str, parts: &[&str], found: &mut Vec<String>, seen: &mut usize) {
    let Some((first, rest)) = parts.split_first() else {
        return;
    };
    if *first == "**" {
        walk(folder, at, rest, found, seen);
    }
    let mut entries: Vec<_> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        *seen += 1;
        if *seen > MAX_LOOKED_AT {
            return;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let hidden = name.starts_with('.') && !first.starts_with('.');
        let path = match at.is_empty() {
            true => name.clone(),
            false => format!("{at}/{name}"),
        };
        if hidden {
            continue;
        }
        if *first == "**" {
            if kind.is_dir() {
                walk(&entry.path(), &path, parts, found, seen);
            } else if rest.is_empty() && kind.is_file() {
                found.push(path);
            }
        } else if fits(first.as_bytes(), name.as_bytes()) {
            if rest.is_empty() && kind.is_file() {
                found.push(path);
            } else if kind.is_dir() {
                walk(&entry.path(), &path, rest, found, seen);
            }
        }
    }
}

/// Whether a name matches a pattern without `/`.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|skip| fits(rest, &name[skip..])),
        (Some((b'?', rest)), Some((_, more))) => fits(rest, more),
        (Some((byte, rest)), Some((other, more))) => byte == other && fits(rest, more),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_files_below_the_folder_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        for path in ["a.md", "b.txt", "docs/c.md", "docs/deep/d.md", ".git/e.md"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(folder.path().join("secret.md"), "").unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        for (pattern, expected) in [
            ("*.md", vec!["a.md"]),
            ("?.txt", vec!["b.txt"]),
            ("docs/*.md", vec!["docs/c.md"]),
            ("**/*.md", vec!["a.md", "docs/c.md", "docs/deep/d.md"]),
            ("docs/**", vec!["docs/c.md", "docs/deep/d.md"]),
            (".git/*", vec![".git/e.md"]),
            ("up/*.md", vec![]),
            ("../*.md", vec![]),
        ] {
            assert_eq!(matching(&root, pattern), expected, "{pattern}");
        }
    }
}
