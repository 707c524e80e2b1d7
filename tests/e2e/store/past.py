#!/usr/bin/env python3
"""Stores of all versions, read and migrated: past.py WATTLAW

Each reading command leaves the folder of the store as it was, byte by byte, and prints for a store of an older version what it
prints for the same store after `wattlaw rebuild` has migrated it to the newest version.
"""
import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "fixtures", "store"))
import past  # noqa: E402

OTHER_USER = 61234  # no account has it, and no limit on its processes is shared with one
COMMANDS = [
    ["show", "--json"], ["show", "--run", "1", "--json"], ["fit", "--json"], ["export", "observations"],
    ["export", "samples", "--run", "1"], ["report", "--formats", "html,csv", "--out"],
]
# For one version only: others would test the same, and the page has the values of all pictures.
MORE = [
    ["report", "--out"],
    ["status"], ["show"], ["show", "--run", "2"], ["show", "--epochs", "--json"], ["energy", "--json"],
    ["compare", "--factor", "power_cap_w"], ["predict", "--at", "workers=4"], ["audit"],
]


def hash_folder(path):
    """The files in the folder of a store, with a hash of each."""
    folder = os.path.dirname(path)
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def command_line(program, store, command, out):
    """export takes what to export first, then the store."""
    front = 2 if command[0] == "export" else 1
    more = [out] if command[-1] == "--out" else []
    return [program, *command[:front], store, *command[front:], *more]


def run_command(program, store, command, out, **options):
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(command_line(program, store, command, out), capture_output=True, timeout=60, **options)
    page = b""
    if os.path.exists(out):
        with open(os.path.join(out, "report.html"), "rb") as file:
            page = re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", b"(now)", file.read())
    return done.returncode, done.stdout, done.stderr, page


def run_readers(program, store, commands, out):
    """Runs the commands; returns what went wrong, changes of the folder included, and the result of each."""
    wrong, results = [], []
    before = hash_folder(store)
    for command in commands:
        results.append(run_command(program, store, command, out))
        allowed = (0,) if command in COMMANDS else (0, 1)
        if results[-1][0] not in allowed:
            wrong.append(f"{command}: exit status {results[-1][0]}: {results[-1][2]}")
        if hash_folder(store) != before:
            wrong.append(f"{command} changed the folder: {sorted(hash_folder(store))}")
            before = hash_folder(store)
    return wrong, results


def version_of(store):
    with sqlite3.connect(store) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def commands_of(version):
    """What an instrumented program reads is the same code whatever the version, but for what migrates a store: the commands take turns."""
    if version == 7:
        return COMMANDS + MORE
    if os.environ.get("TEST_SANITIZER", "none") != "none" and 1 < version < past.newest():
        return [COMMANDS[version % len(COMMANDS)]]
    return COMMANDS


def every_version_reads_as_after_its_migration(program, folder):
    wrong = []
    for version in range(1, past.newest() + 1):
        store = os.path.join(folder, f"v{version}", "s.db")
        os.mkdir(os.path.dirname(store))
        past.make(store, version)
        commands = commands_of(version)
        found, old = run_readers(program, store, commands, os.path.join(folder, "out"))
        # run 3 has no end, so that only the migration is left to do
        done = subprocess.run([program, "rebuild", store, "--run", "3"], capture_output=True, text=True)
        reported = f"from store version {version} to {past.newest()}" in done.stdout
        if done.returncode or version_of(store) != past.newest() or reported != (version < past.newest()):
            found.append(f"rebuild: {done.returncode} {done.stdout} {done.stderr}")
        for command, was in zip(commands, old):
            now = run_command(program, store, command, os.path.join(folder, "out"))
            if now != was:
                found.append(f"{command} printed\n{was[:3]}\nfor the old store and\n{now[:3]}\nfor the migrated one")
        wrong += [f"version {version}: {text}" for text in found]
    return wrong


def become_another_user():
    os.setgid(OTHER_USER)
    os.setuid(OTHER_USER)


def another_user_leaves_no_files(program, folder):
    """In a folder that everybody can write to, a -shm of another user would keep the owner from writing."""
    store = os.path.join(folder, "shared", "s.db")
    os.mkdir(os.path.dirname(store))
    past.make(store, past.newest())
    os.chmod(os.path.dirname(store), 0o777)
    before = hash_folder(store)
    wrong = []
    for command in [c for c in COMMANDS + MORE if c[0] != "report"]:
        status, _, err, _ = run_command(program, store, command, os.path.join(folder, "out"), preexec_fn=become_another_user)
        if status not in (0, 1) or b"read-only" in err or b"cannot open" in err:
            wrong.append(f"{command} of another user: {status} {err}")
    if hash_folder(store) != before:
        wrong.append(f"another user left {sorted(hash_folder(store))}")
    return wrong


def rows_in_the_log_are_read(program, folder):
    """Rows that are only in the -wal are read, by the owner and by others, and stay there."""
    store = os.path.join(folder, "open", "s.db")
    os.mkdir(os.path.dirname(store))
    past.make(store, past.newest())
    os.chmod(os.path.dirname(store), 0o777)
    wrong = []
    with open(store, "rb") as file:
        before = file.read()
    db = sqlite3.connect(store)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("INSERT INTO campaign(name, created_wall_ns) VALUES ('of the log', 1)")
    db.commit()
    for who in (None, become_another_user) if os.geteuid() == 0 else (None,):
        done = subprocess.run([program, "status", store, "--json"], capture_output=True, text=True, preexec_fn=who)
        if "of the log" not in done.stdout:
            wrong.append(f"a running campaign: {done.returncode} {done.stdout} {done.stderr}")
    with open(store, "rb") as file:
        if file.read() != before:
            wrong.append("a reader wrote the log into the file")
    db.close()
    return wrong


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="wattlaw-past-") as folder:
        os.chmod(folder, 0o755)
        wrong = every_version_reads_as_after_its_migration(program, folder) + rows_in_the_log_are_read(program, folder)
        if os.geteuid() == 0:
            wrong += another_user_leaves_no_files(program, folder)
        else:
            print("SKIP another user: only root can become one")
    for text in wrong:
        print(text)
    sys.exit(1 if wrong else 0)


main()
