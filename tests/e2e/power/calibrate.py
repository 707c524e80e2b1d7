"""doctor --calibrate on simulated GPUs: the true response of each profile is found, stored and used by runs:
calibrate.py WATTLAW FAKE_NVML FAKE_CUDA"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

wattlaw, nvml, cuda = map(os.path.abspath, sys.argv[1:4])
# The sensors of tests/fake/gpu_model.c: update period, window, lag; s. Of these only a Hopper has the 1 s mean.
TRUTH = {"V100": (0.020, 0.010, 0), "A100": (0.100, 0.025, 0), "H100": (0.100, 0.025, 0)}
NO_MEAN = "fail=*:185:3; "
ENV = {k: v for k, v in os.environ.items()
       if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY", "CUDA_DRIVER_LIBRARY", "WATTLAW_FAKE_NVML", "XDG_STATE_HOME")}


def check(true, *what):
    if not true:
        sys.exit("FAILED: " + " ".join(map(str, what)))


class Machine:
    def __init__(self, folder, name, script):
        self.env = dict(ENV, WATTLAW_FAKE_NVML=f"world={folder}/{name}.world; {script}", WATTLAW_STATE_DIR=f"{folder}/{name}",
                        NVML_LIBRARY=nvml)
        self.file = f"{folder}/{name}/calibration.ini"
        self.folder = folder

    def start(self, *args, **more):
        return subprocess.Popen([wattlaw, *args], env=dict(self.env, **more), text=True,
                                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def calibrate(self, *args, **more):
        return self.start("doctor", "--calibrate", *args, "--cuda-library", cuda, "--json", **more)

    def run(self, *args, status=0, **more):
        p = self.start(*args, **more)
        out, err = p.communicate()
        check(p.returncode == status, args, "exit", p.returncode, out, err)
        return out, err


def fails(p, *words):
    out, err = p.communicate()
    check(p.returncode == 1, "exit", p.returncode, out, err)
    for word in words:
        check(word in err, repr(word), "is not in", err)


def near(profile, what, found, se, want, tolerance):
    """Within the tolerance or, if the machine was too busy to poll, within the stated error."""
    check(abs(found - want) <= max(tolerance, 4 * se), profile, what, found, "+-", se, "is not", want, "+-", tolerance)
    check(se < 4 * tolerance, profile, what, "has an error of", se)


def judge(profile, result):
    update_s, window_s, lag_s = TRUTH[profile]
    found = {c["quantity"]: c for c in result["calibrations"]}
    check(set(found) == ({"power_w", "power_average_w"} if profile == "H100" else {"power_w"}), result)
    check(all(c["simulated"] and c["driver"] and c["updates"] > 30 for c in found.values()), result)
    for quantity, c in found.items():
        window = window_s if quantity == "power_w" else 1
        near(profile, quantity + " update", c["update_s"], c["update_se_s"], update_s, 0.01 * update_s)
        near(profile, quantity + " window", c["window_s"], c["window_se_s"], window, max(0.002, 0.03 * window))
        near(profile, quantity + " lag", c["lag_s"], c["lag_se_s"], lag_s, 0.002 if window < 1 else 0.02)
    check(abs(found["power_w"]["seen"] - window_s / update_s) < 0.1, found["power_w"]["seen"])


def a_run_uses_it(m, found):
    _, err = m.run("measure", "--store", "runs.db", "--json-file", "run.json", "--", "sleep", "0.5")
    check("shows" in err and "(calibrated 20" in err, err)
    check(json.load(open(m.folder + "/run.json"))["power_calibrated"] == found["date"])
    channels = json.loads(m.run("show", "runs.db", "--run", "1", "--json")[0])["channels"]
    channel, = [c for c in channels if c["quantity"] == "power_w"]
    check(channel["calibrated"] == found["date"] and abs(channel["window_s"] / found["window_s"] - 1) < 1e-9, channel)
    delay_s = found["lag_s"] + (found["update_s"] + found["window_s"]) / 2
    check(abs(channel["delay_s"] - delay_s) < 1e-9, channel, delay_s)
    out, _ = m.run("doctor", "--for", "0")
    check("(calibrated 20" in out and "calibrated power_w update period" in out, out)


def means_narrow_the_interval(m):
    """The integral of a varying load, without and with the driver's mean, whose window is assumed or calibrated."""
    width = {}
    for state, fault in ("/nothing", "; fail=*:185:3"), ("/nothing", ""), ("", ""):
        m.run("measure", "--store", "means.db", "--json-file", "means.json", "--quiet", "--", "sleep", "2",
              WATTLAW_STATE_DIR=m.env["WATTLAW_STATE_DIR"] + state,
              WATTLAW_FAKE_NVML=f"world={m.folder}/means.world; profile=H100; load=training:0.9:0.1:0.3:0.6{fault}")
        integral, = [e for e in json.load(open(m.folder + "/means.json"))["energies"] if e["method"] == "integral"]
        width[state + fault] = (integral["energy_hi_j"] - integral["energy_lo_j"]) / integral["energy_j"]
    check(max(width[""], width["/nothing"]) < 0.75 * width["/nothing; fail=*:185:3"], width)


def a_calibration_of_another_driver_is_not_used(m):
    text = open(m.file).read()
    open(m.file, "w").write(re.sub(r"(?m)^driver = .*$", "driver = 1.2", text))
    out, _ = m.run("doctor", "--for", "0")
    check("(assumed)" in out and "calibrated 20" not in out and "of driver 1.2, not used with" in out, out)
    open(m.file, "w").write(text.replace("window_s = ", "window_s = x", 1))
    out, _ = m.run("doctor", "--for", "0")
    check(re.search(r"calibrations are not used: .*calibration.ini:\d+: window_s", out), out)


def it_rejects(folder):
    busy = Machine(folder, "busy", "profile=A100; pids=4242")
    fails(busy.calibrate(), "process 4242 uses it", "--force")
    fails(Machine(folder, "mig", "profile=A100; mig=1").calibrate(), "MIG")
    fails(Machine(folder, "none", "profile=A100; init=9").calibrate(), "only NVIDIA GPUs can be calibrated")
    fails(Machine(folder, "dead", "profile=A100").calibrate(WATTLAW_FAKE_CUDA="init=100"), "no CUDA-capable device")
    fails(Machine(folder, "broken", "profile=A100").calibrate(WATTLAW_FAKE_CUDA="fail_at=40"), "illegal memory access")
    fails(busy.start("doctor", "--calibrate", "--force", "--cuda-library", folder + "/no.so"), "the load needs the CUDA driver")
    p = Machine(folder, "other", "profile=A100; gpus=2").calibrate("7")
    check(p.wait() == 2 and "no NVIDIA GPU 7; found" in p.stderr.read())


def ctrl_c_stops_it(folder):
    m = Machine(folder, "stopped", "profile=A100; pids=4242")
    p = m.calibrate("--force", "0")
    time.sleep(2)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate()
    check(p.returncode == 130 and not out and not os.path.exists(m.file), p.returncode, out, err)


with tempfile.TemporaryDirectory() as folder:
    machines = {name: Machine(folder, name, ("" if name == "H100" else NO_MEAN) + f"profile={name}") for name in TRUTH}
    started = {name: m.calibrate() for name, m in machines.items()}
    it_rejects(folder)
    ctrl_c_stops_it(folder)
    results = {}
    for name, p in started.items():
        out, err = p.communicate()
        check(p.returncode == 0, name, "exit", p.returncode, out, err)
        check("square waves" in err, err)
        results[name] = json.loads(out)
        judge(name, results[name])
    a100, = [c for c in results["A100"]["calibrations"] if c["quantity"] == "power_w"]
    a_run_uses_it(machines["A100"], a100)
    means_narrow_the_interval(machines["H100"])
    a_calibration_of_another_driver_is_not_used(machines["A100"])
