#!/usr/bin/env python3
"""experiments/large-batch.ini made small: large_batch.py WATTLAW EXPERIMENT. The report has the figure and the table of
accuracy against global batch, with the numbers that the trainings told."""
import csv
import json
import os
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
    p = subprocess.run([WATTLAW, *args], capture_output=True, text=True, timeout=100)
    assert p.returncode == 0, f"{args}: status {p.returncode}: {p.stdout}{p.stderr}"
    return p.stdout


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
    with open("large-batch-results/report/figures/batch-val-top1.csv") as f:
        points = [p for p in csv.DictReader(f) if p["style"] == "points"]
    assert sorted(float(p["x"]) for p in points) == [8, 8, 32, 32], points
    assert any("at a global batch of" in s for s in said["findings"]), said["findings"]
    assert "batch-val-top1" in open("large-batch-results/report/report.html").read()
