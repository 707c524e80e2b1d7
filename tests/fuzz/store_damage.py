"""Random changes of a store: cells, rows, schema, bytes, and the files beside it. Each is chosen by the generator `rng`."""
import os
import shutil
import sqlite3

import past


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


def mutate(rng, path):
    for _ in range(rng.choice([1, 1, 1, 2])):
        rng.choice([cells, cells, cells, cells, schema, schema, damage, beside])(rng, path)
