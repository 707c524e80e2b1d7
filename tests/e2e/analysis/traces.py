#!/usr/bin/env python3
"""The cap search on the public traces of Zeus keeps what docs/accuracy.md says of it: traces.py PROGRAM SOURCE_ROOT

Two of the seeds of bench/tune_trace.py, at most four windows. The limits are those that the design asks for, with three standard errors
of this smaller sample (regrets of a job scatter by about their mean). The traces are not part of this project: they are looked for in the
folder that WATTLAW_SHARED_DATA names, or in shared/data beside the source tree; without them, or without numpy, the test is skipped (exit 77).
"""
import os
import sys

import shared_data

PROGRAM, ROOT = sys.argv[1:3]
TRACES = (os.path.join("zeus", "summary_power_v100.csv"), os.path.join("zeus", "summary_power_a40.csv"))
SEEDS = 2
# Regret in %: least energy, Zeus cost, at most 10 % slowdown; noise 1 %, then 3 %. At most 2 % of promises are broken.
LIMITS = {
    ("v100", "v100"): ((1, 1, 3), (1.3, 1.2, 5.5)),
    ("a40", "a40"): ((1, 1, 3), (1.7, 1.6, 5.5)),
    ("v100", "a40"): ((1.5, 1.5, 5), (2.4, 2.1, 9)),
    ("a40", "v100"): ((1.5, 1.5, 5), (2.6, 2.3, 9)),
    ("v100", None): ((2, 2, 5), (3, 3, 9)),
    ("a40", None): ((2, 2, 5), (3, 3, 9)),
}


def check(bench, program, traces, who, limits):
    jobs, device = traces[who[0]]
    priors = {w: bench.learn(program, "-".join(map(str, (*who, w))), *traces[who[1]], w) if who[1] else "-" for w in {j.key[1] for j in jobs}}
    wrong = 0
    for sigma, row in zip((0.01, 0.03), limits):
        for goal, limit in zip([g for g in bench.GOALS if g.name != "EDP"], row):
            scores = bench.score_search(program, jobs, device, goal, sigma, SEEDS, priors)
            n, regret = len(scores), 100 * sum(s.regret for s in scores) / len(scores)
            broken, windows = sum(s.broken for s in scores), max(s.windows for s in scores)
            slack = 3 * regret / n**0.5
            allowed = 0.02 * n + 3 * (0.02 * n)**0.5
            bad = regret > limit + slack or broken > allowed or windows > bench.WINDOWS
            wrong += bad
            print("%s %s, history %s, noise %g %%: regret %.2f %% (limit %g + %.2f), %d of %d broken, at most %d windows" % (
                "not so:" if bad else "ok:", goal.name, who, 100 * sigma, regret, limit, slack, broken, n, windows))
    return wrong


def main():
    sys.path.insert(0, os.path.join(ROOT, "bench"))
    try:
        import tune_trace as bench  # noqa: PLC0415
    except ImportError as e:
        print("SKIP:", e)
        sys.exit(77)
    traces = {device.name: (jobs, device) for jobs, device in map(bench.read_trace, shared_data.find(ROOT, *TRACES))}
    program = bench.Program(PROGRAM)
    sys.exit(1 if sum(check(bench, program, traces, who, limits) for who, limits in LIMITS.items()) else 0)


main()
