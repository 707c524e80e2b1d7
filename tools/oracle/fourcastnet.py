#!/usr/bin/env python3
"""Writes tests/golden/models/fourcastnet.json and fourcastnet_steps.json: losses, last prediction and gradients of the
network in plain PyTorch, one step ahead and two (fine-tuning: the sum of both losses, the gradient through both steps).

    tools/oracle/fourcastnet.py                (two minutes)

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

SEED, CHANNELS, HEIGHT, WIDTH = 9, 3, 48, 96
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


def fields(name, batch):
    n = batch * CHANNELS * HEIGHT * WIDTH
    return torch.from_numpy(rules.normal(SEED, rules.hash_text(name), n).astype(np.float32)).reshape(
        batch, CHANNELS, HEIGHT, WIDTH).double()


def train(net, dtype, steps, batch, autocast=False):
    """The last prediction, the losses of the steps, and the gradients of their sum."""
    net = net.to(dtype)
    net.zero_grad(set_to_none=True)
    y, losses = fields("fields", batch).to(dtype), []
    for step in range(steps):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            y = net(y).to(dtype)
        losses.append(relative_l2(y, fields(f"target{step + 1}" if step else "target", batch).to(dtype)))
    sum(losses).backward()
    grads = {n: p.grad.double().numpy().copy() for n, p in net.named_parameters()}
    return y.detach().double().numpy(), [loss.item() for loss in losses], grads


def write(to, steps, batch):
    net = FourCastNet(CHANNELS, HEIGHT, WIDTH).double()
    set_weights(net, SEED)
    y, losses, grads = train(net, torch.float64, steps, batch)
    size = sum(np.sum(g ** 2) for g in grads.values())
    away = {}
    for name, autocast in (("torch_f32", False), ("torch_bf16", True)):
        _, _, other = train(net, torch.float32, steps, batch, autocast)
        away[name] = float(np.sqrt(sum(np.sum((other[n] - g) ** 2) for n, g in grads.items()) / size))
    count = sum(p.numel() for p in net.parameters())
    print(f"{count} parameters, losses {losses}, gradients of f32 {away['torch_f32']:.1e}, of bf16 "
          f"{away['torch_bf16']:.1e} from double")
    found = {"model": "fourcastnet", "torch": torch.__version__, "seed": SEED, "batch": batch, "channels": CHANNELS,
             "height": HEIGHT, "width": WIDTH, "steps": steps, "parameter_count": count, "loss": sum(losses), **away,
             "prediction": [float(f"{v:.10g}") for v in rules.fingerprint("prediction", y)]}
    rows = ",\n".join(json.dumps({"name": n, "gradient": [float(f"{v:.10g}") for v in rules.fingerprint(n, g)]})
                      for n, g in grads.items())
    with open(os.path.join(TO, to), "w") as f:
        f.write(f'{json.dumps(found, indent=1)[:-2]},\n "parameters": [\n{rows}\n]}}\n')


def main():
    write("fourcastnet.json", steps=1, batch=2)
    write("fourcastnet_steps.json", steps=2, batch=1)


if __name__ == "__main__":
    main()
