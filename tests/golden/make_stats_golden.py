#!/usr/bin/env python3
"""Writes distributions.csv, ols_*.csv, robust_*.csv and broken_*.csv: what src/stats is held against.

Distributions come from mpmath with 60 digits, least squares and robust errors from statsmodels and scipy, CR2 with
Satterthwaite's degrees of freedom from its definition in numpy.
    python3 -m venv V && V/bin/pip install mpmath numpy scipy statsmodels && V/bin/python make_stats_golden.py
Made with mpmath 1.4, statsmodels 0.15; the numbers do not depend on the version beyond their last digits.
"""
import csv
import os

import mpmath as mp
import numpy as np
import scipy.optimize
import scipy.stats
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
            if value > mp.mpf("1e-290") and f"{name}_{which}" not in ("f_cdf", "chi2_cdf"):
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
            quantities[f"cook{i}"] = influence.cooks_distance[0][i]
        at = np.array([col.max() * 1.5 for col in x])
        row = np.concatenate([[1.0], at]) if intercept else at
        seen = fit.get_prediction(row[None, :]).summary_frame(alpha=0.05).iloc[0]
        quantities.update(fit=seen["mean"], mean_lo=seen["mean_ci_lower"], run_hi=seen["obs_ci_upper"])
        for quantity, value in quantities.items():
            values.writerow([name, quantity, repr(float(value))])


def cr2(design, residual, cluster):
    """Bell and McCaffrey 2002 with a working model of equal, independent residuals: errors, degrees of freedom."""
    inverse = np.linalg.inv(design.T @ design)
    hat = design @ inverse @ design.T
    rest = np.eye(len(design)) - hat
    errors, freedoms = [], []
    for j in range(design.shape[1]):
        total, vectors = 0.0, []
        for g in np.unique(cluster):
            rows = cluster == g
            value, vector = np.linalg.eigh(rest[np.ix_(rows, rows)])
            root = np.array([1 / np.sqrt(v) if v > 1e-10 else 0.0 for v in value])
            adjusted = (vector * root) @ vector.T @ design[rows] @ inverse[:, j]
            total += (adjusted @ residual[rows]) ** 2
            vectors.append(rest[:, rows] @ adjusted)
        inner = np.array(vectors) @ np.array(vectors).T
        errors.append(np.sqrt(total))
        freedoms.append(np.trace(inner) ** 2 / np.sum(inner ** 2))
    return errors, freedoms


def robust(data, values):
    """A campaign with unequal repeats, unequal scatter and two bad runs."""
    rng = np.random.default_rng(20250811)
    workers = np.repeat([1, 2, 4, 8, 16, 32], [3, 5, 2, 4, 6, 3])
    x = np.log(workers)
    y = 4 - 0.8 * x + 0.02 * (1 + x) * rng.standard_normal(len(x)) + 0.03 * rng.standard_normal(6)[np.unique(x, return_inverse=True)[1]]
    y[4] += 0.4
    y[17] += 0.3
    weight = 1 / (1 + x) ** 2
    cluster = np.unique(x, return_inverse=True)[1]
    for row in zip(y, x, weight, cluster):
        data.writerow([repr(float(value)) for value in row])
    design = sm.add_constant(x)
    fit = sm.OLS(y, design).fit()
    out = {f"{kind}_se{j}": getattr(fit, kind.upper() + "_se")[j] for kind in ("hc0", "hc1", "hc2", "hc3") for j in (0, 1)}
    clustered = fit.get_robustcov_results("cluster", groups=cluster)
    errors, freedoms = cr2(design, fit.resid, cluster)
    for j in (0, 1):
        out.update({f"cr1_se{j}": clustered.bse[j], f"cr2_se{j}": errors[j], f"cr2_df{j}": freedoms[j]})
    weighted = sm.WLS(y, design, weights=weight).fit()
    out.update(wls_b0=weighted.params[0], wls_b1=weighted.params[1], wls_se0=weighted.bse[0], wls_se1=weighted.bse[1],
               wls_r2=weighted.rsquared, wls_sigma=weighted.mse_resid ** 0.5)
    sen = scipy.stats.theilslopes(y, x, 0.95, method="joint")
    out.update(sen_b0=sen.intercept, sen_b1=sen.slope, sen_lo=sen.low_slope, sen_hi=sen.high_slope)
    huber = sm.RLM(y, design, sm.robust.norms.HuberT(1.345)).fit(tol=1e-14, maxiter=2000, conv="coefs")
    out.update(huber_b0=huber.params[0], huber_b1=huber.params[1], huber_se1=huber.bse[1], huber_scale=huber.scale)
    for name, value in out.items():
        values.writerow([name, repr(float(value))])


def broken(data, values):
    """A line that bends at x = 2.1, by brute force over the break."""
    rng = np.random.default_rng(7)
    x = np.repeat(np.log([1, 2, 4, 8, 16, 32, 64]), 3)
    y = 5 - 0.9 * x + 0.5 * np.maximum(0, x - 2.1) + 0.05 * rng.standard_normal(len(x))
    for row in zip(x, y):
        data.writerow([repr(float(value)) for value in row])

    def fit(c):
        return sm.OLS(y, sm.add_constant(np.column_stack([x, np.maximum(0, x - c)]))).fit()

    lo, hi = np.log(2), np.log(32)
    start = min(np.linspace(lo, hi, 2001), key=lambda c: fit(c).ssr)
    best = scipy.optimize.minimize_scalar(lambda c: fit(c).ssr, bounds=(start - 0.01, start + 0.01), method="bounded",
                                          options={"xatol": 1e-11}).x
    line = fit(best)
    limit = line.ssr * (1 + scipy.stats.f.ppf(0.95, 1, len(x) - 4) / (len(x) - 4))
    ends = [scipy.optimize.brentq(lambda c: fit(c).ssr - limit, *bracket) for bracket in ((lo, best), (best, hi))]
    out = dict(at=best, lo=ends[0], hi=ends[1], b0=line.params[0], slope1=line.params[1],
               slope2=line.params[1] + line.params[2], sse=line.ssr)
    for name, value in out.items():
        values.writerow([name, repr(float(value))])


def write(name, header, fill):
    with open(os.path.join(HERE, name), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        fill(out)


def write_pair(stem, data_header, values_header, fill):
    """STEM_data.csv and STEM_values.csv from one function."""
    write(stem + "_data.csv", data_header, lambda data: write(stem + "_values.csv", values_header,
                                                              lambda values: fill(data, values)))


write("distributions.csv", ["function", "x", "a", "b", "value"], distributions)
write_pair("ols", ["case", "y", "x1", "x2", "x3"], ["case", "quantity", "value"], least_squares)
write_pair("robust", ["y", "x", "weight", "cluster"], ["quantity", "value"], robust)
write_pair("broken", ["x", "y"], ["quantity", "value"], broken)
