//! The whole of it: real tmux on a private socket, real processes, real files.

#[cfg(test)]
mod demo;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod flow;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod wrapper;
