"""FourCastNet in plain PyTorch, for bench/train_step.py and tools/oracle: written from the papers (Pathak et al. 2022,
arXiv:2202.11214; Guibas et al. 2021, arXiv:2111.13587), with the names of the authors' program."""
import torch
import torch.nn.functional as F
from torch import nn


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
        with torch.autocast(x.device.type, enabled=False):
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


class Weather:
    """A module and what it is trained on: random fields of 20 channels on a grid of height x 2 height."""

    def __init__(self, batch, height):
        self.model = FourCastNet(20, height, 2 * height)
        with torch.no_grad():
            for p in self.model.parameters():
                if p.dim() > 1:
                    p.normal_(0, 0.02)
        self.fields, self.target = (torch.randn(batch, 20, height, 2 * height) for _ in range(2))

    def optimizer(self, parameters, tuned):
        fused = "fused" in torch.optim.AdamW.__init__.__code__.co_varnames
        how = ({"fused": True} if fused else {"foreach": True}) if tuned else {}
        return torch.optim.AdamW(parameters, lr=5e-4, **how)

    def loss(self, model):
        """`model`: the module, or what has been put around it."""
        return relative_l2(model(self.fields).float(), self.target)
