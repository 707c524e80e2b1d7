"""A training with Lightning, as scripts for it are written, of a tiny network: train_lightning.py TRUTH [OPTION=VALUE...]

TRUTH gets what really happened, one JSON object a line: `batch`, counted over epochs, with the time of its end, `begin` and `end` of epochs from 0
(the training pass alone), `saved` when a checkpoint is whole. Options: those of Trainer, and fail_at=BATCH, resume=FILE, unknown_length=1, names=plain."""
import json
import sys
import time

import torch

try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl

BATCHES, BATCH = 12, 4


class Truth(pl.Callback):
    def __init__(self, path, fail_at):
        self.file, self.fail_at, self.batches = open(path, "a", encoding="utf-8"), fail_at, 0  # noqa: SIM115

    def tell(self, **what):
        print(json.dumps({**what, "t_ns": time.monotonic_ns()}), file=self.file, flush=True)

    def on_train_epoch_start(self, trainer, module):
        self.tell(begin=trainer.current_epoch)

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        if self.batches == self.fail_at:
            raise RuntimeError("as asked")

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        self.batches += 1
        self.tell(batch=self.batches, loss=float(trainer.callback_metrics.get("train_loss", trainer.callback_metrics.get("loss", 0))))

    def on_validation_start(self, trainer, module):
        self.tell(validation=trainer.current_epoch)

    def on_train_epoch_end(self, trainer, module):
        self.tell(end=trainer.current_epoch)

    def on_save_checkpoint(self, trainer, module, checkpoint):
        self.tell(saved=trainer.global_step)


class Line(pl.LightningModule):
    def __init__(self, name):
        super().__init__()
        self.layer, self.name = torch.nn.Linear(8, 1), name

    def training_step(self, batch, _):
        loss = ((self.layer(batch) - 1) ** 2).mean()
        self.log(self.name, loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", self.layer(batch).abs().mean(), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)


class Rows(torch.utils.data.Dataset):
    def __init__(self, n):
        torch.manual_seed(1)
        self.rows = torch.randn(n, 8)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        time.sleep(0.01)
        return self.rows[i]


class Stream(torch.utils.data.IterableDataset):
    """The same without a length."""

    def __init__(self, n):
        self.rows = Rows(n)

    def __iter__(self):
        return (self.rows[i] for i in range(len(self.rows)))


def main():
    options = dict(word.split("=", 1) for word in sys.argv[2:])
    fail_at, resume = int(options.pop("fail_at", -1)), options.pop("resume", None)
    callbacks = [Truth(sys.argv[1], fail_at)]
    rows = Stream if options.pop("unknown_length", None) else Rows
    if options.pop("report_saves", None):
        callbacks.append(pl.callbacks.ModelCheckpoint("saved", monitor="val_loss", save_top_k=-1, verbose=True))
    callbacks += [] if options.pop("own_bar", None) else [pl.callbacks.TQDMProgressBar()]
    name = options.pop("name", "train_loss")
    options = {key: json.loads(value) for key, value in options.items()}
    trainer = pl.Trainer(**{"max_epochs": 3, "accelerator": "cpu", "logger": False, "log_every_n_steps": 5, **options},
                         callbacks=callbacks)
    trainer.fit(Line(name), torch.utils.data.DataLoader(rows(BATCHES * BATCH), BATCH), torch.utils.data.DataLoader(Rows(8), BATCH),
                ckpt_path=resume)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
