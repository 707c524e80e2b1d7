"""Where the program wattlaw is, and calls of it. It is inside of the wheel, which has the command `wattlaw` and
`python3 -m wattlaw` from here; other installations find it by PATH."""

import json
import os
import shutil
import subprocess
import sys


class ProgramError(RuntimeError):
    """The program wattlaw is missing, or said what it cannot do: that text, and its exit status (None: missing)."""

    def __init__(self, text, status=None):
        super().__init__(text)
        self.status = status


def inside():
    """Where the program is in a wheel, or would be."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "wattlaw")


def path():
    """The program's path: that of the environment variable WATTLAW_PROGRAM, the wheel's, or the one in PATH."""
    named = os.environ.get("WATTLAW_PROGRAM")
    found = named or (inside() if os.access(inside(), os.X_OK) else shutil.which("wattlaw"))
    if not found:
        raise ProgramError("the program wattlaw is neither in this package nor in PATH; WATTLAW_PROGRAM may name it")
    return found


def _run(arguments):
    command = [path(), *map(str, arguments)]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as e:
        raise ProgramError("%s: %s" % (command[0], e.strerror)) from e


def _error(arguments, done):
    text = done.stderr.decode("utf-8", "replace").strip() or "exit status %d" % done.returncode
    return ProgramError("wattlaw %s: %s" % (arguments[0], text), done.returncode)


def output(*arguments):
    """What the program prints to stdout, as bytes. Raises ProgramError with what it prints to stderr."""
    done = _run(arguments)
    if done.returncode:
        raise _error(arguments, done)
    return done.stdout


def answer(command, *arguments):
    """What `wattlaw COMMAND --json ARGUMENTS` prints, parsed. A command that answers "no" (no law can be fitted, a
    condition of `compare` is not met) prints its answer, too, and its exit status is 1."""
    arguments = (command, "--json", *arguments)
    done = _run(arguments)
    if done.returncode and not (done.returncode == 1 and done.stdout.strip()):
        raise _error(arguments, done)
    return json.loads(done.stdout.decode("utf-8"))


def main():
    program = inside()
    try:
        os.execv(program, ["wattlaw", *sys.argv[1:]])
    except OSError as e:
        sys.exit("wattlaw: %s: %s: this package was installed without the program" % (program, e.strerror))
