//! The commands, run as a user would run them: the real program, real files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod agent_clis;
mod answer;
mod check;
mod daemon;
mod diagram;
mod docs;
mod doctor;
mod faults;
mod golden;
mod history;
mod inbox;
mod layering;
mod mesh;
mod mistakes;
mod pages;
mod problems;
mod project;
mod screens;
mod send;
mod shapes;
mod status;
mod story;
mod tx;
mod wait;
mod workflows;
