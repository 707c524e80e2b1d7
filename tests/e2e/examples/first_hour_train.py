"""A PyTorch training as a newcomer has one: it knows nothing of wattlaw."""
import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SAMPLES, EPOCHS = 2048, 4


def work(rank, options):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port))
    dist.init_process_group("gloo", rank=rank, world_size=options.workers)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images, labels = torch.randn(SAMPLES, 3, 32, 32), torch.arange(SAMPLES) % 10
    data = TensorDataset(images, labels)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=options.batch, sampler=sampler)
    net = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(4096, 10))
    net = nn.parallel.DistributedDataParallel(net)
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)
    for epoch in range(1, EPOCHS + 1):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
        if rank == 0:
            print(f"epoch {epoch} loss {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--port", type=int, default=29531)
    options = parser.parse_args()
    mp.spawn(work, (options,), options.workers)
