#!/usr/bin/env python3
"""fourier.py BIN [--height 90] [--width 180] [--channels 768] [--modes 91] [--threads 2] [--rounds 21]

The engine's two-dimensional Fourier transforms of real fields beside torch.fft.rfft2 and irfft2 over the same points and
channels, in turns. Run it with a python that has PyTorch. A ratio is PyTorch's time by ours within one round: median,
and range over the rounds. PyTorch always makes all columns; --modes 46 makes those that FourCastNet keeps.
"""
import argparse, statistics, subprocess, sys, time


def main():
    o = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    o.add_argument("bin")
    for name, value in (("height", 90), ("width", 180), ("channels", 768), ("modes", 0), ("threads", 2), ("rounds", 21)):
        o.add_argument(f"--{name}", type=int, default=value)
    o = o.parse_args()
    import torch
    torch.set_num_threads(o.threads)
    modes = o.modes or o.width // 2 + 1
    ours = subprocess.Popen([o.bin] + [str(v) for v in (o.height, o.width, o.channels, modes, o.threads)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    x = torch.randn(1, o.height, o.width, o.channels)
    rows = []
    for i in range(o.rounds + 2):
        start = time.perf_counter()
        s = torch.fft.rfft2(x, dim=(1, 2), norm="ortho")
        middle = time.perf_counter()
        torch.fft.irfft2(s, s=(o.height, o.width), dim=(1, 2), norm="ortho")
        end = time.perf_counter()
        ours.stdin.write("\n")
        ours.stdin.flush()
        line = ours.stdout.readline()
        if not line:
            sys.exit(f"fourier.py: {o.bin} ended")
        if i > 1:  # the first two warm up
            rows.append([(middle - start) * 1e3, (end - middle) * 1e3] + [float(v) for v in line.split()])
    print(f"{o.height} x {o.width} points, {o.channels} channels, {modes} of {o.width // 2 + 1} columns, "
          f"{o.threads} thread(s), PyTorch {torch.__version__}")
    for k, name in enumerate(("rfft2", "irfft2")):
        ratio = [r[k] / r[k + 2] for r in rows]
        print(f"{name:7} ours {statistics.median(r[k + 2] for r in rows):8.2f} ms, PyTorch "
              f"{statistics.median(r[k] for r in rows):8.2f} ms, ratio {statistics.median(ratio):.2f} "
              f"({min(ratio):.2f}-{max(ratio):.2f})")


main()
