#!/usr/bin/env python3
"""A build without tests, as ./quickstart makes it, has what the experiments name, and the simulated campaign runs there:
simulator.py SOURCE WATTLAW"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

source, wattlaw = map(os.path.abspath, sys.argv[1:3])
INI = os.path.join(source, "experiments/simulated-caps.ini")
SMALLER = ("campaign.repeats=1", "sweep.workers=1", "sweep.power_cap_w=200,400", "sweep.clock_mhz=1410", "sweep.epochs=1")


def run(*command, **options):
    r = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if r.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout}")
    return r.stdout


def quickstart_options():
    """Those that ./quickstart gives to meson."""
    with open(os.path.join(source, "quickstart"), encoding="utf-8") as f:
        return re.search(r"^configure build (.*)$", f.read(), re.M).group(1).split()


def named():
    """Files of a build that experiments name outside of comments."""
    for path in glob.glob(os.path.join(source, "experiments/*.ini")):
        with open(path, encoding="utf-8") as f:
            for line in f:
                for name in re.findall(r"(?<!\S)build/(\S+)", line.split("#")[0]):
                    yield os.path.basename(path), name


with tempfile.TemporaryDirectory() as folder:
    build = os.path.join(folder, "build")
    run("meson", "setup", build, source, *quickstart_options())
    targets = json.loads(run("meson", "introspect", "--targets", build))
    made = {os.path.relpath(name, build) for t in targets if t["build_by_default"] for name in t["filename"]}
    wanted = sorted(set(named()))
    missing = [f"{ini}: {name} is not made by ./quickstart" for ini, name in wanted if name not in made]
    if missing or not wanted:
        sys.exit("\n".join(missing) or "no experiment names a file of the build")
    run("ninja", "-C", build, *{name for _, name in wanted})

    with open(INI, encoding="utf-8") as f:
        shown = re.search(r"^# *export WATTLAW_FAKE_NVML='([^']+)'", f.read(), re.M).group(1)
    env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
    env["WATTLAW_FAKE_NVML"] = shown.replace("/tmp/", folder + "/")
    out = run(wattlaw, "sweep", INI, *[w for s in SMALLER for w in ("--set", s)], cwd=folder, env=env)
    if "2 of 2 runs of campaign simulated-caps are done" not in out or "simulated)" not in out:
        sys.exit(out)
    print(f"{len(wanted)} files of the build, 2 runs")
