#!/usr/bin/env python3
"""Writes tests/golden/models/fourcastnet.json: loss, prediction and gradients of the network in plain PyTorch.

    tools/oracle/fourcastnet.py                (a minute)

Written from the papers (Pathak et al. 2022, arXiv:2202.11214; Guibas et al. 2021, arXiv:2111.13587), with the names of
the authors' program. Full width and depth on a reduced grid, in double; PyTorch's own f32 and bf16 autocast are measured
against it. Fields, targets and weights come from rules that tests/unit/models/test_fourcastnet.c computes too.
"""
import json
import os

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import rules

SEED, BATCH, CHANNELS, HEIGHT, WIDTH = 9, 2, 3, 48, 96
TO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "models")


class Filter(nn.Module):
    """x + the inverse transform of a two-layer network of each mode, block-diagonal over the channels."""

    def __init__(self, dim, blocks, shrink=0.01):
        super().__init__()
        size, self.blocks, self.shrink = dim // blocks, blocks, shrink
        self.w1, self.b1 = nn.Parameter(torch.empty(2, blocks, size, size)), nn.Parameter(torch.empty(2, blocks, size))
        self.w2, self.b2 = nn.Parameter(torch.empty(2, blocks, size, size)), nn.Parameter(torch.empty(2, blocks, size))

    @staticmethod
    def layer(re, im, w, b):
        product = lambda x, y: torch.einsum("...bi,bio->...bo", x, y)
        return product(re, w[0]) - product(im, w[1]) + b[0], product(im, w[0]) + product(re, w[1]) + b[1]

    def forward(self, x):
        n, h, w, c = x.shape
        wide = x if x.dtype == torch.float64 else x.float()
        s = torch.fft.rfft2(wide, dim=(1, 2), norm="ortho")[:, :, :h // 2 + 1].reshape(n, h, -1, self.blocks, c // self.blocks)
        with torch.autocast("cpu", enabled=False):
            re, im = self.layer(s.real, s.imag, self.w1, self.b1)
            re, im = self.layer(F.relu(re), F.relu(im), self.w2, self.b2)
        s = torch.complex(F.softshrink(re, self.shrink), F.softshrink(im, self.shrink)).reshape(n, h, -1, c)
        s = F.pad(s, (0, 0, 0, w // 2 + 1 - s.shape[2]))
        return torch.fft.irfft2(s, s=(h, w), dim=(1, 2), norm="ortho").type(x.dtype) + x


class Mlp(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, blocks, ratio):
        super().__init__()
        self.norm1, self.filter = nn.LayerNorm(dim, eps=1e-6), Filter(dim, blocks)
        self.norm2, self.mlp = nn.LayerNorm(dim, eps=1e-6), Mlp(dim, ratio * dim)

    def forward(self, x):
        x = self.filter(self.norm1(x)) + x
        return self.mlp(self.norm2(x)) + x


class PatchEmbed(nn.Module):
    def __init__(self, channels, patch, dim):
        super().__init__()
        self.proj = nn.Conv2d(channels, dim, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class FourCastNet(nn.Module):
    def __init__(self, channels, height, width, patch=8, dim=768, depth=12, blocks=8, ratio=4):
        super().__init__()
        self.grid, self.patch, self.channels = (height // patch, width // patch), patch, channels
        self.patch_embed = PatchEmbed(channels, patch, dim)
        self.pos_embed = nn.Parameter(torch.empty(1, self.grid[0] * self.grid[1], dim))
        self.blocks = nn.ModuleList(Block(dim, blocks, ratio) for _ in range(depth))
        self.head = nn.Linear(dim, channels * patch * patch, bias=False)

    def forward(self, x):
        n, p, (h, w) = len(x), self.patch, self.grid
        x = (self.patch_embed(x) + self.pos_embed).reshape(n, h, w, -1)
        for block in self.blocks:
            x = block(x)
        x = self.head(x).reshape(n, h, w, p, p, self.channels)
        return x.permute(0, 5, 1, 3, 2, 4).reshape(n, self.channels, h * p, w * p)


def relative_l2(x, target):
    apart, size = (x - target).flatten(1).norm(dim=1), target.flatten(1).norm(dim=1)
    return (apart / size).mean()


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
