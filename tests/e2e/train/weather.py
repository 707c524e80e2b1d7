#!/usr/bin/env python3
"""FourCastNet end to end: weather.py PROGRAM FIXTURES CASE. Exit 0: passed, 1: failed."""
from harness import *

FIXTURES = sys.argv[2]
GRID = ("--height", 16, "--width", 32, "--times", 40, "--years", 1)


def weather(to="w"):
    return done("data", "era5", "--synthetic", to, *GRID)


def train(*args):
    return done("fourcastnet", "--size", "tiny", "--data", "w", *args)["epochs"]


def learns():
    """A forecast of the tiny network beats persistence after some epochs; it has metrics by channel."""
    assert weather()["written"] == 80 and weather()["written"] == 0
    epochs = train("--epochs", 40, "--local-batch", 4)
    first, last = epochs[0], epochs[-1]
    assert last["val_loss"] < 0.3 * first["val_loss"], (first, last)
    assert last["val_skill"] > 0, last
    assert last["val_rmse_u_1"] < last["val_persistence_rmse_u_1"] * 2, last
    assert 0.5 < last["val_acc_height_1"] <= 1, last


def workers():
    """Two workers give the results of one worker that accumulates."""
    weather()
    one = train("--epochs", 2, "--local-batch", 2, "--accumulation", 2)
    two = train("--epochs", 2, "--local-batch", 2, "--workers", 2)
    for a, b in zip(one, two):
        for key in ("train_loss", "val_loss", "val_skill", "val_acc_v_1"):
            assert abs(a[key] - b[key]) <= 1e-4 * abs(a[key]) + 1e-6, (key, a[key], b[key])


def finetunes():
    """From the weights of a pre-training, two steps ahead: better in both than those weights are, and than persistence."""
    weather()
    pre = train("--epochs", 20, "--local-batch", 4, "--checkpoint-dir", "pre")[-1]
    assert "val_skill_step2" not in pre and "val_loss_step1" not in pre, pre
    start = train("--steps", 2, "--init", "pre", "--epochs", 1, "--local-batch", 4, "--lr", 0)[0]
    for now, then in (("val_loss_step1", "val_loss"), ("val_rmse_u_1", "val_rmse_u_1")):  # two validation times fewer
        assert abs(start[now] - pre[then]) < 0.03 * pre[then], (now, start[now], pre[then])
    assert abs(start["val_loss"] - start["val_loss_step1"] - start["val_loss_step2"]) < 1e-6, start
    last = train("--steps", 2, "--init", "pre", "--epochs", 10, "--local-batch", 4, "--lr", 1e-3)[-1]
    assert last["val_skill_step2"] > start["val_skill_step2"] + 0.02 and last["val_skill_step2"] > 0.1, (start, last)
    assert last["val_loss"] < 0.97 * start["val_loss"], (start, last)
    assert last["val_rmse_u_1_step2"] < last["val_persistence_rmse_u_1_step2"], last
    assert last["val_persistence_rmse_u_1"] < last["val_persistence_rmse_u_1_step2"], last
    assert 0.5 < last["val_acc_height_1_step2"] < last["val_acc_height_1"], last

    two = ("--steps", 2, "--init", os.path.join("pre", sorted(os.listdir(os.path.join(WORK, "pre")))[-1]), "--epochs", 2)
    one = train(*two, "--local-batch", 2, "--accumulation", 2)
    for a, b in zip(one, train(*two, "--local-batch", 2, "--workers", 2)):
        for key in ("train_loss", "val_loss", "val_skill_step2"):
            assert abs(a[key] - b[key]) <= 1e-4 * abs(a[key]) + 1e-6, (key, a[key], b[key])
    resumed = ("--steps", 2, "--local-batch", 4, "--checkpoint-dir", "fine", "--init", "pre", "--lr-schedule", "constant")
    whole = train(*resumed[:4], *resumed[6:], "--epochs", 2)[-1]
    train(*resumed, "--epochs", 1)
    assert train(*resumed, "--epochs", 2, "--resume")[-1]["val_loss"] == whole["val_loss"]


def units():
    """Errors have the units of the files' variables, in the results and in the marks; "fields" have none."""
    for year, part in ((2020, "train"), (2021, "val")):
        os.makedirs(os.path.join(WORK, "w", part))
        for name in ("t2m", "z"):
            shutil.copy(os.path.join(FIXTURES, "era5", f"{name}_{year}.nc"), os.path.join(WORK, "w", part))
    done("data", "era5", "--statistics", "w")
    marks = os.path.join(WORK, "marks")
    how = ("fourcastnet", "--size", "tiny", "--epochs", 1, "--local-batch", 1, "--data")
    units_of = {m["name"]: m["unit"] for m in done(*how, "w", env={"WATTLAW_MARKS": marks})["metrics"]}
    assert units_of["rmse_t2m"] == units_of["persistence_rmse_t2m"] == "K" and units_of["acc_t2m"] == "1", units_of
    assert units_of["rmse_z_500"] == "m**2 s**-2", units_of
    with open(marks) as f:
        lines = [line.split() for line in f if " define " in line]
    units = {line[3]: [word for word in line if word.startswith("unit=")] for line in lines}
    assert units["name=val_rmse_z_500"] == ["unit=m**2_s**-2"] and units["name=val_acc_t2m"] == [], units
    shutil.rmtree(os.path.join(WORK, "w"))
    weather()
    units_of = {m["name"]: m["unit"] for m in done(*how, "w")["metrics"]}
    assert units_of["rmse_u_1"] is None and units_of["skill"] == "1", units_of


def crc32c(data):
    """CRC-32C, as in checkpoints."""
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def forget_steps(folder):
    """Turns its checkpoint into one from before --steps existed."""
    (name,) = os.listdir(folder)
    with open(os.path.join(folder, name), "rb") as f:
        whole = f.read()
    size = int.from_bytes(whole[8:12], "little")
    head = json.loads(whole[12:12 + size])
    assert head.pop("steps") == 1 and head["options"].pop("steps") == 1 and head["options"].pop("init") is None
    text = json.dumps(head).encode()
    text += b" " * (size - len(text) if size > len(text) else -len(text) % 64)
    body = whole[:8] + len(text).to_bytes(4, "little") + text + whole[12 + size:-4]
    with open(os.path.join(folder, name), "wb") as f:
        f.write(body + crc32c(body).to_bytes(4, "little"))


def older_checkpoint():
    """A checkpoint without steps is of one step: it can be resumed, with the same numbers, and fine-tuned."""
    weather()
    how = ("--local-batch", 8, "--lr-schedule", "constant")
    whole = train(*how, "--epochs", 2)[-1]
    old = ("--checkpoint-dir", os.path.join(WORK, "old"), "--checkpoint-keep", 1)
    train(*how, *old, "--epochs", 1)
    forget_steps(os.path.join(WORK, "old"))
    refused(1, "was made with steps 1, this is 2", "fourcastnet", "--size", "tiny", "--data", "w", "--steps", 2, "--quiet", *old,
            "--resume")
    train("--steps", 2, "--init", "old", "--epochs", 1, "--lr", 0)
    assert train(*how, *old, "--epochs", 2, "--resume")[-1]["val_loss"] == whole["val_loss"]


def wrong_start():
    weather()
    train("--epochs", 1, "--checkpoint-dir", "pre")
    tiny = ("fourcastnet", "--size", "tiny", "--data", "w", "--steps", 2, "--quiet")
    refused(1, "--init: checkpoint nowhere: No such file", *tiny, "--init", "nowhere")
    refused(1, "--init: w: no complete checkpoint", *tiny, "--init", "w")
    refused(1, "was made with lead 1, this is 2", *tiny, "--lead", 2, "--init", "pre")
    refused(1, "w/train/2001.h5: not a checkpoint", *tiny, "--init", "w/train/2001.h5")
    refused(1, "was made with steps 1, this is 2", *tiny, "--checkpoint-dir", "pre", "--resume")
    refused(2, "--steps", *tiny[:-2], 3)
    done("data", "era5", "--synthetic", "other", "--height", 16, "--width", 64, *GRID[4:])
    refused(1, "was made with width 32, this is 64", *tiny[:3], "--data", "other", "--init", "pre", "--quiet")
    refused(1, "no year has the 41 consecutive times", *tiny, "--lead", 20)


def bad_input():
    weather()
    refused(2, "give one", "data", "era5")
    refused(1, "holds data generated with other settings", "data", "era5", "--synthetic", "w", *GRID, "--seed", 2)
    refused(1, "no year has the 51 consecutive times", "fourcastnet", "--size", "tiny", "--data", "w", "--lead", 50)
    os.truncate(os.path.join(WORK, "w/train/2001.h5"), 5000)
    refused(1, "w/train/2001.h5: HDF5: truncated file", "fourcastnet", "--size", "tiny", "--data", "w")
    shutil.rmtree(os.path.join(WORK, "w/stats"))
    refused(1, "nowhere/train: cannot list the folder", "data", "era5", "--statistics", "nowhere")


main(learns, workers, finetunes, units, older_checkpoint, wrong_start, bad_input)
