#!/usr/bin/env python3
"""Malicious stores received from others: received.py WATTLAW

Nothing in a file is executed, a cell of a wrong type is an error that names it, and every command ends.
"""
import os
import re
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
LIMIT_S = 60  # a command takes hundredths of a second, unless it hangs


class Failed(Exception):
    pass


def check(right, what):
    if not right:
        raise Failed(what)


class StoreFolder:
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
            raise Failed(f"{arguments} does not end") from None
        check(done.returncode >= 0 and "Sanitizer" not in str(done.stderr) and "runtime error:" not in str(done.stderr),
              f"{arguments} ended with {done.returncode}: {done.stderr}")
        return done

    def read(self, *arguments):
        return self.run(arguments[0], self.store, *arguments[1:])


def names_of_views_are_not_run_as_sql(f):
    """A view's name would continue as SQL if it were quoted without escapes."""
    victim = os.path.join(f.folder, "victim.db")
    for version in 1, 9, NEWEST:
        f.make(version)
        with sqlite3.connect(victim) as db:
            db.execute("CREATE TABLE precious(x)")
        name = f'x"; COMMIT; ATTACH \'{victim}\' AS v; DROP TABLE v.precious; BEGIN; --'.replace('"', '""')
        f.sql(f'CREATE VIEW "{name}" AS SELECT 1', "CREATE VIEW x AS SELECT 1")
        for command in *READERS, ["rebuild"]:
            f.read(*command)
        with sqlite3.connect(victim) as db:
            check(db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'precious'").fetchone()[0],
                  f"version {version}: a table of another database was dropped")
        os.remove(victim)


def views_of_the_file_are_not_used(f):
    """Neither endless views nor views with false rows."""
    for version in 7, NEWEST:
        f.make(version)
        expected = [f.read(*command).stdout for command in READERS]
        for kind, name in ("v", "observations"), ("v", "setting"), ("v", "total_now"), ("v", "capped"), ("v", "json_each"):
            if name != "json_each":
                f.sql(f"DROP VIEW IF EXISTS {name}")
            f.sql(f"CREATE VIEW {name} AS WITH RECURSIVE r(run) AS (SELECT 1 UNION ALL SELECT run FROM r) SELECT * FROM r")
        for command, want in zip(READERS, expected):
            done = f.read(*command)
            check(done.returncode == 0 and done.stdout == want, f"{command}: {done.returncode} {done.stdout} {done.stderr}")
        done = f.read("rebuild")
        check(done.returncode == 0, f"rebuild: {done.stderr}")
        if version == NEWEST:
            check("r(run)" not in dict(sqlite3.connect(f.store).execute("SELECT name, sql FROM sqlite_schema"))["total_now"],
                  "a writer left a view that is not wattlaw's")


def check_refused(f, text, *commands):
    for command in commands:
        done = f.read(*command)
        check(done.returncode == 1 and f.store in done.stderr and text in done.stderr,
              f"{command}: {done.returncode} {done.stderr}, without \"{text}\"")


def tables_replaced_by_views_or_modules_are_refused(f):
    for version in 7, NEWEST:
        f.make(version)
        f.sql("ALTER TABLE metric RENAME TO m", "CREATE VIEW metric AS SELECT id, run, epoch, name, value FROM m")
        if version == NEWEST:
            check_refused(f, "no table metric", ["show"], ["rebuild"])
        f.make(version)
        f.sql("UPDATE sqlite_schema SET sql = replace(sql, 'flag            TEXT', 'flag TEXT AS (upper(version))') "
                  "WHERE name = 'run'", defensive=False)
        check_refused(f, "run.flag is computed", ["show"], ["rebuild"])
        f.make(version)
        f.sql("UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE metric USING fts5(id, run, epoch, name, value)', rootpage = 0 "
                  "WHERE name = 'metric'", "DELETE FROM sqlite_schema WHERE name = 'metric_once'", defensive=False)
        check_refused(f, "no such module", ["show"], ["rebuild"])
    f.make()
    f.sql("ALTER TABLE run RENAME COLUMN sampler_cpu TO cpu")
    check_refused(f, "no column sampler_cpu", ["show"], ["rebuild"])


def triggers_of_the_file_do_not_fire(f):
    f.make()
    f.sql("CREATE TRIGGER mine AFTER INSERT ON total BEGIN DELETE FROM stat; END")
    check(f.read("show").returncode == 0, "show does not show a store with a trigger")
    check_refused(f, "trigger that wattlaw did not make (\"mine\")", ["rebuild"])
    f.make(9)
    f.sql("CREATE TRIGGER mine AFTER INSERT ON total BEGIN DELETE FROM stat; END")
    check(f.read("rebuild", "--run", "3").returncode == 0, "rebuild")
    check(sqlite3.connect(f.store).execute("SELECT count(*) FROM stat").fetchone()[0] == 2, "a trigger has fired")


def additions_of_the_owner_are_kept(f):
    f.make()
    f.sql("CREATE VIEW my_view AS SELECT 1", "CREATE TABLE my_table(x)", "CREATE INDEX my_index ON my_table(x)")
    check(f.read("rebuild").returncode == 0, "rebuild")
    left = {name for name, in sqlite3.connect(f.store).execute("SELECT name FROM sqlite_schema")}
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
    ("run", "stop_mono_ns", "4611686018427387904", "run.stop_mono_ns (id 1) holds a number out of range", ["show"]),
    ("run", "repeat", "1.5", "run.repeat (id 1) holds a real number", ["show"]),
    ("device", "info", "'none'", "device.info (id 1) holds \"none\" where a JSON object", ["show", "--run", "1"]),
    ("device", "uuid", "NULL", "device.uuid (id 1) holds NULL", ["show", "--run", "1"]),
    ("epoch", "time_s", "'fast'", "epoch.time_s (row 1 of run 1) holds text where a number", ["show", "--run", "1"]),
    ("metric", "name", "NULL", "metric.name (row 1 of run 1) holds NULL", ["show", "--run", "1"]),
    ("sample", "value", "'high'", "sample.value (row 1) holds text where a number", ["export", "samples", "--run", "1"]),
]


def times_of_runs_are_not_believed(f):
    """Missing, or at the ends of what a store may hold: sums of them would overflow."""
    most = 2**62 - 1
    for start, stop in ("NULL", most), (-most, most), (most, -most):
        f.make()
        f.sql("DELETE FROM sqlite_schema WHERE type = 'trigger'", defensive=False)
        f.sql(f"UPDATE run SET start_wall_ns = {start}, stop_wall_ns = {stop} WHERE id = 1",
              f"UPDATE run SET start_wall_ns = {-most}, start_mono_ns = {-most}, stop_mono_ns = {most} WHERE id = 2")
        with open(os.path.join(f.folder, "grid.csv"), "w", encoding="utf-8") as file:
            file.write("timestamp,carbon_intensity\n2020-01-01T00:00Z,300\n2020-01-01T01:00Z,310\n")
        for command in ["show", "--training", "gpt"], ["energy", "--carbon-csv", "grid.csv"], ["report", "--carbon-csv", "grid.csv"]:
            f.read(*command)


def words_before_the_store(command):
    return command[:2] if command[0] == "export" else command[:1]


def cells_of_a_wrong_type_are_errors(f):
    for table, column, value, text, command in CELLS:
        f.make()
        code = "DELETE FROM sqlite_schema WHERE type = 'trigger' OR name = 'metric_once'"
        f.sql(code, defensive=False)
        f.loosen(table)
        key = "channel" if table == "sample" else "run" if table in ("epoch", "metric") else "id"
        f.sql(f"UPDATE {table} SET {column} = {value} WHERE {key} = 1", defensive=False)
        front = words_before_the_store(command)
        done = f.run(*front, f.store, *command[len(front):])
        check(done.returncode == 1 and f.store in done.stderr and text in done.stderr,
              f"{table}.{column} = {value}: {done.returncode} {done.stdout} {done.stderr}, without \"{text}\"")


def a_negative_count_that_an_older_wattlaw_stored_is_missing(f):
    """It came from the start mark of one run: the others can be read, and so can the rest of this one."""
    for version in 1, NEWEST:
        f.make(version)
        names = ("nodes", "workers", "local_batch", "global_batch", "accumulation", "epochs", "threads")
        f.sql("DROP TRIGGER IF EXISTS trial_keeps", f"UPDATE trial SET {', '.join(name + ' = NULL' for name in names)}",
              f"UPDATE actual SET {', '.join(name + ' = -3' for name in names)} WHERE run = 1")
        for command in READERS + [["rebuild"], ["show"]]:
            done = f.read(*command)
            minus_3 = re.search(r"(?<![\w.])-3(?![\w.])", done.stdout)  # a folder may be called hostile-3x
            check(done.returncode in (0, 1) and "negative" not in done.stderr and not minus_3,
                  f"{command}: {done.returncode} {done.stdout} {done.stderr}")
        check(done.returncode == 0 and len(done.stdout.splitlines()) > 2, f"show: {done.stdout}")


def cells_that_are_too_large_are_refused(f):
    f.make()
    f.sql("DROP TRIGGER experiment_keeps", "UPDATE experiment SET text = printf('%.*c', 80000000, 'x')")
    check_refused(f, "larger than a store needs", ["status"])


def pipes_next_to_the_store_do_not_block(f):
    """SQLite would wait for ever for the other end of a -journal."""
    for name in "-journal", "-wal", "-shm":
        f.make()
        os.mkfifo(f.store + name)
        done = f.read("show")
        check(done.returncode == 1 and f.store + name in done.stderr, f"{name}: {done.returncode} {done.stderr}")
    f.make()
    os.mkfifo(f.store + "-lock")
    os.mkfifo(f.store + "-spool-1")
    check(f.read("status").returncode == 0, "a lock file that is a pipe")


def no_file_is_made_through_a_link(f):
    """A lock file that is a symbolic link is not followed."""
    f.make()
    elsewhere = os.path.join(f.folder, "elsewhere")
    os.symlink(elsewhere, f.store + "-lock")
    f.run("measure", "--store", f.store, "--", "true")
    check(not os.path.exists(elsewhere), "the lock file was made through a link")


def text_that_is_not_utf8_is_escaped(f):
    """Arguments, names and metrics in other encodings: Python can read all texts of the store."""
    store = os.path.join(f.folder, "bytes.db")
    script = b"printf 'wattlaw: epoch-begin epoch=1\\nwattlaw: metric gr\xf6\xdfe=1\\nwattlaw: epoch-end epoch=1\\n'; " \
             b"printf 'a torn \xe2\x82 tail\\n' >&2; exit 3"
    done = f.run(b"measure", b"--store", store.encode(), b"--name", b"net\xff\xfe", b"--", b"sh", b"-c", script,
                     b"caf\xe9", text=False)
    check(done.returncode == 3, f"measure: {done.returncode} {done.stderr}")
    db = sqlite3.connect(store)
    for table, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        try:
            db.execute(f"SELECT * FROM {table}").fetchall()
        except sqlite3.OperationalError as error:
            raise Failed(f"{table} cannot be read: {error}") from None
    command = db.execute("SELECT command FROM run").fetchone()[0]
    check("caf\\xe9" in command and "gr\\xf6\\xdfe" in command, f"command: {command}")
    check(db.execute("SELECT workload FROM setting").fetchone()[0] == "net\\xff\\xfe", "the name")
    check(f.run("show", store).returncode == 0, "show")


TESTS = [
    names_of_views_are_not_run_as_sql,
    views_of_the_file_are_not_used,
    tables_replaced_by_views_or_modules_are_refused,
    triggers_of_the_file_do_not_fire,
    additions_of_the_owner_are_kept,
    cells_of_a_wrong_type_are_errors,
    times_of_runs_are_not_believed,
    a_negative_count_that_an_older_wattlaw_stored_is_missing,
    cells_that_are_too_large_are_refused,
    pipes_next_to_the_store_do_not_block,
    no_file_is_made_through_a_link,
    text_that_is_not_utf8_is_escaped,
]


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    failed = False
    for test in TESTS:
        if len(sys.argv) > 2 and test.__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory(prefix="wattlaw-hostile-") as folder:
            try:
                test(StoreFolder(os.path.abspath(sys.argv[1]), folder))
                print(f"{test.__name__}: ok")
            except Failed as wrong:
                failed = True
                print(f"{test.__name__}: {wrong}")
    sys.exit(failed)


main()
