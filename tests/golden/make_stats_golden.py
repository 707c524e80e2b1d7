#!/usr/bin/env python3
"""Writes distributions.csv, ols_data.csv and ols_values.csv: what src/stats is held against.

Distributions come from mpmath with 60 digits, least squares from statsmodels.
    python3 -m venv V && V/bin/pip install mpmath numpy statsmodels && V/bin/python make_stats_golden.py
Made with mpmath 1.4, statsmodels 0.15; the numbers do not depend on the version beyond their last digits.
"""
import csv
import os

import mpmath as mp
import numpy as np
import statsmodels.api as sm

mp.mp.dps = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def text(value):
    return mp.nstr(mp.mpf(value), 20)


def beta_tails(a, b, x, y):
    """Lower and upper regularised incomplete beta, each by its own series: no subtraction."""
    def lower(a, b, x):
        return mp.betainc(a, b, 0, x, regularized=True)
    return lower(a, b, x), lower(b, a, y)


def student(t, df):
    t, df = mp.mpf(t), mp.mpf(df)
    lower, upper = beta_tails(mp.mpf(1) / 2, df / 2, t * t / (df + t * t), df / (df + t * t))
    tail = upper / 2
    return (1 - tail, tail) if t >= 0 else (tail, 1 - tail)


def fisher(f, d1, d2):
    f, d1, d2 = mp.mpf(f), mp.mpf(d1), mp.mpf(d2)
    x = d1 * f / (d1 * f + d2)
    return beta_tails(d1 / 2, d2 / 2, x, d2 / (d1 * f + d2))


def chi2(x, df):
    a, z = mp.mpf(df) / 2, mp.mpf(x) / 2
    return mp.gammainc(a, 0, z, regularized=True), mp.gammainc(a, z, mp.inf, regularized=True)


def normal(z):
    z = mp.mpf(z) / mp.sqrt(2)
    return mp.erfc(-z) / 2, mp.erfc(z) / 2


def distributions(out):
    def rows(name, tails, *args):
        cdf, sf = tails(*args)
        padded = list(args) + [""] * (3 - len(args))
        for which, value in (("cdf", cdf), ("sf", sf)):
            if value > mp.mpf("1e-290"):
                out.writerow([f"{name}_{which}", *padded, text(value)])

    for z in (-37, -20, -8.5, -3, -1, -0.1, 0, 1e-9, 0.5, 1.96, 4, 10, 30):
        rows("normal", normal, z)
    for df in (1, 2, 3, 4.5, 7, 10, 30, 100, 1000, 250000):
        for t in (-12, -2, -0.3, 0, 1e-8, 0.01, 0.7, 1, 2.2, 5, 13, 37, 1000, 1e9):
            rows("t", student, t, df)
    for d1 in (1, 2, 5, 17, 300):
        for d2 in (1, 3, 8, 40, 5000):
            for f in (1e-12, 1e-3, 0.2, 0.9, 1, 1.3, 4, 25, 900, 1e7):
                rows("f", fisher, f, d1, d2)
    for df in (1, 2, 3, 9, 50, 1000, 30000):
        for ratio in (1e-9, 1e-2, 0.3, 0.9, 1, 1.02, 1.5, 4, 20):
            rows("chi2", chi2, ratio * df, df)


def least_squares(data, values):
    rng = np.random.default_rng(20220112)
    workers = np.repeat([1, 2, 4, 8, 16], 3)
    cases = {
        "line": (3 - 0.85 * np.log(workers) + 0.03 * rng.standard_normal(15), [np.log(workers)], True),
        "plane": (None, [rng.uniform(1e3, 1e3 + 5, 30), rng.uniform(-1, 1, 30), rng.exponential(1e-4, 30)], True),
        "origin": (None, [rng.uniform(0, 100, 12)], False),
    }
    for name, (y, x, intercept) in cases.items():
        if y is None:
            y = 2.5 + sum((j + 1) * col / np.std(col) for j, col in enumerate(x)) + rng.standard_normal(len(x[0]))
        for i, value in enumerate(y):
            data.writerow([name, repr(float(value))] + [repr(float(col[i])) for col in x] + [""] * (3 - len(x)))
        design = np.column_stack(x)
        fit = sm.OLS(y, sm.add_constant(design) if intercept else design).fit()
        quantities = {"sse": fit.ssr, "sigma": fit.mse_resid ** 0.5, "r2": fit.rsquared, "r2_adj": fit.rsquared_adj,
                      "f": fit.fvalue, "p_f": fit.f_pvalue}
        for j in range(len(fit.params)):
            quantities[f"b{j}"] = fit.params[j]
            quantities[f"se{j}"] = fit.bse[j]
            quantities[f"p{j}"] = fit.pvalues[j]
            quantities[f"half{j}"] = (fit.conf_int(0.05)[j][1] - fit.conf_int(0.05)[j][0]) / 2
        influence = fit.get_influence()
        for i in (0, 4, len(y) - 1):
            quantities[f"leverage{i}"] = influence.hat_matrix_diag[i]
            quantities[f"student{i}"] = influence.resid_studentized_external[i]
        at = np.array([col.max() * 1.5 for col in x])
        row = np.concatenate([[1.0], at]) if intercept else at
        seen = fit.get_prediction(row[None, :]).summary_frame(alpha=0.05).iloc[0]
        quantities.update(fit=seen["mean"], mean_lo=seen["mean_ci_lower"], run_hi=seen["obs_ci_upper"])
        for quantity, value in quantities.items():
            values.writerow([name, quantity, repr(float(value))])


def write(name, header, fill):
    with open(os.path.join(HERE, name), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        fill(out)


write("distributions.csv", ["function", "x", "a", "b", "value"], distributions)
with open(os.path.join(HERE, "ols_data.csv"), "w") as d, open(os.path.join(HERE, "ols_values.csv"), "w") as v:
    data, values = csv.writer(d, lineterminator="\n"), csv.writer(v, lineterminator="\n")
    data.writerow(["case", "y", "x1", "x2", "x3"])
    values.writerow(["case", "quantity", "value"])
    least_squares(data, values)
