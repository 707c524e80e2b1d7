#!/usr/bin/env python3
"""Writes tests/golden/optimizers.json: Adam and AdamW of PyTorch in double, some steps over a few numbers.

    tools/oracle/optimizers.py

Weights and gradients are normal numbers of rules.py, so that tests/unit/nn/test_optim.c draws them too.
"""
import json
import os

import torch

import rules

SEED, N, STEPS, SCALE = 1, 37, 5, 0.25
CASES = [{"kind": "adam", "lr": 0.01, "weight_decay": 0.1, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
         {"kind": "adamw", "lr": 0.001, "weight_decay": 0.0, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
         {"kind": "adamw", "lr": 0.1, "weight_decay": 0.01, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3}]
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "optimizers.json")


def golden(case):
    w = torch.nn.Parameter(torch.tensor(rules.normal(SEED, 1, N), dtype=torch.float32).double())
    make = torch.optim.Adam if case["kind"] == "adam" else torch.optim.AdamW
    optimizer = make([w], lr=case["lr"], betas=(case["beta1"], case["beta2"]), eps=case["eps"],
                     weight_decay=case["weight_decay"])
    for step in range(STEPS):
        w.grad = SCALE * torch.tensor(rules.normal(SEED, 2 + step, N), dtype=torch.float32).double()
        optimizer.step()
    state = optimizer.state[w]
    return {**case, "w": w.tolist(), "exp_avg": state["exp_avg"].tolist(), "exp_avg_sq": state["exp_avg_sq"].tolist()}


def main():
    rows = ",\n".join(json.dumps(golden(case)) for case in CASES)
    with open(PATH, "w") as f:
        f.write(f'{{"torch": "{torch.__version__}", "seed": {SEED}, "n": {N}, "steps": {STEPS}, "scale": {SCALE},\n'
                f' "cases": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
