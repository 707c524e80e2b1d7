"""Marks of PyTorch Lightning: Trainer(callbacks=[wattlaw.lightning.Marks("mynet")]).  Apache-2.0.

Marks the epochs without their validation, each update with its samples, what the module logs (callback_metrics),
checkpoints and the end. For the packages `lightning` and `pytorch_lightning`; tested with 2.6. Without WATTLAW_MARKS it
does nothing.
"""

import wattlaw

try:
    import lightning.pytorch as pl
    from lightning.pytorch.utilities.data import extract_batch_size
except ImportError:
    import pytorch_lightning as pl
    from pytorch_lightning.utilities.data import extract_batch_size


class Marks(pl.Callback):
    """workload: the name in wattlaw's tables. Further fields are those of the start mark (docs/formats.md)."""

    def __init__(self, workload, **fields):
        self._fields = {"workload": workload, **fields}
        self._epoch = None  # under way
        self._samples = self._since = 0  # of all workers: in the epoch; since the last update
        self._first = self._step = 0  # updates before the epoch; marked last
        self._defined = set()  # metrics
        self._before = self._validation = frozenset()  # metrics before a validation; that validations log
        self._validated = False  # in this epoch

    def on_train_start(self, trainer, pl_module):
        batch = getattr(trainer.train_dataloader, "batch_size", None)
        wattlaw.start(workers=trainer.world_size, nodes=trainer.num_nodes, local_batch=batch,
                      accumulation=trainer.accumulate_grad_batches, **self._fields)
        self._step = trainer.global_step

    def on_train_epoch_start(self, trainer, pl_module):
        self._epoch, self._samples, self._first = trainer.current_epoch + 1, 0, trainer.global_step
        self._validated = False
        if trainer.is_global_zero:
            wattlaw.mark("epoch-begin", epoch=self._epoch)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if not wattlaw.enabled():
            return
        try:
            samples = extract_batch_size(batch) * trainer.world_size
        except Exception:  # a batch that it cannot look into: samples are then not known
            samples = float("nan")
        self._samples += samples
        self._since += samples
        if trainer.global_step == self._step:  # gradients are accumulated
            return
        if trainer.is_global_zero:
            wattlaw.step(trainer.global_step, samples=_known(self._since), total=_total(trainer))
        self._step, self._since = trainer.global_step, 0

    def _end_epoch(self, trainer):
        """Once, if all its batches were done: max_steps may end it before."""
        if self._epoch is None or not trainer.is_last_batch:
            return
        if trainer.is_global_zero:
            wattlaw.mark("epoch-end", epoch=self._epoch, samples=_known(self._samples),
                         updates=trainer.global_step - self._first)
        self._epoch = None

    def on_validation_start(self, trainer, pl_module):
        """Validation runs before on_train_epoch_end; a sanity check before the first epoch is a phase, too."""
        self._end_epoch(trainer)
        self._before = frozenset(trainer.callback_metrics)
        if trainer.is_global_zero:
            wattlaw.mark("phase-begin", name="validate")

    def on_validation_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            wattlaw.mark("phase-end", name="validate")
        self._validation |= frozenset(trainer.callback_metrics) - self._before
        self._validated = True

    def on_train_epoch_end(self, trainer, pl_module):
        self._end_epoch(trainer)
        if self._epoch is not None or not trainer.is_global_zero or not wattlaw.enabled():
            return
        for name, value in trainer.callback_metrics.items():
            if name in self._validation and not self._validated:  # an older epoch's
                continue
            if name.endswith("loss") and name not in self._defined:
                wattlaw.define(name, better="smaller", main=name == "val_loss")
                self._defined.add(name)
            wattlaw.metric(name, float(value), epoch=trainer.current_epoch + 1)

    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        if trainer.is_global_zero:
            wattlaw.checkpoint(trainer.global_step)

    def on_train_end(self, trainer, pl_module):
        wattlaw.stop()


def _known(samples):
    return samples if samples == samples else None


def _total(trainer):
    total = trainer.estimated_stepping_batches
    return int(total) if total != float("inf") else None
