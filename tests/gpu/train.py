#!/usr/bin/env python3
"""wattlaw-train --backend gpu on the fakes, from training to resuming: train.py PROGRAM CASE. Exit 0: passed, 1: failed."""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "train"))
from harness import *  # noqa: E402

SCHNET = ["schnet", "--size", "tiny", "--data", "set", "--quiet", "--threads", 1, "--local-batch", 4]


def molecules(n=40):
    done("data", "qm9", "--synthetic", "set", "--molecules", n)


def same_curve(one, other):
    assert len(one) == len(other) > 0, (one, other)
    for a, b in zip(one, other):
        names = ["train_loss", *(k for k in a if k.startswith("val_"))]  # val_mae is the host's, of outputs and inputs
        assert all(a[k] is None and b[k] is None or close(a[k], b[k], 1e-4) for k in names), (a, b)


def resume():
    """Training and validation losses are those of cpu; a checkpoint of either back-end goes on in the other."""
    molecules(16)
    epochs = {}
    for first, then in ("cpu", "gpu"), ("gpu", "cpu"):
        kept = ["--checkpoint-dir", f"{first}-{then}"]
        epochs[first] = done(*SCHNET, "--backend", first, "--epochs", 1, *kept)["epochs"]
        epochs[first] += done(*SCHNET, "--backend", then, "--epochs", 2, "--resume", *kept)["epochs"]
    same_curve(epochs["cpu"], epochs["gpu"])
    same_curve(epochs["cpu"], done(*SCHNET, "--backend", "cpu", "--epochs", 2)["epochs"])
    from_f32 = done(*SCHNET, "--backend", "gpu", "--precision", "tf32", "--epochs", 3, "--resume", "--checkpoint-dir", "cpu-gpu")
    kept = ["--checkpoint-dir", "tf32", "--epochs", 2]
    done(*SCHNET, "--backend", "gpu", "--precision", "tf32", *kept)
    from_tf32 = done(*SCHNET, "--backend", "gpu", "--epochs", 3, "--resume", "--checkpoint-dir", "tf32")
    assert [[e["epoch"] for e in r["epochs"]] for r in (from_f32, from_tf32)] == [[3], [3]], (from_f32, from_tf32)


def images():
    """Bytes of images, uploaded while the step before computes: losses and accuracies as on the CPU."""
    done("data", "imagenet", "--synthetic", "images", "--classes", 3, "--images", 24, "--val-images", 6, "--image-size", 32)
    vgg16 = ["vgg16", "--size", "tiny", "--data", "images", "--image-size", 32, "--local-batch", 4, "--accumulation", 2, "--epochs", 1,
             "--threads", 1, "--quiet"]
    same_curve(*(done(*vgg16, "--backend", b)["epochs"] for b in ("cpu", "gpu")))


def fault(code, words):
    """A GPU that fails in the second epoch ends the training with one message; the checkpoint of the first is whole."""
    molecules()
    folder = f"fault-{code}"
    p = run(*SCHNET, "--backend", "gpu", "--epochs", 50, "--checkpoint-dir", folder,
            env={"WATTLAW_FAKE_GPU": f"fault={code};fault_at=900"})
    assert p.returncode == 1 and len(p.stderr.splitlines()) == 1, p.stderr
    assert words in p.stderr and f"({code})" in p.stderr, p.stderr
    resumed = done(*SCHNET, "--backend", "cpu", "--epochs", 3, "--resume", "--checkpoint-dir", folder)["epochs"]
    assert [e["epoch"] for e in resumed] == [2, 3], resumed


def ecc():
    fault(214, "uncorrectable ECC error")


def fallen_off_the_bus():
    fault(999, "dmesg")


def driver():
    """What is missing is named, and what to install."""
    molecules()
    nowhere = "/proc/nowhere/libcuda.so.1"
    for env, words in (({"CUDA_DRIVER_LIBRARY": nowhere}, ["back-end gpu needs NVIDIA's driver (525 or newer)", nowhere]),
                       ({"WATTLAW_FAKE_GPU": "version=11040"}, ["serves CUDA 11.4", "needs 12.0", "driver 525"]),
                       ({"WATTLAW_FAKE_GPU": "init=803"}, ["two versions", "restart"]),
                       ({"WATTLAW_FAKE_GPU": "devices=0"}, ["no CUDA-capable device"]),
                       ({"WATTLAW_FAKE_GPU": "memory_mb=1"}, ["the plan needs", "--memory", "local batch", "free on"]),
                       ({"WATTLAW_KERNELS": "/proc/nowhere"}, ["$WATTLAW_KERNELS: /proc/nowhere is not a file"])):
        batch = ["--local-batch", 16] if "memory_mb=1" in env.values() else []
        p = run(*SCHNET, "--backend", "gpu", "--epochs", 1, *batch, env=env)
        assert p.returncode == 1 and p.stdout == "", (env, p.returncode, p.stderr)
        assert len(p.stderr.splitlines()) == 1 and all(w in p.stderr for w in words), (env, p.stderr)

    for backend, env, words in (("gpu", {"WATTLAW_FAKE_GPU": "capability=75"}, ["compute capability 7.5; tf32 needs 8.0"]),
                                ("ref", {}, ["--precision tf32: back-end ref does not have tf32; gpu does"])):
        p = run(*SCHNET, "--backend", backend, "--epochs", 1, "--precision", "tf32", env=env)
        assert p.returncode == 1 and len(p.stderr.splitlines()) == 1, (backend, p.returncode, p.stderr)
        assert all(w in p.stderr for w in words), (backend, p.stderr)


# Shortest times of a step without its update on an H100, ms, of plans that fuse nothing but what cuDNN does: the design's estimates.
FLOORS = {"resnet50": (256, 34.7), "vgg16": (256, 42), "inception3": (256, 38), "bert --sequence 512": (8, 4.7),
          "fourcastnet": (1, 16.5), "schnet": (128, .3), "dimenet": (128, 11)}


def h100():
    """The fake's settings for the H100 that tests/fixtures describes."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "gpu", "h100.json")) as f:
        gpu = json.load(f)
    keys = {"multiprocessors": "multiProcessorCount", "clock_khz": "smClockRateKHz", "memory_khz": "memClockRateKHz",
            "bus_bits": "memoryBusWidth"}
    words = [f"{key}={gpu[name]}" for key, name in keys.items()]
    return {"WATTLAW_FAKE_GPU": ";".join([*words, f"capability={gpu['deviceVer'] // 10}", "memory_mb=81000"])}


def check_bounds(plan):
    """Each step's bound follows from what it moves and multiplies; no step is the host's."""
    peaks, batch = plan["bound"], plan["options"]["local_batch"]
    assert close(peaks["bytes_per_s"], 3.0e12, 1e-3) and close(peaks["flops_per_s_16bit"], 790e12, 5e-3), peaks
    for s in plan["steps"]:
        assert s["kernel"] and s["kernel"] != "plain C", s
        narrow = any(b["dtype"] == "bf16" and not b["written"] for b in s["buffers"])
        in_tf32 = plan["precision"] == "tf32" and s["kernel"].startswith(("cuDNN", "cublasLt"))
        rate = peaks["flops_per_s_" + ("16bit" if narrow else "tf32" if in_tf32 else "f32")]
        if s["operation"] == "attention" and not narrow:
            rate = peaks["flops_per_s_tf32"] / 3
        flops_s = (s["flops_per_sample"] or 0) * batch / rate
        memory_s = s["moved_bytes"] / peaks["bytes_per_s"]
        assert close(s["bound_s"], max(memory_s, flops_s), 1e-9), s
        assert s["bound_by"] == ("flop" if flops_s > memory_s else "memory"), s
        assert 0 < s["moved_bytes"] <= 2 * sum(b["bytes"] for b in s["buffers"] if not b["scratch"]), s
    bounds = [(s["bound_s"], s["bound_by"]) for s in plan["steps"] if s["training"]]
    assert close(sum(b for b, by in bounds if by == "flop"), peaks["flops_s"], 1e-9), peaks
    assert close(sum(b for b, _ in bounds) + peaks["update_s"], peaks["flops_s"] + peaks["memory_s"], 1e-9), peaks
    memory = plan["memory"]
    moved = 2 * (memory["parameter_bytes"] + memory["optimizer_bytes"]) + memory["gradient_bytes"] + memory["copy_bytes"]
    assert close(peaks["update_s"], moved / peaks["bytes_per_s"], 1e-9), peaks


def check_moved(plan):
    """Three steps of ResNet50 at batch 256 in bf16, counted by hand: images have 8 channels instead of 3, the norm's sums read its input
    before it is normalised."""
    image, conv, weights = 256 * 224 * 224 * 8 * 2, 256 * 112 * 112 * 64 * 2, 64 * 7 * 7 * 8 * 2
    by_hand = {("conv1", "forward"): image + weights + conv, ("bn1", "forward"): 3 * conv + 4 * 64 * 4,
               ("fc", "forward"): 2 * (256 * 2048 + 1000 * 2048 + 1000 + 256 * 1000)}
    found = {(s["name"], s["pass"]): s["moved_bytes"] for s in plan["steps"] if s["training"]}
    assert all(found[step] == moved for step, moved in by_hand.items()), (by_hand, [found.get(step) for step in by_hand])


def explain():
    """The roofline of seven full-size networks on an H100, from plans alone; a plan of ref has none."""
    for name, (batch, floor_ms) in FLOORS.items():
        precision = "f32" if name in ("schnet", "dimenet") else "bf16"
        plan = done(*name.split(), "--backend", "gpu", "--explain", "--precision", precision, "--local-batch", batch,
                    "--conv", "direct", env=h100())
        check_bounds(plan)
        if name == "resnet50":
            check_moved(plan)
        found_ms = 1e3 * (plan["bound"]["memory_s"] + plan["bound"]["flops_s"] - plan["bound"]["update_s"])
        assert .65 < found_ms / floor_ms < 1.25, (name, found_ms, floor_ms)
    tiny = ["resnet50", "--size", "tiny", "--explain"]
    p = run(*tiny, "--backend", "gpu", "--conv", "direct", env=h100())
    for words in ("scratch MB", "moved MB", "at least us", "bound by", "a step and its update take at least",
                  ", of TF32 396 and of f32 53.5 TFLOP/s"):
        assert words in p.stdout, f"{words} is not in\n{p.stdout}{p.stderr}"
    for model, kernel in ("resnet50", "cuDNN"), ("bert", "cublasLt"), ("schnet", "own kernel"):
        plan = done(model, "--backend", "gpu", "--explain", "--precision", "tf32", "--conv", "direct", env=h100())
        assert plan["precision"] == "tf32" and any(s["kernel"].startswith(kernel) for s in plan["steps"]), (model, kernel)
        check_bounds(plan)
    p = run(*tiny, "--backend", "ref")
    assert p.returncode == 0 and "bound by" not in p.stdout and "at least" not in p.stdout, p.stdout


def diverges(backend, kept):
    p = run(*SCHNET, *kept, "--precision", "f16", "--backend", backend, "--epochs", 50, "--lr", 1e6, "--lr-schedule", "constant",
            "--resume", "--checkpoint-every", 0)
    assert p.returncode == 1 and len(p.stderr.splitlines()) == 1, p.stderr
    for words in "epoch ", ", update ", "learning rate 1e+06", "smallest loss scale (1)", "bf16 and f32":
        assert words in p.stderr, (words, p.stderr)
    assert done(*SCHNET, *kept, "--backend", "cpu", "--epochs", 4, "--resume")["epochs"][0]["epoch"] > 1


def f16_diverges():
    """The loss becomes infinite on the GPU: one message, status 1, and the checkpoint is whole."""
    molecules()
    kept = ["--checkpoint-dir", "f16-diverges"]
    done(*SCHNET, *kept, "--precision", "f16", "--backend", "gpu", "--epochs", 1)
    diverges("gpu", kept)


def f16():
    """Loss scaling: gpu's curve is ref's, a checkpoint goes on in either and in cpu; a training that diverges ends with one message."""
    molecules()
    epochs, kept = {}, {b: ["--checkpoint-dir", f"f16-{b}"] for b in ("gpu", "ref")}
    for backend, other in ("gpu", "ref"), ("ref", "gpu"):  # two epochs on the simulated GPU, which takes long
        common = [*SCHNET, "--precision", "f16", *kept[backend]]
        first = done(*common, "--backend", backend, "--epochs", 1)
        assert first["loss_scale"] == 2.0 ** (16 - first["skipped_updates"]), first
        then = done(*common, "--backend", other, "--epochs", 2, "--resume")
        assert then["loss_scale"] == first["loss_scale"] * 2.0 ** -then["skipped_updates"], (first, then)
        epochs[backend] = first["epochs"] + then["epochs"]
        assert done(*SCHNET, *kept[backend], "--backend", "cpu", "--epochs", 3, "--resume")["epochs"][0]["epoch"] == 3
    for a, b in zip(epochs["gpu"], epochs["ref"]):
        assert close(a["val_loss"], b["val_loss"], 5e-2) and a["skipped_updates"] == b["skipped_updates"], (a, b)
    diverges("ref", kept["ref"])
    p = run(*SCHNET, "--backend", "cpu", "--precision", "f16", "--epochs", 1)
    assert p.returncode != 0 and "--precision f16: back-end cpu does not have f16; ref and gpu do" in p.stderr, p.stderr


main(f16, f16_diverges, explain, resume, images, ecc, fallen_off_the_bus, driver)
