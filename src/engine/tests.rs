//! The engine, told what happened by hand: sequences from the protocol, each with a name.

mod acceptance;
mod answers;
mod asks;
mod batches;
mod checks;
mod evidence;
mod fanout;
mod found;
mod levels;
mod limits;
mod lists;
mod machine;
mod people;
mod play;
mod recovery;
mod routing;
mod runs;
mod silence;
mod turns;
mod unstartable;
