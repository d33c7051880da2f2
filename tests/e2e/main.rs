//! The whole of it: real tmux on a private socket, real processes, real files.

#[cfg(test)]
mod demo;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod flow;
#[cfg(test)]
#[path = "../cli/pages.rs"]
mod pages;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod verbs;
#[cfg(test)]
mod wrapper;
