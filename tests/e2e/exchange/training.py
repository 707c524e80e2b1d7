"""Logs of a training add epochs and metrics to a run that the store has: training.py WATTLAW FIXTURES

The event file was written by tensorboardX (fixtures/import/make_events.py), metrics.csv here, after the source of Lightning's CSVLogger."""
import os
import struct
import sys

from harness import Workspace, expect

EVENTS = os.path.join(sys.argv[2], "import", "events.out.tfevents.fixture")
SMI = "index, timestamp, power.draw [W]\n" + "".join(f"0, 2026/11/20 10:00:{s:02d}.000, {100 + s}.00 W\n" for s in range(41))
METRICS = "epoch,step,train_loss,val_loss\n" + "".join(f"{e},{10 * e + 4},{1 / (e + 1)},\n{e},{10 * e + 9},{.5 / (e + 1)},\n{e},{10 * e + 9},,{2 / (e + 1)}\n" for e in range(3))


def metrics_of(p):
    return {(name, epoch): value for name, epoch, value in p.rows("SELECT name, epoch, value FROM metric")}


def tensorboard(p):
    p.imported("--timezone", "UTC", p.write("smi.csv", SMI))
    r = p.run("import", "--run", 1, EVENTS)
    expect(r.returncode == 0 and "run 1: 6 values and 2 epochs added" in r.stdout and "not imported: images, histograms" in r.stderr, "import", r)
    got = metrics_of(p)
    want = {("train/loss", e): 1 / (10 * e) for e in (1, 2, 3)} | {("val_loss", e): 2 / e for e in (1, 2, 3)}
    expect(got.keys() == want.keys() and all(abs(got[k] - want[k]) < 1e-7 for k in want), f"{got}, not {want}", r)
    epochs = p.rows("SELECT epoch, time_s FROM epoch")
    expect(epochs == [(2, 10), (3, 10)], f"{epochs}: from the end of one to that of the next", r)
    (joules,), = p.rows("SELECT energy_j FROM energy WHERE epoch = 2")
    expect(abs(joules - sum(.5 * (100 + s + 101 + s) for s in range(11, 21))) < 2, f"{joules} J from 10:00:11 to 10:00:21", r)
    expect(p.rows("SELECT count(*) FROM source") == [(1,)], "the run's source stays that of its readings")
    p.refused("--run", 1, EVENTS, why="already imported, as run 1")
    before = (metrics_of(p), epochs)
    r = p.run("rebuild", "wattlaw.db")
    expect(r.returncode == 0 and (metrics_of(p), p.rows("SELECT epoch, time_s FROM epoch")) == before, "rebuild keeps them", r)
    r = p.run("show", "wattlaw.db", "--run", 1)
    expect("val_loss" in r.stdout and "epochs and metrics of events.out" in r.stdout, "show", r)


def lightning(p):
    r = p.run("import", "--run", 1, p.write("metrics.csv", METRICS))
    expect(r.returncode == 0 and "6 values and 0 epochs added" in r.stdout, "metrics.csv has no times", r)
    got = metrics_of(p)
    expect(all(abs(got["train_loss", e] - .5 / e) < 1e-15 and abs(got["val_loss", e] - 2 / e) < 1e-15 for e in (1, 2, 3)), f"{got}", r)


def refusals(p):
    with open(EVENTS, "rb") as f:
        data = f.read()
    first = 12 + struct.unpack("<Q", data[:8])[0] + 4
    p.refused(EVENTS, why="tensorboard is a log of a training: give --run N", status=2)
    p.refused("--run", 7, EVENTS, why="wattlaw.db: no run 7")
    p.refused("--store", "none.db", "--run", 7, EVENTS, why="none.db")
    expect(not os.path.exists(p.at("none.db")), "no store is made")
    p.run("import", p.write("z.csv", "start_time,window_name,elapsed_time,gpu0_energy\n1.0,a,10.0,2000.0\n"))
    p.refused("--run", 2, EVENTS, why="run 2 has not ended or has no readings")
    p.imported("--timezone", "UTC", p.write("old.csv", SMI.replace("2026", "2025")))
    p.refused("--run", 3, EVENTS, why="not its log")
    count = p.rows("SELECT count(*) FROM mark")
    for what, content, why in (("cut", data[:-20], "the file ends inside of a record"), ("a flipped bit", data[:first + 14] + bytes([data[first + 14] ^ 1]) + data[first + 15:], ":2: the checksum of the record is wrong"),
                               ("a flipped length", data[:first] + bytes([data[first] ^ 1]) + data[first + 1:], ":2: the checksum of the record's length is wrong")):
        r = p.run("import", "--dry-run", p.write("damaged", content))
        expect(why in r.stderr, f"{what}: {why}", r)
    r = p.run("import", "--dry-run", p.write("metrics.csv", METRICS.replace("2,29,,", "2.5,29,,")))
    expect("metrics.csv:10: epoch: 2.5 is not a whole number" in r.stderr and r.returncode == 0, "an epoch and a half", r)
    expect(p.rows("SELECT count(*) FROM mark") == count, "nothing of these is stored")


with Workspace(sys.argv[1]) as w:
    for check in (tensorboard, lightning, refusals):
        check(w)
print("logs of trainings add epochs and metrics")
