#!/usr/bin/env python3
"""Every analysis command on data that do not support a result: degenerate.py WATTLAW

Each gets a defined answer: exit status 0 or 1, no "nan" or "inf" in the text, strict JSON, and in JSON a sentence (refused,
why, notes, refusals of a prediction) beside every number that is null."""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

COLUMNS = ("workload", "workers", "local_batch", "power_cap_w", "run", "epoch", "time_s", "energy_j", "samples", "updates")


def rows(counts, repeats=2, epochs=3, caps=(100, 250), time=lambda n, cap, r, k: 100 / n + 3 + 0.1 * r + 0.01 * k + 40 / cap):
    for cap in caps:
        for n in counts:
            for r in range(1, repeats + 1):
                for k in range(1, epochs + 1):
                    t = time(n, cap, r, k)
                    yield ["net", n, 32, cap, r, k, t, 200 * n * t if isinstance(t, float) else "", 6400, 200]


def with_gaps():
    for i, row in enumerate(rows((1, 2, 4, 8))):
        yield row[:6] + (["", ""] if i % 5 == 0 else [-row[6], row[7]] if i % 7 == 0 else [0, 0] if i % 11 == 0 else row[6:8]) + row[8:]


TABLES = {
    "no rows that count": [["net", "", 32, 100, 1, 1, "", "", "", ""], ["net", 0, 32, 250, 1, 1, 5.0, 10, "", ""]],
    "one row": list(rows((4,), repeats=1, epochs=1, caps=(100,))),
    "one worker count": list(rows((4,))),
    "two points": list(rows((1, 8), repeats=1, epochs=1, caps=(250,))),
    "two points a cap": list(rows((1, 8), repeats=1, epochs=1)),
    "one run each": list(rows((1, 2, 4, 8, 16), repeats=1)),
    "all times equal": list(rows((1, 2, 4, 8), time=lambda n, cap, r, k: 5.0)),
    "repeats equal": list(rows((1, 2, 4, 8), time=lambda n, cap, r, k: 100.0 / n + 2)),
    "an exact power law": list(rows((1, 2, 4, 8, 16), time=lambda n, cap, r, k: 100.0 / n)),
    "missing, negative and zero times": list(with_gaps()),
    "only negative times": [row[:6] + [-1.0, -2.0] + row[8:] for row in rows((1, 2, 4))],
    "every row twice": [row for row in rows((1, 2, 4, 8)) for _ in range(2)],
    "caps at worker counts of their own": list(rows((1, 2, 4), caps=(100,))) + list(rows((16, 32), caps=(250,))),
    "one cap with one worker count": list(rows((1, 2, 4), caps=(100,))) + list(rows((4,), caps=(250,))),
    "no cap given": [row[:3] + [""] + row[4:] for row in rows((1, 2, 4))],
    "no energy": [row[:7] + [""] + row[8:] for row in rows((1, 2, 4))],
    "updates in proportion to samples": [row[:2] + [32 if i % 2 else 64] + row[3:8] + [6400 + i, (6400 + i) / 32]
                                         for i, row in enumerate(rows((1, 2, 4, 8)))],
    "huge and tiny": list(rows((1, 2, 4), time=lambda n, cap, r, k: 1e300 / n + r * 1e298)) +
                     [["small"] + row[1:] for row in rows((1, 2, 4), time=lambda n, cap, r, k: 1e-300 / n)],
}
COMMANDS = {
    "fit": ["fit"],
    "fit energy": ["fit", "--response", "energy_j"],
    "compare": ["compare", "--factor", "power_cap_w"],
    "energy": ["energy"],
    "predict": ["predict", "--at", "workers=6", "--at", "workers=32"],
    "recommend": ["recommend", "--minimize", "time", "--max-slowdown", "10%"],
    "recommend energy": ["recommend", "--where", "workload=net"],
    "predict --force": ["predict", "--at", "workers=1000", "--force"],
}
AUDITS = {
    "one row": "group,level,beta,r2,n\na,1,0.8,0.9,8\n",
    "two points": "group,level,beta,r2,n\na,1,0.8,0.9,2\na,2,0.7,0.9,2\n",
    "perfect R2": "group,level,beta,r2,n\na,1,0.8,1.0,8\na,2,0.7,1.00,8\n",
    "no R2 and no n": "group,level,beta,r2,n\na,1,0.8,,\na,2,0.7,,\n",
    "beta of 0": "group,level,beta,r2,n\na,1,0.0,0.0,8\na,2,0.7,0.9,8\n",
}
SENTENCES = ("why", "refused", "no_models", "drivers_why", "runs_needed_why", "verdict_why")
# Members that are null by nature: what was not requested or not recorded, and what a note of the group explains.
FREE = {"carbon_g_per_kwh", "carbon_kind", "carbon_source", "price_per_kwh", "currency", "carbon_g", "cost", "target"}


def explained(value):
    """Is there a sentence anywhere in this part of the answer?"""
    if isinstance(value, dict):
        return any(key in SENTENCES and v or key in ("notes", "limits", "findings") and v or explained(v)
                   for key, v in value.items())
    return isinstance(value, list) and any(explained(v) for v in value)


def has_null(value):
    if isinstance(value, dict):
        return any(key not in SENTENCES and key not in FREE and has_null(v) for key, v in value.items())
    if isinstance(value, list):
        return any(has_null(v) for v in value)
    return value is None


def run(program, command):
    return subprocess.run([program, *command], capture_output=True, text=True)


def faults_of_text(program, command, path):
    done = run(program, [command[0], path, *command[1:]])
    if done.returncode not in (0, 1):
        yield f"exit status {done.returncode}: {done.stderr.strip()}"
    if not done.stdout and not done.stderr:
        yield "no word"
    for word in re.findall(r"(?<![\w-])[-+]?(?:nan|inf)(?![\w-])", done.stdout + done.stderr, re.IGNORECASE):
        yield f"{word} is printed"


def faults_of_json(program, command, path):
    done = run(program, [command[0], path, *command[1:], "--json"])
    if done.returncode not in (0, 1):
        yield f"exit status {done.returncode}: {done.stderr.strip()}"
    if not done.stdout:
        if not done.stderr.startswith("error: "):
            yield "neither JSON nor an error"
        return

    def refuse(word):
        raise ValueError(word)
    for group in json.loads(done.stdout, parse_constant=refuse).get("groups", []):
        if has_null(group) and not explained(group):
            yield f"null without a sentence in {group.get('title', group.get('group'))}"


def checks_of(table, command):
    """An instrumented program computes the same for both: it prints one of them, in turns by table and by command."""
    both = faults_of_text, faults_of_json
    return both if os.environ.get("TEST_SANITIZER", "none") == "none" else [both[(table + command) % 2]]


def main():
    program, failed, tried = os.path.abspath(sys.argv[1]), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        cases = [(name, ",".join(COLUMNS) + "\n" + "".join(",".join(map(str, row)) + "\n" for row in table), command, checks_of(t, c))
                 for t, (name, table) in enumerate(TABLES.items()) for c, command in enumerate(COMMANDS.items())]
        cases += [(name, table, ("audit", ["audit"]), checks_of(t, 0)) for t, (name, table) in enumerate(AUDITS.items())]
        for name, content, (title, command), checks in cases:
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            tried += 1
            for fault in itertools.chain.from_iterable(check(program, command, path) for check in checks):
                print(f"{title}, {name}: {fault}")
                failed += 1
    print(f"{tried} answers, {failed} faults")
    return 1 if failed or tried < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
