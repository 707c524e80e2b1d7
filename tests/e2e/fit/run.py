#!/usr/bin/env python3
"""wattlaw fit on the tables in cases/, against the files in expected/: run.py WATTLAW

Text and messages must agree to the letter, numbers in JSON to 1e-7. WATTLAW_UPDATE_GOLDEN=1 writes the expected
files anew; read the difference before you commit it. Where tests/golden/law_values.json has values of statsmodels and
scipy for a table, they must agree to 1e-8 (1e-5 for curves).
"""
import json
import math
import os
import resource
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MAP = ["--map", "workload=model", "--map", "workers=gpus", "--map", "time_s=seconds", "--map", "run=job", "--map",
       "epoch=step"]

# name of the expected file: (table, options, exit status)
CASES = {
    "strong": ("strong", [], 0),
    "strong_json": ("strong", ["--json"], 0),
    "strong_energy": ("strong", ["--response", "energy_j"], 0),
    "strong_all_epochs": ("strong", ["--drop-epochs", "0"], 0),
    "strong_drop_most": ("strong", ["--drop-epochs=3"], 0),
    "strong_drop_too_many": ("strong", ["--drop-epochs", "9"], 0),
    "amdahl": ("amdahl", [], 0),
    "weak": ("weak", [], 0),
    "weak_json": ("weak", ["--json"], 0),
    "caps": ("caps", [], 0),
    "caps_together": ("caps", ["--by", "workload"], 0),
    "two_counts": ("two_counts", [], 0),
    "two_points": ("two_points", [], 0),
    "two_points_json": ("two_points", ["--json"], 0),
    "one_count": ("one_count", [], 1),
    "one_count_json": ("one_count", ["--json"], 1),
    "misspelt": ("misspelt", [], 1),
    "throughput": ("throughput", [], 0),
    "throughput_json": ("throughput", ["--json"], 0),
    "unlike": ("unlike", [], 0),
    "equal": ("equal", [], 0),
    "equal_json": ("equal", ["--json"], 0),
    "messy": ("messy", [], 0),
    "messy_json": ("messy", ["--json"], 0),
    "foreign": ("foreign", MAP, 0),
    "foreign_by_site": ("foreign", MAP + ["--by", "model,site"], 1),
    "foreign_by_extra": ("foreign", MAP + ["--by", "workload,site"], 0),
    "foreign_unmapped": ("foreign", [], 1),
    "hostile": ("hostile", [], 0),
    "hexadecimal": ("hexadecimal", [], 1),
    "thousands": ("thousands", [], 1),
    "estimated_energy": ("estimated", ["--response", "energy_j"], 0),
    "empty": ("empty", [], 1),
    "missing_file": ("missing", [], 1),
    "bad_column": ("strong", ["--by", "workloda"], 1),
    "bad_response": ("strong", ["--response", "speed"], 2),
    "bad_drop": ("strong", ["--drop-epochs", "-1"], 2),
}


def run(program, line, folder=HERE):
    """The exit status; standard output and, after a line of dashes, standard error."""
    done = subprocess.run([program, *line], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + ("----\n" + done.stderr if done.stderr else "")


def fit(table, options):
    return ["fit", f"cases/{table}.csv", *options]


def differ(got, want, where="$", tolerance=1e-7):
    """The first place at which two JSON values differ, or None."""
    if isinstance(want, dict) and isinstance(got, dict):
        if list(got) != list(want):
            return f"{where}: keys {list(got)}, not {list(want)}"
        undetermined = "0 within rounding" in str(want.get("why"))  # a term that is 0 has any shape: rounding decides
        keys = [key for key in want if not (undetermined and key == "params")]
        return next((d for key in keys if (d := differ(got[key], want[key], f"{where}.{key}", tolerance))), None)
    if isinstance(want, list) and isinstance(got, list):
        if len(got) != len(want):
            return f"{where}: {len(got)} elements, not {len(want)}"
        return next((d for i in range(len(want)) if (d := differ(got[i], want[i], f"{where}[{i}]", tolerance))), None)
    if isinstance(want, float) and isinstance(got, float):
        return None if math.isclose(got, want, rel_tol=tolerance, abs_tol=1e-12) else f"{where}: {got!r}, not {want!r}"
    return None if got == want else f"{where}: {got!r}, not {want!r}"


def check(program, name, line, want_status, update, folder=HERE):
    """What differs from the expected file of that name, or None."""
    status, got = run(program, line, folder)
    path = os.path.join(folder, "expected", name + (".json" if "--json" in line else ".txt"))
    if status != want_status:
        return f"exit status {status}, not {want_status}\n{got}"
    if update:
        with open(path, "w", encoding="utf-8") as file:
            file.write(got)
        return None
    with open(path, encoding="utf-8") as file:
        want = file.read()
    if "--json" in line:
        return differ(json.loads(got), json.loads(want))
    return None if got == want else f"expected\n{want}got\n{got}"


def subset(got, want):
    """The part of a JSON value for which there is something to compare."""
    if isinstance(want, dict):
        return {key: subset(got[key], want[key]) for key in want}
    if isinstance(want, list):
        return [subset(g, w) for g, w in zip(got, want)] if len(got) == len(want) else got
    return got


def check_peer(program, case, want):
    table, response = case.split()
    status, text = run(program, fit(table, ["--json", "--response", response]))
    if status:
        return f"exit status {status}\n{text}"
    group = json.loads(text)["groups"][0]
    curves = {"models": want["models"]}
    lines = {key: value for key, value in want.items() if key != "models"}
    return (differ(subset(group, lines), lines, tolerance=1e-8)
            or differ(subset(group, curves), curves, tolerance=1e-5))


def check_pipe(program):
    """A table from a pipe gives what the file gives: its beginning is read once."""
    with open(os.path.join(HERE, "cases", "strong.csv"), encoding="utf-8") as file:
        done = subprocess.run([program, "fit", "/dev/stdin", "--json"], input=file.read(), capture_output=True,
                              text=True)
    want = json.loads(run(program, fit("strong", ["--json"]))[1])
    return done.stderr if done.returncode else differ(json.loads(done.stdout)["groups"], want["groups"])


def fit_seconds(program, groups):
    """CPU time for groups of one worker count each, which have the same notes."""
    table = "workload,workers,run,epoch,time_s\n" + "".join(f"w{g},4,{g},{e},{10 + g % 7}\n" for g in range(groups) for e in (1, 2))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "fit", "/dev/stdin"], input=table, capture_output=True, text=True, check=False)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime


def check_growth(program):
    """Eight times the groups take about eight times as long; each group looked through all others for common notes: 50 times."""
    few, many = (fit_seconds(program, n) for n in (2000, 16000))
    return f"2,000 groups take {few} s, 16,000 {many} s" if many > 20 * few + 0.1 else None


def main():
    update = os.environ.get("WATTLAW_UPDATE_GOLDEN") == "1"
    failures = [(name, why) for name, (table, options, status) in CASES.items()
                if (why := check(os.path.abspath(sys.argv[1]), name, fit(table, options), status, update))]
    with open(os.path.join(HERE, "..", "..", "golden", "law_values.json"), encoding="utf-8") as file:
        peers = json.load(file)
    failures += [(case, why) for case in peers if (why := check_peer(os.path.abspath(sys.argv[1]), case, peers[case]))]
    for name, test in ("pipe", check_pipe), ("growth", check_growth):
        failures += [(name, why) for why in [test(os.path.abspath(sys.argv[1]))] if why]
    for name, why in failures:
        print(f"{name}: {why}\n")
    total = len(CASES) + len(peers) + 2
    print(f"{total - len(failures)} of {total} cases agree" + (" (written anew)" if update else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
