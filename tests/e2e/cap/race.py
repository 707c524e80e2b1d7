"""A journal cannot be used to become root: race.py WATTLAW FAKE_NVML_LIBRARY

The state folder is shared by a group (2775), whose members may rename each other's files. One of them keeps swapping a journal of
root with their own while root restores, as an epilog does: root must never run the command of that user."""
import ctypes
import os
import signal
import subprocess
import sys

from users import USERS, UsersRig, expect, skip_unless_root

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
ATTACKER = USERS[0]
TRIES = 40  # the window is hit in about one of three
AT_FDCWD, RENAME_EXCHANGE = -100, 2


def exchange_forever(first, second):
    """Swaps two files as the attacker, until killed."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setgroups([])
        os.setresgid(ATTACKER, ATTACKER, ATTACKER)
        os.setresuid(ATTACKER, ATTACKER, ATTACKER)
        libc = ctypes.CDLL(None)
        names = first.encode(), second.encode()
        while True:
            if libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE):
                os._exit(1)
    finally:
        os._exit(1)


class Attack:
    """The attacker's own tree with a CPU, and a command that writes its uid to a file."""

    def __init__(self, m):
        self.m, home = m, m.home(ATTACKER)
        self.proof, self.tool, self.root = (os.path.join(home, n) for n in ("proof", "tool", "root"))
        with open(self.tool, "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\nid -u >>{self.proof}\n")
        os.chmod(self.tool, 0o755)
        zone = os.path.join(self.root, "sys/class/powercap/intel-rapl:0")
        os.makedirs(zone)
        for name, text in (("name", "package-0"), ("enabled", "1"), ("constraint_0_name", "long_term"),
                           ("constraint_0_power_limit_uw", "150000000"), ("constraint_0_max_power_uw", "400000000")):
            with open(os.path.join(zone, name), "w", encoding="ascii") as f:
                f.write(text + "\n")
        for folder, _, names in os.walk(home):
            for path in (folder, *(os.path.join(folder, n) for n in names)):
                os.chown(path, ATTACKER, ATTACKER)

    def journal(self, m):
        return m.claim(150, 200, setter="command", device="rapl:package-0/long_term", command=f"{self.tool} {{watts}}", root=self.root,
                       nvml_library="/proc/nowhere/x.so")

    def failed(self):
        if not os.path.exists(self.proof):
            return True
        with open(self.proof, encoding="ascii") as f:
            return "0" not in f.read().split()


def race(m, attack, first, second, root_runs):
    with open(first, encoding="utf-8") as f:
        good = f.read()
    for i in range(TRIES):
        for path, text, user in ((first, good, 0), (second, attack.journal(m), ATTACKER)):
            if os.path.lexists(path):
                os.unlink(path)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            os.chown(path, user, ATTACKER if user else 0)
        pid = exchange_forever(first, second)
        try:
            root_runs()
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        expect(attack.failed(), f"try {i}: root has run the command of user {ATTACKER}")


def main():
    skip_unless_root(wattlaw, fake)
    with UsersRig(wattlaw, fake, place_mode=0o2775) as m:
        os.chown(m.state, 0, ATTACKER)
        os.chmod(m.state, 0o2775)  # as chown leaves it
        attack = Attack(m)
        # a journal of root with a live holder, so that it stays unchanged
        good = m.claim(250, pid=os.getpid(), started=started(os.getpid()))
        first, second = (os.path.join(m.state, n) for n in ("host-1-1.caps", "host-2-1.caps"))
        with open(first, "w", encoding="utf-8") as f:
            f.write(good)
        plain = {"env": m.of(0), "text": True, "capture_output": True, "check": False}
        race(m, attack, first, second, lambda: subprocess.run([wattlaw, "restore"], **plain))
        # root's guard with a journal in such a folder
        p = subprocess.run([wattlaw, "restore", "--guard", second], stdin=subprocess.DEVNULL, **plain)
        expect(p.returncode != 0 and attack.failed(), "root's guard refuses a journal of another user", p)
        # an old journal of root that a member of the group has put there again
        for path in (first, second):
            os.unlink(path)
        path = m.plant(0, "host-3-1.caps", attack.journal(m))
        r = subprocess.run([wattlaw, "restore"], **plain)
        expect(os.path.exists(path) and attack.failed(), "root does not use a journal that others can bring back", r)
        # nor in a state folder that others cannot write to, by journal or environment
    with UsersRig(wattlaw, fake) as m:
        attack = Attack(m)
        m.put([(250000, 0, 0, 0)] * 2)
        m.plant(ATTACKER, f"{ATTACKER}/a-1-1.caps", attack.journal(m))
        m.plant(ATTACKER, f"{ATTACKER}/b-1-1.caps", m.claim(250, setter="command", command=f"{attack.tool} {{watts}}", nvml_library=fake))
        for env in ({}, {"NVML_LIBRARY": fake}):
            r = subprocess.run([wattlaw, "restore"], env={**m.of(0), **env}, text=True, capture_output=True, check=False)
            expect(r.returncode == 1 and m.watts() == [250, 250] and attack.failed(), f"neither command nor library, with {env}", r)
        r = subprocess.run([wattlaw, "doctor", "--for", "0.1s"], env=m.of(0), text=True, capture_output=True, check=False)
        expect(m.watts() == [250, 250] and attack.failed(), "nor doctor", r)
        r = m.back(0)
        expect(m.watts() == [400, 250] and attack.failed(), "the value counts, by root's own driver", r)


def started(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return int(f.read().rsplit(")", 1)[1].split()[19])


main()
