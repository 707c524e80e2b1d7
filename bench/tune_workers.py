#!/usr/bin/env python3
"""Worker count by few trials on recorded ladders: tune_workers.py PROGRAM LADDERS.csv [--seeds 40]

    bench/tune_workers.py build/bench/bench_tune_trace shared/data/mlperf_ladders/ladders.csv

A trial is a random recorded run of that worker count (series,response,workers,run,time_s). Goals: the least time, and the least cost
t x (N + N0) of a job that pays for its workers and, like N0 more of them, for each hour that it takes (N0: geometric mean of the counts).
The search starts at the middle count; PROGRAM decides. Regret: median over the runs of the choice over the least median (one run
took 2,000 times as long as the others). Worker-hours: those of the trials over those of one run of each count. Others: each count once
and the best taken; the largest count alone.
"""
import argparse
import collections
import csv
import math

import numpy as np

import tune_trace

GOALS = {"least time": lambda t, n, counts: t,
         "least cost": lambda t, n, counts: t * (n + math.exp(np.mean(np.log(counts))))}


def read_ladders(path):
    """{series: {workers: [time of each run]}}, of at least three counts"""
    ladders = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["response"] == "run":
                ladders[row["series"]][int(row["workers"])].append(float(row["time_s"]))
    return {name: dict(sorted(runs.items())) for name, runs in ladders.items() if len(runs) >= 3}


def search(program, counts, trial):
    """(choice, counts tried)"""
    step, tried = program.ask("workers", len(counts) // 2, len(counts), *counts), []
    while step[0] == "next":
        tried.append(counts[int(step[1])])
        cost, limit = trial(tried[-1]), float(step[2])
        step = program.ask("trial", "reached" if cost <= limit else "stopped", "%.17g" % min(cost, limit))
    return counts[int(step[1])], tried


def scores_of(program, runs, goal, seeds):
    """{method: [regret, trials, worker-hours]}, means over the seeds"""
    counts, scores = list(runs), collections.defaultdict(list)
    typical = {n: np.median([goal(t, n, counts) for t in runs[n]]) for n in counts}
    hours = {n: n * np.median(runs[n]) for n in counts}
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 8])

        def trial(n):
            return goal(rng.choice(runs[n]), n, counts)
        once = {n: trial(n) for n in counts}
        found = {"search": search(program, counts, trial), "each count once": (min(counts, key=once.get), counts),
                 "largest count": (counts[-1], counts[-1:])}
        for method, (choice, tried) in found.items():
            scores[method].append((typical[choice] / min(typical.values()) - 1, len(tried), sum(hours[n] for n in tried) / sum(hours.values())))
    return {method: np.mean(rows, 0) for method, rows in scores.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("ladders")
    parser.add_argument("--seeds", type=int, default=40)
    args = parser.parse_args()
    program, ladders = tune_trace.Program(args.program), read_ladders(args.ladders)
    print("%d ladders of %d to %d worker counts, %d seeds. Means over the ladders; in parentheses the largest regret.\n" %
          (len(ladders), min(map(len, ladders.values())), max(map(len, ladders.values())), args.seeds))
    print("| goal | method | regret, % | trials | worker-hours, % |\n|---|---|---|---|---|")
    for name, goal in GOALS.items():
        table = collections.defaultdict(list)
        for runs in ladders.values():
            for method, row in scores_of(program, runs, goal, args.seeds).items():
                table[method].append(row)
        for method, rows in table.items():
            regret, trials, hours = np.mean(rows, 0)
            print("| %s | %s | %.1f (%.1f) | %.1f | %.0f |" % (name, method, 100 * regret, 100 * max(r[0] for r in rows), trials, 100 * hours))


if __name__ == "__main__":
    main()
