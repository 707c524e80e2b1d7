"""wattlaw tune FILE.ini end to end: file.py WATTLAW FAKE_NVML_LIBRARY FAKE_LOAD WATTLAW_TRAIN"""
import concurrent.futures
import json
import os
import sys

from tune_rig import TuneRig, check_choice, expect

wattlaw, fake, load, train = map(os.path.abspath, sys.argv[1:5])


class FileRig(TuneRig):
    def __init__(self):
        super().__init__(wattlaw, fake, load)

    def experiment(self, text):
        path = os.path.join(self.path, "x.ini")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"[campaign]\nname = x\nstore = {self.path}/results\n{text}")
        return path

    def tune(self, *options):
        return self.run(wattlaw, "tune", *options)

    def tuned(self, *options):
        r = self.tune(*options, "--json")
        expect(r.returncode == 0, f"tune {options} fails", r)
        return json.loads(r.stdout)


def simulated(axes):
    """A campaign on the simulated node."""
    return f"""[sweep]
workload = simulated
{axes}
epochs = 2
[measure]
sensors = nvml
nvml_library = {fake}
[launch]
command = {load} workload={{workload}} workers={{workers}} epochs={{epochs}} updates=60 step_ms=20 overhead_ms=2 load=0.95
oversubscribe = yes
"""


def axis(result, key):
    return next(a for a in result["axes"] if a["key"] == key)


def caps_and_workers():
    """Workers, then the cap with the least energy within a slowdown that is known: nothing is run twice, and a sweep adds the rest."""
    with FileRig() as m:
        path = m.experiment(simulated("workers = 2\npower_cap_w = 150,180,210,240,270,300"))
        x = m.tuned(path, "--max-slowdown", "10%")
        trials = axis(x, "power_cap_w")["trials"]
        expect(trials[0]["value"] == 300 and 2 <= len(trials) <= 4 and x["runs"] == len(trials), f"not two to four trials from 300 W on: {x}")
        check_choice(axis(x, "power_cap_w")["choice"], trials, 1.1, x)
        expect(x["per"] == "sample" and all(t["simulated"] for t in trials), f"not per sample, or not marked as simulated: {x}")
        again = m.tuned(path, "--max-slowdown", "10%")
        expect(again["runs"] == 0 and axis(again, "power_cap_w") == axis(x, "power_cap_w"), f"runs are repeated: {again}")
        r = m.run(wattlaw, "sweep", path, "--set", "campaign.repeats=1", "--json")
        expect(r.returncode == 0 and json.loads(r.stdout)["done_before"] == len(trials), "a sweep does not add to the search", r)
        # least energy x time: two workers; the cap is searched at that count
        path = m.experiment(simulated("workers = 1,2\npower_cap_w = 200,300").replace("workload = simulated", "workload = other"))
        x = m.tuned(path, "--objective", "edp", "--set", "campaign.name=y")
        expect([a["key"] for a in x["axes"]] == ["workers", "power_cap_w"], f"the axes are not in the order of the settings: {x}")
        expect(axis(x, "workers")["choice"] == 2 and "--set sweep.workers=2" in x["use"], f"one worker has the least energy x time: {x}")
        expect(m.is_clean(), f"something is left: {m.get()}")


JOB = """
[ $1 -ge 64 ] && { echo "CUDA error: out of memory" >&2; exit 1; }
sleep 0.$((8 - $1 / 8))
"""


def out_of_memory():
    """A batch that does not fit excludes the larger ones; a failure of another axis excludes only itself."""
    with FileRig() as m:
        job = os.path.join(m.path, "job.sh")
        with open(job, "w", encoding="utf-8") as f:
            f.write(JOB)
        text = f"[measure]\nsensors = null\n[launch]\ncommand = sh {job} {{local_batch}}\noversubscribe = yes\n[sweep]\n"
        x = m.tuned(m.experiment(text + "local_batch = 16,8,32,64,128,256"), "--objective", "time")
        found = axis(x, "local_batch")
        state = {t["value"]: t["state"] for t in found["trials"]}
        expect(found["choice"] == 32 and found["trials"][0]["value"] == 16, f"not 32 from 16 on: {x}")
        expect("out of memory" in state.values(), f"nothing ran out of memory: {state}")
        failed = [t["value"] for t in found["trials"] if t["state"] == "out of memory"]
        expect(failed == sorted(failed, reverse=True), f"a batch was tried after a smaller one that did not fit: {found['trials']}")
        r = m.tune(m.experiment(text + "local_batch = 64,128"), "--set", "campaign.name=z", "--objective", "time")
        expect(r.returncode == 1 and "no value could be measured" in r.stderr, "all failed", r)
        r = m.tune(m.experiment(text + "local_batch = 8,16"))
        expect(r.returncode == 1 and "no sensor measures" in r.stderr, "energy without a sensor", r)


def wrong_input():
    with FileRig() as m:
        good = m.experiment(simulated("workers = 1,2"))
        for options, text in (((good, "--max-slowdown", "10%"), "workers is searched too"), ((good, "--apply"), "--apply is for a command"),
                              ((good, "--set", "sweep.workers=2"), "nothing to choose"), ((good, "--set", "sweep.workload=a,b"), "searches over numbers"),
                              ((good, "--max-values", "1"), "at least 2 values"), (("/proc/nowhere.ini",), "/proc/nowhere.ini"),
                              ((good, "--objective", "zeus"), "zeus"), ((good, "--set", "sweep.worker=1"), "workers")):
            r = m.tune(*options)
            expect(r.returncode in (1, 2) and text in r.stderr, f"tune {options} does not say '{text}'", r)


def a_real_job():
    """Threads and batch of a small network on this machine's CPUs."""
    with FileRig() as m:
        path = m.experiment(f"""[sweep]
workload = resnet50
workers = 1
threads = 1,2
local_batch = 4,8,16
epochs = 2
[data]
path = {m.path}/images
prepare = {train} data imagenet --synthetic {{data}} --classes 4 --images 64 --val-images 4 --image-size 40
[launch]
args = --size tiny --image-size 32 --loader-threads 0
oversubscribe = yes
""")
        x = m.tuned(path, "--objective", "time")
        for key in ("threads", "local_batch"):
            trials = axis(x, key)["trials"]
            measured = [t for t in trials if t["state"] == "measured"]
            expect(len(measured) >= 2 and all(t["time_s"] > 0 for t in measured), f"{key}: {trials}")
            expect(axis(x, key)["choice"] in [t["value"] for t in measured], f"{key}: the choice was not measured: {x}")


with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for done in [pool.submit(scenario) for scenario in (caps_and_workers, out_of_memory, wrong_input, a_real_job)]:
        done.result()
print("ok")
