"""HDF5 of perun and jpwr gives the numbers of an independent reading by h5py: hdf5_h5py.py WATTLAW SOURCE_ROOT

Of each channel the readings with their first and last time, of each device the energy by the trapezoidal rule, of each run their sum. This
file shares nothing with the reader but the names of the formats."""
import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
import shared_data  # noqa: E402
from harness import Workspace, expect  # noqa: E402

try:
    import h5py
except ImportError:
    print("SKIP: no h5py (Debian: python3-h5py)")
    sys.exit(77)
import numpy as np  # noqa: E402  h5py has it

wattlaw, source_root = os.path.abspath(sys.argv[1]), sys.argv[2]
if not os.path.exists(os.path.join(os.path.dirname(wattlaw), "wattlaw-hdf5")):
    print("SKIP: built without wattlaw-hdf5")
    sys.exit(77)
fixtures = os.path.join(source_root, "tests", "fixtures", "import")
PERUN = {"POWER": ("power_w", 1), "CLOCK_SM": ("sm_clock_mhz", 1e-6), "CLOCK_MEM": ("mem_clock_mhz", 1e-6), "MEM": ("mem_used_bytes", 1)}  # of a GPU


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def jpwr(path):
    """{(part, host, device, quantity): (times, values)} of the table that pandas wrote: columns of one type are a block."""
    with h5py.File(path, "r") as f:
        table, columns = f["jpwr"], {}
        for k in range(int(table.attrs["nblocks"])):
            columns.update(zip(map(text, table[f"block{k}_items"][:]), np.asarray(table[f"block{k}_values"][:], float).T))
    return {("", "unknown", name.replace("pynvml:", "gpu"), "power_w"): (columns["timestamps"], values) for name, values in columns.items() if ":" in name}


def perun(path):
    out = {}
    with h5py.File(path, "r") as f:
        runs = [(name, run) for app in f.values() for name, run in app["nodes"].items()]
        for run_name, run in runs:
            for number, a_round in run["nodes"].items():
                label = f"round {run_name} {number}" if len(runs) > 1 else f"round {number}"
                for host, node in a_round["nodes"].items():
                    for group in node["nodes"].values():
                        add_sensors(out, label, host, group)
    return out


def add_sensors(out, label, host, group):
    for name, sensor in group["nodes"].items():
        if "raw_data" not in sensor:
            continue
        values, t = sensor["raw_data/values"], sensor["raw_data/timesteps"]
        gpu, _, what = name.partition("_")
        is_gpu = gpu.startswith("CUDA:")
        quantity, scale = PERUN.get(what, (None, 1)) if is_gpu else ("power_w", 1) if text(values.attrs["unit"]) == "W" else (None, 1)
        device = text(sensor.attrs["uuid"]) if is_gpu and "uuid" in sensor.attrs else gpu.replace("CUDA:", "gpu") if is_gpu else name
        if quantity:
            out[label, host, device, quantity] = np.asarray(t[:], float), np.asarray(values[:], float) * float(values.attrs["mag"]) * scale


def trapezoid(t, v):
    return float(np.sum((v[1:] + v[:-1]) / 2 * np.diff(t)))


def compare(p, path, want, gpus_only):
    """Counted are the GPUs where a file has some (gpus_only): packages and DRAM are then shown beside them."""
    name = os.path.basename(path)
    store = name + ".db"
    answer, r = p.imported("--store", store, path)
    samples = {}
    for part, host, uuid, quantity, t, v in p.rows(
            "SELECT o.part, d.host, d.uuid, c.quantity, s.t_ns, s.value FROM sample s JOIN channel c ON c.id = s.channel JOIN device d ON d.id = c.device "
            "JOIN source o ON o.run = c.run ORDER BY s.t_ns", store):
        samples.setdefault((part, host, uuid.split(":", 1)[1], quantity), []).append((t / 1e9, v))
    expect(samples.keys() == want.keys() and want, f"{name}: {sorted(samples)}, not {sorted(want)}", r)
    for key, (t, v) in want.items():
        got_t, got_v = np.array(samples[key], float).T
        expect(len(got_t) == len(t), f"{name}: {key}: {len(got_t)} readings, not {len(t)}")
        expect(abs(got_t[0] - t[0]) < 1e-6 and abs(got_t[-1] - t[-1]) < 1e-6, f"{name}: {key}: from {got_t[0]} to {got_t[-1]}, not {t[0]} to {t[-1]}")
        expect(np.allclose(got_t, t, rtol=0, atol=1e-6) and np.allclose(got_v, v, rtol=1e-9, atol=0), f"{name}: {key}: {samples[key][:3]}, not {t[:3]} {v[:3]}")
    sums, energies = {}, 0
    for part, host, uuid, energy_j, chosen in p.rows(
            "SELECT o.part, d.host, d.uuid, e.energy_j, e.chosen FROM energy e JOIN device d ON d.id = e.device JOIN source o ON o.run = e.run "
            "WHERE e.epoch IS NULL AND e.method = 'integral'", store):
        device = uuid.split(":", 1)[1]
        t, v = want[part, host, device, "power_w"]
        is_gpu = device.startswith(("GPU-", "gpu"))
        expect(abs(energy_j - trapezoid(t, v)) < 1e-4 * energy_j, f"{name}: {part} {device}: {energy_j} J, not {trapezoid(t, v)}")
        expect(chosen == (is_gpu or not gpus_only), f"{name}: {part} {device}: counted: {chosen}")
        energies += 1
        if chosen:
            sums[part] = sums.get(part, 0) + trapezoid(t, v)
    expect(energies == sum(key[3] == "power_w" for key in want), f"{name}: {energies} energies")
    total = dict(p.rows("SELECT o.part, x.energy_j FROM total x JOIN source o ON o.run = x.run WHERE x.epoch = 0", store))
    expect(total.keys() == sums.keys() and all(abs(total[part] - sums[part]) < 1e-4 * sums[part] for part in sums), f"{name}: {total}, not {sums}")
    expect(len(answer["runs"]) == len(sums), f"{name}: {answer}", r)


with Workspace(wattlaw) as workspace:
    with zipfile.ZipFile(os.path.join(fixtures, "hdf5.zip")) as z:
        for member in ("two_blocks.h5", "compressed.h5", "two_runs.h5"):
            z.extract(member, workspace.path)
    for read, path in ((jpwr, os.path.join(fixtures, "jpwr.h5")), (jpwr, workspace.at("two_blocks.h5")), (jpwr, workspace.at("compressed.h5")),
                       (perun, os.path.join(fixtures, "perun.h5")), (perun, workspace.at("two_runs.h5"))):
        compare(workspace, path, read(path), read is perun)
    demo, = shared_data.find(source_root, "formats/perun/ddp_demo.hdf5")
    compare(workspace, demo, perun(demo), True)
print("6 HDF5 files of jpwr and perun as h5py reads them")
