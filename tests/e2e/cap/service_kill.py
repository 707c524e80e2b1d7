"""Whatever dies at whatever instant, the cap service leaves no cap: service_kill.py WATTLAW FAKE_NVML_LIBRARY TRIALS [SEED]

In each trial a member's run sets caps through the service, and at a random instant the client, its session, the guard, the service or all of
the service's processes are killed. The service is started again if it is dead: every device has its original limits, no journal is left, and the
next run can set caps. Needs root."""
import os
import random
import signal
import sys
import time

from rig import PATIENCE_S, guards_in, kill, wait_until
from service_rig import ServiceRig
from users import USERS, skip_unless_root

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
trials = int(sys.argv[3])
first_seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(10**6)


def kill_client(_, p):
    kill(p.pid, signal.SIGKILL)


def kill_sessions(m, _):
    for pid in m.sessions():
        kill(pid, signal.SIGKILL)


def kill_guards(m, _):
    for pid in guards_in(m.path):
        kill(pid, signal.SIGKILL)


def kill_guards_then_sessions(m, p):
    kill_guards(m, p)
    kill_sessions(m, p)


def kill_service(m, _):
    kill(m.service.pid, signal.SIGKILL)


def end_service(m, _):
    m.service.terminate()


def kill_all(m, _):
    m.kill_all()


def kill_client_and_all(m, p):
    kill(p.pid, signal.SIGKILL)
    m.kill_all()


CASES = (kill_client, kill_sessions, kill_guards, kill_guards_then_sessions, kill_service, end_service, kill_all, kill_client_and_all)


def restart(m):
    """As systemd does. A service that ends by itself is waited for; one whose sessions and guards were killed is ended, because it
    restores only when it starts."""
    if m.service.poll() is None:
        m.service.terminate()
    m.service.wait(PATIENCE_S)
    wait_until(lambda: not guards_in(m.path))
    m.service = m.serve()


def trial(seed, at_once):
    """at_once: kill as soon as the caps are set, not at a random instant, so that no seeds leave all trials without caps."""
    chance = random.Random(seed)
    found = [(1000 * chance.randint(301, 399), 0, 0, 0) for _ in "12"]
    with ServiceRig(wattlaw, fake) as m:
        m.put(found)
        case = chance.choice(CASES)
        p = m.begin(USERS[0], chance.choice((150, 200, 250)), more=chance.choice(((), ("--clock-mhz", "900"))))
        if at_once:
            wait_until(lambda: m.get() != found or p.poll() is not None)
        elif chance.random() < 0.5:
            time.sleep(chance.uniform(0, 0.15))
        else:
            wait_until(lambda: m.get() != found or p.poll() is not None)
            time.sleep(chance.choice((0, chance.uniform(0, 0.02))))
        was_set = m.get() != found
        case(m, p)
        time.sleep(chance.choice((0, 0.05)))
        kill(p.pid, signal.SIGTERM)
        said = p.communicate(timeout=PATIENCE_S)[1]
        restart(m)
        if not wait_until(lambda: m.get() == found and not m.journals(), 20):
            return f"{case.__name__} seed {seed}: found {found}, now {m.get()}, journals {m.journals()}\n{said}{m.said()}", was_set
        r = m.cap(USERS[0], 200)
        if r.returncode or r.stderr or m.get() != found:
            return f"{case.__name__} seed {seed}: the next run: {r.returncode} {r.stderr}, now {m.get()}", was_set
        return None, was_set


def main():
    skip_unless_root(wattlaw, fake)
    print(f"seeds from {first_seed}")
    results = [trial(first_seed + i, at_once=i == 0) for i in range(trials)]
    bad = [why for why, _ in results if why]
    print(f"{trials} trials, {sum(was_set for _, was_set in results)} with the caps set when something was killed; {len(bad)} failed")
    if bad:
        sys.exit("\n".join(bad))
    if not any(was_set for _, was_set in results):
        sys.exit("no trial had its caps set: nothing was tried")


main()
