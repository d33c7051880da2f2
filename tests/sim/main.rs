//! Faults: what the core promises when processes die, files come late and disks fill.
//!
//! The engine and its journal are driven through whole lives of made-up meshes:
//! `settings` says what a life is made of, `world` lives it with real `panes` over a
//! fake `terminal`, the `programs` there, scripted `agents` and a `human`; `oracle` says
//! what must hold, `coverage` what was seen, and `shrink` makes a life that fails small.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod acts;
mod agents;
mod book;
mod coverage;
mod disk;
mod effects;
mod faults;
mod files;
mod golden;
mod handover;
mod hooks;
mod human;
mod journal;
mod levels;
mod memory;
mod meshes;
mod oracle;
mod panes;
mod programs;
mod prune;
mod record;
mod reference;
mod rng;
mod run;
mod settings;
mod shrink;
mod survivors;
mod terminal;
mod typing;
mod usage;
mod watch;
mod world;
