//! The engine, told what happened by hand: sequences from the protocol, each with a name.

mod acceptance;
mod answers;
mod asks;
mod batches;
mod checks;
mod fanout;
mod found;
mod limits;
mod lists;
mod machine;
mod people;
mod play;
mod recovery;
mod routing;
mod runs;
mod turns;
