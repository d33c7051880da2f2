//! What differs between operating systems: processes, locks and file events. Everything else in tx
//! is plain POSIX.
//!
//! `linux` asks the kernel (pidfd, `/proc`, close-after-write events). `portable` asks the crate
//! `sysinfo` and the programs `ps` and `lsof`, and takes a file when its size and time no longer
//! change. It is for macOS. The feature `portable` builds it on Linux, so that it can be tested
//! there.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod linux;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(super) use linux::{
    SETTLE_TIME, all_processes, environment_of, exists, file_event, foreground_group_of, gone,
    is_dead, lock_holder, open_files, parent_of, path_of, processes_with, program_of, session_of,
    this_program, tie_to_parent,
};

#[cfg(any(not(target_os = "linux"), feature = "portable"))]
mod portable;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
pub(super) use portable::{
    SETTLE_TIME, all_processes, environment_of, exists, file_event, foreground_group_of, gone,
    is_dead, lock_holder, open_files, parent_of, path_of, processes_with, program_of, session_of,
    this_program, tie_to_parent,
};

/// What an event of the watcher says about a file in a watched folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileEvent {
    /// It was closed after writing, or moved here: it is complete.
    Finished,
    /// It exists, and may be incomplete.
    Appeared,
    #[cfg_attr(
        any(not(target_os = "linux"), feature = "portable"),
        expect(dead_code, reason = "only Linux tells when a file is closed")
    )]
    /// It is being written. Another event follows when it is closed.
    BeingWritten,
    /// Nothing that matters.
    Other,
}

#[cfg(test)]
mod tests;
