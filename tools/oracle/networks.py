"""The networks in PyTorch with the first values that wattlaw gives them: a function of seed, name and element."""
import os
import sys

import numpy as np
import torch

import rules

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import torch_models  # noqa: E402

AUX_WEIGHT = 0.4


class RuleDropout(torch.nn.Module):
    """Dropout whose masks are a function of seed, name, optimizer step, sample and element."""

    def __init__(self, seed, name, p):
        super().__init__()
        self.seed, self.name, self.p, self.update = seed, name, p, 0

    def forward(self, x):
        if not self.training:
            return x
        flat = x.flatten(1)
        mask = rules.keep_mask(self.seed, self.name, self.update, *flat.shape, self.p)
        return (flat * torch.tensor(mask, dtype=x.dtype)).view_as(x)


def scale_of(model, name, shape):
    """How a parameter starts: (constant | normal | uniform, scale). Norms start at 1 and 0."""
    fan_in = int(np.prod(shape[1:]))
    if len(shape) == 1:
        if model == "vgg16" or ".bn" in "." + name or "downsample.1" in name:
            return "constant", float(name.endswith("weight"))
        return "uniform", None  # a linear layer's bias: the fan-in of its weight
    he = np.sqrt(2 / (shape[0] * np.prod(shape[2:])))
    linear = {"resnet50": ("uniform", 1 / np.sqrt(fan_in)), "vgg16": ("normal", 0.01),
              "inception3": ("normal", 0.001 if name.startswith("AuxLogits") else 0.1)}
    return linear[model] if len(shape) == 2 else ("normal", 0.1 if model == "inception3" else he)


class Network:
    """A network in double whose parameters are f32 numbers by the rule; `shift`: what batch norms' biases start at."""

    def __init__(self, model, seed, classes, size, shift=0.0):
        self.name, self.seed, self.size = model, seed, size
        make = torch_models.MODELS[model][0]
        self.module = make(torch, classes=classes, **(torch_models.TINY[model] if size == "tiny" else {})).double().train()
        self.variants = {}  # parameter -> array of the variant of each channel
        for name, layer in list(self.module.named_modules()):
            if isinstance(layer, torch.nn.Dropout):
                self.replace(name, RuleDropout(seed, name, layer.p))
        with torch.no_grad():
            for name, value in self.module.named_parameters():
                value.copy_(torch.from_numpy(self.first_values(name, value.shape)))
            for layer in self.module.modules():
                if isinstance(layer, torch.nn.BatchNorm2d):
                    layer.bias.fill_(shift)

    def replace(self, name, layer):
        parent, _, last = name.rpartition(".")
        setattr(self.module.get_submodule(parent), last, layer)

    def first_values(self, name, shape, variant=0, part=None):
        """f32, as the engine draws them. Variant v > 0 of a channel comes from the stream of "NAME#v"; `part` is the
        range of elements (default: all)."""
        rule, scale = scale_of(self.name, name, tuple(shape))
        start, n = part or (0, int(np.prod(shape)))
        if rule == "constant":
            return np.full(shape, scale, np.float32)
        if scale is None:
            scale = 1 / np.sqrt(self.module.get_parameter(name.replace("bias", "weight")).shape[1])
        if rule == "normal" and self.name == "vgg16" and len(shape) == 2 and self.size == "tiny":
            scale *= np.sqrt(4096 / torch_models.TINY["vgg16"]["hidden"])
        stream = rules.hash_text(f"{name}#{variant}" if variant else name)
        values = (rules.normal(self.seed, stream, n, start) if rule == "normal" else
                  2 * rules.uniform(self.seed, stream, n, start) - 1)
        return (scale * values).astype(np.float32).reshape((-1, *shape[1:]) if part else tuple(shape))

    def redraw(self, name, channel):
        """The next variant of a channel's filter."""
        weight = self.module.get_parameter(name)
        variants = self.variants.setdefault(name, np.zeros(weight.shape[0], int))
        variants[channel] += 1
        each = weight[channel].numel()
        values = self.first_values(name, weight.shape, variants[channel], (channel * each, each))
        with torch.no_grad():
            weight[channel] = torch.from_numpy(values[0])

    def set_update(self, update):
        for layer in self.module.modules():
            if isinstance(layer, RuleDropout):
                layer.update = update


def losses(result, labels):
    """The main head's loss, the auxiliary one's (0 where there is none), and the sum that is trained."""
    entropy = torch.nn.functional.cross_entropy
    heads = [r.float() if r.dtype == torch.bfloat16 else r for r in (result if isinstance(result, tuple) else (result,))]
    main, aux = heads if len(heads) > 1 else (heads[0], None)
    loss = entropy(main, labels)
    other = entropy(aux, labels) if aux is not None else torch.zeros_like(loss)
    return loss, other, loss + AUX_WEIGHT * other
