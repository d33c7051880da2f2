//! Which attempt a pane was opened for, read from the command that it was started with.

use crate::engine::AttemptId;

/// The attempt in `#{pane_start_command}`: `PROGRAM turn MESH/AGENT ATTEMPT --folder FOLDER`. The
/// paths may contain anything, even ` turn `.
pub fn pane_of(command: &str) -> Option<AttemptId> {
    let ends = command.match_indices(" --folder ").map(|(end, _)| end);
    ends.into_iter().find_map(|end| {
        let (_, tag) = command[..end].rsplit_once(" turn ")?;
        let (worker, attempt) = tag.split_once(' ')?;
        // tmux quotes what has a `#`.
        let worker = worker.trim_matches(['"', '\'']);
        Some(AttemptId {
            worker: worker.parse().ok()?,
            attempt: attempt.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pane_is_known_by_what_it_was_started_with() {
        for (command, expected) in [
            (
                "/bin/tx turn dev/worker 3 --folder /p/x",
                Some(("dev/worker", 3)),
            ),
            (
                r#""/a b/tx" turn a.b/c-d 12 --folder "/p q/x""#,
                Some(("a.b/c-d", 12)),
            ),
            (
                r#""/my turn now/tx" turn dev/worker 3 --folder /p/x"#,
                Some(("dev/worker", 3)),
            ),
            (
                r#"/bin/tx turn dev/worker 3 --folder "/a turn b/c 4 --folder d""#,
                Some(("dev/worker", 3)),
            ),
            (
                r#""/a --folder b/tx" turn dev/worker 3 --folder /p/x"#,
                Some(("dev/worker", 3)),
            ),
            (
                r#"/bin/tx turn "dev/worker#2" 3 --folder /p/x"#,
                Some(("dev/worker#2", 3)),
            ),
            ("/bin/tx turn --inner 7 --folder /p/x", None),
            ("/bin/tx turn dev/worker 3", None),
            ("vim turn around", None),
            ("sh", None),
            ("", None),
        ] {
            let found = pane_of(command).map(|pane| (pane.worker.to_string(), pane.attempt));
            let expected = expected.map(|(worker, attempt)| (worker.to_owned(), attempt));
            assert_eq!(found, expected, "{command}");
        }
    }
}
