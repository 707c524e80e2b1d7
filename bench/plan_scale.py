#!/usr/bin/env python3
"""CPU time and memory of wattlaw plan: plan_scale.py WATTLAW PLAN.ini [--before WATTLAW] [--rounds 3]

    scales    PLAN.ini (six networks: examples/frey2022/plan.ini) at 18 worker counts from 1 to 100,000
    counts    PLAN.ini at 1,000 worker counts up to 100,000
    draws     a plan of one network with 1,000,000 draws at 4 worker counts
    split     a network on tensor-parallel devices in pipeline stages, 10 counts up to 102,400
    year      carbon intensities and prices of a year in rows of five minutes, 18 worker counts, all starts

Whole processes; medians of the rounds. With --before each ratio is that of the CPU times. Exit 1 where `scales` takes a second of
CPU time or more: 100,000 workers in a second is what the planner promises.
"""
import argparse
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile

NETWORK = """[machine m]
card = a100-sxm4-80gb
network_bandwidth = 100
idle_power = 60
[workload w]
samples = 1281167
local_batch = 256
step_time = 366ms
parameters = 25.6e6
"""
SPLIT = "tensor_parallel = 8\npipeline_stages = 16\nlayers = 96\nactivation = 67\naccumulation = 128\n"


def counts(values):
    return "workers=" + ",".join(str(v) for v in values)


def write_year(folder):
    with open(os.path.join(folder, "carbon.csv"), "w") as f, open(os.path.join(folder, "price.csv"), "w") as g:
        f.write("timestamp,carbon_intensity\n")
        g.write("timestamp,price_eur_per_mwh\n")
        for i in range(365 * 288):
            f.write(f"{1735689600 + 300 * i},{300 + 150 * math.sin(i / 45.8):.2f}\n")
            g.write(f"{1735689600 + 300 * i},{80 + 60 * math.sin(i / 45.8 + 1):.2f}\n")


def write_plan(folder, name, text):
    path = os.path.join(folder, name + ".ini")
    with open(path, "w") as f:
        f.write(text)
    return path


def cases(folder, published):
    scales = counts(min(2 ** i, 100000) for i in range(18))
    write_year(folder)
    return {
        "scales": [published, "--at", scales],
        "counts": [published, "--at", counts(100 * (i + 1) for i in range(1000))],
        "draws": [write_plan(folder, "draws", "[plan]\ndraws = 1000000\n" + NETWORK), "--at", counts([1, 64, 4096, 100000])],
        "split": [write_plan(folder, "split", NETWORK.replace("256", "1") + SPLIT), "--at",
                  counts(min(128 * 2 ** i, 102400) for i in range(11))],
        "year": [write_plan(folder, "year", "[plan]\nepochs = 90\n" + NETWORK + "[site s]\ncarbon_csv = carbon.csv\n"
                            "price_csv = price.csv\n"), "--compare", "sites", "--at", scales],
    }


def measure(program, args):
    """CPU seconds and peak MB of one process."""
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen([program, "plan", *args], stdout=nothing)
        _, status, use = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        return math.nan, math.nan
    return use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("wattlaw")
    p.add_argument("plan")
    p.add_argument("--before")
    p.add_argument("--rounds", type=int, default=3)
    a = p.parse_args()
    slow = False
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'case':<8} {'CPU s':>8} {'MB':>8}" + ("  before / after" if a.before else ""))
        for name, args in cases(folder, a.plan).items():
            rounds = [(measure(a.wattlaw, args), measure(a.before, args) if a.before else None) for _ in range(a.rounds)]
            cpu = statistics.median(r[0][0] for r in rounds)
            memory = statistics.median(r[0][1] for r in rounds)
            ratio = f"  {statistics.median(r[1][0] for r in rounds) / cpu:.2f}" if a.before else ""
            print(f"{name:<8} {cpu:8.3f} {memory:8.1f}{ratio}")
            slow = slow or math.isnan(cpu) or (name == "scales" and cpu >= 1)
    return 1 if slow else 0


sys.exit(main())
