"""Every experiment that comes with wattlaw can be planned, and the jobs of frey2022.ini have the paper's relations: experiments.py SOURCE WATTLAW"""
import glob
import os
import re
import subprocess
import sys

source, wattlaw = map(os.path.abspath, sys.argv[1:3])
JOB = os.path.join(source, "experiments", "frey2022-job.sh")


def run(*command):
    r = subprocess.run(command, cwd=source, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if r.returncode:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout}\n{r.stderr}")
    return r.stdout


def options(workload, workers):
    """Of wattlaw-train, for which echo is started."""
    words = run("sh", JOB, "train", "echo", "DATA", workload, str(workers), "1", "7").split()
    return words[0], dict(zip(words[1::2], words[2::2]))


names = {"frey2022": 36, "huber2025": 6}
for path in sorted(glob.glob(os.path.join(source, "experiments", "*.ini"))):
    name = os.path.basename(path)[:-len(".ini")]
    if name not in names:
        continue
    # as on two cores, whatever this machine has
    out = run(wattlaw, "sweep", path, "--dry-run", "--set", "sweep.workers=1,2", "--set", "launch.oversubscribe=yes")
    planned = len(re.findall(r"^ *[0-9]+ +[0-9]+ +workload=|^ *[0-9]+ +[0-9]+ +workers=", out, re.M))
    if planned != names.pop(name):
        sys.exit(f"{name}: {planned} runs\n{out}")
if names:
    sys.exit(f"not found: {names}")

for workload in "vgg16", "inception3", "resnet50", "bert", "dimenet", "schnet":
    program, one = options(workload, 1)
    _, many = options(workload, 32)
    batch = one["--local-batch"]
    if (program, one["--workers"], one["--seed"], many["--local-batch"]) != (workload, "1", "7", batch):
        sys.exit(f"{workload}: {one}, {many}")
    epochs = [int(options("bert", n)[1]["--epochs"]) for n in (1, 2, 4, 8, 16, 32)] if workload == "bert" else [1]
    if epochs != sorted(epochs) or (workload == "bert" and (epochs[0], epochs[-1]) != (4, 25)):
        sys.exit(f"epochs of {workload}: {epochs}")
    if workload != "bert" and one["--epochs"] != many["--epochs"]:
        sys.exit(f"{workload}: {one}, {many}")
print("2 experiments, 6 networks")
