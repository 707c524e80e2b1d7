#!/usr/bin/env python3
"""Training steps: bench_train_step and PyTorch in turns, and their ratio.

    bench/train_step.py build/bench/bench_train_step [--model resnet50] [--precision f32,bf16] [--threads 1,2]
                        [--batch 16] [--pairs 3] [--steps 6]

Needs PyTorch (Debian: python3-torch, run with /usr/bin/python3). PyTorch runs in its default environment and in the
tuned one (huge pages, no return of freed memory); the better of the two counts. Its bf16 is autocast. The ratio of
processor times is the one to read where other jobs share the cores.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import torch_models

TUNED = {"ATEN_CPU_CAPABILITY": "avx512", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
         "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "68719476736"}


def torch_steps(threads, batch, steps, name, precision):
    """Runs in a process of its own; prints one line of JSON."""
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    make, pixels = torch_models.MODELS[name]
    model = make(torch).train()
    x, y = torch.randn(batch, 3, pixels, pixels), torch.randint(0, 1000, (batch,))
    sgd = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)
    took, cpu = [], []
    for _ in range(steps + 2):
        start, start_cpu = time.perf_counter(), time.process_time()
        sgd.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = torch_models.loss(torch, model(x), y)
        loss.backward()
        sgd.step()
        took.append(time.perf_counter() - start)
        cpu.append(time.process_time() - start_cpu)
    print(json.dumps({"library": "PyTorch " + torch.__version__, "step_ms": statistics.median(took[2:]) * 1e3,
                      "cpu_ms": statistics.median(cpu[2:]) * 1e3}))


def run(command, env):
    out = subprocess.run(command, env={**os.environ, **env}, check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)


def spread(values):
    return f"{statistics.median(values):8.2f}      from {min(values):.2f} to {max(values):.2f}"


def compare(args, precision, threads):
    how = [str(threads), str(args.batch), str(args.steps), args.model, precision]
    own, other = [args.binary, *how], [sys.executable, __file__, "--torch-steps", *how]
    base = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    ours, theirs = [], []
    for _ in range(args.pairs):
        ours.append(run(own, base))
        theirs.append([run(other, {**base, **env}) for env in ({}, TUNED)])
    print(f"{args.model}, batch {args.batch}, {precision}, {threads} thread(s), {args.pairs} pairs: {ours[0]['library']}, "
          f"{theirs[0][0]['library']}")
    for key, what in (("step_ms", "wall clock"), ("cpu_ms", "processor time")):
        step = statistics.median(r[key] for r in ours)
        print(f"  {what}")
        print(f"    step                          {step:8.0f} ms   {args.batch * 1e3 / step:6.1f} samples/s")
        for i, name in enumerate(("default", "tuned")):
            print(f"    PyTorch, {name:7} environment  {statistics.median(r[i][key] for r in theirs):8.0f} ms")
        ratios = [min(t[key] for t in r) / o[key] for o, r in zip(ours, theirs)]
        print(f"    ratio to the better one       {spread(ratios)}")
    print(f"  convolutions and matrix products, share of the step {spread([r['matrix_ms'] / r['step_ms'] for r in ours])}")
    print(f"  memory of the plan {ours[0]['memory_gb']:.2f} GB")


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--torch-steps":
        torch_steps(*map(int, sys.argv[2:5]), *sys.argv[5:7])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--model", choices=torch_models.MODELS, default="resnet50")
    parser.add_argument("--precision", default="f32,bf16")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()
    for precision in args.precision.split(","):
        for threads in args.threads.split(","):
            compare(args, precision, int(threads))


if __name__ == "__main__":
    main()
