#!/usr/bin/env python3
"""One cap for many jobs on recorded traces: tune_policy.py PROGRAM TRACE.csv... [--splits 200]

    bench/tune_policy.py build/bench/bench_tune_trace summary_power_v100.csv summary_power_a40.csv

Of the jobs of a trace with all of its caps one half is measured (each cap once, with noise), the other half is what the policy meets. Columns: share
of splits in which the 90 % interval of the share of jobs within the slowdown holds what the other half kept, for the chosen cap and over all
caps but the reference; splits in which the other half's share reaches the asked one (the rule asks for a mean share, so this is not a
promise); stated minus kept share; energy of the other half under the chosen cap, and stated minus kept. PROGRAM decides. Needs numpy.
"""
import argparse
import math
import os

import numpy as np

import tune_trace

RULES = ((0.05, 0.9), (0.1, 0.95), (0.1, 0.8), (0.2, 0.95))


def measure(program, job, device, sigma, rng):
    """Every cap once. Gives {slowdown: [(probability, energy) of each cap]}."""
    n = len(job.caps)
    noise = rng.normal(0, sigma, (n, 2))
    program.ask("cap", "energy", 0, sigma, n, *device, "-", n, *job.caps)
    for i in range(n):
        program.ask("measured", i, "%.17g" % math.exp(job.ln_t[i] + noise[i, 0]), "%.17g" % math.exp(job.ln_p[i] + noise[i, 1]))
    return {x: program.ask("job", x, n) for x in {x for x, _ in RULES}}


def split(program, jobs, device, sigma, seed):
    """For each rule a row of the table."""
    rng = np.random.default_rng([seed, round(1000 * sigma)])
    order = rng.permutation(len(jobs))
    half, caps = len(jobs) // 2, len(jobs[0].caps)
    answers = [measure(program, jobs[i], device, sigma, rng) for i in order[:half]]
    met = [jobs[i] for i in order[half:]]
    slow = np.array([j.ln_t - j.ln_t[-1] for j in met])
    energy = np.exp(slow + np.array([j.ln_p - j.ln_p[-1] for j in met]))
    for slowdown, share in RULES:
        out = program.ask("policy", share, len(met), half, caps, *[w for a in answers for w in a[slowdown]])
        cap, rows = int(out[0]), np.array(out[1:], float).reshape(caps, 4)
        kept = (slow <= math.log1p(slowdown)).mean(0)
        inside = (rows[:, 1] <= kept + 1e-12) & (kept <= rows[:, 2] + 1e-12)
        yield (slowdown, share), (inside[cap], inside[:-1].mean(), kept[cap] >= share, rows[cap, 0] - kept[cap], energy[:, cap].mean(),
                                  rows[cap, 3] - energy[:, cap].mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("trace", nargs="+")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.01, 0.03])
    args = parser.parse_args()
    program = tune_trace.Program(args.program)
    print("%d splits.\n\n| trace, noise | slowdown, jobs | chosen cap covered | all caps covered | share reached | stated - kept | energy "
          "| stated - kept |\n|%s" % (args.splits, "---|" * 8))
    for path in args.trace:
        jobs, device = tune_trace.read_trace(path)
        most = max(len(j.caps) for j in jobs)
        jobs = [j for j in jobs if len(j.caps) == most]
        for sigma in args.noise:
            rows = {rule: [] for rule in RULES}
            for seed in range(args.splits):
                for rule, row in split(program, jobs, device, sigma, seed):
                    rows[rule].append(row)
            for (slowdown, share), values in rows.items():
                print("| %s, %g %% | %g %%, %g %% | %.3f | %.3f | %.3f | %+.3f | %.3f | %+.3f |" % (
                    os.path.basename(path), 100 * sigma, 100 * slowdown, 100 * share, *np.mean(np.array(values, float), 0)), flush=True)


if __name__ == "__main__":
    main()
