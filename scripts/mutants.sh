#!/usr/bin/env bash
# What `cargo mutants` would change in the engine, one operator or one function at a time: is it
# noticed by a test of the engine, or else by any test of the library, or else by 20 lives of the
# simulation? All changes are built into one program (scripts/mutants.py), since a build for each
# would take days.
#
#     scripts/mutants.sh                                 all of them
#     scripts/mutants.sh --re member_due --re is_paused  those whose names match
#
# Prints what nothing notices, and the numbers.
source "$(dirname "$0")/setup.sh"
source "$(dirname "$0")/python.sh"
cargo mutants --version >/dev/null 2>&1 || cargo install --locked cargo-mutants
listed=$(mktemp)
trap 'rm -f "$listed"' EXIT
cargo mutants --list --json --file 'src/engine/**' "$@" >"$listed"
"$python" scripts/mutants.py engine "$listed"
