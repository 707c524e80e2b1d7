#!/usr/bin/env python3
"""A typical data-parallel PyTorch training: DistributedDataParallel over gloo on the CPU.

    python3 examples/pytorch_ddp.py --workers 2 --epochs 3
    torchrun --nproc_per_node 2 examples/pytorch_ddp.py --epochs 3

It trains a small network on generated images of oriented stripes and prints one line per epoch, as most programs do.
wattlaw can read its epochs from that line (experiments/pytorch_ddp_regex.ini). With --marks it reports them itself,
by the calls to `wattlaw` below (experiments/pytorch_ddp.ini); nothing else is needed.
"""

import argparse
import math
import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
import wattlaw  # noqa: E402  (a copy of python/wattlaw next to your program works, too)


def options():
    p = argparse.ArgumentParser(description="DistributedDataParallel on generated images")
    p.add_argument("--workers", type=int, default=1, help="processes to start; torchrun sets it itself")
    p.add_argument("--threads", type=int, default=1, help="threads per worker")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--local-batch", type=int, default=32)
    p.add_argument("--samples", type=int, default=1024, help="samples per epoch over all workers")
    p.add_argument("--classes", type=int, default=8)
    p.add_argument("--image-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--marks", action="store_true", help="report epochs and accuracy to wattlaw")
    return p.parse_args()


def generated_images(n, classes, size, seed):
    """n noisy gratings [n,3,size,size]; the class [n] is their slope."""
    g = torch.Generator().manual_seed(seed)
    label = torch.arange(n) % classes
    slope = (label + 0.3 * (torch.rand(n, generator=g) - 0.5)) * (math.pi / classes)
    waves = 3 + 3 * torch.rand(n, generator=g)
    phase = 2 * math.pi * torch.rand(n, generator=g)
    axis = torch.linspace(0, 1, size)
    x, y = axis.view(1, 1, size), axis.view(1, size, 1)
    across = torch.cos(slope).view(n, 1, 1) * x + torch.sin(slope).view(n, 1, 1) * y
    stripes = torch.sin(2 * math.pi * waves.view(n, 1, 1) * across + phase.view(n, 1, 1))
    tint = torch.rand(n, 3, 1, 1, generator=g)
    noise = torch.randn(n, 3, size, size, generator=g)
    return TensorDataset(tint * stripes.unsqueeze(1) + noise, label)


def network(classes):
    def block(i, o):
        return [nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)]

    return nn.Sequential(*block(3, 16), *block(16, 32), *block(32, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(64, classes))


def train_epoch(model, loader, optimizer):
    """Mean loss over this worker's updates, and their number."""
    model.train()
    total = 0.0
    for images, labels in loader:
        loss = cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()  # DistributedDataParallel averages the gradients here
        optimizer.step()
        total += loss.item()
    return total / len(loader), len(loader)


def accuracy(model, loader, counts):
    """Top-1 over all workers' shares of the validation set; `counts` [2] is scratch. The caller owns it because gloo's
    thread must not be the last to hold it: freeing it there can deadlock with the end of the job (PyTorch 1.13)."""
    model.eval()
    counts.zero_()
    with torch.no_grad():
        for images, labels in loader:
            counts += torch.tensor([(model(images).argmax(1) == labels).sum(), len(labels)])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def train(rank, workers, o):
    """One worker. Its rank and its peers are in the environment, as torchrun would set them."""
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(workers))
    torch.set_num_threads(o.threads)
    dist.init_process_group("gloo")
    wattlaw.start(workload="pytorch_ddp", workers=workers, local_batch=o.local_batch,
                  global_batch=workers * o.local_batch, epochs=o.epochs, threads=o.threads)
    wattlaw.define("val_top1", better="larger", label="accuracy on held-out images", main=True)

    with wattlaw.phase("load"):
        images = generated_images(o.samples, o.classes, o.image_size, o.seed)
        val_images = generated_images(o.samples // 4, o.classes, o.image_size, o.seed + 1)
    shares = DistributedSampler(images, seed=o.seed, drop_last=True)
    batches = DataLoader(images, o.local_batch, sampler=shares, drop_last=True)
    val_batches = DataLoader(val_images, o.local_batch, sampler=DistributedSampler(val_images, shuffle=False))
    torch.manual_seed(o.seed)
    model = nn.parallel.DistributedDataParallel(network(o.classes))
    optimizer = torch.optim.SGD(model.parameters(), o.lr, momentum=0.9)
    counts = torch.zeros(2)
    if rank == 0:
        print(f"training on {workers} workers", flush=True)

    for epoch in range(1, o.epochs + 1):
        shares.set_epoch(epoch)
        with wattlaw.epoch(epoch) as e:
            loss, updates = train_epoch(model, batches, optimizer)
            e.samples, e.updates = updates * o.local_batch * workers, updates
        with wattlaw.phase("validate"):
            top1 = accuracy(model, val_batches, counts)
        if rank == 0:
            wattlaw.metric("train_loss", loss, epoch=epoch)
            wattlaw.metric("val_top1", top1, epoch=epoch)
            print(f"Epoch {epoch}/{o.epochs} loss {loss:.4f} accuracy {top1:.4f} "
                  f"({e.samples} samples, {e.updates} updates)", flush=True)
    dist.destroy_process_group()
    wattlaw.stop()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    o = options()
    if not o.marks:
        os.environ.pop("WATTLAW_MARKS", None)  # the calls to wattlaw then do nothing
    if "RANK" in os.environ:  # under torchrun
        train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), o)
        return
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    torch.multiprocessing.spawn(train, args=(o.workers, o), nprocs=o.workers)


if __name__ == "__main__":
    main()
