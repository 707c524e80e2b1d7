"""Energy of runs with missing readings: holes.py WATTLAW FAKE_NVML FAKE_LOAD FAKE_TRUTH FAULTS

Readings that take long or fail, a counter that stops answering, a wattlaw that is stopped: a run and its epochs have their
energy with the truth in its interval; if it has none, the true reason is stored and printed."""
import contextlib
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import cases

wattlaw, fake, load, truth, faults = map(os.path.abspath, sys.argv[1:6])
PATIENCE_S = 60

# A job of N epochs of a given length, which may wait for a file at the start of an epoch.
JOB = """
import os, sys, time
n, length_s = int(sys.argv[1]), float(sys.argv[2])
marks = os.open(os.environ["WATTLAW_MARKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def mark(t, text):
    os.write(marks, b"%d 0 %s\\n" % (t, text.encode()))
t = time.monotonic_ns()
for i in range(1, n + 1):
    mark(t, "epoch-begin epoch=%d" % i)
    open("epoch-%d" % i, "w").close()
    t += int(length_s * 1e9)
    time.sleep(max(0, (t - time.monotonic_ns()) / 1e9))
    mark(t, "epoch-end epoch=%d" % i)
open("ended", "w").close()
"""


class Run:
    """The folder of a run."""

    def __init__(self, folder, said):
        self.folder, self.said = folder, said
        with open(f"{folder}/s.json", encoding="utf-8") as f:
            self.summary = json.load(f)
        self.show = subprocess.run([wattlaw, "show", "wattlaw.db", "--run", "1"], cwd=folder, text=True,
                                   capture_output=True, check=True).stdout
        self.shown = json.loads(subprocess.run([wattlaw, "show", "wattlaw.db", "--run", "1", "--json"], cwd=folder,
                                               text=True, capture_output=True, check=True).stdout)

    def rows(self, sql):
        with contextlib.closing(sqlite3.connect(f"{self.folder}/wattlaw.db")) as db:
            return db.execute(sql).fetchall()

    def expect(self, condition, *what):
        if not condition:
            lines = "\n".join(str(tuple(e.values())) for e in self.shown["energies"])
            sys.exit(f"{what}\n{self.said}\n{self.show}\n{lines}")

    def energies(self, epoch=None):
        """The devices that count: [energy, low, high, method, why]."""
        return [[e["energy_j"], e["energy_lo_j"], e["energy_hi_j"], e["method"], e.get("why")]
                for e in self.shown["energies"] if e["counted"] and e["epoch"] == epoch]

    def check_energy(self, epochs, devices=1):
        """Each window has an energy with an interval around it, and those of the epochs match that of the run."""
        for epoch in [None, *range(1, epochs + 1)]:
            found = self.energies(epoch)
            self.expect(len(found) == devices, "epoch", epoch, found)
            for j, lo, hi, _, why in found:
                self.expect(j is not None and lo <= j <= hi and why is None, "epoch", epoch, found)
        if epochs:
            self.expect(sum(e[1] for n in range(epochs) for e in self.energies(n + 1)) <=
                        sum(e[2] for e in self.energies()), "the epochs are not more than the run")

    def check_truth(self, drawn_j, share=None):
        lo, hi, j = (self.summary_total(k) for k in ("energy_lo_j", "energy_hi_j", "energy_j"))
        self.expect(lo <= drawn_j <= hi, "truth", drawn_j, "is not in", lo, hi)
        self.expect(share is None or abs(j / drawn_j - 1) <= share, "truth", drawn_j, "energy", j)

    def summary_total(self, key):
        return sum(e[key] for e in self.summary["energies"] if e["chosen"])


@contextlib.contextmanager
def start(script, command, *options, fault=None, setup=None, env=()):
    """A measured command in a folder of its own: yields the folder and the process."""
    with tempfile.TemporaryDirectory() as folder:
        e = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
        e.update(WATTLAW_FAKE_NVML=script.format(folder=folder), NVML_LIBRARY=fake, **dict(env))
        if setup:
            setup(folder)
        if fault:
            with open(f"{folder}/fault", "w", encoding="ascii") as f:
                f.write(fault)
            e.update(LD_PRELOAD=faults, WATTLAW_FAULT=f"{folder}/fault",
                     ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
        p = subprocess.Popen([wattlaw, "measure", "--json-file", "s.json", *[o.format(folder=folder) for o in options], "--",
                              *command], cwd=folder, env=e, text=True, stderr=subprocess.PIPE)
        try:
            yield folder, p
        finally:
            p.poll() is None and p.kill()
            p.wait()


def finish(folder, p):
    said = p.communicate(timeout=PATIENCE_S)[1]
    if p.returncode != 0:
        sys.exit(f"exit {p.returncode}: {said}")
    return Run(folder, said)


def job(epochs, length_s):
    return sys.executable, "-S", "-E", "-c", JOB, str(epochs), str(length_s)


def true_energy_j(run, epoch=None):
    """The energy of each simulated GPU in the run or one of its epochs."""
    (t0, t1), = run.rows("SELECT start_mono_ns, stop_mono_ns FROM run" if epoch is None else
                         f"SELECT begin_ns, end_ns FROM epoch WHERE epoch = {epoch}")
    out = subprocess.run([truth, f"{run.folder}/world", str(t0), str(t1)], text=True, capture_output=True, check=True,
                         env=dict(os.environ, WATTLAW_FAKE_NVML=f"world={run.folder}/world")).stdout
    return [float(line.split()[1]) for line in out.split("\n") if line]


# The instant of a reading is known to half its call, some 0.1 ms of instrumented code, at both edges of a window of 300 W. The interval
# of a counter under constant power leaves that out: it may have no width at all.
CLOCK_J = 2 * 1e-4 * 300


def measure_training(profile, epochs, more):
    """A training job on two simulated GPUs; the truth of the run and of each device and epoch is in the interval, except for one
    in twenty."""
    script = f"gpus=2; profile={profile}; world={{folder}}/world; {more}"
    command = [load, "workers=2", "updates=17", "step_ms=140", "overhead_ms=30", f"epochs={epochs}"]
    with start(script, command, "--sensors", "nvml") as (folder, p):
        run = finish(folder, p)
        run.check_energy(epochs, devices=2)
        run.check_truth(sum(true_energy_j(run)))
        missed = [(n + 1, e, t) for n in range(epochs) for e, t in zip(run.energies(n + 1), true_energy_j(run, n + 1))
                  if not e[1] - CLOCK_J <= t <= e[2] + CLOCK_J]
        run.expect(len(missed) <= 1 + epochs * 2 // 20, "epochs miss the truth", missed)
        return run, sum(true_energy_j(run))


NO_COUNTER = "fail=*:83:3; fail=*:191:3; fail=*:GetTotalEnergyConsumption:3"


def slow_nvml_calls_leave_holes(profile, more):
    """NVML calls that occasionally take half a second: their readings have no known instant and leave holes."""
    run, _ = measure_training(profile, 4, f"slow=2.2:0.5; {more}")
    run.expect("a reading took longer than 0.1 s" in run.said, "a slow reading fails")


def a_counter_bridges_its_own_hole():
    """One GPU of two fails for 0.8 s: the counter is chosen for the whole run; epochs choose separately."""
    lost = "; ".join(f"fail=0:{call}:999:3.2:4.0" for call in ("83", "191", "GetTotalEnergyConsumption"))
    run, drawn_j = measure_training("A100", 5, lost)
    run.expect([e[3] for e in run.energies()] == ["counter", "counter"], "the run counts by the counter", run.energies())
    run.check_truth(drawn_j, share=0.01)


def rapl(folder):
    """One package, which draws 50 W by the preloaded library."""
    zone = f"{folder}/root/sys/class/powercap/intel-rapl:0"
    os.makedirs(zone)
    for name, text in (("name", "package-0"), ("energy_uj", "1000000"), ("max_energy_range_uj", "262143328850")):
        with open(f"{zone}/{name}", "w", encoding="ascii") as f:
            f.write(text + "\n")


def slow_rapl_files_leave_holes():
    """RAPL files that occasionally take half a second."""
    with start("init=9", job(5, 0.9), "--sensors", "rapl", "--sensor-root", "{folder}/root", setup=rapl,
               fault="slow energy_uj 0.5 1.1",
               env={"WATTLAW_COUNTER": "energy_uj 50"}) as (folder, p):
        run = finish(folder, p)
        run.check_energy(5)
        run.expect("a reading took longer than 0.1 s" in run.said, "a slow reading fails")
        run.check_truth(50 * run.summary["time_s"])


def wait_for_file(p, path):
    end = time.monotonic() + PATIENCE_S
    while not os.path.exists(path) and p.poll() is None:
        if time.monotonic() > end:
            sys.exit(f"{path} has not come")
        time.sleep(0.002)


def a_stopped_wattlaw_leaves_a_hole(at, sensors, watts):
    """wattlaw is stopped for two seconds: at the job's start, in its middle, across its end."""
    with start("power=250; update_ms=20", job(4, 1.3), "--sensors", sensors) as (folder, p):
        wait_for_file(p, f"{folder}/epoch-{ {'start': 1, 'middle': 2, 'end': 4}[at] }")
        if at == "end":
            time.sleep(0.5)
        p.send_signal(signal.SIGSTOP)
        time.sleep(2)
        p.send_signal(signal.SIGCONT)
        run = finish(folder, p)
        run.expect(all(e[0] is not None for e in run.energies()), "the run has its energy", run.energies())
        for n in range(4):
            for e in run.energies(n + 1):  # an epoch inside the hole has none, with a reason
                run.expect(e[0] is not None or e[4], "a reason", n + 1, e)
                run.expect(e[0] is not None or f"epoch {n + 1} unknown: {e[4]}" in run.show, "and it is shown", e)
        if watts:
            run.check_truth(watts * run.summary["time_s"], share=0.02)


def a_missing_energy_has_its_reason(script, job_s, method, *expected, sensors=("--sensors", "nvml"), setup=None, fault=None):
    """No energy by a method, and why: in the store, in the summary if chosen, in show and in its JSON."""
    with start(script, job(1, job_s), *sensors, setup=setup, fault=fault) as (folder, p):
        run = finish(folder, p)
        rows = run.rows(f"SELECT why, chosen FROM energy WHERE epoch IS NULL AND method = '{method}' AND energy_j IS NULL")
        run.expect(rows and all(why for why, _ in rows), "a reason is stored", rows)
        why, chosen = rows[0]
        run.expect(all(word in why for word in expected), "the true one", why)
        run.expect(why in run.show, "shown", why)
        run.expect(any(e["why"] == why for e in run.shown["energies"]), "in show --json", why)
        run.expect(any(e["why"] == why for e in run.summary["energies"]), "in measure --json", why)
        run.expect(not chosen or (f"unknown, gpu: {why}" in run.said and f"unknown: {why}" in run.show), "said", why)
        run.expect("too short to integrate" not in run.said, "not another one")


def lost_readings_widen_the_interval_a_little():
    """Traces of one reading per second and per 15 s: both have an energy, the first with the uncertainty of three lost readings."""
    def query(step, lost=()):
        values = [[1769860000 + t, f"{200 + 20 * math.sin(t / 50):.3f}"] for t in range(0, 901, step) if t not in lost]
        metric = {"__name__": "DCGM_FI_DEV_POWER_USAGE", "gpu": "0", "UUID": "GPU-1", "Hostname": "n1", "modelName": "A100"}
        return {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": metric, "values": values}]}}

    with tempfile.TemporaryDirectory() as folder:
        widths = []
        for name, q in (("whole", query(1)), ("lost", query(1, (430, 431, 432))), ("scraped", query(15))):
            with open(f"{folder}/{name}.json", "w", encoding="ascii") as f:
                json.dump(q, f)
            said = subprocess.run([wattlaw, "import", "dcgm", f"{name}.json", "--store", f"{name}.db", "--json"],
                                  cwd=folder, text=True, capture_output=True, check=True).stdout
            r = json.loads(said)
            if not r["energy_j"] or not r["energy_lo_j"] < 200 * 900 + 1000 * (1 - math.cos(18)) < r["energy_hi_j"]:
                sys.exit(f"{name}: {said}")
            widths.append(r["energy_hi_j"] - r["energy_lo_j"])
        if not widths[0] < widths[1] < 0.05 * 200 * 900:
            sys.exit(f"what is lost widens the interval, a little: {widths}")


def the_estimate_is_read_at_every_tick():
    """However expensive /proc/stat is on a busy machine; and show prints the rate of its readings."""
    with start("init=9", job(1, 4), "--sensors", "proc,cpu_model", fault="burn /proc/stat 0.0002") as (folder, p):
        run = finish(folder, p)
        (ticks,), = run.rows("SELECT (stop_mono_ns - start_mono_ns) / 1e8 - ticks_skipped FROM run")
        (n, first, last), = run.rows("SELECT count(*), min(t_ns), max(t_ns) FROM sample JOIN channel ON channel = channel.id, "
                                     "run WHERE quantity = 'energy_j' AND t_ns BETWEEN start_mono_ns AND stop_mono_ns")
        run.expect(n > 0.8 * ticks - 2, "the estimate is read at each tick", n, "of", ticks)
        for c in run.shown["channels"], run.summary["means"]:
            period_s, = [x["period_s"] for x in c if x["quantity"] == "energy_j"]
            run.expect(abs(period_s - (last - first) / 1e9 / (n - 1)) < 1e-6, "the period of a channel", period_s)


LOST = "fail=0:*:999:0.6"
CASES = [
    (slow_nvml_calls_leave_holes, "V100", ""), (slow_nvml_calls_leave_holes, "A100", NO_COUNTER),
    (slow_nvml_calls_leave_holes, "H100", ""), (a_counter_bridges_its_own_hole,), (slow_rapl_files_leave_holes,),
    (lost_readings_widen_the_interval_a_little,), (the_estimate_is_read_at_every_tick,),
    *[(a_stopped_wattlaw_leaves_a_hole, at, sensors, watts)
      for at in ("start", "middle", "end") for sensors, watts in (("nvml", 250), ("cpu_model", 0))],
    (a_missing_energy_has_its_reason, f"power=250; {LOST}", 2.5, "integral", "missing for more than half", "covered"),
    (a_missing_energy_has_its_reason, f"power=250; {LOST}", 2.5, "counter", "missing for more than half", "covered"),
    (a_missing_energy_has_its_reason, "power=250; reset_s=1", 2, "counter", "the counter was reset"),
    (a_missing_energy_has_its_reason, "power=250; fail=*:83:999:0.1; fail=*:GetTotalEnergyConsumption:999:0.1", 2, "counter",
     "no reading of the counter"),
]

cases.run(CASES)
