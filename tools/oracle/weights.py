#!/usr/bin/env python3
"""tests/golden/models/weights.safetensors: a few tensors, written by the safetensors package.

    V/bin/pip install safetensors torch
    V/bin/python tools/oracle/weights.py
    V/bin/python tools/oracle/weights.py --read FILE     # what the package reads from a file that wattlaw-train wrote

Element k of every tensor is (k - 5)/4, which all its types can hold."""
import os
import sys

import torch
from safetensors.torch import load_file, save_file

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "models")
SHAPES = {"model.first.gamma": (torch.float16, (3,)), "model.first.weight": (torch.bfloat16, (3, 2)),
          "second.weight": (torch.float32, (4, 3)), "second.bias": (torch.float64, (4,)),
          "model.position_ids": (torch.int64, (1, 8)), "pooler.weight": (torch.float32, (2, 2, 1, 1, 1)),
          "scale": (torch.float32, ())}


def main():
    if len(sys.argv) > 2:
        for name, t in sorted(load_file(sys.argv[2]).items()):
            print(name, str(t.dtype), tuple(t.shape), "norm", t.double().norm().item())
        return
    tensors = {}
    for name, (dtype, shape) in SHAPES.items():
        count = torch.Size(shape).numel()
        tensors[name] = ((torch.arange(count, dtype=torch.float64) - 5) / 4).reshape(shape).to(dtype)
    save_file(tensors, os.path.join(GOLDEN, "weights.safetensors"), metadata={"format": "pt"})


main()
