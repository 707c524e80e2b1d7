#!/usr/bin/env python3
"""Writes units_data.csv and units_values.csv: effects of nodes against the others, which src/stats/unit_effects.c is held against.

Least squares on the whole design, blocks and units, by statsmodels, whose OLS takes the generalised inverse; contrasts by its
t_test, all units alike by its F of the two nested models, Holm by its multipletests. The reference leaves out what differs, as
unit_effects.h says.
    python3 -m venv V && V/bin/pip install numpy statsmodels && V/bin/python make_units_golden.py
"""
import csv
import os

import numpy as np
import scipy.stats
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

HERE = os.path.dirname(os.path.abspath(__file__))

# case -> (shares, rows of block, units, y)
CASES = {
    # three settings, four nodes, unequal numbers of runs
    "single": (False, [(0, "a", 1.02), (0, "b", 1.03), (0, "c", 0.99), (0, "d", 1.01), (0, "a", 1.04), (1, "a", 2.01), (1, "b", 2.03),
                       (1, "b", 2.01), (1, "d", 2.03), (1, "c", 1.98), (2, "c", 0.53), (2, "d", 0.49), (2, "a", 0.50), (2, "b", 0.53)]),
    # runs on two of five nodes, and on one
    "shared": (True, [(0, "ab", 3.01), (0, "bc", 3.04), (0, "cd", 3.00), (0, "de", 2.97), (0, "ae", 2.99), (0, "ac", 3.03),
                      (1, "a", 1.50), (1, "b", 1.53), (1, "c", 1.55), (1, "d", 1.46), (1, "e", 1.47), (1, "b", 1.51)]),
    # the same, where each node counts fully
    "whole": (False, [(0, "ab", 3.01), (0, "bc", 3.04), (0, "cd", 3.00), (0, "de", 2.97), (0, "ae", 2.99), (0, "ac", 3.03),
                      (1, "a", 1.50), (1, "b", 1.53), (1, "c", 1.55), (1, "d", 1.46), (1, "e", 1.47), (1, "b", 1.51)]),
    # e is slow: the others are compared without it
    "slow": (False, [(0, "a", 1.01), (0, "b", 1.00), (0, "c", 0.99), (0, "d", 1.02), (0, "e", 1.31), (0, "a", 1.00), (0, "b", 1.02),
                     (0, "c", 1.00), (0, "d", 0.99), (0, "e", 1.28), (1, "a", 2.00), (1, "b", 2.01), (1, "e", 2.29), (1, "c", 2.02)]),
}


def values(shares, rows):
    units = sorted(set("".join(r[1] for r in rows)))
    blocks = sorted({r[0] for r in rows})
    y = np.array([r[2] for r in rows])
    b = np.array([[float(r[0] == k) for k in blocks] for r in rows])
    z = np.array([[(1 / len(r[1]) if shares else 1.0) * (u in r[1]) for u in units] for r in rows])
    full, alone = sm.OLS(y, np.hstack([b, z])).fit(), sm.OLS(y, b).fit()
    reference = list(range(len(units)))
    while True:
        tests = []
        for k in range(len(units)):
            others = [i for i in reference if i != k]
            contrast = np.zeros(len(blocks) + len(units))
            contrast[len(blocks) + k] = 1
            contrast[[len(blocks) + i for i in others]] -= 1 / len(others)
            tests.append(full.t_test(contrast))
        p = np.array([float(t.pvalue) for t in tests])
        holm = multipletests(p, method="holm")[1]
        worst = min((k for k in reference if holm[k] < 0.05), key=lambda k: p[k], default=None)
        if worst is None or len(reference) - 1 < max(2, len(units) / 2):
            break
        reference.remove(worst)
    df1 = alone.df_resid - full.df_resid
    f = (alone.ssr - full.ssr) / df1 / full.mse_resid
    trace = np.trace(z.T @ (np.eye(len(y)) - b @ np.linalg.pinv(b)) @ z)
    yield from (("df", full.df_resid), ("df1", df1), ("sigma", np.sqrt(full.mse_resid)), ("f", f),
                ("p", scipy.stats.f.sf(f, df1, full.df_resid)),
                ("between", np.sqrt(max(alone.ssr - full.ssr - df1 * full.mse_resid, 0) / trace)))
    for k, (unit, t) in enumerate(zip(units, tests)):
        lo, hi = t.conf_int()[0]
        yield from ((f"{unit} value", float(t.effect[0])), (f"{unit} se", float(np.squeeze(t.sd))), (f"{unit} lo", lo), (f"{unit} hi", hi),
                    (f"{unit} p", p[k]), (f"{unit} p_holm", holm[k]), (f"{unit} reference", int(k in reference)))


def main():
    with open(os.path.join(HERE, "units_data.csv"), "w", encoding="ascii", newline="") as f, \
            open(os.path.join(HERE, "units_values.csv"), "w", encoding="ascii", newline="") as g:
        data, out = csv.writer(f, lineterminator="\n"), csv.writer(g, lineterminator="\n")
        data.writerow(["case", "shares", "block", "units", "y"])
        out.writerow(["quantity", "value"])
        for name, (shares, rows) in CASES.items():
            for row in rows:
                data.writerow([name, int(shares), *row])
            for what, v in values(shares, rows):
                out.writerow([f"{name} {what}", repr(float(v))])


main()
