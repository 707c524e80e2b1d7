#!/usr/bin/env python3
"""wattlaw measure, and wattlaw.measure around a block of Python, beside other energy meters, on the same computed GPUs.

    bench/measure_peers.py BUILD errors|cost|defaults|start|training [--python PYTHON] [--seconds 8] [--tool NAME]...

Peers are what PYTHON can import: perun, Zeus (PowerMonitor; its ZeusMonitor reads counters at begin and end alone),
CodeCarbon, jpwr, and polling with nvidia-ml-py as scripts around nvidia-smi do it. One that is not there is skipped, and says so.

errors    joules of two A100 of tests/fake/gpu_model.h while fake-load works on them, against what the model drew in the same
          window; all tools ten times a second, the loads of one tool at the same time
cost      processor time of a second beside eight GPUs of constant power, all tools ten times a second, of a reading, and of a
          command of a minute with start and end; wattlaw is watched for 30 s at least, since it stores that often
defaults  the same as each tool is without options, all at the same time
start     time that a command takes longer under the tool, on one A100, medians
training  the time of two ranks that train, with wattlaw measure and without, in turns

Processor time is that of the tool and its children, without the watched command, read while it watches; ratios are over
wattlaw's. Times are worth something where nothing else runs.
"""

import argparse
import concurrent.futures
import contextlib
import glob
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

LOADS = {"constant": "load=0.9 ms={ms}", "square": "workers=2 updates={half} step_ms=1000 overhead_ms=500 epochs=1",
         "training": "workers=2 updates={steps} step_ms=300 overhead_ms=50 epochs=1"}
FAST_S = 0.1
SETTLED_S = 2.5  # after a start
STORED_S = 30    # between two transactions of wattlaw
GPUS = 8
READ = {"polling": 1, "Zeus": 1, "CodeCarbon": 1, "jpwr": 1, "perun": 5}  # quantities per GPU and tick; perun: power, memory, clocks


# ---- the peers that run in one of our processes: start(period) starts measuring, stop() returns joules ----------------

class Polling:
    """The loop of many scripts: sum of power x nominal period."""
    default_s = 1

    def start(self, period_s):
        import pynvml
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        self.joules, self.going = 0.0, True

        def loop():
            while self.going:
                for h in handles:
                    self.joules += pynvml.nvmlDeviceGetPowerUsage(h) / 1e3 * period_s
                time.sleep(period_s)

        self.thread = threading.Thread(target=loop)
        self.thread.start()

    def stop(self):
        self.going = False
        self.thread.join()
        return self.joules


class Zeus:
    default_s = None  # as found by polling at the start

    def start(self, period_s):
        from zeus.monitor import PowerMonitor
        self.monitor = PowerMonitor(gpu_indices=list(range(int(os.environ["PEERS_GPUS"]))), update_period=period_s)
        time.sleep(0.5)  # its own process imports again
        self.begin = time.time()

    def stop(self):
        end = time.time()
        time.sleep(3 * FAST_S)
        joules = sum(self.monitor.get_energy(self.begin, end).values())
        if hasattr(self.monitor, "stop"):
            self.monitor.stop()
        return joules


class ZeusWindow:
    default_s = None

    def start(self, _):
        from zeus.monitor import ZeusMonitor
        self.monitor = ZeusMonitor(gpu_indices=list(range(int(os.environ["PEERS_GPUS"]))))
        self.monitor.begin_window("job", sync_execution=False)

    def stop(self):
        return self.monitor.end_window("job", sync_execution=False).total_energy


class CodeCarbon:
    default_s = 15

    def start(self, period_s):
        from codecarbon import OfflineEmissionsTracker
        self.tracker = OfflineEmissionsTracker(country_iso_code="DEU", measure_power_secs=period_s, save_to_file=False,
                                               log_level="error", tracking_mode="machine", allow_multiple_runs=True)
        self.tracker.start()

    def stop(self):
        self.tracker.stop()
        return self.tracker.final_emissions_data.gpu_energy * 3.6e6


class Jpwr:
    default_s = 0.1

    def start(self, period_s):
        from jpwr.ctxmgr import get_power
        from jpwr.gpu.pynvml import power
        self.meter = get_power([power()], period_s * 1e3, {"ignore_measure_errors": False})
        self.meter.__enter__()
        time.sleep(0.5)  # its own process opens the driver
        self.begin = time.time()

    def stop(self):
        self.meter.__exit__(None, None, None)
        self.meter.df = self.meter.df[self.meter.df["timestamps"] >= self.begin]
        watt_hours, _ = self.meter.energy()
        return watt_hours.sum() * 3600


class Block:
    """wattlaw.measure: what is watched is a block of this process."""
    default_s = None

    def start(self, period_s):
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
        import wattlaw
        self.block = wattlaw.measure("job", **({"sensors": "nvml"} if period_s else {}))
        self.run = self.block.__enter__()

    def stop(self):
        self.block.__exit__(None, None, None)
        return self.run.energy_j


PEERS = {"wattlaw.measure": Block, "polling": Polling, "Zeus": Zeus, "Zeus, begin and end": ZeusWindow, "CodeCarbon": CodeCarbon, "jpwr": Jpwr}
TOOLS = ["wattlaw", *PEERS, "perun"]


def watch(tool, period, job):
    """In a process of its own: one peer watches one job."""
    peer = PEERS[tool]()
    peer.start(FAST_S if period == "fast" else peer.default_s)
    begin = time.monotonic_ns()
    subprocess.run(job, stdout=subprocess.DEVNULL, check=True)
    end = time.monotonic_ns()
    print(json.dumps({"joules": peer.stop(), "begin": begin, "end": end}))


# ---- one run of one tool ------------------------------------------------------------------------------------------

def environment(build, folder, script, gpus):
    """The library where NVIDIA's lies; CodeCarbon looks for nvidia-smi too, but does not ask it."""
    with open(os.path.join(folder, "nvidia-smi"), "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n")
    os.chmod(os.path.join(folder, "nvidia-smi"), 0o755)
    os.symlink(os.path.join(build, "tests/fake/libnvidia-ml-fake.so"), os.path.join(folder, "libnvidia-ml.so.1"))
    path = os.environ.get("LD_LIBRARY_PATH", "")
    return {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{path}", "PATH": f"{folder}:{os.environ['PATH']}",
            "WATTLAW_FAKE_NVML": f"gpus={gpus}; {script}", "PEERS_GPUS": str(gpus),
            "WATTLAW_PROGRAM": os.path.join(build, "src/cmd/wattlaw")}


def command_of(o, tool, period, job):
    if tool == "wattlaw":
        only_gpus = ["--sensors", "nvml"] if period == "fast" else []
        return [os.path.join(o.build, "src/cmd/wattlaw"), "measure", "--quiet", *only_gpus, "--json-file", "s.json", "--", *job]
    if tool == "perun":
        timed = ["sh", "-c", 'date +%s%N > begin; "$@"; date +%s%N > end', "sh", *job]
        rate = ["--sampling-period", str(FAST_S)] if period == "fast" else []
        return [o.python, "-m", "perun", "monitor", "-f", "json", *rate, "-b", *timed]
    return [o.python, os.path.abspath(__file__), "--watch", tool, period, *job]


def found(tool, folder, said):
    """Joules, and the window that they are of."""
    if tool == "wattlaw":
        with open(f"{folder}/s.json", encoding="utf-8") as f:
            joules = next(e["energy_j"] for e in json.load(f)["energies"] if e["chosen"])
        with contextlib.closing(sqlite3.connect(f"{folder}/wattlaw.db")) as db:
            return joules, *db.execute("SELECT start_mono_ns, stop_mono_ns FROM run").fetchone()
    if tool == "perun":
        ahead = time.time_ns() - time.monotonic_ns()
        with open(glob.glob(f"{folder}/perun_results/*.json")[0], encoding="utf-8") as f:
            joules = json.load(f)["metrics"]["gpu_energy"]["sum"]
        return joules, *(int(open(f"{folder}/{edge}", encoding="ascii").read()) - ahead for edge in ("begin", "end"))
    r = json.loads(said.strip().splitlines()[-1])
    return r["joules"], r["begin"], r["end"]


def is_there(o, tool):
    if tool.startswith("wattlaw"):
        return True
    module = {"polling": "pynvml", "Zeus": "zeus.monitor", "Zeus, begin and end": "zeus.monitor"}.get(tool, tool.lower())
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.run([o.python, "-c", f"import {module}"], capture_output=True, text=True, check=False,
                           env=environment(o.build, folder, "", 1))
    if p.returncode:
        print(f"{tool}: skipped: {p.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return p.returncode == 0


def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


# ---- errors -------------------------------------------------------------------------------------------------------

def error_pct(o, tool, load):
    s = o.seconds
    words = LOADS[load].format(ms=s * 1e3, half=int(s), steps=int(s / 0.2)).split()
    with tempfile.TemporaryDirectory() as folder:
        env = environment(o.build, folder, f"profile=A100; world={folder}/world", 2)
        job = [os.path.join(o.build, "tests/fake/fake-load"), "workers=2", *words]
        p = subprocess.run(command_of(o, tool, "fast", job), cwd=folder, env=env, capture_output=True, text=True, check=True)
        joules, begin, end = found(tool, folder, p.stdout)
        out = subprocess.run([os.path.join(o.build, "tests/fake/fake-truth"), f"{folder}/world", str(begin), str(end)],
                             check=True, capture_output=True, text=True).stdout
    return 100 * (joules / sum(float(line.split()[1]) for line in out.splitlines()) - 1)


def errors(o):
    rows = []
    for tool in o.tools:
        with concurrent.futures.ThreadPoolExecutor(len(LOADS)) as pool:
            rows.append([tool, *(f"{pct:+.2f} %" for pct in pool.map(lambda load, t=tool: error_pct(o, t, load), LOADS))])
    table(["meter", *(f"{load} load" for load in LOADS)], rows)


# ---- cost ---------------------------------------------------------------------------------------------------------

def tree(pid):
    """The process and its descendants, without the watched command and what is between."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        if f.read().strip() not in ("sleep", "sh"):
            yield pid
            for tasks in glob.glob(f"/proc/{pid}/task/*/children"):
                with contextlib.suppress(OSError), open(tasks, encoding="ascii") as children:
                    for child in children.read().split():
                        yield from tree(int(child))


def cpu_s(pid):
    """Of all its threads, those that have ended too: the process's own clock (clock_getcpuclockid)."""
    total = 0.0
    for p in tree(pid):
        with contextlib.suppress(OSError):
            total += time.clock_gettime((~p << 3) | 2)
    return total


def cost_ms(o, tool, period, seconds, script="power=250"):
    """Processor time of a second of watching, and of start and end; readings a second, where they are known."""
    seconds = max(seconds, STORED_S) if tool.startswith("wattlaw") else seconds
    with tempfile.TemporaryDirectory() as folder:
        env, job = environment(o.build, folder, script, GPUS), ["sleep", str(SETTLED_S + seconds + 1)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        p = subprocess.Popen(command_of(o, tool, period, job), cwd=folder, env=env, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        while not any("sleep" == name for name in names_below(p.pid)) and p.poll() is None:
            time.sleep(0.05)
        time.sleep(SETTLED_S)
        t0, c0 = time.monotonic(), cpu_s(p.pid)
        time.sleep(seconds)
        t1, c1 = time.monotonic(), cpu_s(p.pid)
        p.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        readings = readings_a_second(tool, folder)
    rate = (c1 - c0) / (t1 - t0)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1e3 * rate, 1e3 * (spent - rate * (SETTLED_S + seconds + 1)), readings


def readings_a_second(tool, folder):
    """Of wattlaw those in its store, of peers those that a tick at FAST_S has; None: not known."""
    if not tool.startswith("wattlaw"):
        return READ[tool] * GPUS / FAST_S if tool in READ else None
    with contextlib.closing(sqlite3.connect(f"{folder}/wattlaw.db")) as db:
        n, first_ns, last_ns = db.execute("SELECT count(*), min(t_ns), max(t_ns) FROM sample").fetchone()
    return n / (last_ns - first_ns) * 1e9


def names_below(pid):
    for tasks in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError), open(tasks, encoding="ascii") as f:
            for child in f.read().split():
                with contextlib.suppress(OSError), open(f"/proc/{child}/comm", encoding="utf-8") as name:
                    yield name.read().strip()
                yield from names_below(child)


def print_costs(costs):
    own, _, _ = costs[0][1]
    own_minute = minute_ms(costs[0][1])
    table(["meter", "CPU ms a second", "of a core", "CPU s an hour", "x wattlaw", "readings a second", "CPU us a reading",
           "start and end, CPU ms", "a minute's command, CPU ms", "x wattlaw"],
          [[tool, f"{rate:.2f}", f"{rate / 10:.3f} %", f"{rate * 3.6:.1f}", f"{rate / own:.1f}",
            f"{readings:.0f}" if readings else "-", f"{1e3 * rate / readings:.1f}" if readings else "-", f"{rest:.0f}",
            f"{minute_ms((rate, rest, readings)):.0f}", f"{minute_ms((rate, rest, readings)) / own_minute:.1f}"]
           for tool, (rate, rest, readings) in costs])


def minute_ms(cost):
    rate, rest, _ = cost
    return 60 * rate + rest


def cost(o):
    print_costs([(tool, cost_ms(o, tool, "fast", o.seconds)) for tool in o.tools])


def defaults(o):
    """Power moves ten times a second, as Zeus takes its period from that. Starts, which are at the same time, do not count."""
    with concurrent.futures.ThreadPoolExecutor(len(o.tools)) as pool:
        rates = list(pool.map(lambda tool: cost_ms(o, tool, "default", o.seconds, "power=ramp:250:1; update_ms=100")[0], o.tools))
    table(["meter", "CPU ms a second", "CPU s an hour", "x wattlaw"],
          [[tool, f"{rate:.3f}", f"{rate * 3.6:.2f}", f"{rate / rates[0]:.2f}"] for tool, rate in zip(o.tools, rates)])


# ---- start --------------------------------------------------------------------------------------------------------

def start(o):
    rows = []
    for tool in o.tools:
        took = []
        for _ in range(o.rounds):
            with tempfile.TemporaryDirectory() as folder:
                env = environment(o.build, folder, f"profile=A100; world={folder}/world", 1)
                t0 = time.monotonic()
                subprocess.run(command_of(o, tool, "fast", ["true"]), cwd=folder, env=env, capture_output=True, check=True)
                t1 = time.monotonic()
                subprocess.run(["true"], cwd=folder, env=env, check=True)
                took.append(t1 - t0 - (time.monotonic() - t1))
        rows.append([tool, f"{statistics.median(took):.2f} s", f"{min(took):.2f}-{max(took):.2f}"])
    table(["meter", "longer than without", "range"], rows)


# ---- training -----------------------------------------------------------------------------------------------------

def training(o):
    """Ratios of neighbours, whose order changes, so that a machine that changes its speed changes both."""
    trainer, measure = (os.path.join(o.build, "src/cmd", name) for name in ("wattlaw-train", "wattlaw"))
    with tempfile.TemporaryDirectory() as data:
        subprocess.run([trainer, "data", "imagenet", "--synthetic", data, "--images", "4800", "--val-images", "10",
                        "--image-size", "32", "--quiet"], check=True, capture_output=True)
        train = [trainer, "resnet50", "--data", data, "--size", "tiny", "--image-size", "32", "--workers", "2",
                 "--local-batch", "16", "--epochs", str(o.epochs), "--no-validate"]
        ways = [train, [measure, "measure", "--quiet", "--", *train]]
        pairs = [{way: training_s(o, ways[way]) for way in ((0, 1) if k % 2 else (1, 0))} for k in range(o.rounds)]
    ratios = [pair[1] / pair[0] for pair in pairs]
    spread = [after[0] / before[0] for before, after in zip(pairs, pairs[1:])]
    print(f"training of {statistics.median(pair[0] for pair in pairs):.2f} s: ratio {statistics.median(ratios):.4f} "
          f"({min(ratios):.4f}-{max(ratios):.4f}, {len(ratios)} pairs); without measure, a run by the one before: "
          f"{statistics.median(spread):.4f} ({min(spread):.4f}-{max(spread):.4f})")


def training_s(o, command):
    """From the first epoch's begin to the last one's end, by the marks of rank 0; wattlaw watches eight GPUs beside it."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**environment(o.build, folder, "power=250", 8), "WATTLAW_MARKS": f"{folder}/marks"}
        subprocess.run(command, cwd=folder, env=env, capture_output=True, check=True)
        stamps = {}
        with open((glob.glob(f"{folder}/runs/*/marks") or [f"{folder}/marks"])[0], encoding="utf-8") as f:
            for t, rank, word, *_ in map(str.split, f):
                if rank == "0":
                    stamps[word] = stamps[word] if word == "epoch-begin" and word in stamps else int(t)
    return (stamps["epoch-end"] - stamps["epoch-begin"]) / 1e9


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", type=os.path.abspath)
    p.add_argument("part", choices=["errors", "cost", "defaults", "start", "training"])
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--seconds", type=float, default=8)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--tool", action="append", choices=TOOLS)
    p.add_argument("--epochs", type=int, default=8, help="of the training, of 4800 small pictures each")
    o = p.parse_args()
    o.python = os.path.abspath(o.python)
    o.tools = [] if o.part == "training" else [tool for tool in ["wattlaw", *(o.tool or TOOLS[1:])] if is_there(o, tool)]
    {"errors": errors, "cost": cost, "defaults": defaults, "start": start, "training": training}[o.part](o)


if __name__ == "__main__":  # peers import this file in processes of their own
    if len(sys.argv) > 4 and sys.argv[1] == "--watch":
        watch(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        main()
