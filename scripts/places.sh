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
beside() {
    step=$1
    shift
    say "$step (beside the others)"
    (
        began_step=$(date +%s)
        nice -n 5 "$@" >"$kept/$step.output" 2>&1 || : >"$kept/$step.failed"
        printf '%s' "$step=$(($(date +%s) - began_step))" >"$kept/$step.steps"
    ) &
    running="$running $!"
}

# end_steps: waits for what runs beside, shows what failed, and prints the JSON object of the run;
# `failed` names the steps that failed before. The exit code is 1 when one has.
end_steps() {
    for process in $running; do wait "$process" || true; done
    running=
    for path in "$kept"/*.steps; do
        [ -f "$path" ] || continue
        steps="$steps $(cat -- "$path")"
        step=$(basename -- "$path" .steps)
        if [ -f "$kept/$step.failed" ]; then
            say "FAILED: $step"
            cat -- "$kept/$step.output" >&2
            failed="${failed:+$failed, }\"$step\""
        fi
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
