# Sourced by every script: where things are kept and how a script speaks. Sets no option.
# shellcheck shell=sh

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root" || exit 1

# Builds outlive a checkout, so that a second one does not compile again. The Python side reads
# the same variable with the same default (farebox.local.devnet_binary).
FAREBOX_CACHE=${FAREBOX_CACHE:-${HOME:?HOME is not set}/.cache/farebox}
CARGO_TARGET_DIR=$FAREBOX_CACHE/devnet/target
export FAREBOX_CACHE CARGO_TARGET_DIR

# Compiled modules are kept: to compile the service again takes each process a second.
unset PYTHONDONTWRITEBYTECODE

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

# in_memory FOLDER: the databases of tests and proofs are made and removed by the thousand, which
# takes a disk's file system a fifth of the processor. They are in this folder, which is in memory,
# where it has 8 GiB free, unless TMPDIR is set.
in_memory() {
    [ -z "${TMPDIR:-}" ] && [ -w "$1" ] || return 0
    free=$(df -Pk "$1" | sed -n '2s/^\([^ ]* *\)\{3\}\([0-9]*\).*/\2/p')
    [ "${free:-0}" -ge 8388608 ] || return 0
    TMPDIR=$1
    export TMPDIR
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

# beside STEP COMMAND...: runs the command beside the next ones, which go first where cores are
# short. Its output, its seconds and whether it failed are files of the folder `$kept`.
running=
steps_beside=
beside() {
    step=$1
    shift
    say "$step (beside the others)"
    (
        began_step=$(date +%s)
        nice -n 5 "$@" >"$kept/$step.output" 2>&1 &
        trap 'kill "$!" 2>/dev/null || true' TERM
        wait "$!" && : >"$kept/$step.passed"
        printf '%s' "$(($(date +%s) - began_step))" >"$kept/$step.seconds"
    ) &
    running="$running $!"
    steps_beside="$steps_beside $step"
}

# end_steps: waits for what runs beside, shows what failed, and prints the JSON object of the run;
# `failed` names the steps that failed before. The exit code is 1 when one has.
end_steps() {
    for process in $running; do wait "$process" || true; done
    running=
    for step in $steps_beside; do
        steps="${steps:+$steps }$step=$(cat -- "$kept/$step.seconds" || echo 0)"
        [ -f "$kept/$step.passed" ] && continue
        say "FAILED: $step"
        cat -- "$kept/$step.output" >&2 || true
        failed="${failed:+$failed, }\"$step\""
    done
    printf '{"failed": [%s], "seconds": %s, "steps": {"%s}}\n' "$failed" \
        "$(($(date +%s) - began))" "$(printf '%s' "$steps" | sed 's/=/": /g; s/ \([a-z]\)/, "\1/g')"
    [ -z "$failed" ]
}

# keep_steps: makes the folder of the steps that run beside; it is removed when the script ends.
keep_steps() {
    kept=$(mktemp -d)
    # shellcheck disable=SC2086 # a process a word
    trap 'kill $running 2>/dev/null || true; rm -rf -- "$kept"' EXIT
}
