"""Files that describe measurements and hold none are refused, with the reason, and nothing is stored: refused.py WATTLAW SOURCE_ROOT"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
import shared_data  # noqa: E402
from harness import Workspace, expect  # noqa: E402

REASONS = {"nvml-mock/a100.yaml": "the description of a GPU for a simulated NVML", "nvml-mock/gb300.yaml": "the description of a GPU for a simulated NVML",
           "geopm/test_io_experiment.report": "a report of GEOPM, which has means of regions",
           "dcgm-exporter/default-counters.csv": "the list of fields that dcgm-exporter is to read, without measurements",
           "codecarbon/mock_rapl_data.txt": "a single number", "codecarbon/mock_rapl_data_max.txt": "a single number",
           "perun/ddp_demo.hdf5.tree.txt": "the list of what is in an HDF5 file of perun",
           "perun/ddp_demo_run1.txt": "perun's report for people", "perun/ddp_demo_run1.json": "perun's means of all rounds", "jpwr/energy.vm.6798.csv": "the totals that jpwr computed, without times"}
files = dict(zip(REASONS, shared_data.find(sys.argv[2], *(os.path.join("formats", name) for name in REASONS))))
with Workspace(sys.argv[1]) as p:
    for name, reason in REASONS.items():
        r = p.refused(files[name], why=reason)
        expect(r.stderr.startswith(f"error: {files[name]}: "), f"{name}: the file is named", r)
        expect(len(r.stderr.splitlines()) == 1 and not r.stdout, f"{name}: one line", r)
    expect(not os.path.exists(p.at("wattlaw.db")), "no store is made")
print(f"{len(REASONS)} files without measurements are refused")
