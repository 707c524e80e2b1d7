"""Each sample of a series format gives the numbers of an independent reading by pandas: series.py WATTLAW SOURCE_ROOT

Counts, missing readings, means, first and last times of each channel by --dry-run and of the store, and energies by the trapezoidal
rule. The samples are other tools' own files (shared/data/formats); this file shares nothing with the readers but their names."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
import shared_data  # noqa: E402
from harness import Workspace, expect, pandas_or_skip  # noqa: E402

pd = pandas_or_skip()
import numpy as np  # noqa: E402  pandas has it

wattlaw, source_root = os.path.abspath(sys.argv[1]), sys.argv[2]
SAMPLES = ["nvidia-smi/query_gpu_csv.synthetic.csv", "nvidia-smi/query_gpu_csv_noheader_nounits.synthetic.csv",
           "nvidia-smi/dmon_s_pucv.synthetic.txt", "dcgm-exporter/metrics_excerpt.prom", "perun/ddp_demo_run1.csv", "jpwr/power.vm.6798.csv",
           "wattameter/nvml_wattameter.log", "wattameter/rapl_wattameter.log", "mlperf-power/spl_readme.txt", "mlperf-power/spl_unit_test.txt",
           "nvtop/snapshot_3.3.2.synthetic.json"]
FILES = dict(zip(SAMPLES, shared_data.find(source_root, *(os.path.join("formats", name) for name in SAMPLES))))
TOTALS, = shared_data.find(source_root, "formats/perun/ddp_demo.json")
START = 1795168800  # 2026-11-20T10:00:00Z


def numbers(column):
    """Numbers without their units; what is none is missing."""
    return pd.to_numeric(column.astype(str).str.extract(r"^\s*(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*[A-Za-z%]*\s*$")[0], errors="coerce")


def seconds(stamps, pattern):
    return (pd.to_datetime(stamps, format=pattern) - pd.Timestamp("1970-01-01")) / pd.Timedelta(seconds=1)


def long(t, device, quantity, values):
    """Readings of one channel, one per instant: of readings of one instant the first counts."""
    frame = pd.DataFrame({"t": np.asarray(t, float), "value": np.asarray(values, float)})
    return frame.assign(device=device, quantity=quantity).drop_duplicates("t")


def by_columns(frame, columns, device):
    """Of a table with a column for each quantity, and of its rows each device's."""
    return pd.concat([long(rows.t, device(key), q, scale * numbers(rows[c]))
                      for key, rows in frame.groupby("gpu") for c, (q, scale) in columns.items()])


def nvidia_smi(path):
    table = pd.read_csv(path, skipinitialspace=True, dtype=str, keep_default_na=False)
    table["t"], table["gpu"] = seconds(table.timestamp, "%Y/%m/%d %H:%M:%S.%f"), table["index"]
    columns = {"power.draw [W]": ("power_w", 1), "clocks.current.sm [MHz]": ("sm_clock_mhz", 1), "clocks.current.memory [MHz]": ("mem_clock_mhz", 1),
               "utilization.gpu [%]": ("sm_util_pct", 1)}
    reasons = table["clocks_event_reasons.active"].map(lambda x: int(x, 16) if x.startswith("0x") else np.nan)
    return pd.concat([by_columns(table, columns, "gpu{}".format)] +
                     [long(table.t[table.gpu == g], f"gpu{g}", "event_reasons", reasons[table.gpu == g]) for g in table.gpu.unique()])


def bare(path):
    names = ["gpu", "stamp", "power", "sm", "mem", "util"]
    table = pd.read_csv(path, header=None, names=names, skipinitialspace=True, dtype=str, keep_default_na=False)
    table["t"] = seconds(table.stamp, "%Y/%m/%d %H:%M:%S.%f")
    return by_columns(table, {"power": ("power_w", 1), "sm": ("sm_clock_mhz", 1), "mem": ("mem_clock_mhz", 1), "util": ("sm_util_pct", 1)}, "gpu{}".format)


def dmon(path):
    with open(path, encoding="utf-8") as f:
        names = f.readline().strip("# \n").split()
    table = pd.read_csv(path, comment="#", sep=r"\s+", names=names, dtype=str)
    table["t"] = float(START)
    columns = {"pwr": ("power_w", 1), "gtemp": ("temperature_c", 1), "mtemp": ("mem_temperature_c", 1), "sm": ("sm_util_pct", 1),
               "mem": ("mem_util_pct", 1), "mclk": ("mem_clock_mhz", 1), "pclk": ("sm_clock_mhz", 1)}
    return by_columns(table, columns, "gpu{}".format)


def prometheus(path):
    table = pd.read_csv(path, sep=r" (?=[0-9]+$)", engine="python", names=["series", "value"], comment="#").dropna()
    uuid = table.series.str.extract('UUID="([^"]+)"')[0]
    names = {"DCGM_FI_DEV_SM_CLOCK": "sm_clock_mhz", "DCGM_FI_DEV_MEM_CLOCK": "mem_clock_mhz"}  # the third is "not supported"
    return pd.concat([long([START], uuid[i], names[name], [table.value[i]])
                      for i, name in table.series.str.split("{").str[0].items() if name in names])


def perun(path):
    table = pd.read_csv(path, index_col=0)
    parts = []
    for (run, sensor), rows in table.groupby(["run id", "sensor"]):
        gpu, _, what = sensor.partition("_")
        quantity = {"POWER": ("power_w", 1), "CLOCK_SM": ("sm_clock_mhz", 1e-6), "CLOCK_MEM": ("mem_clock_mhz", 1e-6), "MEM": ("mem_used_bytes", 1)}.get(what)
        device = gpu.replace("CUDA:", "gpu") if gpu.startswith("CUDA") else sensor
        if rows.unit.iloc[0] == "W" and not quantity:
            quantity = ("power_w", 1)
        if quantity:
            values = rows.value.to_numpy() * rows.magnitude.to_numpy() * quantity[1]
            parts.append(long(rows.timestep.round(6), device, quantity[0], values).assign(label=f"round {run}"))
    return pd.concat(parts)


def jpwr(path):
    table = pd.read_csv(path, index_col=0)
    return pd.concat([long(table.timestamps.round(6), c.replace("pynvml:", "gpu"), "power_w", table[c]) for c in table if ":" in c])


def wattameter(path):
    with open(path, encoding="utf-8") as f:
        lines = f.readlines()
    names = next(line for line in lines if line.startswith("# timestamp"))[1:].split()
    rows = [line.split() for line in lines if not line.startswith("#") and line.endswith("\n")]
    table = pd.DataFrame(rows, columns=names)
    t = seconds(table.timestamp, "%Y-%m-%d_%H:%M:%S.%f")
    kinds = {"mW": ("power_w", 1e-3), "W": ("power_w", 1), "C": ("temperature_c", 1), "uJ": ("energy_j", 1e-6)}
    parts = []
    for name in names[2:]:
        device, unit = name.rstrip("]").split("[")
        if not device.endswith("core"):
            device = device.replace("gpu-", "gpu").replace("cpu-", "package-")
            parts.append(long(t, device, kinds[unit][0], kinds[unit][1] * pd.to_numeric(table[name])))
    return pd.concat(parts)


def spl(path):
    with open(path, encoding="utf-8") as f:
        rows = [line.split(",") for line in f if line.startswith("Time,") and ",Watts," in line]
    pattern = "%m-%d-%Y %H:%M:%S.%f" if rows[0][1].startswith("01-22") else "%d-%m-%Y %H:%M:%S.%f"
    return long(seconds(pd.Series([row[1] for row in rows]), pattern), "analyzer", "power_w", [float(row[3]) for row in rows])


def nvtop(path):
    table = pd.read_json(path, dtype=str, convert_dates=False)
    table["gpu"], table["t"] = table.index, float(START)
    columns = {"power_draw": ("power_w", 1), "gpu_clock": ("sm_clock_mhz", 1), "mem_clock": ("mem_clock_mhz", 1), "temp": ("temperature_c", 1),
               "gpu_util": ("sm_util_pct", 1), "mem_used": ("mem_used_bytes", 1)}
    return by_columns(table, columns, "gpu{}".format)


CLOCK = ["--start", START, "--period", "1s"]
COLUMNS = ["--columns", "index,timestamp,power.draw,clocks.sm,clocks.mem,utilization.gpu"]
CASES = [(nvidia_smi, []), (bare, COLUMNS), (dmon, CLOCK), (prometheus, CLOCK), (perun, []), (jpwr, []), (wattameter, []), (wattameter, []),
         (spl, []), (spl, []), (nvtop, CLOCK)]


def compare_channels(name, runs, expected):
    """The channels of the runs that were imported, against those of pandas."""
    seen = 0
    for run in runs:
        own = expected[expected.label == run["label"]] if "label" in expected else expected
        for (device, quantity), rows in own.groupby(["device", "quantity"]):
            found = [c for c in run["channels"] if c["device"] == device and c["quantity"] == quantity]
            what = f"{name}: {run['label']} {device} {quantity}"
            expect(len(found) == 1, f"{what}: {found}")
            c, values = found[0], rows.value.dropna()
            seen += 1
            expect((c["readings"], c["missing"]) == (len(rows), int(rows.value.isna().sum())), f"{what}: {c}, not {len(rows)}")
            expect(abs(c["first_s"] - rows.t.min()) < 2e-6 and abs(c["last_s"] - rows.t.max()) < 2e-6, f"{what}: {c}, not {rows.t.min()}")
            number = values.iloc[-1] - values.iloc[0] if quantity == "energy_j" else values.mean() if len(values) else None
            got = c.get("difference", c.get("mean"))
            expect(got == number if number is None else abs(got - number) <= 1e-9 * abs(number) + 1e-9, f"{what}: {c}, not {number}")
    expect(seen == sum(len(run["channels"]) for run in runs), f"{name}: channels that pandas does not see: {runs}")


def trapezoid(rows):
    rows = rows.dropna(subset="value").sort_values("t")
    return float(np.sum((rows.value.to_numpy()[1:] + rows.value.to_numpy()[:-1]) / 2 * np.diff(rows.t.to_numpy())))


def compare_energy(name, p, run, expected):
    """Of each device that has power at more than one time, the integral of the store against that of pandas, on the same readings; and
    the readings themselves."""
    own = expected[expected.label == run["label"]] if "label" in expected else expected
    stored = p.rows(f"SELECT d.uuid, j.method, j.energy_j, j.coverage FROM energy j JOIN device d ON d.id = j.device WHERE j.run = {run['run']} AND j.epoch IS NULL")
    for device, rows in own[own.quantity == "power_w"].groupby("device"):
        of = [e for uuid, method, e, coverage in stored if uuid.split(":", 1)[1] == device and method == "integral" and coverage == 1]
        own_span = rows.t.max() - rows.t.min() > .999 * run["time_s"] and rows.value.notna().all()
        if own_span and run["time_s"] < 1e6 and len(rows) > 1:
            expect(len(of) == 1 and abs(of[0] - trapezoid(rows)) < 5e-3 * of[0], f"{name}: {device}: {of}, not {trapezoid(rows)}")
    samples = p.rows(f"SELECT d.uuid, c.quantity, s.t_ns, s.value FROM sample s JOIN channel c ON c.id = s.channel JOIN device d ON d.id = c.device WHERE c.run = {run['run']}")
    expect(len(samples) == len(own), f"{name}: {len(samples)} readings are stored, not {len(own)}")
    for (device, quantity), rows in own.groupby(["device", "quantity"]):
        got = sorted((t, v) for uuid, q, t, v in samples if uuid.split(":", 1)[1] == device and q == quantity)
        rows = rows.sort_values("t")
        values = np.array([np.nan if v is None else v for _, v in got])
        expect(np.allclose([t / 1e9 for t, _ in got], rows.t, rtol=0, atol=2e-6), f"{name}: times of {device} {quantity}")
        shift = values[0] - rows.value.iloc[0] if quantity == "energy_j" else 0
        expect(np.allclose(values - shift, rows.value, rtol=1e-9, equal_nan=True), f"{name}: values of {device} {quantity}")


with Workspace(wattlaw) as p:
    for sample, (read, options) in zip(SAMPLES, CASES):
        expected = read(FILES[sample])
        dry, r = p.imported("--dry-run", *options, FILES[sample])
        compare_channels(sample, dry["runs"], expected)
        expect(not os.path.exists(p.at("wattlaw.db")) or not p.rows(f"SELECT 1 FROM source WHERE path LIKE '%{os.path.basename(sample)}'"), "a dry run stores nothing")
        if read is bare:  # one instant
            p.refused(*options, FILES[sample], why="all readings have the same time")
            continue
        stored, r = p.imported(*options, FILES[sample])
        compare_channels(sample, stored["runs"], expected)
        for run in stored["runs"]:
            compare_energy(sample, p, run, expected)
            expect(p.rows(f"SELECT path FROM source WHERE run = {run['run']}") == [(FILES[sample],)], f"{sample}: its source", r)
        p.refused(*options, FILES[sample], why="already imported, as run")
    # perun's JSON has the totals of the same rounds.
    answer, r = p.imported("--store", "totals.db", TOTALS)
    with open(TOTALS, encoding="utf-8") as f:
        rounds = list(json.load(f)["nodes"][0].values())[0]["nodes"][0]
    got = p.rows("SELECT round((r.stop_mono_ns - r.start_mono_ns) / 1e9, 5), r.start_wall_ns, j.scope, round(j.energy_j, 4) FROM energy j JOIN run r ON r.id = j.run "
                 "WHERE j.epoch IS NULL ORDER BY r.id, j.scope DESC", "totals.db")
    want = [(round(v["metrics"]["runtime"]["value"], 5), None, scope, round(v["metrics"][f"{kind}_energy"]["value"], 4))
            for v in rounds.values() for scope, kind in (("package", "cpu"), ("gpu", "gpu"), ("dram", "dram"))]
    expect(len(got) == 6 and got == want, f"perun's JSON: {got}, not {want}", r)
    expect([round(e, 1) for e, in p.rows("SELECT energy_j FROM total WHERE epoch = 0 ORDER BY run", "totals.db")] == [2449.5, 2297.4], "the GPUs', as of the readings", r)
    p.refused("--store", "totals.db", TOTALS, why="already imported")
    # Facts that can be checked by hand: perun's own report, and jpwr's own totals in Wh.
    energies = dict(p.rows("SELECT r.id, x.energy_j FROM run r JOIN total x ON x.run = r.id AND x.epoch = 0 JOIN source s ON s.run = r.id WHERE s.format = 'perun'"))
    expect([round(e, 1) for e in energies.values()] == [2449.5, 2297.4], f"perun's gpu_energy: {energies}")
    (joules,), = p.rows("SELECT x.energy_j FROM total x JOIN source s ON s.run = x.run WHERE s.format = 'jpwr' AND x.epoch = 0")
    expect(abs(joules / 3600 - (0.13491792703655028 + 0.13484121480451688)) < 5e-4, f"jpwr's totals: {joules / 3600} Wh")
print(f"{len(SAMPLES)} samples as pandas reads them")
