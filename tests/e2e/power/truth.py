"""Measured energy against what simulated GPUs drew: truth.py WATTLAW FAKE_NVML FAKE_LOAD FAKE_TRUTH"""
import concurrent.futures
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

wattlaw, fake, load, truth = map(os.path.abspath, sys.argv[1:5])


def measure(profile, options, job, faults=""):
    """The summary of a measured job, the joules that its GPUs drew between its start and end, and its show --json."""
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
        env["WATTLAW_FAKE_NVML"] = f"gpus=2; profile={profile}; world={folder}/world; {faults}"

        def run(*command, status=0):
            r = subprocess.run(command, cwd=folder, env=env, text=True, capture_output=True)
            if r.returncode != status:
                sys.exit(f"{command}: exit {r.returncode}\n{r.stdout}\n{r.stderr}")
            return r.stdout, r.stderr

        _, said = run(wattlaw, "measure", "--nvml-library", fake, "--sensors", "nvml", "--store", "s.db", "--json-file",
                      "s.json", *options, "--", load, *job)
        with contextlib.closing(sqlite3.connect(f"{folder}/s.db")) as db:
            (begin, end), = db.execute("SELECT start_mono_ns, stop_mono_ns FROM run")
        lines = run(truth, f"{folder}/world", str(begin), str(end))[0].split("\n")
        if not faults:
            check_rules(run)
        shown = json.loads(run(wattlaw, "show", "s.db", "--run", "1", "--json")[0])
        with open(f"{folder}/s.json", encoding="utf-8") as f:
            return json.load(f), sum(float(line.split()[1]) for line in lines if line), shown, said


def check_rules(run):
    """A run of less than a minute on two boards keeps few of MLPerf's rules."""
    rules = json.loads(run(wattlaw, "show", "s.db", "--run", "1", "--rules", "mlperf", "--json", status=1)[0])
    states = [c["state"] for c in rules["checks"]]
    expect(states == ["kept", "kept", "BROKEN", "BROKEN", "BROKEN", "BROKEN", "BROKEN", "kept"], rules)


def expect(condition, *what):
    if not condition:
        sys.exit(f"{what}")


PATIENCE_S = 100  # until a busy machine has read one run at the requested rate


def half_width(row):
    """Half of the interval as a share of the energy; infinite if the energy is not known."""
    known = row["energy_j"] and row["energy_lo_j"] is not None and row["energy_hi_j"] is not None
    return (row["energy_hi_j"] - row["energy_lo_j"]) / 2 / row["energy_j"] if known else float("inf")


def check(profile, options, job, share, narrow, faults=""):
    """Every interval contains what was drawn. It is wider if a busy machine reads late: the first run whose half width is at most
    `narrow` has to be right to `share`."""
    widths, until_s = [], time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        summary, drawn_j, shown, said = measure(profile, options, job, faults)
        chosen, = [e for e in summary["energies"] if e["chosen"]]
        widths.append(half_width(chosen))
        if widths[-1] == float("inf"):
            continue
        expect(chosen["energy_lo_j"] <= drawn_j <= chosen["energy_hi_j"], profile, job, chosen, "truth", drawn_j)
        expect(shown["energy_lo_j"] <= drawn_j <= shown["energy_hi_j"], "show", shown["energy_lo_j"], drawn_j)
        expect(chosen["simulated"], "not marked simulated", chosen)
        if widths[-1] <= narrow:
            expect(abs(chosen["energy_j"] / drawn_j - 1) <= share, profile, job, chosen, "truth", drawn_j)
            return chosen, shown, said
    sys.exit(f"{profile} {job}: no interval of half width {narrow} or less, but {widths}")


# A fifth of a second, of which a counter with ten updates per second sees two steps.
for profile in "V100", "A100", "H100":
    check(profile, [], ["workers=2", "load=0.9", "ms=200"], 0.05, 0.12)

# Without an energy counter: each update of a V100's power is read, and the 1 s mean of an H100's driver misses
# nothing. An A100 has neither: its load that goes in step with the sensor (70 + 30 ms) is in the interval.
NO_COUNTER = "fail=*:83:3; fail=*:191:3; fail=*:GetTotalEnergyConsumption:3"


def without_counter(profile, step_ms, share, narrow):
    job = ["workers=2", "updates=30", f"step_ms={step_ms}", "overhead_ms=30", "epochs=1"]
    chosen, _, _ = check(profile, [], job, share, narrow, NO_COUNTER)
    expect(chosen["method"] == "integral", profile, chosen)


with concurrent.futures.ThreadPoolExecutor(3) as pool:
    list(pool.map(without_counter, ("V100", "H100", "A100"), (166, 140, 140), (0.02, 0.02, 0.5), (0.08, 0.04, 0.5)))

# Training between two idle phases, in which two A100 draw about 104 W.
chosen, shown, said = check("A100", ["--idle", "1s", "--country", "de", "--pue", "1.5", "--price", "0.2"], ["workers=2", "epochs=2", "updates=4", "step_ms=200"], 0.02, 0.05)
expect("above idle" in said, said)
grams = chosen["energy_j"] / 3.6e6 * 1.5 * 342.06
printed = re.search(r"^  carbon       (\S+) mg CO2e \([^)]* mg CO2e, simulated\): PUE 1.5, 342.1 g/kWh, average", said, re.M)
expect(printed and abs(float(printed[1]) / (1e3 * grams) - 1) < 0.006, "three digits of", 1e3 * grams, said)
expect(re.search(r"^  cost         \S+ µEUR \(\S+ to \S+ µEUR, simulated\): PUE 1.5, 0.2 EUR/kWh", said, re.M), said)
for row in shown["energies"]:
    if row["method"] == "counter" and row["epoch"] is None:
        # The counter has ten updates per second, enough for the power of a tenth of a second of idle time.
        expect(all(abs(row[end] - 52) < 0.12 * 52 for end in ("idle_before_w", "idle_after_w")), row)
        expect(abs(row["idle_j"] / ((row["idle_before_w"] + row["idle_after_w"]) / 2 * shown["time_s"]) - 1) < 1e-6, row)
        expect(row["energy_j"] > 2 * row["idle_j"], row)
