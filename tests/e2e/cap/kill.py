"""Whatever dies, the found caps are restored: kill.py WATTLAW FAKE_NVML_LIBRARY ROUNDS [SEED]

Each round applies each of CASES once on each of MACHINES, every fourth round also on a machine whose driver hangs, at a random
instant or as soon as the caps are set. Afterwards, at the latest after `wattlaw restore`, every device has its original limits,
and no journal is left."""
import concurrent.futures
import json
import os
import random
import signal
import sys
import time

from kills import ctrl_c, hang_up, job_of, kill_guard, kill_guard_then_wattlaw, kill_job, kill_wattlaw, kill_wattlaw_then_guard, terminate
from rig import PATIENCE_S, CpufreqRig, HangingRig, RaplRig, Rig, children, guards_in, kill, wait_until

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
for file in (wattlaw, fake):
    if not os.path.isfile(file):
        sys.exit(f"{file} is not there")
rounds = int(sys.argv[3])
first_seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(10**6)


def reboot(rig, p):
    """Everything dies at once; the boot's number changes; the devices still to be restored start with their defaults."""
    tree = [p.pid, *guards_in(rig.path)]  # a wattlaw that met a driver that hangs has ended before its guard
    for pid in tree:
        kill(pid, signal.SIGSTOP)  # so that it starts nothing that is not seen
        tree += (q for q in children(pid) if q not in tree)
    for pid in tree:
        kill(pid, signal.SIGKILL)
    p.wait()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in tree))
    for path in rig.journals():
        with open(path, encoding="utf-8") as f:
            journal = json.load(f)
        journal["holder"]["boot_id"] = "00000000-0000-4000-8000-000000000000"
        with open(path, "w", encoding="utf-8") as f:
            json.dump(journal, f)
        rig.boot({cap["device"] for cap in journal["caps"]})


CASES = (kill_wattlaw, kill_guard, kill_guard_then_wattlaw, kill_wattlaw_then_guard, kill_job, ctrl_c, terminate,
         hang_up, reboot)


def nvml(found):
    return Rig(wattlaw, fake, found_w=found)


def rapl(found):
    return RaplRig(wattlaw, fake, [w * 1_000_000 for w in found])


def cpufreq(found):
    return CpufreqRig(wattlaw, fake, [w * 10_000 for w in found])


def hanging(found):
    """A driver that may hang while a cap is set, while it is restored, or both."""
    start = random.uniform(0, 0.3)
    return HangingRig(wattlaw, fake, found_w=found, hang=f"{start}:{start + random.uniform(0.1, 1)}")


MACHINES = (nvml, rapl, cpufreq)
HANGING_EVERY = 4  # rounds: they take seconds


def trial(machine, case, seed):
    chance = random.Random(seed)
    found = (chance.randint(101, 349), chance.randint(101, 349))
    asked = chance.choice([w for w in range(100, 351, 50) if w not in found])
    clock = chance.choice([(), ("--clock-mhz", "900")]) if machine is nvml else ()
    with machine(found) as rig:
        options, is_set = rig.ask(asked)
        before = rig.get()
        p = rig.start(*options, *clock)
        was_set = False
        if seed % 3 == 0:
            time.sleep(chance.uniform(0, 0.03))
        else:
            was_set = wait_until(lambda: is_set() or p.poll() is not None)
            if seed % 3 == 1:
                wait_until(lambda: job_of(p.pid) or p.poll() is not None, 1)
        case(rig, p)
        stderr = p.communicate(timeout=PATIENCE_S)[1]
        restored_without = rig.get() == before and not rig.journals()
        rig.recover()
        r = rig.restore()
        after, journals = rig.get(), rig.journals()
        if after != before or journals or r.returncode != 0:
            return (f"{machine.__name__} {case.__name__} seed {seed}: found {before}, now {after}, journals {journals}\n"
                    f"{r.stdout}{r.stderr}{stderr}", False, False)
        return None, was_set, restored_without


def main():
    todo = [(machine, case) for i in range(rounds) for case in CASES
            for machine in MACHINES + (() if i % HANGING_EVERY else (hanging,))]
    todo = [(*what, first_seed + i) for i, what in enumerate(todo)]
    print(f"seeds from {first_seed}")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda t: trial(*t), todo))
    bad = [r[0] for r in results if r[0]]
    print(f"{len(results)} trials, {sum(r[1] for r in results)} of them with the caps set, "
          f"{sum(r[2] for r in results)} restored without `wattlaw restore`; {len(bad)} failed")
    if bad:
        sys.exit("\n".join(bad))
    if not any(r[1] for r in results):
        sys.exit("no trial had its caps set: nothing was tried")


main()
