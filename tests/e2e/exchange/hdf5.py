"""HDF5 files that jpwr and perun wrote give the numbers of their CSV, as pandas reads it; hostile ones are refused: hdf5.py WATTLAW SOURCE_ROOT

tests/fixtures/import/make_hdf5.py made them with these tools."""
import io
import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
import shared_data  # noqa: E402
from harness import Workspace, expect, pandas_or_skip  # noqa: E402

pd = pandas_or_skip()

wattlaw, source_root = os.path.abspath(sys.argv[1]), sys.argv[2]
fixtures = os.path.join(source_root, "tests", "fixtures", "import")
JPWR, PERUN = os.path.join(fixtures, "jpwr.h5"), os.path.join(fixtures, "perun.h5")

REFUSED = {"totals.h5": "the totals that jpwr computed, without times", "other.h5": "an HDF5 file that neither perun nor jpwr wrote",
           "objects.h5": "block1_values holds no numbers", "external_link.h5": "no data set block0_values in the file itself",
           "soft_link.h5": "no data set block0_values in the file itself", "group.h5": "no data set block0_values",
           "external_storage.h5": "unable to open external raw data file", "huge.h5": "not all of its numbers were written",
           "large_chunk.h5": "not all of its numbers were written", "three_dims.h5": "neither a list nor a table",
           "unknown_filter.h5": "HDF5: filter plugins disabled", "variable_texts.h5": "block0_items is not a list of texts",
           "many_blocks.h5": "nblocks is 1.09951e+12, not 1 to 16", "cycle.h5": "an HDF5 file of perun without readings"}


def samples(p, store):
    """(device, quantity, label): times and values, in their order."""
    out = {}
    for label, host, uuid, quantity, t, value in p.rows(
            "SELECT o.part, d.host, d.uuid, c.quantity, s.t_ns, s.value FROM sample s JOIN channel c ON c.id = s.channel JOIN device d ON d.id = c.device "
            "JOIN source o ON o.run = c.run ORDER BY c.run, d.uuid, c.quantity, s.t_ns", store):
        out.setdefault((label, host, uuid.split(":", 1)[-1], quantity), []).append((t / 1e9, value))
    return out


def compare(what, got, want):
    expect(got.keys() == want.keys(), f"{what}: {list(got)}, not {list(want)}")
    for key, rows in want.items():
        close = len(rows) == len(got[key]) and all(abs(x[0] - y[0]) < 2e-6 and abs(x[1] - y[1]) <= 1e-9 * abs(y[1]) for x, y in zip(got[key], rows))
        expect(close, f"{what}: {key}: {got[key][:3]}, not {rows[:3]}")


def jpwr_as_pandas(path, whole_numbers=()):
    table = pd.read_csv(path, index_col=0)
    return {("", "unknown", c.replace("pynvml:", "gpu"), "power_w"): list(zip(table.timestamps, table[c].round() if c in whole_numbers else table[c]))
            for c in table if ":" in c}


def perun_as_pandas(path, uuid):
    table, out = pd.read_csv(path, index_col=0), {}
    for (run, host, sensor), rows in table.groupby(["run id", "hostname", "sensor"]):
        quantity = {"POWER": "power_w", "CLOCK_SM": "sm_clock_mhz", "CLOCK_MEM": "mem_clock_mhz", "MEM": "mem_used_bytes"}.get(sensor.partition("_")[2])
        quantity = "power_w" if rows.unit.iloc[0] == "W" else quantity
        device = uuid(sensor.split("_")[0].replace("CUDA:", "")) if sensor.startswith("CUDA:") else sensor
        if quantity:
            scale = rows.magnitude * (1e-6 if quantity.endswith("mhz") else 1)
            out[f"round {run}", host, device, quantity] = list(zip(rows.timestep, rows.value * scale))
    return out


def agree(p, files):
    power, demo, demo_csv = files
    p.imported("--store", "j.db", JPWR)
    compare("jpwr", samples(p, "j.db"), jpwr_as_pandas(power))
    for name, rounded in (("two_blocks.h5", ["pynvml:1"]), ("compressed.h5", [])):
        p.imported("--store", name + ".db", name)
        compare(name, samples(p, name + ".db"), jpwr_as_pandas(power, rounded))
    p.imported("--store", "p.db", PERUN)
    compare("perun", samples(p, "p.db"), perun_as_pandas(os.path.join(fixtures, "perun.csv"), "GPU-5f0a{}".format))
    expect(p.rows("SELECT DISTINCT name, json_extract(info, '$.driver') FROM device WHERE uuid LIKE '%GPU-%'", "p.db") == [("NVIDIA A100", "550.54")], "what the CSV does not say")
    p.imported("--store", "d.db", demo)
    compare("perun's demo", samples(p, "d.db"), perun_as_pandas(demo_csv, "GPU-00000000-0000-0000-0000-00000000000{}".format))
    p.refused("--store", "d.db", demo, why="already imported, as run")
    answer, r = p.imported("--dry-run", "two_runs.h5")
    expect([run["label"] for run in answer["runs"]] == ["round run1 0", "round run2 1"], f"rounds of two runs of perun: {answer}", r)
    with open(JPWR, "rb") as f:
        r = p.run("import", "--dry-run", "/dev/stdin", stdin=f)
    expect(r.returncode == 0 and "118 readings" in r.stdout, "from a pipe", r)


def refuse(p):
    for name, why in REFUSED.items():
        r = p.refused("--store", "none.db", name, why=why)
        expect(r.stderr.startswith(f"error: {name}: ") and len(r.stderr.splitlines()) == 1 and not r.stdout, f"{name}: one line", r)
    with open(PERUN, "rb") as f:
        whole = f.read()
    for cut in (2000, 20000, len(whole) - 1):
        p.refused("--store", "none.db", p.write("cut.h5", whole[:cut]), why="cut.h5: damaged: HDF5: truncated file")
    p.refused("--store", "none.db", p.write("head.h5", whole[:1000]), why="neither perun nor jpwr wrote")
    p.refused("--store", "none.db", p.write("broken.h5", whole[:30000] + bytes(30000) + whole[60000:]), why="broken.h5: ")
    p.refused("--store", "none.db", "--as", "perun", JPWR, why="an HDF5 file of perun without readings of a sensor")
    expect(not os.path.exists(p.at("none.db")), "no store is made")
    p.refused("--dry-run", JPWR, why="jpwr.h5: an HDF5 file: /proc/nowhere, which reads it, is missing: it comes with wattlaw-train", env={"WATTLAW_HDF5": "/proc/nowhere"})
    p.write("ends.sh", "#!/bin/sh\necho ',timestamps,pynvml:0'\necho 0,1795167038.0,100\nkill -SEGV $$\n")
    os.chmod(p.at("ends.sh"), 0o755)
    p.refused("--store", "none.db", JPWR, why="jpwr.h5: damaged: HDF5's library ended with signal 11 on it", env={"WATTLAW_HDF5": p.at("ends.sh")})
    expect(not p.rows("SELECT * FROM run", "none.db") if os.path.exists(p.at("none.db")) else True, "nothing of it is stored")


with Workspace(wattlaw) as workspace:
    if not os.path.exists(os.path.join(os.path.dirname(wattlaw), "wattlaw-hdf5")):
        workspace.refused("--dry-run", JPWR, why="an HDF5 file: ")
        print("SKIP: built without wattlaw-hdf5: refused")
        sys.exit(77)
    with open(os.path.join(fixtures, "hdf5.zip"), "rb") as archive, zipfile.ZipFile(io.BytesIO(archive.read())) as z:
        z.extractall(workspace.path)
    refuse(workspace)
    agree(workspace, shared_data.find(source_root, "formats/jpwr/power.vm.6798.csv", "formats/perun/ddp_demo.hdf5", "formats/perun/ddp_demo_run1.csv"))
print(f"{len(REFUSED)} hostile files are refused; jpwr's and perun's HDF5 as pandas reads their CSV")
