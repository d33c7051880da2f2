#!/usr/bin/env bash
# Does anything notice when a rule of the engine or of a pane is broken? Each patch of tests/rules/
# breaks one. It is applied in a scratch copy, alone: a test of the engine must fail, or else one of
# 40 lives of the simulation. If it breaks a pane, one of 1,000 lives of a pane at a terminal must.
#
#     scripts/rules.sh                 all of them
#     scripts/rules.sh 03 17-strict    those whose names begin so
#
# Prints a table. Fails if a patch does not apply, does not compile, or is not caught.
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

# caught FILE NAME: what noticed that rule NAME is broken, from the output of the tests in FILE.
caught() {
    local failed named=$2
    failed=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$1" | sort)
    # The test that the patch names, if it is among them.
    if grep -qx -- "$named" <<<"$failed"; then echo "$named"; else head -n 1 <<<"$failed"; fi
}

uncaught=0
printf '| patch | caught by |\n|---|---|\n'
for patch in "$root"/tests/rules/*.patch; do
    name=$(basename "$patch" .patch)
    is_wanted "$name" || continue
    named=$(sed -n '2s/^Caught by: //p' "$patch")
    log=$copy/log
    rm -rf "$copy/src"
    cp -rp "$root/src" "$copy/src"
    by=""
    if ! (cd "$copy" && patch --quiet --strip=1 --fuzz=1 <"$patch") >"$log" 2>&1; then
        by="NOTHING: it does not apply"
    elif ! (cd "$copy" && cargo test --locked --quiet --lib --no-run) >"$log" 2>&1; then
        by="NOTHING: it does not compile"
    elif grep -q '^+++ b/src/pane/' "$patch"; then
        if (cd "$copy" && timeout 900 cargo test --locked --test sim typing) >"$log" 2>&1; then
            by="NOTHING"
        else
            by="1,000 lives: $(sed -n 's/^[0-9]* lives failed, [^:]*: //p' "$log" | head -n 1)"
        fi
    elif ! (cd "$copy" && timeout 300 cargo test --locked --lib engine) >"$log" 2>&1; then
        by=$(caught "$log" "$named")
        by=${by:-NOTHING: the tests did not end}
    elif ! (cd "$copy" && TX_SIM_SEEDS=40 timeout 900 cargo test --locked --test sim promises) >"$log" 2>&1; then
        by="40 lives: $(caught "$log" "$named")"
    else
        by="NOTHING"
    fi
    if [[ $by == NOTHING* ]]; then
        uncaught=$((uncaught + 1))
        tail -n 20 "$log" >&2
    fi
    printf '| %s | %s |\n' "$name" "$by"
done
[ "$uncaught" -eq 0 ] || { echo "$uncaught broken rules were not noticed" >&2; exit 1; }
