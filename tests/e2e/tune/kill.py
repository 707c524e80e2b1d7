"""Whatever dies while `wattlaw tune` probes, nothing is left capped, and the same command resumes: kill.py WATTLAW FAKE LOAD ROUNDS [SEED]"""
import concurrent.futures
import json
import os
import random
import sys
import time

from tune_rig import TuneRig  # first: it makes the modules of the cap tests visible
from kills import ctrl_c, hang_up, kill_guard_then_wattlaw, kill_job, kill_wattlaw, kill_wattlaw_then_guard, terminate
from rig import PATIENCE_S

wattlaw, fake, load = map(os.path.abspath, sys.argv[1:4])
rounds = int(sys.argv[4])
first_seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(10**6)

CASES = (kill_wattlaw, kill_guard_then_wattlaw, kill_wattlaw_then_guard, kill_job, ctrl_c, terminate, hang_up)
OPTIONS = ("--max-slowdown", "10%", "--max-values", "3", "--window", "0.3s", "--window-steps", "5", "--json")
SEARCH_S = 4.5  # of a whole search


def start(m, seed):
    """With every third search on clocks, every third on a program without marks."""
    options, job = OPTIONS, m.job(updates=300)
    if seed % 3 == 1:
        options += ("--setting", "clock_mhz")
    if seed % 3 == 2:
        job = m.job(steps=0, updates=10, epochs=2)
    return m.command(*options, job=job)


def trial(seed):
    chance = random.Random(seed)
    case = CASES[seed % len(CASES)]
    with TuneRig(wattlaw, fake, load) as m:
        command = start(m, seed)
        p = m.start_command(command)
        time.sleep(chance.uniform(0, SEARCH_S))
        was_set = not m.is_clean()
        case(m, p)
        stderr = p.communicate(timeout=PATIENCE_S)[1]
        r = m.run(wattlaw, "restore")
        said = f"{case.__name__} seed {seed}:"
        if not m.is_clean() or r.returncode != 0:
            return f"{said} left {m.get()} {m.journals()}\n{r.stdout}{r.stderr}{stderr}", was_set, 0
        again = m.run(*command)
        if again.returncode != 0:
            return f"{said} does not resume: exit {again.returncode}\n{again.stderr}\nbefore:\n{stderr}", was_set, 0
        x = json.loads(again.stdout)
        if not x["finished"] or not m.is_clean():
            return f"{said} not finished, or left {m.get()}: {x}", was_set, 0
        return None, was_set, x["windows_before"]


def main():
    print(f"seeds from {first_seed}")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(trial, range(first_seed, first_seed + rounds)))
    bad = [r[0] for r in results if r[0]]
    print(f"{len(results)} searches killed, {sum(r[1] for r in results)} of them with something set, "
          f"{sum(r[2] > 0 for r in results)} resumed with windows; {len(bad)} failed")
    if bad:
        sys.exit("\n".join(bad))
    if not any(r[1] for r in results) or not any(r[2] for r in results):
        sys.exit("no search had a cap set, or none had windows to resume with: nothing was tried")


main()
