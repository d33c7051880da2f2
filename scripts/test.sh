#!/usr/bin/env bash
# Every check there is, on a fresh machine with Rust. Prints the seconds of each stage.
source "$(dirname "$0")/setup.sh"

LIMIT=900 # seconds for the whole run, which should take 720; what is not done by then has failed
SECONDS=0
stages=()

stage() {
    local name=$1 began=$SECONDS
    shift
    say "$name"
    timeout --foreground $((LIMIT - SECONDS)) "$@"
    stages+=("$(printf '%5d s  %s' $((SECONDS - began)) "$name")")
}

for tool in fmt clippy; do
    cargo "$tool" --version >/dev/null 2>&1 || rustup component add rustfmt clippy
done

stage "format" cargo fmt --check
stage "lints" cargo clippy --locked --all-targets -- -D warnings
stage "tests, built" cargo test --locked --all-targets --no-run
stage "tests of units, verbs and benches" \
    cargo test --locked --no-fail-fast --lib --bins --benches --test cli
stage "tests of real processes, and lives" bash -c '
    log=$(mktemp)
    # The one mostly waits, the other mostly computes.
    nice cargo test --locked --no-fail-fast --test sim >"$log" 2>&1 &
    failed=0
    cargo test --locked --no-fail-fast --test e2e || failed=1
    wait $! || failed=1
    cat "$log"
    rm "$log"
    exit $failed'
if command -v npm >/dev/null && command -v python3 >/dev/null; then
    stage "the real claude and codex" scripts/real-agents.sh team
else
    say "SKIPPED: the real claude and codex (they need npm and python3)"
    stages+=("skipped  the real claude and codex: they need npm and python3")
fi
stage "doc tests" cargo test --locked --doc
stage "docs" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

say "all passed"
printf '%s\n' "${stages[@]}" "$(printf '%5d s  in all' $SECONDS)"
