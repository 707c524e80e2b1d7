#!/usr/bin/env python3
"""Training steps on a GPU: wattlaw's in turns with PyTorch 2, seven networks at full size on inputs in memory.

    bench/gpu_step.py --own build/bench [--model resnet50,vgg16,...] [--batch N] [--precision bf16|f32] [--python python3]
        [--molecules FOLDER] [--warmup 10] [--steps 30] [--compiled] [--json FILE]

Each contestant is a process that builds its network once and makes a step when asked; the order within a round rotates. PyTorch runs
eagerly with channels_last, autocast and the fused optimizer; --compiled adds torch.compile. Where --python has no PyTorch with CUDA,
ours runs alone and that is said. SchNet and DimeNet train in f32 on the molecules of a folder (wattlaw-train data qm9 --synthetic
FOLDER --molecules 128), against PyTorch Geometric. The last line is JSON: medians in ms, samples a second, ratios.
Exit 0; 1: a contestant failed; 77: no back-end gpu, or no GPU.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BATCHES = {"resnet50": 256, "vgg16": 256, "inception3": 256, "bert512": 8, "fourcastnet720": 1, "schnet": 128, "dimenet": 128}
MOLECULES = ("schnet", "dimenet")
SKIPPED = 77


class Failure(Exception):
    pass


class Contestant:
    def __init__(self, name, command):
        self.name, self.wall_s = name, []
        self.process = subprocess.Popen(command, universal_newlines=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def answer(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        said = self.process.stderr.read().strip().splitlines()
        raise Failure(f"{self.name}: exit status {self.process.wait()}: {said[-1] if said else 'nothing was said'}")

    def step(self, keep):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        wall_s = self.answer()["wall_s"]
        if keep:
            self.wall_s.append(wall_s)

    def end(self):
        self.process.kill()
        self.process.wait()


def has_torch(python):
    """Why it has no PyTorch with CUDA; "": it has."""
    ask = "import torch, sys; sys.exit(0 if torch.cuda.is_available() and int(torch.__version__[0]) >= 2 else 3)"
    try:
        p = subprocess.run([python, "-c", ask], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return {0: "", 3: "PyTorch without CUDA, or before 2"}.get(p.returncode, "no PyTorch")


def packed(folder):
    found = sorted(glob.glob(os.path.join(folder, "*.molecules")))
    if not found:
        raise Failure(f"{folder}: no .molecules file (wattlaw-train data qm9 --synthetic {folder} --molecules 128)")
    return found[0]


def own_command(args, model, batch, precision):
    binary = os.path.join(args.own, "bench_molecules" if model in MOLECULES else "bench_train_step")
    shape = [model, packed(args.molecules), "1"] if model in MOLECULES else [model, precision, str(batch), "1", "1", "auto", "keep"]
    return [*args.prefix.split(), binary, *shape, "gpu"]


def contestants(args, model, batch, precision, why):
    """Starts them; those that were started are ended where one cannot be."""
    started = [Contestant("wattlaw", own_command(args, model, batch, precision))]
    hows = [] if why else ["eager"] + (["compiled"] if args.compiled else [])
    for how in hows:
        data = args.molecules if model in MOLECULES else "-"
        command = [args.python, os.path.join(HERE, "torch_gpu_step.py"), model, precision, str(batch), how, data]
        started.append(Contestant(f"torch_{how}", command))
    return started


def take_turns(all_of_them, warmup, steps):
    for c in all_of_them:
        c.answer()
    for turn in range(warmup + steps):
        first = turn % len(all_of_them)
        for c in all_of_them[first:] + all_of_them[:first]:
            c.step(turn >= warmup)


def measure(args, model, why):
    batch, precision = args.batch or BATCHES[model], "f32" if model in MOLECULES else args.precision
    all_of_them = contestants(args, model, batch, precision, why)
    try:
        take_turns(all_of_them, args.warmup, args.steps)
    finally:
        for c in all_of_them:
            c.end()
    medians = {c.name: statistics.median(c.wall_s) for c in all_of_them}
    own_s = medians["wattlaw"]
    found = {"model": model, "precision": precision, "batch": batch, "samples_per_s": batch / own_s}
    found.update({f"{name}_ms": 1e3 * s for name, s in medians.items()})
    found.update({f"ratio_{name}": s / own_s for name, s in medians.items() if name != "wattlaw"})
    return found if not why else {**found, "alone": why}


def show(row):
    parts = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()]
    print(", ".join(parts), file=sys.stderr, flush=True)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--own", required=True, help="folder with bench_train_step and bench_molecules")
    p.add_argument("--prefix", default="", help="words before our programs, such as a loader")
    p.add_argument("--model", default=",".join(BATCHES))
    p.add_argument("--batch", type=int, default=0)
    p.add_argument("--precision", default="bf16", choices=("f32", "bf16"))
    p.add_argument("--python", default="python3")
    p.add_argument("--molecules", default=os.path.join(os.path.dirname(HERE), "data", "molecules"))
    p.add_argument("--warmup", type=int, default=10)
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--compiled", action="store_true")
    p.add_argument("--json", default="")
    args = p.parse_args()
    args.models = args.model.split(",")
    for model in args.models:
        if model not in BATCHES:
            p.error(f"--model {model}: expected some of {', '.join(BATCHES)}")
    return args


def main():
    args = parse()
    why, rows = has_torch(args.python), []
    if why:
        print(f"gpu_step: ours runs alone: {args.python}: {why}", file=sys.stderr)
    try:
        for model in args.models:
            rows.append(measure(args, model, why))
            show(rows[-1])
    except (Failure, OSError, ValueError, KeyError) as error:
        print(f"gpu_step: {error}", file=sys.stderr)
        return SKIPPED if "back-end" in str(error) else 1
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    print(json.dumps(rows[0] if len(rows) == 1 else rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
