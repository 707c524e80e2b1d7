#!/usr/bin/env python3
"""experiments/large-batch.ini made small: large_batch.py WATTLAW EXPERIMENT. The report has the figure and the table of
accuracy against global batch, with the numbers that the trainings recorded."""
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

WATTLAW, EXPERIMENT = map(os.path.abspath, sys.argv[1:])
SMALL = {
    "campaign.repeats": "2",
    "sweep.local_batch": "8",
    "sweep.global_batch": "8,32",
    "sweep.epochs": "2",
    "data.prepare": "{train} data imagenet --synthetic {data} --classes 2 --images 64 --val-images 16 --image-size 32",
    "launch.args": "--size tiny --image-size 32 --lr 0.1 --lr-scale --loader-threads 0",
}


def run(*args):
    p = subprocess.run([WATTLAW, *args], capture_output=True, text=True)
    assert p.returncode == 0, f"{args}: status {p.returncode}: {p.stdout}{p.stderr}"
    return p.stdout


def input_share(marks):
    """Per cent of the epochs that the run waited for input, from its own mark lines."""
    at = {(m[1], m[2]): int(m[0]) for m in re.findall(r"^(\d+) 0 epoch-(begin|end) epoch=(\d+)", marks, re.M)}
    waited = sum(float(t) for t in re.findall(r"phase name=input time_s=(\S+)", marks))
    return 100e9 * waited / sum(t - at["begin", epoch] for (word, epoch), t in at.items() if word == "end")


with tempfile.TemporaryDirectory(prefix="wl-large-batch-") as folder:
    os.chdir(folder)
    run("sweep", EXPERIMENT, *(word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")))
    said = json.loads(run("report", "large-batch-results", "--json", "--formats", "html,csv,svg"))
    rows = next(t for t in said["tables"] if t["id"] == "batches")["rows"]
    rows = {r["global_batch"]: r for r in rows if r["metric"] == "val_top1"}
    assert sorted(rows) == [8, 32], rows
    shown = json.loads(run("show", "large-batch-results", "--json"))["runs"]
    for batch, row in rows.items():
        last = [r["metric_value"] for r in shown if r["settings"]["global_batch"] == batch]
        assert row["runs"] == len(last) == 2 and abs(row["final"] - sum(last) / 2) < 1e-9, (row, last)
        assert row["final_lo"] <= row["final"] <= row["final_hi"] and row["best"] >= row["final"], row
    table = next(t for t in said["tables"] if t["id"] == "runs")["rows"]
    assert len(table) == len(shown) == 4
    for r, row in zip(sorted(shown, key=lambda r: r["run"]), sorted(table, key=lambda r: r["run"])):
        share = input_share(open(f"large-batch-results/runs/{r['run']}/marks").read())
        assert 0 < share < 100 and abs(r["input_pct"] / share - 1) < 1e-4 and row["input_pct"] == r["input_pct"], (r, share)
    assert "input %" in run("show", "large-batch-results")
    with open("large-batch-results/report/figures/batch-val-top1.csv") as f:
        points = [p for p in csv.DictReader(f) if p["style"] == "points"]
    assert sorted(float(p["x"]) for p in points) == [8, 8, 32, 32], points
    assert any("at a global batch of" in s for s in said["findings"]), said["findings"]
    assert "batch-val-top1" in open("large-batch-results/report/report.html").read()
