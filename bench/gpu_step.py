#!/usr/bin/env python3
"""Training steps on a GPU: wattlaw's in turns with PyTorch 2, seven networks at full size on inputs in memory.

    bench/gpu_step.py --own build/bench [--model resnet50,vgg16,...] [--batch N] [--precision bf16|tf32|f32] [--python python3]
        [--molecules FOLDER] [--warmup 10] [--steps 30] [--compiled] [--json FILE] [--device gpu|cpu]

Each contestant is a process that builds its network once and makes a step when asked; the order within a round rotates, and a step ends
when its loss is known and the GPU is idle. PyTorch runs eagerly with channels_last, autocast and the fused optimizer, its inputs stay
on the GPU (ours are uploaded in each step); --compiled adds torch.compile. Both must have as many parameters and samples. Where
--python has no PyTorch with CUDA, or PyTorch cannot make a row, ours runs alone and the reason is said. SchNet and DimeNet train in f32
on all molecules of a folder (wattlaw-train data qm9 --synthetic FOLDER --molecules 128), against PyTorch Geometric. bertN has sequences
of N tokens, fourcastnetN fields of N x 2N points. --device cpu tries all of this out without a GPU.
The last line is JSON: medians in ms, samples a second, ratios. Exit 0; 1: a contestant failed; 77: no back-end gpu, or no GPU.
"""
import argparse
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BATCHES = {"resnet50": 256, "vgg16": 256, "inception3": 256, "bert512": 8, "fourcastnet720": 1, "schnet": 128, "dimenet": 128}
MOLECULES = ("schnet", "dimenet")
OWN, SKIPPED = "wattlaw", 77


class Failure(Exception):
    pass


class Contestant:
    def __init__(self, name, command):
        self.name, self.wall_s = name, []
        self.errors = tempfile.TemporaryFile("w+", errors="replace")  # a pipe that nobody reads would fill
        self.process = subprocess.Popen(command, universal_newlines=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors)

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        status = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().strip().splitlines()
        raise Failure(f"{self.name}: exit status {status}: {said[-1] if said else 'nothing was said'}")

    def step(self, keep):
        try:
            self.process.stdin.write("step\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() says why
        wall_s = self.answer()["wall_s"]
        if keep:
            self.wall_s.append(wall_s)

    def end(self):
        self.process.kill()
        self.process.communicate()
        self.errors.close()


def has_torch(python, device):
    """Why it has no PyTorch 2 for the device; "": it has."""
    usable = "True" if device == "cpu" else "torch.cuda.is_available()"
    ask = f"import torch, sys; sys.exit(0 if {usable} and int(torch.__version__[0]) >= 2 else 3)"
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
    return [*args.prefix.split(), binary, *shape, args.device]


def start(args, model, batch, precision, how):
    data = args.molecules if model in MOLECULES else "-"
    device = "cuda" if args.device == "gpu" else args.device
    command = [args.python, os.path.join(HERE, "torch_gpu_step.py"), model, precision, str(batch), how, data, device]
    return Contestant(f"torch_{how}", command)


def check_same(own, its, name):
    """Another network or another batch would make the ratio worthless."""
    for what in ("parameters", "samples"):
        if own[what] != its[what]:
            raise Failure(f"{name} has {its[what]} {what}, {OWN} {own[what]}")


def join(all_of_them, row, own, contestant):
    """Puts a contestant among the others once its network is built; else the row says why it is not."""
    all_of_them.append(contestant)  # to be ended
    try:
        its = contestant.answer()
        contestant.step(False)
    except Failure as error:
        all_of_them.remove(contestant)
        contestant.end()
        row["alone" if contestant.name == "torch_eager" else contestant.name] = str(error)
        return
    check_same(own, its, contestant.name)


def take_turns(all_of_them, warmup, steps):
    for turn in range(warmup + steps):
        first = turn % len(all_of_them)
        for c in all_of_them[first:] + all_of_them[:first]:
            c.step(turn >= warmup)


def measure(args, model, why):
    precision = "f32" if model in MOLECULES else args.precision
    batch = args.batch or BATCHES.get(model, 1)
    row = {"model": model, "precision": precision, **({"alone": why} if why else {})}
    all_of_them = [Contestant(OWN, own_command(args, model, batch, precision))]
    try:
        own = all_of_them[0].answer()
        for how in [] if why else ["eager"] + (["compiled"] if args.compiled else []):
            join(all_of_them, row, own, start(args, model, batch, precision, how))
        take_turns(all_of_them, args.warmup, args.steps)
    finally:
        for c in all_of_them:
            c.end()
    medians = {c.name: statistics.median(c.wall_s) for c in all_of_them}
    row.update({"batch": own["samples"], "parameters": own["parameters"], "samples_per_s": own["samples"] / medians[OWN]})
    row.update({f"{name}_ms": 1e3 * s for name, s in medians.items()})
    row.update({f"ratio_{name}": s / medians[OWN] for name, s in medians.items() if name != OWN})
    return row


def show(row):
    parts = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()]
    print(", ".join(parts), file=sys.stderr, flush=True)


def parse():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--own", required=True, help="folder with bench_train_step and bench_molecules")
    p.add_argument("--prefix", default="", help="words before our programs, such as a loader")
    p.add_argument("--model", default=",".join(BATCHES))
    p.add_argument("--batch", type=int, default=0)
    p.add_argument("--precision", default="bf16", choices=("f32", "tf32", "bf16"))
    p.add_argument("--python", default="python3")
    p.add_argument("--molecules", default=os.path.join(os.path.dirname(HERE), "data", "bench"))
    p.add_argument("--warmup", type=int, default=10)
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--compiled", action="store_true")
    p.add_argument("--device", default="gpu", choices=("gpu", "cpu"))
    p.add_argument("--json", default="")
    args = p.parse_args()
    args.models = args.model.split(",")
    for model in args.models:
        if model not in BATCHES and not re.fullmatch(r"(bert|fourcastnet)\d+", model):
            p.error(f"--model {model}: expected some of {', '.join(BATCHES)}")
    if args.warmup < 0 or args.steps < 1:
        p.error(f"--warmup {args.warmup} --steps {args.steps}: expected at least 0 and 1")
    return args


def main():
    args = parse()
    why, rows, status = has_torch(args.python, args.device), [], 0
    if why:
        print(f"gpu_step: ours runs alone: {args.python}: {why}", file=sys.stderr)
    for model in args.models:
        try:
            rows.append(measure(args, model, why))
            show(rows[-1])
        except (Failure, OSError, ValueError, KeyError) as error:
            print(f"gpu_step: {model}: {error}", file=sys.stderr)
            if "back-end" in str(error):
                return SKIPPED
            status = 1
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    print(json.dumps(rows[0] if len(rows) == 1 else rows))
    return status


if __name__ == "__main__":
    sys.exit(main())
