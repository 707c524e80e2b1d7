#!/usr/bin/env python3
"""Plans of the seven networks at full size, on fakes of an H100 and an A100: sizes.py PROGRAM sizes. Exit 0: passed, 1: failed."""
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "train"))
from harness import *  # noqa: E402

GPUS = {"h100": "capability=90;multiprocessors=132;memory_mb=81920", "a100": "capability=80;multiprocessors=108;memory_mb=81920"}
# Local batch, precision, and total memory in GB: more than half of it, and no more.
NETWORKS = {"resnet50": (256, "bf16", 13), "vgg16": (256, "bf16", 13), "inception3": (256, "bf16", 13), "bert": (8, "bf16", 4),
            "fourcastnet": (1, "bf16", 8), "schnet": (128, "f32", 0.5), "dimenet": (128, "f32", 9)}


def explain(model, gpu):
    batch, precision, _ = NETWORKS[model]
    return done(model, "--backend", "gpu", "--precision", precision, "--local-batch", batch, "--conv", "direct", "--explain",
                env={"WATTLAW_FAKE_GPU": GPUS[gpu]})


def check(model, gpu):
    plan, most = explain(model, gpu), NETWORKS[model][2] * 1e9
    memory = plan["memory"]
    assert most / 2 < memory["total_bytes"] < most, (model, gpu, memory)
    assert memory["value_bytes"] < 1.01 * memory["live_value_bytes"], (model, memory)  # hardly more than is live at once
    convolutions = [s for s in plan["steps"] if s["operation"] == "conv2d" and s["flops_per_sample"]]
    assert all(s["kernel"].startswith("cuDNN eng") for s in convolutions), (model, gpu)
    return memory


def sizes():
    for model in NETWORKS:
        memories = [check(model, gpu) for gpu in GPUS]
        assert memories[0] == memories[1], (model, memories)  # the GPU makes no difference but by cuDNN's workspaces
        print(model, " ".join(f"{k[:-6]} {v / 1e9:.3f}" for k, v in memories[0].items() if k.endswith("_bytes")), "GB")


def out_of_memory(megabytes, *args):
    p = run(*args, env={"WATTLAW_FAKE_GPU": f"memory_mb={megabytes}"})
    assert p.returncode == 1 and len(p.stderr.splitlines()) == 1 and "free on simulated GPU" in p.stderr, p.stderr
    return p.stderr


def memory():
    """The message names what fits, which does, and a little more does not."""
    done("data", "qm9", "--synthetic", "set", "--molecules", 80)
    schnet = ["schnet", "--size", "tiny", "--data", "set", "--quiet", "--threads", 1, "--backend", "gpu", "--epochs", 1, "--no-validate"]
    said = out_of_memory(5, *schnet, "--local-batch", 48)
    found = re.search(r"the plan needs \d+\.\d+ MB.* it fits with --memory (0\.\d+) or --local-batch (\d+)$", said)
    assert found, said
    limit, batch = found.group(1), int(found.group(2))
    done(*schnet, "--local-batch", 48, "--memory", limit, env={"WATTLAW_FAKE_GPU": "memory_mb=5"})
    done(*schnet, "--local-batch", batch, env={"WATTLAW_FAKE_GPU": "memory_mb=5"})
    assert f"--local-batch {batch}" in out_of_memory(5, *schnet, "--local-batch", batch + 2), batch
    assert "what changes from run to run" in out_of_memory(0, *schnet, "--local-batch", 1)


main(sizes, memory)
