#!/usr/bin/env python3
"""What `wattlaw serve` costs the machine that measures: bench/serve_load.py WATTLAW [SECONDS]

Own processor time, from /proc, as a share of a core, while a sweep runs, whose jobs are measured at 10 Hz into the store that is served: nobody
looks; 50 pages hold their streams of events open and ask for the run that is under way whenever one comes, as the page does; wrk asks for runs
and for series. Processor time alone: the answers of a busy machine are the same. Printed beside it: what the sweep and its runs used.
"""
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

TARGET_PERCENT, TARGET_PER_S = 0.5, 1000
VIEWERS = 50
# Runs of 5 s, each with five epochs, one after another, for longer than this looks.
EXPERIMENT = """[campaign]
name = load
repeats = 10000
[sweep]
workload = waiting
workers = 1,2
[measure]
rate_hz = 10
[launch]
command = {python} {job} {{workers}}
oversubscribe = yes
"""
JOB = """import sys, time
sys.path.insert(0, {marks!r})
import wattlaw
wattlaw.start(workload="waiting")
for n in range(1, 6):
    with wattlaw.epoch(n) as e:
        time.sleep(1)
        e.samples, e.updates = 1000, 10
wattlaw.stop()
"""


def cpu_s(pid):
    """User and system time of all its threads, ended ones too, to 1 ns where the kernel says so."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1e9


class Server:
    def __init__(self, wattlaw, store):
        self.process = subprocess.Popen([wattlaw, "serve", store, "--port", "0", "--connections", "512"], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip().rstrip("/")
        self.port = int(self.url.rsplit(":", 1)[1])

    def get(self, path, connection=None):
        c = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        c.request("GET", path)
        return c.getresponse().read()

    def share(self, seconds):
        """Percent of a core over that time."""
        before, begin = cpu_s(self.process.pid), time.monotonic()
        time.sleep(seconds)
        return (cpu_s(self.process.pid) - before) / (time.monotonic() - begin) * 100

    def end(self):
        self.process.terminate()
        self.process.wait()


def under_way(server, connection=None):
    """(number of the run that is running, one of its channels), None between runs"""
    runs = json.loads(server.get("/api/v1/runs?state=running", connection))["runs"]
    run = runs and json.loads(server.get(f"/api/v1/runs/{runs[0]['id']}", connection))
    return (run["id"], run["series"][0]["channel"]) if run and run["series"] else None


def viewer(server, stop, counts):
    """An open page of a run: an event of readings makes it ask for the run and a series."""
    events = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    events.request("GET", "/api/v1/events")
    asks = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for line in events.getresponse():
        if stop.is_set():
            return
        counts["events"] += line.startswith(b"event: ")
        if line.startswith(b"event: readings") and (run := under_way(server, asks)):
            server.get(f"/api/v1/runs/{run[0]}/series?channel={run[1]}", asks)
            counts["requests"] += 3


def wrk(server, path, seconds):
    """(requests per second, processor seconds of the server for each)"""
    before = cpu_s(server.process.pid)
    out = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}s", server.url + path], capture_output=True, text=True, check=True).stdout
    used, n = cpu_s(server.process.pid) - before, int(re.search(r"(\d+) requests in", out)[1])
    if "Non-2xx" in out:
        raise SystemExit(out)
    return float(re.search(r"Requests/sec: +([\d.]+)", out)[1]), used / n


def run_of_now(server):
    while (run := under_way(server)) is None:
        time.sleep(.1)
    return run


def tree_cpu_s(process):
    """Of a process and of what it started that has ended and been waited for, seconds."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:15])) / os.sysconf("SC_CLK_TCK")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wattlaw, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 30
    python_marks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python")
    with tempfile.TemporaryDirectory(prefix="wattlaw-bench-") as folder:
        job = os.path.join(folder, "job.py")
        with open(job, "w", encoding="utf-8") as f:
            f.write(JOB.format(marks=python_marks))
        with open(os.path.join(folder, "load.ini"), "w", encoding="utf-8") as f:
            f.write(EXPERIMENT.format(python=sys.executable, job=job))
        sweep = subprocess.Popen([wattlaw, "sweep", "load.ini", "--quiet"], cwd=folder)
        while not os.path.exists(os.path.join(folder, "load", "wattlaw.db")):
            time.sleep(.1)
        server = Server(wattlaw, os.path.join(folder, "load"))
        try:
            run_of_now(server)
            time.sleep(3)
            nobody = server.share(seconds)
            print(f"nobody looks: {nobody:.3f} % of a core (target {TARGET_PERCENT} %)", flush=True)
            stop, counts = threading.Event(), {"events": 0, "requests": 0}
            for _ in range(VIEWERS):
                threading.Thread(target=viewer, args=(server, stop, counts), daemon=True).start()
            time.sleep(3)
            at, before = time.monotonic(), dict(counts)
            looked = server.share(seconds)
            took = time.monotonic() - at
            print(f"{VIEWERS} pages of the run under way are open: {looked:.2f} % of a core; {(counts['events'] - before['events']) / took:.0f} events and "
                  f"{(counts['requests'] - before['requests']) / took:.0f} requests per second", flush=True)
            stop.set()
            if shutil.which("wrk"):
                run, channel = run_of_now(server)
                for path in ("/api/v1/runs", f"/api/v1/runs/{run}/series?channel={channel}"):
                    rate, each = wrk(server, path, int(seconds / 3) + 1)
                    print(f"{path}: {rate:.0f} requests per second; {each * 1e6:.0f} us of processor time each: one core answers {1 / each:.0f} per second "
                          f"(target {TARGET_PER_S})", flush=True)
            else:
                print("wrk is missing: no requests per second")
            done = json.loads(server.get("/api/v1/runs?state=done&limit=1"))["matched"]
            print(f"{done} runs were made meanwhile, with {tree_cpu_s(sweep):.2f} s of processor time of the sweep, its runs and their jobs")
        finally:
            server.end()
            sweep.terminate()
            sweep.wait()
    return nobody < TARGET_PERCENT


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
