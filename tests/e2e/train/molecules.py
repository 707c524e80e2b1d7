#!/usr/bin/env python3
"""Networks of molecules end to end: molecules.py PROGRAM CASE. Exit 0: passed, 1: failed."""
from harness import *


def train(model, *args):
    return done(model, "--size", "tiny", "--data", "set", "--quiet", "--threads", 1, *args)


def learns():
    """The energies spread by 1.3 eV beyond what the elements say; after some epochs the networks know most of it."""
    made = done("data", "qm9", "--synthetic", "set", "--molecules", 1000)
    assert made["molecules"] == 1000 and made["excluded"] == 0, made
    for model, epochs, most in (("schnet", 20, 450), ("dimenet", 6, 650)):
        found = train(model, "--epochs", epochs)["epochs"]
        maes = [epoch["val_mae"] for epoch in found]
        assert maes[-1] < most and maes[-1] < 0.5 * maes[0], (model, maes)


def workers():
    """Two workers give the results of one that accumulates their batches: three updates an epoch."""
    done("data", "qm9", "--synthetic", "set", "--molecules", 75)
    for model in "schnet", "dimenet":
        common = ["--epochs", 2, "--local-batch", 8]
        two, one = (train(model, *common, *how, 2) for how in (["--workers"], ["--accumulation"]))
        assert [e["updates"] for e in two["epochs"]] == [3, 3], two
        one, two = one["epochs"], two["epochs"]
        for a, b in zip(one, two):
            assert abs(a["train_loss"] / b["train_loss"] - 1) < 1e-3, (model, a, b)
            assert abs(a["val_mae"] / b["val_mae"] - 1) < 1e-3, (model, a, b)


def boxed():
    """On memory that the program cannot touch, workers train, accumulate, validate and resume with the numbers of ref."""
    done("data", "qm9", "--synthetic", "set", "--molecules", 60)
    found = {}
    for backend in "ref", "boxed":
        common = ["--backend", backend, "--local-batch", 4, "--accumulation", 2, "--workers", 2, "--checkpoint-dir", backend]
        whole = train("schnet", *common[:-2], "--epochs", 3)["epochs"]
        first = train("schnet", *common, "--epochs", 2)["epochs"]
        rest = train("schnet", *common, "--epochs", 3, "--resume")["epochs"]
        found[backend] = [[e[k] for k in ("epoch", "samples", "updates", "train_loss", "val_loss", "val_mae")] for e in first + rest]
        assert [e[3:] for e in found[backend]] == [[e["train_loss"], e["val_loss"], e["val_mae"]] for e in whole], (found, whole)
    assert len(found["ref"]) == 3 and found["ref"] == found["boxed"], found


def properties():
    """Properties can be trained by name; an unknown name is refused."""
    done("data", "qm9", "--synthetic", "set", "--molecules", 100)
    for name in "mu", "gap", "Cv":
        assert train("schnet", "--epochs", 1, "--property", name)["epochs"], name
    refused(2, "did you mean 'U0'", "schnet", "--size", "tiny", "--data", "set", "--property", "u0")


def one_name_for_samples():
    """`[data] samples` of a campaign becomes --train-samples for any workload."""
    done("data", "qm9", "--synthetic", "set", "--molecules", 40)
    common = ["--epochs", 1, "--local-batch", 8]
    for model in "schnet", "dimenet":
        one, two = (train(model, *common, option, 16)["epochs"] for option in ("--train-molecules", "--train-samples"))
        assert one[0]["train_loss"] == two[0]["train_loss"], (model, one, two)
        assert one[0]["train_loss"] != train(model, *common)["epochs"][0]["train_loss"], model


def messages():
    done("data", "qm9", "--synthetic", "set", "--molecules", 20)
    refused(1, "not a file of molecules", "schnet", "--data", "set/dsgdb9nsd_000001.xyz", "--size", "tiny")
    refused(1, "qm9.molecules", "schnet", "--data", ".", "--size", "tiny")
    refused(2, "give either --from or --synthetic", "data", "qm9")
    path = os.path.join(WORK, "set", "dsgdb9nsd_000007.xyz")
    with open(path) as f:
        lines = f.readlines()
    with open(path, "w") as f:
        f.writelines(lines[:-4])
    refused(1, "dsgdb9nsd_000007.xyz:", "data", "qm9", "--from", "set")
    explained = run("dimenet", "--explain")
    assert explained.returncode == 0 and "triplet_conv" in explained.stdout, explained.stderr


main(learns, workers, boxed, properties, one_name_for_samples, messages)
