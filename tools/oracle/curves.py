#!/usr/bin/env python3
"""Writes tests/golden/models/curves.json: the losses of 50 optimizer steps of each network at its tiny size.

    tools/oracle/curves.py [--plot FILE.svg] [--ours FILE.json]        (a minute)

PyTorch in double is the truth; how far its own f32 and bf16 (autocast) curves leave it is what rounding does, step by
step, and gives the tests (tests/unit/models/test_curves.c) their tolerance. --plot draws the curves with gnuplot, with
ours from the file that the test writes where WATTLAW_CURVES names one.
"""
import argparse
import json
import os
import subprocess

import torch

import networks
import rules

STEPS, SEED, CLASSES, BATCH, BATCHES, SHIFT = 50, 7, 8, 16, 4, 1.0
MOMENTUM, WEIGHT_DECAY = 0.9, 1e-4
PIXELS = {"resnet50": 64, "vgg16": 64, "inception3": 128}
RATE = {"resnet50": 0.001, "vgg16": 0.05, "inception3": 0.001}
GAIN = {"resnet50": 1.0, "vgg16": 2.0, "inception3": 0.125}  # of linear layers' first weights; powers of two are exact
STYLE = {"PyTorch, double": "lines lw 3 lc rgb '#999999'", "PyTorch, f32": "lines lc rgb '#0072b2'",
         "PyTorch, bf16": "lines dt 2 lc rgb '#d55e00'", "wattlaw, f32": "points pt 6 ps 0.6 lc rgb '#0072b2'",
         "wattlaw, bf16": "points pt 2 ps 0.5 lc rgb '#d55e00'"}
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "models", "curves.json")


def curve(model, precision):
    network = networks.Network(model, SEED, CLASSES, "tiny", SHIFT)
    with torch.no_grad():
        for value in network.module.parameters():
            value.mul_(GAIN[model] if value.dim() == 2 else 1)
    dtype = torch.float64 if precision == "f64" else torch.float32
    module = network.module.to(dtype)
    sgd = torch.optim.SGD(module.parameters(), lr=RATE[model], momentum=MOMENTUM, weight_decay=WEIGHT_DECAY)
    found = []
    for step in range(STEPS):
        images, labels = rules.inputs(SEED, step % BATCHES, BATCH, PIXELS[model], CLASSES)
        network.set_update(step)
        sgd.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            result = module(torch.from_numpy(images).to(dtype))
        _, _, total = networks.losses(result, torch.from_numpy(labels))
        total.backward()
        sgd.step()
        found.append(float(f"{total.item():.10g}"))
    return found


def golden(model):
    curves = {precision: curve(model, precision) for precision in ("f64", "f32", "bf16")}
    away = {p: max(abs(a - b) for a, b in zip(curves[p], curves["f64"])) for p in ("f32", "bf16")}
    print(f"{model}: {curves['f64'][0]:.3f} to {curves['f64'][-1]:.3f}; from double: "
          + ", ".join(f"{p} {d:.1e}" for p, d in away.items()), flush=True)
    return {"model": model, "pixels": PIXELS[model], "rate": RATE[model], "linear_gain": GAIN[model], **curves}


def write():
    found = {"torch": torch.__version__, "seed": SEED, "classes": CLASSES, "batch": BATCH, "batches": BATCHES,
             "norm_shift": SHIFT, "momentum": MOMENTUM, "weight_decay": WEIGHT_DECAY}
    rows = ",\n".join(json.dumps(golden(model)) for model in networks.torch_models.MODELS)
    with open(PATH, "w") as f:
        f.write(f'{json.dumps(found, indent=1)[:-2]},\n "curves": [\n{rows}\n]}}\n')


def plot(to, ours):
    """One panel a network."""
    with open(PATH) as f:
        theirs = json.load(f)["curves"]
    lines = [f"set terminal svg size 1200,420 background 'white'; set output '{to}'",
             "set multiplot layout 1,3; set xlabel 'optimizer step'; set ylabel 'loss'; set key top right; set grid"]
    for row in theirs:
        curves = {"PyTorch, double": row["f64"], "PyTorch, f32": row["f32"], "PyTorch, bf16": row["bf16"]}
        curves |= {f"wattlaw, {name}": values for name, values in ours.get(row["model"], {}).items()}
        for i, values in enumerate(curves.values()):
            lines += [f"$c{i} << END", *map(str, values), "END"]
        lines += [f"set title '{row['model']}, tiny'", "plot " + ", ".join(
            f"$c{i} using ($0+1):1 with {STYLE[name]} title '{name}'"
            for i, name in enumerate(curves))]
    subprocess.run(["gnuplot"], input="\n".join(lines), text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="FILE.svg", help="draw the curves of the golden file")
    parser.add_argument("--ours", metavar="FILE.json", help="with --plot: our curves")
    args = parser.parse_args()
    if not args.plot:
        write()
        return
    ours = {}
    if args.ours:
        with open(args.ours) as f:
            for line in f:
                row = json.loads(line)
                ours.setdefault(row["model"], {})[row["precision"]] = row["loss"]
    plot(args.plot, ours)


if __name__ == "__main__":
    main()
