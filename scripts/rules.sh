#!/usr/bin/env bash
# Does anything notice when a rule of the engine or of a pane is broken? Each patch of tests/rules/
# breaks one. It is applied in a scratch copy, alone: the test that it names must fail, or else another
# of the engine, or else one of 40 lives of the simulation. If it names the lives of a pane at a
# terminal (`typing::`), one of 1,000 of them must.
#
#     scripts/rules.sh                 all of them
#     scripts/rules.sh 03 17-strict    those whose names begin so
#
# Prints a table and the seconds. Fails if a patch does not apply, does not compile, or is not caught.
# TX_RULES_TARGET keeps the build from one run to the next.
source "$(dirname "$0")/setup.sh"
install patch

root=$PWD
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard -- Cargo.toml Cargo.lock src benches docs examples fuzz meshes tests |
    tar --create --null --files-from - | tar --extract --directory "$copy"
export CARGO_TARGET_DIR=${TX_RULES_TARGET:-$copy/target}
# Nobody looks into these programs, and without what debuggers need they are built sooner.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_TEST_DEBUG=0 CARGO_TERM_COLOR=never

wanted=("${@:-}")
is_wanted() {
    local want
    for want in "${wanted[@]}"; do
        [[ $1 == "$want"* ]] && return
    done
    return 1
}

# tests SECONDS ARGUMENTS...: run tests of the copy for so long; the output is in $log.
tests() {
    local seconds=$1
    shift
    (cd "$copy" && timeout "$seconds" cargo test --locked "$@") >"$log" 2>&1
}

# The first test that failed.
failed() { sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$log" | sort | head -n 1; }

SECONDS=0
uncaught=0
log=$copy/log
printf '| patch | caught by |\n|---|---|\n'
for patch in "$root"/tests/rules/*.patch; do
    name=$(basename "$patch" .patch)
    is_wanted "$name" || continue
    named=$(sed -n '2s/^Caught by: //p' "$patch")
    rm -rf "$copy/src"
    cp -rp "$root/src" "$copy/src"
    by=""
    if ! (cd "$copy" && patch --quiet --strip=1 --fuzz=1 <"$patch") >"$log" 2>&1; then
        by="NOTHING: it does not apply"
    elif [[ $named == typing::* ]]; then
        if ! tests 600 --test sim --no-run; then
            by="NOTHING: it does not compile"
        elif tests 900 --test sim typing; then
            by="NOTHING"
        else
            by="1,000 lives: $(sed -n 's/^[0-9]* lives failed, [^:]*: //p' "$log" | head -n 1)"
        fi
    elif ! tests 600 --lib --no-run; then
        by="NOTHING: it does not compile"
    elif ! tests 60 --lib -- --exact "$named" && [ "$(failed)" = "$named" ]; then
        by=$named
    elif ! tests 300 --lib engine; then
        by=$(failed)
        by=${by:-NOTHING: the tests did not end}
    elif ! TX_SIM_SEEDS=40 tests 900 --test sim promises; then
        by="40 lives: $(failed)"
    else
        by="NOTHING"
    fi
    if [[ $by == NOTHING* ]]; then
        uncaught=$((uncaught + 1))
        tail -n 20 "$log" >&2
    fi
    printf '| %s | %s |\n' "$name" "$by"
done
echo
echo "$SECONDS s"
[ "$uncaught" -eq 0 ] || { echo "$uncaught broken rules were not noticed" >&2; exit 1; }
