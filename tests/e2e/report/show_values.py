#!/usr/bin/env python3
"""wattlaw show on a store whose numbers are computed by hand: show_values.py WATTLAW MAKE_SAMPLES

The store is tests/unit/report/known_answer_store.c: runs of three epochs, of which the first lasts twice as long, at a constant
power. So a run of N workers that draw w watts each, with epochs of t seconds, lasts 4 t, needs 4 t N w joules, and its
mean epoch lasts 4 t / 3.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

# workers, seconds of an epoch, watts per worker, accuracy of the first of three epochs (each adds .1)
RUNS = [(1, 3600, 40, .5), (1, 2304, 60, .7), (4, 1800, 40, .5), (4, 1152, 60, .7), (16, 900, 40, .5), (16, 576, 60, .7)]

wrong = []


def check(holds, what):
    if not holds:
        wrong.append(what)


def near(text, want, what):
    """A printed number has three digits or more."""
    found = re.match(r"[-+0-9.e]+", text or "")
    check(found and abs(float(found[0]) - want) <= 5e-4 * abs(want), f"{what} is {text}, by hand {want:g}")


def table(text, first):
    """The rows under the head that begins with `first`, each {head: cell}; cells are under their heads."""
    lines = text.splitlines()
    at = next((i for i, line in enumerate(lines) if line.lstrip().startswith(first)), None)
    if at is None:
        check(False, f"no table that begins with {first!r} in\n{text}")
        return []
    heads = re.split(r"  +", lines[at].strip())
    rows = []
    for line in lines[at + 1:]:
        if not line.strip():
            break
        rows.append(dict(zip(heads, re.split(r"  +", line.strip()))))
    return rows


def show(program, folder, *arguments):
    done = subprocess.run([program, "show", *arguments], cwd=folder, capture_output=True, text=True)
    check(done.returncode == 0, f"show {arguments}: {done.stderr}")
    return done.stdout


def check_runs(program, folder):
    text = show(program, folder, "hand")
    rows = table(text, "run ")
    check(len(rows) == len(RUNS), f"{len(rows)} rows in\n{text}")
    for i, (row, (workers, t, watts, accuracy)) in enumerate(zip(rows, RUNS)):
        what = f"run {i + 1}: "
        near(row["run"], i + 1, what + "its number")
        near(row["workers"], workers, what + "workers")
        near(row["global_batch"], 32 * workers, what + "global batch")
        near(row["repeat"], i % 2 + 1, what + "repeat")
        near(row["epoch s"], 4 * t / 3, what + "epoch s")
        near(row["run s"], 4 * t, what + "run s")
        near(row["energy J"], 4 * t * workers * watts, what + "energy J")
        near(row["power W"], workers * watts, what + "power W")
        near(row["value"], accuracy + .2, what + "value")
    for common in "status=done", "workload=net", "local_batch=32", "epochs done=3", "metric=val_top1":
        check(common in text, f"{common} is not in\n{text}")
    check("estimated" in text, f"an estimated energy is not marked:\n{text}")
    check("estimated" not in show(program, folder, "measured"), "a measured energy is called estimated")


def check_run(program, folder):
    """Run 4: 4 workers, 1152 s, 60 W each: 240 W for 4608 s."""
    text = show(program, folder, "hand", "--run", "4")
    lines = {line[:11].strip(): line[11:].strip() for line in text.splitlines() if line.startswith("  ")}
    check(text.startswith("run 4, done\n"), text[:40])
    check(lines["settings"] == "net workers=4 local_batch=32 global_batch=128", lines["settings"])
    check(lines["repeat"] == "2", lines["repeat"])
    check(lines["command"] == "train net", lines["command"])
    check(lines["time"] == "1h16m", lines["time"])  # 4608 s
    check("one tick every 922 s (requested: 922 s)" in lines["sampling"], lines["sampling"])  # a fifth of it
    check("0 skipped, 0 readings lost" in lines["sampling"], lines["sampling"])
    check(lines["energy"].startswith("1.11 MJ"), lines["energy"])
    check("mean 240 W" in lines["energy"] and "estimated" in lines["energy"], lines["energy"])

    energies = table(text, "device ")
    check(len(energies) == 1, f"{len(energies)} energies in\n{text}")
    row = energies[0]
    check(row["device"] == "Hand-made CPU dev-0", row["device"])
    check((row["scope"], row["method"], row["counted"]) == ("package", "integral", "yes"), str(row))
    near(row["energy J"], 1105920, "energy of the device")
    near(row["from"], .9 * 1105920, "its lower end")
    near(row["to (95 %)"], 1.1 * 1105920, "its upper end")
    near(row["above idle J"], .75 * 1105920, "above idle")
    near(row["mean W"], 240, "its power")
    near(row["covered %"], 100, "its coverage")
    check("estimated" in row.get("provenance", ""), f"the energy of an estimating device is not marked: {row}")

    epochs = table(text, "epoch ")
    check(len(epochs) == 3, f"{len(epochs)} epochs in\n{text}")
    for i, row in enumerate(epochs):
        seconds = 1152 * (1 if i else 2)
        near(row["epoch"], i + 1, "epoch")
        near(row["time s"], seconds, f"time of epoch {i + 1}")
        near(row["samples/s"], 640 / seconds, f"samples/s of epoch {i + 1}")
        near(row["updates"], 20, f"updates of epoch {i + 1}")
        near(row["energy J"], 240 * seconds, f"energy of epoch {i + 1}")
        near(row["power W"], 240, f"power of epoch {i + 1}")
        near(row["train_loss"], 3 - i, f"loss of epoch {i + 1}")
        near(row["val_top1"], .7 + .1 * i, f"accuracy of epoch {i + 1}")
    check(not re.search("estimated|simulated", show(program, folder, "measured", "--run", "4")),
          "a measured run is called estimated or simulated")


def check_json(program, folder):
    runs = json.loads(show(program, folder, "hand", "--json"))["runs"]
    for row, (workers, t, watts, accuracy) in zip(runs, RUNS):
        want = {"time_s": 4 * t, "epoch_time_s": 4 * t / 3, "energy_j": 4 * t * workers * watts,
                "energy_lo_j": .9 * 4 * t * workers * watts, "energy_hi_j": 1.1 * 4 * t * workers * watts,
                "mean_power_w": workers * watts, "epochs_seen": 3}
        for key, value in want.items():
            check(abs(row[key] - value) < 1e-9 * value, f"run {row['run']}: {key} is {row[key]}, by hand {value}")
        check(row["estimated"] is True and row["simulated"] is False, f"marks of run {row['run']}")
        check(row["settings"]["workers"] == workers, f"workers of run {row['run']}")
    epochs = json.loads(show(program, folder, "measured", "--run", "4", "--json"))
    check(epochs["estimated"] is False, "a measured run is estimated")
    check([e["time_s"] for e in epochs["epochs"]] == [2304, 1152, 1152], str(epochs["epochs"]))

    rows = json.loads(show(program, folder, "hand", "--epochs", "--json"))["observations"]
    check(len(rows) == 18, f"{len(rows)} observations")
    mine = [row for row in rows if row["run"] in ("4", 4)]
    check([row["time_s"] for row in mine] == [2304, 1152, 1152], str(mine))
    check([row["energy_j"] for row in mine] == [240 * 2304, 240 * 1152, 240 * 1152], str(mine))
    check(all(row["estimated"] == 1 and row["simulated"] == 0 for row in mine), str(mine))


def main():
    program, make_samples = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="wattlaw-show-") as folder:
        subprocess.run([make_samples, folder], check=True)
        check_runs(program, folder)
        check_run(program, folder)
        check_json(program, folder)
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


main()
