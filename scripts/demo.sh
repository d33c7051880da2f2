#!/usr/bin/env bash
# A demonstration of tx in a temporary project, on a fresh machine with Rust.
source "$(dirname "$0")/setup.sh"

say "building tx"
cargo build --locked --release
tx=$PWD/target/release/tx
project=$(mktemp -d)
trap 'rm -rf "$project"' EXIT
cd "$project"

run() {
    printf '\n$ tx %s\n' "$*"
    "$tx" "$@" || true
}

say "a project with one mesh, and a message for it"
run init
run mesh graph dev-review
run send dev-review "Fix the login redirect: it drops the query string"
run check .ai/tx/msgs/*.md

say "a message with mistakes in it"
cat >.ai/tx/msgs/sloppy.md <<'MESSAGE'
---
to: dev-review
from: core
headline: Login: the redirect is wrong
---

Please look.

---
confidence: 7
---
MESSAGE
run check .ai/tx/msgs/sloppy.md

say "that is what works so far: messages and meshes. Agents in tmux panes come with the daemon."
