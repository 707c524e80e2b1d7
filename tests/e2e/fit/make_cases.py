#!/usr/bin/env python3
"""Writes the observation tables in cases/ from fixed seeds. The numbers are made up and say so (simulated = 1), except
where a case is about something else."""
import csv
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ["workload", "hardware", "workers", "local_batch", "global_batch", "power_cap_w", "run", "epoch", "time_s",
           "energy_j", "samples", "updates", "estimated", "simulated"]


def write(name, rows, columns=COLUMNS):
    with open(os.path.join(HERE, "cases", name + ".csv"), "w", newline="") as file:
        out = csv.DictWriter(file, columns, lineterminator="\n", restval="", extrasaction="ignore")
        out.writeheader()
        out.writerows(rows)


def campaign(seed, workload, counts, repeats, epochs, time, power, **fixed):
    """Rows of a campaign: time(workers) s an epoch, power W a worker, 2 % between runs, 1 % between epochs."""
    rng = random.Random(seed)
    rows = []
    for workers in counts:
        for repeat in range(1, repeats + 1):
            slow = rng.gauss(0, 0.02)
            for epoch in range(1, epochs + 1):
                seconds = time(workers) * pow(2.718281828, slow + rng.gauss(0, 0.01)) * (1.4 if epoch == 1 else 1)
                row = dict(workload=workload, workers=workers, run=repeat, epoch=epoch, time_s=round(seconds, 4),
                           energy_j=round(seconds * power * workers, 2), estimated=0, simulated=1)
                row.update({key: value(workers) if callable(value) else value for key, value in fixed.items()})
                rows.append(row)
    return rows


doubling = [1, 2, 4, 8, 16, 32]
strong = campaign(1, "resnet50", doubling, 3, 4, lambda n: 200 * n ** -0.87, 250, global_batch=2048,
                  local_batch=lambda n: 2048 // n, samples=50000)
write("strong", strong)
write("amdahl", campaign(2, "schnet", doubling, 3, 3, lambda n: 100 / n + 5, 200, local_batch=64,
                         global_batch=lambda n: 64 * n, samples=50000))
write("weak", campaign(3, "bert", doubling[:4], 2, 2, lambda n: 60 * n ** 0.04, 300, local_batch=8,
                       global_batch=lambda n: 8 * n, samples=lambda n: 4000 * n))
caps = []
for watts, slower in ((250, 1.0), (150, 1.2)):
    caps += campaign(4 + watts, "vgg16", [2, 4, 8, 16], 2, 2, lambda n: slower * 80 * n ** -0.7, watts,
                     power_cap_w=watts, local_batch=32, global_batch=lambda n: 32 * n, samples=20000)
write("caps", caps)
write("two_counts", [row for row in strong if row["workers"] in (1, 8)])
write("two_points", [row for row in strong if row["workers"] in (1, 8) and row["run"] == 1 and row["epoch"] == 2])
write("one_count", [row for row in strong if row["workers"] == 4])
write("misspelt", [dict(row, wokers=row["workers"]) for row in strong if row["epoch"] == 2 and row["run"] == 1],
      ["workload", "wokers", "time_s"])
write("equal", [dict(row, time_s=10) for row in strong])

messy = [dict(row) for row in strong if row["workers"] <= 8]
messy[0]["time_s"] = ""          # not measured
messy[5]["time_s"] = -3          # a clock that ran backwards
messy[6]["time_s"] = 0
messy[9]["workers"] = ""
messy[13]["workers"] = 0
messy.insert(20, dict(messy[19]))  # the same row twice
messy.insert(30, dict(messy[29], time_s=99))
messy.append(dict(messy[-1], epoch="", time_s=123.4))  # the total of a run beside its epochs
write("messy", messy)

foreign = [dict(model=row["workload"], gpus=row["workers"], seconds=row["time_s"], job=row["run"], step=row["epoch"],
                site="north" if row["run"] == 1 else "south") for row in strong]
write("foreign", foreign, ["model", "gpus", "seconds", "job", "step", "site"])
write("estimated", [dict(row, simulated=0, estimated=1) for row in strong if row["workers"] <= 4])
write("empty", [])
