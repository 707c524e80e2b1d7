"""Marks of Keras 3: model.fit(..., callbacks=[wattlaw.keras.Marks("mynet", local_batch=32)]).  Apache-2.0.

Marks the epochs without their validation, each update, the logs of each epoch, and the end. Keras does not tell a
callback the batch size: with `local_batch` marks have samples. Tested with Keras 3.15 on PyTorch. Without WATTLAW_MARKS
it does nothing.
"""

import keras

import wattlaw


class Marks(keras.callbacks.Callback):
    """workload: the name in wattlaw's tables; local_batch: samples of a batch. Further fields are those of the start
    mark (docs/formats.md)."""

    def __init__(self, workload, local_batch=None, **fields):
        super().__init__()
        self._batch, self._fields = local_batch, {"workload": workload, "workers": 1, **fields}
        self._step = self._updates = 0
        self._epoch = None  # under way

    def _samples(self, updates):
        return updates * self._batch if self._batch else None

    def on_train_begin(self, logs=None):
        wattlaw.start(local_batch=self._batch, **self._fields)

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch, self._updates = epoch + 1, 0
        wattlaw.mark("epoch-begin", epoch=self._epoch)

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        self._updates += 1
        wattlaw.step(self._step, samples=self._samples(1))

    def _end_epoch(self):
        if self._epoch is not None:
            wattlaw.mark("epoch-end", epoch=self._epoch, samples=self._samples(self._updates), updates=self._updates)
        self._epoch = None

    def on_test_begin(self, logs=None):
        """Validation runs before on_epoch_end."""
        self._end_epoch()
        wattlaw.mark("phase-begin", name="validate")

    def on_test_end(self, logs=None):
        wattlaw.mark("phase-end", name="validate")

    def on_epoch_end(self, epoch, logs=None):
        self._end_epoch()
        for name, value in (logs or {}).items():
            wattlaw.metric(name if name.startswith("val_") else "train_" + name, value, epoch=epoch + 1)

    def on_train_end(self, logs=None):
        wattlaw.stop()
