#!/usr/bin/env python3
"""A folder where a file is expected, a store where a table is, and so on: wrong_file.py WATTLAW SOURCE

Each command says in one line which argument is wrong and what it expects instead."""
import os
import shutil
import subprocess
import sys
import tempfile

WATTLAW, SOURCE = map(os.path.abspath, sys.argv[1:3])
# argument: (commands that cannot use it, what their message says). {} is the argument.
FOLDER = "expected a file, but this is a folder"
CASES = [
    ("empty", ["sweep {}", "tune {}", "plan {}", "energy obs.csv --carbon-csv {} --carbon-source x", "report res --plan {}"],
     [FOLDER]),
    ("empty", ["fit {}", "report {}", "energy {}", "recommend {}", "predict {} --at workers=4", "compare {} --factor workers", "show {}", "status {}",
               "export observations {}", "rebuild {}"], ["no store in this folder (wattlaw.db)"]),
    ("empty", ["import {}", "import dcgm {}"], ["empty: no file can be imported"]),
    ("empty", ["audit {}"], ["expected a CSV table of published exponents, not a folder", "wattlaw compare empty --factor COLUMN"]),
    ("res", ["audit {}"], ["expected a CSV table of published exponents, not a folder", "wattlaw compare res --factor COLUMN"]),
    ("res/wattlaw.db", ["audit {}"], ["expected a CSV table of published exponents, not a store"]),
    ("res", ["sweep {}", "tune {}", "plan {}"], [FOLDER]),
    ("obs.csv", ["show {}", "status {}", "export samples {}"], ["not a wattlaw store"]),
    ("nowhere", ["fit {}", "audit {}", "show {}", "sweep {}", "import dcgm {}", "plan {}", "report {}"], ["No such file or directory"]),
]


def run(folder, *args):
    return subprocess.run([WATTLAW, *args], cwd=folder, capture_output=True, text=True, timeout=60, check=False,
                          env=dict(os.environ, WATTLAW_STATE_DIR=folder + "/state"))


def main():
    failures = count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/empty")
        shutil.copy(os.path.join(SOURCE, "tests/e2e/analysis/cases/one_law.csv"), folder + "/obs.csv")
        made = run(folder, "measure", "--quiet", "--sensors", "null", "--store", "res/wattlaw.db", "--", "true")
        assert made.returncode == 0, made.stderr
        before = sorted(os.walk(folder))
        for argument, commands, parts in CASES:
            for command in commands:
                r = run(folder, *command.format(argument).split())
                lines = r.stderr.splitlines()
                good = r.returncode in (1, 2) and len(lines) == 1 and lines[0].startswith("error: ") and not r.stdout
                if not good or argument not in r.stderr or not all(part in r.stderr for part in parts):
                    print(f"wattlaw {command.format(argument)}: status {r.returncode}, expected {parts}\n{r.stdout}{r.stderr}")
                    failures += 1
                count += 1
        if sorted(os.walk(folder)) != before:
            print("files were left:", sorted(os.walk(folder)))
            failures += 1
    print(f"{count} commands, {failures} failures")
    sys.exit(failures > 0)


main()
