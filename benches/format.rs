//! What the docs claim, measured.

fn main() {}
