#!/usr/bin/env python3
"""wattlaw energy on published measurements: published.py WATTLAW SOURCE_ROOT

The table is not part of this project: Huber et al. 2025 (arXiv 2508.07706), ResNet50 on 1 to 256 GPUs with samples in
proportion, means of five repeats. It is looked for in the folder that WATTLAW_SHARED_DATA names, or in shared/data
beside the source tree; without it the test is skipped (exit 77). One configuration is in two of its series and counts
once. The expected values were computed with statsmodels from the same 17 rows.
"""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

import shared_data

TABLE = "huber2025/resnet50_samples_scaled_with_gpus.csv"
COLUMNS = ["workload", "workers", "local_batch", "run", "time_s", "energy_j", "samples", "updates"]
WANTED = {
    "runs": 17,
    "with_intercept intercept_kwh value": 0.2038763495375684,
    "with_intercept intercept_kwh se": 0.29382567952157773,
    "with_intercept slope value": 0.28123597669587197,
    "with_intercept slope se": 0.00542641069002601,
    "with_intercept r2": 0.9944466338650356,
    "through_origin slope value": 0.2837804433123761,
    "through_origin slope se": 0.003934463640385173,
    "kwh_per_worker_h mean": 0.3104387224531284,
    "kwh_per_worker_h cv": 0.2104689253911396,
    "drivers samples_per_worker_h value": 0.2869148914814449,
    "drivers updates_per_worker_h value": 0.5237057005982045,
    "drivers updates_per_worker_h se": 0.3055196422734237,
    "drivers r2": 0.60802817341998,
    "drivers vif": 3.3338914605423877,
}


def observations(path, out):
    """Their columns as an observation table: GPU-hours, kWh and rates per GPU-hour to seconds, joules and sums."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = {row["folder"]: row for row in csv.DictReader(file)}
    with open(out, "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        for name, row in rows.items():
            hours, gpus = float(row["mean_gpu_h"]), int(row["gpus"])
            table.writerow(dict(workload="resnet50", workers=gpus, local_batch=row["lbs"], run=name,
                                time_s=repr(hours * 3600 / gpus), energy_j=repr(float(row["mean_energy_kWh"]) * 3.6e6),
                                samples=repr(float(row["derived_samples_per_gpu_h"]) * hours),
                                updates=repr(float(row["derived_updates_per_gpu_h"]) * hours)))


def main():
    [path] = shared_data.find(sys.argv[2], TABLE)
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "huber.csv")
        observations(path, table)
        done = subprocess.run([sys.argv[1], "energy", table, "--json"], capture_output=True, text=True,
                              check=True)
    failed = 0
    for name, want in WANTED.items():
        got = json.loads(done.stdout)["groups"][0]
        for key in name.split():
            got = got[key]
        if not math.isclose(got, want, rel_tol=1e-8):
            print(f"{name}: {got}, not {want}")
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
