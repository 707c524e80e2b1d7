"""What taking the shards of a large campaign costs: collect.py WATTLAW BENCH_SHARDS [SHARDS [FOLDER]]

Makes SHARDS (3400) shards of 600 readings of 20 channels by the code of jobs, damages some, adds some of others, and lets
`wattlaw sweep --detach` take them. Fails if it takes 35 ms of processor time a shard, or 500 MB, or if a bad one is not named and left.
"""
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

SAMPLES, CHANNELS = 600, 20
CPU_S_MAX, PEAK_MB_MAX = 120 / 3400, 500
wattlaw, shards_of = map(os.path.abspath, sys.argv[1:3])


def crc32c(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def check(condition, *what):
    if not condition:
        sys.exit("FAIL: " + " ".join(map(str, what)))


def experiment(folder, name, repeats):
    """Nothing is submitted where every run has a shard."""
    os.makedirs(folder)
    path = os.path.join(folder, "exp.ini")
    with open(path, "w", encoding="ascii") as f:
        f.write(f"[campaign]\nname = {name}\nrepeats = {repeats}\nstore = store\n[sweep]\nworkload = toy\nworkers = 1,2\n[measure]\nsensors = simulated\n"
                "[launch]\nlauncher = command\nsubmit_command = echo 1\nstates_command = true\ncancel_command = true\njob_variable = JOB\ncommand = true {workers}\n")
    return path


def make(path, samples=SAMPLES):
    subprocess.run([shards_of, path, str(samples), str(CHANNELS)], cwd=os.path.dirname(path), check=True)
    folder = os.path.join(os.path.dirname(path), "store", "shards")
    return folder, sorted(os.listdir(folder))


def rename(name, job, data):
    """The name of that shard as another job would have left it, with the checksum of these data."""
    trial, repeat, _, status, _, end = name.split(".")
    return f"{trial}.{repeat}.{job}.{status}.{crc32c(data):08x}.{end}"


def write(folder, name, data):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)
    return name


def newer(path):
    """A copy as a newer wattlaw would have written it."""
    copy = path + ".newer"
    shutil.copy(path, copy)
    with sqlite3.connect(copy) as db:
        db.execute("PRAGMA user_version = 9999")
    db.close()
    with open(copy, "rb") as f:
        data = f.read()
    os.remove(copy)
    return data


def add_bad(folder, names, work):
    """Each with the words that have to say what is wrong with it."""
    paths = [os.path.join(folder, n) for n in names[:4]]
    data = [open(p, "rb").read() for p in paths]
    _, others = make(experiment(os.path.join(work, "other"), "other", 1), 10)
    foreign = open(os.path.join(work, "other/store/shards", others[0]), "rb").read()
    later = newer(paths[1])
    return {write(folder, ".".join([*names[0].split(".")[:2], "t1", *names[0].split(".")[3:]]), data[0][:len(data[0]) // 2]): "truncated or damaged",
            write(folder, rename(others[0], "t2", foreign), foreign): "it is of campaign other",
            write(folder, rename(names[1], "zz", later), later): "newer wattlaw",
            write(folder, rename(names[2], "zz", data[2]), data[2]): "is done already",
            write(folder, "notes.txt", b"mine"): "not the name of a shard"}


def collect(path):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    p = subprocess.run([wattlaw, "sweep", "exp.ini", "--detach", "--quiet"], cwd=os.path.dirname(path), text=True, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    check(p.returncode == 0, p.stdout[-2000:], p.stderr[-4000:])
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return p.stdout + p.stderr, time.monotonic() - begin, cpu_s, after.ru_maxrss / 1024


def main():
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 3400
    with tempfile.TemporaryDirectory(dir=sys.argv[4] if len(sys.argv) > 4 else None) as work:
        path = experiment(os.path.join(work, "campaign"), "large", n // 2)
        folder, names = make(path)
        check(len(names) == n, len(names), "shards, not", n)
        size = sum(os.path.getsize(os.path.join(folder, name)) for name in names)
        bad = add_bad(folder, names, work)
        text, wall_s, cpu_s, peak_mb = collect(path)
        with sqlite3.connect(os.path.join(work, "campaign/store/wattlaw.db")) as db:
            got = db.execute("SELECT status, count(*), count(DISTINCT trial || ' ' || repeat) FROM run GROUP BY 1").fetchall()
            rows = db.execute("SELECT count(*) FROM sample").fetchone()[0]
        check(got == [("done", n, n)] and rows == n * SAMPLES * CHANNELS, got, rows)
        for name, why in bad.items():
            line = [line for line in text.splitlines() if name in line]
            check(len(line) == 1 and "left where it is" in line[0] and why in line[0], name, why, line or text)
            check(os.path.exists(os.path.join(folder, name)), name, "is left")
        print(f"{n} shards of {SAMPLES} readings of {CHANNELS} channels, {size / 1e6:.0f} MB: {wall_s:.1f} s, {cpu_s:.1f} s of processor time "
              f"({1e3 * cpu_s / n:.1f} ms a shard), peak {peak_mb:.0f} MB; {len(bad)} bad ones named and left")
        check(cpu_s / n < CPU_S_MAX, "too slow:", cpu_s / n, "s a shard")
        check(peak_mb < PEAK_MB_MAX, "too large:", peak_mb, "MB")
        _, wall_s, cpu_s, _ = collect(path)
        print(f"again, with nothing to take: {wall_s:.2f} s, {cpu_s:.2f} s of processor time")


main()
