#!/usr/bin/env bash
# Tests with the real agent CLIs, which are installed first, and a scripted model on loopback.
#
#   scripts/real-agents.sh [team|trial]     all of them, the team that every test run runs, or the
#                                           trial of 200 turns alone
#
# LAB names the folder they are installed in (default: target/lab); TX_TRIAL_TURNS the turns of
# each of the trial's eight panes (default: 25).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
lab=$(realpath -m "${LAB:-target/lab}")
for cli in claude codex; do
  [ -e "$lab/bin/$cli" ] || tests/real/lab.sh install "$lab" "$cli"
done
TX_LAB=$lab cargo test --locked --test real -- --nocapture ${1:+"$1"}
