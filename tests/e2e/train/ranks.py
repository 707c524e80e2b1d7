#!/usr/bin/env python3
"""Ranks of a training compared with each other: ranks.py WATTLAW_TRAIN WATTLAW CASE. Exit 0: passed, 77: cannot run here, 1: failed."""
import signal
import threading

from images import *

WATTLAW = os.path.abspath(sys.argv[2])
SLOW = 2


def in_pieces(pid, ended):
    """The process runs a third of the time, whatever else the machine does."""
    while not ended.is_set():
        try:
            os.kill(pid, signal.SIGSTOP)
            ended.wait(.01)
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return
        ended.wait(.005)


def slow_down(marks, ended):
    """The rank, once its start mark names its process."""
    while not ended.wait(.01):
        for line in open(marks).read().splitlines() if os.path.exists(marks) else []:
            t, rank, word, *fields = line.split(" ")
            if word == "start" and rank == str(SLOW):
                return in_pieces(int(dict(f.split("=", 1) for f in fields)["pid"]), ended)


def shares_of_ranks(name):
    """What `compare --factor rank` finds for ranks of which one is slowed down, in a store of that name."""
    store, marks, ended = f"{WORK}/{name}/wattlaw.db", f"{WORK}/{name}/runs/1/marks", threading.Event()
    helper = threading.Thread(target=slow_down, args=(marks, ended))
    helper.start()
    train = [TRAIN, *map(str, TINY), "--local-batch", "4", "--train-samples", "48", "--epochs", "8", "--threads", "1"]
    p = subprocess.run([WATTLAW, "measure", "--store", store, "--sensors", "proc,cpu_model", "--", *MPIRUN[:-1], "3", *train], capture_output=True,
                       text=True, cwd=WORK, env=ENV)
    ended.set()
    helper.join()
    assert p.returncode == 0, p.stderr
    found = subprocess.run([WATTLAW, "compare", store, "--factor", "rank", "--json"], capture_output=True, text=True, cwd=WORK, env=ENV)
    assert found.returncode == 0, found.stderr
    return next(q for q in json.loads(found.stdout)["quantities"] if q["quantity"] == "compute_within_run")["units"]


def slow_rank():
    """`compare --factor rank` names the rank that is slow, whose epochs take as long as those of all others."""
    if not shutil.which("mpirun"):
        print("SKIP: there is no mpirun")
        sys.exit(77)
    images()
    for attempt in range(4):  # on a crowded machine every rank waits, each for another time
        units = shares_of_ranks(f"run{attempt}")
        named = {u["rank"]: u["percent"] for u in units if u["p_holm"] < .05}
        if set(named) == {f"rank {SLOW}"} and named[f"rank {SLOW}"] > 30:
            return
    sys.exit(f"rank {SLOW} is not named: {units}")


main(slow_rank)
