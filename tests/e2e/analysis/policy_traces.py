#!/usr/bin/env python3
"""wattlaw recommend --policy on recorded power traces: policy_traces.py WATTLAW SOURCE_ROOT

The traces are not part of this project: time and mean power of an epoch of six applications under every power cap of a V100 (You et al., NSDI 2023).
They are looked for in the folder that WATTLAW_SHARED_DATA names, or in shared/data beside the source tree; without them the test is skipped
(exit 77). Half of the jobs is measured, with noise; the other half is what the policy meets. bench/tune_policy.py has the table.
"""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import shared_data

TRACE = os.path.join("zeus", "summary_power_v100.csv")
SPLITS, NOISE, SLOWDOWN = 8, .01, .1


def read_jobs(path):
    """{(application, optimizer, batch): {cap: (s, W)}} of jobs with every cap"""
    jobs = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = f"{row['dataset']} {row['network']} {row['optimizer']}", row["batch_size"]
            jobs.setdefault(key, {})[float(row["power_limit"])] = float(row["time_per_epoch"]), float(row["average_power"])
    most = max(map(len, jobs.values()))
    return {key: curve for key, curve in sorted(jobs.items()) if len(curve) == most}


def policy(wattlaw, jobs, rng, *args):
    with open("jobs.csv", "w", encoding="utf-8") as f:
        f.write("workload,hardware,workers,global_batch,power_cap_w,run,time_s,energy_j\n")
        for (workload, batch), curve in jobs:
            for cap, (t, p) in curve.items():
                for run in (1, 2):  # two windows of 1.4 times the noise are as good as one
                    t_run, p_run = (v * math.exp(rng.gauss(0, NOISE * 2**.5)) for v in (t, p))
                    f.write(f"{workload},V100,1,{batch},{cap},{run},{t_run!r},{t_run * p_run!r}\n")
    done = subprocess.run([wattlaw, "recommend", "--policy", "jobs.csv", "--max-slowdown", f"{100 * SLOWDOWN}%", "--json", *args], capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)


def main():
    [path] = shared_data.find(sys.argv[2], TRACE)
    jobs, wattlaw = list(read_jobs(path).items()), os.path.abspath(sys.argv[1])
    assert len(jobs) > 60, len(jobs)
    covered = cases = 0
    off = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for split in range(SPLITS):
            rng = random.Random(split)
            rng.shuffle(jobs)
            half = len(jobs) // 2
            got = policy(wattlaw, jobs[:half], rng, "--jobs", "80%")
            met = [curve for _, curve in jobs[half:]]
            top = max(met[0])
            for cap in got["caps"][:-1]:
                kept = sum(curve[cap["value"]][0] <= (1 + SLOWDOWN) * curve[top][0] for curve in met) / len(met)
                energy = sum(math.prod(curve[cap["value"]]) / math.prod(curve[top]) for curve in met) / len(met)
                low, high = cap["share"]["interval90"]
                covered += low <= kept <= high
                cases += 1
                off.append(cap["energy_ratio"] - energy)
            assert got["choice"] in (175, 200, 225), got["choice"]
            assert .007 < got["time_noise_sd"] < .022, got["time_noise_sd"]
    print(f"intervals of the share hold in {covered} of {cases} cases")
    assert abs(sum(off) / cases) < .03, sum(off) / cases  # halves differ by up to .1
    assert covered >= .85 * cases, (covered, cases)
    return 0


sys.exit(main())
