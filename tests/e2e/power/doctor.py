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

# Two simulated GPUs, one of which is lost.
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

# Facts of a device, update periods of its sensors, other processes on it.
r = doctor("--nvml-library", fake, "--json", script="gpus=2; arch=9; mig=1; update_ms=50; power=ramp:100:50")
d = json.loads(r.stdout)
gpu = [x for x in d["devices"] if x["sensor"] == "nvml"][1]
expect(gpu["architecture"] == "Hopper" and gpu["mig"] == "on" and gpu["driver"] == "535.104.05", "facts", r)
expect(len(d["notes"]) == 2 and "MIG" in d["notes"][0], "notes", r)
r = doctor("--nvml-library", fake, "--gpm", script="gpm=denied")
expect("NVreg_RestrictProfilingToAdminUsers=0" in r.stdout and "update period" in r.stdout, "the fix of GPM", r)

# GPUs that the cgroup of a job hides are left out with the reason, and the rest is read. If all are hidden, the rest of the
# machine is still shown.
HIDDEN = "GPUs 0, 2 are left out: NVML: the GPU is blocked by the operating system (cgroup)"
hide = "gpus=4; power=200; fail=0:GetHandleByIndex:17; fail=2:GetHandleByIndex:17; fail=3:GetHandleByIndex:15"
r = doctor("--nvml-library", fake, script=hide)
expect(r.returncode == 0 and f"{HIDDEN}; GPU 3 is left out: NVML: GPU is lost\n" in r.stdout, "why GPUs are left out", r)
expect("  1: Fake GPU" in r.stdout and "  0: Fake GPU" not in r.stdout, "only GPU 1 is read", r)
r = doctor("--nvml-library", fake, "--json", script="gpus=2; fail=*:GetHandleByIndex:17")
nvml, = [s for s in json.loads(r.stdout)["sensors"] if s["name"] == "nvml"]
expect(r.returncode == 0 and nvml["state"] == "unavailable" and "none of them usable: NVML: the GPU is blocked" in nvml["reason"], "all hidden", r)

# A Cray node, a Grace module and a server without access to its BMC are shown with the fix.
with tempfile.TemporaryDirectory() as root:
    def put(path, text):
        os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
        with open(f"{root}/{path}", "w", encoding="ascii") as f:
            f.write(text + "\n")

    put("sys/cray/pm_counters/energy", "90000 J 1763643600123456 us")
    put("sys/cray/pm_counters/power", "412 W 1763643600123456 us")
    put("sys/class/hwmon/hwmon0/name", "power_meter")
    put("sys/class/hwmon/hwmon0/power1_average", "101000000")
    put("sys/class/hwmon/hwmon0/power1_oem_info", "Grace Power Socket 0")
    put("sys/devices/virtual/dmi/id/chassis_type", "23")
    d = json.loads(doctor("--sensor-root", root, "--sensors", "cray,acpi", "--json").stdout)
    scopes = {(c["sensor"], c["scope"], c["quantity"]): c["latest"] for c in d["channels"]}
    expect(scopes[("cray", "node", "power_w")] == 412 and scopes[("acpi", "package", "power_w")] == 101, "values", r)
    expect(d["energy_from"] == "package", "the CPU comes before the node", r)
    r = doctor("--sensor-root", root, "--sensors", "ipmi")
    expect(r.returncode == 1 and "sudo modprobe ipmi_si" in r.stderr, "a server without its BMC's driver", r)

# If only root may read the counters, the fix is shown.
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

# An error is one line.
r = doctor("--sensors", "nvml", NVML_LIBRARY="/proc/nowhere/libnvidia-ml.so.1")
expect(r.returncode == 1 and "/proc/nowhere/libnvidia-ml.so.1" in r.stderr and r.stderr.count("\n") == 1, "named sensor", r)
r = doctor("--sensors", "rapll")
expect(r.returncode == 1 and "did you mean rapl?" in r.stderr, "unknown sensor", r)
r = doctor("--rate-hz", "0")
expect(r.returncode == 2 and "rate-hz" in r.stderr, "rate out of range", r)
