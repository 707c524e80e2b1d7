#!/usr/bin/env bash
# What every command keeps: help on stdout with status 0, wrong use with status 2 and a hint, a full disk is a failure.
set -u
wattlaw=$1
bad=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# expect STATUS TEXT COMMAND...: the status, and the text somewhere in what was printed
expect() {
    local want=$1 text=$2 status=0
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
    [ "$status" -eq "$want" ] || { echo "$*: status $status, wanted $want"; cat "$tmp/err"; bad=1; }
    cat "$tmp/out" "$tmp/err" | grep -qF -- "$text" || { echo "$*: wanted: $text"; cat "$tmp/out" "$tmp/err"; bad=1; }
}

expect 2 "usage: wattlaw COMMAND" "$wattlaw"
expect 0 "wattlaw " "$wattlaw" --version
expect 2 "did you mean measure?" "$wattlaw" mesure
expect 2 "unknown command frobnicate" "$wattlaw" frobnicate
expect 2 "did you mean measure?" "$wattlaw" help mesure
expect 0 "commands" "$wattlaw" --help

commands=$("$wattlaw" --help | awk '/^commands/{on=1; next} /^$/{on=0} on && /^  [a-z0-9]/{print $1}')
[ -n "$commands" ] || { echo "no commands listed"; exit 1; }
for c in $commands; do
    expect 0 "usage: wattlaw $c" "$wattlaw" help "$c"
    expect 0 "usage: wattlaw $c" "$wattlaw" "$c" --help
    [ ! -s "$tmp/err" ] || { echo "$c --help wrote to stderr"; bad=1; }
    expect 2 "unknown option --no-such-option" "$wattlaw" "$c" --no-such-option
    grep -q "usage: wattlaw $c" "$tmp/err" || { echo "$c: no usage after the error"; bad=1; }
    if [ -w /dev/full ] && "$wattlaw" "$c" --help >/dev/full 2>"$tmp/err"; then
        echo "$c --help into a full disk ended with status 0"
        bad=1
    fi
done
# Every option of both programs that takes a value refuses "--", with which the options end. Under a sanitizer the first of each
# command: they have one parser.
sanitizer=${TEST_SANITIZER:-none}
refuse_the_end() {
    local program=$1 name help option tried=0
    shift
    for name in "$@"; do
        # shellcheck disable=SC2086
        help=$("$program" $name --help </dev/null)
        for option in $(sed -nE 's/^  (-[a-z], )?(--[a-z0-9-]+) [^ ].*/\2/p' <<<"$help"); do
            # shellcheck disable=SC2086
            expect 2 "$option: a value is missing before \"--\"" "$program" $name "$option" -- true
            tried=$((tried + 1))
            [ "$sanitizer" = none ] || break
        done
    done
    [ "$tried" -gt 30 ] || { [ "$sanitizer" != none ] && [ "$tried" -gt 10 ]; } || { echo "$program: $tried options with a value"; bad=1; }
}
mapfile -t commands < <("$wattlaw" --help | awk '/^commands/{on=1; next} /^$/{on=0} on && /^  [a-z0-9]/{print $1}')
refuse_the_end "$wattlaw" "${commands[@]}"
if [ $# -gt 1 ]; then
    train=$2
    mapfile -t commands < <("$train" --help | awk '/^[a-z]+s$/{on=1; next} /^$/{on=0} on && /^  [a-z0-9]/ && $1 != "data"{print $1}'
        "$train" data --help | awk '/^[a-z ]+s$/{on=1; next} /^$/{on=0} on && /^  [a-z0-9]/{print "data " $1}')
    refuse_the_end "$train" "${commands[@]}"
fi
[ ! -e -- ] || { echo "a file -- was written"; bad=1; }
# A pipe that nobody reads any more (head) ends what prints by SIGPIPE, without a word, and with everything stored.
mkfifo "$tmp/pipe"
exec 3<>"$tmp/pipe" 4>"$tmp/pipe" 3>&-
ends_by_pipe() {
    local status=0
    "$@" >&4 2>"$tmp/err" </dev/null || status=$?
    [ "$status" -eq 141 ] || { echo "$*: status $status into a closed pipe, wanted 141"; cat "$tmp/err"; bad=1; }
    ! grep -q "^error" "$tmp/err" || { echo "$*:"; cat "$tmp/err"; bad=1; }
}
cat >"$tmp/exp.ini" <<'INI'
[campaign]
name = pipe
repeats = 1
[sweep]
workers = 1
[launch]
command = sh -c 'echo 0 0 start workers=1 >>$WATTLAW_MARKS'
INI
ends_by_pipe "$wattlaw" sweep "$tmp/exp.ini" --set campaign.store="$tmp/lab" --quiet
expect 0 "1 of 1 done" "$wattlaw" status "$tmp/lab"
for c in "--help" "--version" "sweep --keys" "show STORE" "show STORE --json" "export observations STORE" "export samples STORE" \
    "status STORE" "doctor --for 0s" "restore --json" "rebuild STORE" "report STORE --formats csv"; do
    # shellcheck disable=SC2086
    ends_by_pipe "$wattlaw" ${c//STORE/"$tmp/lab"}
done
expect 0 "1 of 1 done" "$wattlaw" status "$tmp/lab"
# The status of what failed, and of a command that is measured, stays its own; so does a signal that the caller ignores.
status=0; "$wattlaw" show "$tmp/nowhere" >&4 2>"$tmp/err" || status=$?
[ "$status" -eq 1 ] && grep -q "no store here" "$tmp/err" || { echo "show of no store: $status"; bad=1; }
status=0; (trap '' PIPE; "$wattlaw" --help >&4 2>"$tmp/err") || status=$?
[ "$status" -eq 1 ] && grep -q "Broken pipe" "$tmp/err" || { echo "--help with SIGPIPE ignored: $status"; bad=1; }
exec 4>&-
# A caller that closed the standard descriptors: nothing that is printed may reach a file of the store.
timeout 60 "$wattlaw" measure --store "$tmp/b.db" -- true <&- >&- 2>&- || { echo "measure without descriptors failed"; bad=1; }
[ -e "$tmp/b.db-lock" ] && [ ! -s "$tmp/b.db-lock" ] || { echo "something was written into b.db-lock"; bad=1; }
exit $bad
