"""wattlaw top on a terminal, in text and in JSON: top.py WATTLAW FAKE_NVML TOY"""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "campaign"))
from harness import PATIENCE_S, Bench, check, contains  # noqa: E402

try:
    import pyte
except ImportError:
    print("SKIP: Debian's python3-pyte is missing (tools/packages)")
    sys.exit(77)

COLOR = re.compile(rb"\x1b\[[0-9;]*3[1-7](;[0-9;]*)?m")


class Terminal:
    """A program on a terminal, as its user sees it."""

    def __init__(self, bench, width, height, *args, **env):
        self.controller, self.terminal = pty.openpty()
        self.screen = pyte.Screen(width, height)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.size(width, height)
        self.before = termios.tcgetattr(self.terminal)
        base = {k: v for k, v in bench.env.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
        self.p = bench.start(*args, stdin=self.terminal, stdout=self.terminal, stderr=self.terminal, start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # its controlling one, for SIGWINCH
                             env={**base, "TERM": "xterm-256color", **env})

    def size(self, width, height):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.screen.resize(height, width)

    def read(self):
        if select.select([self.controller], [], [], 0.05)[0]:
            piece = os.read(self.controller, 65536)
            self.raw += piece
            self.stream.feed(piece)

    def text(self):
        return "\n".join(self.screen.display)

    def wait(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition(self.text()):
            check(time.monotonic() < end and self.p.poll() is None, what, "is not seen:\n" + self.text(), self.p.poll())
            self.read()

    def press(self, keys):
        os.write(self.controller, keys)

    def end(self):
        """The exit status; the terminal is as it was, and shows the screen that it had before."""
        end = time.monotonic() + PATIENCE_S
        while self.p.poll() is None:
            check(time.monotonic() < end, "it does not end:\n" + self.text())
            self.read()
        self.read()
        check(termios.tcgetattr(self.terminal) == self.before, "the terminal is not as it was")
        check(self.raw.rfind(b"\x1b[?1049l") > self.raw.rfind(b"\x1b[?1049h") >= 0, "it stays in its other screen")
        check(self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l") or b"\x1b[?12l\x1b[?25h" in self.raw, "the cursor stays hidden")
        os.close(self.controller)
        os.close(self.terminal)
        return self.p.returncode


def keys_and_sizes(bench):
    t = Terminal(bench, 80, 24, "top", "--sensors", "nvml,proc", "--period", "200ms")
    t.wait("the devices", lambda s: "250 W" in s and "400 W" in s and "q quit" in s)
    check(t.text().splitlines()[-1].startswith("q quit"), "the keys are in the last line:\n" + t.text())
    t.wait("who uses the GPU", lambda s: re.search(rf"{os.getpid()} .* python3", s))
    check(COLOR.search(t.raw), "there are colours")
    t.press(b"\x1b[17~")  # F6, as in htop
    t.wait("another order", lambda s: "by gpu" in s)
    t.press(b"+")
    t.wait("a longer time", lambda s: "400 ms" in s)
    t.press(b"h")
    t.wait("help", lambda s: "this help" in s and "PID  USER" not in s)
    t.press(b"h\x1b[B\x1b[B")
    t.wait("no help", lambda s: "this help" not in s)
    t.size(40, 20)
    t.wait("a narrow screen", lambda s: "simulated" in s and "CLOCK" not in s and s.splitlines()[-1].startswith("q quit"))
    t.size(120, 40)
    t.wait("a wide one", lambda s: "CLOCK" in s and "MEMORY" in s and s.splitlines()[-1].startswith("q quit"))
    t.press(b"\x1bOF")  # End
    t.wait("the last process alone", lambda s: s.splitlines()[s.splitlines().index(next(row for row in s.splitlines() if "PID  USER" in row)) + 2].strip() == "")
    t.press(b"\x1b[21~")  # F10, as in htop
    check(t.end() == 0, t.p.returncode)


def ends(bench):
    for sig, status in ((signal.SIGTERM, 130), (signal.SIGINT, 130), (signal.SIGSEGV, -signal.SIGSEGV)):
        t = Terminal(bench, 80, 24, "top", "--sensors", "nvml", "--period", "10s", NO_COLOR="1")
        t.wait("the devices", lambda s: "250 W" in s)
        t.p.send_signal(sig)
        check(t.end() == status or sig == signal.SIGSEGV and t.p.returncode != 0, sig, t.p.returncode)  # a sanitizer exits by itself
        check(not COLOR.search(t.raw), "NO_COLOR has no colours")


def text_and_json(bench):
    r = bench.run("top", "--sensors", "nvml,proc")  # into a pipe
    contains(r.stdout, "power    501 W (simulated)", "simulated", "CPUs     [")
    check("\x1b" not in r.stdout and not r.stderr, r.stdout, r.stderr)
    o = json.loads(bench.run("top", "--json", "--sensors", "nvml", "--period", "300ms").stdout)
    check(o["power_w"] == 501 and o["simulated"] and o["energy_since_start_j"] > 50 and len(o["devices"]) == 2, o)
    check([c["set_w"] for c in o["caps"]] == [400, 400], o["caps"])
    check("expected" in bench.run("top", "--sort", "size", status=2).stderr and "lab2" in bench.run("top", "lab2", "--once", status=1).stderr, "errors")


def a_campaign(bench):
    ini = bench.write("lab.ini", "[campaign]\nname = lab\nrepeats = 2\n[sweep]\nworkload = toy\nworkers = 1,2\n[measure]\nsensors = cpu_model\n"
                      f"[launch]\ncommand = toy epochs=2 ms=50 workers={{workers}} wait={bench.path('go')}\noversubscribe = yes\n")
    sweep = bench.start("sweep", ini, "--quiet")
    out = ""

    def is_under_way():
        nonlocal out
        check(sweep.poll() is None, "the sweep has ended", sweep.poll() is not None and sweep.communicate())
        if not os.path.exists(bench.path("lab", "wattlaw.db")):
            return False
        out = bench.run("top", "lab", "--once", "--sensors", "proc", "--period", "100ms", status=None).stdout
        return re.search(r"run 1  epoch 1  .*\d J \(estimated\)", out)
    bench.wait_until("the run is shown", is_under_way)
    contains(out, "0 of 4 runs done, 1 running, 3 waiting", "toy")
    o = json.loads(bench.run("top", "lab", "--json", "--sensors", "proc", "--period", "100ms").stdout)
    check(o["campaigns"][0]["runs"]["running"] == 1 and o["campaigns_why"] is None, o["campaigns"])
    bench.write("go", "")
    sweep.communicate(timeout=PATIENCE_S)
    contains(bench.run("top", "lab", "--once", "--sensors", "proc", "--period", "100ms").stdout, "4 of 4 runs done", "left nothing")


def main():
    wattlaw, fake, toy = sys.argv[1:4]
    with contextlib.closing(Bench(wattlaw, toy)) as bench:
        bench.env["NVML_LIBRARY"] = os.path.abspath(fake)
        bench.env["WATTLAW_FAKE_NVML"] = f"gpus=2; power=250; busy=90; models=A100,H100; pids={os.getpid()}; pid_util=40"
        for test in (text_and_json, keys_and_sizes, ends, a_campaign):
            test(bench)
    print("top: passed")


main()
