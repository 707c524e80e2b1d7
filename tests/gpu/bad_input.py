#!/usr/bin/env python3
"""wattlaw-train --backend gpu on the fakes, with libraries, kernels and GPUs that fail: bad_input.py PROGRAM CASE. Exit 0: passed,
1: failed."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "train"))
from harness import *  # noqa: E402

BERT = ["bert", "--size", "tiny", "--backend", "gpu", "--explain"]
RESNET = ["resnet50", "--size", "tiny", "--backend", "gpu", "--explain", "--conv", "direct"]
SCHNET = ["schnet", "--size", "tiny", "--data", "set", "--quiet", "--threads", 1, "--local-batch", 2]


def says(command, env, *words, lines=1):
    """Ends with status 1 and a message with these words. `lines`: with a warning of the communicator."""
    p = run(*command, env=env)
    assert p.returncode == 1 and p.stdout == "", (env, p.returncode, p.stdout, p.stderr)
    assert len(p.stderr.splitlines()) == lines and all(w in p.stderr for w in words), (env, words, p.stderr)


def file(name, content):
    path = os.path.join(WORK, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content)
    return path


def libraries():
    """One that is missing, is not a library, or is of another version is named, with the package to install."""
    alone = {"LD_LIBRARY_PATH": ""}  # else the loader finds the fakes
    nowhere = dict(alone, WATTLAW_CUDA_PATH="/proc/nowhere")
    says(BERT, nowhere, "cublasLt (libcublasLt.so.13)", "cannot open shared object file", "pip install nvidia-cublas,", "WATTLAW_CUDA_PATH")
    says(RESNET, nowhere, "cuDNN (libcudnn.so.9)", "pip install nvidia-cudnn-cu13,", "WATTLAW_CUDA_PATH")
    for content in b"", b"text", b"\x7fELF" + bytes(4096):
        path = file("broken/libcublasLt.so.13", content)
        says(BERT, dict(alone, WATTLAW_CUDA_PATH=os.path.dirname(path)), path, "pip install nvidia-cublas,")
    fakes = os.environ["WATTLAW_CUDA_PATH"]
    os.makedirs(os.path.join(WORK, "other"))
    os.symlink(os.path.join(fakes, "libcufft.so.12"), os.path.join(WORK, "other", "libcublasLt.so.13"))
    says(BERT, dict(alone, WATTLAW_CUDA_PATH=os.path.join(WORK, "other")), "libcublasLt.so.13 has no cublasLt")
    says(BERT, {"WATTLAW_FAKE_GPU": "version=11080"}, "serves CUDA 11.8", "needs 12.0")


def kernels():
    """A file of kernels that is missing, empty, cut off, something else or of another version."""
    os.symlink("nowhere.fatbin", os.path.join(WORK, "dangling"))
    image = bytes.fromhex("50ed55ba 0100 1000 0010000000000000")  # of 4,096 bytes
    for path, words in ((os.path.join(WORK, "dangling"), "is not a file"), (WORK, "is not a file"),
                        (file("k/empty", b""), "empty"), (file("k/text", b"text"), "no kernels for simulated GPU (compute capability 9.0)"),
                        (file("k/cut", image + b"rest"), "cut off: 20 of 4112 bytes of an image"),
                        (file("k/whole", image + bytes(4096)), "no kernels for simulated GPU")):
        says(BERT, {"WATTLAW_KERNELS": path}, path, words)
    says(BERT, {"WATTLAW_KERNELS": os.path.join(WORK, "k/whole"), "WATTLAW_FAKE_GPU": "version=12040"}, "k/whole: no kernels for simulated GPU",
         "its driver, of CUDA 12, loads", "needs driver 580 or newer")
    says(BERT, {"WATTLAW_FAKE_GPU": "lacks_kernels=1"}, "kernels.fatbin has no kernel", "another version")


def molecules():
    done("data", "qm9", "--synthetic", "set", "--molecules", 12)


def faults():
    """A GPU fails in a first run, in an evaluation, and in a replayed graph: one message, and a checkpoint that is whole."""
    molecules()
    for at, where in (20, "train"), (320, "molecules/val"), (420, "train"):
        folder = f"at-{at}"
        says([*SCHNET, "--backend", "gpu", "--epochs", 3, "--checkpoint-dir", folder],
             {"WATTLAW_FAKE_GPU": f"fault=214;fault_at={at}"}, f"error {where}: " if where == "train" else f"error: {where}: ",
             "uncorrectable ECC error encountered (214)")
    resumed = done(*SCHNET, "--backend", "cpu", "--epochs", 3, "--resume", "--checkpoint-dir", folder)["epochs"]
    assert resumed[0]["epoch"] == 2, resumed


def ranks():
    """NCCL fails in a sum, and a worker dies while the others join: status, one message, and the checkpoint stays whole."""
    molecules()
    two = [*SCHNET, "--backend", "gpu", "--workers", 2, "--epochs", 3, "--checkpoint-dir", "both", "--no-validate"]
    gpus = {"WATTLAW_FAKE_GPU": "devices=2"}
    says(two, dict(gpus, WATTLAW_FAKE_NCCL="async_at=4"), "a sum over the ranks failed", "ncclCommGetAsyncError")
    resumed = done(*two, "--resume", env=gpus)["epochs"]
    assert resumed[0]["epoch"] == 2, resumed
    # The thread that waits in NCCL is given up, and LeakSanitizer cannot stop it.
    given_up = dict(gpus, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    says([*two, "--resume"], dict(given_up, WATTLAW_FAKE_NCCL="dies_joining=1"), "rank 1 (process ", "died", lines=2)


main(libraries, kernels, faults, ranks)
