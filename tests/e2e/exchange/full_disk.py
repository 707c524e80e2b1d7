"""Usage: full_disk.py WATTLAW

A full disk cuts a new store short: nothing of it is left, whatever there was room for, and what was there stays. The disks are small file
systems of a mount namespace of its own, or limits on the size of files where none can be made."""

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys

from harness import Workspace, expect

NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
HEAD = "index, timestamp, power.draw [W], utilization.gpu [%]\n"
LOG = HEAD + "".join(f"{gpu}, 2026/11/20 10:{s // 60 % 60:02d}:{s % 60:02d}.000, {100 + s * 7 % 50} W, {s * 3 % 100} %\n" for s in range(3600) for gpu in range(2))
SHORT = HEAD + "".join(f"0, 2026/11/20 10:00:{s:02d}.000, 100 W, 5 %\n" for s in range(60))
CONTENT = "SELECT count(*), sum(value), (SELECT count(*) FROM run), (SELECT sum(energy_j) FROM energy) FROM sample JOIN channel c ON c.id = channel WHERE quantity = 'power_w'"


def tree(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, folders, names in os.walk(folder) for name in folders + names)


def commands(p):
    """Each makes a store, in new folders."""
    yield ["import", p.at("long.csv"), "--store", "a/b/new.db"]
    yield ["import", p.at("short.csv"), "--store", "a/new.db"]
    yield ["measure", "--store", "a/b/new.db", "--", "true"]
    yield ["sweep", "--axis", "workers=1,2", "--set", "campaign.store=a/s", "--", "true", "{workers}"]
    yield ["merge", "--store", "a/new.db", p.at("part.db")]


def has_begun(folder):
    """A run has begun in a store there, and is kept."""
    for name in tree(folder):
        if name.endswith(".db"):
            with contextlib.closing(sqlite3.connect(f"file:{os.path.join(folder, name)}?mode=ro", uri=True)) as db:
                return db.execute("SELECT count(*) FROM run WHERE status <> 'planned'").fetchone() != (0,)
    return False


def disk(p):
    """Sizes between nothing and enough: each command fails in the folders, the file, the schema, the transaction, or succeeds."""
    failed = {}
    for kilobytes in (4, 12, 60, 150, 290, 330, 400, 520, 700, 1000, 1500):
        for command in commands(p):
            at = p.at("disk")
            os.makedirs(at, exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", at], check=True)
            try:
                with open(os.path.join(at, "mine"), "w", encoding="utf-8") as f:
                    f.write("mine")
                r = subprocess.run([p.wattlaw, *command], cwd=at, text=True, capture_output=True, check=False)
                left = tree(at)
                if r.returncode == 0 or has_begun(at):
                    continue
                expect(left == ["mine"], f"{kilobytes} kB: {command} leaves {left}", r)
                expect("no space" in r.stderr.lower(), f"{kilobytes} kB: {command}", r)
                failed[command[0]] = failed.get(command[0], 0) + 1
            finally:
                subprocess.run(["umount", "-l", at], check=True)
    print("failed without a trace:", failed)
    expect(set(failed) == {"import", "measure", "sweep", "merge"} and min(failed.values()) >= 3, f"each failed: {failed}")


def existing(p):
    """A store that was there is as before, and read as before."""
    at = p.at("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2000k", "tmpfs", at], check=True)
    try:
        r = p.run("import", "short.csv", "--store", "disk/old.db")
        expect(r.returncode == 0, "there is room", r)
        before = p.rows(CONTENT, "disk/old.db")
        with open(p.at("disk/filler"), "wb", buffering=0) as f:
            with contextlib.suppress(OSError):
                while True:
                    f.write(bytes(4096))
            f.truncate(f.tell() - 200_000)
        r = p.run("import", "long.csv", "--store", "disk/old.db")
        expect(r.returncode == 1 and "no space" in r.stderr.lower(), "too long", r)
        expect(p.rows(CONTENT, "disk/old.db") == before and before[0][0] == 60, f"as before: {before}")
    finally:
        subprocess.run(["umount", "-l", at], check=True)


def limit(p):
    """The same with a limit on the size of files, which needs no right."""
    for size in (0, 3000, 30000, 100000):
        for command in commands(p):
            os.makedirs(p.at("limited"))
            r = subprocess.run([p.wattlaw, *command], cwd=p.at("limited"), text=True, capture_output=True, check=False,
                               preexec_fn=lambda most=size: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
            expect("file size" in r.stderr.lower() or "file too large" in r.stderr.lower(), f"{size} bytes: {command}", r)
            expect(r.returncode == 1 and tree(p.at("limited")) == [], f"{size} bytes: {command} leaves {tree(p.at('limited'))}", r)
            shutil.rmtree(p.at("limited"))


def refused(p):
    """Nor does a refusal leave a store in which nothing is."""
    for command in (["merge", "--store", "a/new.db", "none.db"], ["sweep", "--axis", "workers=1,2", "--", "./no-such-program", "{workers}"]):
        before = tree(p.path)
        r = p.run(*command)
        expect(r.returncode != 0 and tree(p.path) == before, f"{command} leaves {set(tree(p.path)) - set(before)}", r)


def main():
    wattlaw, *inside = sys.argv[1:]
    with Workspace(wattlaw) as p:
        p.write("long.csv", LOG)
        p.write("short.csv", SHORT)
        r = p.run("measure", "--store", "part.db", "--", "true")
        expect(r.returncode == 0, "a part to merge", r)
        if inside:
            disk(p)
            existing(p)
            return
        limit(p)
        refused(p)
    able = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/tmp"], capture_output=True, text=True, check=False)
    if able.returncode:
        print(f"SKIP small file systems: {able.stderr.strip()}")
        return
    subprocess.run([*NAMESPACE, sys.executable, os.path.abspath(__file__), wattlaw, "inside"], check=True)


main()
