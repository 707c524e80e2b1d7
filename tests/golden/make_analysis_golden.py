#!/usr/bin/env python3
"""Writes analysis_values.json: what `wattlaw compare` and its sisters must say with --json, computed with statsmodels
and scipy from the same tables. Each key is a command line; tests/e2e/analysis/run.py compares.
    python3 -m venv V && V/bin/pip install numpy scipy statsmodels pandas && V/bin/python make_analysis_golden.py
"""
import itertools
import json
import os

import numpy as np
import pandas as pd
import scipy.optimize
import scipy.stats
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.stats.multitest import multipletests

HERE = os.path.dirname(os.path.abspath(__file__))
HOME = os.path.join(HERE, "..", "e2e", "analysis")


def means_of_runs(path, response, by):
    table = pd.read_csv(os.path.join(HOME, path))
    table = table[(table.epoch > 1) & (table[response] > 0)]
    table["y"], table["x"] = np.log(table[response]), np.log(table.workers)
    return table.groupby(by + ["workers", "run"], as_index=False, dropna=False).agg(y=("y", "mean"), x=("x", "first"))


# ---- compare ----

def ancova(points, levels, base):
    """Equal slopes, the common slope, pairwise contrasts and TOST over some points with a column `level`."""
    points = points.assign(level=pd.Categorical(points.level, [base] + [v for v in levels if v != base]))
    common, separate = smf.ols("y ~ level + x", points).fit(), smf.ols("y ~ level * x", points).fit()
    table = sm.stats.anova_lm(common, separate)
    low, high = common.conf_int(0.05).loc["x"]
    equal = dict(f=table.F[1], df1=table.df_diff[1], df2=separate.df_resid, p=table["Pr(>F)"][1],
                 partial_eta2=table.ss_diff[1] / (table.ss_diff[1] + separate.ssr), sigma=np.sqrt(separate.mse_resid))
    slope = dict(beta=-common.params["x"], beta_se=common.bse["x"], beta_ci95=[-high, -low], df=common.df_resid)
    pairs, tost = [], []
    for a, b in itertools.combinations(levels, 2):
        contrast = np.zeros(len(separate.params))
        for level, sign in ((a, 1), (b, -1)):  # difference of beta = slope of a - slope of b
            if level != base:
                contrast[list(separate.params.index).index(f"level[T.{level}]:x")] = sign
        test = separate.t_test(contrast)
        d, se, df = test.effect[0], test.sd[0][0], separate.df_resid
        pairs.append(dict(a=a, b=b, difference=d, se=se, ci95=list(test.conf_int(0.05)[0]), t=d / se, df=df,
                          p=float(test.pvalue)))
        tost.append(dict(a=a, b=b, margin=0.05, p=max(scipy.stats.t.sf((d + 0.05) / se, df),
                                                       scipy.stats.t.cdf((d - 0.05) / se, df))))
    for row, holm in zip(pairs, multipletests([row["p"] for row in pairs], method="holm")[1]):
        row["p_holm"] = holm
    return equal, slope, pairs, tost, common


def aicc(sse, n, parameters):
    k = parameters + 1
    return n * (np.log(2 * np.pi * sse / n) + 1) + 2 * k + 2 * k * (k + 1) / (n - k - 1)


def shared_overhead(runs, levels):
    workers, y, slot = runs.workers.to_numpy(float), runs.y.to_numpy(), runs.level.map(levels.index).to_numpy()

    def residual(theta):
        return np.log(np.exp(theta[slot]) / workers + np.exp(theta[-1])) - y
    start = [runs[runs.level == v].sort_values("workers").y.iloc[0] for v in levels] + [np.log(np.exp(y.min()) * 0.1)]
    fit = scipy.optimize.least_squares(residual, start, jac="3-point", xtol=1e-15, ftol=1e-15, gtol=1e-15)
    value, n = np.exp(fit.x), len(y)
    error = value * np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)) * 2 * fit.cost / (n - len(value)))
    return dict(W=dict(zip(levels, value)), W_se=dict(zip(levels, error)), c=value[-1], c_se=error[-1],
                sse=2 * fit.cost)


def compare(path, factor, response="time_s", base=None):
    runs = means_of_runs(path, response, [factor])
    names = runs[factor].map(lambda v: "uncapped" if pd.isna(v) else f"{v:.15g}")
    order = sorted(names.unique(), key=lambda v: float("inf") if v == "uncapped" else float(v))
    base = base or order[-1]
    runs = runs.assign(level=names)
    configs = runs.groupby(["level", "workers"], as_index=False).agg(y=("y", "mean"), x=("x", "first"))
    both = {"run_means": ancova(runs, order, base), "config_means": ancova(configs, order, base)}
    width = {name: np.diff(tests[1]["beta_ci95"])[0] for name, tests in both.items()}
    basis = "config_means" if width["config_means"] > width["run_means"] else "run_means"
    n, k = len(runs), len(order)
    group = dict(base=base, levels=order,
                 by_basis={name: dict(equal_slopes=t[0], common_slope=t[1]) for name, t in both.items()})
    group["by_basis"][basis].update(pairwise=both[basis][2], tost=both[basis][3])
    if response == "time_s":
        group["shared_overhead_model"] = shared_overhead(runs, order)
        separate = both["run_means"][0]["sigma"] ** 2 * both["run_means"][0]["df2"]
        group["aicc"] = dict(common_slope=aicc(both["run_means"][4].ssr, n, k + 1), separate_slopes=aicc(separate, n, 2 * k),
                             shared_overhead=aicc(group["shared_overhead_model"]["sse"], n, k + 1))
    return {"factor": factor, "groups": [group]}


# ---- audit ----

def audit(path, assumed):
    table = pd.read_csv(os.path.join(HOME, path), comment="#", dtype=str).fillna("")
    groups = []
    for name, part in table.groupby("group", sort=False):
        half = 0.5 * 10.0 ** -max(len(v.split(".")[1]) for v in part.r2)
        rows = []
        for row in part.itertuples():
            beta, r2, n = float(row.beta), float(row.r2), float(row.n or assumed)
            used = r2 if r2 + half < 1 else (r2 - half + 1) / 2

            def error(b, r):
                return b * np.sqrt((1 / r - 1) / (n - 2))
            step = 0.5 * 10.0 ** -len(row.beta.split(".")[1])
            rows.append(dict(level=row.level, beta=beta, se=error(beta, used), df=n - 2, step=step,
                             se_rounding=[error(beta - step, min(r2 + half, 1)), error(beta + step, r2 - half)]))
        pairs = []
        for a, b in itertools.combinations(rows, 2):
            def welch(x, y, d):  # from summary statistics: a mean of n points has the standard error s / sqrt(n)
                df = (x ** 2 + y ** 2) ** 2 / (x ** 4 / a["df"] + y ** 4 / b["df"])
                return d / np.hypot(x, y), df, 2 * scipy.stats.t.sf(abs(d) / np.hypot(x, y), df)
            d = b["beta"] - a["beta"]
            t, df, p = welch(a["se"], b["se"], d)
            worst = welch(a["se_rounding"][1], b["se_rounding"][1], max(abs(d) - a["step"] - b["step"], 0))[2]
            pairs.append(dict(a=a["level"], b=b["level"], difference=d, t=t, df=df, p=p, p_worst=worst))
        for key in ("p", "p_worst"):
            for pair, holm in zip(pairs, multipletests([pair[key] for pair in pairs], method="holm")[1]):
                pair[key + "_holm"] = holm
        weights, betas = np.array([1 / row["se"] ** 2 for row in rows]), np.array([row["beta"] for row in rows])
        q = float((weights * (betas - np.average(betas, weights=weights)) ** 2).sum())
        groups.append(dict(group=name, rows=[{k: v for k, v in row.items() if k not in ("df", "step")} for row in rows],
                           pairwise=pairs, homogeneity=dict(q=q, df=len(rows) - 1.0,
                                                            p=scipy.stats.chi2.sf(q, len(rows) - 1))))
    return {"groups": groups}


# ---- energy ----

def term(fit, name, null=0.0):
    test = (fit.params[name] - null) / fit.bse[name]
    return dict(value=fit.params[name], se=fit.bse[name], ci95=list(fit.conf_int(0.05).loc[name]),
                p=2 * scipy.stats.t.sf(abs(test), fit.df_resid))


def energy(path):
    table = pd.read_csv(os.path.join(HOME, path))
    runs = table.groupby(["hardware", "local_batch", "workers", "run"], as_index=False).agg(
        s=("time_s", "sum"), joules=("energy_j", "sum"), samples=("samples", "sum"), updates=("updates", "sum"))
    runs["h"], runs["kwh"] = runs.s * runs.workers / 3600, runs.joules / 3.6e6
    runs["rate"], runs["x"], runs["u"] = runs.kwh / runs.h, runs.samples / runs.h, runs.updates / runs.h
    groups = []
    for name, g in runs.groupby("hardware"):
        z = (g[["rate", "x", "u"]] - g[["rate", "x", "u"]].mean()) / g[["rate", "x", "u"]].std()
        origin, line = smf.ols("kwh ~ h - 1", g).fit(), smf.ols("kwh ~ h", g).fit()
        log, drivers = smf.ols("np.log(kwh) ~ np.log(h)", g).fit(), smf.ols("rate ~ x + u", z).fit()
        groups.append(dict(
            title=f"resnet50, hardware {name}", kwh=g.kwh.sum(), worker_h=g.h.sum(),
            kwh_per_worker_h=dict(mean=g.rate.mean(), cv=g.rate.std() / g.rate.mean(), least=g.rate.min(),
                                  most=g.rate.max(), of_sums=g.kwh.sum() / g.h.sum()),
            through_origin=dict(slope=term(origin, "h"), r2_uncentred=origin.rsquared),
            with_intercept=dict(intercept_kwh=term(line, "Intercept"), slope=term(line, "h"), r2=line.rsquared,
                                sigma=np.sqrt(line.mse_resid), df=line.df_resid),
            exponent=term(log, "np.log(h)", 1.0),
            drivers=dict(samples_per_worker_h=term(drivers, "x"), updates_per_worker_h=term(drivers, "u"),
                         r2=drivers.rsquared, vif=1 / (1 - z.x.corr(z.u) ** 2))))
    # One rate: of the same work (per sample), over the mean worker-hours of the group.
    hours = (runs.h / runs.samples).groupby(runs.hardware).transform("mean")
    work = runs.assign(h=runs.h / runs.samples / hours, kwh=runs.kwh / runs.samples / hours)
    test = sm.stats.anova_lm(smf.ols("kwh ~ hardware + h", work).fit(), smf.ols("kwh ~ hardware * h", work).fit())
    return {"groups": groups, "equal_slopes": dict(f=test.F[1], df1=test.df_diff[1], df2=test.df_resid[1],
                                                   p=test["Pr(>F)"][1])}


def plain(value):
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, (str, bool)) else float(value)


values = {
    "compare ../fit/cases/caps.csv --factor power_cap_w": compare("../fit/cases/caps.csv", "power_cap_w"),
    "compare cases/clocks.csv --factor clock_mhz": compare("cases/clocks.csv", "clock_mhz"),
    "compare cases/clocks.csv --factor clock_mhz --base 135": compare("cases/clocks.csv", "clock_mhz", base="135"),
    "compare cases/clocks.csv --factor clock_mhz --response energy_j": compare("cases/clocks.csv", "clock_mhz",
                                                                              "energy_j"),
    "compare cases/noisy.csv --factor power_cap_w": compare("cases/noisy.csv", "power_cap_w"),
    "audit ../../../examples/frey2022/tables.csv --n 8": audit("../../../examples/frey2022/tables.csv", 8),
    "energy cases/energy.csv": energy("cases/energy.csv"),
}
with open(os.path.join(HERE, "analysis_values.json"), "w", encoding="utf-8") as file:
    json.dump(plain(values), file, indent=1)
    file.write("\n")
