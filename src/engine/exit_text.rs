//! What a failed program said: the text of its `error`.

/// How much of the standard output of a failed program its `error` has, in bytes.
const END_OF_OUTPUT: usize = 8 * 1024;

/// What the `error` of a program says that ended with this code.
pub fn exited_with(code: i32, stdout: &str, stderr: &str) -> String {
    format!("It exited with {code}.\n\n{}", last_words(stdout, stderr))
}

/// What a failed program said of its failure: its standard error, or if that is empty, the last
/// lines of its standard output.
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
