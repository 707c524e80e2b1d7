"""Remembered update periods: updates.py WATTLAW FAKE_NVML FAKE_LOAD FAKE_TRUTH"""
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
PATIENCE_S = 60  # a busy machine polls late, and is then not sure of a period, or reads an edge late

NARROW = 0.12  # half the interval of a run whose edges were read in bursts, as a share of its energy


def expect(condition, *what):
    if not condition:
        sys.exit("\n".join(map(str, what)))


class Machine:
    """A node with two simulated A100 and a state folder of its own."""

    def __init__(self, folder):
        self.folder, self.file = folder, f"{folder}/state/updates.ini"
        self.env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
        self.env |= {"WATTLAW_FAKE_NVML": f"gpus=2; profile=A100; world={folder}/world",
                     "WATTLAW_STATE_DIR": f"{folder}/state"}

    def run(self, *command):
        r = subprocess.run(command, cwd=self.folder, env=self.env, text=True, capture_output=True)
        expect(r.returncode == 0, command, r.returncode, r.stdout, r.stderr)
        return r.stdout

    def measure(self):
        """The summary of a run of 0.2 s, the error of its energy, and half its interval, both as a share of the energy."""
        store = f"{self.folder}/s.db"
        self.run(wattlaw, "measure", "--nvml-library", fake, "--sensors", "nvml", "--store", store, "--quiet", "--json-file",
                 "s.json", "--", load, "workers=2", "load=0.9", "ms=200")
        with contextlib.closing(sqlite3.connect(store)) as db:
            (begin, end), = db.execute("SELECT start_mono_ns, stop_mono_ns FROM run ORDER BY id DESC LIMIT 1")
        drawn_j = sum(float(line.split()[1]) for line in self.run(truth, f"{self.folder}/world", str(begin), str(end))
                      .split("\n") if line)
        with open(f"{self.folder}/s.json", encoding="utf-8") as f:
            summary = json.load(f)
        chosen, = [e for e in summary["energies"] if e["chosen"]]
        if chosen["energy_j"] is None:
            return summary, float("inf"), float("inf")
        expect(chosen["energy_lo_j"] <= drawn_j <= chosen["energy_hi_j"], chosen, "truth", drawn_j)
        half_j = (chosen["energy_hi_j"] - chosen["energy_lo_j"]) / 2
        return summary, abs(chosen["energy_j"] / drawn_j - 1), half_j / chosen["energy_j"]

    def remembered(self):
        """The remembered periods of the counters, s."""
        if not os.path.exists(self.file):
            return []
        with open(self.file, encoding="utf-8") as f:
            return [float(x) for x in re.findall(r"^energy_s = (\S+)$", f.read(), re.M)]

    def doctor(self):
        return self.run(wattlaw, "doctor", "--nvml-library", fake, "--sensors", "nvml")

    def learn(self):
        self.until("both periods are remembered", lambda *_: len(self.remembered()) == 2)

    def until(self, what, seen):
        """Measures until `seen` accepts a run; returns that run."""
        until_s, runs = time.monotonic() + PATIENCE_S, []
        while time.monotonic() < until_s:
            runs.append(self.measure())
            if seen(*runs[-1]):
                return runs[-1]
        sys.exit(f"not seen: {what}: {self.remembered()}, {[(off, half, notes_of_changed_periods(s)) for s, off, half in runs]}")

    def pretend(self, energy_s):
        with open(self.file, encoding="utf-8") as f:
            text = f.read()
        with open(self.file, "w", encoding="utf-8") as f:
            f.write(re.sub(r"^energy_s = .*$", f"energy_s = {energy_s}", text, flags=re.M))


def notes_of_changed_periods(summary):
    return [n for n in summary["notes"] if "as often as remembered" in n]


with tempfile.TemporaryDirectory() as folder:
    m = Machine(folder)

    # Found, stored, shown by doctor.
    expect("remembered" not in m.doctor(), "nothing is remembered at first")
    m.learn()
    expect(all(abs(s / 0.1 - 1) < 0.06 for s in m.remembered()), m.remembered())
    expect(re.search(r"update periods power \S+ ms and energy \S+ ms, remembered from 20", m.doctor()), m.doctor())

    # With the remembered periods a run is right to 5 %, and there is no note.
    summary, off, _ = m.until("a narrow interval", lambda s, off, half: half <= NARROW)
    expect(off <= 0.05 and not notes_of_changed_periods(summary), off, summary["notes"])

    # A remembered period that is too short or too long: the run reports it and is right nevertheless, the next one measures it again.
    for wrong_s in 0.06, 0.2:
        def reported(summary, off, half):
            seen = len(notes_of_changed_periods(summary)) == 2 and half <= NARROW
            if not seen:  # a period is forgotten whether or not the other GPU's was found to be wrong
                m.learn()
                m.pretend(wrong_s)
            return seen
        m.learn()
        m.pretend(wrong_s)
        _, off, _ = m.until("both GPUs move otherwise", reported)
        expect(off <= 0.05 and m.remembered() == [], wrong_s, off, m.remembered())
        m.learn()
        expect(all(abs(s / 0.1 - 1) < 0.06 for s in m.remembered()), wrong_s, m.remembered())

    # Entries of another driver are not used; a file that cannot be read is reported and rewritten.
    with open(m.file, encoding="utf-8") as f:
        other = f.read().replace("driver = ", "driver = 1")
    with open(m.file, "w", encoding="utf-8") as f:
        f.write(other)
    expect("remembered" not in m.doctor(), "another driver's")
    with open(m.file, "w", encoding="utf-8") as f:
        f.write("[GPU-x]\npower_s = soon\n")
    said = m.doctor()
    expect("update periods are measured again" in said and "updates.ini:2" in said, said)
    m.learn()
