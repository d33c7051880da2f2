//! The verbs, run as a user would.
