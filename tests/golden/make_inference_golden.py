#!/usr/bin/env python3
"""Writes range.csv, samples.csv and inference_values.csv: tests of assumptions, series, bootstrap and the studentised
range, which src/stats is held against.

The range comes from quadrature of its definition, the tests from scipy and statsmodels, series and bootstrap from
their definitions in numpy, with the draws of the counter generator (Philox4x32-10) made here once more.
    python3 -m venv V && V/bin/pip install mpmath numpy scipy statsmodels && V/bin/python make_inference_golden.py
"""
import csv
import os

import mpmath as mp
import numpy as np
import scipy.special
import scipy.stats
import statsmodels.api as sm
from statsmodels.stats.diagnostic import het_breuschpagan, linear_reset, normal_ad
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.outliers_influence import variance_inflation_factor

HERE = os.path.dirname(os.path.abspath(__file__))
mp.mp.dps = 25


# ---- studentised range ----

def panels(ends):
    """Points and weights of Gauss and Legendre's rule with 24 of them on each panel."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(ends)[:, None] / 2
    return (ends[:-1, None] + half + half * nodes).ravel(), (half * weights).ravel()


def range_known(q, k):
    """P(Q > q) with a known deviation, in 25 digits."""
    def part(z):
        upper, lower = mp.ncdf(z), mp.ncdf(z - q)
        return k * mp.npdf(z) * (upper ** (k - 1) - (upper - lower) ** (k - 1))
    return mp.quad(part, [-9, -3, 0, q / mp.mpf(2), q, q + 4, q + 12])


def range_sf(q, k, df):
    """The mean of that over the deviation, in doubles; the upper ends of both integrals are beyond what counts."""
    z, inner = panels(np.linspace(-9, 3 * q + 12, 100))
    s, outer = panels(np.linspace(0, 1 + 9 / np.sqrt(2 * df), 60))
    upper = scipy.special.ndtr(z)
    share = scipy.special.ndtr(z - q * s[:, None]) / upper  # that one mean is more than q s below the largest, z
    known = (k * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * upper ** (k - 1) * -np.expm1((k - 1) * np.log1p(-share))) @ inner
    return (2 * scipy.stats.chi2.pdf(df * s * s, df) * df * s * known) @ outer


def ranges(out):
    for k in (3, 8):
        for q in (0.5, 3.7, 12):
            out.writerow([q, k, "", mp.nstr(range_known(q, k), 17)])
            for df in (2, 5, 60):
                out.writerow([q, k, df, repr(float(range_sf(q, k, df)))])


# ---- Philox, as in src/base/random.c ----

def picks(key, stream, n):
    """n draws from 0 .. n - 1, four of a block."""
    out = []
    for index in range((n + 3) // 4):
        k0, k1, c = key & 0xFFFFFFFF, key >> 32, [index, 0, stream & 0xFFFFFFFF, stream >> 32]
        for _ in range(10):
            a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
            c = [(b >> 32) ^ c[1] ^ k0, b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k1, a & 0xFFFFFFFF]
            k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
        out += [(word * n) >> 32 for word in c]
    return out[:n]


def variation(v):
    return np.std(v, ddof=1) / np.mean(v)


def bootstrap(v, statistic, draws, key=5):
    """Value, deviation, percentiles and BCa ends after Efron 1987."""
    n, at = len(v), statistic(v)
    values = np.sort([statistic(v[picks(key, d, n)]) for d in range(draws)])

    def percentile(p):  # position p (draws + 1)
        return np.percentile(values, 100 * p, method="weibull")
    z0 = scipy.stats.norm.ppf(np.mean((values < at) + 0.5 * (values == at)))
    left = np.array([statistic(np.delete(v, i)) for i in range(n)])
    skew = left.mean() - left
    acceleration = (skew ** 3).sum() / (6 * (skew ** 2).sum() ** 1.5)
    out = dict(value=at, se=np.std(values, ddof=1), lo=percentile(0.025), hi=percentile(0.975))
    for name, p in (("bca_lo", 0.025), ("bca_hi", 0.975)):
        z = z0 + scipy.stats.norm.ppf(p)
        out[name] = percentile(scipy.stats.norm.cdf(z0 + z / (1 - acceleration * z)))
    return out


# ---- series ----

def dependence(v):
    n, centred = len(v), v - v.mean()
    whole = centred @ centred
    rho = np.array([1.0] + [centred[:-lag] @ centred[lag:] / whole for lag in range(1, n)])
    pairs = rho[0:n - 1:2] + rho[1:n:2]
    positive = len(pairs) if (pairs > 0).all() else int(np.argmin(pairs > 0))
    tau = -1 + 2 * pairs[:positive].sum()
    each = n // 20
    means = v[n - 20 * each:].reshape(20, each).mean(axis=1)
    return dict(lag1=rho[1], tau=tau, ess=n / tau, se=v.std(ddof=1) / np.sqrt(n / tau),
                se_batches=means.std(ddof=1) / np.sqrt(20))


def mser5(v):
    z = v[:len(v) // 5 * 5].reshape(-1, 5).mean(axis=1)
    return 5 * min(range((len(z) + 1) // 2), key=lambda d: ((z[d:] - z[d:].mean()) ** 2).sum() / (len(z) - d) ** 2)


def inference(data, values):
    rng = np.random.default_rng(61)
    noise = rng.standard_normal(400)
    series = np.zeros(400)
    for i in range(1, 400):
        series[i] = 0.7 * series[i - 1] + noise[i]
    samples = {"three": np.array([1.0, 1.5, 4.0]), "five": rng.standard_normal(5), "nine": rng.exponential(1, 9),
               "twenty": 10 + rng.standard_normal(20), "hundred": rng.lognormal(0, 0.5, 100),
               "series": 50 + series, "warm": 50 + series + 30 * np.exp(-np.arange(400) / 12)}
    for name, v in samples.items():
        for value in v:
            data.writerow([name, repr(float(value))])
    out = {}
    for name in ("three", "five", "nine", "twenty", "hundred"):
        w = scipy.stats.shapiro(samples[name])
        out.update({f"shapiro {name} w": w.statistic, f"shapiro {name} p": w.pvalue})
        if len(samples[name]) >= 8:
            statistic, p = normal_ad(samples[name])
            out.update({f"anderson {name} a": statistic, f"anderson {name} p": p})
    for name in ("series", "warm"):
        out.update({f"dependence {name} {key}": value for key, value in dependence(samples[name]).items()})
        out[f"mser5 {name}"] = mser5(samples[name])
    out.update({f"bootstrap {key}": value for key, value in bootstrap(samples["hundred"], variation, 999).items()})

    with open(os.path.join(HERE, "robust_data.csv"), newline="") as file:
        table = np.array([[float(cell) for cell in row] for row in list(csv.reader(file))[1:]])
    fit = sm.OLS(table[:, 0], sm.add_constant(table[:, 1])).fit()
    lm, p = het_breuschpagan(fit.resid, fit.model.exog)[:2]
    reset = linear_reset(fit, power=3, test_type="fitted", use_f=True)
    out.update({"breusch_pagan": lm, "breusch_pagan p": p, "reset": reset.fvalue, "reset p": reset.pvalue})
    with open(os.path.join(HERE, "ols_data.csv"), newline="") as file:
        plane = np.array([[float(cell) for cell in row[2:]] for row in csv.reader(file) if row[0] == "plane"])
    design = sm.add_constant(plane)
    out.update({f"vif {j}": variance_inflation_factor(design, j + 1) for j in range(3)})
    for i, p in enumerate(multipletests([0.04, 0.01, 0.03, 0.9, 0.012], method="fdr_bh")[1]):
        out[f"bh {i}"] = p
    for name, value in out.items():
        values.writerow([name, repr(float(value))])


def write(name, header, fill):
    with open(os.path.join(HERE, name), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        fill(out)


write("samples.csv", ["sample", "value"],
      lambda data: write("inference_values.csv", ["quantity", "value"], lambda values: inference(data, values)))
write("range.csv", ["q", "k", "df", "value"], ranges)
