"""Users who may not set caps set them through the cap service, within what root allows, and every cap is undone:
service.py WATTLAW FAKE_NVML_LIBRARY [PART...]"""
import os
import signal
import sqlite3
import subprocess
import sys
import time

from rig import GPU, PATIENCE_S, RaplRig, children, expect, guards_in, kill, wait_until
from service_rig import GROUP, Client, ServiceRig, hold, run_parts
from users import USERS, skip_unless_root

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
A, B = USERS
BACK = [400, 400]
ERROR = "wattlaw-caps 1 refused "


def rig(**how):
    return ServiceRig(wattlaw, fake, **how)


def restored(m, what):
    expect(wait_until(lambda: m.watts() == BACK and not m.journals(), 30), f"{what}: restored, no journal left: {m.watts()} {m.journals()}\n{m.said()}")


def members_set_caps():
    """measure chooses the service by itself, records it, and the values return; with a clock too, in one transaction."""
    with rig(sessions=2) as m:  # doctor alone has five conversations, one after the other
        seen = f"cat {m.limits} > {m.home(A)}/seen"
        r = m.cap(A, 250, job=("sh", "-c", seen), more=("--clock-mhz", "900"))
        expect(r.returncode == 0 and r.stderr == "", "a member caps, without a warning", r)
        with open(f"{m.home(A)}/seen", "rb") as f:
            during = f.read()
        expect([int.from_bytes(during[i:i + 4], "little") for i in (0, 4, 16, 20)] == [250000, 900, 250000, 900], f"set during the job: {during}")
        expect(m.get() == [(400000, 0, 0, 0)] * 2 and not m.journals(), f"restored: {m.get()}")
        rows = sqlite3.connect(f"{m.home(A)}/s.db").execute("select distinct kind, setter, found from cap order by kind").fetchall()
        expect(rows == [("clock_mhz", "service", None), ("power_cap_w", "service", 400.0)], f"the run says who has set it: {rows}")
        r = m.cap(A, 250)  # directly after: the first session is over
        expect(r.returncode == 0, "once more", r)
        r = subprocess.run([wattlaw, "doctor", "--nvml-library", fake, "--sensors", "null"], env=m.of(A), cwd="/", text=True, capture_output=True,
                           check=False, **m.who(A))
        expect("yes     service: 2 x Fake GPU" in r.stdout and "150 to 400 W" in r.stdout, "doctor says that it can", r)
        expect("service    yes     4 limits may be set through " in r.stdout, "and how", r)
        before = len(guards_in(m.path))
        status = open(f"/proc/{m.service.pid}/status", encoding="ascii").read()
        caps = {line.split()[0]: int(line.split()[1], 16) for line in status.splitlines() if line.startswith("Cap")}
        expect(caps["CapEff:"] == caps["CapPrm:"] == 1 << 21 and "NoNewPrivs:\t1" in status and before == 0, f"CAP_SYS_ADMIN alone is left: {caps}")


def strangers_are_refused():
    """By the mode of the socket, and by the service itself if the socket is open to all."""
    with rig() as m:
        m.who = lambda user: {"user": user, "group": user, "extra_groups": []}
        r = m.cap(B, 250)
        expect(r.returncode == 1 and "cannot connect to the cap service: Permission denied" in r.stderr, "outside", r)
        r = subprocess.run([wattlaw, "doctor", "--nvml-library", fake, "--sensors", "null"], env=m.of(B), cwd="/", text=True, capture_output=True,
                           check=False, **m.who(B))
        expect("service    no      " in r.stdout and "Permission denied" in r.stdout and "fix: " in r.stdout, "doctor says why", r)
        os.chmod(m.socket, 0o666)
        with Client(m, B, groups=(1, 2, 3)) as c:
            said = c.receive()
            expect(said == f"{ERROR}denied\nuser {B} is not in the group {GROUP}, which may set caps here\n" and c.is_over(), said)
        r = m.cap(B, 250)
        expect(r.returncode == 1 and "is not in the group" in r.stderr and m.watts() == BACK, "outside, open socket", r)


def only_what_is_allowed():
    """Values and devices outside of the rules, or of the hardware, are refused; nothing is set."""
    with rig(devices=GPU % 0, watts="150 to 1000") as m:
        r = m.cap(A, 120, gpus="0")
        expect(r.returncode == 1 and "takes 150 to 400 W" in r.stderr, "below the rule; never above the hardware", r)
        r = m.cap(A, 250)
        expect(r.returncode == 1 and f"may not set power_cap_w of {GPU % 1}" in r.stderr, "another device", r)
        expect(m.cap(A, 250, gpus="0").returncode == 0, "the allowed device")
        for text, why in ((hold(120, (0,)), "120 W is out of range: 150 to 400 W is allowed"), (hold(401, (0,)), "150 to 400 W is allowed"),
                          (hold(250, (1,)), "do not allow to set power_cap_w"), (hold(250, (0, 1)), "do not allow"),
                          (hold(250, (7,)), "do not exist"), (hold(250, (0,), "module_cap_w"), ""), (hold(405, (0,), "mem_clock_mhz"), "do not allow"),
                          (hold(250, (0,)) + f"clock_mhz 900 {GPU % 1}\n", "do not allow"),
                          (hold(250, (0,)) + f"power_cap_w 260 {GPU % 1}\n", "one value")):
            with Client(m, A) as c:
                said = c.ask(text)
                expect(said.startswith(ERROR) and why in said and c.is_over(), f"{text}: {said}")
            expect(m.watts() == BACK and not m.journals(), f"nothing is set: {m.watts()}")


def killed_clients():
    """The death of the client's process ends its caps, even if another process has inherited the connection."""
    with rig() as m:
        p = m.begin(A, 250)
        expect(wait_until(lambda: m.watts() == [250, 250] or p.poll() is not None), "set")
        expect(m.cap(B, 200).returncode == 1, "the device is in use")
        kill(p.pid, signal.SIGKILL)
        p.communicate()
        restored(m, "a killed measure")
        with m.holding(A, hold(250)) as c:
            expect(m.watts() == [250, 250], "set by hand")
            c.kill()
            restored(m, "a killed client whose heir lives")
        m.holding(A, hold(250)).end()
        restored(m, "a closed connection")


def one_owner():
    """A device has one owner at a time: other users, the same user, and root without the service are refused."""
    with rig() as m:
        with Client(m, A) as c:
            expect(c.ask(hold(250, (0,))) == f"wattlaw-caps 1 ok 60\npower_cap_w 400 250 {GPU % 0}\n", "first")
            for user in (A, B):
                with Client(m, user) as d:
                    said = d.ask(hold(200))
                    expect(said.startswith(f"{ERROR}denied\n") and f"for process {c.pid} of user {A}" in said, f"{user}: {said}")
            with Client(m, B) as d:
                expect(d.ask(hold(200, (1,))).startswith("wattlaw-caps 1 ok"), "the other device is free")
                expect(m.watts() == [250, 200], f"both: {m.watts()}")
                os.makedirs(m.home(0), exist_ok=True)
                r = subprocess.run(m.words(0, "--power-cap-w", "300", job=("true",)), env={**m.as_root, "WATTLAW_CAPS_SOCKET": m.socket},
                                   cwd="/", text=True, capture_output=True, check=False)
                expect(r.returncode == 1 and "cap service, for process" in r.stderr, "root without the service", r)
                expect(d.ask("wattlaw-caps 1 release\n") == "wattlaw-caps 1 ok 60\n", "released")
                expect(m.watts() == [250, 400], f"one is released: {m.watts()}")
            with Client(m, B) as d:
                expect(d.ask(hold(200, (1,))).startswith("wattlaw-caps 1 ok"), "free at once after the reply")
            expect(c.ask("wattlaw-caps 1 release\n") == "wattlaw-caps 1 ok 60\n" and c.is_over(), "released")
        restored(m, "both")


def killed_services():
    """A session, the service, or everything at once is killed while a cap is set."""
    with rig() as m:
        with m.holding(A, hold(250)) as c:
            session = next(p for p in m.sessions() if children(p))
            kill(session, signal.SIGKILL)
            restored(m, "a killed session")
            expect(m.service.poll() is None and c.is_over(), "the service continues")
        with m.holding(A, hold(250)) as c:
            m.service.kill()
            m.service.wait()
            restored(m, "a killed service")
        m.service = m.serve()  # its socket is left from the killed one
        with m.holding(A, hold(250, (0,)) + f"clock_mhz 900 {GPU % 1}\n") as c:
            m.kill_all()
            expect(m.get() == [(250000, 0, 0, 0), (400000, 900, 0, 0)] and m.journals(), f"nobody is left to restore: {m.get()}")
            m.service = m.serve()
            restored(m, "at the restart")
            expect(m.get()[1][1] == 0 and wait_until(lambda: "of a killed session was restored" in m.said()), f"the clock too: {m.get()}\n{m.said()}")
        with m.holding(A, hold(250)) as c:
            m.service.terminate()
            expect(m.service.wait(PATIENCE_S) == 0 and m.watts() == BACK, "SIGTERM waits until all is restored")
            expect(not os.path.exists(m.socket), "and removes the socket")


def others_journals():
    """The service takes nothing from what other users leave in the state folder."""
    with rig() as m:
        m.put([(250000, 0, 0, 0)] * 2)  # the site's limit, below the default
        m.plant(B, f"{B}/x.caps", m.claim(250, 400))
        with Client(m, A) as c:
            expect(f"power_cap_w 250 200 {GPU % 0}" in c.ask(hold(200)) and m.watts() == [200, 200], "found as it was")
        expect(wait_until(lambda: m.watts() == [250, 250], 30), f"not raised to the default: {m.watts()}")


def campaigns_and_mixed_setters():
    """A campaign keeps its devices between runs; one run may have a cap by the service and a clock by the site's command."""
    with rig(script="clock=800") as m:
        ini, home = f"{m.home(A)}/x.ini", m.home(A)
        with open(ini, "w", encoding="ascii") as f:
            f.write(f"[campaign]\nname = x\nrepeats = 1\nstore = {home}/x\n[sweep]\npower_cap_w = 120, 200, 300\n"
                    f"[measure]\nsensors = null\nnvml_library = {fake}\n[launch]\ncommand = true\n")
        r = subprocess.run([wattlaw, "sweep", ini], env=m.of(A), cwd=home, text=True, capture_output=True, check=False, **m.who(A))
        done = sqlite3.connect(f"{home}/x/wattlaw.db").execute("select power_cap_w, exit_status, flag from run join trial on trial.id = run.trial order by 1").fetchall()
        expect(r.returncode == 0 and "150 to 400 W" in r.stderr and done == [(200, 0, None), (300, 0, None)], f"a campaign: {done}", r)
        r = m.cap(A, 250, more=("--clock-mhz", "900", "--cap-clock-command", f"touch {home}/set-{{mhz}}", "--cap-clock-restore", f"touch {home}/undone"))
        setters = sqlite3.connect(f"{home}/s.db").execute("select distinct kind, setter from cap order by kind").fetchall()
        expect(r.returncode == 0 and setters == [("clock_mhz", "command"), ("power_cap_w", "service")], f"both: {setters}", r)
        expect(os.path.exists(f"{home}/set-900") and os.path.exists(f"{home}/undone") and m.watts() == BACK and not m.journals(), "both are undone")


def silent_clients():
    """A client that is stopped loses its caps after its lease; its run says so."""
    with rig(lease="3s") as m:
        p = m.begin(A, 250, job=m.until_released())
        expect(wait_until(lambda: m.watts() == [250, 250] or p.poll() is not None) and p.poll() is None, "set")
        time.sleep(3.5)
        expect(m.watts() == [250, 250], "a run that runs keeps its caps")
        os.kill(p.pid, signal.SIGSTOP)
        restored(m, "a stopped client")
        os.kill(p.pid, signal.SIGCONT)
        m.release()
        said = p.communicate(timeout=PATIENCE_S)[1]
        expect("the client was silent for its lease of 3 s: caps are restored" in said, said)
        flag = sqlite3.connect(f"{m.home(A)}/s.db").execute("select flag from run").fetchone()[0]
        expect(flag and "a cap changed during the run" in flag, f"the run is flagged: {flag}")


def hostile_clients():
    """Whatever members send, others are served meanwhile, and nothing is set."""
    with rig(lease="3s") as m:
        packets = (b"", b"\n", b"\0" * 100, b"x" * 140000, b"wattlaw-caps 2 list\n", b"wattlaw-caps 1 list", b"wattlaw-caps 1 list\n\n",
                   b"wattlaw-caps 1 hold\n", b"wattlaw-caps 1 keep\n", b"wattlaw-caps 1 release\n", hold("1e2").encode(), hold("-250").encode(),
                   hold("0x40").encode(), hold("nan").encode(), hold("99999999999999999999").encode(), hold("250.0001").encode(), hold("-").encode(),
                   hold("0").encode(), hold(250, (0, 0)).encode(), hold(250).encode()[:-1], hold(250).replace("GPU", "G\0U").encode(),
                   hold(250).replace("GPU", "../GPU").encode(), ("wattlaw-caps 1 hold\n" + "".join(f"power_cap_w 250 GPU-{i}\n" for i in range(2100))).encode())
        for packet in packets:
            with Client(m, A) as c:
                c.send(packet)
                c.socket.settimeout(30)
                expect(packet == b"" or c.receive().startswith(ERROR), f"{packet[:60]}")
                expect(c.is_over(), f"{packet[:60]}: ended")
        expect(m.watts() == BACK, f"nothing is set: {m.watts()}")
        expect(wait_until(lambda: not m.sessions(), 30), "their sessions end")
        devices = os.listdir(f"/proc/{m.service.pid}/fd")
        idle = [Client(m, A) for _ in range(3)]  # as many as a user may have, silent
        with Client(m, A) as c:
            said = c.receive()
            expect(said == f"{ERROR}denied\nuser {A} has 3 connections to the cap service, the maximum of one user\n", said)
        idle[0].send(hold(250, (1,)))  # and does not read its reply
        expect(wait_until(lambda: m.watts()[1] == 250, 30), "served")
        since = time.monotonic()
        r = m.cap(B, 200, gpus="0")
        expect(r.returncode == 0 and time.monotonic() - since < 30, "another user is not kept waiting", r)
        while idle:
            idle.pop().end()
        expect(wait_until(lambda: not m.sessions(), 30), "all sessions end")
        restored(m, "hostile clients")
        expect(os.listdir(f"/proc/{m.service.pid}/fd") == devices, "the service keeps no descriptor")
        silent = Client(m, B)
        expect(silent.is_over(), "a client without a request is turned away after 5 s")
        silent.end()


class RaplServiceRig(ServiceRig):
    """CPU packages; the kernel itself denies users to write."""

    def __init__(self, wattlaw_, fake_, **how):
        self.root = None
        super().__init__(wattlaw_, fake_, start=False, rules="[allow cpus]\ndevices = rapl:*\npower_cap_w = 60 to 250\n", devices="cpufreq:*", **how)
        self.root = os.path.join(self.path, "root")
        self.files = [RaplRig.make(self, i, w * 1_000_000) for i, w in enumerate((200, 240))]
        self.as_root["WATTLAW_FAKE_NVML"] = self.env["WATTLAW_FAKE_NVML"] = "init=9"
        self.service = self.serve()

    file = RaplRig.file

    def options(self):
        return *super().options(), "--sensor-root", self.root

    def numbers(self):
        return [int(open(path, encoding="ascii").readline()) // 1_000_000 for path in self.files]


def packages():
    """CPU packages by files of /sys, without any capability; a floor has to be named."""
    with RaplServiceRig(wattlaw, fake) as m:
        seen = f"cat {' '.join(m.files)} > {m.home(A)}/seen"
        r = m.cap(A, 100, job=("sh", "-c", seen), more=("--sensor-root", m.root))
        expect(r.returncode == 0 and open(f"{m.home(A)}/seen", encoding="ascii").read().split() == ["100000000"] * 2, "set", r)
        expect(m.numbers() == [200, 240] and not m.journals(), f"restored: {m.numbers()}")
        r = m.cap(A, 40, more=("--sensor-root", m.root))
        expect(r.returncode == 1 and "takes 60 to" in r.stderr and m.numbers() == [200, 240], "below the floor", r)
        with open(f"/proc/{m.service.pid}/status", encoding="ascii") as f:
            expect("CapPrm:\t0000000000000000" in f.read(), "no capability is left")


def unsafe_configurations():
    """A file that others can write, a group that does not exist, a taken name: the service does not start."""
    def fails(m, why):
        r = subprocess.run([wattlaw, "serve-caps", "--config", m.config, "--socket", m.socket, "--state-dir", m.state, "--nvml-library", fake],
                           env=m.as_root, cwd="/", text=True, capture_output=True, check=False, timeout=PATIENCE_S)
        expect(r.returncode == 1 and why in r.stderr, why, r)
    with rig(start=False) as m:
        with open(m.socket, "w", encoding="ascii"):
            pass
        fails(m, "exists and is not a socket")
        os.unlink(m.socket)
        os.symlink(m.config, m.socket)
        fails(m, "exists and is not a socket")
        os.unlink(m.socket)
        os.chmod(m.config, 0o666)
        fails(m, "writable by others")
        os.chmod(m.config, 0o644)
        os.chown(m.config, A, A)
        fails(m, "another user than root")
        os.chown(m.config, 0, 0)
        m.config, real = os.path.join(m.home(A), "caps.conf"), m.config
        os.rename(real, m.config)
        fails(m, "another user than root")
        m.config = real
        with open(m.config, "w", encoding="ascii") as f:
            f.write("[service]\ngroup = nobody-has-this\n")
        fails(m, "group nobody-has-this, which may set caps, does not exist")
        with open(m.config, "w", encoding="ascii") as f:
            f.write("[service]\ngroup = 61100\n[allow x]\ndevices = GPU-*\npower_cap_w = 400 to 100\n")
        fails(m, "power_cap_w = 400 to 100: expected hardware, or MIN to MAX")
        m.socket = os.path.join(m.home(A), "s")
        with open(m.config, "w", encoding="ascii") as f:
            f.write("[service]\ngroup = 61100\n")
        fails(m, "not an absolute path in a folder that only root can write to")
        m.socket = os.path.join(m.path, "s")
        m.service = m.serve()
        fails(m, "another service listens there")


PARTS = (hostile_clients, silent_clients, campaigns_and_mixed_setters, members_set_caps, killed_services, strangers_are_refused, only_what_is_allowed, killed_clients, one_owner,
         others_journals, packages, unsafe_configurations)


skip_unless_root(wattlaw, fake)
run_parts(PARTS, sys.argv[3:])
