"""Weights under which gradients can be compared: no rectifier and no maximum is close to its kink.

A rectifier whose input is within rounding of 0 opens in one computation and stays shut in another, and a maximum whose
two largest values are that close picks another winner. Each such flip moves the gradient by a whole element's share, so
two correct f32 computations lie 1e-3 apart (1e-2 in Inception v3), which hides real errors. So the filter of a channel
that has such an element is drawn again (Network.redraw), layer by layer in forward order, until none is left.
"""
import torch
from torch.nn import functional as F

MARGIN = 2e-5  # of a layer's root mean square; f32 rounding makes about 2e-6 of it


def near_kink(z, margin):
    """Channels of z [N,C,...] with an element near 0."""
    return (z.abs() < margin).transpose(0, 1).flatten(1).any(1)


def near_tie(z, pool, margin):
    """Channels of z [N,C,H,W] where a window's two largest values, the larger one positive, nearly tie after relu."""
    kernel, stride, padding = pool
    c, y = z.shape[1], F.relu(z)
    windows = F.unfold(y.transpose(0, 1).reshape(-1, 1, *z.shape[2:]), kernel, padding=padding, stride=stride)
    top = windows.view(c, z.shape[0], kernel * kernel, -1).topk(2, dim=2).values
    return ((top[:, :, 0] > 0) & (top[:, :, 0] - top[:, :, 1] < margin)).flatten(1).any(1)


def settle(network, name, compute, pool=None):
    """Redraws filters of the parameter `name`. compute(weight, channels) gives the rectifier's inputs for these filters;
    pool is (kernel, stride, padding) of a maximum after the rectifier."""
    weight = network.module.get_parameter(name)
    channels, limit = torch.arange(weight.shape[0]), None
    while len(channels):
        with torch.no_grad():
            z = compute(weight[channels], channels)
        limit = limit or MARGIN * z.square().mean().sqrt().item()
        bad = near_kink(z, limit)
        if pool:
            bad |= near_tie(z, pool, 2 * limit)
        channels = channels[bad]
        for channel in channels.tolist():
            network.redraw(name, channel)


def normalised(conv, bn, x):
    """compute() of a convolution and the batch norm after it."""
    def compute(weight, channels):
        y = F.conv2d(x, weight, None, conv.stride, conv.padding)
        return F.batch_norm(y, None, None, bn.weight[channels], bn.bias[channels], training=True, eps=bn.eps)
    return compute


# What to settle: pairs of a layer and what is called with (layer, inputs) in front of its forward pass.

def watch_resnet50(network):
    module = network.module

    def before(name, bn, pool=None):
        return lambda conv, x: settle(network, name + ".weight", normalised(conv, bn, x[0]), pool)

    def before_sum(name, block):
        """Two calls, for the rectifier after the sum of a block's branches."""
        kept = {}

        def enter(_, x):
            kept["x"] = x[0].clone()  # its rectifiers work in place

        def add(conv, x):
            with torch.no_grad():
                other = block.downsample(kept["x"]) if block.downsample else kept["x"]
            branch = normalised(conv, block.bn3, x[0])
            settle(network, name + ".conv3.weight", lambda weight, c: branch(weight, c) + other[:, c])
        return (block, enter), (block.conv3, add)

    yield module.conv1, before("conv1", module.bn1, (3, 2, 1))
    for name, block in module.named_modules():
        if type(block).__name__ == "Bottleneck":
            yield block.conv1, before(name + ".conv1", block.bn1)
            yield block.conv2, before(name + ".conv2", block.bn2)
            yield from before_sum(name, block)


def watch_vgg16(network):
    def before(name, pool):
        def run(layer, x):
            if isinstance(layer, torch.nn.Conv2d):
                settle(network, name, lambda w, c: F.conv2d(x[0], w, layer.bias[c], padding=layer.padding), pool)
            else:
                settle(network, name, lambda w, c: F.linear(x[0], w, layer.bias[c]))
        return run

    for part in ("features", "classifier"):
        layers = [*getattr(network.module, part), None, None]
        for i, (layer, relu, pool) in enumerate(zip(layers, layers[1:], layers[2:])):
            if isinstance(relu, torch.nn.ReLU):
                yield layer, before(f"{part}.{i}.weight", (2, 2, 0) if isinstance(pool, torch.nn.MaxPool2d) else None)


def watch_inception3(network):
    pooled = {"Conv2d_2b_3x3", "Conv2d_4a_3x3"}  # and the ends of the blocks in front of 6a and 7a
    pooled |= {f"Mixed_5d.{end}" for end in ("branch1x1", "branch5x5_2", "branch3x3dbl_3", "branch_pool")}
    pooled |= {f"Mixed_6e.{end}" for end in ("branch1x1", "branch7x7_3", "branch7x7dbl_5", "branch_pool")}

    def before(name):
        pool = (3, 2, 0) if name in pooled else None
        return lambda unit, x: settle(network, name + ".conv.weight", normalised(unit.conv, unit.bn, x[0]), pool)

    for name, unit in network.module.named_modules():
        if type(unit).__name__ == "Unit":
            yield unit, before(name)


WATCH = {"resnet50": watch_resnet50, "vgg16": watch_vgg16, "inception3": watch_inception3}


def settle_all(network, images):
    """One forward pass that redraws on its way."""
    handles = [layer.register_forward_pre_hook(call) for layer, call in WATCH[network.name](network)]
    with torch.no_grad():
        network.module(images)
    for handle in handles:
        handle.remove()
