"""wattlaw tune FILE.ini end to end: file.py WATTLAW FAKE_NVML_LIBRARY FAKE_LOAD WATTLAW_TRAIN"""
import concurrent.futures
import json
import os
import signal
import sys

from tune_rig import TuneRig, check_choice, expect

wattlaw, fake, load, train = map(os.path.abspath, sys.argv[1:5])


class FileRig(TuneRig):
    def __init__(self):
        super().__init__(wattlaw, fake, load)

    def write(self, name, text):
        path = os.path.join(self.path, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def experiment(self, text):
        return self.write("x.ini", f"[campaign]\nname = x\nstore = {self.path}/results\n{text}")

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
        job = m.write("job.sh", JOB)
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


RANKS = """
[ $1 -le 37 ] && exit 0
sleep 30 &
sh -c 'echo "torch.OutOfMemoryError: CUDA out of memory" >&2; exit 1' &
wait
"""


def largest_batch():
    """Doubling and bisection; the ranks that wait for one which ran out of memory are ended."""
    with FileRig() as m:
        job = m.write("ranks.sh", RANKS)
        text = f"[measure]\nsensors = null\n[launch]\ncommand = sh {job} {{local_batch}}\ngrace = 0.2s\n[sweep]\nlocal_batch = 8"
        path = m.experiment(text)
        x = m.tuned(path, "--largest-batch")
        found = axis(x, "local_batch")
        expect(found["choice"] == 37 and x["runs"] == len(found["trials"]) == 9 and x["objective"] == "largest_batch", f"not 37 in nine runs: {x}")
        states = {t["value"]: t["state"] for t in found["trials"]}
        expect(all(states[v] == ("measured" if v <= 37 else "out of memory") for v in states), f"states: {states}")
        expect("38" in found["reason"] and "made no progress" in found["reason"], f"the reason does not name what failed: {x}")
        expect(not m.run("pgrep", "-f", f"^sh {job}").stdout, "ranks that waited are left")
        expect(m.tuned(path, "--largest-batch")["runs"] == 0, "runs are repeated")
        x = m.tuned(path, "--largest-batch", "--batch-step", "8", "--set", "sweep.local_batch=12,20")
        expect(axis(x, "local_batch")["choice"] == 16 and "allows" in axis(x, "local_batch")["reason"], f"not 16, the largest multiple of 8 below 20: {x}")
        r = m.tune(path, "--largest-batch", "--set", "sweep.local_batch=64", "--batch-step", "64")
        expect(r.returncode == 1 and "not even local_batch = 64 fits: out of memory" in r.stderr, "nothing fits", r)
        r = m.tune(path, "--largest-batch", "--set", "sweep.workers=1,2", "--set", f"launch.command=sh {job} {{local_batch}} {{workers}}")
        expect(r.returncode == 1 and "several values" in r.stderr, "several worker counts", r)


def memory_of_two_ranks():
    """Two real ranks, each with the same limit of its address space."""
    with FileRig() as m:
        path = m.experiment(f"""[sweep]
workload = resnet50
workers = 2
local_batch = 64
epochs = 1
[data]
path = {m.path}/images
prepare = {train} data imagenet --synthetic {{data}} --classes 4 --images 256 --val-images 4 --image-size 140
[measure]
sensors = null
[launch]
command = sh -c "ulimit -v 520000; exec {train} resnet50 --workers {{workers}} --data {{data}} --epochs {{epochs}} --local-batch {{local_batch}} --size tiny --image-size 128 --loader-threads 0"
oversubscribe = yes
timeout = 100s
""")
        found = axis(m.tuned(path, "--largest-batch", "--batch-step", "64"), "local_batch")
        failed = found["trials"][-1]
        expect(found["choice"] == 64 and [t["value"] for t in found["trials"]] == [64, 128], f"not 64 of 64 and 128: {found}")
        expect("memory" in failed["why"] or "address space" in failed["why"], f"not for memory: {failed}")


def interrupted():
    """Ctrl-C between two trials or within one: what ended is not run again."""
    with FileRig() as m:
        path = m.experiment("[measure]\nsensors = null\n[launch]\ncommand = sh -c 'sleep .5' {local_batch}\noversubscribe = yes\n[sweep]\nlocal_batch = 8,16,32")
        p = m.start_command([wattlaw, "tune", path, "--objective", "time"])
        first = p.stderr.readline()
        p.send_signal(signal.SIGINT)
        rest = p.communicate()[1]
        expect(p.returncode == 130 and "the same command resumes the search" in rest, f"Ctrl-C: exit status {p.returncode}: {first}{rest}")
        x = m.tuned(path, "--objective", "time")
        trials = axis(x, "local_batch")["trials"]
        expect(trials[0]["run"] == 1 and x["runs"] < len(trials) and x["per"] == "run", f"the search does not resume: {x}")


TRAINING = """
i=0
while [ $i -lt 12 ]; do
    i=$((i + 1))
    sleep $(awk "BEGIN { print .1 + 1.6 / $1 }")
    echo "epoch $i accuracy $(awk "BEGIN { print .9 * $i / (4 + $1 / 16) }")"
done
"""


def batch_to_a_target():
    """Epochs to .9 are 4 + batch / 16, an epoch takes .1 + 1.6 / batch s: 16 costs 1 s, 8 1.35 s (5 epochs), 32 .9 s, 64 1 s, 128 1.35 s.
    A trial ends at the target; one that costs too much, or does not reach it, does not."""
    with FileRig() as m:
        job = m.write("training.sh", TRAINING)
        path = m.experiment(f"""[measure]
sensors = null
epoch_regex = epoch ([0-9]+) accuracy ([0-9.]+)
epoch_fields = epoch=1,accuracy=2
[launch]
command = sh {job} {{local_batch}}
[sweep]
local_batch = 4,8,16,32,256
""")
        x = m.tuned(path, "--objective", "time", "--target", "accuracy=0.9")
        trials = {t["value"]: t for t in axis(x, "local_batch")["trials"]}
        expect(x["per"] == "target" and x["target"] == "accuracy=0.9", f"not per target: {x}")
        expect(axis(x, "local_batch")["choice"] in (16, 32), f"neither 16 nor 32: {x}")
        expect(trials[4]["state"] == "measured" and 2.4 < trials[4]["time_s"] < 4, f"the first trial is not five epochs: {x}")
        expect(all(t["state"] == "measured" for v, t in trials.items() if v in (8, 16, 32)), f"a trial within the limit was stopped: {x}")
        expect(256 not in trials or trials[256]["state"] == "not reached", f"256 reaches the target in 12 epochs: {x}")
        again = m.tuned(path, "--objective", "time", "--target", "accuracy=0.9")
        expect(again["runs"] == 0 and again["axes"] == x["axes"], f"a search is not resumed: {again}")
        r = m.tune(path, "--objective", "time", "--target", "f1=0.9")
        expect(r.returncode == 1 and "f1" in r.stderr and "it reports accuracy" in r.stderr, "an unknown metric", r)


def energy_to_a_target():
    """On the simulated node: .4, .2 and .1 of the target per epoch. The last one would take more than three times the energy of the
    first, and is stopped before."""
    with FileRig() as m:
        text = simulated("workers = 2\nlocal_batch = 40,20,10").replace("epochs = 2", "epochs = 30")
        path = m.experiment(text.replace("updates=60", "updates=20 rate=0.{local_batch}"))
        x = m.tuned(path, "--target", "accuracy=0.8")
        trials = {t["value"]: t for t in axis(x, "local_batch")["trials"]}
        expect(axis(x, "local_batch")["choice"] == 40 and trials[40]["simulated"], f"not the fewest epochs: {x}")
        expect(abs(trials[20]["energy_j"] / trials[40]["energy_j"] - 2) < 0.1 or trials[20]["state"] == "not reached", f"energies: {x}")
        expect(10 not in trials or (trials[10]["state"] == "not reached" and "costs too much" in trials[10]["why"]), f"10 was not stopped: {x}")
        expect(len(trials) > 1, f"one trial only: {x}")


def wrong_input():
    with FileRig() as m:
        good = m.experiment(simulated("workers = 1,2"))
        for options, text in (((good, "--max-slowdown", "10%"), "workers is searched too"), ((good, "--apply"), "--apply is for a command"),
                              ((good, "--set", "sweep.workers=2"), "nothing to choose"), ((good, "--set", "sweep.workload=a,b"), "searches over numbers"),
                              ((good, "--max-values", "1"), "at least 2 values"), (("/proc/nowhere.ini",), "/proc/nowhere.ini"),
                              ((good, "--objective", "zeus"), "zeus"), ((good, "--target", "x"), "METRIC=NUMBER"),
                              ((good, "--largest-batch"), "no batch"), ((good, "--batch-step", "2"), "requires --largest-batch"), ((good, "--eta", "1"), "--eta requires"),
                              ((good, "--largest-batch", "--objective", "edp"), "--objective says nothing"),
                              (("--target", "a=1", "--", "true"), "--target is for an experiment file"), ((good, "--set", "sweep.worker=1"), "workers")):
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
        one = ("--set", "sweep.threads=1", "--set", "sweep.epochs=60", "--set", "campaign.name=target")
        x = m.tuned(path, *one, "--objective", "time", "--target", "train_loss=1000", "--max-values", "2")
        r = m.run(wattlaw, "show", x["store"], "--run", str(axis(x, "local_batch")["trials"][0]["run"]), "--json")
        expect(x["per"] == "target" and len(json.loads(r.stdout)["epochs"]) < 60, f"training does not end with the target: {x}", r)


with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for done in [pool.submit(scenario) for scenario in (caps_and_workers, out_of_memory, largest_batch, memory_of_two_ranks, batch_to_a_target, energy_to_a_target, interrupted, wrong_input, a_real_job)]:
        done.result()
print("ok")
