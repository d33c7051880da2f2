#!/usr/bin/env bash
# Does anything notice when a rule of the engine or of a pane is broken? Each patch of tests/rules/
# breaks one, inside functions. All are built into one program, and tried alone: the test that the
# patch names must fail, or else another of the engine or the panes, or else one of 40 lives of the
# simulation. If it names the lives of a pane at a terminal (`typing::`), one of 1,000 of them must.
#
#     scripts/rules.sh                 all of them
#     scripts/rules.sh 03 17-strict    those whose names begin so
#
# Prints a table and the seconds. Fails if a patch does not apply, does not compile, or is not caught.
source "$(dirname "$0")/setup.sh"
install patch
source "$(dirname "$0")/python.sh"
exec "$python" scripts/mutants.py rules "$@"
