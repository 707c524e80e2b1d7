#!/usr/bin/env python3
"""Stores of all versions, read and migrated: past.py WATTLAW

Each reading command leaves the folder of the store as it was, byte by byte, and says of a store of an older version what it
says of the same one after `wattlaw rebuild` has brought it to the newest version.
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

STRANGER = 61234  # no account has it, and no limit on its processes is shared with one
COMMANDS = [
    ["show", "--json"], ["show", "--run", "1", "--json"], ["fit", "--json"], ["export", "observations"],
    ["export", "samples", "--run", "1"], ["report", "--out"],
]
# Of one version; more of them would say the same.
MORE = [
    ["status"], ["show"], ["show", "--run", "2"], ["show", "--epochs", "--json"], ["energy", "--json"],
    ["compare", "--factor", "power_cap_w"], ["predict", "--at", "workers=4"], ["audit"],
]


def folder_of(path):
    """What is in the folder of a store, with its contents."""
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


def say(program, store, command, out, **options):
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(command_line(program, store, command, out), capture_output=True, timeout=60, **options)
    page = b""
    if os.path.exists(out):
        with open(os.path.join(out, "report.html"), "rb") as file:
            page = re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", b"(now)", file.read())
    return done.returncode, done.stdout, done.stderr, page


def readers_change_nothing(program, store, commands, out):
    wrong, said = [], []
    before = folder_of(store)
    for command in commands:
        said.append(say(program, store, command, out))
        allowed = (0,) if command in COMMANDS else (0, 1)
        if said[-1][0] not in allowed:
            wrong.append(f"{command}: exit status {said[-1][0]}: {said[-1][2]}")
        if folder_of(store) != before:
            wrong.append(f"{command} changed the folder: {sorted(folder_of(store))}")
            before = folder_of(store)
    return wrong, said


def version_of(store):
    with sqlite3.connect(store) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def each_version(program, folder):
    wrong = []
    for version in range(1, past.newest() + 1):
        store = os.path.join(folder, f"v{version}", "s.db")
        os.mkdir(os.path.dirname(store))
        past.make(store, version)
        commands = COMMANDS + (MORE if version == 7 else [])
        found, old = readers_change_nothing(program, store, commands, os.path.join(folder, "out"))
        # run 3 has no end, so that only the migration remains to be done
        done = subprocess.run([program, "rebuild", store, "--run", "3"], capture_output=True, text=True)
        says_so = f"from store version {version} to {past.newest()}" in done.stdout
        if done.returncode or version_of(store) != past.newest() or says_so != (version < past.newest()):
            found.append(f"rebuild: {done.returncode} {done.stdout} {done.stderr}")
        for command, was in zip(commands, old):
            now = say(program, store, command, os.path.join(folder, "out"))
            if now != was:
                found.append(f"{command} says\n{was[:3]}\nof the old store and\n{now[:3]}\nof the new one")
        wrong += [f"version {version}: {text}" for text in found]
    return wrong


def become_a_stranger():
    os.setgid(STRANGER)
    os.setuid(STRANGER)


def a_stranger_makes_no_files(program, folder):
    """In a folder of everybody: a -shm of the stranger's own would keep the owner from writing."""
    store = os.path.join(folder, "shared", "s.db")
    os.mkdir(os.path.dirname(store))
    past.make(store, past.newest())
    os.chmod(os.path.dirname(store), 0o777)
    before = folder_of(store)
    wrong = []
    for command in COMMANDS[:-1] + MORE:
        status, _, err, _ = say(program, store, command, os.path.join(folder, "out"), preexec_fn=become_a_stranger)
        if status not in (0, 1) or b"read-only" in err or b"cannot open" in err:
            wrong.append(f"a stranger's {command}: {status} {err}")
    if folder_of(store) != before:
        wrong.append(f"a stranger left {sorted(folder_of(store))}")
    return wrong


def a_log_is_read_with_it(program, folder):
    """Rows that are in the -wal alone are seen, by the owner and by others, and stay there."""
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
    for who in (None, become_a_stranger) if os.geteuid() == 0 else (None,):
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
        wrong = each_version(program, folder) + a_log_is_read_with_it(program, folder)
        if os.geteuid() == 0:
            wrong += a_stranger_makes_no_files(program, folder)
        else:
            print("SKIP the stranger: only root can become one")
    for text in wrong:
        print(text)
    sys.exit(1 if wrong else 0)


main()
