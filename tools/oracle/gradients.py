#!/usr/bin/env python3
"""Writes tests/golden/models/MODEL.json: one training step's loss and gradients at full size.

    tools/oracle/gradients.py [resnet50 vgg16 inception3]         (a minute or two each, 10 GB)

The truth is PyTorch in double; PyTorch's own f32 and bf16 (autocast) are measured against it, so that the tests know
what distance is rounding. tests/unit/models/test_gradients.c compares. See README.md.
"""
import copy
import json
import os
import sys

import numpy as np
import torch

import networks
import rules
import settle

SEED, CLASSES, SHIFT = 5, 1000, 1.0
BATCH = {"resnet50": 2, "vgg16": 2, "inception3": 4}
TO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "models")


def train(module, images, labels, bf16=False):
    """Losses and the gradient of each parameter, in double."""
    module.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        result = module(images)
    loss, aux, total = networks.losses(result, labels)
    total.backward()
    grads = {name: p.grad.double().numpy() for name, p in module.named_parameters()}
    return {"loss": loss.item(), "aux_loss": aux.item(), "gradients": grads}


def distances(run, truth):
    """How far a run's gradients lie from the true ones, relative L2: all together, and each. A true gradient of 0 (of a
    bias whose effect the next batch norm takes away) is rounding: its distance is relative to all."""
    each, wrong = {}, 0
    size = sum(np.sum(want ** 2) for want in truth["gradients"].values())
    for name, want in truth["gradients"].items():
        error, norm = np.sum((run["gradients"][name] - want) ** 2), np.sum(want ** 2)
        each[name] = float(np.sqrt(error / (norm if norm > 1e-18 * size else size)))
        wrong += error
    return float(np.sqrt(wrong / size)), each


def redrawn(variants):
    """ "channel:variant" of each channel whose filter was drawn again."""
    return " ".join(f"{c}:{v}" for c, v in enumerate(variants) if v)


def short(values, figures=10):
    return [float(f"{v:.{figures}g}") for v in values]


def golden(model):
    batch, pixels = BATCH[model], networks.torch_models.MODELS[model][1]
    network = networks.Network(model, SEED, CLASSES, "full", SHIFT)
    images, labels = rules.inputs(SEED, 0, batch, pixels, CLASSES)
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    settle.settle_all(network, x.double())
    weights = {name: rules.fingerprint(name, p.detach().numpy(), 1) for name, p in network.module.named_parameters()}
    truth = train(network.module, x.double(), y)
    single = copy.deepcopy(network.module).float()
    f32, f32_each = distances(train(single, x, y), truth)
    run = train(single, x, y, bf16=True)
    bf16, bf16_each = distances(run, truth)
    print(f"{model}: f32 {f32:.1e}, worst {max(f32_each.values()):.1e}; bf16 {bf16:.1e}, worst "
          f"{max(bf16_each.values()):.1e}; redrawn {sum(int((v > 0).sum()) for v in network.variants.values())}", flush=True)
    return {
        "model": model, "torch": torch.__version__, "seed": SEED, "batch": batch, "pixels": pixels, "classes": CLASSES,
        "norm_shift": SHIFT, "margin": settle.MARGIN, "loss": truth["loss"], "aux_loss": truth["aux_loss"],
        "torch_f32": f32, "torch_bf16": bf16, "torch_bf16_loss": run["loss"],
        "images": short(rules.fingerprint("images", images), 15), "labels": labels.tolist(),
        "parameters": [{
            "name": name, **({"variants": redrawn(network.variants[name])} if name in network.variants else {}),
            "weight": short(weights[name]), "gradient": short(rules.fingerprint(name, truth["gradients"][name])),
            "torch_bf16": float(f"{bf16_each[name]:.2g}")} for name in truth["gradients"]]}


def write(model):
    """One parameter a line, so that a change can be read."""
    found = golden(model)
    rows = ",\n".join(json.dumps(row) for row in found.pop("parameters"))
    head = json.dumps(found, indent=1)[:-2]
    with open(os.path.join(TO, model + ".json"), "w") as f:
        f.write(f'{head},\n "parameters": [\n{rows}\n]}}\n')


def main():
    for model in sys.argv[1:] or networks.torch_models.MODELS:
        if model not in networks.torch_models.MODELS:
            sys.exit(f"gradients.py: no network {model}; there are {', '.join(networks.torch_models.MODELS)}")
        write(model)


if __name__ == "__main__":
    main()
