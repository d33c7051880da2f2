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
mod rules_asks;
mod rules_features;
mod rules_joins;
mod rules_late;
mod rules_names;
mod rules_notes;
mod runs;
mod silence;
mod turns;
mod unstartable;
