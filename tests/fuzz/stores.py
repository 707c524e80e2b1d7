#!/usr/bin/env python3
"""Mutated stores, read by the real commands: stores.py WATTLAW [--count N] [--seconds S] [--seed FIRST] [--keep DIR]

Case by case, each from its own seed: a store of some version is copied, changed (cells, rows, schema, bytes, what is beside
it) and read by some commands. A command must end by itself within a minute with status 0, 1 or 2, without a word of a
sanitizer, and leave the files as they were. What breaks this rule is printed with the seed that repeats it (--seed N --count 1)
and its folder is kept in DIR. Without --seconds the same cases run each time.
"""
import argparse
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "fixtures", "store"))
import past  # noqa: E402

LIMIT_S = 60
NEWEST = past.newest()

READERS = [
    ["show"], ["show", "--json"], ["show", "--epochs"], ["show", "--run", "1", "--json"], ["show", "--run", "2"],
    ["show", "--run", "3", "--json"], ["status"], ["status", "--json"], ["fit", "--json"], ["fit"],
    ["fit", "--response", "energy_j"], ["energy"], ["energy", "--json"], ["energy", "--target", "val_top1=0.2"],
    ["compare", "--factor", "hardware"], ["compare", "--factor", "local_batch", "--json"],
    ["predict", "--at", "workers=16", "--force"], ["export", "observations"], ["export", "observations", "--format", "jsonl"],
    ["export", "samples", "--run", "1"], ["audit"], ["report"], ["report", "--latex"],
]
WRITERS = [["rebuild"]]


# ---- the stores to begin with ----

def clone(db, table, key, old, new, change):
    names = past.columns(db, table)
    for row in db.execute(f"SELECT * FROM {table} WHERE {key} = ?", (old,)).fetchall():
        row = dict(zip(names, row))
        row[key] = new
        if key != "id" and "id" in row:
            row["id"] = None
        row.update(change)
        past.insert(db, table, row)


def more_runs(path):
    """Further worker counts, machines and repeats, so that there is a law to fit."""
    db = sqlite3.connect(path)
    run, trial = 3, 3
    for hardware in "V100", "A100":
        for workers in 1, 2, 4, 8, 16:
            trial += 1
            clone(db, "trial", "id", 1, trial, {"key": f"workers={workers} hardware={hardware}", "workers": workers,
                                                "hardware": hardware})
            for repeat in 1, 2:
                run += 1
                clone(db, "run", "id", 1, run, {"trial": trial, "repeat": repeat, "position": run})
                for table in "actual", "metric", "metric_def", "variation", "phase_energy", "node", "cap":
                    clone(db, table, "run", 1, run, {})
                for table in "epoch", "energy", "total":
                    clone(db, table, "run", 1, run, {"time_s": 1.0 / workers + repeat / 100, "energy_j": 100.0 + 9 * workers})
    db.commit()
    db.close()


def base(folder, version):
    """Version 0: the newest one, with more runs."""
    path = os.path.join(folder, f"base-{version}.db")
    if not os.path.exists(path):
        past.make(path, version or NEWEST)
        if not version:
            more_runs(path)
    return path


# ---- cells and rows ----

TEXTS = ["", "x", "5", "-1", "1e999", "nan", "NULL", "%s%n%d", "a=b c", "../../x", "x" * 100000, "\x1b]52;c;eA==\x07", "=1+1",
         "\u202e\u0085", "<script>", "\\", "'", '"', "a\nb\tc", "counter", "integral", "gpu", "module", "power_w", "done",
         "val_top1", "workers=2", "GPU-0", "node1", "/dev/zero", "1970-01-01T00:00:00Z", "{}", "[]", "{\"a\":1}", "{\"a\":null}",
         "{\"run\":1,\"workers\":\"x\"}", "{\"\":\"\"}", "{\"a\":{\"b\":[1,2]}}", "{\"a\":1e308}", "{\"a\":" + "[" * 900 + "]" * 900 + "}",
         "{\"time_s\":-1}", "epoch=1", "epoch=-1 samples=1e99", "epoch=99999999999999999999", "name=x value=1"]
NUMBERS = [0, 1, 2, 3, -1, -2, 7, 255, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**53 + 1, 2**61, 2**62, 2**62 + 1, 2**63 - 1,
           -2**63, -2**62, 0.0, -0.0, 0.5, 1.5, -1.5, 1e-300, 5e-324, 1e300, 1.7e308, -1.7e308, float("inf"), -float("inf"), 1e18]
BLOBS = [b"", b"\0", b"\xff\xfe", b"{}", b"x" * 5000]
RAW_TEXTS = ["x'ff'", "x'c328'", "x'6100620a'", "x'eda080'", "x'1b5b324a'"]  # as CAST(... AS TEXT)


def value(rng):
    """An SQL expression and its parameter."""
    kind = rng.randrange(9)
    if kind < 3:
        return "?", rng.choice(NUMBERS)
    if kind < 5:
        return "?", rng.choice(TEXTS)
    if kind == 5:
        return "?", rng.choice(BLOBS)
    if kind == 6:
        return f"CAST({rng.choice(RAW_TEXTS)} AS TEXT)", None
    if kind == 7:
        return "?", rng.choice([-1, 1]) * 10 ** rng.uniform(-12, 19)
    return "?", None


OBJECTS = [text for text in TEXTS if text.startswith("{")]


def fitting(rng, column, declared):
    """A value that the column may hold, so that it comes through to what is computed from it."""
    if column in ("extra", "info"):
        return "?", rng.choice(OBJECTS)
    if declared == "TEXT":
        return "?", rng.choice(TEXTS)
    if declared == "INTEGER":
        whole = [number for number in NUMBERS if isinstance(number, int) and 0 <= number <= 2**62]
        return "?", rng.choice([rng.choice(whole), rng.randrange(100)])
    return "?", rng.choice([rng.choice(NUMBERS), rng.choice([-1, 1]) * 10 ** rng.uniform(-12, 19), rng.random() * 100])


def tables(db):
    return [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")]


def loosen(path):
    """Tables without types, rules, unique indexes and triggers: any cell may hold anything."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_schema WHERE type = 'trigger' OR (type = 'index' AND sql LIKE 'CREATE UNIQUE%')")
    db.execute("UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'STRICT, ', ''), 'STRICT', ''), 'NOT NULL', '') "
               "WHERE type = 'table'")
    db.execute("PRAGMA ignore_check_constraints = ON")
    db.commit()
    db.close()
    return sqlite3.connect(path)


def set_cell(rng, db):
    table = rng.choice(tables(db))
    columns = [row[1:3] for row in db.execute(f"PRAGMA table_info({table})")]
    texts = [column for column in columns if column[0] in ("extra", "info", "fields", "text", "name", "status")]
    column, declared = rng.choice(texts if texts and rng.random() < 0.5 else columns)
    text, parameter = fitting(rng, column, declared) if rng.random() < 0.6 else value(rng)
    where, picked = "", []
    if rng.random() < 0.8:  # one row
        keys = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]] or ["rowid"]
        rows = db.execute(f"SELECT {','.join(keys)} FROM {table}").fetchall()
        if not rows:
            return
        picked = list(rng.choice(rows))
        where = " WHERE " + " AND ".join(f"{name} IS ?" for name in keys)
    first = [parameter] if text == "?" else []
    db.execute(f"UPDATE OR REPLACE {table} SET {column} = {text}{where}", first + picked)


def change_rows(rng, db):
    table = rng.choice(tables(db))
    kind = rng.randrange(3)
    if kind == 0:
        db.execute(f"DELETE FROM {table}")
    elif kind == 1:
        names = past.columns(db, table)
        db.execute(f"DELETE FROM {table} WHERE {names[0]} % {rng.randrange(1, 4)} = 0")
    else:
        names = past.columns(db, table)
        row = db.execute(f"SELECT * FROM {table}").fetchone()
        if row:
            row = dict(zip(names, row))
            row[names[0]] = rng.choice([None, 0, -1, 77, 2**40])
            db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * len(names))})", list(row.values()))


def cells(rng, path):
    db = loosen(path)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 12])):
        try:
            (set_cell if rng.random() < 0.85 else change_rows)(rng, db)
        except (sqlite3.Error, OverflowError):
            pass  # a rowid cannot be text
    db.commit()
    db.close()


# ---- schema ----

ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS run, x AS id, x AS epoch FROM r"


def schema_sql(rng, names):
    table = rng.choice(names)
    view = rng.choice(["setting", "observations", "total_now", "capped", "ranked_metric", table, "json_each", "sqlite_x", 'a"b'])
    quoted = view.replace('"', '""')
    return rng.choice([
        [f'DROP VIEW IF EXISTS "{quoted}"', f'CREATE VIEW "{quoted}" AS {ENDLESS}'],
        [f"ALTER TABLE {table} RENAME TO was_{table}", f"CREATE VIEW {table} AS SELECT * FROM was_{table}"],
        [f"ALTER TABLE {table} RENAME TO was_{table}", f"CREATE VIEW {table} AS {ENDLESS}"],
        [f"ALTER TABLE {table} RENAME TO was_{table}", f"CREATE TABLE {table} AS SELECT * FROM was_{table}"],
        [f"DROP TABLE {table}"],
        [f"ALTER TABLE {table} ADD COLUMN extra_{rng.randrange(9)} AS (zeroblob(1000000000))"],
        [f"CREATE TRIGGER t{rng.randrange(9)} AFTER INSERT ON {table} BEGIN DELETE FROM {rng.choice(names)}; END"],
        [f"CREATE INDEX i{rng.randrange(9)} ON {table}(abs(1))"],
        [f"CREATE VIRTUAL TABLE v{rng.randrange(9)} USING fts5(x)"],
        ['CREATE VIEW "x""; DROP TABLE run; --" AS SELECT 1'],
        [f"PRAGMA user_version = {rng.choice([-1, 0, 1, 5, 13, 14, 15, 2**31 - 1])}"],
        [f"PRAGMA application_id = {rng.choice([0, 1, -1])}"],
        ["PRAGMA journal_mode = DELETE", "VACUUM"],
        ["PRAGMA journal_mode = DELETE", f"PRAGMA page_size = {rng.choice([512, 4096, 65536])}", "VACUUM"],
    ])


def schema_edit(rng, db):
    """The texts of sqlite_schema, where nothing is checked."""
    table = rng.choice(tables(db))
    columns = past.columns(db, table)
    column = rng.choice(columns)
    old = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()[0]
    new = rng.choice([
        old.replace(column, column + " TEXT GENERATED ALWAYS AS (hex(zeroblob(9))) VIRTUAL, x", 1),
        old.replace(column, "renamed", 1), old.replace("INTEGER", "TEXT COLLATE nowhere", 1), old.replace("TEXT", "TEXT CHECK (1/0)", 1),
        old.replace("TEXT", "TEXT DEFAULT (1 + 1)", 1), old.replace("CREATE TABLE", "CREATE TEMP TABLE"),
        f"CREATE VIEW {table} AS {ENDLESS}", f"CREATE VIRTUAL TABLE {table} USING fts5({','.join(columns)})",
        f"CREATE VIRTUAL TABLE {table} USING dbstat", "CREATE TABLE", "SELECT 1", old + "; DROP TABLE run", old.replace(",", "", 1),
        old.replace("REFERENCES run", "REFERENCES run ON DELETE CASCADE"), old.replace("STRICT", ""),
    ])
    field, text = rng.choice([("sql", new), ("sql", new), ("sql", new), ("rootpage", rng.choice([0, 1, 2, 3, 9999, -1])),
                              ("type", rng.choice(["view", "trigger", "index", "", "x"])), ("name", rng.choice(["run", "x", "", 'a"b']))])
    db.execute("PRAGMA writable_schema = ON")
    db.execute(f"UPDATE sqlite_schema SET {field} = ? WHERE name = ?", (text, table))


def schema(rng, path):
    db = sqlite3.connect(path, isolation_level=None)
    for _ in range(rng.choice([1, 1, 2, 3])):
        try:
            if rng.random() < 0.5:
                schema_edit(rng, db)
            else:
                for text in schema_sql(rng, tables(db)):
                    db.execute(text)
        except (sqlite3.Error, sqlite3.Warning, IndexError, OverflowError):
            break  # the schema is broken already
    db.close()


# ---- bytes ----

def flip(rng, data):
    for _ in range(rng.choice([1, 1, 2, 5, 40])):
        at = rng.randrange(len(data)) if rng.random() < 0.6 else rng.randrange(min(len(data), 200))
        data[at] = rng.choice([rng.randrange(256), 0, 255, data[at] ^ 1 << rng.randrange(8)])


def spread(rng, data):
    size = 1024
    to, of = (rng.randrange(max(1, len(data) // size)) * size for _ in range(2))
    part = data[of:of + size] if rng.random() < 0.5 else bytes(rng.randrange(256) for _ in range(size))
    data[to:to + len(part)] = part


def cut(rng, data):
    del data[rng.randrange(len(data)):]


def damage(rng, path):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    rng.choice([flip, flip, flip, spread, cut])(rng, data)
    with open(path, "wb") as file:
        file.write(data)


def noise(rng, head=b""):
    return head + bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 32, 500, 5000])))


def beside(rng, path):
    """A log with frames of its own, a journal, a spool, a lock: good ones, damaged ones and noise."""
    kind = rng.choice(["wal", "wal", "wal", "journal", "spool", "shm"])
    if kind != "wal":
        name = {"journal": "-journal", "spool": "-spool-1", "shm": "-shm"}[kind]
        head = {"journal": b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "spool": b"wlspool1", "shm": b""}[kind]
        with open(path + name, "wb") as file:
            file.write(noise(rng, head))
        return
    try:
        db = sqlite3.connect(path)
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("INSERT INTO campaign(name, created_wall_ns) VALUES ('of the log', 1)")
        db.commit()
        for name in "", "-wal", "-shm":
            shutil.copy(path + name, path + name + ".kept")
        db.close()
    except (sqlite3.Error, OSError):
        return
    for name in "", "-wal", "-shm":
        os.replace(path + name + ".kept", path + name)
    if rng.random() < 0.7:
        damage(rng, path + "-wal")
    if rng.random() < 0.3:
        os.remove(path + "-shm")


# ---- a case ----

def files_of(folder):
    found = {}
    for name in os.listdir(folder):
        if name.endswith("-shm"):
            continue  # SQLite's shared memory
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


# the last one is said where the leak checker cannot start its own process
NO_PROCESS = b"Resource temporarily unavailable", b"LeakSanitizer has encountered a fatal error"


def run(line, folder):
    """A machine that has no process left to give says nothing about the program."""
    for _ in range(30):
        try:
            done = subprocess.run(line, capture_output=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, cwd=folder)
            if not any(text in done.stderr for text in NO_PROCESS):
                return done
        except BlockingIOError:
            pass
        time.sleep(1)
    raise SystemExit("no process can be started on this machine")


def finding(program, command, store, out, counts):
    front = 2 if command[0] == "export" else 1
    line = [program, *command[:front], store, *command[front:]]
    if command[0] == "report":
        line += ["--out", out]
    try:
        done = run(line, os.path.dirname(out))
    except subprocess.TimeoutExpired:
        return f"did not end within {LIMIT_S} s"
    said = done.stderr.decode(errors="replace")
    counts[done.returncode == 0] += 1
    if done.returncode not in (0, 1, 2) or "Sanitizer" in said or "runtime error:" in said:
        return f"exit status {done.returncode}\n{said[-3000:]}"
    if done.returncode and not said.strip() and not done.stdout.strip():
        return f"exit status {done.returncode} without a word"
    return None


def mutate(rng, path):
    for _ in range(rng.choice([1, 1, 1, 2])):
        rng.choice([cells, cells, cells, cells, schema, schema, damage, beside])(rng, path)


def run_case(program, seed, bases, folder, counts):
    rng = random.Random(seed)
    os.makedirs(os.path.join(folder, "store"))
    store = os.path.join(folder, "store", "s.db")
    shutil.copy(base(bases, rng.choice([0, 0, 0, NEWEST, NEWEST, *range(1, NEWEST)])), store)
    try:
        mutate(rng, store)
    except (sqlite3.DatabaseError, ValueError):
        pass  # changed so much already that nothing can be changed in it
    before = files_of(os.path.dirname(store))
    commands = rng.sample(READERS, 3)
    if rng.random() < 0.15:
        commands += WRITERS
    for command in commands:
        found = finding(program, command, store, os.path.join(folder, "out"), counts)
        if not found and command not in WRITERS and files_of(os.path.dirname(store)) != before:
            found = f"changed the files: {before} became {files_of(os.path.dirname(store))}"
        if found:
            return f"seed {seed}: {' '.join(command)}: {found}"
    return None


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--count", type=int, default=0)
    options.add_argument("--seconds", type=float, default=0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--keep", default="")
    o = options.parse_args()
    program, found, cases, counts = os.path.abspath(o.program), 0, 0, [0, 0]
    until = time.monotonic() + o.seconds if o.seconds else float("inf")
    with tempfile.TemporaryDirectory(prefix="wattlaw-fuzz-") as work:
        for seed in range(o.seed, o.seed + o.count if o.count else sys.maxsize):
            if time.monotonic() > until:
                break
            folder = os.path.join(work, str(seed))
            text = run_case(program, seed, work, folder, counts)
            cases += 1
            if text:
                found += 1
                print(text, flush=True)
                if o.keep:
                    shutil.copytree(folder, os.path.join(o.keep, str(seed)), dirs_exist_ok=True)
                    print(f"kept in {os.path.join(o.keep, str(seed))}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{cases} stores, {found} findings (seeds from {o.seed}); {counts[1]} commands showed them, {counts[0]} refused")
    sys.exit(1 if found or not cases else 0)


main()
