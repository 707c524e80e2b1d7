#!/usr/bin/env python3
"""FourCastNet end to end: weather.py PROGRAM CASE. Exit 0: passed, 1: failed."""
from harness import *

GRID = ("--height", 16, "--width", 32, "--times", 40, "--years", 1)


def weather(to="w"):
    return done("data", "era5", "--synthetic", to, *GRID)


def train(*args):
    return done("fourcastnet", "--size", "tiny", "--data", "w", *args)["epochs"]


def learns():
    """A forecast of the tiny network beats persistence after some epochs; its metrics are there by channel."""
    assert weather()["written"] == 80 and weather()["written"] == 0
    epochs = train("--epochs", 40, "--local-batch", 4)
    first, last = epochs[0], epochs[-1]
    assert last["val_loss"] < 0.3 * first["val_loss"], (first, last)
    assert last["val_skill"] > 0, last
    assert last["val_rmse_u_1"] < last["val_persistence_rmse_u_1"] * 2, last
    assert 0.5 < last["val_acc_height_1"] <= 1, last


def workers():
    """Two workers see what one worker sees that accumulates."""
    weather()
    one = train("--epochs", 2, "--local-batch", 2, "--accumulation", 2)
    two = train("--epochs", 2, "--local-batch", 2, "--workers", 2)
    for a, b in zip(one, two):
        for key in ("train_loss", "val_loss", "val_skill", "val_acc_v_1"):
            assert abs(a[key] - b[key]) <= 1e-4 * abs(a[key]) + 1e-6, (key, a[key], b[key])


def bad_input():
    weather()
    refused(2, "give one", "data", "era5")
    refused(1, "holds data of other settings", "data", "era5", "--synthetic", "w", *GRID, "--seed", 2)
    refused(1, "no year has the 51 times", "fourcastnet", "--size", "tiny", "--data", "w", "--lead", 50)
    os.truncate(os.path.join(WORK, "w/train/2001.h5"), 5000)
    refused(1, "w/train/2001.h5: HDF5: truncated file", "fourcastnet", "--size", "tiny", "--data", "w")
    shutil.rmtree(os.path.join(WORK, "w/stats"))
    refused(1, "nowhere/train: cannot list the folder", "data", "era5", "--statistics", "nowhere")


main(learns, workers, bad_input)
