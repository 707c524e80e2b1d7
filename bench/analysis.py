#!/usr/bin/env python3
"""The analyses of a campaign by wattlaw and by pandas, statsmodels and scipy: analysis.py WATTLAW STORE [--python PYTHON]

    build/examples/frey2022 simulate frey2022.db
    bench/analysis.py build/src/cmd/wattlaw frey2022.db --python VENV/bin/python

Both sides read the same CSV (wattlaw export observations) and do the same: `fit` of every group with all its estimators, the
bootstrap, tests of residuals, the break with its 999 draws, and the competing curves with several starts and worker counts left
out; `compare --factor power_cap_w`; `energy`. PYTHON needs numpy, scipy, pandas and statsmodels. Its side is written as one would,
with arrays instead of loops where a library takes them. Times are of whole processes, in turns, medians; the time until the
libraries are imported is also given apart. wattlaw's numbers from the store itself are printed beside them.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

COMMANDS = {"fit": ["fit"], "compare": ["compare", "--factor", "power_cap_w"], "energy": ["energy"]}
DRAWS = 1999


# ---- the peer ----

def peer(path, what):
    start = time.perf_counter()
    import numpy as np
    import pandas as pd
    import scipy.optimize
    import scipy.stats
    import statsmodels.api as sm
    import statsmodels.formula.api as smf
    from statsmodels.stats.diagnostic import het_breuschpagan, linear_reset, normal_ad
    from statsmodels.stats.multitest import multipletests
    imported = time.perf_counter() - start

    settings = ["workload", "power_cap_w", "clock_mhz", "local_batch"]
    table = pd.read_csv(path)
    kept = table[(table.epoch > 1) | (table.groupby(settings + ["workers", "run"]).epoch.transform("max") == 1)]
    kept = kept.assign(y=np.log(kept.time_s), x=np.log(kept.workers))
    runs = kept.groupby(settings + ["workers", "run"], as_index=False).agg(y=("y", "mean"), x=("x", "first"))
    rng = np.random.default_rng(1)

    curves = {
        "power": (lambda n, p: p[0] - np.exp(p[1]) * np.log(n), 2),
        "amdahl": (lambda n, p: np.log(np.exp(p[0]) / n + np.exp(p[1])), 2),
        "power_const": (lambda n, p: np.log(np.exp(p[0]) * n ** -np.exp(p[2]) + np.exp(p[1])), 3),
        "amdahl_log": (lambda n, p: np.log(np.exp(p[0]) / n + np.exp(p[1]) + np.exp(p[2]) * np.log2(n)), 3),
        "amdahl_linear": (lambda n, p: np.log(np.exp(p[0]) / n + np.exp(p[1]) + np.exp(p[2]) * n), 3),
    }

    def best_curve(name, n, y):
        curve, k = curves[name]
        best = None
        for share in (0.3, 0.03, 0.003):
            start = [y[0] + np.log(n[0]), y[0] + np.log(share), np.log(share) if name != "power_const" else -0.1][:k]
            fit = scipy.optimize.least_squares(lambda p: curve(n, p) - y, start, method="lm", max_nfev=2000)
            best = fit if best is None or fit.cost < best.cost else best
        return best

    def left_out(name, n, y):
        errors = []
        for part in (2, 4):
            few = n <= n.max() / part
            fit = best_curve(name, n[few], y[few])
            errors += list(curves[name][0](n[~few], fit.x) - y[~few])
        return np.sqrt(np.mean(np.square(errors)))

    def hinge_gains(x, rest, at):
        hinges = np.maximum(0, x[:, None] - at)
        design = np.column_stack([np.ones(len(x)), x])
        hinges -= design @ np.linalg.lstsq(design, hinges, rcond=None)[0]
        hinges /= np.linalg.norm(hinges, axis=0)
        return (hinges.T @ rest) ** 2

    def break_of(x, y):
        levels, design = np.unique(x), np.column_stack([np.ones(len(x)), x])
        at = np.linspace(levels[1], levels[-2], 200)
        noise = np.column_stack([y, rng.standard_normal((len(x), 999))])
        rest = noise - design @ np.linalg.lstsq(design, noise, rcond=None)[0]
        gains = hinge_gains(x, rest, at).max(axis=0) / (rest ** 2).sum(axis=0)
        return (1 + (gains[1:] >= gains[0]).sum()) / 1000

    def slope(x, y, axis=-1):
        dx = x - x.mean(axis=axis, keepdims=True)
        return -(dx * y).sum(axis=axis) / (dx * dx).sum(axis=axis)

    def cr2(design, residual, cluster):
        """Bell and McCaffrey's errors with Satterthwaite's degrees of freedom; statsmodels has neither."""
        inverse = np.linalg.inv(design.T @ design)
        rest = np.eye(len(design)) - design @ inverse @ design.T
        vectors, total = [], 0
        for c in np.unique(cluster):
            rows = cluster == c
            value, vector = np.linalg.eigh(rest[np.ix_(rows, rows)])
            root = np.where(value > 1e-10, 1 / np.sqrt(np.maximum(value, 1e-10)), 0)
            adjusted = (vector * root) @ vector.T @ design[rows] @ inverse
            total += (adjusted.T @ residual[rows]) ** 2
            vectors.append(rest[:, rows] @ adjusted)
        inner = np.einsum("aij,bij->jab", np.array(vectors), np.array(vectors))
        return np.sqrt(total), [np.trace(m) ** 2 / np.sum(m ** 2) for m in inner]

    def departures(points):
        """The two largest worker counts against the line of the others."""
        base = points[points.x < np.sort(points.x.unique())[-2]]
        line = sm.OLS(base.y, sm.add_constant(base.x)).fit()
        rest = points[~points.index.isin(base.index)].groupby("x", as_index=False).agg(y=("y", "mean"))
        seen = line.get_prediction(sm.add_constant(rest.x, has_constant="add"))
        t = (rest.y - seen.predicted_mean) / np.sqrt(seen.se_mean ** 2 + line.mse_resid)
        return multipletests(2 * scipy.stats.t.sf(np.abs(t), line.df_resid), method="holm")[1]

    def fit_group(g, epochs):
        x, y, n = g.x.to_numpy(), g.y.to_numpy(), g.workers.to_numpy(float)
        design = sm.add_constant(x)
        line = sm.OLS(y, design).fit()
        line.conf_int(), line.summary2()
        means = g.groupby("workers").agg(y=("y", "mean"), x=("x", "first"), sd=("y", "std"), n=("y", "size"))
        sm.OLS(means.y, sm.add_constant(means.x)).fit().conf_int()
        medians = g.groupby("workers").agg(y=("y", "median"), x=("x", "first"))
        sm.OLS(medians.y, sm.add_constant(medians.x)).fit().conf_int()
        sm.WLS(means.y, sm.add_constant(means.x), weights=means.n / means.sd ** 2).fit().conf_int()
        sm.OLS(epochs.y, sm.add_constant(epochs.x)).fit().conf_int()
        scipy.stats.theilslopes(y, x)
        sm.RLM(y, design, sm.robust.norms.HuberT(1.345)).fit().conf_int()
        line.get_robustcov_results("HC3").conf_int()
        cr2(design, line.resid, n)
        scipy.stats.bootstrap((x, y), slope, paired=True, vectorized=True, n_resamples=DRAWS, method="BCa", random_state=rng)
        pure = ((y - g.groupby("workers").y.transform("mean")) ** 2).sum()
        m = len(means)
        scipy.stats.f.sf((line.ssr - pure) / (m - 2) / (pure / (len(y) - m)), m - 2, len(y) - m)
        scipy.stats.shapiro(line.resid), normal_ad(line.resid), het_breuschpagan(line.resid, design)
        linear_reset(line, power=3, use_f=True)
        line.get_influence().summary_frame()
        departures(g), departures(means.reset_index(drop=True))
        bend = sm.OLS(y, np.column_stack([design, x * x])).fit()
        bend.t_test(np.column_stack([np.zeros(m), np.ones(m), 2 * means.x])).conf_int()
        found = [break_of(x, y)]
        for name in curves:
            fit = best_curve(name, n, y)
            k = len(fit.x) + 1
            found.append(len(y) * np.log(2 * fit.cost / len(y)) + 2 * k + 2 * k * (k + 1) / (len(y) - k - 1))
            found.append(left_out(name, n, y))
        return line.params[1], bend.pvalues[2], found

    def fit():
        by_epochs = dict(list(kept.groupby(settings)))
        found = [fit_group(g.sort_values("workers"), by_epochs[key]) for key, g in runs.groupby(settings)]
        multipletests([p for _, p, _ in found], method="fdr_bh")
        return len(found)

    def compare_group(g):
        p = []
        g = g.assign(level=g.power_cap_w.astype(int).astype(str))
        means = g.groupby(["level", "workers"], as_index=False).agg(y=("y", "mean"), x=("x", "first"))
        for points in (g, means):
            common, separate = smf.ols("y ~ level + x", points).fit(), smf.ols("y ~ level * x", points).fit()
            sm.stats.anova_lm(common, separate)
            terms = [name for name in separate.params.index if name.startswith("level[") and name.endswith(":x")]
            names = list(separate.params.index)
            contrasts = [np.eye(len(names))[names.index(t)] for t in terms]
            contrasts.append(contrasts[0] - contrasts[1])
            tests = [separate.t_test(c) for c in contrasts]
            multipletests([np.ravel(t.pvalue)[0] for t in tests], method="holm")
            p += [scipy.stats.studentized_range.sf(abs(np.ravel(t.tvalue)[0]) * 2 ** 0.5, 3, separate.df_resid) for t in tests]
        n, y, slot = g.workers.to_numpy(float), g.y.to_numpy(), pd.factorize(g.level)[0]
        start = [y[slot == s].max() for s in range(3)] + [y.min() - 3]
        scipy.optimize.least_squares(lambda q: np.log(np.exp(q[slot]) / n + np.exp(q[-1])) - y, start, method="lm")
        g.groupby(["level", "workers"]).y.agg(["mean", "std", "size"])
        return p

    def compare():
        return len([compare_group(g) for _, g in runs.groupby(["workload", "clock_mhz", "local_batch"])])

    def energy():
        sums = table.groupby(settings + ["workers", "run"], as_index=False).agg(
            s=("time_s", "sum"), j=("energy_j", "sum"), samples=("samples", "sum"), updates=("updates", "sum"))
        sums = sums.assign(h=sums.s * sums.workers / 3600, kwh=sums.j / 3.6e6)
        sums = sums.assign(rate=sums.kwh / sums.h, lh=np.log(sums.h), le=np.log(sums.kwh))
        for _, g in sums.groupby("workload"):
            for formula in ("kwh ~ h - 1", "kwh ~ h", "le ~ lh"):
                smf.ols(formula, g).fit().conf_int()
            scipy.stats.bootstrap((g.rate.to_numpy(),), lambda v, axis: v.std(axis=axis, ddof=1) / v.mean(axis=axis),
                                  vectorized=True, n_resamples=DRAWS, method="BCa", random_state=rng)
        sm.stats.anova_lm(smf.ols("kwh ~ workload + h", sums).fit(), smf.ols("kwh ~ workload * h", sums).fit())
        for _, g in table.groupby(settings):
            per_run = g.groupby(["workers", "run"])[["time_s", "energy_j"]].agg(lambda v: np.exp(np.log(v).mean()))
            logs = np.log(per_run).groupby("workers").agg(["mean", "std", "size"])
            for column in ("time_s", "energy_j"):
                for workers in logs.index:
                    a, b = logs.loc[workers, column], logs.iloc[0][column]
                    scipy.stats.ttest_ind_from_stats(a["mean"], a["std"], a["size"], b["mean"], b["std"], b["size"], False)
        return len(sums)

    done = {"fit": fit, "compare": compare, "energy": energy}[what]()
    print(json.dumps({"imported": imported, "done": done}))


# ---- the contest ----

def timed(command):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return time.perf_counter() - start, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wattlaw")
    parser.add_argument("store")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        import warnings
        warnings.simplefilter("ignore")
        peer(options.store, options.peer)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # small matrices: threads only get in each other's way
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "observations.csv")
        timed([options.wattlaw, "export", "observations", options.store, "-o", table])
        totals = [0, 0]
        print("| command | wattlaw, CSV | wattlaw, store | Python | of it imports | ratio |\n|---|---|---|---|---|---|")
        for name, command in COMMANDS.items():
            ours, stored, theirs, imports = [], [], [], []
            for _ in range(options.rounds):
                ours.append(timed([options.wattlaw, command[0], table, *command[1:]])[0])
                stored.append(timed([options.wattlaw, command[0], options.store, *command[1:]])[0])
                seconds, answer = timed([options.python, __file__, options.wattlaw, table, "--peer", name])
                theirs.append(seconds)
                imports.append(json.loads(answer)["imported"])
            a, b = statistics.median(ours), statistics.median(theirs)
            totals = [totals[0] + a, totals[1] + b]
            print(f"| {name} | {a:.2f} s | {statistics.median(stored):.2f} s | {b:.1f} s | {statistics.median(imports):.1f} s | "
                  f"{b / a:.0f} |", flush=True)
        print(f"| all | {totals[0]:.2f} s | | {totals[1]:.1f} s | | {totals[1] / totals[0]:.0f} |")


if __name__ == "__main__":
    main()
