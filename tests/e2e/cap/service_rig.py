"""A machine whose users set caps through the cap service: a real service of root, real users, the simulated driver."""
import concurrent.futures
import contextlib
import os
import signal
import socket
import subprocess
import sys

from rig import GPU, PATIENCE_S, children, expect, guards_in, kill, wait_until
from users import USERS, UsersRig

GROUP = 61100  # no account
DENIED = "; ".join(f"fail=*:{call}:4" for call in ("SetPowerManagementLimit", "SetPowerManagementLimit_v2", "SetGpuLockedClocks",
                                                   "ResetGpuLockedClocks", "SetMemoryLockedClocks", "ResetMemoryLockedClocks"))
RULES = """[service]
group = 61100
lease = {lease}
sessions_per_user = {sessions}

[allow gpus]
devices = {devices}
power_cap_w = {watts}
clock_mhz = hardware
"""


class Client:
    """A connection of a user, made by a process of that user that lives until end(); this process reads and writes."""

    def __init__(self, rig, user, groups=(GROUP,)):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                ours.close()
                os.setgroups(list(groups))
                os.setgid(user)
                os.setuid(user)
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                s.connect(rig.socket)
                socket.send_fds(theirs, [b"f"], [s.fileno()])
                while theirs.recv(1):
                    pass
            except OSError as e:
                theirs.send(type(e).__name__.encode())
            os._exit(0)
        theirs.close()
        said, fds, _, _ = socket.recv_fds(ours, 100, 1)
        self.control = ours
        self.error = None if fds else said.decode()
        self.socket = socket.socket(fileno=fds[0]) if fds else None
        if self.socket:
            self.socket.settimeout(PATIENCE_S)

    def send(self, text):
        self.socket.send(text if isinstance(text, bytes) else text.encode())

    def receive(self):
        """A service that closes the connection with a packet unread makes one recv() fail before the next one returns what it has sent."""
        with contextlib.suppress(ConnectionResetError):
            return self.socket.recv(1 << 17).decode()
        return self.socket.recv(1 << 17).decode()

    def ask(self, text):
        """Also of a service that turns the client away before it has sent anything."""
        with contextlib.suppress(BrokenPipeError):
            self.send(text)
        return self.receive()

    def is_over(self):
        """The service has closed the connection."""
        try:
            return self.socket.recv(1 << 17) == b""
        except ConnectionResetError:
            return True

    def kill(self):
        """SIGKILL of the process; this process keeps its end of the connection open, as an heir of it would."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.pid = 0

    def end(self):
        if self.socket:
            self.socket.close()
        self.control.close()
        if self.pid:
            os.waitpid(self.pid, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def hold(watts, gpus=(0, 1), kind="power_cap_w"):
    return "wattlaw-caps 1 hold\n" + "".join(f"{kind} {watts} {GPU % i}\n" for i in gpus)


class ServiceRig(UsersRig):
    """Only the service may set limits; the users' driver denies it."""

    def __init__(self, wattlaw, fake, lease="60s", sessions=3, devices="GPU-*", watts="150 to 400", rules="", start=True, before_exec=None, **how):
        super().__init__(wattlaw, fake, **how)
        self.before_exec = before_exec  # in the process that becomes the service
        self.as_root = dict(self.env)
        self.env["WATTLAW_FAKE_NVML"] += f"; {DENIED}"
        os.chmod(self.limits, 0o644)
        self.socket = os.path.join(self.path, "caps.socket")
        self.config = os.path.join(self.path, "caps.conf")
        self.log = os.path.join(self.path, "log")
        self.env["WATTLAW_CAPS_SOCKET"] = self.socket
        with open(self.config, "w", encoding="ascii") as f:
            f.write(RULES.format(lease=lease, sessions=sessions, devices=devices, watts=watts) + rules)
        self.service = self.serve() if start else None

    def who(self, user):
        """Both users are members."""
        return {**super().who(user), "extra_groups": [GROUP]} if user else {}

    def options(self):
        return "--nvml-library", self.fake

    def serve(self):
        with open(self.log, "a", encoding="utf-8") as log:
            p = subprocess.Popen([self.wattlaw, "serve-caps", "--config", self.config, "--socket", self.socket, "--state-dir", self.state,
                                  *self.options()], env=self.as_root, cwd="/", stderr=log, start_new_session=True, preexec_fn=self.before_exec)
        expect(wait_until(lambda: p.poll() is not None or self.listens()), "the service listens")
        expect(p.poll() is None, f"the service runs:\n{self.said()}")
        return p

    def listens(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s, contextlib.suppress(OSError):
            s.connect(self.socket)
            return True
        return False

    def said(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def holding(self, user, text):
        """A client whose caps are set. The session before it may still be there for an instant after it has restored them."""
        found = []

        def ask():
            c = Client(self, user)
            said = c.ask(text)
            if not said.startswith("wattlaw-caps 1 ok "):
                c.end()
                expect("is in use by process" in said or "the maximum of one user" in said, said)
                return False
            found.append(c)
            return True

        expect(wait_until(ask, 30), f"{text}: still in use\n{self.said()}")
        return found[0]

    def sessions(self):
        return children(self.service.pid)

    def kill_all(self):
        """The service, its sessions and their guards, at once: nobody is left who could restore."""
        tree = [self.service.pid, *self.sessions(), *guards_in(self.path)]
        for pid in tree:
            kill(pid, signal.SIGSTOP)
        for pid in tree:
            kill(pid, signal.SIGKILL)
        self.service.wait()
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in tree))

    def __exit__(self, failed, *_):
        if self.service and self.service.poll() is None:
            (self.service.kill if failed else self.service.terminate)()
            self.service.wait(PATIENCE_S)
        said = self.said() if os.path.exists(self.log) else ""
        super().__exit__()
        expect("Sanitizer" not in said and "runtime error" not in said, f"the service breaks no rule of memory: {said}")


def run_parts(parts, names):
    """Those that are named; or all, each in a process of its own, as they fork."""
    for part in parts:
        if part.__name__ in names:
            part()
    if names:
        return
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda part: subprocess.run([sys.executable, *sys.argv, part.__name__], text=True, capture_output=True, check=False), parts))
    print(*(r.stdout for r in runs if r.stdout), sep="", end="")
    bad = [f"{part.__name__}:\n{r.stdout}{r.stderr}" for part, r in zip(parts, runs) if r.returncode]
    if bad:
        sys.exit("\n".join(bad))
