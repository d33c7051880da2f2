//! The world: what the engine decides is done here, and what happens is told to it.
//!
//! One loop owns the state; everything else sends it events. This is the only room that
//! waits for anything.
