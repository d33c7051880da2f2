//! Faults: what the core promises when processes die and disks fill.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod journal;
