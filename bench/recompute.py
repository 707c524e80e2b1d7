#!/usr/bin/env python3
"""Cost and benefit of activation checkpointing: training steps that keep all activations and steps that recompute them, in
turns; and the same for PyTorch, plain and with torch.utils.checkpoint around each block.

    bench/recompute.py build/bench/bench_train_step --rows resnet50:f32:16:t2,bert128:f32:8:t2 [--python VENV/bin/python]
        [--rounds 4]

Rows are those of bench/train_step.py, without ranks. Prints for each the median step, the ratio of the pairs of steps with
its range, the multiplications by the plan, and the peak of memory (VmHWM). The first round is dropped."""
import argparse
import os
import statistics

from train_alternate import HERE, TUNED, WAITING, Contestant, layouts_of


def contestants(args, row):
    """Pairs of contestants: without and with recomputation."""
    model, precision, batch, on = row.split(":")
    shape, env = [model, precision, batch, on[1:], "1"], {**os.environ, "OMP_NUM_THREADS": on[1:]}
    for how in ("keep", "again"):
        yield Contestant(f"wattlaw {how}", [args.binary, *shape, "auto", how], {**env, **WAITING})
    for python in args.python:
        layout = layouts_of(model, python)[-1]
        for how in ("eager", "checkpointed"):
            yield Contestant(f"PyTorch {how}", [python, os.path.join(HERE, "torch_step.py"), *shape, layout, how, "tuned"],
                             {**env, **TUNED})


def report(row, keeps, again):
    ratios = [a / k for a, k in zip(again.wall_s, keeps.wall_s)]
    work = 1 + again.made["again_flop"] / again.made["train_flop"] if "again_flop" in again.made else float("nan")
    print(f"{row} {again.name.split()[0]}: {statistics.median(keeps.wall_s):.3f} s -> "
          f"{statistics.median(again.wall_s):.3f} s, ratio {statistics.median(ratios):.3f} "
          f"({min(ratios):.3f}-{max(ratios):.3f}), multiplications {work:.3f}, memory "
          f"{keeps.peak_bytes() / 1e9:.2f} -> {again.peak_bytes() / 1e9:.2f} GB", flush=True)


def measure(args, row):
    all_of_them = []
    try:
        for c in contestants(args, row):
            all_of_them.append(c)
            c.ready()
        for turn in range(args.rounds):
            for c in all_of_them if turn % 2 else all_of_them[::-1]:
                c.step(keep=turn > 0)
        for i in range(0, len(all_of_them), 2):
            report(row, *all_of_them[i:i + 2])
    finally:
        for c in all_of_them:
            c.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="bench_train_step")
    parser.add_argument("--rows", required=True)
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help="an interpreter with PyTorch")
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    if args.rounds < 2:
        parser.error("--rounds: at least 2, since the first is dropped")
    for row in args.rows.split(","):
        measure(args, row)


if __name__ == "__main__":
    main()
