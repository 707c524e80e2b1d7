"""A campaign over workers, power caps and clocks on simulated GPUs: simulated.py WATTLAW FAKE_NVML FAKE_LOAD INI"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

wattlaw, fake, load, ini = map(os.path.abspath, sys.argv[1:5])
# The A100 of tests/fake/gpu_model.c.
IDLE_W, FULL_W, MAX_MHZ, EXPONENT, MEMORY_SHARE, LOAD, STEP_S, UPDATES = 52, 390, 1410, 2.2, 0.3, 0.9, 0.02, 4


def model_speed(cap_w, clock_mhz):
    room = (cap_w - IDLE_W) / ((FULL_W - IDLE_W) * LOAD)
    mhz = min(clock_mhz, MAX_MHZ * room ** (1 / EXPONENT))
    return 1 / (MEMORY_SHARE + (1 - MEMORY_SHARE) * MAX_MHZ / mhz)


with tempfile.TemporaryDirectory() as folder:
    env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
    env.update(WATTLAW_FAKE_NVML=f"gpus=2; profile=A100; spread=0; world={folder}/world; state={folder}/limits; "
                                 f"opened={folder}/opened",
               WATTLAW_STATE_DIR=folder + "/state")

    def run(*args):
        r = subprocess.run([wattlaw, *args], cwd=folder, env=env, text=True, capture_output=True)
        if r.returncode != 0:
            sys.exit(f"{args}: exit {r.returncode}\n{r.stdout}\n{r.stderr}")
        return r.stdout if args[0] != "sweep" else r.stderr

    def compare(factor, *by):
        return json.loads(run("compare", "store", "--factor", factor, "--json", "--drop-epochs", "0",
                              *[word for name in by for word in ("--by", name)]))

    settings = ("campaign.store=store", "campaign.repeats=1", "sweep.workers=1,2", "sweep.power_cap_w=200,400",
                "sweep.epochs=2", f"measure.nvml_library={fake}",
                f"launch.command={load} workload={{workload}} workers={{workers}} epochs={{epochs}} "
                f"step_ms={STEP_S * 1e3} overhead_ms=0 updates={UPDATES}")
    found = [line for line in run("sweep", ini, *[word for s in settings for word in ("--set", s)]).splitlines() if " J" in line]
    if not found or not all(re.search(r" J (\([^()]*simulated\)), 2 epochs", line) for line in found):
        sys.exit(f"an energy that is not marked simulated: {found}")

    # The fitted time of one worker under each cap and clock is the model's, and doubling the workers halves it.
    seen = 0
    for group in compare("clock_mhz", "power_cap_w")["groups"]:
        if not group["simulated"]:
            sys.exit(f"not marked simulated: {group['title']}")
        for level in group["per_level"]:
            want = UPDATES * STEP_S / model_speed(float(group["key"]["power_cap_w"]), float(level["value"]))
            if abs(level["alpha"] / want - 1) > 1e-3 or abs(level["beta"] - 1) > 1e-3:
                sys.exit(f"{group['title']}, {level['value']} MHz: the model takes {want} s, beta 1; fitted: {level}")
            seen += 1
    if seen != 4:
        sys.exit(f"{seen} settings instead of 4")

    # A sweep keeps the driver open for all of its runs, even without caps: a driver without users may reset its counters.
    os.unlink(f"{folder}/opened")
    with open(f"{folder}/plain.ini", "w", encoding="utf-8") as f:
        f.write(f"[campaign]\nname = plain\nrepeats = 3\n[measure]\nsensors = nvml\nnvml_library = {fake}\n[launch]\ncommand = true\n")
    run("sweep", "plain.ini")
    with open(f"{folder}/opened", encoding="utf-8") as f:
        opened = f.read().split()
    if len(opened) != 1:
        sys.exit(f"the driver was opened by {opened}, not once")
