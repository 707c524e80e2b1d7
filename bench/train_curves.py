#!/usr/bin/env python3
"""Training curves of ResNet50 on real small images, with Winograd's algorithm in 16-bit integers and with direct
convolutions, over seeds.

    VENV/bin/python bench/train_curves.py build/src/cmd/wattlaw-train [--seeds 3] [--epochs 6] [--image-size 64]
        [--threads 2] [--json FILE]

The images are the 1,797 handwritten digits that scikit-learn carries (8 x 8 pixels, from the UCI repository), enlarged
and written as JPEGs in ImageNet's layout, every fifth for validation: VENV needs scikit-learn and Pillow. Each seed
trains once with --conv winograd and once with --conv direct, in bf16. Prints the mean and the range over the seeds of
each epoch's training loss, validation loss and validation top-1, and of their means over all epochs. The exit status is
1 where the algorithms differ in one of the latter by more than the seeds do: the larger of the two ranges."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ALGORITHMS = ("winograd", "direct")
CURVES = ("train_loss", "val_loss", "val_top1")


def write_images(folder, size):
    from PIL import Image
    from sklearn.datasets import load_digits
    digits = load_digits()
    for i, (pixels, digit) in enumerate(zip(digits.images, digits.target)):
        place = os.path.join(folder, "val" if i % 5 == 0 else "train", f"digit{digit}")
        os.makedirs(place, exist_ok=True)
        image = Image.fromarray((pixels * 255 / 16).astype("uint8")).resize((size, size), Image.BICUBIC)
        image.convert("RGB").save(os.path.join(place, f"{i}.JPEG"), quality=95)


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"train_curves.py: {' '.join(command)}: {done.stderr[-500:]}")
    return done.stdout


def train(args, data, algorithm, seed):
    """The epochs of one training, and how many steps of its plan use Winograd's algorithm."""
    command = [args.binary, "resnet50", "--data", data, "--image-size", str(args.image_size), "--precision", "bf16",
               "--local-batch", "32", "--epochs", str(args.epochs), "--threads", str(args.threads), "--no-augment",
               "--lr", "0.005", "--warmup-epochs", "1", "--seed", str(seed), "--conv", algorithm]
    return json.loads(output(command + ["--json"]))["epochs"], output(command + ["--explain"]).count("winograd_3x3_int16")


def line(runs, curve, epochs):
    """Prints one line; whether the algorithms differ by more than the seeds do."""
    of = {a: [statistics.mean(run[e][curve] for e in epochs) for run in runs[a]] for a in ALGORITHMS}
    gap = abs(statistics.mean(of["winograd"]) - statistics.mean(of["direct"]))
    spread = max(max(of[a]) - min(of[a]) for a in ALGORITHMS)
    cells = "".join(f"  {f'{statistics.mean(of[a]):.4f} ({min(of[a]):.4f}-{max(of[a]):.4f})':>24}" for a in ALGORITHMS)
    which = "all" if len(epochs) > 1 else epochs[0] + 1
    print(f"{curve:10}  {which:>5}{cells}  {gap:10.4f}  {spread:.4f}")
    return gap > spread


def compare(args, runs):
    """Prints the table; the curves whose means over all epochs differ by more than the seeds do."""
    print(f"{'curve':10}  epoch" + "".join(f"  {a + ' (range)':>24}" for a in ALGORITHMS) + "  difference  seeds' range")
    differing = []
    for curve in CURVES:
        for epoch in range(args.epochs):
            line(runs, curve, [epoch])
        if line(runs, curve, range(args.epochs)):
            differing.append(curve)
    return differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="wattlaw-train")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--image-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="write all epochs of all trainings")
    args = parser.parse_args()
    if args.seeds < 2:
        parser.error("--seeds: at least 2, since their spread is what the algorithms are compared with")
    runs = {a: [] for a in ALGORITHMS}
    with tempfile.TemporaryDirectory() as data:
        write_images(data, args.image_size)
        for seed in range(1, args.seeds + 1):
            for algorithm in ALGORITHMS:
                epochs, used = train(args, data, algorithm, seed)
                runs[algorithm].append(epochs)
                print(f"seed {seed}, {algorithm}: {used} steps by Winograd's algorithm", flush=True)
                if (used > 0) != (algorithm == "winograd"):
                    sys.exit(f"train_curves.py: --conv {algorithm} has {used} such steps")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(runs, f)
    differing = compare(args, runs)
    print("differ by more than the seeds do:", ", ".join(differing) or "none")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
