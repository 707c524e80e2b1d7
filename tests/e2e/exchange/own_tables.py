"""Tables of results of no known tool: --map, names that leave no doubt, and what wattlaw itself exports: own_tables.py WATTLAW"""
import sys
import zipfile

from harness import Workspace, expect

KWH = 3.6e6


def runs(p, content, *options, name="mine.csv"):
    """(time_s, energy_j, settings) of each run, by a dry run."""
    answer, r = p.imported("--dry-run", p.write(name, content), *options)
    return [(run["time_s"], run.get("energy_j"), run["settings"]) for run in answer["runs"]], answer, r


def by_map(p):
    table = "cards;dauer;used energy;batch;colour\n" + "".join(f"{n};{2 / n};{0.1 * n};{32};red\n" for n in (1, 2, 4))
    options = ["--map", "workers=cards", "--map", "time_s=dauer:h", "--map", "energy_j=used energy:kWh", "--map", "local_batch=batch", "--name", "lab"]
    got, answer, r = runs(p, table, *options)
    expect([(t, round(j, 6)) for t, j, _ in got] == [(7200, 0.1 * KWH), (3600, 0.2 * KWH), (1800, 0.4 * KWH)], f"units: {got}", r)
    expect([(s["workers"], s["local_batch"], s["workload"]) for _, _, s in got] == [(1, 32, "lab"), (2, 32, "lab"), (4, 32, "lab")], f"settings: {got}", r)
    expect(answer["passed_over"] == {"column colour": 3}, f"{answer}", r)
    expect("taken for that of the node" in r.stderr, "whose energy it is", r)
    p.imported("mine.csv", *options)
    p.refused("mine.csv", *options, why="already imported")
    expect(p.rows("SELECT DISTINCT format FROM source") == [("table",)], "marked as imported")
    r = p.run("fit", "wattlaw.db")
    expect(r.returncode == 0 and "source table" in r.stdout, "fit", r)


def by_name(p):
    for head, time_s, energy_j in (("time_s,energy_j,workers", 2, 3), ("Duration [min],Energy (kWh),GPUs", 120, 3 * KWH), ("elapsed_ms,energy_kj,world_size", 2e-3, 3e3),
                                   ("runtime_hours,total_energy_Wh,num_gpus", 7200, 10800), ("time_s\tpower_kw\tn_gpus", 2, 6000)):
        sep = "\t" if "\t" in head else ","
        got, _, r = runs(p, head + "\n" + sep.join("234") + "\n")
        expect(abs(got[0][0] / time_s - 1) < 1e-12 and abs(got[0][1] / energy_j - 1) < 1e-12 and got[0][2]["workers"] == 4, f"{head}: {got}", r)


def refusals(p):
    table = "time_s,energy,gpus\n1,2,3\n"
    p.write("mine.csv", table)
    for options, why, status in (
            ([], 'mine.csv: the unit of the column "energy" is not known: give --map energy_j=energy:UNIT', 1),
            (["--map", "energy_j=enrgy:J"], 'mine.csv has no column "enrgy"; did you mean "energy"?', 1),
            (["--map", "energy_j=energy:W"], '"W" is not a unit of energy_j', 2), (["--map", "workers=gpus:J"], '"J" is not a unit of workers', 2),
            (["--map", "energy=energy"], '"energy" is not a quantity or setting of a run; did you mean energy_j?', 2), (["--map", "energy_j"], "expected NAME=COLUMN", 2),
            (["--map", "energy_j=energy:J", "--map", "energy_j=gpus:J"], 'both columns "energy" and "gpus" are energy_j', 1),
            (["--as", "zeus", "--map", "energy_j=energy:J"], "--map is for a table and not for --as zeus", 2)):
        p.refused("mine.csv", *options, why=why, status=status)
    for name, content, why in (("twice.csv", "time_s,time_s,workers\n1,2,3\n", "the column time_s is there twice"), ("two.csv", "time_s,duration_s,workers\n1,2,3\n", 'both columns "time_s" and "duration_s" are time_s'),
                               ("comma.csv", "time_s;energy_j;workers\n1,5;2;3\n", 'time_s: "1,5" is not a number with a decimal point'), ("none.csv", "energy_j,workers\n1,2\n", "not of a known format"),
                               ("past.csv", "time_s,energy_j,workers\n-1,2,3\n0,2,3\n1e300,2,3\n1,-2,3\n1,2,2.5\n1,2,1e99\n", "past.csv:2: row 1: a time of -1 s is not that of a run"), ("head.csv", "time_s,workers\n", "a header without rows"),
                               ("simulated.csv", "time_s,energy_j,workers,simulated\n1,2,3,1\n", "a simulated row: nothing was measured")):
        p.refused(p.write(name, content), why=why)


COLUMNS = "SELECT workers, local_batch, time_s, energy_j, samples FROM observations ORDER BY workers, time_s"


def round_trips(p):
    """What wattlaw exports in a format that import reads comes back as it was: the table of observations, that of a bundle, Zeus's windows."""
    p.write("own.csv", "workload,workers,local_batch,time_s,energy_j,samples\n" + "".join(f"a,{n},16,{100 / n + 1 / 3},{250.0625 * n},50000\n" for n in (1, 2, 4, 8)))
    p.imported("own.csv", "--store", "first.db")
    first = p.rows(COLUMNS, "first.db")
    expect(len(first) == 4 and first[1] == (2, 16, 50 + 1 / 3, 500.125, 50000), f"{first}")
    exported(p, "csv", "first.db", "wide.csv")
    exported(p, "bundle", "first.db", "lab.zip")
    with zipfile.ZipFile(p.at("lab.zip")) as bundle:
        p.write("bundled.csv", bundle.read(next(name for name in bundle.namelist() if name.endswith("observations.csv"))))
    for table in ("wide.csv", "bundled.csv"):
        p.imported(table, "--store", table + ".db")
        expect(p.rows(COLUMNS, table + ".db") == first, f"{table}: {p.rows(COLUMNS, table + '.db')}")
    p.write("zeus.csv", "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n" + "".join(f"{10 * i}.5,w{i},{1 + i / 3},{100 + i / 7},{200 - i / 9}\n" for i in range(5)))
    p.imported("zeus.csv", "--store", "zeus.db")
    exported(p, "zeus", "zeus.db", "windows.csv")
    p.imported("windows.csv", "--store", "windows.db")
    for (_, _, time_s, energy_j, _), (_, _, back_s, back_j, _) in zip(p.rows(COLUMNS, "zeus.db"), p.rows(COLUMNS, "windows.db"), strict=True):
        expect(abs(time_s - back_s) < 2e-9 and energy_j == back_j, f"{time_s} s {energy_j} J: {back_s} s {back_j} J")


def exported(p, form, store, name):
    r = p.run("export", "--format", form, store, "-o", name)
    expect(r.returncode == 0, f"export {form}", r)


def provenance(p):
    """No export calls an imported energy measured."""
    for store, device in (("first.db", "table:all"), ("zeus.db", "zeus:gpu0")):
        r = p.run("export", "--format", "openmetrics", store)
        energies = [line for line in r.stdout.splitlines() if "_energy_" in line and line[0] != "#"]
        expect(len(energies) > 8 and all('provenance="imported"' in line for line in energies) and f'device="{device}"' in r.stdout, "openmetrics", r)
    for form in ("proposal", "ai-act"):
        r = p.run("report", "first.db", "--form", form)
        expect(r.returncode == 0 and "table (imported by wattlaw" in r.stdout and "measured by wattlaw" not in r.stdout and "mWh, measured" not in r.stdout, form, r)
    r = p.run("export", "--format", "zeus", "zeus.db")
    expect(r.stdout.count("_imported,") == 5, "zeus", r)
    r = p.run("export", "--format", "github-action-benchmark", "first.db")
    expect(r.stdout.count("energy of a run (imported)") == 4, "benchmark", r)


with Workspace(sys.argv[1]) as p:
    by_map(p)
    by_name(p)
    refusals(p)
    round_trips(p)
    provenance(p)
print("tables of one's own, and what is wrong with them")
