#!/usr/bin/env python3
"""PyTorch's side of bench/gpu_step.py: training steps on a GPU with random inputs that are there, one for each line "step" on stdin.

    torch_gpu_step.py MODEL f32|bf16 BATCH eager|compiled FOLDER|-

Images are channels_last, bf16 is autocast, the optimizer is the fused one; f32 allows TF32 in convolutions, as PyTorch does by default.
FOLDER has the molecules of schnet and dimenet (PyTorch Geometric). Answers with lines of JSON; a step ends when its loss is known.
"""
import json
import sys
import time

import torch


def images(name, batch):
    import torch_models
    work = torch_models.Images(torch, name, "channels_last", batch)
    work.images, work.labels = work.images.cuda(), work.labels.cuda()
    return work


def tokens(name, batch):
    import torch_bert
    work = torch_bert.Bert(torch, "encoder", batch, int(name[len("bert"):]))
    work.tokens, work.places, work.labels = work.tokens.cuda(), work.places.cuda(), work.labels.cuda()
    return work


def fields(name, batch):
    import torch_fourcastnet
    work = torch_fourcastnet.Weather(batch, int(name[len("fourcastnet"):]))
    work.fields, work.target = work.fields.cuda(), work.target.cuda()
    return work


class Molecules:
    """bench/molecules.py's peer."""

    def __init__(self, name, folder):
        import molecules
        self.peer = molecules.Peer(name, folder, 1, "cuda")
        self.model = self.peer.net

    def optimizer(self, parameters, tuned):
        return torch.optim.Adam(parameters, lr=1e-3, fused=tuned)

    def loss(self, model):
        return ((model(self.peer.z, self.peer.pos, self.peer.owner).view(-1) - self.peer.target) ** 2).mean()


def make_work(name, batch, folder):
    if name in ("schnet", "dimenet"):
        return Molecules(name, folder)
    make = tokens if name.startswith("bert") else fields if name.startswith("fourcastnet") else images
    return make(name, batch)


class Trainer:
    def __init__(self, name, precision, batch, how, folder):
        torch.manual_seed(1)
        self.bf16, self.work = precision == "bf16", make_work(name, batch, folder)
        self.model = self.work.model.cuda().train()
        self.optimizer = self.work.optimizer(self.model.parameters(), True)
        self.called = torch.compile(self.model) if how == "compiled" else self.model

    def step(self):
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.bf16):
            loss = self.work.loss(self.called)
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        torch.cuda.synchronize()
        return {"wall_s": time.perf_counter() - start, "loss": value}


def say(what):
    print(json.dumps(what), flush=True)


def main():
    name, precision, batch, how, folder = sys.argv[1:]
    torch.backends.cudnn.benchmark = True
    trainer = Trainer(name, precision, int(batch), how, folder)
    say({"library": "PyTorch " + torch.__version__.split("+")[0]})
    for line in sys.stdin:
        if line != "step\n":
            break
        say(trainer.step())


if __name__ == "__main__":
    main()
