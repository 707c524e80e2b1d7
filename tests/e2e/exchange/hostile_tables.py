"""Tables that are cut, of other versions or of another place, grown files, and traps of each format: hostile_tables.py WATTLAW

Also the formats of which no tool's file with rows is at hand: EAR (after its user guide) and the profiles of Zeus (after its source)."""
import json
import sys

from harness import Workspace, expect

ZEUS = "start_time,window_name,elapsed_time,gpu0_energy\n5301.5,__GlobalPowerLimitOptimizer_250,10.0,2000.0\n5330.1,__GlobalPowerLimitOptimizer_200,12.5,1500.0\n"
TRACE = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\nsquad,bert,32,adamw,250,100.0,200.0\n"
CODECARBON = ("timestamp,project_name,run_id,duration,cpu_power,gpu_power,cpu_energy,gpu_energy,ram_energy,energy_consumed,gpu_count,gpu_model,codecarbon_version\n"
              "2026-01-01T00:01:00,p,a,60.0,60,300,0.001,0.005,0.0001,0.0061,1,A100,3.0\n")
SACCT = ("JobID|JobName|Start|Elapsed|NNodes|ConsumedEnergyRaw|AllocTRES|State\n"
         "7|train|2026-01-01T00:00:00|1-00:00:10|2||gres/gpu=8|COMPLETED\n7.batch|batch|2026-01-01T00:00:00|1-00:00:10|1|5000||COMPLETED\n"
         "7.0|a|2026-01-01T00:00:00|00:05:00|2|9000||COMPLETED\n7.1|b|2026-01-01T00:00:00|00:05:00|2|1000||COMPLETED\n")
EAR = ("JOBID;STEPID;JOBNAME;JOB_START_TIME;NODENAME;AVG_CPUFREQ_KHZ;TIME_SEC;DC_NODE_POWER_W;DRAM_POWER_W;PCK_POWER_W;GPU0_POWER_W;GPU1_POWER_W\n"
       "9;0;train;1767225600;n1;2400000;100.0;500.0;20.0;150.0;120.0;110.0\n9;0;train;1767225600;n2;2400000;100.0;400.0;20.0;150.0;120.0;0\n"
       "9;1;train;1767226600;n1;2400000;50.0;500.0;20.0;150.0;120.0;110.0\n")
CARAML = ("JobID,System,Version,Runtime(s),Model,Nodes,Devices,GlobalBatchSize,BatchSize/Device,Images/second,EnergyFile\n"
          "1,H100,1,90.0,resnet50,1,4,64,16,640.0,x.csv\n")
TRACKER = ("2026-01-01 00:02:00 - Average power usage (W) for gpu: [100.0, 200.0]\n2026-01-01 00:02:00 - Average power usage (W) for cpu: [50.0]\n"
           "2026-01-01 00:02:00 - Epoch 1:\nDuration: 0:02:00.00\n")
LOG = "".join(":::MLLOG " + json.dumps({"time_ms": 1767225600000 + t, "key": k, "value": v, "metadata": m}) + "\n" for t, k, v, m in (
    (0, "submission_benchmark", "net", {}), (0, "global_batch_size", 64, {}), (0, "d_batch_size", 16, {}), (1000, "run_start", None, {}),
    (1000, "epoch_start", None, {"epoch_num": 0}), (61000, "epoch_stop", None, {"epoch_num": 0}), (62000, "eval_accuracy", .5, {"epoch_num": 0}),
    (63000, "run_stop", None, {"status": "success"})))
ALL = {"zeus.csv": ZEUS, "trace.csv": TRACE, "emissions.csv": CODECARBON, "sacct.txt": SACCT, "ear.csv": EAR, "caraml.csv": CARAML, "tracker.log": TRACKER,
       "result_0.txt": LOG}
RUNS = """SELECT s.workload, s.workers, (r.stop_mono_ns - r.start_mono_ns) / 1e9, x.energy_j, x.estimated FROM run r JOIN setting s ON s.run = r.id
          JOIN total x ON x.run = r.id AND x.epoch = 0 WHERE r.id > {} ORDER BY r.id"""


def taken(p, name, content, *options, store=True):
    """Imports into a store of its own, or not: its runs, the answer, the process."""
    answer, r = p.imported(*(["--store", name + ".db"] if store else ["--dry-run"]), *options, p.write(name, content))
    dry = [(x["settings"].get("workload"), x["settings"].get("workers"), x["time_s"], x.get("energy_j"), int(x["estimated"])) for x in answer["runs"]]
    if store:
        stored = [tuple(round(v, 6) if isinstance(v, float) else v for v in run) for run in p.rows(RUNS.format(0), name + ".db")]
        expect(len(stored) == len(dry) and all(x[:2] == y[:2] for x, y in zip(stored, dry)), f"{name}: {stored} is stored, {dry} is said", r)
        return stored, answer, r
    return dry, answer, r


def as_they_are(p):
    for name, runs in {"zeus.csv": [(None, 1, 10, 2000, 0), (None, 1, 12.5, 1500, 0)], "trace.csv": [("bert-squad", 1, 100, 20000, 0)],
                       "emissions.csv": [("p", None, 60, 21960, 1)], "sacct.txt": [("train", 8, 86410, 10000, 0)],
                       "ear.csv": [("train", 3, 100, 90000, 0), ("train", 2, 50, 25000, 0)], "caraml.csv": [("resnet50", 4, 90, None, 0)],
                       "tracker.log": [(None, None, 120, 42000, 0)], "result_0.txt": [("net", 4, 62, None, 0)]}.items():
        got, answer, r = taken(p, "plain/" + name, ALL[name])
        want = [(w or name, *rest) for w, *rest in runs]
        expect(got == want and answer["broken"] == 0, f"{name}: {got}, not {want}", r)
    energies = p.rows("SELECT d.host, d.uuid, j.energy_j, j.chosen FROM energy j JOIN device d ON d.id = j.device WHERE j.run = 1 ORDER BY 1, 2", "plain/ear.csv.db")
    expect(energies == [("n1", "ear:gpu0", 12000, 0), ("n1", "ear:gpu1", 11000, 0), ("n1", "ear:memory", 2000, 0), ("n1", "ear:node", 50000, 1),
                        ("n1", "ear:packages", 15000, 0), ("n2", "ear:gpu0", 12000, 0), ("n2", "ear:memory", 2000, 0), ("n2", "ear:node", 40000, 1),
                        ("n2", "ear:packages", 15000, 0)], f"parts of a node are in no sum: {energies}")


def in_other_words(p):
    """Other ends of lines, a mark of the byte order, columns in another order and further ones."""
    def columns(text, separator, change):
        return "".join(separator.join(change(line.split(separator))) + "\n" for line in text.splitlines())
    for name, text in ALL.items():
        separator = {"sacct.txt": "|", "ear.csv": ";"}.get(name, ",")
        plain = taken(p, "words/" + name, text, store=False)[0]
        variants = {"CRLF": text.replace("\n", "\r\n"), "a byte-order mark": b"\xef\xbb\xbf" + text.encode()}
        if name not in ("tracker.log", "result_0.txt"):
            variants["turned columns"] = columns(text, separator, lambda v: v[::-1])
            variants["a further column"] = columns(text, separator, lambda v: v + ["new"])
            variants["a second header"] = text + text.splitlines()[0] + "\n"
        for what, content in variants.items():
            got, answer, r = taken(p, f"words/{what[:4].replace(' ', '')}/{name}", content, store=False)
            expect(got == plain and answer["broken"] == 0, f"{name}, {what}: {got}, not {plain}", r)


def broken_rows(p):
    first = {name: text.splitlines(True) for name, text in ALL.items()}
    for i, (name, content, line, why) in enumerate((
            ("zeus.csv", ZEUS.replace("12.5,", "12,5,"), 3, "5 fields under the 4 columns"), ("zeus.csv", ZEUS.replace("12.5,", "-1,"), 3, 'elapsed_time: "-1", expected a number above 0'),
            ("zeus.csv", ZEUS.replace("1500.0", "much"), 3, 'gpu0_energy: "much" is not a number'), ("zeus.csv", ZEUS.replace("1500.0", "-4"), 3, "gpu0_energy: -4 J is below 0"),
            ("zeus.csv", ZEUS.replace("Optimizer_200", "Optimizer_high"), 3, "has no power limit in W"), ("zeus.csv", ZEUS[:-3], 3, "may be truncated"),
            ("zeus.csv", ZEUS.replace("1500.0", "1e300"), 3, "an energy of gpu0 of 1e+300 J is not that of a run"), ("zeus.csv", ZEUS.replace("12.5", "1e12"), 3, "a time of 1e+12 s"),
            ("trace.csv", TRACE + TRACE.splitlines()[1].replace("250", "") + "\n", 3, 'power_limit: "", expected a number above 0'),
            ("trace.csv", TRACE + TRACE.splitlines()[1].replace(",32,", ",32.5,") + "\n", 3, "local_batch: 32.5 is not that of a run"),
            ("emissions.csv", CODECARBON + first["emissions.csv"][1].replace(",1,A100", "").replace(",a,", ",b,"), 3, "11 fields under the 13 columns"),
            ("emissions.csv", CODECARBON + first["emissions.csv"][1].replace("0.001,0.005", "0,0").replace(",a,", ",b,"), 3, "nothing was measured"),
            ("emissions.csv", CODECARBON + first["emissions.csv"][1].replace("2026-01-01", "01.02.2026").replace(",a,", ",b,"), 3, "is not a time"),
            ("sacct.txt", SACCT + "8.0|x|2026-01-01T00:00:00|00:05:00|2|9000||COMPLETED\n", 6, "8.0: a step without the line of its job"),
            ("sacct.txt", SACCT + "8|x|2026-01-01T00:00:00|5 min|2|9000||COMPLETED\n", 6, 'Elapsed: "5 min" is not a time'),
            ("ear.csv", EAR + EAR.splitlines()[3].replace("500.0", "5,0") + "\n", 5, 'DC_NODE_POWER_W: "5,0" is not a number with a decimal point'),
            ("caraml.csv", CARAML + CARAML.splitlines()[1].replace("640.0", "") + "\n", 3, "no throughput"),
            ("tracker.log", TRACKER + TRACKER.replace("200.0]", "200.0").replace("Epoch 1", "Epoch 2"), 5, "gpu: expected a list"),
            ("tracker.log", TRACKER + TRACKER.replace("0:02:00.00", "soon"), 8, 'Duration: "soon" is not a time'),
            ("result_0.txt", LOG + ":::MLLOG {\"time_ms\": 17672\n", 9, ":::MLLOG is not followed by JSON"),
            ("result_0.txt", LOG + LOG.replace('"run_stop"', '"other"'), 16, "the log ends without run_stop"))):
        _, answer, r = taken(p, f"broken/{i}/{name}", content, store=False)
        expect(answer["broken"] >= 1 and f"{name}:{line}: " in r.stderr and why in r.stderr, f"{name}: expected {why}", r)
    for name, text in ALL.items():  # cut anywhere: rows before stay right, and nothing is invented
        whole = {run[2:] for run in taken(p, "whole/" + name, text, store=False)[0]} | {(86410, None, 0)}
        for at in range(len(text) // 2, len(text), max(1, len(text) // 10)):
            r = p.run("import", "--dry-run", "--json", p.write("cut/" + name, text[:at]))
            expect(r.returncode in (0, 1) and (r.returncode == 0 or "error: " in r.stderr), f"{name} cut at {at}", r)
            got = {(x["time_s"], x.get("energy_j"), int(x["estimated"])) for x in json.loads(r.stdout)["runs"]} if r.returncode == 0 else set()
            expect(got <= whole, f"{name} cut at {at}: {got} is not of {whole}", r)


def refusals(p):
    for name, text in ALL.items():
        if name in ("tracker.log", "result_0.txt"): continue
        p.refused(p.write("head/" + name, text.splitlines()[0] + "\n"), why="a header without rows: no measurements")
        twice = "\n".join(line + {"sacct.txt": "|", "ear.csv": ";"}.get(name, ",") + line for line in text.splitlines()) + "\n"
        p.refused(p.write("twice/" + name, twice), why=" is there twice")
    p.refused(p.write("s.txt", SACCT.replace("EnergyRaw", "Energy")), why="no column ConsumedEnergyRaw (ConsumedEnergy is rounded)")
    p.refused(p.write("r.txt", LOG.replace("run_start", "start")), why="no run_start: not the log of a run")
    p.refused(p.write("z.csv", ZEUS), "--gpus", "GPU-1", why="--gpus is for readings over time, and zeus is a table of results", status=2)
    p.refused(p.write("p.json", '{"measurements": [], "power_limit": 1}'), why='no array "measurements" with elements')
    p.refused(p.write("node_0.txt", ':::MLLOG {"time_ms": 1, "key": "power_measurement_start", "value": null, "metadata": ""}\n'), why="read together with the result log")


def traps(p):
    profile = json.dumps({"measurements": [{"power_limit": w, "energy": j, "time": s} for w, j, s in ((250, 2000., 10.), (200, 1500., 12.5))]})
    got, answer, r = taken(p, "profile.json", profile, "--workers", 2, "--name", "net")
    expect(got == [("net", 2, 10, 2000, 0), ("net", 2, 12.5, 1500, 0)] and "measured once" in r.stderr, f"profile of Zeus: {got}", r)
    # A file that has grown adds what is new; what the file says itself counts.
    p.write("grown.csv", ZEUS)
    p.imported("--store", "g.db", "grown.csv")
    p.write("grown.csv", ZEUS + "5400.0,__GlobalPowerLimitOptimizer_150,20.0,1400.0\n")
    answer, r = p.imported("--store", "g.db", "--workers", 4, "grown.csv")
    expect(len(answer["runs"]) == 1 and answer["runs"][0]["label"] == "window 3, cap 150 W", f"only the new row: {answer}", r)
    expect("the file itself says workers" in r.stderr and p.rows(RUNS.format(2), "g.db")[0][1] == 1, "the option does not overrule the file", r)
    # CodeCarbon: flush() writes totals so far.
    got, answer, r = taken(p, "flush/emissions.csv", CODECARBON + CODECARBON.splitlines()[1].replace("60.0,60", "120.0,60").replace("0.005", "0.010") + "\n")
    expect(len(got) == 1 and got[0][2] == 120 and sum(answer["passed_over"].values()) == 1, f"one run_id is one run: {got} {answer}", r)
    # Slurm: none, the batch step alone on one node and on two, a job that failed.
    for what, text, joules in (("none", SACCT.replace("|9000|", "|18446744073709551614|").replace("|1000|", "|0|"), None),
                               ("one node", SACCT.split("7.0|")[0].replace("|2|", "|1|"), 5000), ("two nodes", SACCT.split("7.0|")[0], None)):
        got, _, r = taken(p, f"sacct {what}.txt", text)
        expect([run[3] for run in got] == [joules], f"sacct, {what}: {got}", r)
    (why,), = p.rows("SELECT why FROM energy", "sacct two nodes.txt.db")
    expect(why == "only the batch step has an energy, which is that of the first node", why)
    taken(p, "failed.txt", SACCT.replace("gres/gpu=8|COMPLETED", "gres/gpu=8|TIMEOUT"))
    expect(p.rows("SELECT status, error FROM run", "failed.txt.db") == [("failed", "Slurm: TIMEOUT")], "a job that ended early")
    # EAR without power of the node: the parts count.
    got, _, r = taken(p, "parts.csv", EAR.replace(";500.0;", ";0;").replace(";400.0;", ";0;"))
    expect([run[3] for run in got] == [(20 + 150 + 120 + 110 + 20 + 150 + 120) * 100, (20 + 150 + 230) * 50] or got[0][3] is None, f"parts: {got}", r)
    # Of whom imported runs are is said where they are used together with others.
    r = p.run("fit", "g.db")
    expect("source zeus" in r.stdout, "fit names the source", r)


with Workspace(sys.argv[1]) as w:
    for check in (as_they_are, in_other_words, broken_rows, refusals, traps):
        check(w)
print(f"{len(ALL)} tables and what goes wrong with them")
