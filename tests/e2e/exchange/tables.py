"""Each sample of a table of results gives the numbers of an independent reading by pandas or json: tables.py WATTLAW SOURCE_ROOT

Runs, times, energies, starts and settings of the store, and of --dry-run. The samples are other tools' own files (shared/data); this file
shares nothing with the readers but their names."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
import shared_data  # noqa: E402
from harness import Workspace, expect, pandas_or_skip  # noqa: E402
from submissions import longest_ladder, mllog, write_caraml, write_submission  # noqa: E402

pd = pandas_or_skip()

wattlaw, source_root = os.path.abspath(sys.argv[1]), sys.argv[2]
WINDOW = "zeus/profile_data/V100+resnet50+gpu0,1.csv"
TRACES = ["zeus/summary_power_v100.csv", "zeus/summary_power_a40.csv"]
MLPERF = "mlperf_v4.0_power/raw_sample/ac_1xSMC-H100-SXM-80GB_resnet_result_5759-240517075402311260012_2/result_mllog.txt"
OTHERS = ["formats/caraml/readme_results.txt", "formats/codecarbon/emissions_2.4.csv", "formats/slurm/sacct_parsable.synthetic.txt",
          "formats/slurm/scontrol_show_job_energy.txt", "formats/carbontracker/10151_2024-03-26T105926Z_carbontracker.log",
          "formats/carbontracker/10151_2024-03-26T105926Z_carbontracker_output.log", "formats/codecarbon/emissions_3.3_append_dropped_columns.csv"]
REFUSED = {"formats/ear/ear_apps_header_no_wf_2gpu.csv": "a header without rows", "zeus/summary_train.csv": "neither times nor energies",
           "formats/codecarbon/emissions_3.3_headers.csv": "nothing was measured"}
LADDERS = "mlperf_ladders/ladders.csv"
NAMES = [WINDOW, *TRACES, MLPERF, *OTHERS, *REFUSED, LADDERS]
FILES = dict(zip(NAMES, shared_data.find(source_root, *NAMES)))
KWH = 3.6e6

# The runs of a store: settings, times, energy of the run, energies of its devices.
RUNS = """SELECT s.workload, s.hardware, s.nodes, s.workers, s.local_batch, s.global_batch, s.power_cap_w,
          (r.stop_mono_ns - r.start_mono_ns) / 1e9 AS time_s, r.start_wall_ns, x.energy_j, x.estimated, r.status, r.id
          FROM run r JOIN setting s ON s.run = r.id JOIN total x ON x.run = r.id AND x.epoch = 0 ORDER BY r.id"""


def read_csv(path):
    return pd.read_csv(path, float_precision="round_trip")


def near(a, b, relative=1e-9):
    if a is None or b is None or b != b:
        return (a is None) == (b is None or b != b)
    return abs(a - b) <= relative * abs(b) + 1e-9


def stored(name, *options):
    """The runs of a fresh store, and the process; the dry run says the same, and a second import nothing."""
    with Workspace(wattlaw) as p:
        dry, _ = p.imported("--dry-run", *options, FILES[name])
        expect(not os.path.exists(p.at("wattlaw.db")), f"{name}: a dry run stores nothing")
        real, r = p.imported(*options, FILES[name])
        expect([x["label"] for x in dry["runs"]] == [x["label"] for x in real["runs"]], f"{name}: the dry run differs", r)
        p.refused(*options, FILES[name], why="already imported, as run")
        runs = p.rows(RUNS)
        expect(len(runs) == len(real["runs"]), f"{name}: {len(runs)} runs", r)
        energies = p.rows("SELECT j.run, d.uuid, j.epoch, j.energy_j, j.estimated, j.method FROM energy j JOIN device d ON d.id = j.device")
        return runs, energies, r


def check_windows():
    runs, energies, r = stored(WINDOW)
    table = read_csv(FILES[WINDOW])
    expect(len(runs) == len(table) == 7, "a run per window", r)
    for (run, row) in zip(runs, table.itertuples()):
        expect(run[:2] == ("resnet50", "V100") and run[3] == 2 and run[8] is None, f"{run}")
        expect(run[6] == float(row.window_name.rsplit("_", 1)[1]), f"cap: {run} {row}")
        expect(near(run[7], row.elapsed_time) and near(run[9], row.gpu0_energy + row.gpu1_energy), f"{run} {row}")
    of_gpus = sorted(e[3] for e in energies)
    expect(of_gpus == sorted([*table.gpu0_energy, *table.gpu1_energy]) and {e[5] for e in energies} == {"counter"}, f"{energies}")


def check_facts():
    """The optimum of V100 ResNet-50 is 150 W on one GPU, and 125 W on two."""
    with Workspace(wattlaw) as p:
        folder = os.path.dirname(FILES[WINDOW])
        _, r = p.imported(os.path.join(folder, "V100+resnet50+gpu0.csv"), os.path.join(folder, "V100+resnet50+gpu0,1.csv"))
        runs = {(run[3], run[6]): run for run in p.rows(RUNS)}
        best = {n: min((run[9], cap) for (workers, cap), run in runs.items() if workers == n) for n in (1, 2)}
        expect([(round(j), cap) for j, cap in best.values()] == [(4830, 150), (5121, 125)], f"{best}", r)
        expect([round(runs[n, 250.0][9]) for n in (1, 2)] == [6065, 6665], "energies at 250 W")
        slower = [runs[n, cap][7] / runs[n, 250.0][7] - 1 for n, (_, cap) in best.items()]
        expect([f"{s:.0%}" for s in slower] == ["22%", "37%"], f"slower by {slower}")
        r = p.run("fit", "wattlaw.db")
        expect(r.returncode == 0 and r.stdout.count("source zeus, resnet50") == 7 and "x N^-0.983" in r.stdout, "fit of each cap", r)
        r = p.run("compare", "wattlaw.db", "--factor", "power_cap_w", "--base", "250")
        expect(r.returncode == 0 and "source zeus" in r.stdout, "compare", r)
        r = p.run("recommend", "--max-slowdown", "none", "wattlaw.db")
        expect(r.returncode == 0 and "cap 150 W" in r.stdout.splitlines()[0], "recommend", r)
        r = p.run("show", "wattlaw.db")
        expect(r.returncode == 0 and r.stdout.count("imported") == 14, "show marks each run", r)
        r = p.run("report", "wattlaw.db", "-o", "report")
        with open(p.at("report/report.html"), encoding="utf-8") as f:
            expect(r.returncode == 0 and "14 of 14 runs were measured by other tools (zeus)" in f.read(), "report", r)
        r = p.run("rebuild", "wattlaw.db")
        expect(len([run for run in p.rows(RUNS) if run[9]]) == 14, "rebuild leaves what cannot be derived", r)


def check_traces():
    for name in TRACES:
        runs, energies, r = stored(name)
        table = read_csv(FILES[name])
        expect(len(runs) == len(table), f"{name}: {len(runs)} runs", r)
        for run, row in zip(runs, table.itertuples()):
            expect(run[0] == f"{row.network}-{row.dataset}" and run[3:7] == (1, row.batch_size, row.batch_size, row.power_limit), f"{run} {row}")
            expect(near(run[7], row.time_per_epoch) and near(run[9], row.average_power * row.time_per_epoch), f"{name}: {run} {row}")
        expect("power is of one GPU" in r.stderr and "measured once" in r.stderr, "what is not known", r)
        expect({e[5] for e in energies} == {"integral"}, "the method")


def check_mlperf():
    lines = [json.loads(line.split(":::MLLOG", 1)[1]) for line in open(FILES[MLPERF], encoding="utf-8")]
    at = {x["key"]: x for x in lines}
    epochs = [[x["time_ms"] for x in lines if x["key"] == key] for key in ("epoch_start", "epoch_stop")]
    watts = [json.loads(line.split(":::MLLOG", 1)[1]) for line in open(os.path.join(os.path.dirname(FILES[MLPERF]), "node_1.txt"), encoding="utf-8")]
    watts = [(x["time_ms"] / 1e3, x["value"]) for x in watts if x["key"] == "power_reading"]
    joules = sum((t2 - t1) * (w1 + w2) / 2 for (t1, w1), (t2, w2) in zip(watts, watts[1:]))
    with Workspace(wattlaw) as p:
        for source in (FILES[MLPERF], os.path.dirname(FILES[MLPERF])):
            p.run("import", "--store", "x.db", source)
            (run,) = p.rows(RUNS, "x.db")
        expect(run[:6] == ("resnet", None, 1, 8, 400, 3200), f"{run}")  # its platform is 1xSUBMISSION_PLATFORM_PLACEHOLDER
        expect(near(run[7], (at["run_stop"]["time_ms"] - at["run_start"]["time_ms"]) / 1e3) and run[8] == at["run_start"]["time_ms"] * 10**6, f"{run}")
        expect(near(run[9], joules, 3e-3), f"{run[9]} J, not {joules}")  # readings begin a second after the run and end one before it
        rows = p.rows("SELECT epoch, time_s, samples FROM epoch ORDER BY epoch", "x.db")
        expect([round(t * 1e3) for _, t, _ in rows] == [b - a for a, b in zip(*epochs)] and len(rows) == 35, f"{rows}")
        expect({s for _, _, s in rows} == {at["train_samples"]["value"]}, "samples of an epoch")
        metrics = p.rows("SELECT epoch, value FROM metric WHERE name = 'eval_accuracy' ORDER BY epoch", "x.db")
        expect(metrics == [(x["metadata"]["epoch_num"], x["value"]) for x in lines if x["key"] == "eval_accuracy"], f"{metrics}")
        expect(len(p.rows("SELECT 1 FROM sample", "x.db")) == len(set(t for t, _ in watts)), "readings of the node")


def check_mlperf_folder():
    """Result folders as of a submission, with the times of real runs, give laws in one command."""
    table = read_csv(FILES[LADDERS])
    table = longest_ladder(table)
    with Workspace(wattlaw) as p:
        write_submission(p, table, "s")
        _, r = p.imported("--as", "mlperf", "s/results")
        runs = p.rows(RUNS)
        expect(sorted((run[3], round(run[7], 3)) for run in runs) == sorted((w, round(t, 3)) for w, t in zip(table.workers, table.time_s)), f"{runs}", r)
        expect({run[1] for run in runs} == {"A100"} and {run[2] for run in runs} == {w // 8 for w in table.workers}, "systems", r)
        r = p.run("fit", "wattlaw.db")
        expect(r.returncode == 0 and f"{len(table)} runs at {table.workers.nunique()} worker counts" in r.stdout, "fit", r)
        p.write("s/results/dgx_n1/net/result_9.txt", mllog("run_start", 0) + mllog("run_stop", 60, status="aborted"))
        _, r = p.imported("s/results")
        expect([x[0] for x in p.rows("SELECT status FROM run WHERE status <> 'done'")] == ["failed"] and len(p.rows(RUNS)) == len(runs) + 1,
               "only the new one, which reached no target", r)


def caraml_tables(path):
    with open(path, encoding="utf-8") as f:
        blocks = re.split(r"(?m)^(?=JobID,)", f.read())
    for block in filter(None, blocks):
        header, *rows = block.splitlines()
        for row in rows:
            yield dict(zip(header.split(","), row.split(",")))


def check_caraml():
    name = OTHERS[0]
    runs, _, r = stored(name)
    rows = list(caraml_tables(FILES[name]))
    expect(len(runs) == len(rows) == 6, f"{len(runs)} runs", r)
    with Workspace(wattlaw) as p:
        p.imported(FILES[name])
        observed = p.rows("SELECT workers, time_s, samples, updates, global_batch, hardware FROM observations ORDER BY run")
        for (workers, time_s, samples, updates, batch, system), row in zip(observed, rows):
            steps = int(row.get("Iterations", 1))
            step_s = float(row["Time/iteration(s)"]) if "Time/iteration(s)" in row else int(row["GlobalBatchSize"]) / float(row["Images/second"])
            expect(near(time_s, steps * step_s, 1e-6) and (updates, batch, samples) == (steps, int(row["GlobalBatchSize"]), steps * batch), f"{row}")
            expect(workers == int(row.get("DataParallel", row["Devices"])) and system == row["System"], f"{row}: {workers}")
        write_caraml(p, "ladder.csv")
        _, r = p.imported("--store", "ladder.db", "ladder.csv")
        (joules,), = p.rows("SELECT energy_j FROM total WHERE run = 12 AND epoch = 0", "ladder.db")
        expect(near(joules, sum(5 + g for g in range(8)) * 3600), f"{joules} J of EnergyFile", r)
        r = p.run("fit", "ladder.db")
        expect(r.returncode == 0 and "12 runs at 4 worker counts" in r.stdout, "fit of CARAML", r)


def check_codecarbon():
    name = OTHERS[1]
    runs, energies, r = stored(name, "--timezone", "Europe/Paris")
    table = read_csv(FILES[name])
    table["id"] = [x if isinstance(x, str) else f"none {i}" for i, x in enumerate(table.run_id)]
    table = table.loc[table.groupby("id", sort=False).duration.idxmax()]
    table["start"] = pd.to_datetime(table.timestamp).dt.tz_localize("Europe/Paris").map(pd.Timestamp.timestamp) - table.duration
    expect(len(runs) == len(table) and {run[10] for run in runs} == {1}, f"{len(runs)} runs, not {len(table)}", r)
    for run, row in zip(sorted(runs, key=lambda x: x[8]), table.sort_values("start").itertuples()):
        total = row.cpu_energy + row.gpu_energy + row.ram_energy
        expect(near(run[7], row.duration, 1e-8) and near(run[9], total * KWH, 1e-8), f"{run} {row}")
        expect(abs(run[8] / 1e9 - row.start) < 1e-5, f"start of {run}: {row}")
        of = {uuid.split(":")[1]: (j, estimated) for run_, uuid, _, j, estimated, _ in energies if run_ == run[12]}
        expect(near(of["memory"][0], row.ram_energy * KWH, 1e-8) and of["memory"][1] == of["cpu"][1] == 1 and of["gpus"][1] == 0, f"{of}")
    with Workspace(wattlaw) as p:
        _, r = p.imported(FILES[OTHERS[6]])
        expect(len(p.rows(RUNS)) == 1 and ":3: 33 fields under the 38 columns" in re.sub(r"\d+ fields", "33 fields", r.stderr), "a short row is named", r)


def check_slurm():
    runs, _, r = stored(OTHERS[2])
    table = pd.read_csv(FILES[OTHERS[2]], sep="|", dtype=str)
    step = table[table.JobID.str.fullmatch(r"\d+\.\d+")]
    (run,) = runs
    expect(run[9] == float(step.ConsumedEnergyRaw.sum()) and run[7] == pd.Timedelta(table.Elapsed[0]).total_seconds() and run[2] == 2, f"{run}", r)
    (run,), _, r = stored(OTHERS[3], "--timezone", "Europe/Paris")
    text = open(FILES[OTHERS[3]], encoding="utf-8").read()
    energy, start = re.search(r"energy=(\d+)", text)[1], re.search(r"StartTime=(\S+)", text)[1]
    expect(run[9] == float(energy) and run[7] == 24 and run[8] == pd.Timestamp(start, tz="Europe/Paris").value, f"{run}", r)


def check_carbontracker():
    (run,), energies, r = stored(OTHERS[4])
    text = open(FILES[OTHERS[4]], encoding="utf-8").read()
    watts = [float(x) for x in re.findall(r"\[([0-9.]+)\]", text)]
    expect(near(run[7], 141.9) and near(run[9], sum(watts) * 141.9), f"{run}", r)
    expect(sorted(e[3] for e in energies if e[2] == 1) == sorted(w * 141.9 for w in watts), f"{energies}")
    expect(abs(run[8] / 1e9 - (pd.Timestamp("2022-11-14T15:44:48Z").timestamp() - 141.9)) < 1e-6, f"{run}")
    (run,), _, r = stored(OTHERS[5])
    expect(run[7] == 53 and near(run[9], .003504 * KWH) and run[10] == 1, f"{run}", r)


def check_refused():
    with Workspace(wattlaw) as p:
        for name, why in REFUSED.items():
            p.refused(FILES[name], why=why)
        expect(not os.path.exists(p.at("wattlaw.db")) or not p.rows(RUNS), "nothing is stored")


CHECKS = [check_windows, check_facts, check_traces, check_mlperf, check_mlperf_folder, check_caraml, check_codecarbon, check_slurm,
          check_carbontracker, check_refused]
for check in CHECKS:
    check()
print(f"{len(NAMES)} files as pandas and json read them")
