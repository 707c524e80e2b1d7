"""A terminal of a given size for tests: what a program prints on it."""
import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

SGR = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(argv, width, cwd=None, **env):
    """(exit status, text) on a terminal of that many columns; its colours are in the text."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "TERM")}
    with subprocess.Popen(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
                          env={**base, "TERM": "xterm", **env}) as p:
        os.close(terminal)
        out = b""
        with contextlib.suppress(OSError):  # EIO: nobody holds the other end any more
            while piece := os.read(controller, 65536):
                out += piece
    os.close(controller)
    return p.returncode, out.decode().replace("\r\n", "\n")


def columns(line):
    """As a terminal counts them."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) != 0 for c in line)


def too_wide(text, width):
    """Lines over the width that could have been folded: with a second word after the indentation."""
    return [line for line in SGR.sub("", text).split("\n") if columns(line) > width and len(line.rstrip(" \\").split()) > 1]
