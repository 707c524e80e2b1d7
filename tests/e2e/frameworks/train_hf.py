"""A training with Hugging Face's Trainer, as scripts for it are written, of a tiny network from a configuration: train_hf.py TRUTH [OPTION=VALUE...]

TRUTH gets what really happened, one JSON object a line: `step` with the time of its end and all tokens up to it, `saved` when a checkpoint is
whole, `loss` as it was logged. Options: those of TrainingArguments, and fail_at=STEP, resume=1, level=info, sequences=N."""
import json
import os
import sys
import time

import torch
import transformers

LENGTH = 32


class Truth(transformers.TrainerCallback):
    def __init__(self, path, fail_at):
        self.file, self.fail_at = open(path, "a", encoding="utf-8"), fail_at  # noqa: SIM115

    def tell(self, **what):
        print(json.dumps({**what, "t_ns": time.monotonic_ns()}), file=self.file, flush=True)

    def on_step_end(self, args, state, control, **kwargs):
        self.tell(step=state.global_step, tokens=int(state.num_input_tokens_seen))

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            self.tell(loss=float(logs["loss"]), of=state.global_step)

    def on_save(self, args, state, control, **kwargs):
        self.tell(saved=state.global_step)

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.fail_at:
            raise RuntimeError("as asked")


class Words(torch.utils.data.Dataset):
    """Sequences of 16 to 32 tokens, padded."""

    def __init__(self, n):
        torch.manual_seed(1)
        self.rows = [torch.randint(1, 128, (16 + i % 17,)) for i in range(n)]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        time.sleep(0.002)
        row = torch.zeros(LENGTH, dtype=torch.long)
        row[: len(self.rows[i])] = self.rows[i]
        mask = (row > 0).long()
        return {"input_ids": row, "attention_mask": mask, "labels": row.masked_fill(row == 0, -100)}


def main():
    options = dict(word.split("=", 1) for word in sys.argv[2:])
    fail_at, resume = int(options.pop("fail_at", -1)), options.pop("resume", None)
    level, sequences = options.pop("level", None), int(options.pop("sequences", 160))
    if level:
        transformers.logging.set_verbosity_info()
    options = {name: json.loads(value) if value[0] in "0123456789tf" else value for name, value in options.items()}
    args = transformers.TrainingArguments(**{"output_dir": "out", "num_train_epochs": 2, "per_device_train_batch_size": 4, "logging_steps": 5,
                                             "save_steps": 15, "eval_strategy": "steps", "eval_steps": 20, "use_cpu": True, "report_to": [],
                                             "include_num_input_tokens_seen": "all", **options})
    config = transformers.GPT2Config(vocab_size=128, n_positions=LENGTH, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    trainer = transformers.Trainer(model=transformers.GPT2LMHeadModel(config), args=args, train_dataset=Words(sequences), eval_dataset=Words(32),
                                   callbacks=[Truth(sys.argv[1], fail_at)])
    trainer.train(resume_from_checkpoint=bool(resume))


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    torch.set_num_threads(1)
    main()
