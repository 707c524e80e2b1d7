"""What the tests of campaigns on a Slurm share: a campaign in a folder of the rig, and the way a file of tests is run.

Each file is called as FILE WATTLAW TOY FAKE_NVML_LIBRARY ... [long|TEST...]."""
import concurrent.futures
import contextlib
import glob
import os
import sqlite3
import subprocess
import sys
import time
import traceback

import slurm_rig

SKIP = 77
PATIENCE_S = 150
wattlaw, toy, fake = map(os.path.abspath, sys.argv[1:4])


class Campaign:
    """An experiment in a folder of its own, and its store."""

    def __init__(self, rig, name, command, sweep="workers = 1", repeats=1, launch="", launcher="slurm"):
        self.rig, self.folder, self.env = rig, rig.path(name), rig.env
        os.mkdir(self.folder)
        self.ini = self.path("exp.ini")
        with open(self.ini, "w", encoding="ascii") as f:
            f.write(f"[campaign]\nname = {name}\nrepeats = {repeats}\nstore = store\n[sweep]\nworkload = toy\n{sweep}\n"
                    f"[measure]\nsensors = nvml\nnvml_library = {fake}\n"
                    f"[launch]\nlauncher = {launcher}\ngrace = 1s\npoll = 500ms\noversubscribe = yes\n{launch}\ncommand = {command}\n")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, *args):
        return subprocess.Popen([wattlaw, *args], cwd=self.folder, env=self.env, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def run(self, *args, status=0):
        with self.start(*args) as p:
            out, err = p.communicate(timeout=PATIENCE_S)
        check(status is None or p.returncode == status, f"{args}: status {p.returncode}, not {status}\n{out}\n{err}")
        return out + err

    def sweep(self, *args, status=0):
        return self.run("sweep", self.ini, "--quiet", *args, status=status)

    def rows(self, sql):
        """None: there is no store yet."""
        if not os.path.exists(self.path("store/wattlaw.db")):
            return None
        with contextlib.closing(sqlite3.connect(self.path("store/wattlaw.db"), timeout=20)) as db:
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'submission'").fetchall():
                return None
            return db.execute(sql).fetchall()

    def names(self, pattern):
        return sorted(glob.glob(self.path("store", pattern)))

    def until(self, condition, what):
        until(condition, what, lambda: f"{self.rig.ask('squeue', '-t', 'all')} {self.names('*/*')}")


def until(condition, what, seen):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: {seen()}")
        time.sleep(0.05)


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def contains(text, *parts):
    for part in parts:
        check(part in text, f"'{part}' is not in:\n{text}")


def first_attempt_waits(rig, name):
    """A command that ends at once if the file `again` is there, and else says that it has begun, and waits."""
    folder = rig.path(name)
    return f"sh -c 'test -e {folder}/again && exit 0; touch {folder}/begun; sleep 600'"


def until_it_waits(c):
    c.until(lambda: os.path.exists(c.path("begun")), "it runs")
    os.remove(c.path("begun"))


def touched(c):
    """How often the command of each run has ended: one line each."""
    with contextlib.suppress(FileNotFoundError), open(c.path("ended"), encoding="ascii") as f:
        return f.read().count("\n")
    return 0


def attempt(test, rig):
    begin = time.monotonic()
    try:
        test(rig)
        print(f"ok   {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        return True
    except Exception:
        print(f"FAIL {test.__name__}\n{traceback.format_exc()}", flush=True)
        return False


def run(start, together, long=(), first=(), last=(), why=None, arguments=3, workers=4):
    """The file's exit status. start: makes and starts the rig; together: tests that share it at the same time, the longest first; long:
    those of the suite `long`, or by name alone; first, last: one by one, before and after these; why: there can be no rig."""
    why = why or slurm_rig.why_not()
    if why:
        print("SKIP:", why)
        return SKIP
    slurm_rig.alone()
    names = sys.argv[1 + arguments:]

    def chosen(tests):
        return [t for t in tests if not names or t.__name__ in names]

    if names == ["long"]:
        first, together, last = (), long, ()
    elif names:
        together = [*together, *long]
    rig = start()
    try:
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            ok = [attempt(t, rig) for t in chosen(first)]
            ok += pool.map(lambda t: attempt(t, rig), together if names == ["long"] else chosen(together))
            ok += [attempt(t, rig) for t in chosen(last)]
    finally:
        rig.stop()
    return 0 if ok and all(ok) else 1
