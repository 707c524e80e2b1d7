"""The PyTorch example under `wattlaw sweep`, with marks and unchanged: both ways must tell the same epochs."""

import os
import re
import sqlite3
import subprocess
import sys
import tempfile

WATTLAW, SOURCE = os.path.abspath(sys.argv[1]), sys.argv[2]
PYTHON = "/usr/bin/python3"  # as in the experiment files
SKIP = 77

SMALL = ["campaign.repeats=1", "sweep.workers=2", "sweep.epochs=2", "data.samples=256", "launch.oversubscribe=yes"]


def have_torch():
    try:
        return subprocess.run([PYTHON, "-c", "import torch.distributed"], capture_output=True).returncode == 0
    except OSError:
        return False


def sweep(experiment, store):
    """The observations of one small run, and the names of all its marks and metrics."""
    sets = [arg for s in SMALL + ["campaign.store=" + store] for arg in ("--set", s)]
    r = subprocess.run([WATTLAW, "sweep", os.path.join("experiments", experiment), *sets], cwd=SOURCE,
                       capture_output=True, text=True)
    log = os.path.join(store, "runs", "1", "log")
    if r.returncode != 0 or "broken" in r.stderr:
        sys.exit(f"{experiment}: exit {r.returncode}\n{r.stdout}{r.stderr}"
                 + (open(log).read() if os.path.exists(log) else ""))
    db = sqlite3.connect(os.path.join(store, "wattlaw.db"))
    rows = db.execute("SELECT epoch, samples, updates, round(metric_value, 4), time_s FROM observations "
                      "ORDER BY epoch").fetchall()
    return rows, open(log).read()


def main():
    if not have_torch():
        print(f"SKIP: {PYTHON} has no torch; install python3-torch")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="wattlaw-pytorch-") as folder:
        marked, _ = sweep("pytorch_ddp.ini", os.path.join(folder, "marks"))
        read, log = sweep("pytorch_ddp_regex.ini", os.path.join(folder, "regex"))
    printed = re.findall(r"^Epoch (\d+)/2 loss \S+ accuracy (\S+) \((\d+) samples, (\d+) updates\)", log, re.M)
    expected = [(int(n), int(samples), int(updates), float(top1)) for n, top1, samples, updates in printed]
    print("marks ", marked, "\nregex ", read, "\nprinted", expected)
    assert len(expected) == 2 and expected[1][1:3] == (256, 4), expected
    assert [row[:4] for row in marked] == expected, "marks by wattlaw.py"
    assert [row[:4] for row in read] == expected, "marks by regular expressions"
    assert all(row[4] > 0 for row in marked + read)
    return 0


sys.exit(main())
