"""Sensors that fail during a run: faults.py WATTLAW FAKE_NVML FAKE_NVML_OLD FAKE_NVML_BROKEN FAULTS

Each time the run continues, the gap is stored and shown, and the energy is right, within its interval, or missing."""
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

import cases

wattlaw, fake, old, broken, faults = map(os.path.abspath, sys.argv[1:6])


class Result:
    def __init__(self, folder, run):
        self.run, self.db = run, sqlite3.connect(os.path.join(folder, "wattlaw.db"))
        with open(os.path.join(folder, "s.json"), encoding="utf-8") as f:
            self.summary = json.load(f)

    def expect(self, condition, what):
        if not condition:
            sys.exit(f"{what}\n{self.run.stderr}\n{json.dumps(self.summary, indent=1)}")

    def notes(self):
        return " | ".join(row[0] for row in self.db.execute("SELECT message FROM log"))

    def missing(self, quantity):
        return self.db.execute("SELECT count(*) FROM channel JOIN sample ON channel = channel.id WHERE quantity = ? AND "
                               "value IS NULL", (quantity,)).fetchone()[0]

    def energy(self, method):
        return [e["energy_j"] for e in self.summary["energies"] if e["method"] == method][0]


def running(folder):
    try:
        with contextlib.closing(sqlite3.connect(os.path.join(folder, "wattlaw.db"))) as db:
            return db.execute("SELECT 1 FROM run WHERE status = 'running'").fetchone()
    except sqlite3.OperationalError:
        return None  # the tables do not exist yet


def measure(script, seconds, *options, fault=None, fault_at=0.4, setup=None, ask=()):
    """A run with the fake GPUs of the script; `fault` acts from fault_at on. `ask`: a command for the JSON in .asked."""
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
        env.update(WATTLAW_FAKE_NVML=script, NVML_LIBRARY=fake)
        if setup:
            setup(folder)
        if fault:
            env.update(LD_PRELOAD=faults, WATTLAW_FAULT=os.path.join(folder, "fault"),
                       ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
        p = subprocess.Popen([wattlaw, "measure", "--json-file", "s.json", *[o.format(folder=folder) for o in options], "--",
                              "sleep", str(seconds)], cwd=folder, env=env, text=True, stderr=subprocess.PIPE)
        if fault:
            while not running(folder) and p.poll() is None:
                time.sleep(0.01)
            time.sleep(fault_at)
            with open(os.path.join(folder, "new"), "w", encoding="ascii") as f:
                f.write(fault)
            os.rename(os.path.join(folder, "new"), os.path.join(folder, "fault"))
        p.stderr_text = p.communicate()[1]
        run = subprocess.CompletedProcess(p.args, p.returncode, "", p.stderr_text)
        if p.returncode != 0:
            sys.exit(f"exit {p.returncode}: {run.stderr}")
        result = Result(folder, run)
        result.expect(result.summary["status"] == "done", "the run continues")
        shown = subprocess.run([wattlaw, "show", "wattlaw.db", "--run", "1"], cwd=folder, text=True, capture_output=True,
                               check=True).stdout
        if ask:
            result.asked = json.loads(subprocess.run([wattlaw, *ask], cwd=folder, text=True, capture_output=True, check=True).stdout)
        for note in result.notes().split(" | "):
            result.expect(not note or note in shown, "show prints the notes")
        return result


def counters(folder):
    """One package, whose counter a separate process increments: 50 W."""
    zone = os.path.join(folder, "root/sys/class/powercap/intel-rapl:0")
    os.makedirs(zone)
    for name, text in (("name", "package-0"), ("energy_uj", "1000000"), ("max_energy_range_uj", "262143328850")):
        with open(os.path.join(zone, name), "w", encoding="ascii") as f:
            f.write(text + "\n")


def a_failed_gpu_has_no_energy(code, text):
    """And a note gives the reason."""
    r = measure(f"power=250; fail=0:*:{code}:0.5", 2.5, "--sensors", "nvml")
    r.expect(r.missing("power_w") > 0 and r.missing("energy_j") > 0, "failed readings are stored")
    r.expect(text in r.notes() and "without a reading" in r.run.stderr, f"note: {r.notes()}")
    r.expect(r.energy("counter") is None and r.energy("integral") is None, "the energy is missing")


def a_gap_is_bridged_by_the_counter():
    """And the interval of the integral contains it."""
    r = measure("power=250; fail=0:*:15:0.5:1.1", 2, "--sensors", "nvml")
    r.expect(r.missing("power_w") > 0 and "without a reading" in r.notes(), "a gap in the middle")
    integral, = [e for e in r.summary["energies"] if e["method"] == "integral"]
    r.expect(integral["energy_lo_j"] <= 250 * r.summary["time_s"] <= integral["energy_hi_j"], "the gap is in the interval")
    r.expect(integral["energy_hi_j"] - integral["energy_lo_j"] > 250 * 0.6 * 0.04, "which is wider for it")
    r.expect(r.energy("counter") and abs(r.energy("counter") / (250 * r.summary["time_s"]) - 1) < 0.05, "the counter continued")


def a_stalled_call_is_a_gap():
    """Its value has no known instant."""
    r = measure("power=250; stall=0.5:5", 7, "--sensors", "nvml")
    r.expect("longer than a second" in r.notes(), f"a stall is noted: {r.notes()}")
    r.expect(r.missing("power_w") > 0, "and stored")
    r.expect(r.energy("integral") is None, "it is not bridged")
    r.expect(r.energy("counter") and abs(r.energy("counter") / (250 * r.summary["time_s"]) - 1) < 0.05, "except by the counter")


def a_call_that_never_returns_does_not_stop_the_run(script, options, note_text):
    """Whether it opens, reads or closes: the run continues with the other sensors and ends in time."""
    begin = time.monotonic()
    r = measure(f"gpus=2; power=250; {script}", 3, "--sensors", "auto", *options)
    r.expect(r.summary["energies"] and r.summary["means"], "other sensors continue")
    r.expect(note_text in r.notes() + r.run.stderr, f"{script}: note: {r.notes()}")
    r.expect(time.monotonic() - begin < 30, "the run ends in time")


def a_hanging_reading_is_a_gap_to_the_end():
    """Processes and load of the machine are still read."""
    r = measure("power=250; hang=*:GetFieldValues:1", 4, "--sensors", "nvml,proc")
    r.expect("had not answered by the end" in r.notes(), f"note: {r.notes()}")
    r.expect(r.missing("power_w") > 0 and r.energy("integral") is None and r.energy("counter") is None, "a gap")
    late = r.db.execute("SELECT count(*) FROM sample JOIN channel ON channel = channel.id, run WHERE quantity = 'runnable' "
                        "AND value IS NOT NULL AND t_ns > run.start_mono_ns + 2500000000").fetchone()[0]
    r.expect(late > 0, "other sensors are read after the hang")


def after_a_counter_wraps_the_integral_counts():
    """A counter of 32 bits wraps after 4.3 MJ."""
    r = measure("power=250; wrap_j=123650; update_ms=20", 2, "--sensors", "nvml")
    r.expect(r.energy("counter") is None, "a counter that decreased is not used")
    r.expect(r.energy("integral") and abs(r.energy("integral") / (250 * r.summary["time_s"]) - 1) < 0.05, "the integral")


def without_a_usable_library_other_sensors_continue(options, script):
    """The library is missing, not a library, of another driver version, or of 2018."""
    r = measure(script, 0.3, *options)
    r.expect(r.summary["means"], f"{options} {script}: other sensors continue")


def a_rapl_file_that_fails_has_no_energy(code):
    """An input/output error, the zone removed from /sys, read permission removed."""
    r = measure("init=9", 1.5, "--sensors", "rapl", "--sensor-root", "{folder}/root", setup=counters,
                fault=f"read energy_uj {code}")
    r.expect(r.missing("energy_j") > 0 and "without a reading" in r.notes(), f"errno {code} is a gap: {r.notes()}")
    r.expect(r.energy("counter") is None, "and the energy is missing")


def a_jump_of_the_wall_clock_changes_no_result(step):
    """Forward or back: a note reports it, and nothing is negative."""
    r = measure("power=250", 1.5, "--sensors", "nvml", "--training", "t", fault=f"wall {step}", ask=("show", "wattlaw.db", "--training", "t", "--json"))
    r.expect(f"the wall clock was set by {step}" in r.notes(), f"a jump is noted: {r.notes()}")
    r.expect(1.4 < r.summary["time_s"] < 60, "the time is right")
    r.expect(abs(r.energy("integral") / (250 * r.summary["time_s"]) - 1) < 0.05, "the energy is right")
    r.expect(r.db.execute("SELECT count(*) FROM sample JOIN channel ON channel.id = channel JOIN run ON run.id = run WHERE t_ns < start_mono_ns - 5000000000 "
                          "OR t_ns > stop_mono_ns + 5000000000").fetchone()[0] == 0, "readings are of the run")
    r.expect(abs(r.asked["first_to_last_s"] - r.summary["time_s"]) < 0.01, f"the span of a training: {r.asked}")


CASES = [
    (a_failed_gpu_has_no_energy, 15, "lost"),
    (a_failed_gpu_has_no_energy, 4, "permission"),
    (a_failed_gpu_has_no_energy, 999, "NVML"),
    (a_gap_is_bridged_by_the_counter,),
    (a_stalled_call_is_a_gap,),
    (a_hanging_reading_is_a_gap_to_the_end,),
    (after_a_counter_wraps_the_integral_counts,),
    (a_call_that_never_returns_does_not_stop_the_run, "hang=*:Init", ("--sensor-wait", "1s"), ""),
    (a_call_that_never_returns_does_not_stop_the_run, "hang=0:GetUtilizationRates:0.1", ("--sensor-wait", "1s"), ""),
    (a_call_that_never_returns_does_not_stop_the_run, "hang=*:Shutdown", (), ""),
    (a_call_that_never_returns_does_not_stop_the_run, "hang=1:GetUtilizationRates:1", (), "had not answered by the end"),
    (without_a_usable_library_other_sensors_continue, ("--nvml-library", "/proc/nowhere/libnvidia-ml.so.1"), ""),
    (without_a_usable_library_other_sensors_continue, ("--nvml-library", broken), ""),
    (without_a_usable_library_other_sensors_continue, (), "init=18"),
    (without_a_usable_library_other_sensors_continue, ("--nvml-library", old), ""),
    (a_rapl_file_that_fails_has_no_energy, 5),
    (a_rapl_file_that_fails_has_no_energy, 19),
    (a_rapl_file_that_fails_has_no_energy, 13),
    (a_jump_of_the_wall_clock_changes_no_result, "+3600"),
    (a_jump_of_the_wall_clock_changes_no_result, "-172800"),
]

cases.run(CASES)
