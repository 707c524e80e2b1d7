#!/usr/bin/env python3
"""Searches of src/advise on recorded traces, beside other methods: tune_trace.py PROGRAM TRACE.csv...

    bench/tune_trace.py build/bench/bench_tune_trace summary_power_v100.csv summary_power_a40.csv

TRACE: CSV with the columns dataset, network, batch_size, optimizer, power_limit (W), time_per_epoch (s), average_power (W), as the traces of
Zeus (You et al., NSDI 2023) have them. Each (dataset, network, batch, optimizer) with five caps or more is a job whose caps were each
measured once; normal noise of a stated standard deviation is added to ln t and ln P of every window, and the recorded value is the truth.
PROGRAM answers line by line with what the library does: nothing of it is written again here.

Regret: objective of the choice over that of the best cap. Under a limit on the slowdown: energy over that of the best cap that truly
meets it; broken: share of choices that truly do not. History: curves of the same trace with another network, of another trace
(another device) with another network, or none.

Others: every cap measured once and the best taken; Zeus' selectors (pip install zeus-ml) over the same windows of every cap; three caps, a
parabola, and its minimum measured until it repeats; the reference and three random caps. Zeus' selector for a limit takes the lowest
cap that meets it, not the least energy.

bench/tune_batch.py does the same for batches, bench/tune_policy.py for one cap for many jobs. Needs numpy; zeus-ml where it is to be compared.
"""
import argparse
import collections
import csv
import math
import os
import subprocess
import sys

import numpy as np

try:
    from zeus.optimizer import power_limit as zeus
except ImportError:
    zeus = None

WINDOWS = 4
Job = collections.namedtuple("Job", "key caps ln_t ln_p")  # caps ascending, W; the last is the reference
Device = collections.namedtuple("Device", "name scale")
Goal = collections.namedtuple("Goal", "name objective slowdown")
Score = collections.namedtuple("Score", "windows regret broken")
GOALS = [Goal("energy", "energy", 0), Goal("Zeus cost", "zeus", 0), Goal("EDP", "edp", 0), Goal("slowdown 10 %", "energy", 0.1)]


class Program:
    """The driver: one command, one line of answer."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        print(*words, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline().split()
        if not line or line[0] == "error":
            sys.exit("tune_trace: %s: %s" % (words[0], " ".join(line) or "no answer"))
        return line


def read_trace(path):
    """Jobs of a trace and its device: name and power limit, the largest cap."""
    groups, wanted = {}, {"dataset", "network", "batch_size", "optimizer", "power_limit", "time_per_epoch", "average_power"}
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        missing = wanted - set(rows.fieldnames or [])
        if missing:
            sys.exit("tune_trace: %s: no column %s" % (path, ", ".join(sorted(missing))))
        for row in rows:
            key = row["dataset"], row["network"], int(row["batch_size"]), row["optimizer"]
            groups.setdefault(key, {})[float(row["power_limit"])] = float(row["time_per_epoch"]), float(row["average_power"])
    scale = max(max(caps) for caps in groups.values())
    jobs = []
    for key, curve in groups.items():
        caps = sorted(curve)
        if len(caps) >= 5:
            jobs.append(Job(key, np.array(caps), np.log([curve[c][0] for c in caps]), np.log([curve[c][1] for c in caps])))
    return jobs, Device(os.path.splitext(os.path.basename(path))[0].replace("summary_power_", ""), scale)


def learn(program, name, jobs, device, network):
    """A prior from the jobs of other networks."""
    for job in jobs:
        if job.key[1] == network:
            continue
        points = [x for c, t, p in zip(job.caps, job.ln_t, job.ln_p) for x in (c, "%.17g" % math.exp(t), "%.17g" % math.exp(p))]
        program.ask("curve", "cap", *device, len(job.caps), *points)
    program.ask("learn", name)
    return name


# ---- methods: each takes a goal, a job, the device's power limit and measured curves, and gives (choice, windows)

def ln_objective(goal, ln_t, ln_p, scale):
    if goal.objective == "zeus":
        return ln_t + np.log(0.5 * np.exp(ln_p) / scale + 0.5)
    return ln_t * (2 if goal.objective == "edp" else 1) + ln_p


def within(goal, ln_t):
    return ln_t - ln_t[-1] <= math.log1p(goal.slowdown) if goal.slowdown else np.ones(len(ln_t), bool)


def search(program, goal, job, device, sigma, prior, noise):
    step = program.ask("cap", goal.objective, goal.slowdown, sigma, WINDOWS, *device, prior, len(job.caps), *job.caps)
    windows = 0
    while step[0] == "next":
        i = int(step[1])
        step = program.ask("window", "%.17g" % math.exp(job.ln_t[i] + noise[windows, 0]), "%.17g" % math.exp(job.ln_p[i] + noise[windows, 1]))
        windows += 1
    return int(step[1]), windows


def least_of(goal, t, p, scale, among):
    allowed = [i for i in among if within(goal, t)[i]] or [len(t) - 1]
    return min(allowed, key=lambda i: ln_objective(goal, t, p, scale)[i])


def every_cap(goal, t, p, scale, _caps, _rng):
    return least_of(goal, t, p, scale, range(len(t))), len(t)


def zeus_selector(goal, t, p, _scale, caps, _rng):
    if goal.slowdown:
        selector = zeus.MaxSlowdownConstraint(1 + goal.slowdown)
    else:
        selector = {"energy": zeus.Energy(), "zeus": zeus.ZeusCost(0.5)}.get(goal.objective)
    if not selector:
        return None
    measured = [zeus.PowerLimitMeasurement(power_limit=int(c), energy=math.exp(a + b), time=math.exp(a)) for c, a, b in zip(caps, t, p)]
    return [int(c) for c in caps].index(selector.select(measured)), len(t)


def three_points(goal, t, p, scale, caps, _rng):
    u, n = np.log(caps), len(caps)
    cost, seen = ln_objective(goal, t, p, scale), [0, n // 2, n - 1]
    for _ in range(3):
        fitted = np.polyval(np.polyfit(u[seen], cost[seen], 2), u)
        if goal.slowdown:
            slow = np.polyval(np.polyfit(u[seen], t[seen], 2), u) - t[-1] > math.log1p(goal.slowdown)
            slow[-1] = False
            fitted = np.where(slow, np.inf, fitted)
        best = int(np.argmin(fitted))
        if best in seen:
            break
        seen.append(best)
    return least_of(goal, t, p, scale, seen), len(seen)


def random_caps(goal, t, p, scale, caps, rng):
    seen = [len(caps) - 1, *rng.choice(len(caps) - 1, WINDOWS - 1, replace=False)]
    return least_of(goal, t, p, scale, seen), WINDOWS


RIVALS = {"every cap, raw": every_cap, "Zeus' selectors, every cap": zeus_selector, "three points and a parabola": three_points,
          "reference and 3 random": random_caps}


def score(goal, job, scale, choice, windows):
    true_cost, meets = np.exp(ln_objective(goal, job.ln_t, job.ln_p, scale)), within(goal, job.ln_t)
    return Score(windows, true_cost[choice] / true_cost[meets].min() - 1, not meets[choice])


def draws(job, index, seed, sigma):
    rng = np.random.default_rng([seed, index, round(1000 * sigma)])
    return rng.normal(0, sigma, (WINDOWS + len(job.caps), 2)), rng


def score_search(program, jobs, device, goal, sigma, seeds, priors):
    """priors: {network: name}."""
    return [score(goal, job, device.scale, *search(program, goal, job, device, sigma, priors[job.key[1]], draws(job, i, seed, sigma)[0]))
            for i, job in enumerate(jobs) for seed in range(seeds)]


def score_rival(method, jobs, scale, goal, sigma, seeds):
    out = []
    for i, job in enumerate(jobs):
        for seed in range(seeds):
            noise, rng = draws(job, i, seed, sigma)
            n = len(job.caps)
            chosen = method(goal, job.ln_t + noise[:n, 0], job.ln_p + noise[:n, 1], scale, job.caps, rng)
            if not chosen:
                return None
            out.append(score(goal, job, scale, *chosen))
    return out


def cell(scores):
    if not scores:
        return "-"
    windows, regret, broken = np.mean(np.array(scores, float), 0)
    return "%.1f / %.2f" % (windows, 100 * regret) + (" (%.1f)" % (100 * broken) if any(s.broken for s in scores) else "")


def cap_table(program, traces, args):
    print("Windows / regret % (broken promises, %). {} seeds, at most {} windows.\n".format(args.seeds, WINDOWS))
    columns = [(goal, sigma) for goal in GOALS for sigma in args.noise]
    print("| |", " | ".join("%s, %g %%" % (goal.name, 100 * sigma) for goal, sigma in columns), "|")
    print("|" + "---|" * (len(columns) + 1))

    def row(name, scores):
        print("| %s |" % name, " | ".join(cell(scores(goal, sigma)) for goal, sigma in columns), "|", flush=True)

    for name, (jobs, device) in traces.items():
        networks = {job.key[1] for job in jobs}
        for other, (history, other_device) in traces.items():
            priors = {w: learn(program, "%s-%s-%s" % (name, other, w), history, other_device, w) for w in networks}
            row("%s, history of %s" % (name, "its other networks" if other == name else other),
                lambda goal, sigma, priors=priors: score_search(program, jobs, device, goal, sigma, args.seeds, priors))
        row("%s, no history" % name,
            lambda goal, sigma: score_search(program, jobs, device, goal, sigma, args.seeds, {w: "-" for w in networks}))
        for rival, method in RIVALS.items():
            if method is not zeus_selector or zeus:
                row("%s, %s" % (name, rival), lambda goal, sigma, method=method: score_rival(method, jobs, device.scale, goal, sigma, args.seeds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("trace", nargs="+")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.01, 0.03])
    args = parser.parse_args()
    program = Program(args.program)
    traces = {device.name: (jobs, device) for jobs, device in map(read_trace, args.trace)}
    cap_table(program, traces, args)


if __name__ == "__main__":
    main()
