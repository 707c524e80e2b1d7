#!/usr/bin/env python3
"""wattlaw-train --backend gpu on the fakes, from training to resuming: train.py PROGRAM CASE. Exit 0: passed, 1: failed."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "train"))
from harness import *  # noqa: E402

SCHNET = ["schnet", "--size", "tiny", "--data", "set", "--quiet", "--threads", 1, "--local-batch", 4]


def molecules():
    done("data", "qm9", "--synthetic", "set", "--molecules", 40)


def same_curve(one, other):
    assert len(one) == len(other) > 0, (one, other)
    for a, b in zip(one, other):
        assert close(a["train_loss"], b["train_loss"], 1e-4) and close(a["val_loss"], b["val_loss"], 1e-4), (a, b)


def resume():
    """Training and validation losses are those of cpu; a checkpoint of either back-end goes on in the other."""
    molecules()
    epochs = {}
    for first, then in ("cpu", "gpu"), ("gpu", "cpu"):
        kept = ["--checkpoint-dir", f"{first}-{then}"]
        epochs[first] = done(*SCHNET, "--backend", first, "--epochs", 1, *kept)["epochs"]
        epochs[first] += done(*SCHNET, "--backend", then, "--epochs", 2, "--resume", *kept)["epochs"]
    same_curve(epochs["cpu"], epochs["gpu"])
    same_curve(epochs["cpu"], done(*SCHNET, "--backend", "cpu", "--epochs", 2)["epochs"])


def fault(code, words):
    """A GPU that fails in the second epoch ends the training with one message; the checkpoint of the first is whole."""
    molecules()
    folder = f"fault-{code}"
    p = run(*SCHNET, "--backend", "gpu", "--epochs", 50, "--checkpoint-dir", folder,
            env={"WATTLAW_FAKE_GPU": f"fault={code};fault_at=900"})
    assert p.returncode == 1 and len(p.stderr.splitlines()) == 1, p.stderr
    assert words in p.stderr and f"({code})" in p.stderr, p.stderr
    resumed = done(*SCHNET, "--backend", "cpu", "--epochs", 50, "--resume", "--checkpoint-dir", folder)["epochs"]
    assert 1 < resumed[0]["epoch"] < 50, resumed[0]


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


main(resume, ecc, fallen_off_the_bus, driver)
