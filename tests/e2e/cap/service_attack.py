"""Members of the group, and others, attack the cap service with real sockets and processes; nobody else notices, and no cap outlives its client:
service_attack.py WATTLAW FAKE_NVML_LIBRARY FAULTS_LIBRARY [PART...]

Parts that depend on the kernel run with this one, and with one of before Linux 6.5."""
import contextlib
import os
import resource
import signal
import socket
import sys
import threading
import time

from kernel import SO_PASSRIGHTS, SO_PEERPIDFD, be_older, give, has_option, lingering, start_as
from rig import GPU, children, expect, kill, wait_until
from service_rig import GROUP, Client, ServiceRig, hold, run_parts
from users import USERS, skip_unless_root

wattlaw, fake, faults = map(os.path.abspath, sys.argv[1:4])
A, B = USERS
OK, REFUSED = "wattlaw-caps 1 ok ", "wattlaw-caps 1 refused "
BACK = [400, 400]
SOON_S = 20  # what would take an hour, or a lease, does not


def rig(**how):
    return ServiceRig(wattlaw, fake, **how)


def both_kernels(part):
    def on_both():
        for older in (), (SO_PEERPIDFD, SO_PASSRIGHTS):
            with rig(before_exec=(lambda: be_older(*older)) if older else None, lease="600s", sessions=1) as m:
                part(m, older)
    on_both.__name__ = part.__name__
    return on_both


def soon(condition, what, m):
    expect(wait_until(condition, SOON_S), f"{what}: {m.watts()} {m.journals()}\n{m.said()}")


def restored(m, what):
    soon(lambda: m.watts() == BACK and not m.journals(), f"{what}: restored, no journal left", m)


def served(m, what, user=B):
    """A client gets its caps at once, and they are restored."""
    since = time.monotonic()
    m.holding(user, hold(200)).end()
    expect(time.monotonic() - since < SOON_S, f"{what}: others are served\n{m.said()}")
    restored(m, what)


@contextlib.contextmanager
def paused(m):
    """While the service does nothing: what is sent, and closed here, is then its alone."""
    pids = [m.service.pid, *m.sessions()]
    for pid in pids:
        kill(pid, signal.SIGSTOP)
    yield
    for pid in pids:
        kill(pid, signal.SIGCONT)


def descriptors(m):
    """Those of the service while nobody is connected. It has served a client, so its start, with a process that restores, is over."""
    served(m, "a first client")
    soon(lambda: not m.sessions(), "nobody is connected", m)
    return {int(fd) for fd in os.listdir(f"/proc/{m.service.pid}/fd")}


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@both_kernels
def passed_descriptors(m, older):
    """A descriptor whose close takes an hour holds up neither the service nor the caps of a client that dies."""
    with m.holding(A, hold(250)) as c:
        passed, peer = lingering()
        with paused(m):
            expect(give(c.socket, b"wattlaw-caps 1 keep\n", passed) == bool(older), "a kernel with SO_PASSRIGHTS refuses")
        if older:
            c.socket.settimeout(SOON_S)
            expect("passes descriptors" in c.receive(), "refused")
        c.kill()
        restored(m, "passed with keep")
        peer.close()
    held = m.holding(A, hold(250, (0,)))  # the one connection that a user may have
    with contextlib.ExitStack() as later:
        with paused(m):
            c = later.enter_context(Client(m, A))
            passed, peer = lingering()
            give(c.socket, b"x", passed)
        c.socket.settimeout(SOON_S)
        expect("the maximum of one user" in c.receive(), f"turned away by the process that listens\n{m.said()}")
        with m.holding(B, hold(200, (1,))):
            expect(m.watts() == [250, 200], "another user is served")
        peer.close()
    held.end()
    restored(m, "turned away with a descriptor")
    soon(lambda: not m.sessions(), "room for the next client", m)
    with contextlib.ExitStack() as later:
        with paused(m):
            c = later.enter_context(Client(m, A))
            passed, peer = lingering()
            sent = give(c.socket, hold(250).encode(), passed)
        if sent:
            expect("passes descriptors" in c.receive() and c.is_over(), "refused")
        peer.close()
    served(m, "passed with a request", A)
    soon(lambda: not m.sessions(), "no process is left", m)


@both_kernels
def dead_before_their_session(m, _):
    """A client that is dead when its session begins gets nothing, although an heir holds its connection."""
    for asks in (False, True):
        with contextlib.ExitStack() as later:
            with paused(m):
                c = later.enter_context(Client(m, A))
                if asks:
                    c.send(hold(250))
                c.kill()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                c.send("wattlaw-caps 1 keep\n" if asks else hold(250))
            c.socket.settimeout(SOON_S)
            expect(c.is_over(), f"dead, {asks}: the connection ends\n{m.said()}")
        restored(m, f"dead, {asks}")
    served(m, "dead clients")


def reused_pids():
    """A process that gets the pid of a dead client does not keep its session: SO_PEERPIDFD."""
    if not has_option(SO_PEERPIDFD):
        print("SKIP of reused_pids: this kernel has no SO_PEERPIDFD (Linux 6.5)")
        return
    with rig(lease="600s") as m:
        for _ in range(20):
            with contextlib.ExitStack() as later:
                with paused(m):
                    c = later.enter_context(Client(m, A))
                    pid = c.pid
                    c.kill()
                    heir = start_as(pid, ["setpriv", "--reuid", str(A), "--clear-groups", "--regid", str(A), "sleep", "300"])
                if heir != pid:
                    continue  # another process of this machine has it
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    c.send(hold(250))
                c.socket.settimeout(SOON_S)
                expect(c.is_over(), f"the session ends\n{m.said()}")
                restored(m, "a reused pid")
                os.kill(heir, signal.SIGKILL)
                os.waitpid(heir, 0)
                return
    sys.exit("no pid could be used again in 20 attempts")


def killed_at_each_step():
    with rig(lease="600s") as m:
        steps = ("", hold(250), "wattlaw-caps 1 keep\n", "wattlaw-caps 1 release\n")
        for step in range(len(steps)):
            for reads in (True, False):  # of the last reply
                with Client(m, A) as c:
                    for i, text in enumerate(steps[:step + 1]):
                        if text:
                            c.send(text)
                        if text and text != steps[2] and (reads or i < step):
                            expect(c.receive().startswith(OK), f"step {i}\n{m.said()}")
                    c.kill()
                    soon(lambda: not m.sessions(), f"killed at step {step}: its session ends", m)
                    restored(m, f"killed at step {step}")


def slow_and_partial():
    """A packet is whole or refused; a client that says no word is turned away; one that floods gets a hundred packets a second."""
    with rig() as m:
        for text in (b"w", hold(250).encode()[:40], hold(250).encode()[:-1], b"wattlaw-caps 1 hold\n" + b"x" * (1 << 17)):
            with Client(m, A) as c:
                c.send(text)
                expect(c.receive().startswith(REFUSED) and c.is_over(), f"{text[:40]}")
        with m.holding(A, hold(250)) as c:
            c.socket.setblocking(False)
            session = next(p for p in m.sessions() if children(p))
            before, until, sent = cpu_s(session), time.monotonic() + 0.5, 0
            while time.monotonic() < until:
                with contextlib.suppress(BlockingIOError):
                    sent += c.socket.send(b"wattlaw-caps 1 keep\n")
            expect(sent > 2000 and cpu_s(session) - before < 0.3, f"{sent} bytes of keep cost {cpu_s(session) - before} s")
            expect(m.watts() == [250, 250], "still set")
            c.socket.setblocking(True)
            c.socket.settimeout(SOON_S)
        restored(m, "a flood")
        served(m, "slow clients")


def many_clients():
    """The service has room for 64 clients; it says so to further ones, and it recovers."""
    def connect(user):
        os.setegid(user)
        os.seteuid(user)
        try:
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(m.socket)
        finally:
            os.seteuid(0)
            os.setegid(0)
        return s

    with rig(sessions=4) as m:
        before = descriptors(m)
        os.setgroups([GROUP])
        clients = [connect(user) for user in range(61200, 61217) for _ in range(4)]
        soon(lambda: len(m.sessions()) == 64, "64 sessions", m)
        for s in clients[-4:]:
            said = s.recv(1000).decode()
            expect(said == f"{REFUSED}unavailable\nthe cap service has 64 clients, its maximum\n", said)
        soon(lambda: len(os.listdir(f"/proc/{m.service.pid}/fd")) == len(before), "descriptors do not add up", m)
        for s in clients:
            s.close()
        expect(descriptors(m) == before, "all sessions end")
        served(m, "after all")


def turns(pid):
    """How often a process has waited."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches"))


def no_descriptors():
    """Out of descriptors the service tries again now and then, and goes on."""
    with rig() as m:
        most = resource.prlimit(m.service.pid, resource.RLIMIT_NOFILE)
        for left in (0, 1):  # none for accept(), none for the pipe of a process
            used = descriptors(m)
            unused = [n for n in range(1000) if n not in used]
            before = turns(m.service.pid)
            resource.prlimit(m.service.pid, resource.RLIMIT_NOFILE, (unused[left], most[1]))
            with Client(m, A) as c:
                c.send(hold(250))
                time.sleep(0.4)
                expect(not m.sessions() and turns(m.service.pid) - before < 50, f"{left}: waits: {turns(m.service.pid) - before} times\n{m.said()}")
                resource.prlimit(m.service.pid, resource.RLIMIT_NOFILE, most)
                said = c.receive()
                expect(said.startswith(OK), f"{left}: served: {said}")
            restored(m, "served")
        expect(m.said().count("has to wait") == 1, m.said())


def one_of_many():
    """Of clients who ask for the same device at once, one gets it."""
    with rig(sessions=4) as m:
        for _ in range(2):
            with contextlib.ExitStack() as stack:
                clients = [stack.enter_context(Client(m, user)) for user in (A, B) for _ in range(3)]
                for c in clients:
                    c.send(hold(250, (0,)))
                said = [c.receive() for c in clients]
                won = [s for s in said if s.startswith(OK)]
                lost = [s for s in said if s.startswith(f"{REFUSED}denied\n") and "is in use by process" in s]
                expect(len(won) == 1 and len(lost) == 5 and m.watts() == [250, 400], f"{said}")
            restored(m, "the one")
            soon(lambda: not m.sessions(), "sessions end", m)


def spoofed_names():
    """A device is what the machine has by exactly that name."""
    with rig(devices=GPU % 0) as m:
        real = GPU % 0
        for name in (real.upper(), real.lower(), real[4:], real[:-1], f"{real}0", f"{real}/", f"./{real}", "GPU-", "0", "00000000:01:00.0",
                     "rapl:package-0/long_term", f"{real}:{GPU % 1}", "GPU-" + "a" * 92):
            with Client(m, A) as c:
                said = c.ask(f"wattlaw-caps 1 hold\npower_cap_w 250 {name}\n")
                expect(said.startswith(REFUSED) and "do not exist" in said, f"{name}: {said}")
        for name in ("GPU-*", "*", f"{real} {GPU % 1}", f"{real}\t", f"{real}\0", "GPU-\u00e4", "GPU-" + "a" * 93, ""):
            with Client(m, A) as c:
                said = c.ask(f"wattlaw-caps 1 hold\npower_cap_w 250 {name}\n")
                expect(said.startswith(f"{REFUSED}invalid"), f"{name}: {said}")
        expect(m.watts() == BACK and not m.journals(), "nothing is set")
        m.holding(A, hold(250, (0,))).end()
        restored(m, "the real one")


def planted_paths():
    """What others plant where the service keeps its journals, and a state folder that they can replace."""
    with rig() as m:
        secret = os.path.join(m.path, "secret")
        with open(secret, "w", encoding="ascii") as f:
            f.write("root's\n")
        os.mkdir(f"{m.state}/0")  # root's name, taken by a user
        os.chown(f"{m.state}/0", A, A)
        os.symlink(m.home(A), f"{m.state}/0.1")
        os.lchown(f"{m.state}/0.1", A, A)
        os.link(secret, f"{m.state}/0/x.caps")
        os.symlink(secret, f"{m.state}/0/y.device")
        os.mkfifo(f"{m.state}/z.caps")
        with Client(m, A) as c:
            expect(c.ask(hold(250)).startswith(OK), f"set\n{m.said()}")
            journal = m.journals()
            mine = [p for p in journal if os.lstat(p).st_uid == 0 and os.lstat(os.path.dirname(p)).st_uid == 0 and not p.startswith(f"{m.state}/0/")
                    and os.path.isfile(p)]
            expect(len(mine) == 1, f"the journal is in a folder of root's: {journal}")
            folder = os.stat(os.path.dirname(mine[0]))
            expect(folder.st_mode & 0o022 == 0, "which nobody else can write to")
        soon(lambda: m.watts() == BACK and not os.path.exists(mine[0]), "restored", m)
        expect(open(secret, encoding="ascii").read() == "root's\n" and not os.listdir(m.home(A)), "nothing of others is touched")
    with rig() as m:  # the state folder leads to a user
        os.rename(m.state, f"{m.home(A)}/state")
        os.symlink(f"{m.home(A)}/state", m.state)
        with Client(m, A) as c:
            said = c.ask(hold(250))
            expect(said.startswith(REFUSED) and "can replace a folder of this path" in said and m.watts() == BACK, said)
    with rig() as m:  # anybody can remove journals from it
        os.chmod(m.state, 0o777)
        os.chown(m.state, A, A)
        with Client(m, A) as c:
            said = c.ask(hold(250))
            expect(said.startswith(REFUSED) and "others can write to it" in said and m.watts() == BACK, said)


class FalseService(threading.Thread):
    """Something at the service's name that accepts `clients` clients and has these answers to list and to hold; None: none."""

    def __init__(self, path, clients, allowed=None, held=None):
        super().__init__(daemon=True)
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self.listening.bind(path)
        os.chmod(path, 0o666)
        self.listening.listen(0)
        self.clients, self.allowed, self.held, self.open = clients, allowed, held, []
        self.start()

    def run(self):
        for _ in range(self.clients):
            c = self.listening.accept()[0]
            asked = c.recv(1 << 17)
            answer = self.held if asked.startswith(b"wattlaw-caps 1 hold") else self.allowed
            if answer is not None:
                c.send(answer)
            if answer is None or answer is self.held:
                self.open.append(c)
            else:
                c.close()


def false_services():
    """A run believes no answer, and waits for none without end: nothing is set, the job does not start."""
    allowed = b"wattlaw-caps 1 ok 60\n" + b"".join(f"power_cap_w 150 400 {GPU % i}\n".encode() for i in (0, 1))
    claims = allowed.replace(b"150 400", b"400 250")
    cases = (("accepts nobody", 0, None, None, "has accepted nobody for 0.8 s"), ("says nothing", 9, None, None, "no answer from the cap service"),
             ("garbage", 9, b"\0" * 1000, None, "line 1 of the packet"), ("a packet that is too long", 9, b"x" * (1 << 17), None, "packet"),
             ("allows another device", 9, allowed.replace(b"GPU-a", b"GPU-b"), None, "may not set power_cap_w"),
             ("answers for one device", 9, allowed, claims[:claims.rindex(b"power")], "did not answer for"),
             ("only says that it has set", 9, allowed, claims, "reads 400 W, requested 250"))
    with rig(start=False) as m:
        for what, clients, answer, held, why in cases:
            service = FalseService(m.socket, clients, answer, held)
            waiting = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(0 if clients else 1)]
            for s in waiting:  # fill the queue
                s.connect(m.socket)
            since = time.monotonic()
            r = m.cap(A, 250, job=("touch", f"{m.home(A)}/started"), more=("--cap-setter", "service", "--cap-wait", "0.1s"))
            expect(r.returncode == 1 and why in r.stderr and time.monotonic() - since < SOON_S, what, r)
            expect(not os.path.exists(f"{m.home(A)}/started") and m.watts() == BACK, f"{what}: nothing has started")
            for s in (*waiting, *service.open, service.listening):
                s.close()


def jumping_clock():
    """Only elapsed time counts: the wall clock may jump by a year."""
    with rig(lease="3s", start=False) as m:
        m.as_root.update(LD_PRELOAD=faults, WATTLAW_FAULT=f"{m.path}/jump", ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
        m.service = m.serve()

        def jump(seconds):
            with open(f"{m.path}/jump.new", "w", encoding="ascii") as f:
                f.write(f"wall {seconds}")
            os.rename(f"{m.path}/jump.new", f"{m.path}/jump")
        with Client(m, A) as c:
            since = time.monotonic()
            expect(c.ask(hold(250)).startswith(OK), "set")
            for seconds in (31536000, -31536000):
                jump(seconds)
                time.sleep(1.1)
                expect(m.watts() == [250, 250], f"a jump by {seconds} s ends nothing")
            c.socket.settimeout(SOON_S)
            said = c.receive()
            expect("silent for its lease of 3 s" in said and time.monotonic() - since >= 2.9, f"after the lease: {said}")
        restored(m, "a silent client")


PARTS = (jumping_clock, false_services, passed_descriptors, many_clients, killed_at_each_step, planted_paths, dead_before_their_session, slow_and_partial, no_descriptors,
         one_of_many, spoofed_names, reused_pids)

skip_unless_root(wattlaw, fake)
run_parts(PARTS, sys.argv[4:])
