#!/usr/bin/env python3
"""Writes the observation tables in cases/ from fixed seeds. The numbers are made up and say so (simulated = 1)."""
import csv
import math
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ["workload", "hardware", "workers", "local_batch", "power_cap_w", "clock_mhz", "run", "epoch", "time_s",
           "energy_j", "samples", "updates", "estimated", "simulated"]


def write(name, rows, columns=COLUMNS):
    with open(os.path.join(HERE, "cases", name + ".csv"), "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, columns, lineterminator="\n", restval="")
        out.writeheader()
        out.writerows(rows)


def campaign(rng, counts, repeats, time, noise=0.01, **fixed):
    """Two epochs a run, the first one slower; time(workers) s an epoch; `noise` between runs."""
    rows = []
    for workers in counts:
        for repeat in range(1, repeats + 1):
            slow = rng.gauss(0, noise)
            for epoch in (1, 2):
                seconds = time(workers) * math.exp(slow + rng.gauss(0, noise / 2)) * (1.5 if epoch == 1 else 1)
                rows.append(dict(workload="dimenet", workers=workers, local_batch=32, run=repeat, epoch=epoch,
                                 time_s=round(seconds, 4), energy_j=round(seconds * 200 * workers, 2), samples=50000,
                                 updates=math.ceil(50000 / 32 / workers), simulated=1, **fixed))
    return rows


rng = random.Random(72)
doubling = [1, 2, 4, 8, 16, 32]
clocks = []
for mhz in (135, 735, 1380, ""):
    clocks += campaign(rng, doubling, 3, lambda n: 300 * 1380 / (mhz or 1380) / n + 5, clock_mhz=mhz)
write("clocks", clocks)

noisy = []
for watts in (150, 250):
    noisy += campaign(rng, [1, 2, 4, 8], 2, lambda n: 90 * 250 / watts * n ** -0.8, noise=0.1, power_cap_w=watts)
write("noisy", noisy)
write("one_run", [row for row in clocks if row["run"] == 1 and row["epoch"] == 2])
write("no_freedom", [row for row in clocks if row["workers"] in (1, 8) and row["run"] == 1 and row["epoch"] == 2
                     and row["clock_mhz"] in (135, 1380)])
write("one_law", [row for row in clocks if row["clock_mhz"] == 1380 or row["workers"] == 4])
write("exact", [dict(row, time_s=64 / row["workers"] * (2 if row["clock_mhz"] == 135 else 1)) for row in clocks
                if row["clock_mhz"] in (135, 1380) and row["workers"] < 16])
write("unlike", [row for row in clocks if row["clock_mhz"] in (135, 1380)
                 and (row["clock_mhz"] == 135 or row["workers"] <= 8)])
machines = [dict(row, hardware={135: "a100", 735: "h100", 1380: ""}[row["clock_mhz"]], clock_mhz="") for row in clocks
            if row["clock_mhz"] != ""]
write("machines", machines)

HEAD = ["group", "level", "beta", "r2", "n", "se"]
write("table", [dict(level="a", beta="0.9", r2="1.0", n=2), dict(level="b", beta="-0.10", n=6, se="0.020"),
                dict(level="c", beta="0.85", r2="0.98"), dict(level="d", beta="0.80", r2="0.00", n=5),
                dict(level="e", beta="0.80", n=7), dict(level="f", beta="0.80", n=7, se="0.00"),
                dict(level="g", beta="0.10", r2="0.90", n=6)], HEAD)
write("table_bad_r2", [dict(level="a", beta="0.9", r2="98", n=5)], HEAD)
write("table_bad_n", [dict(level="a", beta="0.9", r2="0.98", n=5.5)], HEAD)
write("table_no_beta", [dict(level="a", r2="0.98", n=5)], HEAD)

# Energy: a base of 0.02 kWh and 0.3 kWh per worker-hour, less on the other machine; updates cost too.
energy = []
for hardware, rate in (("a100", 0.3), ("h100", 0.24)):
    for batch in (32, 64, 256):
        for workers in (1, 2, 4, 8, 16):
            seconds = 3000 / workers ** 0.8 * (1 + 8 / batch) * math.exp(rng.gauss(0, 0.02))
            samples, updates = 1000000, math.ceil(1000000 / batch / workers)
            hours = seconds * workers / 3600
            kwh = (0.02 + rate * hours + 2e-6 * updates * workers) * math.exp(rng.gauss(0, 0.02))
            for epoch in (1, 2):
                energy.append(dict(workload="resnet50", hardware=hardware, workers=workers, local_batch=batch, run=1,
                                   epoch=epoch, time_s=round(seconds / 2, 3), energy_j=round(kwh * 1.8e6),
                                   samples=samples // 2, updates=updates / 2, simulated=1))
write("energy", energy)
write("energy_one_batch", [row for row in energy if row["local_batch"] == 64 and row["hardware"] == "a100"])
write("energy_gaps", [dict(row, energy_j="" if i % 3 == 0 else row["energy_j"], time_s="" if i % 5 == 0 else
                           row["time_s"]) for i, row in enumerate(energy)
                      if row["local_batch"] == 32 and row["hardware"] == "a100"])
write("energy_power", [dict(row, power_w=round(row["energy_j"] / row["time_s"] * (1.1 if row["workers"] == 4 else 1), 2))
                       for row in energy if row["hardware"] == "a100"], COLUMNS + ["power_w"])
write("energy_bounds", [dict(row, energy_lo_j=round(0.98 * row["energy_j"]), energy_hi_j=round(1.03 * row["energy_j"]))
                        for row in energy if row["local_batch"] == 64], COLUMNS + ["energy_lo_j", "energy_hi_j"])
write("energy_two", [row for row in energy if row["local_batch"] == 32 and row["workers"] < 4
                     and row["hardware"] == "a100"])
write("energy_one", [row for row in energy if row["local_batch"] == 32 and row["workers"] == 4
                     and row["hardware"] == "a100"])
write("energy_same", [dict(row, time_s=3600 / row["workers"] / 2, energy_j=900000) for row in energy
                      if row["hardware"] == "a100"])
write("energy_falls", [dict(row, energy_j=round(2e6 - 300 * row["time_s"] * row["workers"] + 1e3 * row["workers"]))
                       for row in energy if row["hardware"] == "a100" and row["local_batch"] == 32])

# A metric that saturates, later with more workers; at four workers one run stops before it reaches 0.65. The loss falls.
rng = random.Random(4)
target = []
for workers in (1, 2, 4):
    for repeat in (1, 2, 3):
        for epoch in range(1, 5 if (workers, repeat) == (4, 3) else 7):
            seconds = 100 / workers * (1 + 0.1 * workers) * math.exp(rng.gauss(0, 0.01))
            target.append(dict(workload="resnet50", workers=workers, local_batch=32, run=repeat, epoch=epoch,
                               time_s=round(seconds, 3), energy_j=round(seconds * workers * 250), samples=50000, metric="val_top1",
                               metric_value=round(0.8 * (1 - math.exp(-epoch / (1.6 + 0.35 * workers))) + rng.gauss(0, 0.004), 4),
                               simulated=1))
METRIC = COLUMNS[:-2] + ["metric", "metric_value", "simulated"]
write("target", target, METRIC)
write("target_loss", [dict(row, metric="val_loss" if row["run"] != 2 else "lr", metric_value=round(3 - 3 * row["metric_value"], 4))
                      for row in target if row["epoch"] > 1 or row["run"] != 3], METRIC)
