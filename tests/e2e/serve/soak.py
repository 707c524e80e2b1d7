"""A day of a server and an exporter, in the number of its readings, events and requests: memory is flat; and a server that is killed time and
again beside a sweep, whose store loses nothing: soak.py WATTLAW TOY FAKE_NVML [HOURS] [TEST...]

An hour has 240 scrapes by Prometheus at its 15 s, and 3,600 requests of a page that asks four times every 4 s. They come as fast as they are
answered, so that a day takes minutes; what grows with time alone, such as memory of clocks, is not seen by that."""
import http.client
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
wattlaw, toy, fake = map(os.path.abspath, sys.argv[1:4])
HOURS = float(sys.argv[4]) if len(sys.argv) > 4 else 24
SCRAPES, REQUESTS, TICKS = (int(n * HOURS) for n in (240, 3600, 36000))
STREAMS, KILLS = 20, 20
GROWTH_KIB = 2048  # what an allocator may keep; a leak of 50 bytes a request is twice as much in a day


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


class Service:
    def __init__(self, *command, **how):
        self.process = subprocess.Popen([wattlaw, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **how)
        self.url = self.process.stdout.readline().strip()
        check(self.url.startswith("http://"), command, "does not listen")
        self.port = int(self.url.split(":")[2].split("/")[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)


def get(connection, path):
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    check(answer.status == 200, path, answer.status, body[:200])
    return body


def flat(what, pid, steps, tenths=1):
    """Calls each step; resident memory at the end is that after so many tenths."""
    sizes = []
    for i, step in enumerate(steps):
        step()
        if (i + 1) % max(1, len(steps) // 10) == 0:
            sizes.append(resident_kib(pid))
    print(f"{what}: {len(steps)} steps; after each tenth {' '.join(map(str, sizes))} KiB", flush=True)
    check(sizes[-1] - sizes[tenths - 1] < GROWTH_KIB, what, "grew by", sizes[-1] - sizes[tenths - 1], "KiB")


def exporter_is_flat(folder):
    """At 1,000 ticks per second, less where the machine is busy: as many as a day has at the default 10, with the scrapes of a day between them."""
    env = {**os.environ, "NVML_LIBRARY": fake, "WATTLAW_FAKE_NVML": "gpus=2; power=sine:250:60:1", "WATTLAW_STATE_DIR": folder}
    with Service("exporter", "--port", "0", "--sensors", "nvml,proc", "--rate-hz", "1000", env=env) as s:
        c, n, begin = s.connection(), [0], time.monotonic()

        def ticks():
            text = get(c, "/metrics").decode()
            return (time.monotonic() - begin) / float(re.search(r"^wattlaw_sampler_achieved_period_seconds\S* (\S+)$", text, re.M)[1])

        def step():
            n[0] += 1
            while ticks() < n[0] * TICKS / SCRAPES:
                time.sleep(.05)
        time.sleep(1)
        flat("exporter", s.process.pid, [step] * SCRAPES, 7)  # the sampler's ring of 30 s, once all of it has been used
        print(f"exporter: {ticks():.0f} ticks", flush=True)


def server_is_flat(folder):
    """Each step is a measurement's change of its spool, as a run makes it, what the page then asks for, and an event to every stream."""
    store = os.path.join(folder, "wattlaw.db")
    job = subprocess.Popen([wattlaw, "measure", "--quiet", "--store", store, "--sensors", "proc", "--", "sleep", "86400"])
    while not os.path.exists(store + "-spool-1"):
        check(job.poll() is None, "the measurement ended")
        time.sleep(.05)
    try:
        with Service("serve", store, "--port", "0") as s:
            c, streams, n, opened = s.connection(), [], [0], [0]

            def step():
                n[0] += 1
                for path in ("/api/v1/overview", f"/api/v1/runs?q={n[0]}", "/api/v1/runs/1-1", f"/api/v1/runs/1-1/series?channel=1&points={300 + n[0] % 200}"):
                    get(c, path)
                if n[0] % 15 == 0:
                    get(c, "/metrics")
                # A page is opened, and the oldest one closed, whose end is noticed with the next event, within 15 s: not more than there may be
                if n[0] % 40 == 0 and time.monotonic() - opened[0] > .25:
                    opened[0] = time.monotonic()
                    stream = s.connection()
                    stream.request("GET", "/api/v1/events")
                    streams.append((stream, stream.getresponse()))
                    check(streams[-1][1].readline().startswith(b"retry:"), "no stream")
                if len(streams) > STREAMS:
                    for one in reversed(streams.pop(0)):
                        one.close()
            # four requests each, so those of four days: the answers that are kept, 256 and 32 MiB at most, have come by the sixth tenth
            flat("serve", s.process.pid, [step] * REQUESTS, 6)
    finally:
        job.terminate()
        job.wait()


def kills_lose_nothing(folder):
    """The server is killed in the midst of answers; the sweep goes on, and its store is whole and has all of its runs."""
    experiment = os.path.join(folder, "lab.ini")
    with open(experiment, "w", encoding="utf-8") as f:
        f.write("[campaign]\nname = lab\nrepeats = 10\n[sweep]\nworkload = toy\nworkers = 1,2\n[measure]\nsensors = proc\n[launch]\nlauncher = local\n"
                f"oversubscribe = yes\ncommand = sh -c '{toy} epochs=2 ms=100; : {{workers}}'\n")
    env = {**os.environ, "WATTLAW_NODE_DIR": os.path.join(folder, "node"), "WATTLAW_STATE_DIR": os.path.join(folder, "state")}
    sweep = subprocess.Popen([wattlaw, "sweep", experiment, "--quiet"], cwd=folder, env=env)
    store, r = os.path.join(folder, "lab", "wattlaw.db"), random.Random(1)
    while not os.path.exists(store + "-spool-1"):
        check(sweep.poll() is None, "the sweep ended")
        time.sleep(.02)
    beside = 0
    for _ in range(KILLS):
        with Service("serve", os.path.join(folder, "lab"), "--port", "0", cwd=folder, env=env) as s:
            for path in ("/api/v1/runs", "/report/1", "/download/1/samples.csv?run=1", "/metrics"):
                s.connection().request("GET", path)
            time.sleep(r.random() * .3)
            beside += sweep.poll() is None
        # __exit__ has killed it
    check(beside > 1, "the sweep had ended")
    check(sweep.wait(timeout=600) == 0, "the sweep:", sweep.returncode)
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        check(db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the store is damaged")
        check(db.execute("SELECT count(*) FROM run WHERE status = 'done'").fetchone() == (20,), "runs are missing")
    shown = subprocess.run([wattlaw, "show", store], capture_output=True, text=True, check=False, timeout=120)
    check(shown.returncode == 0, shown.stdout, shown.stderr)
    print(f"{KILLS} kills, {beside} beside the sweep: 20 runs are there")


def main():
    tests = [exporter_is_flat, server_is_flat, kills_lose_nothing]
    for test in tests:
        if len(sys.argv) <= 5 or test.__name__ in sys.argv[5:]:
            with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
                test(folder)
    print("soak: passed")


main()
