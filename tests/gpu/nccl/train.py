#!/usr/bin/env python3
"""Workers of wattlaw-train --backend gpu on the fakes: train.py WATTLAW_TRAIN

Two train as one that accumulates, each on a GPU of its own, which its start mark names; more workers than GPUs are refused."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TRAIN, WORK = os.path.abspath(sys.argv[1]), tempfile.mkdtemp(prefix="wl-train-gpu-")


def run(*args, **env):
    return subprocess.run([TRAIN, *args], cwd=WORK, universal_newlines=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60, env={**os.environ, "XDG_CACHE_HOME": WORK, **env})


def train(*args, **env):
    return run("schnet", "--size", "tiny", "--data", "molecules/qm9.molecules", "--epochs", "1", "--backend", "gpu", "--quiet",
               *args, **env)


def expect(condition, said):
    if not condition:
        sys.exit(said)


def gpus_of_marks(path):
    with open(path, encoding="utf-8") as f:
        return sorted(re.findall(r" (\d+) start .* gpu=(GPU-\S{36}) gpu_bus=(\S+) host=", f.read()))


def trained(*args, **env):
    p = train("--local-batch", "4", "--no-validate", "--json", *args, WATTLAW_FAKE_GPU="devices=2", **env)
    expect(p.returncode == 0, f"status {p.returncode}: {p.stderr}")
    return json.loads(p.stdout)


def two_workers_are_one_that_accumulates():
    marks = os.path.join(WORK, "marks")
    two, one = trained("--workers", "2", WATTLAW_MARKS=marks), trained("--accumulation", "2")
    expect((two["comm"], one["comm"]) == ("nccl", "null"), f"communication by {two['comm']} and {one['comm']}")
    losses = [x["epochs"][0]["train_loss"] for x in (two, one)]
    expect(two["updates"] == one["updates"] > 2 and abs(losses[0] - losses[1]) < 1e-5 * losses[1], f"losses {losses}")
    found = gpus_of_marks(marks)
    expect([rank for rank, _, _ in found] == ["0", "1"], f"start marks of {found}")
    expect(len({uuid for _, uuid, _ in found}) == 2 and len({bus for _, _, bus in found}) == 2, f"one GPU for both: {found}")


def more_workers_than_gpus():
    p = train("--workers", "3", "--local-batch", "1", WATTLAW_FAKE_GPU="devices=2")
    words = "there are more workers than GPUs: 3 of them on this node, where this one may use 2 GPUs, and rank 0 computes on GPU-"
    expect(p.returncode == 1 and words in p.stderr, f"status {p.returncode}: {p.stderr}")
    expect(len(p.stderr.splitlines()) == 1, f"more than one message: {p.stderr}")


def no_driver():
    p = train("--local-batch", "1", CUDA_DRIVER_LIBRARY="/proc/nowhere/libcuda.so.1")
    expect(p.returncode == 1 and "--backend gpu" in p.stderr and "libcuda.so.1" in p.stderr, f"status {p.returncode}: {p.stderr}")


def nccl_is_for_gpus():
    p = run("schnet", "--size", "tiny", "--data", "molecules/qm9.molecules", "--comm", "nccl")
    expect(p.returncode == 2 and "sums in the memory of GPUs" in p.stderr, f"status {p.returncode}: {p.stderr}")


try:
    made = run("data", "qm9", "--synthetic", "molecules", "--molecules", "30", "--quiet")
    expect(made.returncode == 0, made.stderr)
    for case in (two_workers_are_one_that_accumulates, more_workers_than_gpus, no_driver, nccl_is_for_gpus):
        case()
        print(case.__name__)
finally:
    shutil.rmtree(WORK, ignore_errors=True)
