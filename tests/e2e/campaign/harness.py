"""Shared by the end-to-end tests of campaigns: a folder, the programs, queries of stores, a check that no process is
left running."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

SKIP = 77  # meson's exit status for a skipped test
PATIENCE_S = 300  # for what takes a second on an idle machine


class Skip(Exception):
    """The test cannot run here; the text says why."""


class Bench:
    """A fresh folder in which wattlaw runs, with its own runtime and state folders. Every process that it starts has a token in
    its environment."""

    def __init__(self, wattlaw, toy):
        self.wattlaw, self.toy = os.path.abspath(wattlaw), os.path.abspath(toy)
        self.world = tempfile.mkdtemp(prefix="wattlaw-e2e-")
        self.folder, self.node, state = (os.path.join(self.world, name) for name in ("work", "node", "state"))
        os.mkdir(self.folder)
        self.token = f"WATTLAW_TEST={uuid.uuid4()}"
        name, value = self.token.split("=")
        self.env = {**os.environ, name: value, "PATH": os.path.dirname(self.toy) + ":" + os.environ["PATH"],
                    "WATTLAW_NODE_DIR": self.node, "WATTLAW_STATE_DIR": state}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def read(self, *names):
        with open(self.path(*names)) as f:
            return f.read()

    def start(self, *args, **how):
        how = {"cwd": self.folder, "env": self.env, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "text": True, **how}
        return subprocess.Popen([self.wattlaw, *args], **how)

    def run(self, *args, status=0, timeout=PATIENCE_S, **how):
        text = how.pop("input", None)
        with self.start(*args, stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL, **how) as p:
            try:
                out, err = p.communicate(text, timeout=timeout)
            except subprocess.TimeoutExpired as late:
                running = self.processes()
                self.end_all()
                raise AssertionError(f"{args}: not within {timeout} s; running: {running}\n{late.stdout}\n{late.stderr}") from None
        result = subprocess.CompletedProcess(p.args, p.returncode, out, err)
        if status is not None and p.returncode != status:
            raise AssertionError(f"{args}: status {p.returncode}, not {status}\n{out}\n{err}")
        return result

    def rows(self, store, sql):
        """Opens the store as any SQLite program would."""
        with contextlib.closing(sqlite3.connect(self.path(store), timeout=10)) as db:
            return db.execute(sql).fetchall()

    def processes(self):
        """(pid, command line) of all processes with our token, wattlaw and its guards included."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if self.token.encode() not in f.read().split(b"\0"):
                        continue
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    found.append((int(pid), f.read().replace(b"\0", b" ").decode()))
            except OSError:
                continue  # it has ended, or is not ours
        return found

    def wait_until(self, what, condition, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not within {seconds} s; running: {self.processes()}")
            time.sleep(0.01)

    def all_gone(self):
        self.wait_until("every process has ended", lambda: not self.processes())

    def no_rendezvous_is_left(self):
        """Names of rendezvous of local ranks end with a dot and a generation; lock files stay."""
        left = [n for _, _, names in os.walk(self.node) for n in names if "." in n]
        check(not left, "rendezvous are left:", left)

    def end_all(self):
        for pid, _ in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def close(self):
        self.end_all()
        shutil.rmtree(self.world, ignore_errors=True)


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def has_signal(pid, field, sig):
    """Is the signal in this set of /proc/PID/status: SigIgn (ignored), ShdPnd (pending), ...?"""
    with open(f"/proc/{pid}/status") as f:
        mask = next(line.split()[1] for line in f if line.startswith(field + ":"))
    return bool(int(mask, 16) >> (sig - 1) & 1)


def contains(text, *parts):
    for part in parts:
        check(part in text, f"'{part}' is not in:\n{text}")


@contextlib.contextmanager
def small_disk(folder, kilobytes):
    """A file system of that size on the folder; needs root and the right to mount."""
    os.makedirs(folder)
    if os.geteuid() != 0:
        raise Skip("a small file system can only be mounted by root")
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder], capture_output=True,
                          text=True)
    if made.returncode != 0:
        raise Skip(f"cannot mount a small file system: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def fill(path):
    """Writes to a file until the disk is full."""
    with open(path, "wb", buffering=0) as f:
        try:
            while True:
                f.write(b"x" * 4096)
        except OSError:
            pass


@contextlib.contextmanager
def read_only(folder):
    """A folder that nobody can write to, not even root."""
    if os.geteuid() != 0:
        os.chmod(folder, 0o555)
        try:
            yield
        finally:
            os.chmod(folder, 0o755)
        return
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", folder], capture_output=True, text=True)
    if made.returncode != 0:
        raise Skip(f"cannot mount a read-only file system: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def main(tests):
    """Runs the tests named after WATTLAW TOY on the command line, or all."""
    wattlaw, toy, *names = sys.argv[1:]
    failed = skipped = 0
    for test in tests:
        if names and test.__name__ not in names:
            continue
        bench, begin = Bench(wattlaw, toy), time.monotonic()
        try:
            test(bench)
            bench.all_gone()
            bench.no_rendezvous_is_left()
            print(f"ok      {test.__name__} ({time.monotonic() - begin:.1f} s)")
        except Skip as why:
            skipped += 1
            print(f"SKIP    {test.__name__}: {why}")
        except Exception:
            failed += 1
            print(f"FAILED  {test.__name__}")
            traceback.print_exc(file=sys.stdout)
        finally:
            bench.close()
        sys.stdout.flush()
    sys.exit(1 if failed else SKIP if skipped == len(tests) else 0)


__all__ = ["Bench", "PATIENCE_S", "Skip", "check", "contains", "fill", "has_signal", "json", "main", "os", "read_only", "signal", "small_disk",
           "subprocess", "sys", "time"]
