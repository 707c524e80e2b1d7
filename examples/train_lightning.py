#!/usr/bin/env python3
"""A PyTorch Lightning training that measures itself: train_lightning.py [STORE]

The lines with `wattlaw` are all that measuring adds: the callback marks epochs, steps and metrics, and the block around `fit` is a run.
"""
import sys

import lightning
import torch
import wattlaw
from wattlaw.lightning import Marks


class Line(lightning.LightningModule):
    """y = sum(x), learned."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1)

    def training_step(self, batch, _):
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=.01)


x = torch.randn(20000, 64)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=32, shuffle=True)
trainer = lightning.Trainer(max_epochs=3, accelerator="auto", logger=False, enable_progress_bar=False, callbacks=[Marks("line")])
with wattlaw.measure("line", store=sys.argv[1] if len(sys.argv) > 1 else "wattlaw.db") as run:
    trainer.fit(Line(), loader)
print(run)
for epoch in run.epochs:
    print(epoch["epoch"], epoch["time_s"], "s", epoch["energy_j"], "J", epoch["samples"], "samples")
