#!/usr/bin/env python3
"""What wattlaw doctor says of training on GPUs, over the fakes: doctor.py WATTLAW. Exit 0: passed, 1: failed."""
import json
import os
import struct
import subprocess
import sys
import tempfile

WATTLAW = os.path.abspath(sys.argv[1])
NOWHERE = "/proc/nowhere"


def doctor(*options, **env):
    p = subprocess.run([WATTLAW, "doctor", "--for", "0s", "--sensors", "proc", *options], env={**os.environ, "PATH": "", **env}, text=True,
                       capture_output=True)
    assert p.returncode == 0, p.stderr
    return p.stdout


def training(**env):
    found = json.loads(doctor("--json", **env))["training"]
    return found, {p["name"]: p for p in found["parts"]}


def fatbin(*entries):
    """As nvcc writes one: (kind, architecture), kind 1 PTX, 2 machine code."""
    body = b"".join(struct.pack("<HHIQIIHHI", kind, 257, 64, 16, 0, 0, 0, 0, arch).ljust(64 + 16, b"\0") for kind, arch in entries)
    return struct.pack("<IHHQ", 0xba55ed50, 1, 16, len(body)) + body


def complete():
    found, parts = training()
    assert found["usable"] and all(p["serves"] and p["path"] and not p["reason"] for p in parts.values()), found
    versions = {name: p["version"] for name, p in parts.items()}
    assert versions == {"driver": "CUDA 13.0", "cublasLt": "13.1.0", "cuDNN": "9.28.1", "cuFFT": "12.0.0", "NCCL": "2.27.5",
                        "kernels": None}, versions
    gpu, = found["gpus"]
    assert gpu["compute_capability"] == 9.0 and gpu["memory_bytes"] == 4096 << 20 and 0 < gpu["free_bytes"] <= 4096 << 20, gpu


def kernels():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.fatbin")
        with open(path, "wb") as f:
            f.write(fatbin((2, 80), (2, 90)) + fatbin((2, 80), (2, 90), (1, 90)))
        found, parts = training(WATTLAW_KERNELS=path)
        assert found["kernel_targets"] == ["sm_80", "sm_90", "compute_90"] and found["gpus"][0]["has_kernels"], found
        for capability, serves in (75, False), (120, True):
            found, _ = training(WATTLAW_KERNELS=path, WATTLAW_FAKE_GPU=f"capability={capability}")
            assert found["gpus"][0]["has_kernels"] == serves, (capability, found)
        text = doctor(WATTLAW_KERNELS=path, WATTLAW_FAKE_GPU="capability=75;devices=2;used_mb=1024")
        assert "kernels.fatbin for sm_80, sm_90, compute_90\n" in text, text
        assert "GPU 1: simulated GPU, compute capability 7.5, 4.29 GB of memory, 3.2" in text, text
        assert "of them free: the kernels are not for it\n" in text, text
        with open(path, "wb") as f:
            f.write(fatbin((2, 80), (2, 90)))
        for capability, serves in (86, True), (120, False):
            found, _ = training(WATTLAW_KERNELS=path, WATTLAW_FAKE_GPU=f"capability={capability}")
            assert found["gpus"][0]["has_kernels"] == serves, (capability, found)
        with open(path, "wb") as f:  # cut off in its second entry
            f.write(fatbin((2, 80), (2, 90))[:120])
        found, parts = training(WATTLAW_KERNELS=path)
        assert parts["kernels"]["reason"] == f"{path}: cut off: 120 of 176 bytes of an image" and not found["usable"], parts


def missing():
    found, parts = training(WATTLAW_CUDA_PATH=NOWHERE, WATTLAW_KERNELS=NOWHERE, CUDA_DRIVER_LIBRARY=NOWHERE)
    assert not found["usable"] and not any(p["serves"] for p in parts.values()) and not found["gpus"], found
    for name, words in {"driver": "install NVIDIA's driver 525", "cublasLt": "pip install nvidia-cublas,", "kernels": NOWHERE,
                        "cuDNN": "pip install nvidia-cudnn-cu13,", "cuFFT": "pip install nvidia-cufft,",
                        "NCCL": "pip install nvidia-nccl-cu13"}.items():
        assert words in parts[name]["reason"], parts[name]
    found, parts = training(WATTLAW_FAKE_GPU="version=12020")
    assert "pip install nvidia-cublas-cu12," in parts["cublasLt"]["reason"] and parts["cuDNN"]["serves"], parts
    assert parts["driver"]["serves"] and found["gpus"] and not found["usable"], found
    found, parts = training(WATTLAW_FAKE_GPU="version=11040")
    assert "serves CUDA 11.4" in parts["driver"]["reason"] and not found["usable"], parts
    found, _ = training(WATTLAW_FAKE_GPU="devices=0")
    assert not found["usable"] and "no GPU: " not in doctor() and "no GPU: " in doctor(WATTLAW_FAKE_GPU="devices=0"), found


complete()
kernels()
missing()
