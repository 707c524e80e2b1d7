"""A tiny training with a callback of wattlaw: train_callback.py transformers|lightning|keras [MAX_STEPS [CHECKS]]"""
import os
import sys

FRAMEWORK, MAX_STEPS, CHECKS = sys.argv[1], int((sys.argv + ["", "-1"])[2] or -1), float((sys.argv + ["", "", "1"])[3] or 1)


def train_transformers():
    import torch
    import transformers
    from wattlaw.transformers import Marks

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 40

        def __getitem__(self, i):
            tokens = (torch.arange(16) + i) % 50
            return {"input_ids": tokens, "labels": tokens}

    config = transformers.GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=1)
    args = transformers.TrainingArguments(
        "out", num_train_epochs=2, per_device_train_batch_size=4, gradient_accumulation_steps=2, eval_strategy="epoch", save_strategy="epoch",
        logging_steps=2, report_to=[], use_cpu=True, include_num_input_tokens_seen="all", disable_tqdm=True, max_steps=MAX_STEPS)
    transformers.Trainer(transformers.GPT2LMHeadModel(config), args, train_dataset=Rows(), eval_dataset=Rows(), callbacks=[Marks("tiny")]).train()


def train_lightning():
    import lightning
    import torch
    from wattlaw.lightning import Marks

    class Line(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.line = torch.nn.Linear(4, 1)

        def loss(self, batch):
            return ((self.line(batch[0]) - batch[1]) ** 2).mean()

        def training_step(self, batch, _):
            self.log("train_loss", self.loss(batch))
            return self.loss(batch)

        def validation_step(self, batch, _):
            self.log("val_loss", self.loss(batch))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(42, 4), torch.randn(42, 1)), 8)
    often = {"val_check_interval": CHECKS} if CHECKS < 1 else {"check_val_every_n_epoch": int(CHECKS)}
    lightning.Trainer(max_epochs=2, max_steps=MAX_STEPS, accumulate_grad_batches=2, callbacks=[Marks("tiny")], accelerator="cpu", logger=False,
                      enable_progress_bar=False, **often).fit(Line(), loader, loader)


def train_keras():
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    import numpy
    from wattlaw.keras import Marks
    x = numpy.random.rand(40, 4).astype("float32")
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(x, x.sum(1), batch_size=8, epochs=2, validation_data=(x, x.sum(1)), verbose=0, callbacks=[Marks("tiny", local_batch=8)])


{"transformers": train_transformers, "lightning": train_lightning, "keras": train_keras}[FRAMEWORK]()
