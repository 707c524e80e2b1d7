"""Users who share the GPUs of a machine do not block each other: shared.py WATTLAW FAKE_NVML_LIBRARY"""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from rig import crash, guard_of, kill, wait_until
from users import USERS, UsersRig, expect, skip_unless_root

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
A, B = USERS
BACK = [400, 400]
BOUND_S = 60  # whatever others do; otherwise it takes less than a second


def rig(**how):
    return UsersRig(wattlaw, fake, **how)


def quick(since, what):
    expect(time.monotonic() - since < BOUND_S, f"{what} takes {time.monotonic() - since:.0f} s")


def one_after_the_other():
    """A's umask does not lock B out, nor B's A."""
    with rig() as m:
        for user, umask in ((A, 0o077), (B, 0o077), (A, 0o000), (B, 0o022), (0, 0o077), (A, 0o022)):
            if user == 0:
                os.makedirs(m.home(0), exist_ok=True)
            r = m.cap(user, 250, umask=umask)
            expect(r.returncode == 0 and m.watts() == BACK and not m.journals(), f"user {user} with umask {umask:o}", r)


def bad_journals():
    """Each bad journal is reported and stays; everything else continues."""
    with rig() as m:
        bad = [m.plant(A, "garbage.caps", "{"), m.plant(A, f"{A}/own.caps", "not JSON"), m.plant(A, "closed.caps", "{}", 0o000),
               m.plant(A, "written.caps", m.claim(250), 0o666), m.plant(A, "large.caps", " " * (2 << 20)),
               m.plant(A, "zero.caps", "{}\0{}")]
        fifo, link, folder, name = (os.path.join(m.state, n + ".caps") for n in ("fifo", "link", "folder", "twice"))
        os.mkfifo(fifo)
        os.chown(fifo, A, A)
        os.symlink("/etc/shadow", link)
        os.mkdir(folder)
        os.link(m.plant(A, "once.caps", m.claim(250)), name)
        bad += [fifo, link, folder, name, os.path.join(m.state, "once.caps")]
        try:
            os.mknod(os.path.join(m.state, "node.caps"), 0o600 | 0o020000, os.makedev(1, 3))
            bad.append(os.path.join(m.state, "node.caps"))
        except PermissionError:
            print("no device node: the machine does not allow it")
        escape = m.plant(A, "\x1b]52;c;x\x07.caps", "{")
        stay = {p: os.lstat(p).st_ino for p in bad + [escape]}
        for user in (B, 0):
            since = time.monotonic()
            if user:
                m.leave(user, 250)
            else:
                m.leave(A, 250)
            r = m.back(user)
            quick(since, "restore")
            expect(r.returncode == 1 and m.watts() == BACK, f"{user} restores despite bad journals", r)
            missing = [p for p in bad if p not in r.stdout]
            # a file that only root can open is not valid either; each is reported
            expect(not missing and "\x1b" not in r.stdout + r.stderr, f"reported to {user}: {missing}", r)
            expect(r.stdout.count("left unchanged") == len(stay), "one by one", r)
            expect("no caps are left" not in r.stdout, "not known", r)
        r = m.cap(B, 200)
        expect(r.returncode == 0 and "fifo.caps" in r.stderr and m.watts() == BACK, "a capped run continues", r)
        expect({p: os.lstat(p).st_ino for p in bad + [escape]} == stay, "nothing of theirs was touched")
        r = m.back(B, "--json")
        expect({c["state"] for c in json.loads(r.stdout)["caps"]} == {"bad"}, "as JSON", r)


def is_locked(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def held_lock():
    """A process that holds the lock delays others for at most their own timeout, and is named."""
    with rig() as m:
        m.leave(B, 250)
        p = subprocess.Popen(["flock", m.state, "sleep", "600"], start_new_session=True, **m.who(A))  # any user who may read can
        try:
            expect(wait_until(lambda: is_locked(m.state)), "locked")
            since = time.monotonic()
            r = m.cap(B, 200, more=("--cap-wait", "0.2s"))
            expect(r.returncode == 1 and f"by process {p.pid} (" in r.stderr and f"of user {A}" in r.stderr, "rejected, with the holder", r)
            r = m.back(B, "--wait", "0.2s")
            expect(r.returncode == 0 and m.watts() == BACK and not m.journals(), "restored without the lock", r)
            expect(f"by process {p.pid} (" in r.stderr and f"of user {A}" in r.stderr, "and says so", r)
            quick(since, "the wait")
        finally:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
    # locked while a run has caps: its end restores them
    with rig() as m:
        p = m.begin_and_see(B, 250, more=("--cap-wait", "0.2s"))
        lock = os.open(m.state, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        since = time.monotonic()
        err = m.end(p)
        quick(since, "the end of a run")
        expect(m.watts() == BACK and not m.journals() and "locked for" in err, f"restored: {m.watts()} {err}")
        os.close(lock)


def overlap():
    """The value that the first one found is restored, whoever ends last."""
    with rig() as m:  # alive: the second one names the holder
        one = m.begin_and_see(A, 250)
        r = m.cap(B, 200)
        expect(r.returncode == 1 and f"in use by process {one.pid} (measure sleep) of user {A}" in r.stderr, "held", r)
        m.end(one)
        expect(m.watts() == BACK and not m.journals(), "the first ends")
    with rig() as m:  # killed with its guard: the second takes over the found value of the first
        m.leave(A, 250)
        two = m.begin_and_see(B, 200)
        r = m.back(A)
        expect(m.watts() == [200, 200] and f"user {B}" in r.stdout and "will restore it" in r.stdout, "left to the live one", r)
        err = m.end(two)
        expect(m.watts() == BACK and not m.journals(), f"the last one restores: {m.watts()}")
        expect("400 W, which it had found, will be restored" in err, f"and said so: {err}")
    for last in (A, B, 0):  # both killed with their guards: restored by any user, in any order
        with rig() as m:
            m.leave(A, 250)
            m.leave(B, 200)
            for user in (last, A, B, A):
                m.back(user)
            expect(m.watts() == BACK and not m.journals(), f"{last} first: {m.watts()}, {m.journals()}")
    for first in (0, 1):  # two that do not see each other, as with separate state folders: A 400 -> 250, B 250 -> 200
        with rig() as m:
            both = [m.begin_and_see(A, 250)]
            folder = os.path.join(m.state, str(A))
            os.chmod(folder, 0o700)
            both.append(m.begin_and_see(B, 200))
            os.chmod(folder, 0o755)
            m.end(both[first])
            m.end(both[1 - first])
            for user in (A, B):
                m.back(user)
            expect(m.watts() == BACK and not m.journals(), f"user {(A, B)[first]} ends first: {m.watts()}, {m.journals()}")


def lies():
    """A user who may not set caps cannot make others set a wrong value, nor block a device."""
    for claim, text in (((250, 9999), "cannot have been its value"), ((400, 100), "would lower it"), ((400, 250), "would lower it"),
                        ((250, 450), "cannot have been its value")):
        with rig() as m:
            before = [claim[0], 400]
            m.put([(w * 1000, 0, 0, 0) for w in before])
            path = m.plant(A, f"{A}/x-1-1.caps", m.claim(*claim))
            r = m.back(0)
            expect(r.returncode == 1 and text in r.stdout and m.watts() == before, f"root and {claim}", r)
            r = m.cap(B, 200)
            expect(r.returncode == 0 and m.watts() == before and os.path.exists(path), f"B and {claim}", r)
    with rig() as m:  # false holders: root's process 1, another container, another user's process
        for i, change in enumerate(({"pid": 1, "started": 0}, {"pid_ns": "pid:[1]"}, {"host": "elsewhere"}, {"boot_id": "x"})):
            if "pid" in change:
                with open("/proc/1/stat", encoding="utf-8") as f:
                    change["started"] = int(f.read().rsplit(")", 1)[1].split()[19])
            m.plant(A, f"{A}/x-{i}-1.caps", m.claim(300, **change))
        since = time.monotonic()
        r = m.cap(B, 200)
        quick(since, "a capped run")
        expect(r.returncode == 0 and m.watts() == BACK, "nobody is blocked", r)
    with rig() as m:  # the folder name of B is taken
        m.plant(A, f"{B}/x.caps", m.claim(250))
        os.symlink("/etc", os.path.join(m.state, f"{B}.1"))
        r = m.cap(B, 200)
        expect(r.returncode == 0 and m.watts() == BACK and os.path.isdir(os.path.join(m.state, f"{B}.2")), "another name is taken", r)
        m.leave(B, 200)
        expect(m.back(B).returncode == 1 and m.watts() == BACK, "and found by restore")
    with rig() as m:  # a reservation that its holder's death did not end: another process keeps it locked
        m.leave(A, 250)
        path = next(os.path.join(d, n) for d, _, names in os.walk(m.state) for n in names if n.endswith(".device"))
        fd = os.open(path, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        r = m.cap(B, 200)
        expect(r.returncode == 0, "it does not count", r)
        os.close(fd)


def many_claims():
    """A user who leaves very many caps, or takes very many names, blocks nobody."""
    with rig() as m:
        m.leave(B, 250)
        for i in range(100):
            journal = json.loads(m.claim(260, 300))
            cap = journal["caps"][0]
            journal["caps"] = [{**cap, "device": f"GPU-{k}"} for k in range(1500)] if i % 2 else [{**cap, "found": 300 + k % 50} for k in range(1500)]
            m.plant(A, f"{A}/x-{i}-9.caps", json.dumps(journal, separators=(",", ":")))
        since = time.monotonic()
        r = m.back(0)
        quick(since, "restore")
        expect(r.returncode == 1 and m.watts() == BACK and "twice" in r.stdout and f"of user {A} are ignored" in r.stdout, "restored, and said", r)
        r = m.cap(B, 200)
        quick(since, "a capped run")
        expect(r.returncode == 0 and m.watts() == BACK, "and capped again", r)
    with rig() as m:
        for i in range(200):
            path = os.path.join(m.state, f"{B}.{i}" if i else f"{B}")
            os.mkdir(path)
            os.chown(path, A, A)
        for _ in range(2):
            r = m.cap(B, 200)
            expect(r.returncode == 0 and m.watts() == BACK, "a name is left", r)
        own = [n for n in os.listdir(m.state) if os.stat(os.path.join(m.state, n)).st_uid == B]
        expect(len(own) == 1, f"one folder for both runs: {own}")
        m.leave(B, 250)
        expect(m.back(0).returncode == 1 and m.watts() == BACK, "which restore finds")


def false_holder():
    """A process that falsely claims to hold the device does not prevent its holder from restoring."""
    with rig() as m:
        p = m.begin_and_see(B, 250, more=("--clock-mhz", "900"))
        other = subprocess.Popen(["sleep", "600"], **m.who(A))
        try:
            with open(f"/proc/{other.pid}/stat", encoding="utf-8") as f:
                started = int(f.read().rsplit(")", 1)[1].split()[19])
            for i, cap in enumerate(((250, 400, "power_cap_w"), (900, None, "clock_mhz"), (200, 400, "power_cap_w"))):
                path = m.plant(A, f"{A}/x-{i}-1.caps", m.claim(cap[0], cap[1], pid=other.pid, started=started, kind=cap[2]))
            m.end(p)
            expect(m.get() == [(400000, 0, 0, 0)] * 2 and os.path.exists(path), f"restored: {m.get()}")
            m.plant(A, f"{A}/x-2-1.caps", m.claim(250, pid=other.pid, started=started))
            m.put([(250000, 0, 0, 0)] * 2)
            r = m.back(0)
            expect(f"process {other.pid} of user {A} holds it" in r.stdout, "the claimed holder is named", r)
        finally:
            other.kill()
            other.wait()


def hidden_processes():
    """If users cannot see each other's processes, invisible ones are not taken for dead."""
    with rig() as m:
        as_a, as_b = (f"env HOME={m.home(u)} WATTLAW_NODE_DIR={m.home(u)}/node setpriv --reuid {u} --regid {u} --clear-groups " for u in (A, B))
        cap = f"{wattlaw} measure --nvml-library {fake} --sensors null --quiet --store %s/s.db --power-cap-w %d -- %s"
        script = f"""set -e
mount -t proc -o hidepid=2 proc /proc
{as_b} test -e /proc/$$ && exit 9
echo mounted
{as_a}{cap % (m.home(A), 250, "sleep 300")} & one=$!
until ls {m.state}/{A}/*.caps >/dev/null 2>&1; do sleep .02; done
if {as_b}{cap % (m.home(B), 200, "true")}; then exit 4; fi
{as_b}{wattlaw} restore
kill $one; wait $one || true
{as_b}{cap % (m.home(B), 200, "true")}
"""
        r = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=m.env, cwd="/", text=True, capture_output=True, check=False)
        if "mounted" not in r.stdout:
            print("SKIP of hidden processes: no /proc of that kind:", r.stderr)
            return
        expect(r.returncode == 0 and "in use by process" in r.stderr and "not visible to this user, may still run" in r.stdout and m.watts() == BACK, "hidden", r)


def removed_folder():
    """Caps whose journal is removed are restored nevertheless, and no command says that none are left."""
    with rig() as m:
        p = m.begin_and_see(A, 250)
        os.kill(p.pid, signal.SIGSTOP)  # it cannot write its journal again
        shutil.rmtree(m.state)
        kill(p.pid, signal.SIGKILL)
        p.communicate()
        expect(wait_until(lambda: m.watts() == BACK, BOUND_S), f"the guard remembers: {m.watts()}")
        expect(wait_until(lambda: not os.path.exists(m.state) or not m.journals()), "and leaves nothing")
        for user in (A, 0):
            r = m.back(user)
            expect(r.returncode == 1 and "no caps are left" not in r.stdout and "caps may be left" in r.stderr, "not known", r)
    with rig() as m:  # only the files
        p = m.begin_and_see(A, 250)
        os.kill(p.pid, signal.SIGSTOP)
        for path in m.journals():
            os.unlink(path)
        kill(p.pid, signal.SIGKILL)
        p.communicate()
        expect(wait_until(lambda: m.watts() == BACK, BOUND_S), f"the guard remembers: {m.watts()}")
    with rig() as m:  # wattlaw sees it and writes it again
        p = m.begin_and_see(A, 250)
        for path in m.journals():
            os.unlink(path)
        expect(wait_until(m.journals, BOUND_S), "written again")
        crash(p)
        expect(m.back(A).returncode == 0 and m.watts() == BACK and not m.journals(), "and good for restore")
    with rig() as m:  # restored by restore while the guard waits for the lock: a value set since then stays
        p = m.begin_and_see(A, 250)
        guard = guard_of(p.pid)
        os.kill(guard, signal.SIGSTOP)
        kill(p.pid, signal.SIGKILL)
        p.wait()
        expect(m.back(A).returncode == 0 and m.watts() == BACK, "restored")
        m.put([(250000, 0, 0, 0)] * 2)
        os.kill(guard, signal.SIGCONT)
        expect(wait_until(lambda: not os.path.exists(f"/proc/{guard}"), BOUND_S), "the guard ends")
        expect(m.watts() == [250, 250], "a finished journal is not restored again")


def unsafe_folders():
    """A state folder in which others can remove our files is rejected."""
    with rig(place_mode=0o777) as m:
        r = m.cap(A, 250)
        expect(r.returncode == 1 and "chmod +t" in r.stderr and m.watts() == BACK, "open and not sticky", r)
    with rig() as m:
        os.chown(m.home(A), A, A)
        state = os.path.join(m.home(A), "state")
        os.mkdir(state)
        os.makedirs(m.home(0), exist_ok=True)
        r = m.cap(0, 250, more=("--cap-state-dir", state))
        expect(r.returncode == 1 and "can replace a folder of this path" in r.stderr and m.watts() == BACK, "root in a user's folder", r)


def default_folder():
    """/run/wattlaw: made by root at first use as tmpfiles.d would, used by all, in a /run of this test's own."""
    conf = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "contrib", "wattlaw.conf")
    with open(conf, encoding="ascii") as f:
        expect("\nd /run/wattlaw 1777 root root -\n" in f.read(), "tmpfiles.d makes the same")
    with rig() as m:
        for key in ("WATTLAW_STATE_DIR", "XDG_STATE_HOME"):
            m.env.pop(key, None)
        os.makedirs(m.home(0), exist_ok=True)
        as_a, as_b = (f"env HOME={m.home(u)} WATTLAW_NODE_DIR={m.home(u)}/node setpriv --reuid {u} --regid {u} --clear-groups " for u in (A, B))
        cap = f"{wattlaw} measure --nvml-library {fake} --sensors null --quiet --store %s/s.db --power-cap-w 250 -- %s"
        script = f"""set -e
mount -t tmpfs tmpfs /run
echo mounted
{as_a}{cap % (m.home(A), "true")}
ls {m.home(A)}/.local/state/wattlaw/{A} >&2 # without a state folder of the machine
if {as_a}{wattlaw} restore --state-dir /run/wattlaw; then exit 3; fi
umask 077
{cap % (m.home(0), "true")}
stat -c '%a %u' /run/wattlaw
{as_a}{cap % (m.home(A), "sleep 300")} & one=$!
until [ -e /run/wattlaw/{A} ] && ls /run/wattlaw/{A}/*.caps >/dev/null 2>&1; do sleep .02; done
if {as_b}{cap % (m.home(B), "true")}; then exit 4; fi
kill $one; wait $one || true
{as_b}{cap % (m.home(B), "true")}
{wattlaw} restore
stat -c '%a %u' /run/wattlaw/{A} /run/wattlaw/{B}
"""
        r = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=m.env, cwd="/", text=True, capture_output=True, check=False)
        if "mounted" not in r.stdout:
            print("SKIP of the default folder: no mount namespace:", r.stderr)
            return
        expect(r.returncode == 0, "the machine's folder", r)
        expect(r.stdout.split("\n")[1:] == ["1777 0", "no caps are left in /run/wattlaw", f"755 {A}", f"755 {B}", ""], "as it should be", r)
        expect(f"of user {A}" in r.stderr and m.watts() == BACK, "all users meet there", r)


def main():
    skip_unless_root(wattlaw, fake)
    parts = (one_after_the_other, bad_journals, held_lock, overlap, lies, many_claims, false_holder, hidden_processes, removed_folder, unsafe_folders, default_folder)
    for part in parts:
        if not sys.argv[3:] or part.__name__ in sys.argv[3:]:
            part()


main()
