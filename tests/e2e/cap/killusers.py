"""Two users cap the same GPUs through one state folder, and whatever dies, the found caps are restored: killusers.py WATTLAW FAKE_NVML_LIBRARY TRIALS [SEED]

In each trial both users start runs, on the same GPUs or on one each, at random instants. Each run ends by itself, by SIGKILL of
wattlaw, of its guard or of both, by a signal, or after its journals were removed. Then each user, or root, restores: every device
has its original limits, and no journal is left. Needs root; ./check runs a short form, ./check long 1000 trials."""
import concurrent.futures
import os
import random
import shutil
import signal
import sys
import time

from kills import ctrl_c, hang_up, job_of, kill_guard, kill_guard_then_wattlaw, kill_job, kill_wattlaw, kill_wattlaw_then_guard, terminate
from rig import PATIENCE_S, guard_of, kill, wait_until
from users import USERS, UsersRig, skip_unless_root

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
trials = int(sys.argv[3])
first_seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(10**6)


def end_by_itself(rig, p):
    kill(job_of(p.pid), signal.SIGTERM)


def remembers(guard):
    """Has it read its journal, and does it live?"""
    try:
        return any(os.readlink(f"/proc/{guard}/fd/{fd}").endswith(".caps") for fd in os.listdir(f"/proc/{guard}/fd"))
    except OSError:
        return False


def remove_journals_then_kill(rig, p):
    """Its guard has only its memory; wattlaw itself is stopped, or it would rewrite the journal. If the guard was killed before,
    no process would know of the caps."""
    kill(p.pid, signal.SIGSTOP)
    user = next(u for u in USERS if rig.runs.get(u) is p)
    if remembers(guard_of(p.pid)):
        shutil.rmtree(os.path.join(rig.state, str(user)), ignore_errors=True)
    kill(p.pid, signal.SIGKILL)


CASES = (end_by_itself, kill_wattlaw, kill_guard, kill_guard_then_wattlaw, kill_wattlaw_then_guard, kill_job, ctrl_c, terminate, hang_up,
         remove_journals_then_kill)


def play(rig, chance):
    """What the trial was, and whether caps were seen to be set."""
    rig.runs, reported, was_set, forgotten, struck = {}, [], False, set(), set()
    found = rig.get()
    both = chance.sample(USERS, 2)
    where = chance.choice(((None, None), ("0", "1"), ("1", "0"), ("0", None), (None, "1")))
    for user, gpus in zip(both, where):
        watts = chance.choice((150, 200, 250, 300))
        clock = chance.choice(((), ("--clock-mhz", "900")))
        rig.runs[user] = rig.begin(user, watts, gpus=gpus, more=clock)
        reported.append(f"{user} {watts} W on {gpus} {clock}")
        if chance.random() < 0.7:
            p = rig.runs[user]
            was_set |= wait_until(lambda: job_of(p.pid) or p.poll() is not None) and rig.get() != found
        else:
            time.sleep(chance.uniform(0, 0.1))
        if chance.random() < 0.3:
            case = chance.choice(CASES)
            reported.append(f"{case.__name__} of {user} at once")
            case(rig, rig.runs[user])
            struck.add(user)
            if case is remove_journals_then_kill:  # a guard that is killed now would be the last to know
                forgotten.add(user)
    for user in chance.sample(both, 2):
        p = rig.runs[user]
        if p.poll() is None and user not in forgotten:
            case = chance.choice(CASES[:-1] if user in struck else CASES)  # its guard may be dying
            reported.append(f"{case.__name__} of {user}")
            case(rig, p)
        time.sleep(chance.choice((0, 0, chance.uniform(0, 0.1))))
    for user in both:
        if rig.runs[user].poll() is None and not wait_until(lambda: rig.runs[user].poll() is not None, 0.2):
            reported.append(f"{user} is ended")
            kill(rig.runs[user].pid, signal.SIGINT)
    return "; ".join(reported), was_set, "".join(p.communicate(timeout=PATIENCE_S)[1] for p in rig.runs.values())


def trial(seed):
    chance = random.Random(seed)
    found = (chance.randint(301, 399), chance.randint(301, 399))
    with UsersRig(wattlaw, fake, found_w=found) as rig:
        before = rig.get()
        reported, was_set, stderr = play(rig, chance)
        restored_without = rig.get() == before and not rig.journals()
        # whose journals lie above each other: those of one user, then the other, then the first again; root takes all
        users = chance.choice(((0,), (*USERS, *USERS), (*reversed(USERS), *reversed(USERS))))
        runs = [rig.back(user) for user in users]
        after, journals = rig.get(), rig.journals()
        if after == before and not journals and runs[-1].returncode == 0:
            return None, was_set, restored_without
        said = "".join(f"{user}: {r.returncode} {r.stdout}{r.stderr}" for user, r in zip(users, runs))
        return f"seed {seed}: {reported}\nfound {before}, now {after}, journals {journals}\n{said}{stderr}", was_set, restored_without


def main():
    skip_unless_root(wattlaw, fake)
    print(f"seeds from {first_seed}")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(trial, range(first_seed, first_seed + trials)))
    bad = [r[0] for r in results if r[0]]
    print(f"{trials} trials of two users, {sum(r[1] for r in results)} of them with caps seen set, "
          f"{sum(r[2] for r in results)} restored without `wattlaw restore`; caps left in {len(bad)}")
    if bad:
        sys.exit("\n".join(bad))
    if not any(r[1] for r in results):
        sys.exit("no trial had its caps set: nothing was tried")


main()
