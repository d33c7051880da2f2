#!/usr/bin/env bash
# What takes too long for every run: scripts/soak.sh [N], N cases of each property and
# N lives of the simulation; default 20000.
source "$(dirname "$0")/setup.sh"

cases=${1:-20000}
say "the engine and the journal under faults, $cases lives"
TX_SIM_SEEDS=$cases cargo test --locked --release --test sim promises -- --nocapture

say "the journal: kill -9, a full disk"
TX_SOAK=1 cargo test --locked --release --test sim -- --skip promises

say "the rules of the engine, broken one by one"
scripts/rules.sh

say "properties of the formats, $cases cases each"
PROPTEST_CASES=$cases cargo test --locked --release --lib -- properties plain

say "the verbs: 20,000 files, 4,000 sends at once, 2,000 kills"
TX_SOAK=1 cargo test --locked --release --test cli

say "real processes: 500 kills of driver and tmux server, 50 of each under load, files of all sorts"
TX_KILLS=500 cargo test --locked --release --test e2e wrapper -- --nocapture
TX_KILLS=50 cargo test --locked --release --test e2e under_load -- --nocapture
TX_SOAK=1 cargo test --locked --release --test e2e files

say "real processes, with the portable variant of what Linux tells"
install lsof
cargo test --locked --release --features portable --lib daemon::platform
cargo test --locked --release --features portable --test e2e -- --test-threads 6

say "licences, duplicates and sources of the crates"
if cargo deny --version >/dev/null 2>&1; then
    cargo deny check
else
    say "skipped: cargo deny is not installed (cargo install cargo-deny)"
fi

say "a project that an older tx left under kill -9"
older=027d6b82267835dd26b34f470ee2c91667c6e47e # the last commit with format 1 of the journal
if git cat-file -e "$older^{commit}" 2>/dev/null; then
    scratch=$(mktemp -d)
    trap 'git worktree remove --force "$scratch/tx"; rm -rf "$scratch"' EXIT
    git worktree add --detach "$scratch/tx" "$older"
    cargo build --locked --release --manifest-path "$scratch/tx/Cargo.toml" --target-dir "$scratch/target"
    TX_OLDER=$scratch/target/release/tx cargo test --locked --release --test e2e upgrade
else
    say "skipped: the older tx (commit $older is not in this clone)"
fi

say "benchmarks, with their limits"
cargo bench --locked --bench format
cargo bench --locked --bench journal
cargo bench --locked --bench engine
cargo bench --locked --bench daemon

if cargo +nightly fuzz --version >/dev/null 2>&1; then
    for target in message mesh; do
        say "fuzzing $target for a minute"
        cargo +nightly fuzz run "$target" -- -max_total_time=60
    done
else
    say "skipped: fuzzing (it needs a nightly compiler and cargo-fuzz)"
fi
