#!/usr/bin/env python3
"""wattlaw.measure: blocks and functions of this process as runs of a store: measuring.py SOURCE WATTLAW. Standard library only."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings

SOURCE, WATTLAW = sys.argv[1], os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "python"))
import wattlaw  # noqa: E402
from checks import check, raised  # noqa: E402

FEW = {"sensors": "proc,cpu_model"}
KILLED = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import wattlaw
with wattlaw.measure("killed", store=sys.argv[2], sensors="proc"):
    print("begun", flush=True)
    time.sleep(60)
"""


def enter(*args, **options):
    with wattlaw.measure(*args, **options):
        raise AssertionError("the block ran")


def shown(store, number):
    return wattlaw.open(store).run(number)


def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def block(store):
    """Marks, times and energies of a block; CPU time from before it is not the block's."""
    work(.3)
    t0 = time.monotonic()
    with wattlaw.measure("block", store=store, **FEW) as run:
        begun = time.monotonic()
        check(run.time_s is None and run.energy_j is None and run.number is None and "not measured" in repr(run))
        for n in (1, 2):
            with wattlaw.epoch(n) as e:
                work(.2)
                e.samples = 50
        inside = time.monotonic() - begun
    check("WATTLAW_MARKS" not in os.environ and not wattlaw.enabled())
    check(inside <= run.time_s <= time.monotonic() - t0, inside, run.time_s)
    check([(e["epoch"], e["samples"]) for e in run.epochs] == [(1, 50), (2, 50)], run.epochs)
    low, high = run.energy_interval_j
    check(0 < low < run.energy_j < high and run.estimated is True, run, low, high)
    check(run.store == store and "estimated" in repr(run), run.store, run)
    seen = shown(store, run.number)
    check(seen["status"] == "done" and seen["command"].endswith(SOURCE + " " + sys.argv[2]), seen["status"], seen["command"])
    check(wattlaw.open(store).run(run.number) is not None)


def job_cpu(store):
    """The share of CPU time is that of this process in the block, not of its past."""
    work(1.5)
    with wattlaw.measure("idle", store=store, **FEW) as run:
        time.sleep(1.2)
    share = run.job["devices"][0]["use_share"]
    check(share is not None and share < .3, run.job)
    check(0 <= run.job["energy_j"] <= run.energy_j * 1.0001, run.job, run.energy_j)


def failures(store):
    error = raised(ValueError, lambda: fail(store), "two\nlines")
    check(error.__traceback__ is not None)
    seen = shown(store, max(row["run"] for row in wattlaw.open(store).runs()))
    check(seen["status"] == "failed" and "ValueError: two lines" in seen["error"], seen["status"], seen["error"])
    raised(wattlaw.ProgramError, lambda: enter(store="/proc/nothing/lab.db"), "cannot")
    raised(wattlaw.ProgramError, lambda: enter(store=store, nonsense=1), "unknown option --nonsense")
    raised(wattlaw.ProgramError, lambda: enter(store=store, stop_at="1h"), "--attach", "--stop-at")
    check("WATTLAW_MARKS" not in os.environ)
    with wattlaw.measure("outer", store=store, sensors="proc"):
        raised(RuntimeError, lambda: enter(store=store), "measured already", "wattlaw.phase")
    same = wattlaw.measure("same", store=store, sensors="proc")
    with same:
        raised(RuntimeError, lambda: same.__enter__(), "measured already")


def fail(store):
    with wattlaw.measure("bad", store=store, sensors="proc"):
        raise ValueError("two\nlines")


def function(store):
    @wattlaw.measure("function", store=store, sensors="proc")
    def twice(x):
        """Doubles."""
        return 2 * x
    check(twice.run.number is None and twice.__doc__ == "Doubles.")
    check(twice(3) == 6)
    first = twice.run.number
    check(twice(4) == 8 and twice.run.number == first + 1, first, twice.run.number)


def other_ranks(store):
    before = len(wattlaw.open(store).runs())
    wattlaw.set_rank(1)
    with wattlaw.measure("rank", store=store, sensors="proc") as run:
        pass
    wattlaw.set_rank(0)
    check(run.number is None and len(wattlaw.open(store).runs()) == before)


def children(store):
    """A child that leaves the block does not end its measuring; one that lives on does not prolong it."""
    with wattlaw.measure("forks", store=store, sensors="proc") as run:
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
    if os.getpid() != wattlaw_pid:
        time.sleep(20)
        os._exit(0)
    check(run.number is not None and shown(store, run.number)["status"] == "done")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def program_is_killed(store):
    """The block goes on where wattlaw dies; its result is missing, and that is said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with wattlaw.measure("victim", store=store, sensors="proc") as run:
            subprocess.run(["pkill", "-KILL", "-f", "measure --json --attach=%d " % os.getpid()], check=True)
            time.sleep(.1)
    check(run.number is None and len(said) == 1 and "was not measured" in str(said[0].message), run, said)


def wait_for_run(store, workload, running=True):
    """The newest run, once it runs, or has ended."""
    for _ in range(400):
        last = max(wattlaw.open(store).runs(), key=lambda row: row["run"])
        if last["workload"] == workload and (last["status"] == "running") == running:
            return last
        time.sleep(.05)
    raise AssertionError("no run of %s: %s" % (workload, last))


def caller_is_killed(store):
    with subprocess.Popen([sys.executable, "-c", KILLED, os.path.join(SOURCE, "python"), store], stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        p.kill()
    seen = shown(store, wait_for_run(store, "killed", running=False)["run"])
    check(seen["status"] == "failed" and "ended while it was measured" in seen["error"], seen["status"], seen.get("error"))


def from_a_shell(store):
    """--attach without a program that asked: until the process ends, or Ctrl-C, which leaves it running."""
    for is_killed in (True, False):
        with subprocess.Popen(["sleep", "30"]) as p:
            with subprocess.Popen([WATTLAW, "measure", "--quiet", "--sensors=proc", "--store", store, "--attach", str(p.pid)]) as m:
                wait_for_run(store, "sleep")
                time.sleep(.3)
                os.kill(p.pid if is_killed else m.pid, signal.SIGKILL if is_killed else signal.SIGINT)
                check(m.wait(20) == 0, m.returncode)
            check(is_killed or p.poll() is None)
            p.kill()
        last = wait_for_run(store, "sleep", running=False)
        check(last["status"] == "done" and .2 < last["time_s"] < 20, last)


def usage(store):
    ours, theirs = socket.socketpair()
    for arguments, words in ((["--attach", "1", "--", "true"], "leave out -- and the command"), (["--control", "3", "--", "true"], "--attach"),
                             (["--attach", str(2 ** 31 - 1)], "no such process"), (["--attach", "2"], "not a program"),
                             (["--attach", str(os.getpid()), "--control", "0"], "stream socket"),
                             (["--attach", str(os.getpid()), "--control", "99"], "stream socket"),
                             (["--attach", str(os.getpid()), "--epoch-regex", "x"], "output of a command"), ([], "command is missing")):
        done = subprocess.run([WATTLAW, "measure", "--store", store, *arguments], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        check(done.returncode == 2 or "no such process" in words or "not a program" in words, done.returncode, arguments)
        check(done.returncode != 0 and words in done.stderr.decode(), arguments, done.stderr.decode())
    ours.close()
    theirs.close()


def options_of_the_documents(_):
    """Each keyword that the docstring and the reference show is an option of the command."""
    known = subprocess.run([WATTLAW, "measure", "--help"], capture_output=True, text=True, check=True).stdout
    with open(os.path.join(SOURCE, "docs", "reference", "python.md"), encoding="utf-8") as f:
        row = next(line for line in f if "an option of [`wattlaw measure`]" in line)
    for text in (row, wattlaw.measure.__doc__):
        words = re.findall(r"\b([a-z_]+)=", text)
        check(len(words) >= 4, text)
        for word in words:
            check(f"--{word.replace('_', '-')} " in known, f"no option --{word}")


def main():
    os.environ["WATTLAW_PROGRAM"] = WATTLAW
    os.environ.pop("WATTLAW_MARKS", None)
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "lab.db")
        for test in (block, job_cpu, failures, function, other_ranks, children, program_is_killed, caller_is_killed, from_a_shell, usage, options_of_the_documents):
            test(store)
    print("measuring: passed")


wattlaw_pid = os.getpid()
main()
