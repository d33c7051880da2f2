//! The text of the `error` outcome of a program that failed.

/// How much of a failed program's standard output the `error` quotes, in bytes.
const END_OF_OUTPUT: usize = 8 * 1024;

/// The `error` text of a program that exited with this code.
pub fn exited_with(code: i32, stdout: &str, stderr: &str) -> String {
    format!("It exited with {code}.\n\n{}", last_words(stdout, stderr))
}

/// A failed program's own explanation: its standard error, or the last lines of its standard
/// output if that is empty.
pub(super) fn last_words<'t>(stdout: &'t str, stderr: &'t str) -> &'t str {
    if !stderr.trim().is_empty() {
        return stderr;
    }
    let text = stdout.trim_end();
    let start = text.ceil_char_boundary(text.len().saturating_sub(END_OF_OUTPUT));
    let line = match start {
        0 => 0,
        start => text[start..]
            .find('\n')
            .map_or(start, |end| start + end + 1),
    };
    &text[line..]
}
