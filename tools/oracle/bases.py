#!/usr/bin/env python3
"""Writes tests/golden/models/bases.json: DimeNet's bases in 50 digits, from the definitions (mpmath).

    tools/oracle/bases.py         (seconds; needs mpmath)

Distances and cosines are numbers of f32, among them those next to the cutoff, 0 and the ends of the cosine.
"""
import json
import os

import mpmath as mp
import numpy as np

ORDERS, RADIAL, POWER, CUTOFF = 7, 6, 6, 5
TO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "models", "bases.json")
mp.mp.dps = 50


def bessel(order, t):
    return mp.sqrt(mp.pi / (2 * t)) * mp.besselj(order + mp.mpf(1) / 2, t)


def zero(order, n):
    """The n-th zero of j_order is that of the Bessel function of half an order more."""
    return mp.besseljzero(order + mp.mpf(1) / 2, n)


def envelope(x):
    p = POWER
    return (1 / x - mp.mpf((p + 1) * (p + 2)) / 2 * x ** (p - 1) + p * (p + 2) * x ** p
            - mp.mpf(p * (p + 1)) / 2 * x ** (p + 1)) if x < 1 else mp.mpf(0)


def main():
    below = float(np.nextafter(np.float32(CUTOFF), np.float32(0)))
    distances = [float(np.float32(d)) for d in
                 [0.05, 0.1, 0.3, 0.7, 0.95, 1.1, 1.4, 1.54, 2.0, 2.4414, 2.5, 3.1, 3.7, 4.2, 4.8, 4.95, 4.99, 4.9999]]
    distances += [below, float(CUTOFF)]
    cosines = [float(np.float32(c)) for c in [-1, -0.9999999, -0.9, -0.5, -1e-3, 0, 0.2, 0.5, 0.77, 0.999, 1 - 2 ** -24, 1]]
    zeros = [[zero(l, n + 1) for n in range(RADIAL)] for l in range(ORDERS)]
    norms = [[mp.sqrt(2) / abs(bessel(l + 1, z)) for z in row] for l, row in enumerate(zeros)]
    radial, spherical = [], []
    for d in distances:
        x = mp.mpf(d) / CUTOFF
        u = envelope(x)
        radial += [u * mp.sin(n * mp.pi * x) for n in range(1, RADIAL + 1)]
        spherical += [u * norms[l][n] * bessel(l, zeros[l][n] * x) for l in range(ORDERS) for n in range(RADIAL)]
    angular = [mp.sqrt(mp.mpf(2 * l + 1) / (4 * mp.pi)) * mp.legendre(l, c) for c in cosines for l in range(ORDERS)]
    short = {"distances": distances, "cosines": cosines}
    values = {"zeros": sum(zeros, []), "bessel": radial, "spherical": spherical, "angular": angular}
    with open(TO, "w") as f:
        lines = [f'"{k}": {json.dumps(v)}' for k, v in short.items()]
        lines += [f'"{k}": [{", ".join(mp.nstr(x, 17, min_fixed=0, max_fixed=0) for x in v)}]' for k, v in values.items()]
        f.write(f'{{"orders": {ORDERS}, "radial": {RADIAL}, "power": {POWER}, "cutoff": {CUTOFF},\n ' + ",\n ".join(lines)
                + "}\n")


if __name__ == "__main__":
    main()
