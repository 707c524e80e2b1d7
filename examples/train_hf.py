#!/usr/bin/env python3
"""Hugging Face's Trainer with a training that measures itself: train_hf.py [STORE]

The lines with `wattlaw` are all that measuring adds: the callback marks epochs, steps, tokens and metrics, and the block around `train`
is a run. Nothing is downloaded: a small GPT-2 learns to count.
"""
import sys
import tempfile

import torch
import transformers
import wattlaw
from wattlaw.transformers import Marks


class Counting(torch.utils.data.Dataset):
    """Rows of numbers that follow each other."""

    def __len__(self):
        return 400

    def __getitem__(self, i):
        tokens = (torch.arange(32) + i) % 100
        return {"input_ids": tokens, "labels": tokens}


config = transformers.GPT2Config(vocab_size=100, n_positions=32, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=1)
with tempfile.TemporaryDirectory() as folder:
    arguments = transformers.TrainingArguments(folder, num_train_epochs=2, per_device_train_batch_size=16, logging_steps=10, report_to=[],
                                               save_strategy="no", disable_tqdm=True, include_num_input_tokens_seen="all")
    trainer = transformers.Trainer(transformers.GPT2LMHeadModel(config), arguments, train_dataset=Counting(), callbacks=[Marks("counting")])
    with wattlaw.measure("counting", store=sys.argv[1] if len(sys.argv) > 1 else "wattlaw.db") as run:
        trainer.train()
print(run)
for epoch in run.epochs:
    print(epoch["epoch"], epoch["time_s"], "s", epoch["energy_j"], "J", epoch["samples"], "samples")
