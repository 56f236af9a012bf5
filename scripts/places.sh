# Sourced by every script: where things are kept and how a script speaks. Sets no option.
# shellcheck shell=sh

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root" || exit 1

# Builds outlive a checkout, so that a second one does not compile again. The Python side reads
# the same variable with the same default (farebox.local.devnet_binary).
FAREBOX_CACHE=${FAREBOX_CACHE:-${HOME:?HOME is not set}/.cache/farebox}
CARGO_TARGET_DIR=$FAREBOX_CACHE/devnet/target
export FAREBOX_CACHE CARGO_TARGET_DIR

venv=$root/.venv
python=$venv/bin/python

say() { printf '%s: %s\n' "$(basename -- "$0")" "$*" >&2; }

# fail SENTENCE: ends the script; the sentence says what to do
fail() {
    say "$@"
    exit 2
}

need() {
    command -v "$1" >/dev/null 2>&1 || fail "There is no $1 here: $2 and run this again."
}

# timed STEP COMMAND...: runs the command; `steps` gets STEP=SECONDS
steps=
timed() {
    step=$1
    step_began=$(date +%s)
    shift
    "$@"
    steps="${steps:+$steps }$step=$(($(date +%s) - step_began))"
}
