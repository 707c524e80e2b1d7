"""Energy of a measured command on scripted GPUs: measure_gpu.py WATTLAW FAKE_NVML_LIBRARY"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
PATIENCE_S = 60


def environment(script):
    env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
    return dict(env, WATTLAW_FAKE_NVML=script)


def measure(script, seconds, *options):
    with tempfile.TemporaryDirectory() as folder:
        env = environment(script)
        r = subprocess.run([wattlaw, "measure", "--nvml-library", fake, "--quiet", "--json-file", "s.json", *options, "--",
                            "sleep", str(seconds)], cwd=folder, env=env, text=True, capture_output=True)
        if r.returncode != 0:
            sys.exit(f"exit {r.returncode}: {r.stderr}")
        with open(os.path.join(folder, "s.json"), encoding="utf-8") as f:
            return json.load(f)


def expect(condition, what, s):
    if not condition:
        sys.exit(f"{what}\n{json.dumps(s, indent=1)}")


def energy(s, method):
    found = [e for e in s["energies"] if e["method"] == method and e["scope"] == "gpu"]
    expect(len(found) == 1 and found[0]["simulated"] and not found[0]["estimated"], f"one simulated {method}", s)
    return found[0]


def near(value, want, share):
    return value is not None and abs(value / want - 1) <= share


# Two GPUs at 250 and 251 W: counter and integral both give what they drew.
s = measure("gpus=2; power=250", 1)
for method in ("counter", "integral"):
    expect(near(energy(s, method)["energy_j"], 501 * s["time_s"], 0.02), f"{method}: 501 W", s)
expect(energy(s, "counter")["chosen"], "the counter is preferred", s)

# Without a counter each update of the power is read or, at a lower requested rate, a note gives the rate that reads each update.
# The update period is found by polling, and a busy machine polls late: then it seems longer, never shorter.
def advised_hz(update_ms, *options):
    s = measure("power=sine:250:20:0.3; fail=*:83:3; fail=*:191:3; fail=*:GetTotalEnergyConsumption:3; "
                f"update_ms={update_ms}", 0.5, *options)
    rates = [re.search(r"no energy counter.* --rate-hz (\d+) reads every update", n) for n in s["notes"]]
    return [int(r[1]) for r in rates if r], s["sampling_period_s"] or float("inf")


def until(what, seen, allowed, *options):
    """Measures until the true rate is reported, which takes longer on a busy machine; earlier reports must be `allowed`."""
    until_s, found = time.monotonic() + PATIENCE_S, []
    while time.monotonic() < until_s:
        found.append(advised_hz(20, *options))
        expect(allowed(*found[-1]), f"{what}: {found}", {})
        if seen(*found[-1]):
            return
    expect(False, f"{what} in {PATIENCE_S} s: {found}", {})


until("the rate is noted", lambda hz, s: hz and hz[0] >= 49, lambda hz, s: len(hz) <= 1 and all(v < 60 for v in hz),
      "--rate-hz", "5")
until("each update is read", lambda hz, s: not hz and s < 0.016, lambda hz, s: s > 0.012, "--sensors", "nvml")
expect(advised_hz(100)[0] == [], "a rate that reads all is not", {})

# A counter with a wrong scale differs from the integral, which the summary and show report.
with tempfile.TemporaryDirectory() as folder:
    off = "counter over integral ratio 1.1"
    for scale, wants in (("1.1", True), ("1.0", False)):
        env = environment(f"power=250; counter_scale={scale}")
        r = subprocess.run([wattlaw, "measure", "--nvml-library", fake, "--", "sleep", "1"], cwd=folder, env=env, text=True,
                           capture_output=True)
        expect((", ratio 1.1" in r.stderr and "off by more than 5 %" in r.stderr) == wants, r.stderr, scale)
        run = "1" if wants else "2"
        r = subprocess.run([wattlaw, "show", "wattlaw.db", "--run", run], cwd=folder, text=True, capture_output=True)
        expect((off in r.stdout and "off by more than 5 %" in r.stdout) == wants, r.stdout + r.stderr, scale)

# Only the GPU that the job may use.
s = measure("gpus=4; power=250; fail=0:GetHandleByIndex:17; fail=1:GetHandleByIndex:17; fail=2:GetHandleByIndex:17", 0.5)
expect(near(energy(s, "counter")["energy_j"], 253 * s["time_s"], 0.02), "only GPU 3, 253 W", s)

# ... which the run reports with its status; a GPU that gets hidden during the run is a gap, not an error.
with tempfile.TemporaryDirectory() as folder:
    for script, wants in (("gpus=3; power=250; fail=0:GetHandleByIndex:17; fail=2:GetHandleByIndex:17", "GPUs 0, 2 are left out: "),
                          ("gpus=2; power=250; fail=1:*:17:0.3", "GPU-a0000001")):
        r = subprocess.run([wattlaw, "measure", "--nvml-library", fake, "--", "sleep", "0.6"], cwd=folder, env=environment(script),
                           text=True, capture_output=True)
        expect(r.returncode == 0, r.stderr, script)
        run = "1" if "0:GetHandle" in script else "2"
        r = subprocess.run([wattlaw, "show", "wattlaw.db", "--run", run], cwd=folder, text=True, capture_output=True)
        expect("done" in r.stdout and wants in r.stdout and "blocked by the operating system (cgroup)" in r.stdout, r.stdout, script)

# The counter is reset in the middle: the integral counts.
s = measure("power=250; reset_s=0.5", 1)
expect(energy(s, "counter")["energy_j"] is None, "a counter that was reset gives no energy", s)
expect(near(energy(s, "integral")["energy_j"], 250 * s["time_s"], 0.02), "the integral does", s)

# A counter that the GPU lacks: the same.
s = measure("power=250; fail=*:83:3; fail=*:GetTotalEnergyConsumption:3", 0.5)
expect(near(energy(s, "integral")["energy_j"], 250 * s["time_s"], 0.02), "energy without a counter", s)

# A counter and a power reading with an update period of 100 ms.
s = measure("power=250; update_ms=100", 2)
expect(near(energy(s, "counter")["energy_j"], 250 * s["time_s"], 0.06), "a coarse counter", s)

# A GPU that is lost during the run: the run continues, its energy is missing, not too low.
s = measure("gpus=2; power=250; fail=1:*:15:0.4", 1.5)
expect(s["status"] == "done", "the run continues", s)
expect(energy(s, "counter")["energy_j"] is None and energy(s, "integral")["energy_j"] is None, "no energy", s)

# Every call takes 4 ms: the GPU driver gets a thread of its own and ticks are skipped, the energy stays right.
s = measure("power=250; latency_us=4000", 1.5, "--rate-hz", "100")
expect(near(energy(s, "counter")["energy_j"], 250 * s["time_s"], 0.03), "a slow driver", s)

# Throttle reasons, other processes and facts of the device: in the summary, in the store, in show.
with tempfile.TemporaryDirectory() as folder:
    env = environment("gpus=2; power=250; capped=0.3; thermal=0.1; pids=1; pid_util=40; busy=50,0; arch=7; update_ms=50")
    r = subprocess.run([wattlaw, "measure", "--nvml-library", fake, "--json-file", "s.json", "--", "sleep", "1.2"], cwd=folder,
                       env=env, text=True, capture_output=True)
    with open(os.path.join(folder, "s.json"), encoding="utf-8") as f:
        s = json.load(f)
    expect(near(s["power_capped_pct"], 30, 0.05) and near(s["thermal_capped_pct"], 10, 0.05), "shares of time", s)
    notes = [n for n in s["notes"] if "shared node" not in n]  # another test that measures on this machine
    expect(len(notes) == 2 and "other processes used the GPU during the job: 1 process" in notes[0], "other processes", s)
    # All of the utilisation by process is the other's: without an idle measurement the job may owe nothing but idle energy.
    expect("1 process of others used a GPU" in s["load"]["busy"] and s["load"]["gpu_processes"] == 1, "a busy machine", s)
    job, whole = s["job"], energy(s, "counter")["energy_j"]
    expect(job["method"] == "gpu-processes" and job["energy_j"] is None and "--idle 10s" in job["why"], "the job's part", s)
    expect(job["energy_lo_j"] == 0 and near(job["energy_hi_j"], whole, 0.05), "its bounds", s)
    expect("  not used     GPU 0 idle 50 %, GPU 1 idle 100 % of the time: ask for 1 GPU\n" in r.stderr, "a GPU not used", r.stderr)
    expect("  job's energy between 0" in r.stderr, "the job's part is shown", r.stderr)
    for text in ("throttled    30.", "of the time by the power limit", "note         GPU-a0000000", "every "):
        expect(text in r.stderr, f"{text} in the summary", r.stderr)
    r = subprocess.run([wattlaw, "show", "wattlaw.db", "--run", "1"], cwd=folder, text=True, capture_output=True)
    for text in ("throttled 30.", "not used  GPU 0 idle 50 %", "power_capped_s", "s/s", "warn  power GPU-a0000000", "driver 535.104.05"):
        expect(text in r.stdout, f"{text} is shown", r.stdout)
    r = subprocess.run([wattlaw, "show", "wattlaw.db", "--run", "1", "--json"], cwd=folder, text=True, capture_output=True)
    for text in ("Ampere", "92.00.45.00.00", "persistence"):
        expect(text in r.stdout, f"{text} is in the device's record", r.stdout)
