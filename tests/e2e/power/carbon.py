"""Carbon intensity over time from a file: measure, energy and report on a store: carbon.py WATTLAW"""
import datetime
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

wattlaw = os.path.abspath(sys.argv[1])


def check(true, *what):
    if not true:
        sys.exit("FAILED: " + " ".join(map(str, what)))


def iso(t, how="%Y-%m-%dT%H:%M:%SZ"):
    return datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime(how)


with tempfile.TemporaryDirectory() as folder:
    def run(*args, status=0):
        r = subprocess.run([wattlaw, *args], cwd=folder, text=True, capture_output=True)
        check(r.returncode == status, args, "exit", r.returncode, r.stdout, r.stderr)
        return r.stdout, r.stderr

    def write(name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
        return name

    # 100 W for a second, then 300 W; marks make the run of about two seconds one worker's epoch.
    write("power.csv", "t_s,device,quantity,value\n" + "".join(f"{t / 20},gpu0,power_w,{100 if t < 20 else 300}\n"
                                                               for t in range(120)))
    job = ("import os, time; w = lambda s: os.write(os.open(os.environ['WATTLAW_MARKS'], os.O_WRONLY | os.O_APPEND | os.O_CREAT),"
           " (f'{time.monotonic_ns()} 0 {s}\\n').encode()); w('start workload=toy workers=1'); w('epoch-begin epoch=1');"
           " time.sleep(2); w('epoch-end epoch=1 samples=10 updates=1')")
    run("measure", "--sensors", "replay", "--replay-file", "power.csv", "--", sys.executable, "-c", job)
    store = sqlite3.connect(os.path.join(folder, "wattlaw.db"))
    start_s, end_s = [t / 1e9 for t in store.execute("SELECT start_wall_ns, stop_wall_ns FROM run").fetchone()]
    samples = store.execute("SELECT t_ns - r.start_mono_ns, value FROM sample JOIN channel c ON c.id = channel JOIN run r "
                            "ON r.id = c.run WHERE quantity = 'power_w' ORDER BY t_ns").fetchall()
    middle_s = (start_s + end_s) / 2
    length_ns, half = (end_s - start_s) * 1e9, [0, 0]
    for (a, p), (b, q) in zip(samples, samples[1:]):
        for k in range(100):  # small pieces of the line between two readings
            t = a + (b - a) * (k + 0.5) / 100
            if 0 <= t <= length_ns:
                half[t > length_ns / 2] += (p + (q - p) * (k + 0.5) / 100) * (b - a)
    want = (100 * half[0] + 900 * half[1]) / sum(half)

    def intensity(name, *options):
        return json.loads(run("energy", "wattlaw.db", "--json", "--carbon-csv", name, *options)[0])["footprint"]

    # The intensity changes in the middle of the run: each half counts with its own energy.
    plain = write("plain.csv", f"timestamp,carbon_intensity\n{middle_s - 3600},100\n{middle_s},900\n{middle_s + 3600},1\n")
    group, = intensity(plain, "--pue", "1.5")["groups"]
    kwh = json.loads(run("energy", "wattlaw.db", "--json")[0])["groups"][0]["kwh"]
    check(abs(group["carbon_g"] / (1.5 * kwh * want) - 1) < 0.05, group, kwh, want)

    # Exports of Electricity Maps and WattTime are recognised by their columns.
    hour = int(start_s) // 3600 * 3600
    maps = write("maps.csv", "Datetime (UTC),Zone id,Carbon intensity gCO\u2082eq/kWh (direct),Carbon intensity gCO\u2082eq/kWh "
                 "(Life cycle)\n" + "".join(f"{iso(hour + 3600 * k, '%Y-%m-%d %H:%M:%S')},DE,300,400\n" for k in (-1, 0, 1, 2)))
    f = intensity(maps)
    check(f["carbon_kind"] == "average" and abs(f["groups"][0]["carbon_g"] / (400 * kwh) - 1) < 1e-9, f)
    time = write("watttime.csv", "point_time,value\n" + "".join(
        f"{iso(hour + 3600 * (k + 1), '%Y-%m-%dT%H:%M:%S')}+01:00,1000\n" for k in (-1, 0, 1, 2)))
    f = intensity(time)
    check(f["carbon_kind"] == "marginal" and abs(f["groups"][0]["carbon_g"] / (453.59237 * kwh) - 1) < 1e-9, f)

    # Time that a file does not cover has no intensity, and a note says so.
    old = write("old.csv", "timestamp,carbon_intensity\n2020-01-01T00:00Z,300\n2020-01-01T01:00Z,310\n")
    f = intensity(old)
    check(f["groups"][0]["carbon_g"] is None and "old.csv has no intensity for 20" in f["notes"][0], f)
    _, err = run("measure", "--sensors", "replay", "--replay-file", "power.csv", "--store", "x.db", "--carbon-csv", old, "--",
                 "sleep", "0.4")
    check("carbon       unknown: old.csv does not cover the whole time" in err and "note: run 1: old.csv" in err, err)

    # Errors in files name the line; contradictory options are rejected.
    for text, words in (("timestamp,carbon_intensity\n2020-01-01T00:00Z,300\n2020-01-01 25h,310\n", "bad.csv:3: timestamp"),
                        ("timestamp,carbon_intensity\n2020-01-01T00:00Z,300\n2020-01-01T00:00Z,310\n", "bad.csv:3: timestamp"),
                        ("timestamp,carbon_intensity\n2020-01-01T00:00Z,x\n2020-01-01T01:00Z,310\n", "bad.csv:2"),
                        ("timestamp,carbon_intensity\n2020-01-01T00:00Z,-1\n2020-01-01T01:00Z,310\n", "bad.csv:2: carbon_intensity"),
                        ("timestamp,x\n2020-01-01T00:00Z,1\n", "no column of intensities"),
                        ("when,carbon_intensity\n2020-01-01T00:00Z,1\n", "no column of times")):
        _, err = run("energy", "wattlaw.db", "--carbon-csv", write("bad.csv", text), status=1)
        check(words in err, words, "is not in", err)
    _, err = run("energy", "wattlaw.db", "--carbon-csv", plain, "--country", "DE", status=2)
    check("a file replaces carbon" in err, err)
    write("table.csv", "workload,workers,run,time_s,energy_j\na,1,1,10,100\n")
    _, err = run("energy", "table.csv", "--carbon-csv", plain, status=2)
    check("needs a store" in err, err)

    # The report has a table of it.
    run("report", "wattlaw.db", "--formats", "csv,html", "--out", "report", "--carbon-csv", plain, "--price", "0.25")
    table = open(os.path.join(folder, "report/tables/footprint.csv"), encoding="utf-8").read()
    check("carbon" in table and "cost" in table and abs(float(table.splitlines()[1].split(",")[4]) / want - 1) < 0.05, table, want)
    check("Carbon and cost" in open(os.path.join(folder, "report/report.html"), encoding="utf-8").read())
