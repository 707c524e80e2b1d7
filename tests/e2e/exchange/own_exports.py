"""What wattlaw exports comes back as the same observations and readings, marked as imported: own_exports.py WATTLAW FIXTURES"""
import csv
import os
import sqlite3
import sys

from harness import Workspace, expect

FIXTURES = os.path.join(sys.argv[2], "import")
NAME = '=a, "b" net'  # a formula to a spreadsheet, with what CSV quotes
SMI = "index, timestamp, power.draw [W], clocks.sm [MHz]\n" + "".join(
    f"{g}, 2026/11/20 10:00:{s:02d}.{s:03d}, {100 + s / 3 + 7 * g:.2f} W, {'[N/A]' if s == 5 else f'{1400 + s} MHz'}\n" for s in range(41) for g in (0, 1))
RAPL = "# timestamp reading-time[ns] cpu-0[uJ] dram-0[W]\n" + "".join(f"  2025-10-07_09:38:{s:02d}.250000 45560 {5e9 + 61.7e6 * s:.0f} {12 + s / 7}\n" for s in range(11))
ZEUS = "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n" + "".join(f"{10 * i}.5,w{i},{1 + i / 3},{100 + i / 7},{200 - i / 9}\n" for i in range(3))
TABLE = "workload,workers,local_batch,time_s,energy_j,samples,estimated\na,1,16,100.25,250.0625,50000,1\na,2,16,50.5,,50000,0\n"

OBSERVATIONS = "SELECT s.workload, s.workers, s.nodes, s.local_batch, s.hardware, o.epoch, o.time_s, o.energy_j, o.samples, o.updates, o.metric, o.metric_value, o.estimated, " \
    "s.extra FROM observations o JOIN setting s ON s.run = o.run ORDER BY o.run, o.epoch"
LOST = ["run", "source", "achieved_clock_mhz"]  # columns: numbered anew, says where it is from, needs readings
ENERGIES = "SELECT e.run, d.host, d.uuid, e.scope, e.method = 'counter', e.energy_j, e.estimated, e.energy_lo_j, e.energy_hi_j, e.idle_j FROM energy e JOIN device d ON d.id = e.device " \
    "WHERE e.epoch IS NULL AND e.chosen AND e.energy_j IS NOT NULL ORDER BY e.run, d.host, d.uuid, e.scope"
STARTS = "SELECT id, start_wall_ns, (stop_mono_ns - start_mono_ns) / 1e9 FROM run ORDER BY id"


def plain(uuid):
    return uuid.split(":", 1)[1]


def same(a, b):
    return a == b or (isinstance(a, float) and isinstance(b, (int, float)) and abs(a - b) <= 2e-9 * max(1, abs(a)))


def compare(what, got, want):
    expect(len(got) == len(want), f"{what}: {len(got)} rows, not {len(want)}: {got}")
    for x, y in zip(got, want):
        expect(len(x) == len(y) and all(map(same, x, y)), f"{what}: {x}, not {y}")


def export(p, kind, form, name, store="all.db"):
    r = p.run("export", *kind, "--format", form, store, "-o", name)
    expect(r.returncode == 0, f"export {form}", r)
    return name


def fill(p):
    """Runs with readings of GPUs and of packages, epochs with metrics, windows without dates, a table with an estimate and with a missing energy."""
    p.imported("--store", "all.db", "--timezone", "UTC", "--host", "n1", "--name", NAME, "--workers", 2, "--local-batch", 16, p.write("smi.csv", SMI))
    expect(p.run("import", "--store", "all.db", "--run", 1, os.path.join(FIXTURES, "events.out.tfevents.fixture")).returncode == 0, "epochs")
    p.imported("--store", "all.db", "--host", "n two", p.write("rapl.log", RAPL))
    p.imported("--store", "all.db", os.path.join(FIXTURES, "perun.csv"))
    p.imported("--store", "all.db", p.write("zeus.csv", ZEUS))
    p.imported("--store", "all.db", p.write("table.csv", TABLE))
    with sqlite3.connect(p.at("all.db")) as db:  # what marks and the idle machine would have given
        db.executescript("""
            UPDATE energy SET idle_j = energy_j / 4 WHERE run < 4 AND epoch IS NULL OR run = 1;
            INSERT INTO metric_def SELECT 1, name, 1, 'Loss in training', 'nat', 0, NULL, 1 FROM metric WHERE run = 1 GROUP BY name LIMIT 1;
            UPDATE epoch SET updates = 10 * epoch + run, tokens = 1000 * epoch WHERE run IN (1, 8);
            INSERT INTO span SELECT id, 'steps', start_mono_ns + 1000, start_mono_ns + 500001000, 0.5, 12, 96, 6144, 21.5, 20.25, 22.75, 1, 0, NULL FROM run WHERE id = 2;
            INSERT INTO span SELECT id, 'steps', start_mono_ns, start_mono_ns + 500000000, 0.5, 7, NULL, NULL, NULL, NULL, NULL, 0, 0, 'a hole' FROM run WHERE id = 4;
            DELETE FROM total; INSERT INTO total SELECT * FROM total_now;""")


def table_of(p, store):
    """The columns of `export` that the import has to bring back."""
    with open(p.at(export(p, [], "csv", "t.csv", store)), encoding="utf-8", newline="") as f:
        return [{k: v for k, v in row.items() if v and k not in LOST} for row in csv.DictReader(f)]


def compare_tables(what, got, want, without=()):
    expect(len(got) == len(want), f"{what}: {len(got)} rows, not {len(want)}")
    for x, y in zip(got, want):
        y = {k: v for k, v in y.items() if k not in without}
        expect(x.keys() == y.keys(), f"{what}: {x}, not {y}")
        for k in x:
            expect(x[k] == y[k] or same(float(x[k]), float(y[k])), f"{what}: {k}: {x}, not {y}")


def observations(p):
    first = p.rows(OBSERVATIONS, "all.db")
    expect(len(first) == 2 + 1 + 2 + 3 + 2 and [row[5] for row in first[:3]] == [2, 3, None] and first[0][10] and first[-1][7] is None and first[-2][12] == 1, f"{first}")
    whole = table_of(p, "all.db")
    for column, rows in (("energy_lo_j", 4), ("energy_hi_j", 4), ("idle_j", 4), ("metric_unit", 2), ("metric_better", 2), ("tokens", 4), ("updates", 5)):
        expect(sum(column in row for row in whole) == rows, f"{column} in {rows} rows: {whole}")
    for form in ("csv", "csv-long", "jsonl"):
        answer, r = p.imported("--store", form + ".db", export(p, ["observations"], form, "o." + form))
        expect(answer["broken"] == 0 and len(answer["runs"]) == 9, f"{form}: {answer}", r)
        compare(form, p.rows(OBSERVATIONS, form + ".db"), first)
        compare_tables(form, table_of(p, form + ".db"), whole, ["metric_better"] if form == "csv-long" else [])
        expect(p.rows("SELECT DISTINCT format, tool FROM source", form + ".db") == [("wattlaw-observations", "wattlaw")], f"{form}: its source")
        p.refused("--store", form + ".db", "o." + form, why="already imported")
    r = p.run("show", "csv.db")
    expect("imported" in r.stdout, "marked as imported", r)


def metrics(p):
    answer, r = p.imported("--store", "m.db", export(p, [], "openmetrics", "all.prom"))
    expect(answer["broken"] == 0, f"{answer}", r)
    compare("openmetrics", p.rows(OBSERVATIONS, "m.db"), p.rows(OBSERVATIONS, "all.db"))
    compare_tables("openmetrics", table_of(p, "m.db"), table_of(p, "all.db"))
    for what in ("metric_def", "span"):
        columns = "run, name, place, label, unit, larger, baseline_of, main" if what == "metric_def" else "run, kind, time_s, steps, samples, tokens, energy_j, energy_lo_j, energy_hi_j, estimated"
        compare(f"openmetrics: {what}", p.rows(f"SELECT {columns} FROM {what} ORDER BY 1, 2", "m.db"), p.rows(f"SELECT {columns} FROM {what} ORDER BY 1, 2", "all.db"))
    named = [(run, host, plain(uuid), *rest) for run, host, uuid, *rest in p.rows(ENERGIES, "all.db")]
    compare("openmetrics: devices", [(run, host, plain(uuid), *rest) for run, host, uuid, *rest in p.rows(ENERGIES, "m.db")], named)
    compare("openmetrics: starts", [(i, t and t // 1000, d) for i, t, d in p.rows(STARTS, "m.db")], [(i, t and t // 1000, d) for i, t, d in p.rows(STARTS, "all.db")])
    compare("openmetrics: metrics", p.rows("SELECT run, epoch, name, value FROM metric ORDER BY 1, 2, 3", "m.db"), p.rows("SELECT run, epoch, name, value FROM metric ORDER BY 1, 2, 3", "all.db"))


SAMPLES = "SELECT r.id, d.host, d.uuid, c.quantity, c.unit, c.scope, c.variant, c.counter, c.estimated, (s.t_ns - r.start_mono_ns) / 1000, s.value FROM sample s " \
    "JOIN channel c ON c.id = s.channel JOIN device d ON d.id = c.device JOIN run r ON r.id = c.run ORDER BY 1, 2, 3, 4, 5, 6, 7, s.t_ns"


def samples(p):
    def of(store):
        return [(*row[:2], plain(row[2]), *row[3:]) for row in p.rows(SAMPLES, store)]
    energies = [(run, host, plain(uuid), *rest[:-1]) for run, host, uuid, *rest in p.rows(ENERGIES, "all.db") if run <= 4]
    expect(sum(row[-1] is None for row in of("all.db")) == 2, "readings that failed")
    for form in ("csv", "csv-wide"):
        store = f"s-{form}.db"
        answer, r = p.imported("--store", store, export(p, ["samples"], form, "s." + form))
        expect(answer["broken"] == 0 and [run["label"] for run in answer["runs"]] == [f"run {i}" for i in (1, 2, 3, 4)], f"{form}: {answer}", r)
        compare(form, of(store), of("all.db"))
        compare(f"{form}: energies", [(run, host, plain(uuid), *rest[:-1]) for run, host, uuid, *rest in p.rows(ENERGIES, store)], energies)
        expect(p.rows("SELECT count(start_wall_ns) FROM run", store) == [(0,)], "no dates are in the file, and none are made up")
        p.refused("--store", store, "s." + form, why="already imported")


def windows(p):
    """Zeus's windows of runs without a date have none."""
    export(p, [], "zeus", "windows.csv")
    with open(p.at("windows.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    undated = [row["start_time"] for row in rows if row["window_name"].startswith(("run5", "run6", "run7"))]
    expect(undated == ["", "", ""] and all(row["start_time"] != "0" for row in rows), f"missing is missing: {rows}")
    dated = [row for row in rows if row["window_name"].startswith("run1_")]
    expect(len(dated) == 2 and abs(float(dated[0]["start_time"]) - 1795168811) < 15, f"{dated}")
    p.imported("--store", "w.db", "windows.csv")
    got = p.rows("SELECT (stop_mono_ns - start_mono_ns) / 1e9 FROM run WHERE start_wall_ns IS NULL ORDER BY id", "w.db")
    want = p.rows("SELECT (stop_mono_ns - start_mono_ns) / 1e9 FROM run WHERE start_wall_ns IS NULL ORDER BY id", "all.db")
    compare("zeus", got, want)


def hostile(p):
    p.write("simulated.csv", open(p.at("o.csv"), encoding="utf-8").read())
    lines = open(p.at("o.csv"), encoding="utf-8").read().splitlines()
    column = lines[0].split(",").index("simulated")
    with open(p.at("o.csv"), encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))

    def table(name, change):
        changed = [change(i, list(row)) for i, row in enumerate(rows)]
        with open(p.at(name), "w", encoding="utf-8", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows(changed)
        return name

    def set_field(field, value, only=lambda i: True):
        at = rows[0].index(field)
        return lambda i, row: row[:at] + [value] + row[at + 1:] if i and only(i) else row
    expect(column == rows[0].index("simulated"), "columns")
    p.refused("--store", "none.db", table("sim.csv", set_field("simulated", "1")), why="no file can be imported")
    answer, r = p.imported("--dry-run", table("some.csv", set_field("simulated", "1", lambda i: i == 3)))
    expect(len(answer["runs"]) == 8 and answer["passed_over"]["simulated runs, in which nothing was measured"] == 1, f"{answer}", r)
    for field, value, why in (("time_s", "fast", 'time_s: "fast" is not a number'), ("workers", "2,5", 'workers: "2,5" is not a number'), ("epoch", "0", '"0" of run "1" is not an epoch'),
                              ("run", "", '"2" of run "" is not an epoch'), ("energy_j", "-5", "an energy of counted of -5 J is not that of a run"), ("time_s", "1e300", "is not that of a run"), ("energy_lo_j", "1e9", "J between 1e+09 and"), ("energy_hi_j", "1", "and 1 J is not that"),
                              ("energy_lo_j", "-1", "J between -1 and"), ("idle_j", "-5", "an idle energy of counted of -5 J")):
        r = p.run("import", "--dry-run", table("bad.csv", set_field(field, value, lambda i: i == 1)))
        expect(why in r.stderr and r.returncode == 0, f"{field} {value}: {why}", r)
    new = ("energy_lo_j", "energy_hi_j", "idle_j", "metric_unit", "metric_better")
    p.imported("--store", "old.db", table("old.csv", lambda i, row: [v for name, v in zip(rows[0], row) if name not in new]))
    compare_tables("without intervals", table_of(p, "old.db"), table_of(p, "all.db"), new)
    lines = open(p.at("s.csv"), encoding="utf-8").read().splitlines(True)
    for old, new, why in (("1,", "x,", '"x" is not the number of a run'), (",0.000000,", ",soon,", '"soon" is not a time in s'), ("power_w,W", "power_w,mW", "power_w of gpu0 (")):
        r = p.run("import", "--dry-run", p.write("bad.csv", lines[0] + lines[1].replace(old, new, 1) + "".join(lines[2:30])))
        expect(why in r.stderr and r.returncode == 0, f"{new}: {why}", r)
    answer, r = p.imported("--dry-run", p.write("sim.csv", lines[0] + "".join(line.replace(",0,0,", ",0,1,", 1) if i < 10 else line for i, line in enumerate(lines[1:60]))))
    expect(answer["passed_over"] == {"simulated readings": 10}, f"{answer}", r)
    p.refused("--dry-run", p.write("w.csv", "run,t_s,what is this\n1,0,5\n"), why='w.csv:1: the column "what is this" does not name a device, a scope and a quantity')
    prom = open(p.at("all.prom"), encoding="utf-8").read()
    new = ("_lower_", "_upper_", "_idle_", "_updates{", "_tokens{", "_metric_info{", "wattlaw_steps_")
    p.imported("--store", "old-prom.db", p.write("old.prom", "".join(line for line in prom.splitlines(True) if not any(word in line for word in new))))
    expect(p.rows("SELECT count(*), count(energy_lo_j) FROM energy WHERE energy_j IS NOT NULL", "old-prom.db") == [(p.rows("SELECT count(*) FROM energy WHERE energy_j IS NOT NULL", "m.db")[0][0], 0)], "a file without intervals")
    for old, new, why in (('{run="1"', '{run="1', "is not a metric of a run"), ("} ", "} x", "is not a metric of a run"), ("\nwattlaw_run_duration", "\nother_run_duration", "is not a metric of a run")):
        r = p.run("import", "--dry-run", p.write("bad.prom", prom.replace(old, new, 1)))
        expect(why in r.stderr, f"{new}: {why}", r)
    broken = open(p.at("o.jsonl"), encoding="utf-8").read()
    r = p.run("import", "--dry-run", p.write("bad.jsonl", broken.replace("\n", "\n[1]\n{\n", 1)))
    expect(r.returncode == 0 and "bad.jsonl:2: not an object in JSON" in r.stderr and "bad.jsonl:3: not an object" in r.stderr, "JSON Lines", r)


with Workspace(sys.argv[1]) as workspace:
    for part in (fill, observations, metrics, samples, windows, hostile):
        part(workspace)
print("observations, metrics, readings and windows come back as they were")
