"""Trainings of a few updates against those of the cpu back-end, update by update."""
import os
import re
import shutil
import statistics
import tempfile

from gpu_check.report import FAILED, MISSING, PASSED

# Of |loss - loss of cpu| / |loss of cpu|, in the same precision where cpu has it, else f32: the median of the first updates, and the
# mean of all. Rounding grows from update to update: with these settings ref is within 1e-7 of cpu for nine updates of ResNet50 in
# f32, and 3e-2 from it at the nineteenth. TF32 keeps 11 bits of what is multiplied, bf16 8 of all values.
TOLERANCE = {"f32": (1e-4, 0.1), "tf32": (1e-3, 0.1), "bf16": (2e-2, 0.15), "f16": (2e-2, 0.15)}
UPDATES, FIRST = 20, 5
LOAD_EPOCHS = 40  # of 160 images
# Model: data set. A local batch of 8 gives 20 updates or more.
MODELS = {"resnet50": "images", "vgg16": "images", "inception3": "images", "schnet": "molecules", "dimenet": "molecules",
          "bert": "tokens", "fourcastnet": "weather"}


def choices(programs):
    """What --backend and --precision offer: {"backend": set, "precision": set}."""
    found = {"backend": set(), "precision": set()}
    r = programs.run("wattlaw-train", "resnet50", "--help", limit_s=10)
    for name, listed in re.findall(r"--(backend|precision) ([\w|]+)", r.out):
        found[name] = set(listed.split("|"))
    return found


def arguments(data, model, precision, backend, epochs=1, conv="direct"):
    """Autotuning would take longer than the training."""
    return [model, "--size", "tiny", "--data", data, "--local-batch", 8, "--lr", "5e-4", "--epochs", epochs, "--no-validate", "--backend", backend,
            "--precision", precision, "--conv", conv, "--quiet", "--json"]


def losses(path):
    """Of the step marks."""
    with open(path, encoding="utf-8") as f:
        return [float(m.group(1)) for m in re.finditer(r" step step=\d+ samples=\d+ loss=(\S+)", f.read())][:UPDATES]


def train(programs, args, limit_s):
    """(losses, None), or (None, the result of a training that failed)."""
    folder = tempfile.mkdtemp(prefix="gpu-check-")
    try:
        marks = os.path.join(folder, "marks")
        r = programs.run("wattlaw-train", *args, limit_s=limit_s, cwd=folder,
                         env={"WATTLAW_MARKS": marks, "XDG_CACHE_HOME": folder})
        return (losses(marks), None) if r.status == 0 else (None, r)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def distances(mine, theirs):
    """Median of the first and mean of all relative differences; 1e9 where numbers are missing, as JSON has no infinity."""
    parts = [abs(a - b) / max(abs(b), 1e-6) for a, b in zip(mine, theirs)]
    if not mine or len(mine) != len(theirs) or any(p != p for p in parts):
        return 1e9, 1e9
    return statistics.median(parts[:FIRST]), sum(parts) / len(parts)


def load(box, golden):
    """A training that keeps a GPU busy for seconds: the network at full size."""
    data = box.programs.path("data", golden["data"])
    args = arguments(data, golden["model"], "bf16" if "bf16" in box.choices["precision"] else "f32", "gpu", LOAD_EPOCHS)
    args[args.index("tiny")], args[args.index("--local-batch") + 1] = "full", 32
    return box.programs.command("wattlaw-train", *args)


def unavailable(box, precision):
    if "gpu" not in box.choices["backend"]:
        return "wattlaw-train has no back-end gpu"
    return "" if precision in box.choices["precision"] else f"wattlaw-train has no --precision {precision}"


def judge(mine, failed, golden, precision):
    if failed:
        lacks = re.search(rf"compute capability [0-9.]+; {precision} needs", failed.why())
        return (MISSING if lacks else FAILED), failed.why(), {}
    theirs = golden["loss"].get(precision) or golden["loss"]["f32"]
    (first, mean), (first_limit, mean_limit) = distances(mine, theirs), TOLERANCE[precision]
    detail = (f"relative distance from cpu: {first:.1e} in the first {FIRST} updates (limit {first_limit:.0e}), {mean:.1e} in "
              f"{len(mine)} (limit {mean_limit:.0e})")
    return (PASSED if first <= first_limit and mean <= mean_limit else FAILED), detail, {"first": first, "mean": mean}


def check(box, golden, precision, left_s, conv="direct"):
    why = unavailable(box, precision)
    if why:
        return MISSING, why, {}
    data = box.programs.path("data", golden["data"])
    mine, failed = train(box.programs, arguments(data, golden["model"], precision, "gpu", conv=conv), left_s)
    return judge(mine, failed, golden, precision)


def check_resume(box, golden, left_s):
    """The second epoch, from cpu's checkpoint after the first."""
    why = unavailable(box, "f32")
    if why or not golden.get("checkpoint"):
        return MISSING, why or "the archive has no checkpoint of cpu", {}
    data = box.programs.path("data", golden["data"])
    copy = tempfile.mkdtemp(prefix="gpu-check-")
    try:
        folder = os.path.join(copy, "checkpoint")
        shutil.copytree(box.programs.path(golden["checkpoint"]), folder)
        args = [*arguments(data, golden["model"], "f32", "gpu", 2), "--lr-schedule", "constant", "--checkpoint-dir", folder, "--resume"]
        mine, failed = train(box.programs, args, left_s)
        return judge(mine, failed, {"loss": {"f32": golden["resumed"]}}, "f32")
    finally:
        shutil.rmtree(copy, ignore_errors=True)
