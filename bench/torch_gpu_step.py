#!/usr/bin/env python3
"""PyTorch's side of bench/gpu_step.py: training steps with random inputs in the device's memory, one for each line "step" on stdin.

    torch_gpu_step.py MODEL f32|bf16 BATCH eager|compiled FOLDER|- [cuda|cpu]

Images are channels_last, bf16 is autocast, the optimizer is the fused one; f32 allows TF32 in convolutions, as PyTorch does by default.
FOLDER has the molecules of schnet and dimenet (PyTorch Geometric). Answers with lines of JSON: first how many parameters and samples
there are; a step ends when its loss is known and the GPU has nothing left to do.
"""
import json
import sys
import time

import torch


def move(work, device, *names):
    for name in names:
        setattr(work, name, getattr(work, name).to(device))
    return work


def images(name, batch, device):
    import torch_models
    return move(torch_models.Images(torch, name, "channels_last", batch), device, "images", "labels")


def tokens(name, batch, device):
    import torch_bert
    return move(torch_bert.Bert(torch, "encoder", batch, int(name[len("bert"):])), device, "tokens", "places", "labels")


def fields(name, batch, device):
    import torch_fourcastnet
    return move(torch_fourcastnet.Weather(batch, int(name[len("fourcastnet"):])), device, "fields", "target")


class Molecules:
    """bench/molecules.py's peer."""

    def __init__(self, name, folder, device):
        import molecules
        self.peer = molecules.Peer(name, folder, 1, device)
        self.model = self.peer.net

    def optimizer(self, parameters, tuned):
        return torch.optim.Adam(parameters, lr=1e-3, fused=tuned)

    def loss(self, model):
        return ((model(self.peer.z, self.peer.pos, self.peer.owner).view(-1) - self.peer.target) ** 2).mean()


def make_work(name, batch, folder, device):
    """The network with its inputs, and how many samples they are."""
    if name in ("schnet", "dimenet"):
        work = Molecules(name, folder, device)
        return work, len(work.peer.target)
    make = tokens if name.startswith("bert") else fields if name.startswith("fourcastnet") else images
    return make(name, batch, device), batch


class Trainer:
    def __init__(self, name, precision, batch, how, folder, device):
        torch.manual_seed(1)
        self.device, self.bf16 = device, precision == "bf16"
        self.work, self.samples = make_work(name, batch, folder, device)
        self.model = self.work.model.to(device).train()
        self.optimizer = self.work.optimizer(self.model.parameters(), True)
        self.called = torch.compile(self.model) if how == "compiled" else self.model

    def step(self):
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.bf16):
            loss = self.work.loss(self.called)
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return {"wall_s": time.perf_counter() - start, "loss": value}


def say(what):
    print(json.dumps(what), flush=True)


def main():
    name, precision, batch, how, folder, *device = sys.argv[1:]
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"  # cuDNN's is on by default
    trainer = Trainer(name, precision, int(batch), how, folder, *(device or ["cuda"]))
    say({"library": "PyTorch " + torch.__version__.split("+")[0], "samples": trainer.samples,
         "parameters": sum(p.numel() for p in trainer.model.parameters())})
    for line in sys.stdin:
        if line != "step\n":
            break
        say(trainer.step())


if __name__ == "__main__":
    main()
