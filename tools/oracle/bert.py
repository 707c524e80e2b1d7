#!/usr/bin/env python3
"""Writes tests/golden/models/bert.json and bert_tiny.json: masked-language-model steps of Hugging Face's BertForMaskedLM.

    tools/oracle/bert.py [bert bert_tiny]                          (a minute; 8 GB)

Loss and gradients of one step in double, without dropout, and how far PyTorch's own f32 and bf16 (autocast) lie from
them; for the tiny size also the losses of 50 steps of AdamW, whose decay spares biases and layer norms. Needs the
package transformers beside torch. tests/unit/models/test_bert.c compares.
"""
import copy
import json
import os
import sys

import numpy as np
import torch
import transformers

import rules

SEED, DEVIATION = 6, 0.02
SIZES = {"bert": {"size": "full", "batch": 2, "sequence": 128, "vocabulary": 30522, "config": {}},
         "bert_tiny": {"size": "tiny", "batch": 4, "sequence": 36, "vocabulary": 1000, "steps": 50, "batches": 4,
                       "rate": 1e-3, "weight_decay": 0.01,
                       "config": {"num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 2,
                                  "intermediate_size": 512}}}
# Of matrices and tables in the gradients' step, and besides of queries and keys: attention is then not a mere mean, under
# which all positions become alike and the last layers' keys have gradients of rounding. Powers of two are exact.
GAIN, SHARPER = 2.0, 2.0
TO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "models")


def places_of(how):
    return -(-how["sequence"] * 15 // 100)


def inputs(how, step):
    """Arguments of the model at optimizer step `step`: tokens without [PAD], lengths, labels of some places."""
    n, s, p = how["batch"], how["sequence"], places_of(how)
    sample = step * n
    tokens = 1 + rules.below(SEED, rules.hash_text("tokens"), n * s, sample * s, how["vocabulary"] - 1).reshape(n, s)
    drawn = rules.below(SEED, rules.hash_text("labels"), n * p, sample * p, how["vocabulary"]).reshape(n, p)
    drawn[:, 6::7] = -100
    labels = np.full((n, s), -100)
    labels[:, np.arange(p) * s // p] = drawn
    lengths = s - np.arange(n) * s // 4
    return {"input_ids": torch.from_numpy(tokens), "labels": torch.from_numpy(labels),
            "attention_mask": torch.from_numpy((np.arange(s) < lengths[:, None]).astype(np.int64))}


def first_values(name, shape, gain, noise):
    """f32, as the engine starts; with `noise` biases and layer norms are not constant."""
    n = int(np.prod(shape))
    drawn = DEVIATION * rules.normal(SEED, rules.hash_text(name), n)
    if len(shape) > 1:
        sharper = SHARPER if gain > 1 and name.endswith(("query.weight", "key.weight")) else 1
        return (drawn.astype(np.float32) * np.float32(gain * sharper)).reshape(shape)
    return (float("LayerNorm.weight" in name) + noise * drawn).astype(np.float32)


def make(how, gain, noise):
    config = transformers.BertConfig(vocab_size=how["vocabulary"], hidden_dropout_prob=0, attn_implementation="eager",
                                     attention_probs_dropout_prob=0, **how["config"])
    model = transformers.BertForMaskedLM(config).double().train()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(torch.from_numpy(first_values(name, tuple(p.shape), gain, noise)))
    return model


def loss_of(model, batch, bf16):
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    logits = logits.float() if logits.dtype == torch.bfloat16 else logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())


def train(model, batch, bf16=False):
    model.zero_grad(set_to_none=True)
    loss = loss_of(model, batch, bf16)
    loss.backward()
    return loss.item(), {name: p.grad.double().numpy() for name, p in model.named_parameters()}


def distances(got, truth):
    """Relative L2: of all gradients together, and of each. Keys' biases have none, but for rounding: softmax does not
    see them. Theirs is relative to all."""
    size, wrong, each = sum(np.sum(g ** 2) for g in truth.values()), 0, {}
    for name, want in truth.items():
        error, norm = np.sum((got[name] - want) ** 2), np.sum(want ** 2)
        each[name] = float(np.sqrt(error / (norm if norm > 1e-18 * size else size)))
        wrong += error
    return float(np.sqrt(wrong / size)), each


def curve(how, precision):
    model = make(how, 1.0, 0.0).to(torch.float64 if precision == "f64" else torch.float32)
    spared = [p for name, p in model.named_parameters() if p.dim() < 2]
    others = [p for name, p in model.named_parameters() if p.dim() > 1]
    adamw = torch.optim.AdamW([{"params": spared, "weight_decay": 0}, {"params": others}], lr=how["rate"],
                              weight_decay=how["weight_decay"])
    found = []
    for step in range(how["steps"]):
        adamw.zero_grad(set_to_none=True)
        loss = loss_of(model, inputs(how, step % how["batches"]), precision == "bf16")
        loss.backward()
        adamw.step()
        found.append(float(f"{loss.item():.10g}"))
    return found


def short(values, figures=10):
    return [float(f"{v:.{figures}g}") for v in values]


def golden(name):
    how = SIZES[name]
    model, batch = make(how, GAIN, 1.0), inputs(how, 0)
    weights = {n: rules.fingerprint(n, p.detach().numpy(), 1) for n, p in model.named_parameters()}
    loss, truth = train(model, batch)
    single = copy.deepcopy(model).float()
    f32, f32_each = distances(train(single, batch)[1], truth)
    bf16_loss, grads = train(single, batch, bf16=True)
    bf16, bf16_each = distances(grads, truth)
    print(f"{name}: loss {loss:.6f}; from double: f32 {f32:.1e}, worst {max(f32_each.values()):.1e}; bf16 {bf16:.1e}, "
          f"worst {max(bf16_each.values()):.1e}; {sorted(f32_each, key=f32_each.get)[-3:]}", flush=True)
    found = {k: v for k, v in how.items() if k != "config"}
    found |= {"torch": torch.__version__, "transformers": transformers.__version__, "seed": SEED, "gain": GAIN, "sharper": SHARPER,
              "deviation": DEVIATION, "numbers": sum(p.numel() for p in model.parameters()), "loss": loss,
              "torch_f32": f32, "torch_bf16": bf16, "torch_bf16_loss": bf16_loss}
    if "steps" in how:
        found |= {p: curve(how, p) for p in ("f64", "f32", "bf16")}
        print(f"  curve {found['f64'][0]:.3f} to {found['f64'][-1]:.3f}; from double: "
              + ", ".join(f"{p} {max(abs(a - b) for a, b in zip(found[p], found['f64'])):.1e}" for p in ("f32", "bf16")))
    rows = [{"name": n, "weight": short(weights[n]), "gradient": short(rules.fingerprint(n, truth[n])),
             "torch_f32": float(f"{f32_each[n]:.2g}"), "torch_bf16": float(f"{bf16_each[n]:.2g}")} for n in truth]
    return found, rows


def write(name):
    """One parameter a line, so that a change can be read."""
    found, rows = golden(name)
    head, body = json.dumps(found)[:-1], ",\n".join(json.dumps(row) for row in rows)
    with open(os.path.join(TO, name + ".json"), "w") as f:
        f.write(f'{head},\n "parameters": [\n{body}\n]}}\n')


if __name__ == "__main__":
    for asked in sys.argv[1:] or SIZES:
        write(asked)
