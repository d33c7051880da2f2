//! Programs in tmux get the environment of the current tx, not the one that the server was started
//! with. A variable that was removed since is gone.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::quote::word;

/// Variables of one process, or set by tmux itself.
const NOT_SHARED: [&[u8]; 8] = [
    b"TMUX",
    b"TMUX_PANE",
    b"TERM",
    b"TERM_PROGRAM",
    b"TERM_PROGRAM_VERSION",
    b"PWD",
    b"SHLVL",
    b"_",
];

/// Whether tx sets this variable for agents. tx itself may be started by an agent.
pub fn is_of_tx(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"TX_")
}

/// The commands that bring a server's environment in line with this one, given what it printed of
/// its own.
pub(super) fn refresh<N, V>(now: impl Iterator<Item = (N, V)>, printed: &[u8]) -> Vec<String>
where
    N: AsRef<OsStr>,
    V: AsRef<OsStr>,
{
    let mut commands = Vec::new();
    let mut kept: BTreeSet<Vec<u8>> = NOT_SHARED.iter().map(|name| name.to_vec()).collect();
    for (name, value) in now {
        let (name, value) = (name.as_ref(), value.as_ref().as_bytes());
        if is_of_tx(name) || !kept.insert(name.as_bytes().into()) {
            continue;
        }
        let name = word(name.as_bytes());
        commands.push(format!("set-environment -g {name} {}", word(value)));
    }
    // A value with several lines may look like more variables. Unsetting a missing one does
    // nothing.
    let lines = printed.split(|byte| *byte == b'\n');
    let names = lines.filter_map(|line| {
        let end = line.iter().position(|byte| *byte == b'=')?;
        (end > 0).then(|| &line[..end])
    });
    let gone = names.filter(|name| !kept.contains(*name));
    commands.extend(gone.map(|name| format!("set-environment -gu {}", word(name))));
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_set_and_what_is_gone_or_of_tx_is_unset() {
        let now = [("KEY", "new"), ("TX_AGENT", "a/b"), ("TERM", "x")];
        let printed = b"KEY=old\nREVOKED=1\n-REMOVED\nTX_AGENT=a/b\nTERM=y\n=x\n";
        assert_eq!(
            refresh(now.into_iter(), printed),
            [
                r#"set-environment -g "KEY" "new""#,
                r#"set-environment -gu "REVOKED""#,
                r#"set-environment -gu "TX_AGENT""#,
            ]
        );
    }
}
