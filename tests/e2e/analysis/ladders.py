#!/usr/bin/env python3
"""wattlaw predict on real scaling ladders: ladders.py WATTLAW SOURCE_ROOT

The ladders are not part of this project: results of MLPerf Training v0.7 and v1.1, 14 series of job times on 2 to 5
worker counts, from the public logs of MLCommons. They are looked for in the folder that WATTLAW_SHARED_DATA names, or in
shared/data beside the source tree; without them the test is skipped (exit 77). Each split trains on the smallest worker
counts of a series, three or more, and predicts the runs at the next, up to four times larger. bench/accuracy.py prints
the same beside other methods.
"""
import collections
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

import shared_data

TABLE = "mlperf_ladders/ladders.csv"
LEVEL = 0.95

Split = collections.namedtuple("Split", "series calibration train at runs")  # train: {workers: [s]}; runs: [s] at `at`
Forecast = collections.namedtuple("Forecast", "value lo hi")  # s; lo, hi: 95 % of new runs, None where there is none
Score = collections.namedtuple("Score", "split forecast error inside ratio interval_score")


def read_ladders(path):
    """{series: {workers: [s]}}, sorted by name: the constants of the model were chosen on every second, from the first."""
    series = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            ladder = series.setdefault(row["series"] + " " + row["response"], {})
            ladder.setdefault(int(row["workers"]), []).append(float(row["time_s"]))
    return {name: dict(sorted(series[name].items())) for name in sorted(series)}


def splits_of(ladders):
    for i, (name, ladder) in enumerate(ladders.items()):
        counts = list(ladder)
        for m in range(3, len(counts)):
            if counts[m] <= 4 * counts[m - 1]:
                yield Split(name, i % 2 == 0, {n: ladder[n] for n in counts[:m]}, counts[m], ladder[counts[m]])


def wattlaw(program):
    """A method that asks wattlaw predict."""
    def forecast(split):
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "ladder.csv")
            with open(table, "w", encoding="utf-8", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(["workload", "workers", "run", "time_s", "samples"])
                for workers, runs in split.train.items():
                    rows.writerows([split.series, workers, f"{workers}-{i}", s, 1] for i, s in enumerate(runs))
            done = subprocess.run([program, "predict", table, "--at", f"workers={split.at}", "--json"],
                                  capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)["groups"][0]["predictions"][0]
        return None if answer["refused"] else Forecast(answer["epoch"], *answer["run_interval95"])
    return forecast


def interval_score(forecast, seen):
    """Of ln s, the smaller the better: width, and 2 / (1 - level) times what a run is outside (Gneiting and Raftery 2007)."""
    lo, hi, y = math.log(forecast.lo), math.log(forecast.hi), math.log(seen)
    return hi - lo + 2 / (1 - LEVEL) * (max(0, lo - y) + max(0, y - hi))


def score(split, forecast):
    error = abs(forecast.value / statistics.mean(split.runs) - 1)
    if forecast.lo is None:
        return Score(split, forecast, error, math.nan, math.nan, math.nan)
    inside = sum(forecast.lo <= s <= forecast.hi for s in split.runs) / len(split.runs)
    return Score(split, forecast, error, inside, forecast.hi / forecast.lo,
                 statistics.mean(interval_score(forecast, s) for s in split.runs))


def summary(scores):
    """Each split counts the same."""
    return {"inside": statistics.mean(s.inside for s in scores), "error": statistics.median(s.error for s in scores),
            "ratio": statistics.median(s.ratio for s in scores),
            "interval_score": statistics.mean(s.interval_score for s in scores)}


def main():
    [path] = shared_data.find(sys.argv[2], TABLE)
    ladders, forecast = read_ladders(path), wattlaw(sys.argv[1])
    splits = list(splits_of(ladders))
    scores = [score(s, f) for s in splits if (f := forecast(s))]
    got = summary(scores)
    # 5 of the mean interval score are one run, 2,000 times as long as the others of its worker count.
    print({name: round(value, 4) for name, value in got.items()})
    wanted = {"14 series": len(ladders) == 14, "11 splits": len(splits) == 11, "all answered": len(scores) == len(splits),
              "85 % of runs inside": got["inside"] >= 0.85, "median error at most 15 %": got["error"] <= 0.15,
              "median ratio of interval ends at most 2.5": got["ratio"] <= 2.5,
              "mean interval score at most 6.2": got["interval_score"] <= 6.2}
    for name, holds in wanted.items():
        if not holds:
            print("not so: " + name)
    return 0 if all(wanted.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
