//! tx and the real agent CLIs, with a scripted model on loopback. Runs where `TX_LAB` names a
//! folder that `tests/real/lab.sh install` has filled; elsewhere it says that it was skipped.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod cli;
mod compaction;
mod conversations;
mod dialogs;
mod every;
mod fresh;
mod gates;
mod kills;
mod lab;
mod limits;
mod matrix;
mod others;
mod permissions;
mod team;
mod trial;
mod words;
