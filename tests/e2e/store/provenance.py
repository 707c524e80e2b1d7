#!/usr/bin/env python3
"""No joule, watt, kilowatt-hour, gram or coin of a model or of a simulation is printed without the word: provenance.py WATTLAW

Every command that reads a store, at three widths of a terminal, on a store of estimated and on one of simulated energy; and
what measure and sweep print themselves. Estimates hold the error of their model, in sums over epochs and in carbon too.
"""
import contextlib
import fcntl
import json
import os
import pty
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURE = os.path.join(HERE, "..", "..", "fixtures", "store", "version-1.sql")
FOOTPRINT = ["--carbon", "380", "--carbon-source", "DE", "--carbon-range", "300,500", "--price", "0.25"]
MODEL_ERROR = 0.6  # WL_MODEL_ERROR

wattlaw = os.path.abspath(sys.argv[1])
wrong = []

# A number and a unit of energy, power, carbon or money that is not a price or an intensity (EUR/kWh).
QUANTITY = re.compile(r"[0-9][0-9.e+-]* (?:[kMGmµn]?(?:[JW]|Wh|g(?: CO2e)?|EUR))(?![\w/*])")
# Columns of such quantities.
COLUMN = re.compile(r"energy J|above idle J|mean W|power W|energy_j|\bkWh\b|kWh per h|kg CO2e|cost, EUR")
# Names of columns that are not on the terminal.
LEFT_OUT = re.compile(r"\(left out at \d+ columns: [^)]*\)\n")
# Where a fact goes on below its label.
FOLD = re.compile(r"\n {13}(?=\S)")
# What is asked for is not measured.
SETTING = re.compile(r"power cap [0-9.]+ W|--price|--carbon")


def check(right, what, seen=""):
    if not right:
        wrong.append(f"{what}\n{seen}")


def run_in_terminal(folder, width, args):
    """What wattlaw prints on a terminal that is so wide."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    with subprocess.Popen([wattlaw, *args], cwd=folder, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
                          env={**os.environ, "NO_COLOR": "1"}) as p:
        os.close(terminal)
        out = b""
        with contextlib.suppress(OSError):  # EIO: nobody holds the other end any more
            while piece := os.read(controller, 65536):
                out += piece
    os.close(controller)
    return p.returncode, out.decode().replace("\r\n", "\n")


def has_number_in_column(line, head):
    """Is a number under a column of quantities?"""
    for m in COLUMN.finditer(head):
        cell = line[max(m.start() - 3, 0):m.end() + 1]
        if re.search(r"[0-9]", cell):
            return True
    return False


def quantities(text):
    """Lines of the text that hold a quantity, as (line, column after the quantity); of tables (line, None)."""
    head = None
    for line in FOLD.sub(" ", LEFT_OUT.sub("", text)).split("\n"):
        if re.match(r"  [a-z]", line):  # a fact below the table
            head = None
        if line.startswith("  busy machine"):  # CPUs and tasks, which were counted
            continue
        if COLUMN.search(line) and not QUANTITY.search(line) and not line.startswith("  note"):
            head = line
            continue
        if not line.strip():
            head = None
        if head and has_number_in_column(line, head):
            yield line, None
        elif not SETTING.search(line):
            for m in QUANTITY.finditer(line):
                yield line, m.end()


def is_labelled(line, end, word):
    """The word follows the number, within its parentheses where it has any; a row of a table says it once."""
    return word in (line if end is None or line.startswith("  info") else line[end:end + 60])


def check_text(text, word, what, least):
    found = 0
    for line, end in quantities(text):
        found += 1
        check(is_labelled(line, end, word), f"{what}: not {word}: {line!r}", text)
    check(found >= least, f"{what}: {found} quantities, {least} expected", text)


def make_store(path, column):
    """The fixture with four worker counts, whose energy is `column`; of one run it is missing."""
    with open(FIXTURE, encoding="utf-8") as f, contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(f.read())
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        for i, workers in enumerate((4, 8, 16, 32)):
            copy_rows(db, "trial", "id = 2", id=10 + i, key=f"copy workers={workers}", workers=workers)
            copy_rows(db, "run", "id = 2", id=10 + i, trial=10 + i)
            for table in "actual", "epoch", "energy", "metric":
                copy_rows(db, table, "run = 2", run=10 + i)
            db.execute("UPDATE epoch SET time_s = ? WHERE run = ?", (1.1 / workers ** 0.9, 10 + i))
            db.execute("UPDATE energy SET energy_j = energy_j * ? WHERE run = ?", (1 + i / 7, 10 + i))
        db.execute("UPDATE energy SET energy_j = NULL WHERE run = 13")
        db.execute("UPDATE trial SET power_cap_w = CASE WHEN workers < 4 THEN 150 ELSE 250 END")
        for table in "energy", "channel":
            db.execute(f"UPDATE {table} SET {column} = 1")
        db.commit()


def copy_rows(db, table, where, **changed):
    db.row_factory = sqlite3.Row
    rows = [dict(r) for r in db.execute(f"SELECT * FROM {table} WHERE {where}").fetchall()]
    db.row_factory = None
    for row in rows:
        if "id" in row:
            row["id"] = None
        row.update(changed)
        db.execute(f"INSERT INTO {table}({','.join(row)}) VALUES ({','.join('?' * len(row))})", tuple(row.values()))


# Arguments, and how many quantities are in the text at least where the terminal is wide.
COMMANDS = [
    (["status", "STORE"], 1),
    (["show", "STORE"], 5),
    (["show", "STORE", "--run", "1"], 1),
    (["show", "STORE", "--run", "1", "--all"], 4),
    (["show", "STORE", "--run", "13", "--all"], 1),
    (["show", "STORE", "--epochs"], 10),
    (["fit", "STORE"], 0),
    (["fit", "STORE", "--all"], 4),
    (["fit", "STORE", "--response", "energy_j"], 2),
    (["fit", "STORE", "--response", "energy_j", "--all"], 4),
    (["predict", "STORE", "--at", "workers=64", "--response", "energy_j", "--force"], 1),
    (["compare", "STORE", "--factor", "power_cap_w", "--response", "energy_j"], 0),
    (["energy", "STORE", "--all", *FOOTPRINT], 6),
    (["energy", "STORE", "--by", "workers,run", *FOOTPRINT], 4),
    (["energy", "STORE", "--target", "train_loss=1.6", *FOOTPRINT], 8),
]


def stores_of_one_provenance_are_labelled(folder):
    for word in "estimated", "simulated":
        store = word + ".db"
        make_store(os.path.join(folder, store), word)
        for width in 60, 80, 200:
            for args, least in COMMANDS:
                args = [store if a == "STORE" else a for a in args]
                status, text = run_in_terminal(folder, width, args)
                check(status in (0, 1), f"{args}: status {status}", text)
                check_text(text, word, f"{' '.join(args)} at {width} columns", least if width == 200 else 0)


# Numbers that derive from an energy, as keys of JSON; prices are given.
DERIVED = re.compile(r"(_j|_w|kwh|energy|carbon_g|cost|edp)$")


def unlabelled(value, path, labelled=False):
    """Keys of such numbers whose object, and none around it, says whether they are estimated or simulated."""
    if isinstance(value, list):
        return {k for v in value for k in unlabelled(v, path + "[]", labelled)}
    if not isinstance(value, dict):
        return set()
    labelled = labelled or "estimated" in value
    own = {f"{path}.{k}" for k, v in value.items() if isinstance(v, float) and DERIVED.search(k) and not k.endswith("_per_kwh") and not labelled}
    return own | {u for k, v in value.items() for u in unlabelled(v, f"{path}.{k}", labelled)}


def json_is_labelled(folder):
    make_store(os.path.join(folder, "json.db"), "simulated")
    more = [["energy", "STORE", "--at", "workers=64", *FOOTPRINT], ["compare", "STORE", "STORE"], ["recommend", "STORE"]]
    for args in [a for a, _ in COMMANDS if "--all" not in a] + more:
        args = ["json.db" if a == "STORE" else a for a in args]
        done = subprocess.run([wattlaw, *args, "--json"], cwd=folder, capture_output=True, text=True, check=False)
        found = unlabelled(json.loads(done.stdout or "{}"), "")
        check(done.stdout and not found, f"{args} --json: neither estimated nor simulated beside {sorted(found)}", done.stderr)


def each_row_of_a_mixed_store_has_its_label(folder):
    """Of a store with both, each row says its own."""
    make_store(os.path.join(folder, "mixed.db"), "estimated")
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "mixed.db"))) as db:
        db.execute("UPDATE energy SET estimated = 0 WHERE run = 1")
        db.commit()
    _, text = run_in_terminal(folder, 200, ["show", "mixed.db"])
    rows = {line.split()[0]: line for line in text.split("\n") if re.match(r" *\d+ ", line)}
    check("estimated" not in rows["1"] and "estimated" in rows["2"], "show of both", text)


def job_script(epochs):
    return "".join(f'printf "0 0 epoch-begin epoch={e}\\n" | sed "s/^0/$(date +%s%N)/" >>"$WATTLAW_MARKS"; sleep .4; '
                   f'printf "0 0 epoch-end epoch={e}\\n" | sed "s/^0/$(date +%s%N)/" >>"$WATTLAW_MARKS"; '
                   for e in range(1, epochs + 1)) + "sleep .2"


def run(folder, *args, status=0):
    done = subprocess.run([wattlaw, *args], cwd=folder, capture_output=True, text=True, check=False)
    check(done.returncode == status, f"{args}: status {done.returncode}", done.stdout + done.stderr)
    return done


def measure_is_labelled(folder, word, sensors):
    """measure and sweep themselves."""
    common = [*sensors, "--store", word + "-m.db", *FOOTPRINT]
    r = run(folder, "measure", *common, "--idle", "1s", "--json-file", word + ".json", "--", "sh", "-c", job_script(2))
    check_text(r.stderr, word, "measure " + word, 6)
    check_text(run(folder, "show", word + "-m.db", "--run", "1").stdout, word, "show --run of " + word, 3)
    with open(os.path.join(folder, word + ".json"), encoding="utf-8") as f:
        return json.load(f), r.stderr


def intervals_hold_the_error_of_the_model(folder):
    s, text = measure_is_labelled(folder, "estimated", ["--sensors", "cpu_model,proc"])
    chosen = [e for e in s["energies"] if e["chosen"]]
    parts = chosen + [e for e in s["epochs"] if e["energy_j"] is not None]
    check(len(chosen) == 1 and chosen[0]["estimated"], "an estimated run", s)
    for e in parts:
        value, lo, hi = e["energy_j"], e["energy_lo_j"], e["energy_hi_j"]
        check(lo <= (1 - MODEL_ERROR) * value * 1.001 and hi >= (1 + MODEL_ERROR) * value * 0.999, "the model's error", e)
    carbon = re.search(r"carbon +\S+ \S*g CO2e \(([0-9.e-]+)( \S*g CO2e)? to ([0-9.e-]+)", text)
    check(carbon, "carbon with an interval", text)


def sweep_is_labelled_with_intervals(folder):
    with open(os.path.join(folder, "job.sh"), "w", encoding="utf-8") as f:
        f.write("sleep .6\n")
    with open(os.path.join(folder, "e.ini"), "w", encoding="utf-8") as f:
        f.write("[campaign]\nname = words\nrepeats = 1\n[sweep]\nworkers = 1,2\n[measure]\nsensors = cpu_model\ncarbon = 380\n"
                "carbon_source = DE\nprice = 0.25\n[launch]\ncommand = sh " + os.path.join(folder, "job.sh") + " {workers}\n")
    r = run(folder, "sweep", "e.ini", "--quiet")
    check_text(r.stderr, "estimated", "sweep", 4)
    found = json.loads(run(folder, "energy", "words", "--json").stdout or "{}")
    check(found.get("groups"), "energy of the sweep", r.stderr)
    for g in found.get("groups", []):
        lo, hi = g["kwh_ci95"]
        check(lo <= (1 - MODEL_ERROR) * g["kwh"] * 1.001 and hi >= (1 + MODEL_ERROR) * g["kwh"] * 0.999, "kWh hold the model's error", g)


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        stores_of_one_provenance_are_labelled(folder)
        json_is_labelled(folder)
        each_row_of_a_mixed_store_has_its_label(folder)
        intervals_hold_the_error_of_the_model(folder)
        with open(os.path.join(folder, "power.csv"), "w", encoding="utf-8") as f:
            f.write("t_s,device,quantity,value\n" + "".join(f"{t / 10},gpu0,power_w,100\n" for t in range(40)))
        measure_is_labelled(folder, "simulated", ["--sensors", "replay", "--replay-file", "power.csv"])
        sweep_is_labelled_with_intervals(folder)


try:
    main()
finally:
    for text in wrong:
        print(text)
sys.exit(1 if wrong else 0)
