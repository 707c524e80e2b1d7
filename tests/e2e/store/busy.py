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


def set_job_parts(path, run, rows):
    columns = ("device", "scope", "method", "use_share", "reserved", "energy_j", "energy_lo_j", "energy_hi_j", "above_j", "idle_j", "why")
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM attribution")
        for row in rows:
            db.execute(f"INSERT INTO attribution(run, {', '.join(columns)}) VALUES({run}, {', '.join('?' * len(columns))})", row)
    db.close()


def check_job_parts(folder, store, run_id):
    """The job's part over several devices: the shares are a range, and the reason is that of the device of which nothing is known."""
    show = ("show", store, "--run", str(run_id))
    gpu, dram = (1, "gpu", "gpu-processes", .4, .5), (1, "dram", "cpu-time", 1, 1)
    set_job_parts(store, run_id, [(*gpu, 10, 9, 11, 8, 2, None), (*dram, 4, 3, 5, 3, 1, None)])
    said = run(folder, *show).stdout
    expect("14.0 J" in said and "by gpu-processes, cpu-time (40 to 100 % of the use)" in said.replace("cpu-time, gpu-processes", "gpu-processes, cpu-time")
           and "for the 50 to 100 % that it reserved" in said, "a range of shares", said)
    bounds, nothing = (None, 1, 11, None, None, "no idle power"), (None, None, None, None, None, "no CPU time")
    set_job_parts(store, run_id, [(*gpu, *bounds), (*dram, *nothing)])
    expect("unknown: no CPU time" in run(folder, *show).stdout, "why nothing is known", run(folder, *show).stdout)
    set_job_parts(store, run_id, [(*gpu, *nothing), (*dram, *bounds)])
    expect("unknown: no CPU time" in run(folder, *show).stdout, "in any order", run(folder, *show).stdout)


with tempfile.TemporaryDirectory() as folder:
    store, used = make_store(folder)
    check_job_parts(folder, store, used[0])
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

    # The decision rests on the same runs.
    for command in (["energy", store], ["recommend", store]):
        r = subprocess.run([wattlaw, *command], cwd=folder, text=True, capture_output=True)
        expect(f"busy machine: 1 of {len(used)} runs, included" in r.stdout and WHY in r.stdout, command, r.stdout + r.stderr)
        said = json.loads(subprocess.run([wattlaw, *command, "--json"], cwd=folder, text=True, capture_output=True).stdout)
        expect(said["busy_runs"] == [{"run": used[0], "busy": WHY}] and not said["busy_excluded"], command, said)
        r = subprocess.run([wattlaw, *command, "--exclude-busy"], cwd=folder, text=True, capture_output=True)
        expect((f"1 of {len(used)} runs, excluded" in r.stdout) if len(used) > 1 else "no run is left" in r.stderr, command, r)

    # A gate says which side.
    gate = ("compare", store, store, "--by", "workers")
    for extra in [], ["--markdown"]:
        said = run(folder, *gate, *extra).stdout
        for side in "BASE", "NEW":
            expect(f"busy machine: 1 of {len(used)} runs of {side}, included" in said, gate, said)

    run(folder, "report", store, "--out", "page")
    with open(os.path.join(folder, "page", "report.html"), encoding="utf-8") as f:
        expect(f"Measured on a busy machine, with the joules of others: 1 of {len(used)} runs (run {busy}: {WHY})." in f.read().replace("\u00a0", " "),
               "the report", "")

    with open(os.path.join(folder, "a.csv"), "w", encoding="utf-8") as f:
        f.write("workers,time_s\n1,10\n2,5\n4,3\n")
    expect("--exclude-busy needs a store" in run(folder, "fit", "a.csv", "--exclude-busy", status=2).stderr, "a CSV file", "")
print("busy: ok")
