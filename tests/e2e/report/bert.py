#!/usr/bin/env python3
"""experiments/bert.ini made small: bert.py WATTLAW EXPERIMENT. The campaign runs, and the report shows its learning curves."""
import json
import os
import subprocess
import sys
import tempfile

WATTLAW, EXPERIMENT = map(os.path.abspath, sys.argv[1:])
SMALL = {
    "sweep.workers": "1,2",
    "sweep.local_batch": "8",
    "sweep.epochs": "2",
    "data.prepare": "{train} data wikitext --synthetic {data} --words 4000 --train-vocab 300 --sequence 32",
}


def run(*args):
    p = subprocess.run([WATTLAW, *args], capture_output=True, text=True)
    assert p.returncode == 0, f"{args}: status {p.returncode}: {p.stdout}{p.stderr}"
    return p.stdout


with tempfile.TemporaryDirectory(prefix="wl-bert-") as folder:
    os.chdir(folder)
    run("sweep", EXPERIMENT, *(word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")))
    runs = json.loads(run("show", "bert-results", "--json"))["runs"]
    assert sorted(r["settings"]["global_batch"] for r in runs) == [8, 8, 16, 16], runs
    said = json.loads(run("report", "bert-results", "--json", "--formats", "html,csv"))
    rows = next(t for t in said["tables"] if t["id"] == "batches")["rows"]
    found = {r["metric"] for r in rows}
    assert {"val_loss", "val_perplexity", "val_masked_accuracy"} <= found, found
    for figure in ("validation-loss", "validation-perplexity", "validation-accuracy", "epoch-time"):
        assert os.path.getsize(f"bert-results/report/figures/{figure}.csv") > 0
    page = open("bert-results/report/report.html").read()
    assert "Perplexity of held-out text" in page
