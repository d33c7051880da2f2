#!/usr/bin/env bash
# A demonstration of tx, on a fresh machine with Rust: scripted agents at work in tmux panes.
source "$(dirname "$0")/setup.sh"

say "building tx"
cargo build --locked --release

say "tx demo"
exec "${CARGO_TARGET_DIR:-target}/release/tx" demo "$@"
