#!/usr/bin/env python3
"""Writes joint_data.csv and joint_values.csv, which src/advise/joint is held against: the same model with dense matrices
(docs/adr/117), on a worked example, on one with unequal numbers of runs and settings without any, and on one with a third axis.

    python3 -m venv V && V/bin/pip install numpy scipy && V/bin/python make_joint_golden.py
"""
import csv
import itertools
import os

import numpy as np
from scipy.special import ndtr

TAUS, THETA, NS = np.exp(np.linspace(np.log(.001), np.log(.3), 8)), (.01, .03, .1), 7
RHO = .4
# slope mean, slope sd, curve sd of (ln t, ln P); length, in ln of the value
AXES = dict(workers=((-.9, 0.), (.25, .1), (.3, .1), 3 * np.log(2)), cap=((0., 0.), (0., 0.), (.4, .3), .7),
            batch=((0., 0.), (.5, .25), (.3, .1), 3 * np.log(2)))


def ln_half_cauchy(s, scale):
    return np.log(s) - np.log1p((s / scale)**2)


class Model:
    def __init__(self, axes, runs, kind):
        n, slope = len(runs), 0
        K0, unit = 25. * np.ones((n, n)), []
        for name, x in axes.items():
            mean, slope_sd, curve_sd, length = AXES[name]
            k = np.exp(-.5 * ((x[:, None] - x) / length)**2)
            K0 += slope_sd[kind]**2 * np.outer(x, x) + curve_sd[kind]**2 * k
            slope = slope + mean[kind] * x
            unit.append(k)
        KI = sum(p * q for p, q in itertools.combinations(unit, 2))
        i = np.array([j for j in range(n) if len(runs[j])])
        r = np.array([len(runs[j]) for j in i])
        y = np.array([np.mean(runs[j]) for j in i]) - slope[i]
        df, SS = (r - 1).sum(), sum(((runs[j] - np.mean(runs[j]))**2).sum() for j in i)
        g = np.exp(np.linspace(np.log(.001), np.log(.3), 200))
        lp = ln_half_cauchy(g, .03) - df * np.log(g) - .5 * SS / g**2
        a = g[lp > lp.max() - 3]
        sigmas = np.exp(np.linspace(np.log(a[0]), np.log(a[-1]), NS))
        m0, nodes = y.mean(), []
        for th, tau, (sig, l) in itertools.product(THETA, TAUS, zip(sigmas, np.interp(sigmas, g, lp))):
            S = K0 + th**2 * KI + tau**2 * np.eye(n)
            L = np.linalg.cholesky(S[np.ix_(i, i)] + np.diag(sig**2 / r))
            Li = np.linalg.inv(L)
            e, B = Li @ (y - m0), Li @ S[i]
            lw = l + ln_half_cauchy(tau, .02) - .5 * e @ e - np.log(np.diag(L)).sum()
            nodes.append((lw, m0 + slope + B.T @ e, S - B.T @ B, sig))
        w = np.exp(np.array([q[0] for q in nodes]) - max(q[0] for q in nodes))
        w = np.where(w > .003, w, 0)
        self.q = [(v, *q[1:]) for v, q in zip(w / w.sum(), nodes) if v > 0]
        self.mean = sum(q[0] * q[1] for q in self.q)
        self.s2 = sum(q[0] * q[3]**2 for q in self.q)


def difference(node, ref):
    _, m, V, _ = node
    d = np.diag(V)
    return (m, d) if ref is None else (m - m[ref], np.maximum(d + V[ref, ref] - 2 * V[:, ref], 1e-12))


def below(t, p, ref, limit):
    """P(t + P <= limit), or of t alone without p, against ref or absolute"""
    out = 0
    for a in t.q:
        m, v = difference(a, ref)
        for b in (p.q if p else [None]):
            mb, vb = difference(b, ref) if p else (0, 0)
            out = out + a[0] * (b[0] if p else 1) * ndtr((limit - m - mb) / np.sqrt(v + vb + 2 * RHO * np.sqrt(v * vb)))
    if ref is not None:
        out[ref] = limit >= 0
    return out


def example():
    N, c = np.repeat([1., 2, 4, 8], 3), np.tile([.5, .7, 1.], 4)
    t = np.log([152, 118, 100, 77, 60, 51, 39.6, 31, 26.6, 20.9, 16.6, 14.4])
    p = np.log(np.tile([.47, .64, .82], 4)) - .02 * np.log2(N)
    d = .01 * np.array([[1, -1, 0], [-1, 0, 1], [0, 1, -1], [1, 0, -1]]).ravel()
    return (dict(workers=np.log(N), cap=np.log(c)), [[a + b, a - b] for a, b in zip(t, d)],
            [[a - b, a + b / 2] for a, b in zip(p, d)], 8, np.log(1.17))


def simulated(seed, values, runs, ref, limit):
    rng = np.random.default_rng(seed)
    grid = np.array(list(itertools.product(*values.values())))
    x = {k: np.log(grid[:, i]) for i, k in enumerate(values)}
    t = 5 - .8 * x['workers'] + .3 * np.exp(-2 * x['cap']) - .2 * x.get('batch', 0) + rng.normal(0, .02, len(grid))
    p = -.3 + .7 * x['cap'] - .02 * x['workers'] + rng.normal(0, .01, len(grid))
    n = [runs(i) for i in range(len(grid))]
    return x, [list(v + rng.normal(0, .015, k)) for v, k in zip(t, n)], [list(v + rng.normal(0, .01, k)) for v, k in zip(p, n)], ref, limit


CASES = {
    'example': example(),
    'unequal': simulated(7, dict(workers=[1, 2, 4, 8, 16, 32], cap=[.4, .55, .7, .85, 1.]), lambda i: (i * 7 + 3) % 6, 9, .15),
    'batch': simulated(8, dict(workers=[1, 2, 4], cap=[.5, .7, 1.], batch=[16, 32, 64, 128]), lambda i: 1 + i % 3, 11, .1),
}


def write(name, head, rows):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), 'w', newline='') as f:
        out = csv.writer(f, lineterminator='\n')
        out.writerow(head)
        out.writerows(rows)


data, values = [], []
for name, (x, T, P, ref, limit) in CASES.items():
    t, p = Model(x, T, 0), Model(x, P, 1)
    for i in range(len(T)):
        at = [repr(float(x[k][i])) if k in x else 0 for k in AXES]
        data += [[name, i, *at, repr(float(a)), repr(float(b))] for a, b in zip(T[i], P[i])] or [[name, i, *at, '', '']]
    e = limit + .1
    for what, v in dict(mean_time=t.mean, mean_power=p.mean, time_below=below(t, None, ref, limit), energy_below=below(t, p, ref, -.05),
                        time_absolute=below(t, None, None, t.mean[ref] + e), energy_absolute=below(t, p, None, (t.mean + p.mean)[ref])).items():
        values += [[name, i, what, repr(float(v[i]))] for i in range(len(T))]
    values += [[name, 0, 'run_variance_time', repr(float(t.s2))], [name, 0, 'run_variance_power', repr(float(p.s2))],
               [name, ref, 'limit', repr(float(limit))]]
write('joint_data.csv', ['case', 'setting', *AXES, 'ln_t', 'ln_p'], data)
write('joint_values.csv', ['case', 'setting', 'quantity', 'value'], values)
