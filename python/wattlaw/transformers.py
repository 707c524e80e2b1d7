"""Marks of Hugging Face's Trainer: Trainer(..., callbacks=[wattlaw.transformers.Marks("mynet")]).  Apache-2.0.

Marks the epochs, each update with its samples, tokens (with include_num_input_tokens_seen) and loss, evaluations,
checkpoints and the end. An epoch's train_loss is the mean of those that are logged in it. Tested with transformers 5.24. Without WATTLAW_MARKS it does nothing.
"""

import transformers

import wattlaw


class Marks(transformers.TrainerCallback):
    """workload: the name in wattlaw's tables. Further fields are those of the start mark (docs/formats.md)."""

    def __init__(self, workload, **fields):
        self._fields = {"workload": workload, **fields}
        self._first = self._step = self._tokens = 0  # of the epoch; what was marked last
        self._epoch = None  # the one that is under way
        self._losses = []  # logged in it
        self._defined = set()

    @staticmethod
    def _batch(args):
        """Samples of all workers in an update, if no batch is short."""
        return args.per_device_train_batch_size * max(1, args.n_gpu) * args.gradient_accumulation_steps * args.world_size

    def on_train_begin(self, args, state, control, **kwargs):
        wattlaw.start(workers=args.world_size, local_batch=args.per_device_train_batch_size,
                      accumulation=args.gradient_accumulation_steps, global_batch=self._batch(args), **self._fields)
        self._step = state.global_step
        self._tokens = state.num_input_tokens_seen

    def on_epoch_begin(self, args, state, control, **kwargs):
        self._first, self._epoch, self._losses = state.global_step, int(state.epoch or 0) + 1, []
        if state.is_world_process_zero:
            wattlaw.mark("epoch-begin", epoch=self._epoch)

    def on_step_end(self, args, state, control, **kwargs):
        updates, tokens = state.global_step - self._step, state.num_input_tokens_seen - self._tokens
        if state.is_world_process_zero and updates > 0:
            wattlaw.step(state.global_step, samples=updates * self._batch(args), tokens=tokens or None,
                         total=state.max_steps if state.max_steps > 0 else None)
        self._step, self._tokens = state.global_step, state.num_input_tokens_seen

    def on_epoch_end(self, args, state, control, **kwargs):
        whole = state.epoch is not None and state.epoch > self._epoch - 1e-6
        if state.is_world_process_zero and whole:  # else max_steps ended it
            updates = state.global_step - self._first
            wattlaw.mark("epoch-end", epoch=self._epoch, samples=updates * self._batch(args), updates=updates)
            if self._losses:
                self._metric("train_loss", sum(self._losses) / len(self._losses), self._epoch)
        self._losses = None

    def on_log(self, args, state, control, logs=None, **kwargs):
        if not state.is_world_process_zero or not logs or "loss" not in logs:
            return
        if self._losses is None:  # logging_strategy="epoch": after on_epoch_end
            self._metric("train_loss", logs["loss"], self._ended(state))
        else:
            self._losses.append(logs["loss"])

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        if not state.is_world_process_zero:
            return
        for name, value in (metrics or {}).items():
            timing = name.endswith(("_runtime", "_per_second", "_preparation_time"))
            if name.startswith("eval_") and isinstance(value, (int, float)) and not timing:
                self._metric("val_" + name[5:], value, self._ended(state))

    @staticmethod
    def _ended(state):
        """The epoch that has just ended; None inside of one: what is measured there is of the whole run."""
        return round(state.epoch) if state.epoch and abs(state.epoch - round(state.epoch)) < 1e-6 else None

    def _metric(self, name, value, epoch):
        if name.endswith("loss") and name not in self._defined:
            wattlaw.define(name, better="smaller", main=name == "val_loss")
            self._defined.add(name)
        wattlaw.metric(name, value, epoch=epoch)

    def on_save(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            wattlaw.checkpoint(state.global_step)

    def on_train_end(self, args, state, control, **kwargs):
        wattlaw.stop()
