# What the other scripts need: Rust with its tools, tmux and git. Sourced by them.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Terminals of the tests draw in UTF-8.
export LANG=${LANG:-C.UTF-8}

say() { printf '\n== %s\n' "$*"; }

# install PROGRAM...: with the system's package manager, if one is missing.
install() {
    local missing=() program
    for program in "$@"; do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    [ ${#missing[@]} -eq 0 ] && return
    say "installing ${missing[*]}"
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    if command -v apt-get >/dev/null; then
        "${as_root[@]}" apt-get update -qq
        DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq "${missing[@]}"
    elif command -v dnf >/dev/null; then
        "${as_root[@]}" dnf install -y -q "${missing[@]}"
    elif command -v pacman >/dev/null; then
        "${as_root[@]}" pacman -S --noconfirm --needed "${missing[@]}"
    elif command -v apk >/dev/null; then
        "${as_root[@]}" apk add "${missing[@]}"
    elif command -v brew >/dev/null; then
        brew install "${missing[@]}"
    else
        echo "error: please install ${missing[*]}: no package manager that this script knows was found" >&2
        exit 1
    fi
}

if ! command -v cargo >/dev/null; then
    if [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    else
        echo "error: there is no cargo; install Rust first (rustup.rs, or your system's package)" >&2
        exit 1
    fi
fi
# Where HOME is not the one that rustup was installed in, its toolchains still
# stand beside its programs.
if ! cargo --version >/dev/null 2>&1 && [ -z "${RUSTUP_HOME:-}" ]; then
    RUSTUP_HOME=$(dirname "$(dirname "$(dirname "$(command -v cargo)")")")/.rustup
    export RUSTUP_HOME
fi
install tmux git
