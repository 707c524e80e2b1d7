#!/usr/bin/env python3
"""Received stores that somebody made to do harm: received.py WATTLAW

What a file holds is never executed, a cell of any type is an error that names it, and every command ends.
"""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "fixtures", "store"))
import past  # noqa: E402

NEWEST = past.newest()
READERS = [["show"], ["show", "--json"], ["show", "--run", "1", "--json"], ["status"], ["fit", "--json"], ["energy"]]
LIMIT_S = 60  # a command takes hundredths of a second; one that does not end takes for ever


class Wrong(Exception):
    pass


def check(right, what):
    if not right:
        raise Wrong(what)


class Place:
    """A folder with a store in it."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.store = os.path.join(folder, "s.db")

    def make(self, version=NEWEST):
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        past.make(self.store, version)

    def sql(self, *statements, defensive=True):
        db = sqlite3.connect(self.store)
        if not defensive:
            db.execute("PRAGMA writable_schema = ON")
            db.execute("PRAGMA ignore_check_constraints = ON")
        for text in statements:
            db.execute(text)
        db.commit()
        db.close()

    def loosen(self, table):
        """Cells of the table take any type and NULL."""
        self.sql("UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'STRICT, ', ''), 'STRICT', ''), 'NOT NULL', '') "
                 f"WHERE name = '{table}'", defensive=False)

    def run(self, *arguments, text=True):
        try:
            done = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=text,
                                  timeout=LIMIT_S, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{arguments} does not end") from None
        check(done.returncode >= 0 and "Sanitizer" not in str(done.stderr),
              f"{arguments} ended with {done.returncode}: {done.stderr}")
        return done

    def read(self, *arguments):
        return self.run(arguments[0], self.store, *arguments[1:])


def names_that_are_sql(place):
    """The name of a view goes on as SQL where it is put between quotes as it is."""
    victim = os.path.join(place.folder, "victim.db")
    for version in 1, 9, NEWEST:
        place.make(version)
        with sqlite3.connect(victim) as db:
            db.execute("CREATE TABLE precious(x)")
        name = f'x"; COMMIT; ATTACH \'{victim}\' AS v; DROP TABLE v.precious; BEGIN; --'.replace('"', '""')
        place.sql(f'CREATE VIEW "{name}" AS SELECT 1', "CREATE VIEW x AS SELECT 1")
        for command in *READERS, ["rebuild"]:
            place.read(*command)
        with sqlite3.connect(victim) as db:
            check(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'precious'").fetchone()[0],
                  f"version {version}: a table of another database was dropped")
        os.remove(victim)


def views_of_the_file_are_not_used(place):
    """Neither those that never end nor those that lie."""
    for version in 7, NEWEST:
        place.make(version)
        honest = [place.read(*command).stdout for command in READERS]
        for kind, name in ("v", "observations"), ("v", "setting"), ("v", "total_now"), ("v", "capped"), ("v", "json_each"):
            if name != "json_each":
                place.sql(f"DROP VIEW IF EXISTS {name}")
            place.sql(f"CREATE VIEW {name} AS WITH RECURSIVE r(run) AS (SELECT 1 UNION ALL SELECT run FROM r) SELECT * FROM r")
        for command, want in zip(READERS, honest):
            done = place.read(*command)
            check(done.returncode == 0 and done.stdout == want, f"{command}: {done.returncode} {done.stdout} {done.stderr}")
        done = place.read("rebuild")
        check(done.returncode == 0, f"rebuild: {done.stderr}")
        if version == NEWEST:
            check("r(run)" not in dict(sqlite3.connect(place.store).execute("SELECT name, sql FROM sqlite_schema"))["total_now"],
                  "a writer left a view that is not wattlaw's")


def refused(place, text, *commands):
    for command in commands:
        done = place.read(*command)
        check(done.returncode == 1 and place.store in done.stderr and text in done.stderr,
              f"{command}: {done.returncode} {done.stderr}, without \"{text}\"")


def tables_that_are_none(place):
    for version in 7, NEWEST:
        place.make(version)
        place.sql("ALTER TABLE metric RENAME TO m", "CREATE VIEW metric AS SELECT id, run, epoch, name, value FROM m")
        if version == NEWEST:
            refused(place, "no table metric", ["show"], ["rebuild"])
        place.make(version)
        place.sql("UPDATE sqlite_schema SET sql = replace(sql, 'flag            TEXT', 'flag TEXT AS (upper(version))') "
                  "WHERE name = 'run'", defensive=False)
        refused(place, "run.flag is computed", ["show"], ["rebuild"])
        place.make(version)
        place.sql("UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE metric USING fts5(id, run, epoch, name, value)', rootpage = 0 "
                  "WHERE name = 'metric'", "DELETE FROM sqlite_schema WHERE name = 'metric_once'", defensive=False)
        refused(place, "no such module", ["show"], ["rebuild"])
    place.make()
    place.sql("ALTER TABLE run RENAME COLUMN sampler_cpu TO cpu")
    refused(place, "no column sampler_cpu", ["show"], ["rebuild"])


def triggers_of_the_file_do_not_fire(place):
    place.make()
    place.sql("CREATE TRIGGER mine AFTER INSERT ON total BEGIN DELETE FROM stat; END")
    check(place.read("show").returncode == 0, "show does not show a store with a trigger")
    refused(place, "trigger that wattlaw did not make (\"mine\")", ["rebuild"])
    place.make(9)
    place.sql("CREATE TRIGGER mine AFTER INSERT ON total BEGIN DELETE FROM stat; END")
    check(place.read("rebuild", "--run", "3").returncode == 0, "rebuild")
    check(sqlite3.connect(place.store).execute("SELECT count(*) FROM stat").fetchone()[0] == 2, "a trigger has fired")


def what_the_owner_adds_stays(place):
    place.make()
    place.sql("CREATE VIEW my_view AS SELECT 1", "CREATE TABLE my_table(x)", "CREATE INDEX my_index ON my_table(x)")
    check(place.read("rebuild").returncode == 0, "rebuild")
    left = {name for name, in sqlite3.connect(place.store).execute("SELECT name FROM sqlite_schema")}
    check({"my_view", "my_table", "my_index"} <= left, f"of the owner's own is left {left}")


# table, column, value as SQL: what the message names, and one command that reads it
CELLS = [
    ("trial", "extra", "'5'", "setting.extra (run 1) holds \"5\" where a JSON object", ["fit"]),
    ("trial", "extra", "'[1]'", "setting.extra (id 1) holds \"[1]\"", ["show"]),
    ("trial", "extra", "'{\"a\":'", "JSON object", ["export", "observations"]),
    ("trial", "extra", "x'7b7d'", "setting.extra (id 1) holds a blob", ["show"]),
    ("trial", "workers", "-3", "setting.workers (id 1) holds a negative number", ["show"]),
    ("trial", "workers", "'many'", "holds text where a whole number", ["show"]),
    ("trial", "key", "NULL", "trial.key (id 1) holds NULL where text", ["status"]),
    ("campaign", "name", "NULL", "campaign.name (id 1) holds NULL", ["status"]),
    ("campaign", "name", "cast(x'6100' || 'b' AS TEXT)", "campaign.name (id 1) holds text with a NUL", ["status"]),
    ("run", "status", "'ready'", "run.status (id 1) holds \"ready\" where planned, running", ["show"]),
    ("run", "start_mono_ns", "-9223372036854775807", "run.start_mono_ns (id 1) holds a number out of range", ["show"]),
    ("run", "repeat", "1.5", "run.repeat (id 1) holds a real number", ["show"]),
    ("device", "info", "'none'", "device.info (id 1) holds \"none\" where a JSON object", ["show", "--run", "1"]),
    ("device", "uuid", "NULL", "device.uuid (id 1) holds NULL", ["show", "--run", "1"]),
    ("epoch", "time_s", "'fast'", "epoch.time_s (row 1 of run 1) holds text where a number", ["show", "--run", "1"]),
    ("metric", "name", "NULL", "metric.name (row 1 of run 1) holds NULL", ["show", "--run", "1"]),
    ("sample", "value", "'high'", "sample.value (row 1) holds text where a number", ["export", "samples", "--run", "1"]),
]


def export_order(command):
    return command[:2] if command[0] == "export" else command[:1]


def cells_of_any_type(place):
    for table, column, value, text, command in CELLS:
        place.make()
        code = "DELETE FROM sqlite_schema WHERE type = 'trigger' OR name = 'metric_once'"
        place.sql(code, defensive=False)
        place.loosen(table)
        key = "channel" if table == "sample" else "run" if table in ("epoch", "metric") else "id"
        place.sql(f"UPDATE {table} SET {column} = {value} WHERE {key} = 1", defensive=False)
        front = export_order(command)
        done = place.run(*front, place.store, *command[len(front):])
        check(done.returncode == 1 and place.store in done.stderr and text in done.stderr,
              f"{table}.{column} = {value}: {done.returncode} {done.stdout} {done.stderr}, without \"{text}\"")


def cells_that_are_too_large(place):
    place.make()
    place.sql("DROP TRIGGER experiment_keeps", "UPDATE experiment SET text = printf('%.*c', 80000000, 'x')")
    refused(place, "larger than a store needs", ["status"])


def pipes_beside_the_file(place):
    """SQLite would wait for the other end of a -journal for ever."""
    for name in "-journal", "-wal", "-shm":
        place.make()
        os.mkfifo(place.store + name)
        done = place.read("show")
        check(done.returncode == 1 and place.store + name in done.stderr, f"{name}: {done.returncode} {done.stderr}")
    place.make()
    os.mkfifo(place.store + "-lock")
    os.mkfifo(place.store + "-spool-1")
    check(place.read("status").returncode == 0, "a lock file that is a pipe")


def links_beside_the_file(place):
    """A lock file that is a link to something else is not made there."""
    place.make()
    elsewhere = os.path.join(place.folder, "elsewhere")
    os.symlink(elsewhere, place.store + "-lock")
    place.run("measure", "--store", place.store, "--", "true")
    check(not os.path.exists(elsewhere), "the lock file was made through a link")


def not_utf8(place):
    """Arguments, the environment's host name and metrics of other encodings: what Python reads are texts."""
    store = os.path.join(place.folder, "bytes.db")
    script = b"printf 'wattlaw: epoch-begin epoch=1\\nwattlaw: metric gr\xf6\xdfe=1\\nwattlaw: epoch-end epoch=1\\n'; " \
             b"printf 'a torn \xe2\x82 tail\\n' >&2; exit 3"
    done = place.run(b"measure", b"--store", store.encode(), b"--name", b"net\xff\xfe", b"--", b"sh", b"-c", script,
                     b"caf\xe9", text=False)
    check(done.returncode == 3, f"measure: {done.returncode} {done.stderr}")
    db = sqlite3.connect(store)
    for table, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        try:
            db.execute(f"SELECT * FROM {table}").fetchall()
        except sqlite3.OperationalError as error:
            raise Wrong(f"{table} cannot be read: {error}") from None
    command = db.execute("SELECT command FROM run").fetchone()[0]
    check("caf\\xe9" in command and "gr\\xf6\\xdfe" in command, f"command: {command}")
    check(db.execute("SELECT workload FROM setting").fetchone()[0] == "net\\xff\\xfe", "the name")
    check(place.run("show", store).returncode == 0, "show")


TESTS = [names_that_are_sql, views_of_the_file_are_not_used, tables_that_are_none, triggers_of_the_file_do_not_fire,
         what_the_owner_adds_stays, cells_of_any_type, cells_that_are_too_large, pipes_beside_the_file,
         links_beside_the_file, not_utf8]


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    failed = False
    for test in TESTS:
        if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory(prefix="wattlaw-hostile-") as folder:
            try:
                test(Place(os.path.abspath(sys.argv[1]), folder))
                print(f"{test.__name__}: ok")
            except Wrong as wrong:
                failed = True
                print(f"{test.__name__}: {wrong}")
    sys.exit(failed)


main()
