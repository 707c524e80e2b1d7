#!/usr/bin/env python3
"""wattlaw measure beside other energy meters, on the same computed GPUs.

    bench/measure_peers.py BUILD [--seconds 5] [--tool NAME]... [--load NAME]...

Each tool watches two A100 of tests/fake/model.h while fake-load works on them, ten times a second where it can be set.
Its joules are held against what the model drew in the same window. Peers are what this Python can import: Zeus
(PowerMonitor), CodeCarbon, and polling with nvidia-ml-py as scripts around nvidia-smi do it; one that is not
there is skipped, and says so. Printed: the energy's error by load. Then processor time (children's included) of a second of watching
eight GPUs that draw a constant power, and of start and end, both from two lengths of `sleep`; ratios are over wattlaw's.
"""

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

LOADS = {"constant": "load=0.9 ms={ms}", "square": "workers=2 updates={half} step_ms=1000 overhead_ms=500 epochs=1",
         "training": "workers=2 updates={steps} step_ms=300 overhead_ms=50 epochs=1"}
PERIOD_S = 0.1


# ---- the peers: start() begins to watch, stop() returns joules --------------------------------------------------

class Polling:
    """The loop of many scripts: sum of power x nominal period."""

    def start(self):
        import pynvml
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        self.joules, self.going = 0.0, True

        def loop():
            while self.going:
                for h in handles:
                    self.joules += pynvml.nvmlDeviceGetPowerUsage(h) / 1e3 * PERIOD_S
                time.sleep(PERIOD_S)

        self.thread = threading.Thread(target=loop)
        self.thread.start()

    def stop(self):
        self.going = False
        self.thread.join()
        return self.joules


class Zeus:
    def start(self):
        from zeus.monitor import PowerMonitor
        self.monitor = PowerMonitor(gpu_indices=list(range(int(os.environ["PEERS_GPUS"]))), update_period=PERIOD_S)
        time.sleep(0.5)  # its own process imports again
        self.begin = time.time()

    def stop(self):
        end = time.time()
        time.sleep(3 * PERIOD_S)
        joules = sum(self.monitor.get_energy(self.begin, end).values())
        self.monitor.stop() if hasattr(self.monitor, "stop") else None
        return joules


class CodeCarbon:
    def start(self):
        from codecarbon import OfflineEmissionsTracker
        self.tracker = OfflineEmissionsTracker(country_iso_code="DEU", measure_power_secs=PERIOD_S, save_to_file=False,
                                               log_level="error", tracking_mode="machine", allow_multiple_runs=True)
        self.tracker.start()

    def stop(self):
        self.tracker.stop()
        return self.tracker.final_emissions_data.gpu_energy * 3.6e6


PEERS = {"polling": Polling, "zeus": Zeus, "codecarbon": CodeCarbon}


def cpu_s():
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in both)


def watch(tool, job):
    """In a process of its own: one peer watches one job."""
    before = cpu_s()
    peer = PEERS[tool]()
    peer.start()
    begin = time.monotonic_ns()
    with open("/dev/null", "wb") as nowhere:
        p = subprocess.Popen(job, stdout=nowhere)
        _, _, usage = os.wait4(p.pid, 0)
    end = time.monotonic_ns()
    joules = peer.stop()
    job_cpu = usage.ru_utime + usage.ru_stime
    print(json.dumps({"joules": joules, "begin": begin, "end": end, "cpu_s": cpu_s() - before - job_cpu}))


# ---- one case ----------------------------------------------------------------------------------------------------

def environment(build, folder, script, gpus):
    """The library where NVIDIA's lies; CodeCarbon looks for nvidia-smi too, but does not ask it."""
    with open(os.path.join(folder, "nvidia-smi"), "w") as f:
        f.write("#!/bin/sh\n")
    os.chmod(os.path.join(folder, "nvidia-smi"), 0o755)
    os.symlink(os.path.join(build, "tests/fake/libnvidia-ml-fake.so"), os.path.join(folder, "libnvidia-ml.so.1"))
    path = os.environ.get("LD_LIBRARY_PATH", "")
    return {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{path}", "PATH": f"{folder}:{os.environ['PATH']}",
            "WATTLAW_FAKE_NVML": f"gpus={gpus}; {script}", "PEERS_GPUS": str(gpus)}


def truth_j(build, folder, begin, end):
    out = subprocess.run([os.path.join(build, "tests/fake/fake-truth"), f"{folder}/world", str(begin), str(end)],
                         check=True, capture_output=True, text=True).stdout
    return sum(float(line.split()[1]) for line in out.splitlines())


def wattlaw(build, folder, env, job):
    command = [os.path.join(build, "src/cmd/wattlaw"), "measure", "--quiet", "--sensors", "nvml", "--json", "s.json",
               "--"]
    subprocess.run([*command, *job], cwd=folder, env=env, check=True)
    with open(os.path.join(folder, "s.json")) as f:
        s = json.load(f)
    db = sqlite3.connect(os.path.join(folder, "wattlaw.db"))
    begin, end = db.execute("SELECT start_mono_ns, stop_mono_ns FROM run").fetchone()
    chosen = next(e for e in s["energies"] if e["chosen"])
    return {"joules": chosen["energy_j"], "begin": begin, "end": end, "cpu_s": s["own_cpu_s"]}


def run(build, tool, folder, env, job):
    """What the tool says of the job; None where it is not there."""
    if tool == "wattlaw":
        return wattlaw(build, folder, env, job)
    p = subprocess.run([sys.executable, os.path.abspath(__file__), "--watch", tool, *job], cwd=folder, env=env,
                       capture_output=True, text=True)
    if p.returncode == 0:
        return json.loads(p.stdout.strip().splitlines()[-1])
    print(f"{tool}: skipped: {p.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return None


def error_pct(build, tool, load, seconds):
    words = LOADS[load].format(ms=seconds * 1e3, half=int(seconds), steps=int(seconds / 0.2)).split()
    with tempfile.TemporaryDirectory() as folder:
        env = environment(build, folder, f"profile=A100; world={folder}/world", 2)
        r = run(build, tool, folder, env, [os.path.join(build, "tests/fake/fake-load"), "workers=2", *words])
        return 100 * (r["joules"] / truth_j(build, folder, r["begin"], r["end"]) - 1) if r else float("nan")


def costs_ms(build, tool, seconds):
    """Processor time of a second, and of start and end."""
    found = []
    for length in 1, 1 + seconds:
        with tempfile.TemporaryDirectory() as folder:
            r = run(build, tool, folder, environment(build, folder, "power=250", 8), ["sleep", str(length)])
            found.append(1e3 * r["cpu_s"] if r else float("nan"))
    rate = (found[1] - found[0]) / seconds
    return rate, found[0] - rate


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--seconds", type=float, default=5)
    p.add_argument("--tool", action="append", choices=list(PEERS))
    o = p.parse_args()
    build, own = os.path.abspath(o.build), None
    head = ["meter", *(f"{load} load" for load in LOADS), "CPU ms a second, 8 GPUs", "x wattlaw", "start and end, CPU ms"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for tool in ["wattlaw", *(o.tool or PEERS)]:
        errors = [f"{error_pct(build, tool, load, o.seconds):+.2f} %" for load in LOADS]
        rate, rest = costs_ms(build, tool, o.seconds)
        own = rate if tool == "wattlaw" else own
        print(f"| {tool} | " + " | ".join(errors) + f" | {rate:.2f} | {rate / own:.1f} | {rest:.0f} |", flush=True)


if __name__ == "__main__":  # peers import this file in processes of their own
    if len(sys.argv) > 3 and sys.argv[1] == "--watch":
        watch(sys.argv[2], sys.argv[3:])
    else:
        main()
