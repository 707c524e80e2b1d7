#!/usr/bin/env python3
"""Commands that read stores, on random ones: mixed.py WATTLAW RANDOM_STORE COUNT [FIRST_SEED]

Runs of one store have whatever settings, epochs, energies and metrics chance gave them; then some cells of the file are
emptied. Whatever there is, no command may crash or blame itself, and what the report shows must be true: legend entries
and ids are all different, a legend says of a run what is so, and each figure has its own files, of which none is missing.
A failure prints the seed: mixed.py WATTLAW RANDOM_STORE 1 SEED repeats it.
"""
import csv
import html.parser
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

COMMANDS = [
    ["status"], ["status", "--json"], ["show"], ["show", "--json"], ["show", "--epochs"], ["show", "--run", "1"],
    ["show", "--run", "2", "--json"], ["fit"], ["fit", "--json"], ["energy"], ["energy", "--json"],
    ["energy", "--target", "val_loss=1"], ["compare", "--factor", "power_cap_w"],
    ["compare", "--factor", "local_batch", "--json"], ["predict", "--at", "workers=16"], ["predict", "--at", "workers=16", "--json"],
]
BROKEN = ("AddressSanitizer", "LeakSanitizer", "runtime error", "internal error", "assert")


class Seed:
    def __init__(self, seed):
        self.seed, self.wrong = seed, []

    def check(self, holds, what):
        if not holds:
            self.wrong.append(f"seed {self.seed}: {what}")


def run(of, program, arguments, folder):
    """Whether it succeeded; the only other status allowed is a refusal (1)."""
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    said = done.stdout + done.stderr
    of.check(done.returncode in (0, 1), f"{arguments}: exit status {done.returncode}\n{done.stderr[-3000:]}")
    of.check(not any(word in done.stderr for word in BROKEN), f"{arguments}:\n{done.stderr[-3000:]}")
    of.check(done.returncode == 0 or done.stderr.strip() or done.stdout.strip(), f"{arguments}: failed without a message")
    return done.stdout if done.returncode == 0 else None


def empty_cells(path, seed):
    """Sets some numbers and texts that may be missing to NULL."""
    chance = random.Random(seed)
    with sqlite3.connect(path) as db:
        tables = ["trial", "run", "epoch", "energy", "metric", "metric_def", "device", "channel", "variation"]
        for table in tables:
            columns = [c[1] for c in db.execute(f"PRAGMA table_info({table})") if not c[3] and not c[5]]
            keys = [c[1] for c in db.execute(f"PRAGMA table_info({table})") if c[5]]
            rows = db.execute(f"SELECT {','.join(keys)} FROM {table}").fetchall() if columns and keys else []
            for _ in range(len(rows) // 4):
                column, row = chance.choice(columns), chance.choice(rows)
                try:
                    where = " AND ".join(f"{key} IS ?" for key in keys)
                    db.execute(f'UPDATE {table} SET "{column}" = NULL WHERE {where}', row)
                except sqlite3.IntegrityError:  # this one must not be NULL
                    pass


class Page(html.parser.HTMLParser):
    """The data of the figures, and every id of the page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.canvases, self.data, self.inside = [], [], "", False
        self.scripts = self.handlers = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if "data-figure" in attrs:
            self.canvases.append(attrs["data-figure"])
        self.scripts += tag == "script"
        self.handlers += tag == "img" or any(name.startswith("on") for name in attrs)
        self.inside = tag == "script" and attrs.get("type") == "application/json"

    def handle_data(self, data):
        if self.inside:
            self.data += data

    def handle_endtag(self, tag):
        self.inside = False


def number(text):
    return None if text is None else float(text)


def settings_of_label(label):
    """The settings named in a legend entry: {column: value or None}."""
    if "\u2026" in label:  # shortened in the middle
        return {}
    said = {}
    for column, words in [("local_batch", "local batch"), ("global_batch", "global batch")]:
        for value in re.findall(rf"(?:^|, ){words} ([0-9.e+]+)", label):
            said[column] = float(value)
        if re.search(rf"(?:^|, )no {words}", label):
            said[column] = None
    for value in re.findall(r"(?:^|, )cap ([0-9.e+]+) W", label):
        said["power_cap_w"] = float(value)
    if re.search(r"(?:^|, )no power cap", label):
        said["power_cap_w"] = None
    return said


def check_legends(of, figure, runs):
    labels = [s["label"] for s in figure["series"] if s["label"] is not None]
    of.check(len(labels) == len(set(labels)), f"{figure['id']}: two legend entries are alike: {labels}")
    for s in figure["series"]:
        label = figure["series"][s["group"]]["label"] or ""
        for note in s.get("notes") or []:
            found = re.match(r"run (\d+)", note or "")
            if not found or not figure["id"].startswith("epoch-time"):
                continue
            for column, value in settings_of_label(label).items():
                own = number(runs[int(found[1])].get(column))
                of.check(own == value, f"{figure['id']}: run {found[1]} has {column} {own} and is drawn as {label}")


def check_files(of, figures, said, folder):
    paths = said["paths"]
    of.check(len(paths) == len(set(paths)), f"a file is claimed twice: {sorted(paths)}")
    on_disk = [os.path.join(top, name) for top, _, names in os.walk(os.path.join(folder, "out")) for name in names]
    of.check(len(on_disk) == len(paths), f"{len(paths)} files are claimed and {len(on_disk)} are there")
    for figure in figures:
        with open(os.path.join(folder, "out", "figures", figure["id"] + ".csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        of.check(len(rows) == sum(len(s["x"]) for s in figure["series"]), f"{figure['id']}.csv is of another figure")
        labels = [s["label"] for s in figure["series"] if s["label"] is not None and s["x"]]
        of.check([label for label in labels if label not in {row["series"] for row in rows}] == [],
                 f"{figure['id']}.csv lacks a series of {labels}")


def check_report(of, program, folder):
    text = run(of, program, ["report", "s.db", "--out", "out", "--formats", "html,csv,tex,md", "--json"], folder)
    if text is None:
        return False
    with open(os.path.join(folder, "out", "report.html")) as file:
        page = Page(file.read())
    figures = json.loads(page.data)
    ids = [figure["id"] for figure in figures]
    of.check(len(ids) == len(set(ids)), f"two figures have one id: {sorted(ids)}")
    of.check(page.canvases == ids, f"canvases {page.canvases} of figures {ids}")
    of.check(len(page.ids) == len(set(page.ids)), f"two elements have one id: {sorted(page.ids)}")
    of.check(page.scripts == 3 and page.handlers == 0, "a name became an element of the page")
    said = json.loads(text)
    shown = json.loads(run(of, program, ["show", "s.db", "--json"], folder))["runs"]
    runs = {r["run"]: r["settings"] for r in shown}
    for figure in figures:
        check_legends(of, figure, runs)
    check_files(of, figures, said, folder)
    rows = next((t["rows"] for t in said["tables"] if t["id"] == "configurations"), [])
    keys = [(row["group"], row["workers"]) for row in rows]
    of.check(len(keys) == len(set(keys)), f"two configurations have one name: {keys}")
    return True


def check_seed(program, make, seed):
    of = Seed(seed)
    reported = False
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # each file is synced: a disk takes ten times as long
    folder = tempfile.mkdtemp(prefix="wattlaw-mixed-", dir=memory)
    try:
        path = os.path.join(folder, "s.db")
        made = subprocess.run([make, str(seed), path], capture_output=True, text=True)
        of.check(made.returncode == 0, f"{make}: {made.stderr}")
        if seed % 3 == 0:
            empty_cells(path, seed)
        reported = made.returncode == 0 and check_report(of, program, folder)
        for command in COMMANDS if seed % 4 < 2 else []:
            run(of, program, [command[0], "s.db", *command[1:]], folder)
    except Exception as problem:  # pylint: disable=broad-except
        of.check(False, f"{type(problem).__name__}: {problem}")
    finally:
        shutil.rmtree(folder)
    return reported, of.wrong


def main():
    program, make, count = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
    if os.environ.get("TEST_SANITIZER", "none") != "none":
        count //= 3  # an instrumented program takes three times as long
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    results = [check_seed(program, make, seed) for seed in range(first, first + count)]
    wrong = [text for _, list_ in results for text in list_]
    reports = sum(reported for reported, _ in results)
    print(*wrong[:20], sep="\n")
    print(f"{count} stores, {reports} reports, {len(wrong)} findings")
    sys.exit(1 if wrong or (count >= 20 and reports < count / 3) else 0)


main()
