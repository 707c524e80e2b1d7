#!/usr/bin/env python3
"""Batch to a target metric on recorded runs, beside other methods: tune_batch.py PROGRAM POWER.csv TRAIN.csv [--seeds 40]

    bench/tune_batch.py build/bench/bench_tune_trace summary_power_v100.csv summary_train.csv

A trial trains once: a random recorded run of that batch in TRAIN.csv (the traces of Zeus: You et al., NSDI 2023), its cost the epochs to the
target of that paper times the Zeus cost (eta .5) of an epoch at the batch's best cap in POWER.csv, with 1 % noise. A run that never
reached the target costs more than the longest recorded one, and is stopped there, or at twice the best cost so far. Expected cost of a
batch: mean over its recorded runs, one that failed counted at the longest run, over the share that succeeded. Regret: expected cost of the
choice over the least. PROGRAM decides; nothing of it is written again here.

Others: each batch trained once and the cheapest taken; Zeus' own policy (pip install zeus-ml pandas: pruning, then Thompson sampling; it needs
a start that converges) after as many trials as the search takes at most, and after 20 and 50: the regret of what it would run next.
"""
import argparse
import collections
import csv
import math
import sys

import numpy as np

import tune_trace

try:
    from zeus._legacy.job import Job as ZeusJob
    from zeus._legacy.policy import PruningGTSBatchSizeOptimizer
except ImportError:
    ZeusJob = None

TARGETS = {"shufflenetv2": 0.6, "resnet50": 0.65, "deepspeech2": 40.0, "ncf": 0.41}
TARGETS_BY_DATASET = {"squad": 84.0, "sentiment140": 0.84}
DEFAULTS = {"cifar100": 1024, "imagenet": 256, "librispeech": 192, "movielens-1m": 1024, "squad": 32, "sentiment140": 128}
TRIALS, STOP_AT = 8, 2.0
Batch = collections.namedtuple("Batch", "size cost epochs longest")  # cost of an epoch; epochs of each run, NAN: never


def read_epochs(path):
    """{(dataset, network): {batch: [epochs to the target]}}"""
    runs = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            target = TARGETS.get(row["network"], TARGETS_BY_DATASET.get(row["dataset"]))
            if target is not None and abs(float(row["target_metric"]) - target) < 1e-9:
                epochs = float(row["target_epoch"])
                runs[row["dataset"], row["network"]][int(row["batch_size"])][row["learning_rate"], row["run"]] = epochs
    return runs


def workloads(power, train):
    jobs, device = tune_trace.read_trace(power)
    zeus_cost = tune_trace.Goal("", "zeus", 0)
    cost = {j.key[:3]: math.exp(tune_trace.ln_objective(zeus_cost, j.ln_t, j.ln_p, device.scale).min()) for j in jobs}
    for name, runs in read_epochs(train).items():
        sizes = sorted(b for b in runs if (*name, b) in cost)
        longest = max(e for b in sizes for e in runs[b].values() if not math.isnan(e))
        yield name, [Batch(b, cost[(*name, b)], np.array(list(runs[b].values())), longest) for b in sizes]


def expected(batch):
    reached = ~np.isnan(batch.epochs)
    if not reached.any():
        return math.inf
    return batch.cost * (batch.epochs[reached].sum() + batch.longest * (~reached).sum()) / reached.sum()


def trial(batch, limit, rng):
    """(reached, cost)"""
    epochs, limit = rng.choice(batch.epochs), min(batch.longest * batch.cost, limit)
    if not math.isnan(epochs) and epochs * batch.cost <= limit:
        return True, epochs * batch.cost * math.exp(rng.normal(0, 0.01))
    return False, limit


def search(program, batches, start, rng):
    """(choice, trials)"""
    step, trials = program.ask("batch", start, len(batches), *[b.size for b in batches]), 0
    while step[0] == "next":
        reached, cost = trial(batches[int(step[1])], float(step[2]), rng)
        step = program.ask("trial", "reached" if reached else "stopped", "%.17g" % cost)
        trials += 1
    return int(step[1]), trials


def each_once(batches, rng):
    costs = []
    for b in batches:
        epochs = rng.choice(b.epochs)
        costs.append(b.cost * (2 * b.longest if math.isnan(epochs) else epochs))
    return int(np.argmin(costs))


def zeus_policy(batches, start, trials, seed, rng):
    """What Zeus would run after so many trials; the default where it gives up."""
    job = ZeusJob("", "", "", 0.0, 0, default_bs=batches[start].size)
    policy, best, sizes = PruningGTSBatchSizeOptimizer(seed=seed, verbose=False), math.inf, [b.size for b in batches]
    policy.register_job(job, sizes)
    try:
        for _ in range(trials):
            i = sizes.index(policy.predict(job))
            reached, cost = trial(batches[i], STOP_AT * best, rng)
            best = min(best, cost) if reached else best
            policy.observe(job, sizes[i], cost, reached)
        return sizes.index(policy.predict(job))
    except (ValueError, ZeroDivisionError):
        return start


def rows_of(program, batches, default, seeds):
    """{method: [(trials, regret)]}"""
    costs, sizes = np.array([expected(b) for b in batches]), [b.size for b in batches]
    converge, rows = np.nonzero(np.isfinite(costs))[0], collections.defaultdict(list)

    def note(method, trials, choice):
        rows[method].append((trials, costs[choice] / costs.min() - 1))

    for seed in range(seeds):
        for name in ("any start", "default start"):
            rng = np.random.default_rng([seed, 5])
            start = int(rng.choice(converge)) if name == "any start" else sizes.index(default)
            choice, trials = search(program, batches, start, rng)
            note("search, " + name, trials, choice)
        note("each batch once", len(batches), each_once(batches, np.random.default_rng([seed, 6])))
        for trials in (TRIALS, 20, 50) if ZeusJob else ():
            rng = np.random.default_rng([seed, 7])
            note("Zeus' policy, default start, %d trials" % trials, trials, zeus_policy(batches, sizes.index(default), trials, seed, rng))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("power")
    parser.add_argument("train")
    parser.add_argument("--seeds", type=int, default=40)
    args = parser.parse_args()
    program, table, names = tune_trace.Program(args.program), collections.defaultdict(list), []
    np.seterr(divide="ignore")
    for (dataset, network), batches in workloads(args.power, args.train):
        names.append(dataset)
        if dataset not in DEFAULTS:
            sys.exit("tune_batch: no default batch of %s %s" % (dataset, network))
        for method, scores in rows_of(program, batches, DEFAULTS[dataset], args.seeds).items():
            table[method].append(np.mean(scores, 0))
    print("Regret % (trials). {} seeds.\n".format(args.seeds))
    print("| |", " | ".join(names), "| mean |\n|" + "---|" * (len(names) + 2))
    for method, scores in table.items():
        scores = [*scores, np.mean(scores, 0)]
        print("| %s |" % method, " | ".join("%.1f (%.1f)" % (100 * r, t) for t, r in scores), "|")


if __name__ == "__main__":
    main()
