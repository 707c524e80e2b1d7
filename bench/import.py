#!/usr/bin/env python3
"""How fast wattlaw imports, and in how much memory: import.py WATTLAW [--megabytes 200] [--rounds 3] [--peers]

Writes a log of nvidia-smi of 8 GPUs with seven columns, ten readings a second, and imports it by --dry-run and into a new store; then a
log of a quarter of the size, whose peak of memory must be the same by --dry-run. Prints MB/s and readings/s of processor time (user and
system), which other processes disturb least: the best of the rounds; and the bytes that became dirty in files, those without a name
included. Exit 1 below 100 MB/s parsed or 500,000 readings/s stored, where the memory of a dry run grows by more than 1 MB, or that of
storing by more than the readings of two channels take (16 bytes each).

With --peers others store the same log in turns: the shell's `.import` of SQLite, which takes lines of text as they are, and pandas (of the
python3 that runs this) with SQLite, which makes the same table of readings and the energies. Exit 1 where wattlaw is slower than pandas.
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


def spawned(*command):
    """Processor seconds, peak MB, and MB that became dirty in files."""
    pid = os.posix_spawnp(command[0], command, os.environ,
                          file_actions=[(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_WRONLY, 0) for fd in (1, 2)])
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(command)[:200]}: status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, used.ru_oublock * 512 / 1e6


def run(wattlaw, *args):
    return spawned(wattlaw, "import", *args)


PANDAS = """
import sqlite3, sys
import numpy, pandas
log = pandas.read_csv(sys.argv[1], skipinitialspace=True)
t = pandas.to_datetime(log["timestamp"], format="%Y/%m/%d %H:%M:%S.%f").astype("datetime64[ns]").astype("int64")
db = sqlite3.connect(sys.argv[2])
db.execute("CREATE TABLE sample(channel INTEGER NOT NULL, t_ns INTEGER NOT NULL, value REAL, PRIMARY KEY(channel, t_ns)) WITHOUT ROWID")
channel = 0
for gpu, rows in log.groupby("index"):
    at = t[rows.index].to_numpy()
    for name in log.columns[2:]:
        text, channel = rows[name].astype(str), channel + 1
        value = (text.map(lambda x: int(x, 16)) if name.endswith("active") else text.str.split(" ").str[0].astype(float)).to_numpy(dtype=float)
        db.executemany("INSERT INTO sample VALUES (?, ?, ?)", zip([channel] * len(at), at.tolist(), value.tolist()))
        if name.startswith("power"):
            print(gpu, numpy.trapezoid(value, at / 1e9) if hasattr(numpy, "trapezoid") else numpy.trapz(value, at / 1e9))
db.commit()
"""


def peers(log, folder, readings, wattlaw_s):
    """Whether one that does as much is faster."""
    shell = spawned("sqlite3", os.path.join(folder, "shell.db"), ".mode csv", f".import {log} log")
    pandas = spawned(sys.executable, "-c", PANDAS, log, os.path.join(folder, "pandas.db"))
    for name, (cpu, peak, _) in (("sqlite3 .import", shell), ("pandas", pandas)):
        print(f"{name:8} {readings / cpu:.0f} readings/s ({cpu:.2f} s), peak memory {peak:.0f} MB; wattlaw takes {wattlaw_s / cpu:.2f} of its time")
    return wattlaw_s > pandas[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wattlaw")
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", action="store_true")
    o = parser.parse_args()
    wattlaw = os.path.abspath(o.wattlaw)
    with tempfile.TemporaryDirectory(prefix="wattlaw-bench-") as folder:
        log, small, said = (os.path.join(folder, name) for name in ("smi.csv", "small.csv", "said.json"))
        write_log(log, o.megabytes * 1e6)
        write_log(small, o.megabytes * 25e4)
        dry = min(run(wattlaw, "--dry-run", log) for _ in range(o.rounds))
        small_mb = run(wattlaw, "--dry-run", small)[1]
        small_stored_mb = run(wattlaw, small, "--store", os.path.join(folder, "small.db"))[1]
        stored = min(run(wattlaw, log, "--store", os.path.join(folder, f"{i}.db"), "--json-file", said) for i in range(o.rounds))
        with open(said, encoding="utf-8") as f:
            readings = json.load(f)["readings"]
        size, store_mb = os.path.getsize(log) / 1e6, os.path.getsize(os.path.join(folder, "0.db")) / 1e6
        slower = o.peers and peers(log, folder, readings, stored[0])
    channels_mb = 2 * 16 * readings / (GPUS * 6) / 1e6
    print(f"parsed   {size / dry[0]:.0f} MB/s ({size:.0f} MB, {readings} readings, {dry[0]:.2f} s), peak memory {dry[1]:.1f} MB; of a quarter of it {small_mb:.1f} MB")
    print(f"stored   {readings / stored[0]:.0f} readings/s ({stored[0]:.2f} s with the energies), peak memory {stored[1]:.0f} MB; of a quarter of it {small_stored_mb:.0f} MB")
    print(f"written  {stored[2]:.0f} MB for a store of {store_mb:.0f} MB")
    return int(size / dry[0] < LEAST_MB_S or readings / stored[0] < LEAST_READINGS_S or dry[1] > small_mb + 1 or
               stored[1] > small_stored_mb + channels_mb + 1 or slower)


if __name__ == "__main__":
    sys.exit(main())
