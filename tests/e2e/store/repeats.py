"""Repeats with different commands are named wherever they count as repeats: repeats.py WATTLAW"""
import json
import os
import subprocess
import sys
import tempfile

wattlaw = os.path.abspath(sys.argv[1])
JOB = ("import os, sys, time\nworkers = sys.argv[1]\n"
       "with open(os.environ['WATTLAW_MARKS'], 'a') as f:\n"
       "    f.write(f'{time.monotonic_ns()} 0 start workload=net workers={workers}\\n')\n")


def run(*args, status=0):
    r = subprocess.run([wattlaw, *args], text=True, capture_output=True, timeout=60, check=False)
    if r.returncode != status:
        sys.exit(f"{args}: exit {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout


def expect(condition, what, seen):
    if not condition:
        sys.exit(f"{what}\n{seen}")


def measure(store, *command, name="train"):
    run("measure", "--store", store, "--name", name, "--sensors", "null", "--", sys.executable, "job.py", *command)


def measured_runs():
    """Same settings, another command; seeds, the run's folder and other settings do not count."""
    for command in (["1", "--seed", "1"], ["1", "--seed", "2"], ["1", "--data-seed=3", "--seed", "4"], ["2", "--lr", "0.1"]):
        measure("a.db", *command)
    said = json.loads(run("fit", "a.db", "--json"))["unlike_repeats"]
    expect([(r["run"], r["other"], r["workload"]) for r in said] == [(1, 3, "train")], "an option that the others lack", said)
    measure("b.db", "1", "--seed", "1")
    measure("b.db", "1", "--seed", "2")
    measure("b.db", "2", "--lr", "0.1")
    expect(json.loads(run("fit", "b.db", "--json"))["unlike_repeats"] == [], "runs that are alike", "")
    expect("different commands" not in run("fit", "b.db"), "nothing is said of them", "")
    measure("b.db", "2", "--lr", "0.2\x1b]0;owned\x07")
    name = "different commands: runs 3 and 4 of 'train' count as repeats: "
    for command in (["fit"], ["compare", "--factor", "local_batch"], ["recommend", "--minimize", "time"], ["predict", "--at", "workers=4"]):
        r = subprocess.run([wattlaw, command[0], "b.db", *command[1:]], text=True, capture_output=True, check=False)
        expect(name in r.stdout and "--lr 0.1; " in r.stdout and "0.2\\x1b]0;owned\\x07" in r.stdout, command, r.stdout + r.stderr)
    run("report", "b.db", "--out", "page", "--formats", "html")
    with open("page/report.html", encoding="utf-8") as f:
        expect("Different commands count as repeats, since their settings are the same: runs 3 and 4 of train" in f.read().replace("\u00a0", " "), "the report", "")


def sweeps():
    """All runs of a sweep have one template, whatever its placeholders become; another sweep may have another one."""
    with open("a.ini", "w", encoding="utf-8") as f:
        f.write(f"[campaign]\nname = swept\nrepeats = 2\n[sweep]\nworkload = net\nworkers = 1,2\n[measure]\nsensors = null\n[launch]\n"
                f"command = {sys.executable} {os.path.abspath('job.py')} {{workers}} {{seed}} {{run_dir}}/x r{{repeat}}\n")
    run("sweep", "a.ini")
    expect(json.loads(run("fit", "swept", "--json"))["unlike_repeats"] == [], "placeholders", "")
    measure("swept/wattlaw.db", "1", "other", name="net")
    said = json.loads(run("fit", "swept", "--json"))["unlike_repeats"]
    expect(len(said) == 1 and said[0]["other"] == 5 and said[0]["other_command"].endswith("job.py 1 other"), "a run of another command", said)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("job.py", "w", encoding="utf-8") as f:
        f.write(JOB)
    measured_runs()
    sweeps()
print("repeats: ok")
