#!/usr/bin/env bash
# Every check there is, on a fresh machine with Rust. Prints the seconds of each stage.
source "$(dirname "$0")/setup.sh"

LIMIT=900 # seconds for the whole run, which should take 450; what is not done by then has failed
SECONDS=0
stages=()

stage() {
    local name=$1 began=$SECONDS
    shift
    say "$name"
    timeout --foreground $((LIMIT - SECONDS)) "$@"
    stages+=("$(printf '%5d s  %s' $((SECONDS - began)) "$name")")
}

# What mostly computes. Lints and docs are builds of their own.
compute() {
    local failed=0
    cargo test --locked --no-fail-fast --test sim || failed=1
    cargo clippy --locked --all-targets -- -D warnings || failed=1
    cargo test --locked --doc || failed=1
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps || failed=1
    return $failed
}

# Tests of real processes mostly wait.
wait_and_compute() {
    local log failed=0
    log=$(mktemp)
    nice bash -c compute >"$log" 2>&1 &
    cargo test --locked --no-fail-fast --test e2e -- --test-threads 6 || failed=1
    wait $! || failed=1
    cat "$log"
    rm "$log"
    return $failed
}
export -f compute wait_and_compute

for tool in fmt clippy; do
    cargo "$tool" --version >/dev/null 2>&1 || rustup component add rustfmt clippy
done

stage "format" cargo fmt --check
if cargo deny --version >/dev/null 2>&1; then
    stage "licences, duplicates, sources" cargo deny --locked check licenses bans sources
else
    say "SKIPPED: licences, duplicates, sources (cargo install --locked cargo-deny)"
    stages+=("skipped  licences, duplicates, sources: they need cargo-deny")
fi
stage "tests, built" cargo test --locked --all-targets --no-run
stage "tests of units, verbs and benches" \
    cargo test --locked --no-fail-fast --lib --bins --benches --test cli
stage "tests of real processes, lives, lints, docs" bash -c wait_and_compute
if command -v npm >/dev/null && command -v python3 >/dev/null; then
    stage "the real claude and codex" scripts/real-agents.sh team
else
    say "SKIPPED: the real claude and codex (they need npm and python3)"
    stages+=("skipped  the real claude and codex: they need npm and python3")
fi

say "all passed"
printf '%s\n' "${stages[@]}" "$(printf '%5d s  in all' $SECONDS)"
