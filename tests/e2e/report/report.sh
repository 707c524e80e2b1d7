#!/usr/bin/env bash
# wattlaw report on stores of made-up runs: the files it writes, and its messages where it cannot.
set -u
wattlaw=$1
make_samples=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
"$make_samples" "$tmp" || exit 1

fail() { echo "$*"; bad=1; }

# expect STATUS TEXT ARGUMENTS...: the status of wattlaw report, and the text somewhere in what it printed
expect() {
    local want=$1 text=$2 status=0
    shift 2
    "$wattlaw" report "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?
    [ "$status" -eq "$want" ] || fail "report $*: status $status, wanted $want: $(cat "$tmp/err")"
    cat "$tmp/out" "$tmp/err" | grep -qF -- "$text" || fail "report $*: wanted \"$text\": $(cat "$tmp/out" "$tmp/err")"
}

# The folder of a campaign or its store: a summary that ends with the page.
expect 0 "figures (" "$tmp/small"
[ "$(tail -1 "$tmp/out")" = "$tmp/small/report/report.html" ] || fail "the last line is not the page: $(cat "$tmp/out")"
[ "$(wc -l <"$tmp/out")" -eq 3 ] || fail "the summary does not have three lines: $(cat "$tmp/out")"
[ -s "$tmp/small/report/report.html" ] || fail "the page was printed but does not exist"
[ -s "$tmp/small/report/tables/configurations.csv" ] || fail "no table of configurations"
if command -v gnuplot >/dev/null; then
    for figure in epoch-time speedup energy-ratio mean-power power-over-time utilisation-over-time training-loss validation-loss validation-accuracy; do
        grep -q '</svg>' "$tmp/small/report/figures/$figure.svg" || fail "figure $figure is missing"
    done
else
    echo "gnuplot is not installed: pictures not checked"
fi
[ "$(head -1 "$tmp/small/report/tables/configurations.csv")" = \
  "group,workers,runs,time_s,time_sd_pct,energy_j,mean_power_w,speedup,speedup_lo,speedup_hi,efficiency,energy_ratio,estimated,simulated" ] ||
    fail "the columns of configurations.csv have changed"
grep -q 'estimated values' "$tmp/small/report/report.html" || fail "the estimate is not marked"
ls "$tmp"/small/report/*.part "$tmp"/small/report/figures/*.part >/dev/null 2>&1 && fail "unfinished files were left"

expect 0 "$tmp/paper/tables" "$tmp/small/wattlaw.db" --formats md,tex --out "$tmp/paper"
grep -q '\\toprule' "$tmp/paper/tables/laws.tex" || fail "no booktabs in laws.tex"
[ -e "$tmp/paper/report.html" ] && fail "a page was written that was not requested"

rm -rf "$tmp/small/report" && touch "$tmp/small/report"
expect 1 "cannot write the report (choose another folder with --out): $tmp/small/report" "$tmp/small" --formats csv
rm "$tmp/small/report"

expect 0 '"paths"' "$tmp/large" --json --formats html,csv
python3 - "$tmp/out" <<'PY' || fail "--json does not say what the page says"
import json, os, sys
said = json.load(open(sys.argv[1]))
assert len(said["paths"]) >= 10 and all(os.path.getsize(path) > 0 for path in said["paths"])
tables = {table["id"]: table for table in said["tables"]}
assert len(tables["configurations"]["rows"]) == 54 and tables["configurations"]["simulated"]
assert tables["laws"]["rows"][0]["group"] == "bert" and 0 < tables["laws"]["rows"][0]["beta"] < 1
assert tables["runs"]["rows"][-1]["energy_j"] is None
assert said["findings"] and said["warnings"] and said["facts"]["campaign"] == "made-up"
PY
expect 0 "report.html" "$tmp/capped" --formats html --run 3
expect 0 "report.html" "$tmp/capped" --formats html --campaign made-up

# Without gnuplot the data of the figures are written, with a note.
mkdir "$tmp/bin"
status=0
PATH=$tmp/bin "$wattlaw" report "$tmp/small" --formats svg --out "$tmp/plain" >"$tmp/out" 2>"$tmp/err" || status=$?
[ "$status" -eq 0 ] || fail "without gnuplot: status $status"
grep -q "gnuplot is not installed" "$tmp/err" || fail "without gnuplot: no note"
[ -s "$tmp/plain/figures/epoch-time.csv" ] || fail "without gnuplot: no data"

expect 1 "no finished run to report (13 failed" "$tmp/failures"
expect 1 "has no runs yet" "$tmp/empty"
[ -e "$tmp/empty/report" ] && fail "an empty report was written"
expect 1 "no finished run has 99 workers (--at)" "$tmp/small" --at 99
expect 2 "expected one or two worker counts" "$tmp/small" --at 1,2,3

# A CSV file gives a report as a store does, in a folder of its own name.
cp "$(dirname "$0")/../../../examples/huber2025/resnet50.csv" "$tmp/huber.csv"
expect 0 "$tmp/huber-report/report.html" "$tmp/huber.csv" --formats html,csv
for figure in epoch-time speedup energy-ratio epoch-time-constant-global-batch energy-worker-hours rate-samples rate-updates; do
    [ -s "$tmp/huber-report/figures/$figure.csv" ] || fail "no figure $figure of Huber et al. 2025"
done
[ "$(wc -l <"$tmp/huber-report/tables/runs.csv")" -eq 19 ] || fail "not 18 runs in the table of a CSV file"
expect 2 "--run needs a store" "$tmp/huber.csv" --run 1
expect 2 "--map renames columns of a CSV file" "$tmp/small" --map time_s=t
printf 'workers,time_s\n1,ten\n' >"$tmp/bad.csv"
expect 1 "$tmp/bad.csv:2" "$tmp/bad.csv"

expect 1 "there is no run 99" "$tmp/small" --run 99
expect 1 "did you mean \"made-up\"?" "$tmp/small" --campaign made-upp
expect 1 "$tmp/nowhere" "$tmp/nowhere"
expect 2 "did you mean svg?" "$tmp/small" --formats sgv
expect 2 "expected one store"
expect 2 "expected one store" "$tmp/small" "$tmp/large"
if [ "$(id -u)" -ne 0 ]; then
    mkdir -m 555 "$tmp/closed"
    expect 1 "$tmp/closed" "$tmp/small" --out "$tmp/closed/report"
fi
touch "$tmp/file"
expect 1 "$tmp/file" "$tmp/small" --out "$tmp/file/report"
exit $bad
