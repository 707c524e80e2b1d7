"""Stores for the tests of this folder, from tests/fixtures/store/version-1.sql: run 1 and 2 done, run 3 failed."""
import os
import sqlite3
import subprocess

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "store", "version-1.sql")
NASTY = 'a "b"\\c\nd, {e}="f" | \x1b[31m € \u202e %s'


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def make_store(path, *statements):
    """The fixture, with phases in run 1 and what the statements add."""
    with open(FIXTURE, encoding="utf-8") as file, sqlite3.connect(path) as db:
        db.executescript(file.read())
        marks = [(1, 1200000000, 0, "phase-begin", "name=load"), (1, 1400000000, 0, "phase-end", "name=load"),
                 (1, 1450000000, 0, "phase-end", "name=load"),  # had ended
                 (1, 1300000000, 0, "phase-begin", "name=input"), (1, 1500000000, 0, "phase-end", "name=input"),
                 (1, 2200000000, 1, "phase-begin", "name=load"), (1, 2300000000, 1, "phase-end", "name=load"),
                 (1, 2900000000, 0, "phase-begin", "name=cut")]  # has no end
        db.executemany("INSERT INTO mark(run, t_ns, rank, word, fields) VALUES (?, ?, ?, ?, ?)", marks)
        for statement in statements:
            db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
    return path


def make_nasty(path, more=""):
    """Names that break a format which does not escape them; two axes that differ in a character no label may have."""
    extra = '{"a-b": "x", "a_b": "y", "9": "z", "__name__": "n"%s}' % more
    columns = "campaign, key, workload, workers, local_batch, extra"
    return make_store(path, (f"INSERT INTO trial({columns}) VALUES (1, 'nasty', ?, 4, 16, ?)", (NASTY, extra)),
                      "INSERT INTO run SELECT 9, (SELECT max(id) FROM trial), 1, 1, seed, position, status, host, boot_id, pid, folder, "
                      "command, version, start_mono_ns, start_wall_ns, stop_mono_ns, stop_wall_ns, exit_status, signal, error, log_tail, flag, "
                      "sampling_asked_s, sampling_period_s, ticks, ticks_skipped, samples_lost, own_cpu_s FROM run WHERE id = 1",
                      "INSERT INTO epoch VALUES (9, 1, 1100000000, 2100000000, 0.1, NULL, NULL)",
                      ("INSERT INTO metric(run, epoch, name, value) VALUES (9, 1, ?, 0.1)", (NASTY,)))


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = os.path.abspath(path), folder

    def run(self, *arguments, status=0, env=None):
        """stdout of a success, stderr of a failure."""
        done = subprocess.run([self.path, *arguments], cwd=self.folder, capture_output=True, text=True, check=False, env=dict(os.environ, **(env or {})))
        check(done.returncode == status, arguments, "status", done.returncode, done.stdout[-500:], done.stderr)
        return done.stderr if status else done.stdout
