#!/usr/bin/env python3
"""Forecasts of real scaling ladders by wattlaw and by other methods: predict_peers.py WATTLAW LADDERS [--splits]

    bench/predict_peers.py build/src/cmd/wattlaw shared/data/mlperf_ladders/ladders.csv

Ladders, splits and scores are those of tests/e2e/analysis/ladders.py. The others: least squares of ln t over runs by a power
law and by Amdahl's law (c >= 0), both with the t interval of a new run; Extra-P 4 (pip install extrap) with its default
options and with negative exponents, which gives no interval. Needs numpy and scipy. --splits prints each split too.
"""
import argparse
import math
import os
import sys
import warnings

import numpy as np
import scipy.optimize
import scipy.stats

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e", "analysis"))
import ladders  # noqa: E402


def runs_of(split):
    """ln N and ln t of each run."""
    points = [(math.log(n), math.log(s)) for n, runs in split.train.items() for s in runs]
    return np.array(points).T


def t_interval(mean, gradient, jacobian, residuals):
    """Of a new run; the curve's variance from its gradient by the parameters."""
    df = len(residuals) - jacobian.shape[1]
    s2 = residuals @ residuals / df
    half = scipy.stats.t.ppf(0.5 + ladders.LEVEL / 2, df) * math.sqrt(
        s2 * (1 + gradient @ np.linalg.pinv(jacobian.T @ jacobian) @ gradient))
    return ladders.Forecast(*np.exp([mean, mean - half, mean + half]))


def power_law(split):
    x, y = runs_of(split)
    jacobian, at = np.c_[np.ones(len(x)), x], np.array([1, math.log(split.at)])
    b = np.linalg.lstsq(jacobian, y, rcond=None)[0]
    return t_interval(at @ b, at, jacobian, y - jacobian @ b)


def amdahl(split):
    """ln t = ln(W/N + c) in the parameters ln W, ln c; where c vanishes, W is the only one."""
    x, y = runs_of(split)

    def curve(p, x):
        return np.logaddexp(p[0] - x, p[1])

    def slopes(p, x):
        return np.c_[np.exp(p[0] - x - curve(p, x)), np.exp(p[1] - curve(p, x))]

    start = [y[0] + x[0], y.min() - 2]
    fit = scipy.optimize.least_squares(lambda p: curve(p, x) - y, start, lambda p: slopes(p, x),
                                       bounds=([-np.inf, y.min() - 12], np.inf))
    at = np.array([math.log(split.at)])
    free = 2 if fit.x[1] > y.min() - 11 else 1
    return t_interval(curve(fit.x, at)[0], slopes(fit.x, at)[0, :free], slopes(fit.x, x)[:, :free], y - curve(fit.x, x))


def extrap(negative_exponents):
    from extrap.entities.callpath import Callpath
    from extrap.entities.coordinate import Coordinate
    from extrap.entities.measurement import Measurement
    from extrap.entities.metric import Metric
    from extrap.modelers.single_parameter.basic import SingleParameterModeler

    def forecast(split):
        modeler = SingleParameterModeler()
        modeler.allow_negative_exponents = negative_exponents
        points = [Measurement(Coordinate(n), Callpath("job"), Metric("time"), runs) for n, runs in split.train.items()]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it wants five worker counts
            model = modeler.model([points])[0]
        return ladders.Forecast(float(model.hypothesis.function.evaluate(split.at)), None, None)
    return forecast


def methods(program):
    found = {"wattlaw": ladders.wattlaw(program), "power law": power_law, "Amdahl": amdahl}
    try:
        found["Extra-P"], found["Extra-P, negative exponents"] = extrap(False), extrap(True)
    except ImportError as e:
        print(f"SKIP: Extra-P: {e} (pip install extrap)", file=sys.stderr)
    return found


def cell(value, form):
    return "" if math.isnan(value) else format(value, form)


def print_table(scores):
    print("| method | splits | error, median | inside | ratio of ends, median | interval score, mean | median |")
    print("|---|---|---|---|---|---|---|")
    for (name, half), all_of in scores.items():
        s = ladders.summary(all_of)
        print(f"| {name}, {half} | {len(all_of)} | {s['error']:.1%} | {cell(s['inside'], '.0%')} | {cell(s['ratio'], '.2f')} | "
              f"{cell(s['interval_score'], '.2f')} | {cell(float(np.median([x.interval_score for x in all_of])), '.2f')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="WATTLAW")
    parser.add_argument("table", metavar="LADDERS")
    parser.add_argument("--splits", action="store_true", help="print each split too")
    args = parser.parse_args()
    splits = list(ladders.splits_of(ladders.read_ladders(args.table)))
    scores = {}
    for name, method in methods(args.program).items():
        of_method = [ladders.score(s, method(s)) for s in splits]
        scores[name, "all"] = of_method
        scores[name, "seen"] = [s for s in of_method if s.split.calibration]
        scores[name, "not seen"] = [s for s in of_method if not s.split.calibration]
        for s in of_method if args.splits else []:
            print(f"{name}: {s.split.series}, {list(s.split.train)} to {s.split.at}: {s.forecast.value:.4g} s, off by "
                  f"{s.error:.1%}, {cell(s.inside, '.0%')} inside, ratio {cell(s.ratio, '.2f')}")
    print_table(scores)


if __name__ == "__main__":
    main()
