"""Whatever dies, the found caps come back: kill.py WATTLAW FAKE_NVML_LIBRARY ROUNDS

Each round kills every one of CASES once, at a random instant or as soon as the caps are set. Afterwards, at the latest
behind `wattlaw restore`, every GPU has the limits that it had before, and no journal is left."""
import concurrent.futures
import json
import os
import random
import signal
import sys
import time

from rig import Rig, children, guard_of, kill, wait_until

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
rounds = int(sys.argv[3])


def job_of(pid):
    """The command below the guard of the job."""
    return next((q for p in children(pid) for q in children(p)), 0)


def kill_wattlaw(rig, p):
    kill(p.pid, signal.SIGKILL)


def kill_guard(rig, p):
    kill(guard_of(p.pid), signal.SIGKILL)
    time.sleep(random.uniform(0, 0.02))
    kill(p.pid, signal.SIGTERM)


def kill_guard_then_wattlaw(rig, p):
    kill(guard_of(p.pid), signal.SIGKILL)
    kill(p.pid, signal.SIGKILL)


def kill_wattlaw_then_guard(rig, p):
    guard = guard_of(p.pid)
    kill(p.pid, signal.SIGKILL)
    kill(guard, signal.SIGKILL)


def kill_job(rig, p):
    if wait_until(lambda: job_of(p.pid) or p.poll() is not None, 2):
        kill(job_of(p.pid), signal.SIGKILL)


def ctrl_c(rig, p):
    os.killpg(p.pid, signal.SIGINT)


def terminate(rig, p):
    kill(p.pid, signal.SIGTERM)


def hang_up(rig, p):
    kill(p.pid, signal.SIGHUP)


def reboot(rig, p):
    """Everything dies at once; the boot's number changes; the driver starts with its default, or a daemon has put the
    limit of before in place."""
    kill_wattlaw_then_guard(rig, p)
    p.wait()
    for path in rig.journals():
        with open(path, encoding="utf-8") as f:
            journal = json.load(f)
        journal["holder"]["boot_id"] = "00000000-0000-4000-8000-000000000000"
        with open(path, "w", encoding="utf-8") as f:
            json.dump(journal, f)
        rig.put([(400000, 0, 0), (400000, 0, 0)])


CASES = (kill_wattlaw, kill_guard, kill_guard_then_wattlaw, kill_wattlaw_then_guard, kill_job, ctrl_c, terminate,
         hang_up, reboot)


def trial(case, seed):
    random.seed(seed)
    found = (random.randint(101, 399), random.randint(101, 399))
    asked = random.choice([w for w in range(100, 401, 50) if w not in found])
    clock = random.choice([(), ("--clock-mhz", "900")])
    with Rig(wattlaw, fake, found_w=found) as rig:
        before = rig.get()
        p = rig.start("--power-cap-w", str(asked), *clock)
        was_set = False
        if seed % 3 == 0:
            time.sleep(random.uniform(0, 0.03))
        else:
            was_set = wait_until(lambda: rig.watts() == [asked, asked] or p.poll() is not None)
            if seed % 3 == 1:
                wait_until(lambda: job_of(p.pid) or p.poll() is not None, 1)
        case(rig, p)
        stderr = p.communicate(timeout=60)[1]
        alone = rig.get() == before and not rig.journals()
        r = rig.restore()
        after, journals = rig.get(), rig.journals()
        if after != before or journals or r.returncode != 0:
            return (f"{case.__name__} seed {seed}: found {before}, now {after}, journals {journals}\n"
                    f"{r.stdout}{r.stderr}{stderr}", False, False)
        return None, was_set, alone


def main():
    todo = [(case, r * len(CASES) + i) for r in range(rounds) for i, case in enumerate(CASES)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda t: trial(*t), todo))
    bad = [r[0] for r in results if r[0]]
    print(f"{len(results)} trials, {sum(r[1] for r in results)} of them with the caps set, "
          f"{sum(r[2] for r in results)} put back without `wattlaw restore`; {len(bad)} failed")
    if bad:
        sys.exit("\n".join(bad))
    if not any(r[1] for r in results):
        sys.exit("no trial had its caps set: nothing was tried")


main()
