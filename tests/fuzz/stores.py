#!/usr/bin/env python3
"""Mutated stores, read by the real commands: stores.py WATTLAW [--count N] [--seconds S] [--seed FIRST] [--keep DIR]

Case by case, each from its own seed: a store of some version is copied, changed (cells, rows, schema, bytes, what is beside
it) and read by some commands. A command must end by itself within a minute with status 0, 1 or 2, without a word of a
sanitizer, and leave the files as they were. What breaks this rule is printed with the seed that repeats it (--seed N --count 1)
and its folder is kept in DIR. Without --seconds the same cases run each time.
"""
import argparse
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "fixtures", "store"))
import past  # noqa: E402
from store_damage import mutate  # noqa: E402

LIMIT_S = 60
NEWEST = past.newest()

SAME = "store/s.db"  # as seen from a case's folder
READERS = [
    ["show"], ["show", "--json"], ["show", "--epochs"], ["show", "--run", "1", "--json"], ["show", "--run", "2"],
    ["show", "--run", "3", "--json"], ["status"], ["status", "--json"], ["fit", "--json"], ["fit"],
    ["fit", "--response", "energy_j"], ["energy"], ["energy", "--json"], ["energy", "--target", "val_top1=0.2"],
    ["compare", "--factor", "hardware"], ["compare", "--factor", "local_batch", "--json"],
    ["predict", "--at", "workers=16", "--force"], ["export", "observations"], ["export", "observations", "--format", "jsonl"],
    ["export", "samples", "--run", "1"], ["export", "samples", "--format", "csv-wide"], ["export", "--format=csv-long"], ["export", "--format=tex"],
    ["export", "--format=openmetrics"], ["export", "--format=trace"], ["export", "--format=zeus"], ["export", "--format=github-action-benchmark"],
    ["export", "--format=boamps", "--run", "1", "--field", "task.taskFamily=f", "--field", "task.dataset.dataType=text", "--field",
     "infrastructure.infraType=other"], ["export", "--format=bundle", "--out", "b.zip"], ["report", "--form", "proposal"],
    ["report", "--form", "model-card", "--country", "DE"], ["report", "--form", "ai-act"], ["report", "--form", "artifact"], ["audit"], ["report"], ["report", "--formats", "html,tex,md"],
    ["report", "--work", "tokens"], ["show", "--training", "gpt"], ["show", "--training", "gpt", "--json"], ["recommend"],
    ["recommend", "--json"], ["fit", "--work", "tokens"], ["fit", "--exclude-busy"], ["compare", SAME],
    ["compare", SAME, "--fail-if", "energy>3%", "--undecided", "pass", "--markdown"],
]
WRITERS = [["rebuild"]]


# ---- the stores to begin with ----

def clone(db, table, key, old, new, change):
    names = past.columns(db, table)
    for row in db.execute(f"SELECT * FROM {table} WHERE {key} = ?", (old,)).fetchall():
        row = dict(zip(names, row))
        row[key] = new
        if key != "id" and "id" in row:
            row["id"] = None
        row.update(change)
        past.insert(db, table, row)


def more_runs(path):
    """Further worker counts, machines and repeats, so that there is a law to fit."""
    db = sqlite3.connect(path)
    run, trial = 3, 3
    for hardware in "V100", "A100":
        for workers in 1, 2, 4, 8, 16:
            trial += 1
            clone(db, "trial", "id", 1, trial, {"key": f"workers={workers} hardware={hardware}", "workers": workers,
                                                "hardware": hardware})
            for repeat in 1, 2:
                run += 1
                clone(db, "run", "id", 1, run, {"trial": trial, "repeat": repeat, "position": run})
                for table in "actual", "metric", "metric_def", "variation", "phase_energy", "node", "cap", "span", "load", "attribution":
                    clone(db, table, "run", 1, run, {})
                for table in "epoch", "energy", "total":
                    clone(db, table, "run", 1, run, {"time_s": 1.0 / workers + repeat / 100, "energy_j": 100.0 + 9 * workers})
    db.commit()
    db.close()


def base(folder, version):
    """Version 0: the newest one, with more runs."""
    path = os.path.join(folder, f"base-{version}.db")
    if not os.path.exists(path):
        past.make(path, version or NEWEST)
        if not version:
            more_runs(path)
    return path


# ---- a case ----

def files_of(folder):
    found = {}
    for name in os.listdir(folder):
        if name.endswith("-shm"):
            continue  # SQLite's shared memory
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


# the last one is said where the leak checker cannot start its own process
NO_PROCESS = b"Resource temporarily unavailable", b"LeakSanitizer has encountered a fatal error"


def run(line, folder):
    """A machine that has no process left to give says nothing about the program."""
    for _ in range(30):
        try:
            done = subprocess.run(line, capture_output=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, cwd=folder)
            if not any(text in done.stderr for text in NO_PROCESS):
                return done
        except BlockingIOError:
            pass
        time.sleep(1)
    raise SystemExit("no process can be started on this machine")


def finding(program, command, store, out, counts):
    front = 2 if command[0] == "export" else 1
    line = [program, *command[:front], store, *command[front:]]
    if command[0] == "report" and "--form" not in command:
        line += ["--out", out]
    try:
        done = run(line, os.path.dirname(out))
    except subprocess.TimeoutExpired:
        return f"did not end within {LIMIT_S} s"
    said = done.stderr.decode(errors="replace")
    counts[done.returncode == 0] += 1
    if done.returncode not in (0, 1, 2) or "Sanitizer" in said or "runtime error:" in said:
        return f"exit status {done.returncode}\n{said[-3000:]}"
    if done.returncode and not said.strip() and not done.stdout.strip():
        return f"exit status {done.returncode} without a word"
    return None


def run_case(program, seed, bases, folder, counts):
    rng = random.Random(seed)
    os.makedirs(os.path.join(folder, "store"))
    store = os.path.join(folder, "store", "s.db")
    shutil.copy(base(bases, rng.choice([0, 0, 0, NEWEST, NEWEST, *range(1, NEWEST)])), store)
    try:
        mutate(rng, store)
    except (sqlite3.DatabaseError, ValueError):
        pass  # changed so much already that nothing can be changed in it
    before = files_of(os.path.dirname(store))
    commands = rng.sample(READERS, 3)
    if rng.random() < 0.15:
        commands += WRITERS
    for command in commands:
        found = finding(program, command, store, os.path.join(folder, "out"), counts)
        if not found and command not in WRITERS and files_of(os.path.dirname(store)) != before:
            found = f"changed the files: {before} became {files_of(os.path.dirname(store))}"
        if found:
            return f"seed {seed}: {' '.join(command)}: {found}"
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--count", type=int, default=0)
    options.add_argument("--seconds", type=float, default=0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--keep", default="")
    o = options.parse_args()
    program, found, cases, counts = os.path.abspath(o.program), 0, 0, [0, 0]
    until = time.monotonic() + o.seconds if o.seconds else float("inf")
    with tempfile.TemporaryDirectory(prefix="wattlaw-fuzz-") as work:
        for seed in range(o.seed, o.seed + o.count if o.count else sys.maxsize):
            if time.monotonic() > until:
                break
            folder = os.path.join(work, str(seed))
            text = run_case(program, seed, work, folder, counts)
            cases += 1
            if text:
                found += 1
                print(text, flush=True)
                if o.keep:
                    shutil.copytree(folder, os.path.join(o.keep, str(seed)), dirs_exist_ok=True)
                    print(f"kept in {os.path.join(o.keep, str(seed))}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{cases} stores, {found} findings (seeds from {o.seed}); {counts[1]} commands showed them, {counts[0]} refused")
    sys.exit(1 if found or not cases else 0)


main()
