#!/usr/bin/env python3
"""How fast wattlaw imports, and in how much memory: import.py WATTLAW [--megabytes 200] [--rounds 3]

Writes a log of nvidia-smi of 8 GPUs with seven columns, ten readings a second, and imports it by --dry-run and into a new store; then a
log of a quarter of the size, whose peak of memory must be the same by --dry-run. Prints MB/s and readings/s of processor time (user and
system), which other processes disturb least: the best of the rounds. Exit 1 below 100 MB/s parsed or 500,000 readings/s stored, or where
the memory of a dry run grows by more than 1 MB.
"""
import argparse
import datetime
import json
import os
import random
import sys
import tempfile

LEAST_MB_S, LEAST_READINGS_S, GPUS = 100, 5e5, 8


def write_log(path, size):
    pick = random.Random(1)
    t, step, n = datetime.datetime(2026, 11, 20, 10), datetime.timedelta(milliseconds=100), 0
    with open(path, "w", encoding="ascii") as f:
        f.write("index, timestamp, power.draw [W], clocks.current.sm [MHz], clocks.current.memory [MHz], utilization.gpu [%], "
                "temperature.gpu, clocks_event_reasons.active\n")
        while n < size:
            stamp = f"{t:%Y/%m/%d %H:%M:%S}.{t.microsecond // 1000:03d}"
            rows = "".join(f"{g}, {stamp}, {250 + 50 * pick.random():.2f} W, {1395 + 15 * pick.randrange(3)} MHz, 1593 MHz, "
                           f"{pick.randrange(90, 100)} %, {pick.randrange(50, 70)}, 0x0000000000000004\n" for g in range(GPUS))
            n += f.write(rows)
            t += step


def run(wattlaw, *args):
    """Processor seconds and peak MB."""
    pid = os.posix_spawn(wattlaw, [wattlaw, "import", *args], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)])
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"wattlaw import {' '.join(args)}: status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wattlaw")
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    o = parser.parse_args()
    wattlaw = os.path.abspath(o.wattlaw)
    with tempfile.TemporaryDirectory(prefix="wattlaw-bench-") as folder:
        log, small, said = (os.path.join(folder, name) for name in ("smi.csv", "small.csv", "said.json"))
        write_log(log, o.megabytes * 1e6)
        write_log(small, o.megabytes * 25e4)
        dry = min(run(wattlaw, "--dry-run", log) for _ in range(o.rounds))
        _, small_mb = run(wattlaw, "--dry-run", small)
        stored = min(run(wattlaw, log, "--store", os.path.join(folder, f"{i}.db"), "--json-file", said) for i in range(o.rounds))
        with open(said, encoding="utf-8") as f:
            readings = json.load(f)["readings"]
        size = os.path.getsize(log) / 1e6
    print(f"parsed   {size / dry[0]:.0f} MB/s ({size:.0f} MB, {readings} readings, {dry[0]:.2f} s), peak memory {dry[1]:.1f} MB; of a quarter of it {small_mb:.1f} MB")
    print(f"stored   {readings / stored[0]:.0f} readings/s ({stored[0]:.2f} s with the energies), peak memory {stored[1]:.0f} MB")
    return int(size / dry[0] < LEAST_MB_S or readings / stored[0] < LEAST_READINGS_S or dry[1] > small_mb + 1)


if __name__ == "__main__":
    sys.exit(main())
