"""Runs that wait until their GPUs are cool: cooldown.py WATTLAW FAKE_NVML FAKE_LOAD"""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

wattlaw, fake, load = map(os.path.abspath, sys.argv[1:4])


def expect(condition, what, run=None):
    if not condition:
        sys.exit(what if run is None else f"{what}\nexit {run.returncode}\n{run.stdout}\n{run.stderr}")


class Machine:
    """Two GPUs of this script; computed temperatures are 32 C when idle and 59 C at full load."""

    def __init__(self, script="profile=A100; spread=0; thermal_s=0.8"):
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-cool-")
        self.path = self.folder.name
        self.env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
        self.env["WATTLAW_FAKE_NVML"] = f"gpus=2; {script}; world={self.path}/world"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def command(self, *options, job=("true",)):
        return [wattlaw, "measure", "--nvml-library", fake, "--store", "s.db", "--json-file", "s.json", *options, "--", *job]

    def run(self, *command):
        return subprocess.run(command, env=self.env, cwd=self.path, text=True, capture_output=True, check=False)

    def measure(self, *options, job=("true",)):
        """What it printed, and the object `cooldown` of its JSON."""
        r = self.run(*self.command(*options, job=job))
        with open(os.path.join(self.path, "s.json"), encoding="utf-8") as f:
            return r, json.load(f).get("cooldown")

    def rows(self, sql, store="s.db"):
        with sqlite3.connect(os.path.join(self.path, store)) as db:
            return db.execute(sql).fetchall()


STORED = "SELECT cooldown_c, cooldown_s > 0, begin_c, not_cool FROM run ORDER BY id DESC LIMIT 1"
TOUCH = ("touch", "ran")

# Idle GPUs are cool; without the option nothing is waited for or stored.
with Machine() as m:
    r, cooldown = m.measure()
    expect(r.returncode == 0 and cooldown is None and m.rows(STORED) == [(None, None, None, None)], "cooldown not requested", r)
    r, cooldown = m.measure("--cooldown-c", "40")
    expect(r.returncode == 0 and cooldown["asked_c"] == 40 and cooldown["begin_c"] == 32 and cooldown["why"] is None, f"cool: {cooldown}", r)
    expect(m.rows(STORED) == [(40, 1, 32, None)] and "cooldown     to 40 C" in r.stderr, "stored and printed", r)
    # A second of work heats them to 51 C: the next run begins at 34 C or less.
    r, cooldown = m.measure(job=(load, "workers=2", "load=1", "ms=1000"))
    expect(r.returncode == 0, "work", r)
    r, cooldown = m.measure("--cooldown-c", "34")
    expect(r.returncode == 0 and cooldown["begin_c"] <= 34 and cooldown["why"] is None, f"waited: {cooldown}", r)
    expect(r.stderr.count("waiting for GPUs to cool down: GPU-a000000") == 1, "printed once", r)
    r = m.run(wattlaw, "show", "s.db", "--run", "4")
    expect("cooldown  to 34 C, waited" in r.stdout, "shown", r)

# A campaign waits before each of its runs, each of which heats the GPUs.
with Machine() as m:
    with open(os.path.join(m.path, "c.ini"), "w", encoding="ascii") as f:
        f.write(f"""[campaign]
name = cool
repeats = 2
[measure]
nvml_library = {fake}
cooldown_c = 40
cooldown_wait = 60s
[launch]
command = {load} workers=2 load=1 ms=600
""")
    r = m.run(wattlaw, "sweep", "c.ini")
    begun = m.rows("SELECT begin_c, not_cool FROM run", "cool/wattlaw.db")
    expect(r.returncode == 0 and len(begun) == 2 and all(c <= 40 and not why for c, why in begun), f"each began cool: {begun}", r)
    r = m.run(wattlaw, "export", "observations", "cool")
    head, *rest = [line.split(",") for line in r.stdout.splitlines()]
    temperatures = [float(row[head.index("begin_temperature_c")]) for row in rest]
    expect(temperatures == [c for c, _ in begun], f"a column of the table: {temperatures}", r)

# GPUs that stay warm, or report no temperature: one warning, and the run begins anyway, with a note.
NO_SENSOR = "fail=1:GetTemperatureV:3; fail=1:GetTemperature:3"
for script, wait, begin_c, text in (
        ("temperature_c=44,70", "0.4s", 70, "GPU-a0000001-0000-4000-8000-fa4e00000000 (Fake GPU) is at 70 C after 400 ms, above the limit of 45 C"),
        (f"temperature_c=41; {NO_SENSOR}", "60s", 41, "GPU-a0000001-0000-4000-8000-fa4e00000000 (Fake GPU) reports no temperature"),
        ("fail=*:GetTemperatureV:3; fail=*:GetTemperature:3", "60s", None, "GPU-a0000000-0000-4000-8000-fa4e00000000 (Fake GPU) reports no"),
        ("fail=1:GetTemperatureV:15; fail=1:GetTemperature:15", "0.4s", 51, "reports no temperature"),
        ("init=9", "60s", None, "no GPU reports its temperature")):
    with Machine(script) as m:
        limit = "45" if begin_c != 51 else "60"
        r, cooldown = m.measure("--cooldown-c", limit, "--cooldown-wait", wait, job=TOUCH)
        line = "the run begins although its GPUs have not cooled down: "
        expect(r.returncode == 0 and text in cooldown["why"] and cooldown["begin_c"] == begin_c, f"'{script}': {cooldown}", r)
        expect(r.stderr.count(line) == 1 and text in r.stderr, f"'{script}': one warning", r)
        expect(os.path.exists(os.path.join(m.path, "ran")) and m.rows(STORED)[0][2:] == (begin_c, cooldown["why"]), "the run begins, with a note")

# Ctrl-C ends the wait.
with Machine("temperature_c=70") as m:
    p = subprocess.Popen(m.command("--cooldown-c", "45", job=("sleep", "60")), env=m.env, cwd=m.path, text=True,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while "waiting for GPUs" not in p.stderr.readline():
        expect(p.poll() is None, "still waiting")
    began = time.monotonic()
    p.send_signal(signal.SIGINT)
    p.communicate()
    expect(p.returncode == 128 + signal.SIGINT and time.monotonic() - began < 30, f"ended by the signal: {p.returncode}")

with Machine() as m:
    r = m.run(*m.command("--cooldown-c", "warm"))
    expect(r.returncode == 2 and "--cooldown-c" in r.stderr, "a value that is not a temperature", r)
