//! The protocol once more, written apart from the engine.

pub(crate) mod known;
