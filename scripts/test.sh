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
agents=true
command -v npm >/dev/null && command -v python3 >/dev/null || agents=false
stage "tests of real processes, real agents and lives" bash -c '
    lives=$(mktemp) agents=$(mktemp)
    # These mostly wait, and lives mostly compute.
    nice cargo test --locked --no-fail-fast --test sim >"$lives" 2>&1 &
    sim=$!
    if '$agents'; then scripts/real-agents.sh team; fi >"$agents" 2>&1 &
    real=$!
    failed=0
    cargo test --locked --no-fail-fast --test e2e || failed=1
    wait $real || failed=1
    wait $sim || failed=1
    cat "$agents" "$lives"
    rm "$agents" "$lives"
    exit $failed'
if ! $agents; then
    say "SKIPPED: the real claude and codex (they need npm and python3)"
    stages+=("skipped  the real claude and codex: they need npm and python3")
fi
stage "doc tests" cargo test --locked --doc
stage "docs" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps

say "all passed"
printf '%s\n' "${stages[@]}" "$(printf '%5d s  in all' $SECONDS)"
