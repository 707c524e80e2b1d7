"""Runs on a busy machine, none without energy: contention.py WATTLAW FAKE_NVML FAULTS [--runs N] [--at-once N] [--loops N]
[--seconds S] [--epochs N] [--sensors WORD,...]

While busy loops run on all CPUs (by default 4, short runs; the full form is --runs 200 --at-once 20 --loops 40 --seconds 12),
runs with epochs are measured by the estimate of CPU power (cpu_model), by a fake NVML and by a fake RAPL whose calls
occasionally take half a second. Each run and each epoch must have an energy, or an epoch the true reason. Prints a summary."""
import argparse
import concurrent.futures
import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("wattlaw")
parser.add_argument("fake_nvml")
parser.add_argument("faults")
parser.add_argument("--runs", type=int, default=6)
parser.add_argument("--at-once", type=int, default=6)
parser.add_argument("--loops", type=int, default=4)
parser.add_argument("--seconds", type=float, default=3.2)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--sensors", default="cpu_model,nvml,rapl")
o = parser.parse_args()
wattlaw, fake, faults = map(os.path.abspath, (o.wattlaw, o.fake_nvml, o.faults))

LOOP = "while True: pass"
JOB = """
import os, sys, time
n, length_s = int(sys.argv[1]), float(sys.argv[2])
marks = os.open(os.environ["WATTLAW_MARKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
t = time.monotonic_ns()
for i in range(1, n + 1):
    os.write(marks, b"%d 0 epoch-begin epoch=%d\\n" % (t, i))
    t += int(length_s * 1e9)
    time.sleep(max(0, (t - time.monotonic_ns()) / 1e9))
    os.write(marks, b"%d 0 epoch-end epoch=%d\\n" % (t, i))
"""


def rapl(folder):
    """One package, which draws 50 W by the preloaded library."""
    zone = f"{folder}/root/sys/class/powercap/intel-rapl:0"
    os.makedirs(zone)
    for name, text in (("name", "package-0"), ("energy_uj", "1000000"), ("max_energy_range_uj", "262143328850")):
        with open(f"{zone}/{name}", "w", encoding="ascii") as f:
            f.write(text + "\n")


def energies(folder, said):
    """The run and its epochs: [epoch, energy, low, high, method, coverage, why]."""
    with contextlib.closing(sqlite3.connect(f"{folder}/wattlaw.db")) as db:
        rows = db.execute("SELECT epoch, energy_j, energy_lo_j, energy_hi_j, method, coverage, why FROM energy WHERE chosen "
                          "ORDER BY epoch").fetchall()
    if len(rows) != 1 + o.epochs:
        sys.exit(f"a row for the run and each epoch is missing: {rows}\n{said}")
    return rows


def measure(i):
    sensor = o.sensors.split(",")[i % len(o.sensors.split(","))]
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
        env.update(NVML_LIBRARY=fake, WATTLAW_FAKE_NVML="power=250; update_ms=20; slow=3:0.5")
        options = ["--sensors", sensor]
        if sensor == "rapl":
            rapl(folder)
            with open(f"{folder}/fault", "w", encoding="ascii") as f:
                f.write("slow energy_uj 0.5 3")
            env.update(LD_PRELOAD=faults, WATTLAW_COUNTER="energy_uj 50", WATTLAW_FAULT=f"{folder}/fault",
                       ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
            options += ["--sensor-root", f"{folder}/root"]
        r = subprocess.run([wattlaw, "measure", *options, "--", sys.executable, "-S", "-E", "-c", JOB, str(o.epochs),
                            str(o.seconds / o.epochs)], cwd=folder, env=env, text=True, capture_output=True)
        if r.returncode != 0:
            sys.exit(f"exit {r.returncode}: {r.stderr}")
        return sensor, energies(folder, r.stderr), r.stderr


loops = [subprocess.Popen([sys.executable, "-S", "-E", "-c", LOOP], preexec_fn=lambda: os.nice(1)) for _ in range(o.loops)]
try:
    with concurrent.futures.ThreadPoolExecutor(o.at_once) as pool:
        results = list(pool.map(measure, range(o.runs)))
finally:
    for p in loops:
        p.kill()
    for p in loops:
        p.wait()

bad = []
for sensor in o.sensors.split(","):
    of = [rows for s, rows, _ in results if s == sensor]
    runs, epochs = [rows[0] for rows in of], [row for rows in of for row in rows[1:]]
    widths = sorted((r[3] - r[2]) / 2 / r[1] for r in runs + epochs if r[1])
    methods = {m: sum(r[4] == m for r in runs + epochs) for m in ("counter", "integral", "combined")}
    without = [r for r in runs + epochs if r[1] is None]
    print(f"{sensor}: {len(runs)} runs, {len(epochs)} epochs, {len(without)} without energy; half width "
          f"{100 * widths[len(widths) // 2]:.2f} % (median), {100 * widths[-1]:.1f} % (widest); {methods}; coverage of a run "
          f"at least {min(r[5] for r in runs):.3f}")
    bad += without
    bad += [("the interval does not hold the energy", r) for r in runs + epochs if r[1] and not r[2] <= r[1] <= r[3]]
    if sensor != "cpu_model":
        watts = {"nvml": 250, "rapl": 50}[sensor]
        length_s = o.seconds / o.epochs
        missed = [r for r in epochs if r[1] and not r[2] - 0.02 * watts <= watts * length_s <= r[3] + 0.02 * watts]
        if len(missed) > 1 + len(epochs) / 20:
            bad += [("the truth is not in the interval", r) for r in missed]
if bad:
    sys.exit("\n".join(map(str, bad)) + "\n" + "\n".join(said for _, rows, said in results if any(r[1] is None for r in rows)))
