#!/usr/bin/env python3
"""The simulated campaign of Frey et al. 2022, small, through the programs: frey2022.py WATTLAW FREY2022

What comes out of fit and report is what examples/frey2022/job.h put in, and every number is marked as simulated."""
import csv
import json
import os
import subprocess
import sys
import tempfile

WATTLAW, FREY2022 = map(os.path.abspath, sys.argv[1:3])


def run(*args, status=0):
    p = subprocess.run(args, capture_output=True, text=True)
    assert p.returncode == status, (args, p.returncode, p.stdout, p.stderr)
    return p


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    out = run(FREY2022, "simulate", "s.db", "--repeats", "2", "--max-workers", "64").stdout
    assert out == f"{6 * 6 * 9 * 2} simulated runs in s.db\n", out
    assert "exists" in run(FREY2022, "simulate", "s.db", status=1).stderr

    # again gives the same numbers
    run(FREY2022, "simulate", "again.db", "--repeats", "2", "--max-workers", "64")
    first, again = (run(WATTLAW, "export", "observations", name).stdout for name in ("s.db", "again.db"))
    assert first == again and len(first.splitlines()) == 1 + 6 * 6 * 9 * 2 * 3
    assert all(row["simulated"] == "1" for row in csv.DictReader(first.splitlines())), "not marked as simulated"

    # an overhead of c / W = 0.03 bends the law: the best curve has a constant term
    groups = json.loads(run(WATTLAW, "fit", "s.db", "--json").stdout)["groups"]
    assert len(groups) == 54 and all(g["simulated"] for g in groups)
    key = {"workload": "resnet50", "power_cap_w": "250", "clock_mhz": "1380"}
    group = next(g for g in groups if all(str(g["key"].get(k)) == v for k, v in key.items()))
    amdahl = next(m for m in group["models"] if m["name"] == "amdahl")
    share = amdahl["params"]["c"] / amdahl["params"]["W"]
    assert 0.02 < share < 0.045, share

    run(WATTLAW, "report", "s.db", "--out", "report", "--formats", "html,csv")
    page = open("report/report.html").read()
    for name in ("epoch-time", "energy-ratio", "tradeoff-power-cap-bert-1380-mhz-local-batch-8",
                 "utilisation-sm", "variation-memory", "energy-worker-hours"):
        assert os.path.exists(f"report/figures/{name}.csv"), (name, os.listdir("report/figures"))
    with open("report/tables/utilisation.csv") as file:
        busy = [float(row["mean"]) for row in csv.DictReader(file)
                if row["group"].startswith("bert") and row["quantity"] == "GPU busy time"]
    assert len(busy) == 6 * 9 and 60 < min(busy) and max(busy) <= 100, busy
    assert page.count("simulated values") > 20
