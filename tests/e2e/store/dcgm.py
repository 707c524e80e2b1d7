"""wattlaw import dcgm: known loads in each format of DCGM give their known energy: dcgm.py WATTLAW"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

wattlaw = os.path.abspath(sys.argv[1])
START, SECONDS = 1700000000, 60  # 2023-11-14T22:13:20Z
UUIDS = ("GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52", "GPU-5f0a0000-0000-4000-8000-000000000001")
WATTS = (300, 200)
JOULES = sum(WATTS) * SECONDS
DCGM = {"DCGM_FI_DEV_POWER_USAGE": lambda i, t: WATTS[i] + (t % 2 - .5) / 10,
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": lambda i, t: 1000 * (2.2e6 + WATTS[i] * t),
        "DCGM_FI_DEV_GPU_UTIL": lambda i, t: 98,
        "DCGM_FI_DEV_MEMORY_TEMP": lambda i, t: 9223372036854775794}


def expect(condition, what, run=None):
    if not condition:
        sys.exit(what if run is None else f"{what}\nexit {run.returncode}\n{run.stdout}\n{run.stderr}")


def format_value(value):
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def labels(i):
    return f'{{gpu="{i}",UUID="{UUIDS[i]}",modelName="NVIDIA A100-SXM4-40GB",Hostname="n{i + 1}"}}'


def scrape_rows(names):
    return "".join(f"# {START + t}\n" + "".join(f"{n}{labels(i)} {format_value(DCGM[n](i, t))}\n" for n in names for i in (0, 1))
                   for t in range(SECONDS + 1))


def dmon_rows(prefix):
    head = "#Entity   POWER    TOTEC\n", "ID        W        mJ\n"
    rows = []
    for t in range(SECONDS + 1):
        stamp = f"{START + t}.000 " if prefix else ""
        rows += [stamp + h for h in head] if t % 15 == 0 else []
        rows += [f"{stamp}GPU {i}     {DCGM['DCGM_FI_DEV_POWER_USAGE'](i, t):.3f}   {2200000000 + 1000 * WATTS[i] * t}\n" for i in (0, 1)]
    return "".join(rows)


def query_range(step):
    result = [{"metric": {"__name__": n, "UUID": UUIDS[i], "Hostname": "n1", "gpu": str(i)},
               "values": [[START + t, format_value(DCGM[n](i, t))] for t in range(0, SECONDS + 1, step)]} for n in DCGM for i in (0, 1)]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


class Workspace:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-dcgm-")
        self.path = self.folder.name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as f:
            f.write(text)
        return name

    def run(self, *args):
        return subprocess.run([wattlaw, *args], cwd=self.path, text=True, capture_output=True, check=False)

    def import_dcgm(self, *args):
        r = self.run("import", "dcgm", "--json-file", "i.json", *args)
        expect(r.returncode == 0, f"import {args}", r)
        with open(os.path.join(self.path, "i.json"), encoding="utf-8") as f:
            return json.load(f), r

    def rows(self, sql):
        with sqlite3.connect(os.path.join(self.path, "wattlaw.db")) as db:
            return db.execute(sql).fetchall()


# Each format gives the joules of both GPUs, by the counter; without it by power, with an interval that holds them.
FORMATS = [("scrapes.prom", scrape_rows(DCGM), []), ("power.prom", scrape_rows(["DCGM_FI_DEV_POWER_USAGE"]), []),
           ("range.json", query_range(15), []), ("stamped.txt", dmon_rows(True), []),
           ("bare.txt", dmon_rows(False), ["--start", str(START), "--period", "1s", "--uuids", ",".join(UUIDS)])]
with Workspace() as p:
    for name, text, options in FORMATS:
        summary, r = p.import_dcgm(p.write(name, text), *options)
        expect(abs(summary["energy_j"] - JOULES) < 1e-3 * JOULES, f"{name}: {summary}", r)
        expect(summary["energy_lo_j"] <= JOULES * 1.001 and summary["energy_hi_j"] >= JOULES * .999, f"{name}: interval: {summary}")
        expect(re.search(r"^energy 30\.0 kJ \([0-9.]+ to [0-9.]+ kJ, imported\), mean 500 W \(imported\)$", r.stdout, re.M), f"{name}: one unit", r)
        expect(summary["time_s"] == SECONDS and summary["source"] == "dcgm" and len(summary["devices"]) == 2, f"{name}: {summary}")
        expect(summary["started"] == "2023-11-14T22:13:20Z" and summary["broken"] == 0, f"{name}: {summary}")
    expect(p.rows("SELECT count(*), sum(status = 'done') FROM run") == [(5, 5)], "five runs")
    expect(p.rows("SELECT DISTINCT sensor FROM device") == [("dcgm",)], "the source is said")
    expect(("dcgm:" + UUIDS[0], "n1") in p.rows("SELECT uuid, host FROM device"), "by UUID")
    expect(p.rows("SELECT nodes, hardware FROM observations WHERE run = 1") == [(2, "NVIDIA A100-SXM4-40GB")], "two hosts")
    expect(p.rows("SELECT DISTINCT message FROM log WHERE message LIKE '%mem_temp%' AND message LIKE 'GPU-6%61%'") ==
           [(f"{UUIDS[0]}: mem_temperature_c: 61 readings are missing: not supported",)], "missing, with the reason")
    expect(not p.rows("SELECT * FROM sample WHERE value > 1e9 OR value < 0"), "no sentinel")
    r = p.run("show", "wattlaw.db", "--run", "1")
    expect(" dcgm " in r.stdout and "measured by NVIDIA DCGM" in r.stdout, "shown", r)
    r = p.run("rebuild", "wattlaw.db")
    expect(r.returncode == 0 and p.rows("SELECT round(energy_j) FROM observations WHERE run = 1") == [(JOULES,)], "rebuilt", r)

# The same again is refused, and leaves no run; a part of it is another run.
with Workspace() as p:
    p.import_dcgm(p.write("scrapes.prom", scrape_rows(DCGM)), "--name", "train", "--workers", "2", "--threads", "8")
    r = p.run("import", "dcgm", "scrapes.prom")
    expect(r.returncode == 1 and "already imported, as run 1" in r.stderr, "twice", r)
    expect(p.rows("SELECT count(*) FROM run") == [(1,)], "no second run")
    summary, r = p.import_dcgm("scrapes.prom", "--gpus", "n2", "--from", "2023-11-14T22:13:30Z", "--to", f"{START + 40}")
    expect(summary["time_s"] == 30 and abs(summary["energy_j"] - 30 * WATTS[1]) < 7 and len(summary["devices"]) == 1, f"a part: {summary}", r)
    expect(p.rows("SELECT workload, workers, threads, nodes FROM trial WHERE id = 1") == [("train", 2, 8, None)], "what the job was")

# Errors are reported with file and line.
with Workspace() as p:
    summary, r = p.import_dcgm(p.write("cut.prom", scrape_rows(["DCGM_FI_DEV_POWER_USAGE"]) + "???\nDCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-6"))
    expect(summary["broken"] == 2 and "left out: cut.prom:184: not a metric" in r.stderr and "cut.prom:185: last line" in r.stderr,
           "lines that make no sense", r)
    for args, why, status in (
            (["dcgm", p.write("bare.txt", dmon_rows(False))], "bare.txt:3: the time of this reading is unknown: give --start", 1),
            (["dcgm", p.write("other", "hello world\n")], "other: no known DCGM field", 1),
            (["dcgm", p.write("one", scrape_rows(DCGM).split(f"# {START + 1}\n", maxsplit=1)[0])], "all readings have the same time", 1),
            (["dcgm", "cut.prom", "--from", "noon"], "--from noon: expected a time", 2),
            (["dcgm", "cut.prom", "--from", str(START + 9), "--to", str(START)], "is not before --to", 2),
            (["dcgm", "missing"], "missing: cannot open: No such file", 1), (["dcgm"], "files are missing", 2), ([], "expected files: wattlaw import FILE...", 2),
            (["dcmg", "x"], "dcmg: cannot open", 1), (["--as", "dcmg", "x"], "did you mean dcgm?", 2)):
        r = p.run("import", *args)
        expect(r.returncode == status and why in r.stderr, why, r)
    expect(p.rows("SELECT count(*) FROM run") == [(1,)], "nothing else was stored")
