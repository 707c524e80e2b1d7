#!/usr/bin/env python3
"""What wattlaw prints fits terminals of 60 to 200 columns, says first what was asked, and has colours only where they belong:
widths.py WATTLAW [WATTLAW_TRAIN]
"""
import contextlib
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from screen import SGR, on_terminal, too_wide  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURE = os.path.join(HERE, "..", "..", "fixtures", "store", "version-1.sql")
CASES = os.path.join(HERE, "..")
WIDTHS = (60, 80, 120, 200)
wattlaw, *others = (os.path.abspath(p) for p in sys.argv[1:])
wrong = []

STRONG = os.path.join(CASES, "fit", "cases", "strong.csv")
GROUPS = "groups.csv"
CLOCKS = os.path.join(CASES, "analysis", "cases", "clocks.csv")
# (arguments, words that no width loses, lines at 80 columns)
SCREENS = [
    (["fit", STRONG], ["simulated", "law", "power law?", "N^-0.876"], 24),
    (["fit", STRONG, "--response", "energy_j"], ["simulated", "E = "], 24),
    (["compare", CLOCKS, "--factor", "clock_mhz"], ["verdict", "simulated"], 30),
    (["fit", GROUPS, "--by", "model"], ["power law?", "UNDECIDED", "--all adds"], 24),
    (["show", "lab.db"], ["done", "failed"], 24),
    (["show", "swept.db"], ["power_cap_w", "workers", "epoch", "energy"], 24),
    (["show", "many.db"], [" 70 ", "--all adds the first", "of 63 runs", "failed"], 24),
    (["show", "many.db", "--epochs"], ["epochs)"], 24),
    (["show", "lab.db", "--run", "1"], ["run 1, done", "settings", "energy"], 24),
    (["status", "lab.db"], ["lab1", "failed"], 24),
    (["doctor", "--for", "0.01s"], ["energy", "sensors", "caps", "period unknown"], 24),
    (["energy", STRONG], ["simulated"], None),
    (["predict", STRONG, "--at", "workers=64"], ["simulated"], 24),
    (["sweep", "--axis", "batch=" + ",".join(map(str, range(1, 31))), "--dry-run", "--", "true", "{batch}"], ["--all adds the last"], 24),
]


def check(right, what, seen=""):
    if not right:
        wrong.append(f"{what}\n{seen}")


def make_store(path):
    with open(FIXTURE, encoding="utf-8") as f, contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(f.read())
        db.execute("DROP TRIGGER IF EXISTS x")
        db.commit()


def make_many(path):
    """60 more runs of the fixture's trial of run 1; the first one failed."""
    make_store(path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        columns = [row[1] for row in db.execute("PRAGMA table_info(run)") if row[1] not in ("id", "repeat")]
        for i in range(60):
            db.execute(f"INSERT INTO run(id, repeat, {','.join(columns)}) SELECT {11 + i}, {11 + i}, {','.join(columns)} FROM run WHERE id = 1")
            db.execute(f"INSERT INTO epoch SELECT {11 + i}, {', '.join(r[1] for r in db.execute('PRAGMA table_info(epoch)') if r[1] != 'run')} FROM epoch WHERE run = 1")
        db.execute("UPDATE run SET status = 'failed', error = 'exit status 1' WHERE id = 11")
        db.commit()


def make_swept(path):
    """Trials that differ in workers and cap, whose runs have everything that a run may have."""
    make_store(path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        db.execute("UPDATE trial SET power_cap_w = 150 + 50 * id")
        db.execute("UPDATE run SET flag = 'a power cap was changed by others while it ran' WHERE id % 2")
        db.commit()


def make_groups(path):
    """Laws of twelve models."""
    with open(path, "w", encoding="utf-8") as f:
        f.write("model,workers,time_s\n")
        for i in range(12):
            f.writelines(f"transformer-{i},{n},{(10 + i) / n ** 0.9}\n" for n in (1, 2, 4))


def screens_fit(folder):
    for args, kept, lines in SCREENS:
        for width in WIDTHS:
            status, text = on_terminal([wattlaw, *args], width, folder)
            plain, what = SGR.sub("", text), f"{' '.join(args)} at {width} columns"
            check(status == 0, f"{what}: status {status}", plain)
            check(not too_wide(text, width), f"{what}: {too_wide(text, width)}", plain)
            check(not re.search(r"\bnan\b", plain), f"{what}: a number that is missing is printed as nan", plain)
            for word in kept:
                check(word in plain, f"{what}: {word!r} is missing", plain)
            if width == 80 and lines:
                check(plain.count("\n") <= lines, f"{what}: {plain.count(chr(10))} lines, at most {lines}", plain)


def help_fits(_):
    listed = subprocess.run([wattlaw, "help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z]+)  ", listed, re.M)
    check(len(commands) > 15, "help lists the commands", listed)
    for argv in [[wattlaw, c, "--help"] for c in commands] + [[train, "bert", "--help"] for train in others] + [[wattlaw, "help"]]:
        for width in WIDTHS:
            _, text = on_terminal(argv, width)
            check(not too_wide(text, width), f"{argv[1:]} at {width} columns: {too_wide(text, width)}")
        piped = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        check(not too_wide(piped, 80), f"{argv[1:]} in a pipe: {too_wide(piped, 80)}")


def pipes_get_everything(folder):
    """Whole lines, all columns, all details: what a script reads does not depend on a terminal."""
    whole = subprocess.run([wattlaw, "fit", STRONG], capture_output=True, text=True, check=True).stdout
    for word in "energy ratio", "95 % of new configurations", "AICc", "scatter", "standard error":
        check(word in whole, f"fit in a pipe: {word}", whole)
    check("left out at" not in whole and "--all" not in whole, "nothing is left out", whole)
    _, asked = on_terminal([wattlaw, "fit", STRONG, "--all"], 80, folder)
    unfolded = re.sub(r"\s+", " ", SGR.sub("", asked))
    for word in "energy ratio", "95 % of new configurations", "AICc", "scatter", "standard error":
        check(word in unfolded, f"fit --all at 80 columns: {word}", asked)
    check("left out at" not in asked and not too_wide(asked, 80), f"fit --all: {too_wide(asked, 80)}", asked)
    _, shortened = on_terminal([wattlaw, "fit", STRONG], 80, folder)
    check("(--all adds " in shortened and "AICc" not in shortened, "one screen says what --all adds", shortened)
    narrow = subprocess.run([wattlaw, "fit", STRONG], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "60"}).stdout
    check(not too_wide(narrow, 60) and "left out at" in narrow, "COLUMNS counts where there is no terminal", narrow)


def everything_is_asked_for(folder):
    """--all prints every run, and a pipe does without it."""
    _, asked = on_terminal([wattlaw, "show", "many.db", "--all"], 80, folder)
    piped = subprocess.run([wattlaw, "show", "many.db"], cwd=folder, capture_output=True, text=True, check=True).stdout
    for text in SGR.sub("", asked), piped:
        runs = set(re.findall(r"^ *(\d+) ", text, re.M))
        check(len(runs) == 63 and "--all" not in text, f"{len(runs)} runs of 63", text)


def colours_have_their_place(folder):
    args = [wattlaw, "show", "lab.db"]
    _, coloured = on_terminal(args, 120, folder)
    check("\x1b[31mfailed\x1b[0m" in coloured, "a failed run is red on a terminal", coloured)
    for what, more, env in ("NO_COLOR", [], {"NO_COLOR": "1"}), ("TERM=dumb", [], {"TERM": "dumb"}), ("never", ["--color", "never"], {}):
        _, text = on_terminal([*args, *more], 120, folder, **env)
        check("\x1b" not in text, f"{what}: no colours", text)
        check(text == SGR.sub("", coloured), f"{what}: the same words", text)
    _, text = on_terminal(args, 120, folder, NO_COLOR="")
    check("\x1b[31m" in text, "an empty NO_COLOR does not count", text)
    piped = subprocess.run(args, cwd=folder, capture_output=True, text=True, check=True).stdout
    always = subprocess.run([*args, "--color=always"], cwd=folder, capture_output=True, text=True, check=True).stdout
    check("\x1b" not in piped and "\x1b[31mfailed" in always and SGR.sub("", always) == piped, "in a pipe only on request", always)
    r = subprocess.run([*args, "--color", "blue"], cwd=folder, capture_output=True, text=True, check=False)
    check(r.returncode == 2 and "auto|always|never" in r.stderr, "choices of --color", r.stderr)


def runs_are_named_by_their_script(folder):
    with open(os.path.join(folder, "train_it.py"), "w", encoding="utf-8") as f:
        f.write("print('trained')\n")
    for command in ["python3", "train_it.py"], ["python3", "-m", "train_it"], ["env", "X=1", "python3", "-u", "train_it.py"]:
        subprocess.run([wattlaw, "measure", "--store", "named.db", "--sensors", "null", "--", *command], cwd=folder, capture_output=True, check=True)
    shown = subprocess.run([wattlaw, "show", "named.db"], cwd=folder, capture_output=True, text=True, check=True).stdout
    check(shown.count("train_it.py") == 2 and "python" not in shown, "names of runs", shown)


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        make_store(os.path.join(folder, "lab.db"))
        make_many(os.path.join(folder, "many.db"))
        make_swept(os.path.join(folder, "swept.db"))
        make_groups(os.path.join(folder, GROUPS))
        for test in screens_fit, help_fits, pipes_get_everything, everything_is_asked_for, colours_have_their_place, runs_are_named_by_their_script:
            test(folder)
    for text in wrong:
        print(text)
    return 1 if wrong else 0


sys.exit(main())
