#!/usr/bin/env python3
"""wattlaw status, show and export on a known store, against the files in expected/: run.py WATTLAW

The store is tests/fixtures/store/version-1.sql, so that each command also reads a file of an older version.
WATTLAW_UPDATE_GOLDEN=1 writes the expected files anew; read the difference before you commit it.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURE = os.path.join(HERE, "..", "..", "fixtures", "store", "version-1.sql")

# name of the expected file: (arguments, exit status); lab1 is a folder with the store, lab1.db the store itself
CASES = {
    "status": (["status", "lab1"], 0),
    "status_json": (["status", "lab1.db", "--json"], 0),
    "status_campaign": (["status", "lab1", "--campaign", "lab"], 1),
    "status_nothing": (["status"], 2),
    "status_nowhere": (["status", "nowhere.db"], 1),
    "status_no_store": (["status", "notes.txt"], 1),
    "status_skipped_together": (["status", "many.db"], 0),
    "show": (["show", "lab1"], 0),
    "show_json": (["show", "lab1", "--json"], 0),
    "show_run": (["show", "lab1", "--run", "1"], 0),
    "show_run_json": (["show", "lab1", "--run", "1", "--json"], 0),
    "show_run_failed": (["show", "lab1", "--run", "3"], 0),
    "show_no_run": (["show", "lab1", "--run", "99"], 1),
    "show_run_many_devices": (["show", "many.db", "--run", "2"], 0),
    "show_epochs": (["show", "lab1", "--epochs"], 0),
    "show_epochs_json": (["show", "lab1", "--epochs", "--json"], 0),
    "export_observations": (["export", "observations", "lab1"], 0),
    "export_observations_jsonl": (["export", "observations", "lab1", "--format", "jsonl", "--campaign", "lab1"], 0),
    "export_samples": (["export", "samples", "lab1", "--run", "1"], 0),
    "energy_target_unknown": (["energy", "lab1", "--target", "train_los=1"], 1),
    "export_samples_planned": (["export", "samples", "early.db", "--run", "4"], 1),
    "export_unknown": (["export", "sample", "lab1"], 2),
    "export_wrong": (["export", "samples", "lab1", "--format", "jsonl"], 2),
}


def make_store(path):
    with open(FIXTURE) as file, sqlite3.connect(path) as db:
        db.executescript(file.read())


def add_devices(path, n):
    """Adds n GPUs to run 2, like the one that it has."""
    with sqlite3.connect(path) as db:
        for i in range(1, n + 1):
            db.execute("INSERT INTO device(host, uuid, sensor, number, name) VALUES ('node1', ?, 'nvml', ?, 'V100')",
                       (f"GPU-{i}", i))
            device = db.execute("SELECT max(id) FROM device").fetchone()[0]
            db.execute("""INSERT INTO channel(run, device, quantity, unit, scope, variant)
                          VALUES (2, ?, 'sm_util_pct', '%', 'gpu', '')""", (device,))
            db.execute("INSERT INTO stat(channel, readings, mean, sd, min, max) SELECT max(id), 20, ?, 1, ?, 99 FROM channel",
                       (80 + i, 70 - i))
            db.execute("""INSERT INTO energy(run, device, scope, method, energy_j, mean_power_w, coverage, chosen)
                          VALUES (2, ?, 'gpu', 'counter', 100, 50, 0.9, 1)""", (device,))


def add_two_skipped_trials(path):
    """Adds two trials that cannot be run, for the same reason as trial 3."""
    with sqlite3.connect(path) as db:
        db.row_factory = sqlite3.Row
        row = dict(db.execute("SELECT * FROM trial WHERE id = 3").fetchone())
        for workers in 16, 32:
            row.update(id=None, key=f"workers={workers}", workers=workers)
            db.execute(f"INSERT INTO trial({','.join(row)}) VALUES ({','.join('?' * len(row))})", tuple(row.values()))


def plan_run_4(path):
    """Plans run 4, which has not begun."""
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO run(trial, repeat, attempt, position) SELECT trial, 9, 1, 9 FROM run WHERE id = 1")


def run(program, folder, arguments):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + ("----\n" + done.stderr if done.stderr else "")


def compare(name, text):
    path = os.path.join(HERE, "expected", name + ".txt")
    if os.environ.get("WATTLAW_UPDATE_GOLDEN"):
        with open(path, "w") as file:
            file.write(text)
        return []
    with open(path) as file:
        want = file.read()
    return [] if text == want else [f"{name}: is\n{text}\ninstead of\n{want}"]


def check_case(program, folder, name, arguments, status):
    got, text = run(program, folder, arguments)
    wrong = [] if got == status else [f"{name}: exit status {got}, not {status}\n{text}"]
    if "--json" in arguments:
        json.loads(text)
    if "jsonl" in arguments and status == 0:
        for line in text.splitlines():
            json.loads(line)
    return wrong + compare(name, text)


def the_default_store_is_wattlaw_db(program, folder):
    """Without STORE, status reads wattlaw.db of the current folder."""
    status, text = run(program, os.path.join(folder, "lab1"), ["status"])
    same = run(program, folder, ["status", "lab1"])[1]
    return [] if status == 0 and text == same else [f"status without a store: {status}\n{text}"]


def a_failed_export_keeps_the_old_file(program, folder):
    """-o keeps the old file when it fails, and leaves no temporary file."""
    target = os.path.join(folder, "out.csv")
    status, _ = run(program, folder, ["export", "observations", "lab1", "-o", "out.csv"])
    with open(target) as file:
        first = file.read()
    bad, _ = run(program, folder, ["export", "observations", "nowhere.db", "-o", "out.csv"])
    with open(target) as file:
        same = file.read() == first
    left = [name for name in os.listdir(folder) if name.endswith(".tmp")]
    pipe, _ = run(program, folder, ["export", "observations", "lab1", "-o", "/dev/stdout"])
    full, _ = run(program, folder, ["export", "observations", "lab1", "-o", "/dev/full"])
    devices = pipe == 0 and full == 1 and not os.path.isfile("/dev/full")
    right = status == 0 and bad == 1 and same and first.startswith("workload,") and not left and devices
    return [] if right else [f"export -o: {status}, {bad}, {same}, {left}, {pipe}, {full}"]


def main():
    program = os.path.abspath(sys.argv[1])
    wrong = []
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        os.mkdir(os.path.join(folder, "lab1"))
        make_store(os.path.join(folder, "lab1", "wattlaw.db"))
        make_store(os.path.join(folder, "lab1.db"))
        make_store(os.path.join(folder, "many.db"))
        make_store(os.path.join(folder, "early.db"))
        plan_run_4(os.path.join(folder, "early.db"))
        add_devices(os.path.join(folder, "many.db"), 19)
        add_two_skipped_trials(os.path.join(folder, "many.db"))
        with open(os.path.join(folder, "notes.txt"), "w") as file:
            file.write("not a store, but a note that is long enough to be one\n")
        for name, (arguments, status) in CASES.items():
            wrong += check_case(program, folder, name, arguments, status)
        wrong += the_default_store_is_wattlaw_db(program, folder)
        wrong += a_failed_export_keeps_the_old_file(program, folder)
    for text in wrong:
        print(text)
    sys.exit(1 if wrong else 0)


main()
