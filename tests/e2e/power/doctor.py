"""wattlaw doctor as a user calls it: doctor.py WATTLAW FAKE_NVML_LIBRARY"""
import json
import os
import subprocess
import sys
import tempfile

wattlaw, fake = sys.argv[1:3]


def doctor(*options, script="", **environment):
    env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
    env.update(environment, WATTLAW_FAKE_NVML=script)
    return subprocess.run([wattlaw, "doctor", "--for", "0.3s", *options], env=env, text=True, capture_output=True)


def expect(condition, what, run):
    if not condition:
        sys.exit(f"{what}\nexit {run.returncode}\n--- stdout\n{run.stdout}\n--- stderr\n{run.stderr}")


# This machine, as it is.
r = doctor()
expect(r.returncode == 0 and not r.stderr, "doctor works on any machine", r)
for word in ("nvml", "rapl", "proc", "replay", "cpu_model", "cpu_util_pct", "% of one core", "mpirun"):
    expect(word in r.stdout, f"{word} is listed", r)

# Two simulated GPUs, one of which gets lost.
r = doctor("--nvml-library", fake, "--json", "--for", "1s", script="gpus=2; models=V100; power=200; fail=1:*:15:0.8")
expect(r.returncode == 0, "doctor works with GPUs", r)
d = json.loads(r.stdout)
sensors = {s["name"]: s for s in d["sensors"]}
expect(sensors["nvml"]["state"] == "open" and "(simulated)" in sensors["nvml"]["source"], "nvml is open", r)
expect(sensors["cpu_model"]["state"] == "unused", "no estimate where GPUs are measured", r)
expect(d["energy_from"] == "gpu", "energy comes from the GPUs", r)
power = [c for c in d["channels"] if c["quantity"] == "power_w" and c["sensor"] == "nvml"]
expect(len(power) == 2 and all(c["simulated"] for c in power), "two channels, marked simulated", r)
expect(abs(power[0]["latest"] - 200) < 0.01 and power[0]["failed"] == 0, "GPU 0 reads 200 W", r)
expect(power[1]["failed"] > 0 and power[1]["last_failure"] == "NVML: GPU is lost", "GPU 1 is lost", r)
expect(power[0]["uuid"].startswith("GPU-") and power[0]["bus_id"].endswith("01:00.0"), "identity", r)

# A machine whose counters only root may read is told the command.
with tempfile.TemporaryDirectory() as root:
    os.makedirs(f"{root}/sys/class/powercap/intel-rapl:0")
    zone = f"{root}/sys/class/powercap/intel-rapl:0"
    for name, text in (("name", "package-0"), ("energy_uj", "1000"), ("max_energy_range_uj", "262143328850")):
        with open(f"{zone}/{name}", "w", encoding="ascii") as f:
            f.write(text + "\n")
    r = doctor("--sensor-root", root, "--json")
    d = json.loads(r.stdout)
    expect(d["energy_from"] == "package", "RAPL of the given root", r)
    if os.geteuid() != 0:
        os.chmod(f"{zone}/energy_uj", 0)
        r = doctor("--sensor-root", root)
        expect("sudo chmod a+r" in r.stdout, "the fix is named", r)

# What cannot be is one clear line.
r = doctor("--sensors", "nvml", NVML_LIBRARY="/nowhere/libnvidia-ml.so.1")
expect(r.returncode == 1 and "/nowhere/libnvidia-ml.so.1" in r.stderr and r.stderr.count("\n") == 1, "named sensor", r)
r = doctor("--sensors", "rapll")
expect(r.returncode == 1 and "did you mean rapl?" in r.stderr, "unknown sensor", r)
r = doctor("--rate-hz", "0")
expect(r.returncode == 2 and "rate-hz" in r.stderr, "rate out of range", r)
