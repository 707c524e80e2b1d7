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
expect 0 "commands" "$wattlaw" --help

commands=$("$wattlaw" --help | awk '/^commands/{on=1; next} /^$/{on=0} on{print $1}')
[ -n "$commands" ] || { echo "no commands listed"; exit 1; }
for c in $commands; do
    expect 0 "usage: wattlaw $c" "$wattlaw" "$c" --help
    [ ! -s "$tmp/err" ] || { echo "$c --help wrote to stderr"; bad=1; }
    expect 2 "unknown option --no-such-option" "$wattlaw" "$c" --no-such-option
    grep -q "usage: wattlaw $c" "$tmp/err" || { echo "$c: no usage behind the error"; bad=1; }
    if [ -w /dev/full ] && "$wattlaw" "$c" --help >/dev/full 2>"$tmp/err"; then
        echo "$c --help into a full disk ended with status 0"
        bad=1
    fi
done
# A reader that has seen enough is no error.
"$wattlaw" sweep --keys 2>"$tmp/err" | head -1 >"$tmp/out"
[ ! -s "$tmp/err" ] || { echo "into head:"; cat "$tmp/err"; bad=1; }
# A caller that closed the standard descriptors: nothing that is printed may reach a file of the store.
timeout 60 "$wattlaw" measure --store "$tmp/b.db" -- true <&- >&- 2>&- || { echo "measure without descriptors failed"; bad=1; }
[ -e "$tmp/b.db-lock" ] && [ ! -s "$tmp/b.db-lock" ] || { echo "something was written into b.db-lock"; bad=1; }
exit $bad
