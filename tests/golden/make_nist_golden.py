#!/usr/bin/env python3
"""Writes nist_*.csv from the files of NIST's Statistical Reference Datasets (https://www.itl.nist.gov/div898/strd/), which
are in the public domain: make_nist_golden.py NONLINEAR_FOLDER ANOVA_FOLDER UNIVARIATE_FOLDER

The folders hold the files as NIST has them, NAME.dat or NAME.txt; copies stand in lmfit's sources (NIST_STRD), in scipy's
(scipy/stats/tests/data/nist_anova) and in Commons Math's (legacy/stat/data).
"""
import csv
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NONLINEAR, ANOVA, UNIVARIATE = sys.argv[1:]
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


def lines_of(folder, name):
    for suffix in (".dat", ".txt"):
        path = os.path.join(folder, name + suffix)
        if os.path.isfile(path):
            with open(path, encoding="latin-1") as file:
                return file.read().splitlines()
    raise FileNotFoundError(f"{folder}/{name}")


def data_lines(lines):
    """What stands behind the last line that says "Data"."""
    last = max(i for i, line in enumerate(lines) if re.search(r"\bData\b", line))
    return [line.split() for line in lines[last + 1:] if re.match(rf"\s*{NUMBER}", line)]


def nonlinear(data, values):
    for file in sorted(os.listdir(NONLINEAR)):
        name, suffix = os.path.splitext(file)
        if suffix != ".dat":
            continue
        lines = lines_of(NONLINEAR, name)
        for line in lines:
            row = re.match(rf"\s*(b\d)\s*=\s*({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})", line)
            if row:
                values.writerow([name, *row.groups()])
            row = re.match(rf"Residual Standard Deviation:\s*({NUMBER})", line)
            if row:
                values.writerow([name, "sigma", "", "", row[1], ""])
        for row in data_lines(lines):
            data.writerow([name, *row] + [""] * (3 - len(row)))


def univariate(data, values):
    patterns = {"mean": rf"(?:ybar:|mean\s*=)\s*({NUMBER})", "sd": rf"(?:s:|standardDeviation\s*=)\s*({NUMBER})",
                "lag1": rf"(?:r\(1\):|autocorrelationCoefficient\s*=)\s*({NUMBER})"}
    for name in ("PiDigits", "Lottery", "Lew", "Mavro", "Michelso", "NumAcc1", "NumAcc2", "NumAcc3", "NumAcc4"):
        lines = lines_of(UNIVARIATE, name)
        found = {key: re.search(pattern, "\n".join(lines)) for key, pattern in patterns.items()}
        values.writerow([name] + [found[key][1] if found[key] else "" for key in patterns])
        for row in data_lines(lines):
            data.writerow([name, row[0]])


def anova(data, values):
    """The two sets of measurements in full; of the nine made-up ones how many rows a treatment has."""
    for name in ["SiRstv", "AtmWtAg"] + [f"SmLs0{k}" for k in range(1, 10)]:
        lines = lines_of(ANOVA, name)
        rows = data_lines(lines)
        text = "\n".join(lines)
        between = re.search(rf"Between \w+\s+(\d+)\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})", text)
        within = re.search(rf"Within \w+\s+(\d+)\s+({NUMBER})", text)
        values.writerow([name, between[1], within[1], within[2], between[4], sum(row[0] == "1" for row in rows)])
        for row in rows if name[:2] != "Sm" else []:
            data.writerow([name, *row])
        if name[:2] == "Sm":
            check_pattern(name, rows)


def check_pattern(name, rows):
    """The made-up sets are written by the test: around a middle, which treatment has which, in tenths on a base."""
    base, seen = {"1": 1, "4": 10 ** 6, "7": 10 ** 12}[str(1 + 3 * ((int(name[-1]) - 1) // 3))], {}
    for treatment, value in rows:
        middle = 4 if treatment == "1" else 3 if int(treatment) % 2 == 0 else 5
        i = seen[treatment] = seen.get(treatment, -1) + 1
        assert round((float(value) - base) * 10) == middle + (0 if i == 0 else -1 if i % 2 else 1), (name, treatment, i)


def write(name, header, fill):
    with open(os.path.join(HERE, name), "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        fill(out)


def write_pair(stem, data_header, values_header, fill):
    write(stem + "_data.csv", data_header,
          lambda data: write(stem + "_values.csv", values_header, lambda values: fill(data, values)))


write_pair("nist_nonlinear", ["problem", "y", "x1", "x2"], ["problem", "name", "start1", "start2", "value", "se"], nonlinear)
write_pair("nist_univariate", ["problem", "value"], ["problem", "mean", "sd", "lag1"], univariate)
write_pair("nist_anova", ["problem", "treatment", "value"], ["problem", "df1", "df2", "within", "f", "each"], anova)
