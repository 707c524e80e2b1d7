"""A log imports in constant memory, whatever its length: memory.py WATTLAW

A million readings of power through a pipe, with 22 MB of memory that is the process's own (RLIMIT_DATA); their times and values alone are 16 MB.
Long, and not for sanitizers, whose shadow memory is not limited so."""
import os
import resource
import sys
import threading

from harness import Workspace, expect

READINGS, LIMIT = 1_000_000, 22 << 20


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


def write_log(path):
    """Ten readings a second, of 100 W and 300 W in turn."""
    with open(path, "w", encoding="ascii") as f:
        f.write("index, timestamp, power.draw [W]\n")
        for second in range(READINGS // 10):
            stamp = f"2026/01/{1 + second // 86400:02d} {second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
            f.write("".join(f"0, {stamp}.{tenth}00, {300 if tenth & 1 else 100} W\n" for tenth in range(10)))


with Workspace(sys.argv[1]) as p:
    os.mkfifo(p.at("log"))
    writer = threading.Thread(target=write_log, args=(p.at("log"),), daemon=True)
    writer.start()
    answer, r = p.imported("log", preexec_fn=limit)
    writer.join()
    time_s = (READINGS - 1) / 10
    expect(answer["readings"] == READINGS and abs(answer["time_s"] - time_s) < 1e-6, f"{answer['readings']} readings, {answer['time_s']} s", r)
    expect(abs(answer["energy_j"] / (200 * time_s) - 1) < 1e-9, f"{answer['energy_j']} J", r)
    expect(sorted(os.listdir(p.path)) == ["i.json", "log", "wattlaw.db", "wattlaw.db-lock"], f"no file is left: {os.listdir(p.path)}")
print(f"{READINGS} readings in {LIMIT >> 20} MB")
