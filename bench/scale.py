#!/usr/bin/env python3
"""Time and memory of the analyses of large tables: scale.py WATTLAW [--before WATTLAW] [--rows 1000000] [--rounds 3]

Tables of simulated runs with time, energy, samples and updates, Amdahl curves with a scatter of configurations and runs:

    epochs   one group, runs of 100 epochs
    runs     one group, runs of a single epoch
    groups   125 groups (25 workloads and batches at 5 caps), runs of 100 epochs
    laws     2,000 groups (1,000 workloads and batches at 2 caps), runs of 20 epochs
    ladders  2,000 groups of 6 worker counts, runs of a single epoch (--rows 36000: 3 runs of each)

fit, compare, energy and predict read each as whole processes, in turns with those of --before where it is given; medians of
the rounds. Prints rows per second of wall time, the peak of resident memory, the CPU time over that of a tenth of the rows
(10: linear), and the CPU time before over that after: CPU time is compared, as other processes lengthen the wall time.
--store measures a store too (bench_store make FILE RUNS SAMPLES writes one).
"""
import argparse
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# name: (cells of workload and batch, caps, worker counts, epochs of a run)
TABLES = {"epochs": (1, 1, 8, 100), "runs": (1, 1, 8, 1), "groups": (25, 5, 8, 100), "laws": (1000, 2, 5, 20),
          "ladders": (1000, 2, 6, 1)}
COMMANDS = {"fit": [], "compare": ["--factor"], "energy": [], "energy-json": ["--json"], "predict": ["--at", "workers=256"]}
HEAD = "workload,hardware,workers,local_batch,power_cap_w,cooling,run,epoch,time_s,energy_j,samples,updates\n"


def write_table(path, name, rows):
    cells, caps, counts, epochs = TABLES[name]
    draw = random.Random(name)
    runs = max(1, rows // (cells * caps * counts * epochs))
    with open(path, "w") as f:
        f.write(HEAD)
        for cell in range(cells):
            workload, batch = f"net{cell // 5}", 16 << cell % 5
            for cap in range(caps):
                work = 1000 * (1 + cell / 10) * (1 + 0.2 * cap)
                for n in (1 << c for c in range(counts)):
                    effect = draw.gauss(0, 0.02)
                    for run in range(runs):
                        cooling = "air" if run % 2 else "water"
                        mean = math.log(work / n + work / 100) + effect + draw.gauss(0, 0.01)
                        start = f"{workload},A100,{n},{batch},{400 - 50 * cap},{cooling},r{run},"
                        for epoch in range(1, epochs + 1):
                            t = math.exp(mean + draw.gauss(0, 0.003))
                            f.write(f"{start}{epoch if epochs > 1 else ''},{t:.6f},{300 * n * t * draw.gauss(1, 0.005):.4f},"
                                    f"50000,{50000 // (batch * n)}\n")
    return cells * caps * counts * epochs * runs


def arguments(command, name):
    factor = "cooling" if name in TABLES and TABLES[name][1] == 1 else "power_cap_w"
    return [command.partition("-")[0], *COMMANDS[command], *([factor] if command == "compare" else [])]


def measure(program, args, path):
    """Seconds and peak bytes of one process; None: it failed."""
    start = time.perf_counter()
    child = subprocess.Popen([program, args[0], path, *args[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    message = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    child.stderr.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        return None, message.decode().strip()
    return (wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024), None


def medians(samples):
    return [statistics.median(column) for column in zip(*samples)]


def in_turns(contestants, args, rounds):
    """Medians of wall and CPU seconds and peak bytes of each (program, path); None: it failed."""
    taken = {who: [] for who in contestants}
    for _ in range(rounds):
        for who, (program, path) in contestants.items():
            if taken[who] is None:
                continue
            result, why = measure(program, args, path)
            if result is None:
                print(f"{who} {args[0]}: {why}", file=sys.stderr)
            taken[who] = taken[who] + [result] if result else None
    return {who: medians(samples) if samples else None for who, samples in taken.items()}


def print_line(name, command, rows, found, few):
    """few: rows of the smaller table; 0: there is none."""
    after, tenth, before = found["after"], found.get("tenth"), found.get("before")
    if not after:
        print(f"{name:8} {command:8} failed")
        return
    wall, cpu, peak = after
    linear = f"{cpu / tenth[1] * few / rows * 10:7.1f}" if few and tenth else f"{'-':>7}"
    line = f"{name:8} {command:8} {rows:8} {wall:7.2f} {cpu:7.2f} {rows / wall / 1e3:8.0f} {peak / 1e6:8.0f} {linear}"
    if "before" in found:
        line += f" {before[1]:8.2f} {before[2] / 1e6:8.0f} {before[1] / cpu:7.1f}" if before else "   failed"
    print(line, flush=True)


def measure_path(name, paths, rows, few, options):
    """paths: of the table and, where there is one, of a tenth of it."""
    for command in options.commands:
        contestants = {"after": (options.wattlaw, paths[0])}
        if len(paths) > 1:
            contestants["tenth"] = (options.wattlaw, paths[1])
        if options.before:
            contestants["before"] = (options.before, paths[0])
        print_line(name, command, rows, in_turns(contestants, arguments(command, name), options.rounds), few)


def measure_table(name, options, folder):
    large, small = os.path.join(folder, "large.csv"), os.path.join(folder, "small.csv")
    rows = write_table(large, name, options.rows)
    few = write_table(small, name, options.rows // 10)
    measure_path(name, [large, small], rows, few, options)


def rows_of_store(program, path):
    done = subprocess.run([program, "export", "observations", path], capture_output=True, text=True, check=True)
    return done.stdout.count("\n") - 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("wattlaw")
    p.add_argument("--before", help="another build of wattlaw, run in turns")
    p.add_argument("--store", help="a store whose power_cap_w varies")
    p.add_argument("--rows", type=int, default=1000000)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    p.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    options = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    head = f"{'table':8} {'command':8} {'rows':>8} {'wall s':>7} {'CPU s':>7} {'krows/s':>8} {'peak MB':>8} {'x10':>7}"
    print(head + (f" {'before s':>8} {'peak MB':>8} {'ratio':>7}" if options.before else ""), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tables:
            measure_table(name, options, folder)
    if options.store:
        measure_path("store", [options.store], rows_of_store(options.wattlaw, options.store), 0, options)


if __name__ == "__main__":
    main()
