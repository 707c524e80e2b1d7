"""Runs the program wattlaw that is inside the wheel: the command `wattlaw`, and `python3 -m wattlaw`."""

import os
import sys


def path():
    """Where the program is."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "wattlaw")


def main():
    program = path()
    try:
        os.execv(program, ["wattlaw", *sys.argv[1:]])
    except OSError as e:
        sys.exit("wattlaw: %s: %s: this package was installed without the program" % (program, e.strerror))
