#!/usr/bin/env python3
"""Golden values of the cap search (src/advise/cap), from the same model over dense matrices of all particles at once.

    tests/golden/make_cap_golden.py > tests/golden/cap_values.csv

A history of five curves, one of them of clocks, teaches weights and residuals; then a search over caps and one over clocks takes
windows of unequal, correlated noise. Needs numpy and scipy.
"""
import itertools

import numpy as np
from scipy.special import ndtr

PC = np.exp(np.linspace(np.log(.15), np.log(1.15), 12))
SHARES, RESTS, STATICS, EXPONENTS, FLOORS = (.02, .15, .3, .5, .7, .85, 1), (.2, .5, .8), (.05, .2), (1.7, 2.5, 3.5), (.35, .6, .8)
SCALES, SCALE_SHARE = (1, 2.5), (.75, .25)
KNOTS = np.linspace(-1.2, 0, 7)
GRID = np.array([(pc, a, po * pc, s, k, fm) for pc, s, k, fm, a, po in itertools.product(PC, STATICS, EXPONENTS, FLOORS, SHARES, RESTS)
                 if s < .75 * pc]).T


def curves(kind, c):
    pc, a, po, s, k, fm = GRID[:, :, None]
    if kind == "clock":
        full = np.clip((1 - s) / (pc - s), 1e-3, 1) ** (1 / k)
        speed = np.minimum(c, full)
        v = speed ** k
        low = np.minimum(s, po)
        rest = np.minimum(low + (po - low) * v, 1)
    else:
        v = np.clip((c - s) / (pc - s), 1e-3, 1)
        f = v ** (1 / k)
        speed = np.where(f < fm, fm * v / fm ** k, f)
        rest = np.minimum(po, c)
    t = a / speed + 1 - a
    return np.log(t), np.log((a / speed * (s + (pc - s) * v) + (1 - a) * rest) / t)


def model(kind, c, reference):
    n, u = len(c), np.log(c)
    t, p = curves(kind, c)
    near = np.exp(-abs(u[:, None] - u) / .5)
    covariances = []
    for scale in SCALES:
        v = np.zeros((2 * n, 2 * n))
        v[:n, :n] = scale ** 2 * (.010 ** 2 * np.eye(n) + .015 ** 2 * near) + 9
        v[n:, n:] = scale ** 2 * (.012 ** 2 * np.eye(n) + .03 ** 2 * near)
        covariances.append(v)
    return np.hstack([t - t[:, [reference]], p]), covariances


def ln_likelihood(means, v, y):
    r = y - means
    return -.5 * (np.einsum("ki,ij,kj->k", r, np.linalg.inv(v), r) + np.linalg.slogdet(v)[1])


def softmax(x):
    w = np.exp(x - x.max())
    return w / w.sum()


def learn(history):
    k = GRID.shape[1]
    each, weights = [], np.full(k, 1 / k)
    for kind, c, t, p in history:
        means, cov = model(kind, c, len(c) - 1)
        y = np.r_[t, p]
        each.append(np.logaddexp.reduce([np.log(q) + ln_likelihood(means, v + .005 ** 2 * np.eye(len(y)), y)
                                         for q, v in zip(SCALE_SHARE, cov)]))
    for _ in range(3):
        weights = .3 / k + .7 * np.mean([softmax(ll + np.log(weights)) for ll in each], 0)
    residual = {"cap": np.zeros((2, 7)), "clock": np.zeros((2, 7))}
    for (kind, c, t, p), ll in zip(history, each):
        n = len(c)
        e = np.r_[t, p] - softmax(ll + np.log(weights)) @ model(kind, c, n - 1)[0]
        e[:n] -= e[:n].mean()
        residual[kind] += [np.interp(KNOTS, np.log(c), e[:n]), np.interp(KNOTS, np.log(c), e[n:])]
    for kind, sums in residual.items():
        sums *= .8 / max(1, sum(h[0] == kind for h in history))
    remembered = []
    for (kind, c, t, p), ll in zip(history, each):
        share = softmax(ll + np.log(weights))
        heavy = np.argsort(-share, kind="stable")[:16]
        share = share[heavy] / share[heavy].sum()
        e = np.r_[t, p] - np.r_[[share @ x[heavy] for x in curves(kind, c)]].ravel()
        remembered.append((kind, np.log(c), e.reshape(2, -1), heavy, share))
    return weights, residual, remembered


def recall(memory, kind, c):
    """ln t and ln P of a remembered curve at c: what the grid says of it, and its residual where it is of the same kind."""
    of_kind, u, residual, heavy, share = memory
    smooth = [share @ x[heavy] for x in curves(kind, c)]
    return [s + (np.interp(np.log(c), u, r) if kind == of_kind else 0) for s, r in zip(smooth, residual)]


def posterior(kind, c, reference, prior, windows):
    """windows: (index, ln t, ln P, sd t, sd P, rho), each an observation of its own."""
    n, (weights, residual, remembered) = len(c), prior
    means, cov = model(kind, c, reference)
    shift = np.r_[[np.interp(np.log(c), KNOTS, residual[kind][i]) for i in (0, 1)]].ravel()
    extra = [np.r_[t - t[reference], p] for t, p in (recall(m, kind, c) for m in remembered)]
    means = np.vstack([means + shift, extra])
    ln_prior = [np.log(np.r_[weights * .65 * q, np.full(len(extra), .35 * r / len(extra))]) for q, r in zip(SCALE_SHARE, (.5, .5))]
    h = np.zeros((2 * len(windows), 2 * n))
    noise = np.zeros((2 * len(windows),) * 2)
    y = np.zeros(2 * len(windows))
    for w, (j, t, p, st, sp, rho) in enumerate(windows):
        h[2 * w, j] = h[2 * w + 1, n + j] = 1
        y[2 * w:2 * w + 2] = t, p
        noise[2 * w:2 * w + 2, 2 * w:2 * w + 2] = [[st * st, rho * st * sp], [rho * st * sp, sp * sp]]
    parts = []
    for ln, v in zip(ln_prior, cov):
        s = h @ v @ h.T + noise
        gain = v @ h.T @ np.linalg.inv(s)
        parts.append((ln + ln_likelihood(means @ h.T, s, y), means + (y - means @ h.T) @ gain.T, v - gain @ h @ v))
    top = max(p[0].max() for p in parts)
    total = sum(np.exp(p[0] - top).sum() for p in parts)
    parts = [(np.exp(ll - top), m, v) for ll, m, v in parts]
    parts = [(w[w > 1e-5 * total], m[w > 1e-5 * total], v) for w, m, v in parts]
    total = sum(p[0].sum() for p in parts)
    parts = [(w / total, m, v) for w, m, v in parts]
    mean = sum(w @ m for w, m, _ in parts)
    cov = sum(w.sum() * v + ((m - mean) * w[:, None]).T @ (m - mean) for w, m, v in parts)
    return parts, mean, cov


def within(parts, n, reference, slowdown):
    out = np.zeros(n)
    for w, m, v in parts:
        var = np.diag(v)[:n] + v[reference, reference] - 2 * v[:n, reference]
        out += w @ ndtr((np.log1p(slowdown) - m[:, :n] + m[:, [reference]]) / np.sqrt(np.maximum(var, 1e-12)))
    out[reference] = 1
    return out


def history():
    """Curves of a device that loses time and power in a wave over its caps; the test makes the same."""
    out = []
    for k in range(5):
        kind = "clock" if k == 4 else "cap"
        c = np.arange(.35, 1.01, .13) if k % 2 else np.arange(.4, 1.01, .1)
        share = .2 + .15 * k
        f = np.minimum(1, c ** (.4 + .1 * k))
        t = np.log(share / f + 1 - share) + .02 * np.sin(6 * c) + k
        p = np.log(np.minimum(.97 * c, .7 + .05 * k)) + .03 * np.cos(5 * c)
        out.append((kind, c, t, p))
    return out


def show(name, values):
    for i, v in enumerate(np.ravel(values)):
        print("%s %d,%.12g" % (name, i, v))


def main():
    print("quantity,value")
    prior = learn(history())
    order = np.argsort(-prior[0], kind="stable")[:5]
    show("ln weight sorted", np.log(prior[0][order]))
    for kind in ("cap", "clock"):
        show(kind + " residual", prior[1][kind])
    caps = np.array([.3, .45, .5, .62, .75, .9, 1, 1.1])
    windows = [(6, .02, -.3, .01, .01, 0), (1, .35, -.9, .02, .03, .5), (4, .08, -.42, .01, .01, 0), (1, .33, -.88, .01, .01, 0)]
    for kind in ("cap", "clock"):
        parts, mean, cov = posterior(kind, caps, 6, prior, windows)
        n = len(caps)
        show(kind + " ln t", mean[:n])
        show(kind + " ln P", mean[n:])
        show(kind + " sd t", np.sqrt(np.diag(cov)[:n]))
        show(kind + " sd P", np.sqrt(np.diag(cov)[n:]))
        show(kind + " within", within(parts, n, 6, .15))


main()
