#!/usr/bin/env bash
# Tests with the real agent CLIs, which are installed first, and a scripted model on loopback.
#
#   scripts/real-agents.sh [team|trial|others]     all of them, the team that every test run runs, the
#                                                  trial of 200 turns, or gemini, opencode, pi and
#                                                  aider alone
#
# All of them write the table of cases in docs/runtimes.md from their results.
#
# LAB names the folder they are installed in (default: target/lab); TX_TRIAL_TURNS the turns of
# each of the trial's eight panes (default: 25); TX_CLIS the CLIs that the tests of every CLI run
# with, such as `gemini pane, opencode turn` (default: all).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
lab=$(realpath -m "${LAB:-target/lab}")
clis=(claude codex)
case ${1:-} in team | trial) ;; *) clis+=(gemini opencode pi aider) ;; esac
for cli in "${clis[@]}"; do
  [ -e "$lab/bin/$cli" ] || tests/real/lab.sh install "$lab" "$cli"
done
export TX_LAB=$lab
if [ $# -gt 0 ]; then
  exec cargo test --locked --test real -- --nocapture "$1"
fi
TX_MATRIX=$(mktemp)
export TX_MATRIX
trap 'rm -f "$TX_MATRIX"' EXIT
failed=0
# They mostly wait: with six at once, all of them take about 20 minutes on two cores.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-6}
cargo test --locked --no-fail-fast --test real -- --nocapture || failed=$?
tests/real/matrix.py "$TX_MATRIX" docs/runtimes.md
exit "$failed"
