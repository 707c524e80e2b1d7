#!/usr/bin/env python3
"""Writes law_values.json: what `wattlaw fit --json` must say on tables of tests/e2e/fit/cases, computed with
statsmodels and scipy from the same files. tests/e2e/fit/run.py compares.
    python3 -m venv V && V/bin/pip install numpy scipy statsmodels pandas && V/bin/python make_law_golden.py
"""
import json
import os

import numpy as np
import pandas as pd
import scipy.optimize
import scipy.stats
import statsmodels.api as sm
from statsmodels.stats.multitest import multipletests

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "..", "e2e", "fit", "cases")


def line(x, y, weights=None):
    design = sm.add_constant(np.asarray(x))
    fit = sm.WLS(np.asarray(y), design, weights=1.0 if weights is None else weights).fit()
    low, high = fit.conf_int(0.05)[1]
    return fit, dict(alpha=np.exp(fit.params[0]), beta=-fit.params[1], beta_se=fit.bse[1], beta_ci95=[-high, -low],
                     r2=fit.rsquared, r2_adj=fit.rsquared_adj, p_beta=fit.pvalues[1], sigma=np.sqrt(fit.mse_resid),
                     df=fit.df_resid)


def departures(runs, configs):
    """The two largest worker counts against the line of the others: over runs and over worker counts, larger p.
    At least three others are needed."""
    base, out = sorted(configs.workers)[:-2], []
    if len(base) < 3:
        return out
    for workers in sorted(configs.workers)[-2:]:
        seen = configs[configs.workers == workers].iloc[0]
        best = None
        for table, repeats in ((runs, seen.runs), (configs, 1)):
            part = table[table.workers.isin(base)]
            fit, _ = line(part.x, part.y)
            at = np.array([1, np.log(workers)])
            spread = np.sqrt(at @ fit.cov_params() @ at + fit.mse_resid / repeats)
            excess = seen.y - at @ fit.params
            p = 2 * scipy.stats.t.sf(abs(excess / spread), fit.df_resid)
            if best is None or p >= best["p"]:
                best = dict(workers=float(workers), excess_pct=100 * np.expm1(excess), t=excess / spread,
                            df=fit.df_resid, p=p)
        out.append(best)
    for row, holm in zip(out, multipletests([row["p"] for row in out], method="holm")[1]):
        row["p_holm"] = holm
    return out


STRONG = {
    "power": (lambda n, a, b: a * n ** -b, [100, 0.8]),
    "amdahl": (lambda n, w, c: w / n + c, [100, 5]),
    "power_const": (lambda n, a, b, c: a * n ** -b + c, [100, 0.9, 1]),
    "amdahl_log": (lambda n, w, c, g: w / n + c + g * np.log2(n), [100, 3, 0.3]),
    "amdahl_linear": (lambda n, w, c, g: w / n + c + g * n, [100, 4, 0.02]),
}
WEAK = {
    "power": (lambda n, a, b: a * n ** -b, [60, -0.02]),
    "weak_log": (lambda n, t, s: t * (1 + s * np.log2(n)), [60, 0.02]),
    "weak_linear": (lambda n, t, s: t * (1 + s * (n - 1)), [60, 0.01]),
}
PARAMS = dict(power="a b", amdahl="W c", power_const="a b c", amdahl_log="W c g", amdahl_linear="W c g",
              weak_log="T1 s", weak_linear="T1 s")


def broken(x, y):
    """The continuous line of two segments, by brute force over the break."""
    def fit(c):
        return sm.OLS(y, sm.add_constant(np.column_stack([x, np.maximum(0, x - c)]))).fit()
    values = np.unique(x)
    start = min(np.linspace(values[1], values[-2], 1001), key=lambda c: fit(c).ssr)
    at = scipy.optimize.minimize_scalar(lambda c: fit(c).ssr, bounds=(max(start - 0.01, values[1]),
                                        min(start + 0.01, values[-2])), method="bounded", options={"xatol": 1e-11}).x
    line, n, k = fit(at), len(y), 5
    minus2 = n * (np.log(2 * np.pi * line.ssr / n) + 1)
    params = dict(a=np.exp(line.params[0]), b1=-line.params[1], b2=-line.params[1] - line.params[2], n=np.exp(at))
    return {"name": "broken", "params": params, "sse": line.ssr, "aicc": minus2 + 2 * k + 2 * k * (k + 1) / (n - k - 1),
            "bic": minus2 + k * np.log(n)}


def curves(table, runs):
    """Least squares of ln t by scipy; what has a term that vanishes is left empty."""
    workers, y = runs.workers.to_numpy(float), runs.y.to_numpy()
    weak = table.samples.nunique() > 1
    out = []
    for name, (t, start) in (WEAK if weak else STRONG).items():
        def residual(p):
            with np.errstate(all="ignore"):
                return np.nan_to_num(np.log(t(workers, *p)) - y, nan=1e3)
        scale = np.array(start, float)
        fit = scipy.optimize.least_squares(lambda q: residual(q * scale), np.ones(len(start)), method="lm", jac="3-point",
                                           xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=100000)
        p = fit.x * scale
        if min(p[-1], p[0]) <= 1e-6 and name != "power":
            out.append({"name": name})
            continue
        n, k, sse = len(y), len(p) + 1, 2 * fit.cost
        inverse = np.linalg.inv(fit.jac.T @ fit.jac)
        error = np.sqrt(np.diag(inverse) * sse / (n - len(p))) * abs(scale)
        minus2 = n * (np.log(2 * np.pi * sse / n) + 1)
        out.append({"name": name, "params": dict(zip(PARAMS[name].split(), p)),
                    "se": dict(zip(PARAMS[name].split(), error)), "sse": sse,
                    "aicc": minus2 + 2 * k + 2 * k * (k + 1) / (n - k - 1), "bic": minus2 + k * np.log(n)})
    if not weak:
        out.append(broken(np.log(workers), y))
    best = min(row["aicc"] for row in out if "aicc" in row)
    total = sum(np.exp((best - row["aicc"]) / 2) for row in out if "aicc" in row)
    for row in out:
        if "aicc" in row:
            row["weight"] = np.exp((best - row["aicc"]) / 2) / total
    return out


def analyse(name, response):
    table = pd.read_csv(os.path.join(CASES, name + ".csv"))
    table = table[table.epoch > 1]
    table["y"] = np.log(table[response])
    table["x"] = np.log(table.workers)
    runs = table.groupby(["workers", "run"], as_index=False).agg(y=("y", "mean"), x=("x", "first"))
    configs = runs.groupby("workers", as_index=False).agg(y=("y", "mean"), x=("x", "first"), runs=("y", "size"))
    fit, run_means = line(runs.x, runs.y)
    _, config_means = line(configs.x, configs.y)
    medians = runs.groupby("workers").y.median()
    sen = scipy.stats.theilslopes(runs.y, runs.x, 0.95, method="joint")
    pure = ((runs.y - runs.groupby("workers").y.transform("mean")) ** 2).sum()
    df1, df2 = len(configs) - 2, len(runs) - len(configs)
    f = (fit.ssr - pure) / df1 / (pure / df2)
    config_basis = np.diff(config_means["beta_ci95"]) > np.diff(run_means["beta_ci95"])
    points = configs if config_basis else runs
    bent = sm.OLS(points.y, sm.add_constant(np.column_stack([points.x, points.x ** 2]))).fit()
    local = []
    for workers in configs.workers:
        contrast = np.array([0, -1, -2 * np.log(workers)])
        test = bent.t_test(contrast)
        local.append(dict(workers=float(workers), beta=test.effect[0], beta_ci95=list(test.conf_int(0.05)[0])))
    return {
        "estimators": {
            "run_means": run_means,
            "config_means": config_means,
            "pooled_epochs": line(table.x, table.y)[1],
            "config_medians": line(np.log(medians.index), medians)[1],
            "theil_sen": dict(alpha=np.exp(sen.intercept), beta=-sen.slope, beta_ci95=[-sen.high_slope, -sen.low_slope]),
            "hc3": dict(beta_se=fit.HC3_se[1]),
        },
        "lack_of_fit": dict(f=f, df1=df1, df2=df2, p=scipy.stats.f.sf(f, df1, df2)),
        "log_quadratic": dict(q=bent.params.iloc[2], q_se=bent.bse.iloc[2], p=bent.pvalues.iloc[2], df=bent.df_resid),
        "local_exponents": local,
        "departure": departures(runs, configs),
        "power_law": config_means if config_basis else run_means,
        "models": curves(table, runs) if response == "time_s" else [],
    }


def plain(value):
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, str):
        return value
    return float(value)


values = {f"{name} {response}": plain(analyse(name, response))
          for name, response in (("strong", "time_s"), ("amdahl", "time_s"), ("weak", "time_s"), ("strong", "energy_j"))}
with open(os.path.join(HERE, "law_values.json"), "w", encoding="utf-8") as file:
    json.dump(values, file, indent=1)
    file.write("\n")
