"""A shell on a terminal, which is typed at."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

PATIENCE_S = 60
PROMPT = "READY>"


class Shell:
    """start() types `setup`, whose last act is to set the prompt; each line is typed when the shell asks for it."""

    def __init__(self, argv, folder, setup, **env):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 200, 0, 0))
        self.master, self.said = master, ""
        self.process = subprocess.Popen(argv, cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        env={**os.environ, "HOME": folder, "TERM": "dumb", **env},
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # of this child alone
        os.close(slave)
        self.type(setup + "\n")

    def type(self, text, mark=""):
        """Types a text and waits until the mark was said (by the command), and then a prompt; what was said until then."""
        seen = len(self.said)
        os.write(self.master, text.encode())
        self.wait(lambda: mark in self.said[seen:] and PROMPT in self.said[self.said.index(mark, seen):], text)
        return self.said[seen:]

    def wait(self, done, what):
        until = time.monotonic() + PATIENCE_S
        while not done():
            if time.monotonic() > until:
                raise TimeoutError(f"no prompt after {what!r}: {self.said[-2000:]!r}")
            if select.select([self.master], [], [], 0.2)[0]:
                self.said += os.read(self.master, 65536).decode(errors="replace")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)
