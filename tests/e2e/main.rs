//! Everything together: real tmux on a private socket, real processes, real files.
#![cfg(test)]

mod answers;
mod attach;
mod between;
mod checked;
mod core;
mod demo;
mod evidence;
mod examples;
mod faults;
mod files;
mod flow;
mod gates;
mod human;
mod inject;
mod left;
mod lost;
mod machines;
mod mistakes;
#[path = "../cli/pages.rs"]
mod pages;
mod popups;
mod runtimes;
mod single;
mod stage;
mod starts;
mod text;
mod trust;
mod upgrade;
mod verbs;
mod workflows;
mod worktrees;
mod wrapper;
