"""Runs on a busy machine in the tables that are made of them: busy.py WATTLAW"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "fixtures", "store"))
import past  # noqa: E402

WHY = "others used 40 % of the busy CPU time (0.8 of 2 CPUs)"
wattlaw = os.path.abspath(sys.argv[1])


def run(folder, *args, status=0):
    r = subprocess.run([wattlaw, *args], cwd=folder, text=True, capture_output=True, timeout=60)
    if r.returncode != status:
        sys.exit(f"{args}: exit {r.returncode}\n{r.stdout}{r.stderr}")
    return r


def expect(condition, what, seen):
    if not condition:
        sys.exit(f"{what}\n{seen}")


def make_store(folder):
    """A store of version 15, brought to the newest; one of its runs on a busy machine."""
    path = os.path.join(folder, "a.db")
    past.make(path, 15)
    run(folder, "rebuild", path)
    with sqlite3.connect(path) as db:
        used = [r[0] for r in db.execute("SELECT DISTINCT run FROM observations ORDER BY run")]
        db.execute("INSERT OR REPLACE INTO load(run, busy) VALUES(?, ?)", (used[0], WHY))
    db.close()
    return path, used


with tempfile.TemporaryDirectory() as folder:
    store, used = make_store(folder)
    busy = str(used[0])

    shown = json.loads(run(folder, "show", store, "--json").stdout)["runs"]
    expect({r["run"]: r["load"]["busy"] for r in shown}[used[0]] == WHY, "the reason in JSON", shown)
    whys = {r["load"]["why"] for r in shown if r["run"] != used[0]}
    expect(whys == {"not derived: see wattlaw rebuild"}, "what was not recorded says so", whys)
    expect("done (busy)" in run(folder, "show", store).stdout, "the table of runs", run(folder, "show", store).stdout)
    expect(f"  machine   {WHY}\n" in run(folder, "show", store, "--run", busy).stdout, "one run", "")

    for command in (["fit", store], ["compare", store, "--factor", "power_cap_w"], ["predict", store, "--at", "workers=8"]):
        r = subprocess.run([wattlaw, *command], cwd=folder, text=True, capture_output=True)
        expect(f"busy machine: 1 of {len(used)} runs, included" in r.stdout and WHY in r.stdout, command, r.stdout + r.stderr)
        r = subprocess.run([wattlaw, *command, "--json", "--exclude-busy"], cwd=folder, text=True, capture_output=True)
        if len(used) == 1:
            expect("no run is left: all 1 were measured on a busy machine" in r.stderr, command, r.stderr)
            continue
        said = json.loads(r.stdout)
        expect(said["busy_runs"] == [{"run": used[0], "busy": WHY}] and said["busy_excluded"], command, said)

    run(folder, "report", store, "--out", "page")
    with open(os.path.join(folder, "page", "report.html"), encoding="utf-8") as f:
        expect(f"Measured on a busy machine, with the joules of others: 1 of {len(used)} runs (run {busy}: {WHY})." in f.read(),
               "the report", "")

    with open(os.path.join(folder, "a.csv"), "w", encoding="utf-8") as f:
        f.write("workers,time_s\n1,10\n2,5\n4,3\n")
    expect("--exclude-busy needs a store" in run(folder, "fit", "a.csv", "--exclude-busy", status=2).stderr, "a CSV file", "")
print("busy: ok")
