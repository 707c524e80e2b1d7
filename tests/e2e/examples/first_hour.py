#!/usr/bin/env python3
"""A newcomer's first hour: first_hour.py SOURCE WATTLAW. The commands of the README's first screen after ./quickstart, as written
there, lead from a PyTorch script that knows nothing of wattlaw to a setting. torch comes from PyPI, into a fresh virtual environment.
Exit status 0: passed, 1: failed, 77: torch could not be installed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, WATTLAW = map(os.path.abspath, sys.argv[1:])
SCREEN = 40  # lines


def commands():
    """Those of the README's first screen that follow ./quickstart, their continued lines joined."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
        screen = "".join(f.readlines()[:SCREEN]).replace("\\\n", " ")
    found = [line.split("    #")[0].strip() for line in re.findall(r"^    (build/src/cmd/wattlaw .*)$", screen, re.M)]
    assert [c.split()[1] for c in found] == ["sweep", "recommend"], found
    return found


def environment(folder):
    """PATH with a python3 that has torch."""
    subprocess.run([sys.executable, "-m", "venv", folder + "/venv"], check=True)
    installed = subprocess.run([folder + "/venv/bin/pip", "install", "--quiet", "torch==2.13.0", "numpy"], capture_output=True, text=True, check=False)
    if installed.returncode:
        print("SKIP: torch cannot be installed:", installed.stderr.strip().splitlines()[-1])
        sys.exit(77)
    return dict(os.environ, PATH=folder + "/venv/bin:" + os.environ["PATH"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        env = environment(folder)
        shutil.copy(os.path.join(SOURCE, "tests/e2e/examples/first_hour_train.py"), folder + "/train.py")
        for command in commands():
            command = command.replace("build/src/cmd/wattlaw", WATTLAW, 1)
            print("$", command, flush=True)
            p = subprocess.run(command, shell=True, cwd=folder, env=env, text=True, capture_output=True, check=False)
            print(p.stdout, p.stderr[-2000:], flush=True)
            assert p.returncode == 0, p.returncode
    answer = p.stdout.splitlines()[0]
    assert re.match(r"Use [12] workers?, local batch (16|32): ", answer), answer
    assert re.search(r"^  against  .* (less|more) energy \(", p.stdout, re.M) and "probability" in p.stdout, p.stdout


main()
