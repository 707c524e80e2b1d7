#!/usr/bin/env python3
"""PyTorch's side of bench/train_step.py: training steps on random images, one for each line "step" on stdin.

    torch_step.py MODEL f32|bf16 BATCH THREADS RANKS plain|channels_last eager|compiled default|tuned

Answers as bench_train_step does, with lines of JSON. bf16 is autocast. Ranks are DistributedDataParallel over gloo, one
process a rank; rank 0 starts the others and hands them each line. "tuned" takes the one-pass SGD of this version, and
buckets that gradients are views of; the environment is the caller's part.
"""
import json
import os
import socket
import subprocess
import sys
import time

import torch

import torch_models
import train_contest


def make_optimiser(parameters, tuned):
    how = {}
    if tuned:
        fused = "fused" in torch.optim.SGD.__init__.__code__.co_varnames
        how = {"fused": True} if fused else {"foreach": True}
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, weight_decay=1e-4, **how)


def join(rank, ranks, port):
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)


class Trainer:
    def __init__(self, name, precision, batch, rank, ranks, layout, how, tuned):
        torch.manual_seed(rank)
        make, pixels = torch_models.MODELS[name]
        self.bf16 = precision == "bf16"
        self.model = make(torch).train()
        self.images, self.labels = torch.randn(batch, 3, pixels, pixels), torch.randint(0, 1000, (batch,))
        if layout == "channels_last":
            self.model = self.model.to(memory_format=torch.channels_last)
            self.images = self.images.contiguous(memory_format=torch.channels_last)
        if ranks > 1:
            self.model = torch.nn.parallel.DistributedDataParallel(
                self.model, gradient_as_bucket_view=tuned, static_graph=tuned)
        self.sgd = make_optimiser(self.model.parameters(), tuned)
        self.forward = torch.compile(self.loss) if how == "compiled" else self.loss

    def loss(self):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            return torch_models.loss(torch, self.model(self.images), self.labels)

    def step(self):
        """Wall-clock and processor seconds."""
        start, start_cpu = time.perf_counter(), time.process_time()
        self.sgd.zero_grad(set_to_none=True)
        loss = self.forward()
        loss.backward()
        self.sgd.step()
        value = loss.item()
        return {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - start_cpu, "loss": value}


class Other:
    """Another rank, in a process of its own."""

    def __init__(self, rank, port):
        self.process = subprocess.Popen([*train_contest.DIE_WITH_PARENT, sys.executable, __file__, *sys.argv[1:]],
                                        env={**os.environ, "RANK": str(rank), "PORT": str(port)}, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def say(what):
    print(json.dumps(what), flush=True)


def main():
    name, precision, batch, threads, ranks, layout, how, tuned = sys.argv[1:]
    batch, threads, ranks, rank = int(batch), int(threads), int(ranks), int(os.environ.get("RANK", 0))
    torch.set_num_threads(threads)
    port = int(os.environ.get("PORT", 0)) or free_port()
    others = [Other(r, port) for r in range(1, ranks)] if rank == 0 else []
    if ranks > 1:
        join(rank, ranks, port)
    trainer = Trainer(name, precision, batch, rank, ranks, layout, how, tuned == "tuned")
    if rank == 0:
        say({"library": "PyTorch " + torch.__version__.split("+")[0]})
    for line in sys.stdin:
        if line != "step\n":
            break
        start = time.perf_counter()
        for other in others:
            other.send()
        took = trainer.step()
        took["cpu_s"] += sum(other.answer()["cpu_s"] for other in others)
        say({**took, "wall_s": time.perf_counter() - start})


if __name__ == "__main__":
    main()
