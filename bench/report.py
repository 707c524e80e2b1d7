#!/usr/bin/env python3
"""Time and size of the report of a large store: report.py WATTLAW FREY2022 [--store STORE] [--rounds 3] [--before WATTLAW]

Simulates a campaign of 10,206 runs (`FREY2022 simulate --repeats 21`: six networks, nine worker counts, three power caps, three
clocks; minutes and 1.4 GB) unless --store names one, and writes its page as whole processes, in turns with those of --before
where it is given. Prints CPU time (user and system), wall time, peak of resident memory and the size of the page: medians, and
the least CPU time, which other processes disturb least. Exit 1 where a page is larger than 2 MB or takes 5 s of CPU time or more.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

MOST_BYTES, MOST_S = 2e6, 5


def simulate(frey2022, folder, repeats):
    store = os.path.join(folder, "large.db")
    subprocess.run([frey2022, "simulate", store, "--repeats", str(repeats)], check=True)
    return store


def measure(program, store, folder):
    """CPU seconds, wall seconds, peak MB, bytes of the page."""
    begin = time.monotonic()
    process = subprocess.Popen([program, "report", store, "--formats", "html", "--out", folder], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    if status:
        sys.exit(f"{program} report {store}: status {status}")
    return used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, os.path.getsize(os.path.join(folder, "report.html"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wattlaw")
    parser.add_argument("frey2022")
    parser.add_argument("--store")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before")
    o = parser.parse_args()
    programs = [p for p in (o.before, o.wattlaw) if p]
    with tempfile.TemporaryDirectory() as folder:
        store = o.store or simulate(o.frey2022, folder, o.repeats)
        seen = {p: [] for p in programs}
        for _ in range(o.rounds):
            for p in programs:
                seen[p].append(measure(p, store, os.path.join(folder, "report")))
    failed = False
    for p in programs:
        cpu, wall, peak, size = (statistics.median(column) for column in zip(*seen[p]))
        least = min(row[0] for row in seen[p])
        print(f"{p}: CPU {cpu:.2f} s (least {least:.2f}), wall {wall:.2f} s, {peak:.0f} MB, page {size / 1e6:.2f} MB")
        failed = p == o.wattlaw and (size > MOST_BYTES or least >= MOST_S)
    return failed


if __name__ == "__main__":
    sys.exit(main())
