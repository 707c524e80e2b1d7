#!/usr/bin/env python3
"""Writes tests/golden/models/fourcastnet.json: loss, prediction and gradients of the network in plain PyTorch.

    tools/oracle/fourcastnet.py                (a minute)

The network is bench/torch_fourcastnet.py's. Full width and depth on a reduced grid, in double; PyTorch's own f32 and
bf16 autocast are measured against it. Fields, targets and weights come from rules that
tests/unit/models/test_fourcastnet.c computes too.
"""
import json
import os
import sys

import numpy as np
import torch

import rules

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from torch_fourcastnet import FourCastNet, relative_l2  # noqa: E402

SEED, BATCH, CHANNELS, HEIGHT, WIDTH = 9, 2, 3, 48, 96
TO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "models")


def set_weights(net, seed):
    """Weights as the engine starts them; biases, which start at 0 there, normal with deviation .02."""
    with torch.no_grad():
        for name, p in net.named_parameters():
            stream, n = rules.hash_text(name), p.numel()
            value = 0.02 * rules.normal(seed, stream, n)
            if name.startswith("patch_embed"):
                value = (2 * rules.uniform(seed, stream, n) - 1) / np.sqrt(net.channels * net.patch ** 2)
            elif "norm" in name and name.endswith("weight"):
                value = 1 + value
            p.copy_(torch.from_numpy(value.astype(np.float32)).view_as(p))


def fields(name):
    n = BATCH * CHANNELS * HEIGHT * WIDTH
    return torch.from_numpy(rules.normal(SEED, rules.hash_text(name), n).astype(np.float32)).reshape(
        BATCH, CHANNELS, HEIGHT, WIDTH).double()


def train(net, dtype, autocast=False):
    net = net.to(dtype)
    net.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        y = net(fields("fields").to(dtype))
    loss = relative_l2(y.to(dtype), fields("target").to(dtype))
    loss.backward()
    return y.detach().double().numpy(), loss.item(), {n: p.grad.double().numpy().copy() for n, p in net.named_parameters()}


def main():
    net = FourCastNet(CHANNELS, HEIGHT, WIDTH).double()
    set_weights(net, SEED)
    y, loss, grads = train(net, torch.float64)
    size = sum(np.sum(g ** 2) for g in grads.values())
    away = {}
    for name, autocast in (("torch_f32", False), ("torch_bf16", True)):
        _, _, other = train(net, torch.float32, autocast)
        away[name] = float(np.sqrt(sum(np.sum((other[n] - g) ** 2) for n, g in grads.items()) / size))
    count = sum(p.numel() for p in net.parameters())
    print(f"{count} parameters, loss {loss:.9g}, gradients of f32 {away['torch_f32']:.1e}, of bf16 "
          f"{away['torch_bf16']:.1e} from double")
    found = {"model": "fourcastnet", "torch": torch.__version__, "seed": SEED, "batch": BATCH, "channels": CHANNELS,
             "height": HEIGHT, "width": WIDTH, "parameter_count": count, "loss": loss, **away,
             "prediction": [float(f"{v:.10g}") for v in rules.fingerprint("prediction", y)]}
    rows = ",\n".join(json.dumps({"name": n, "gradient": [float(f"{v:.10g}") for v in rules.fingerprint(n, g)]})
                      for n, g in grads.items())
    with open(os.path.join(TO, "fourcastnet.json"), "w") as f:
        f.write(f'{json.dumps(found, indent=1)[:-2]},\n "parameters": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
