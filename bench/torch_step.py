#!/usr/bin/env python3
"""PyTorch's side of bench/train_step.py: training steps on random inputs, one for each line "step" on stdin.

    torch_step.py MODEL f32|bf16 BATCH THREADS RANKS LAYOUT eager|compiled|checkpointed default|tuned

LAYOUT is plain or channels_last for images, transformers or encoder for bert128 and the like (torch_bert.py).

Answers as bench_train_step does, with lines of JSON. bf16 is autocast. Ranks are DistributedDataParallel over gloo, one
process a rank; rank 0 starts the others and hands them each line. "checkpointed" computes each block again in the backward
pass (torch.utils.checkpoint). "tuned" takes the one-pass optimizer of this version, and
buckets that gradients are views of; the environment is the caller's part.
"""
import functools
import json
import os
import socket
import subprocess
import sys
import time

import torch
import torch.utils.checkpoint

import torch_bert
import torch_fourcastnet
import torch_models
import train_alternate


def join(rank, ranks, port):
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)


def make_work(name, layout, batch):
    if name.startswith("bert"):
        return torch_bert.Bert(torch, layout, batch, int(name[len("bert"):]))
    if name.startswith("fourcastnet"):
        return torch_fourcastnet.Weather(batch, int(name[len("fourcastnet"):]))
    return torch_models.Images(torch, name, layout, batch)


BLOCKS = ("Bottleneck", "Block", "TransformerEncoderLayer", "BertLayer")


def checkpoint_blocks(model):
    for block in (m for m in model.modules() if type(m).__name__ in BLOCKS):
        block.forward = functools.partial(torch.utils.checkpoint.checkpoint, block.forward, use_reentrant=False)


class Trainer:
    def __init__(self, name, precision, batch, rank, ranks, layout, how, tuned):
        torch.manual_seed(rank)
        self.bf16 = precision == "bf16"
        self.work = make_work(name, layout, batch)
        self.model = self.work.model.train()
        if how == "checkpointed":
            checkpoint_blocks(self.model)
        if ranks > 1:
            self.model = torch.nn.parallel.DistributedDataParallel(
                self.model, gradient_as_bucket_view=tuned, static_graph=tuned)
        self.optimizer = self.work.optimizer(self.model.parameters(), tuned)
        self.forward = torch.compile(self.loss) if how == "compiled" else self.loss

    def loss(self):
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            return self.work.loss(self.model)

    def step(self):
        """Wall-clock and processor seconds."""
        start, start_cpu = time.perf_counter(), time.process_time()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward()
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        return {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - start_cpu, "loss": value}


class Other:
    """Another rank, in a process of its own."""

    def __init__(self, rank, port):
        self.process = subprocess.Popen([*train_alternate.DIE_WITH_PARENT, sys.executable, __file__, *sys.argv[1:]],
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
