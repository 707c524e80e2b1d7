#!/usr/bin/env python3
"""Trainings end to end: train.py PROGRAM CASE. Exit 0: passed, 77: cannot run here, 1: failed."""
import array
import re
import signal
import struct
import time

from images import *

SETTINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "src", "settings", "settings.def")


def tensors(folder):
    """Name -> numbers of the newest checkpoint, read as docs/formats.md says."""
    name = sorted(n for n in os.listdir(folder) if n.endswith(".wlc"))[-1]
    raw = open(os.path.join(folder, name), "rb").read()
    assert raw[:8] == b"WLCKPT1\n"
    size = struct.unpack("<I", raw[8:12])[0]
    head, data, out = json.loads(raw[12:12 + size]), raw[12 + size:], {}
    for t in head["tensors"]:
        count = 1
        for d in t["dims"]:
            count *= d
        out[t["name"]] = array.array("f", data[t["offset"]:t["offset"] + 4 * count])
    return out


def distance(a, b):
    """|a - b| / |b| over all tensors."""
    assert list(a) == list(b)
    pairs = [(x, y) for n in a for x, y in zip(a[n], b[n])]
    return (sum((x - y) ** 2 for x, y in pairs) / sum(y * y for _, y in pairs)) ** 0.5


# ---- cases ------------------------------------------------------------------------------------------------------


def parallel():
    """Two ranks, forked or under mpirun, equal one that accumulates; three ranks count every sample once."""
    images()
    common = [*TINY, "--image-size", 64, "--epochs", 1, "--train-samples", 64, "--lr", 0.01]
    one = done(*common, "--local-batch", 8, "--accumulation", 2, "--checkpoint-dir", f"{WORK}/one")
    ways = {"shm": dict(args=["--workers", 2], before=[])}
    if shutil.which("mpirun"):
        ways["mpi"] = dict(args=[], before=MPIRUN)
    else:
        print("SKIP: mpirun is not installed (Debian: openmpi-bin)")
    for name, way in ways.items():
        two = done(*common, "--local-batch", 8, "--checkpoint-dir", f"{WORK}/{name}", *way["args"], before=way["before"])
        assert two["comm"] == name and two["workers"] == 2, two
        assert two["updates"] == one["updates"] == 4 and two["samples"] == one["samples"] == 64
        for key in ("train_loss", "val_loss", "train_top1", "val_top1"):
            assert close(two["epochs"][0][key], one["epochs"][0][key]), f"{name}: {key}"
        far = distance(tensors(f"{WORK}/{name}"), tensors(f"{WORK}/one"))
        assert far < 1e-5, f"{name}: parameters differ by {far}"
    three = done(*common, "--local-batch", 5, "--workers", 3)  # 48 validation images: 15 a call, 3 left
    alone = done(*common, "--local-batch", 15)
    for r in (three, alone):
        assert r["samples"] == 60 and abs(48 * r["epochs"][0]["val_top1"] % 1 - 0.5) > 0.49, r


def models():
    """The other networks: two ranks equal one that accumulates, dropout included, and a resumed training equals an uninterrupted one."""
    images()
    for name, size in (("vgg16", 32), ("inception3", 96)):
        common = [name, "--data", DATA, "--size", "tiny", "--image-size", size, "--quiet", "--train-samples", 64,
                  "--lr", 0.01]
        one = done(*common, "--epochs", 1, "--local-batch", 8, "--accumulation", 2, "--checkpoint-dir", f"{WORK}/{name}1")
        two = done(*common, "--epochs", 1, "--local-batch", 8, "--workers", 2, "--checkpoint-dir", f"{WORK}/{name}2")
        for key in ("train_loss", "val_loss"):
            assert close(two["epochs"][0][key], one["epochs"][0][key]), f"{name}: {key}"
        far = distance(tensors(f"{WORK}/{name}2"), tensors(f"{WORK}/{name}1"))
        assert far < 1e-5, f"{name}: parameters differ by {far}"
        whole = done(*common, "--epochs", 2, "--local-batch", 8, "--workers", 2)
        rest = done(*common, "--epochs", 2, "--local-batch", 8, "--workers", 2, "--checkpoint-dir", f"{WORK}/{name}2",
                    "--resume")
        for key in ("train_loss", "val_loss"):
            assert rest["epochs"][0][key] == whole["epochs"][1][key], f"{name}: {key} after a resume"


def precision():
    """bf16: two ranks equal one that accumulates, f32 resumes from its checkpoint; refused where it would be slow."""
    images()
    common = [*TINY, "--local-batch", 16, "--train-samples", 64, "--lr", 0.01]
    bf16 = [*common, "--precision", "bf16", "--allow-slow-bf16", "--epochs", 1]
    p = run("resnet50", "--explain", "--size", "tiny", "--precision", "bf16", env={"ONEDNN_MAX_CPU_ISA": "AVX2"})
    if p.returncode == 0 or "built without" in p.stderr:
        print("SKIP: the best back-end here is not oneDNN, or it does not heed ONEDNN_MAX_CPU_ISA")
        sys.exit(77)
    assert p.stderr.count("error") == 1 and "needs AVX-512" in p.stderr, p.stderr
    p = run(*bf16)
    if p.returncode:
        assert "needs AVX-512" in p.stderr, p.stderr
        print("SKIP: " + p.stderr.strip())
        sys.exit(77)
    imitated = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}
    p = run(*common, "--precision", "bf16", env=imitated)
    assert p.returncode == 1 and p.stderr.count("error: ") == 1 and "--allow-slow-bf16" in p.stderr, p.stderr
    assert p.stdout == "", p.stdout

    path = f"{WORK}/marks"
    one = done(*bf16, "--accumulation", 2, "--checkpoint-dir", f"{WORK}/one", env={"WATTLAW_MARKS": path})
    assert one["precision"] == "bf16" and " precision=bf16 " in open(path).read()
    two = done(*bf16, "--workers", 2, "--checkpoint-dir", f"{WORK}/two")
    slow = done(*bf16, "--accumulation", 2, env=imitated)
    f32 = done(*common, "--accumulation", 2, "--epochs", 1, "--checkpoint-dir", f"{WORK}/f32")
    loss = lambda r: r["epochs"][0]["train_loss"]
    assert loss(one) != loss(f32)
    assert close(loss(two), loss(one)) and close(loss(slow), loss(one), 3e-2)
    assert close(loss(f32), loss(one), 3e-2)
    far = distance(tensors(f"{WORK}/two"), tensors(f"{WORK}/one"))
    assert far < 1e-3, f"parameters of two ranks differ by {far}"
    states = lambda folder: {k: v for k, v in tensors(f"{WORK}/{folder}").items() if not k.endswith(".momentum")}
    far = distance(states("f32"), states("one"))
    assert 0 < far < 5e-2, f"parameters in f32 differ by {far}"
    on = done(*common, "--accumulation", 2, "--epochs", 2, "--checkpoint-dir", f"{WORK}/one", "--resume")
    assert [e["epoch"] for e in on["epochs"]] == [2], on["epochs"]


def resume():
    """A resumed training gives exactly the numbers of an uninterrupted one."""
    images()
    common = [*TINY, "--local-batch", 16, "--workers", 2, "--lr-schedule", "plateau", "--lr-patience", 0]
    whole = done(*common, "--epochs", 4)
    done(*common, "--epochs", 2, "--checkpoint-dir", f"{WORK}/a")
    rest = done(*common, "--epochs", 4, "--checkpoint-dir", f"{WORK}/a", "--resume")
    keys = ("epoch", "samples", "updates", "lr", "train_loss", "train_top1", "val_loss", "val_top1")
    for mine, theirs in zip(rest["epochs"], whole["epochs"][2:], strict=True):
        assert all(mine[k] == theirs[k] for k in keys), (mine, theirs)
    assert len(os.listdir(f"{WORK}/a")) == 2

    again = run(*common, "--epochs", 4, "--checkpoint-dir", f"{WORK}/a", "--resume")
    assert again.returncode == 0 and "nothing left to do" in again.stdout, again.stdout

    # A new training would remove its own checkpoints there: they have fewer updates than those that are kept.
    anew = run(*common, "--epochs", 1, "--checkpoint-dir", f"{WORK}/a")
    assert anew.returncode == 1 and "--resume" in anew.stderr and anew.stderr.count("error") == 1, anew.stderr

    # Damage to the newest file: the one before it is taken, with a warning.
    newest = sorted(os.listdir(f"{WORK}/a"))[-1]
    with open(f"{WORK}/a/{newest}", "r+b") as f:
        f.truncate(5000)
    rest = run(*common, "--epochs", 4, "--checkpoint-dir", f"{WORK}/a", "--resume", "--json")
    assert "skipped" in rest.stderr and newest in rest.stderr, rest.stderr
    assert json.loads(rest.stdout)["epochs"][0]["train_loss"] == whole["epochs"][3]["train_loss"]

    # Another shape, model size or seed is refused, with both named.
    for option, value, both in (("--image-size", 64, ("32", "64")), ("--size", "full", ("tiny", "full")),
                                ("--seed", 9, ("1", "9"))):
        p = run(*common, "--checkpoint-dir", f"{WORK}/a", "--resume", option, value)
        assert p.returncode == 1 and all(re.search(rf"\b{w}\b", p.stderr) for w in both), p.stderr


def interrupt():
    """SIGTERM, SIGINT, SIGUSR1 and the SIGHUPs of a closed terminal stop after the update, with a checkpoint within the epoch; resuming from it is exact."""
    images()
    common = [*TINY, "--local-batch", 4, "--workers", 2, "--checkpoint-keep", 99]
    whole = done(*common, "--epochs", 3)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        folder, marks = f"{WORK}/{number.name}", f"{WORK}/{number.name}.marks"
        args = [*common, "--epochs", 500, "--checkpoint-dir", folder, "--checkpoint-every", 0]
        p = subprocess.Popen([TRAIN, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=dict(ENV, WATTLAW_MARKS=marks))
        wait_for(lambda: os.path.exists(marks) and " step step=5 " in open(marks).read(), p)
        p.send_signal(number)
        if number == signal.SIGHUP:
            p.send_signal(number)
        out, err = p.communicate()
        assert p.returncode == 130 and "interrupted in epoch" in err and err.count("error:") == 1, (p.returncode, err)
        assert "stop status=interrupted" in open(marks).read()
        stopped = int(re.search(r"in epoch (\d+)", err).group(1))
        assert len(os.listdir(folder)) == 1
        rest = done(*common, "--epochs", max(3, stopped), "--checkpoint-dir", folder, "--resume")
        for r in rest["epochs"]:
            if r["epoch"] > 3:
                continue
            assert r["train_loss"] == whole["epochs"][r["epoch"] - 1]["train_loss"], (r, whole["epochs"])
            assert close(r["val_loss"], whole["epochs"][r["epoch"] - 1]["val_loss"], 1e-4)


def wait_for(condition, process):
    end = time.monotonic() + 300
    while not condition():
        assert process.poll() is None and time.monotonic() < end, "the training ended or did not get there"
        time.sleep(0.01)


def waiting():
    """Waiting threads soon sleep, unless the user sets OMP_WAIT_POLICY; the process keeps its PID and name."""
    images()
    for said, set_to in ((None, {b"OMP_WAIT_POLICY=passive", b"GOMP_SPINCOUNT=5000"}),
                         ("active", {b"OMP_WAIT_POLICY=active"})):
        env = {k: v for k, v in ENV.items() if k != "OMP_WAIT_POLICY"}
        if said:
            env["OMP_WAIT_POLICY"] = said
        p = subprocess.Popen([TRAIN, *TINY, "--local-batch", "4", "--epochs", "500"], env=env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: set_to <= set(open(f"/proc/{p.pid}/environ", "rb").read().split(b"\0")), p)
        assert open(f"/proc/{p.pid}/comm").read() == os.path.basename(TRAIN)[:15] + "\n"
        p.kill()
        p.wait()


def lost_rank():
    """A rank that is killed ends the job with a message that names it."""
    images()
    marks = f"{WORK}/marks"
    p = subprocess.Popen([TRAIN, *TINY, "--local-batch", "4", "--workers", "3", "--epochs", "500"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env=dict(ENV, WATTLAW_MARKS=marks))
    wait_for(lambda: os.path.exists(marks) and " step step=5 " in open(marks).read(), p)
    victim = int(re.search(r" 2 start .*pid=(\d+)", open(marks).read()).group(1))
    os.kill(victim, signal.SIGKILL)
    out, err = p.communicate()
    assert p.returncode == 1 and "rank 2" in err and "died" in err, (p.returncode, err)
    assert err.count("died") == 1, err


def marks():
    """The marks of a training: every rank starts and stops, rank 0 alone has epochs and steps."""
    images()
    path = f"{WORK}/marks"
    r = done(*TINY, "--local-batch", 16, "--workers", 2, "--epochs", 2, env={"WATTLAW_MARKS": path})
    lines = [l.split(" ", 3) + [""] for l in open(path).read().splitlines()]
    count = lambda rank, word: sum(l[1] == rank and l[2] == word for l in lines)
    for rank in "01":
        assert count(rank, "start") == count(rank, "stop") == 1
    assert (count("0", "epoch-begin"), count("0", "epoch-end"), count("0", "step")) == (2, 2, 12)
    assert count("1", "epoch-begin") == count("1", "epoch-end") == count("1", "step") == count("1", "metric") == 0
    start = next(l[3] for l in lines if l[2] == "start")
    for field in ("workload=resnet50", "workers=2", "local_batch=16", "global_batch=32", "accumulation=1", "epochs=2", "size=tiny",
                  "threads=1", "precision=f32", "recompute=no", "recipe=none"):
        assert field in start.split(), start
    ends = [l[3] for l in lines if l[2] == "epoch-end"]
    assert ends == ["epoch=1 samples=192 updates=6", "epoch=2 samples=192 updates=6"], ends
    metric = {(m[0], int(m[2])): float(m[1]) for l in lines if l[2] == "metric"
              for m in [re.match(r"name=(\S+) value=(\S+) epoch=(\d+)", l[3]).groups()]}
    for e in r["epochs"]:
        for name in ("train_loss", "train_top1", "val_loss", "val_top1", "val_top5", "lr"):
            assert abs(metric[name, e["epoch"]] - e[name]) <= 1e-6 * abs(e[name]) + 1e-9, (name, e)
    defined = [dict(f.split("=") for f in l[3].split()) for l in lines if l[2] == "define"]
    assert [d["name"] for d in defined] == ["val_loss", "val_top1", "val_top5", "train_loss", "train_top1", "train_top5",
                                            "lr"], defined
    assert defined[0] == {"name": "val_loss", "better": "smaller", "label": "loss_on_held-out_data", "unit": "nat"}
    assert defined[1]["better"] == "larger" and defined[1]["main"] == "1" and "unit" not in defined[1], defined
    waits = [l[3] for l in lines if l[2] == "phase" and "name=input" in l[3]]
    assert [w.split()[0::2] for w in waits] == [["name=input", f"epoch={e['epoch']}"] for e in r["epochs"]], waits
    for e, w in zip(r["epochs"], waits):
        assert close(float(re.search(r"time_s=(\S+)", w).group(1)), e["input_wait_s"], 1e-6), (w, e)
        assert 0 <= e["input_wait_s"] <= e["time_s"], e
    for rank in "01":  # each by itself
        computed = [re.fullmatch(r"name=compute time_s=(\S+) epoch=(\d+)", l[3]) for l in lines if l[1] == rank and "name=compute" in l[3]]
        assert [int(m.group(2)) for m in computed] == [1, 2], lines
        for e, m in zip(r["epochs"], computed):
            assert 0 < float(m.group(1)) < e["time_s"], (e, m)
    alone = f"{WORK}/alone"
    done(*TINY, "--local-batch", 16, "--train-samples", 32, "--epochs", 1, env={"WATTLAW_MARKS": alone})
    assert "name=compute" not in open(alone).read()  # nobody to compare with
    times = [int(l[0]) for l in lines if l[1] == "0"]
    assert times == sorted(times)


def choices_of_the_table():
    """Each SETTING_CHOICE row of src/settings/settings.def: wattlaw-train takes its values and no others, each one changes the plan,
    and the start mark has it, from which `wattlaw measure` knows it."""
    images()
    with open(SETTINGS) as f:
        table = f.read()
    rows = re.findall(r'^SETTING_CHOICE\((\w+), "([\w-]+)", "(\w+)", "([\w|]+)"', table, re.M)
    assert rows and len(rows) == len(re.findall(r"^SETTING_CHOICE\(", table, re.M)), rows
    small = [*TINY, "--backend", "ref", "--image-size", 32]
    for name, option, default, choices in rows:
        p = run(*small, f"--{option}", "no-such-value")
        assert p.returncode == 2 and f"--{option} no-such-value: expected one of {choices}\n" in p.stderr, p.stderr
        plans = []
        for value in choices.split("|"):
            if (p := run(*small, f"--{option}", value, "--explain")).returncode:  # of GPUs alone: tests/gpu/train.py
                assert p.stderr == f"error: --{option} {value}: back-end ref does not have {value}; gpu does\n", p.stderr
                continue
            plan = done(*small, f"--{option}", value, "--explain")
            assert plan.pop("options")[name] == value, (name, value)
            assert plan not in plans, f"--{option} {value} changes nothing"
            plans.append(plan)
    for values in zip(*([r[3].split("|")[0], r[3].split("|")[-1]] for r in rows)):
        path = f"{WORK}/marks-{'-'.join(values)}"
        chosen = [word for r, value in zip(rows, values) for word in ("--" + r[1], value)]
        done(*small, *chosen, "--train-samples", 16, "--local-batch", 16, "--epochs", 1, "--no-validate", env={"WATTLAW_MARKS": path})
        start = next(line for line in open(path) if " start " in line).split()
        for r, value in zip(rows, values):
            assert f"{r[0]}={value}" in start, (r[0], value, start)


def learns():
    """The synthetic images are learned: far above chance, and the loss falls."""
    images(classes=8, train=640, val=160, size=64)
    r = done("resnet50", "--data", DATA, "--size", "tiny", "--epochs", 6, "--quiet", "--workers", 2, "--local-batch", 16)
    best = max(e["val_top1"] for e in r["epochs"])
    assert best > 0.25, [e["val_top1"] for e in r["epochs"]]
    assert r["epochs"][-1]["train_loss"] < 0.9 * r["epochs"][0]["train_loss"]
    r = done("vgg16", "--data", DATA, "--size", "tiny", "--epochs", 7, "--quiet", "--workers", 2, "--local-batch", 16)
    assert max(e["val_top1"] for e in r["epochs"]) > 0.25, [e["val_top1"] for e in r["epochs"]]


def recipes():
    """A recipe sets the options that are not given; evaluation on the training set equals validation on the same data."""
    images()
    shutil.rmtree(f"{DATA}/val")
    shutil.copytree(f"{DATA}/train", f"{DATA}/val")
    path = f"{WORK}/marks"
    small = [*TINY, "--local-batch", 16]
    huber = done(*small, "--epochs", 2, "--recipe", "huber2025", "--workers", 2, env={"WATTLAW_MARKS": path})
    o = huber["options"]
    assert (o["recipe"], o["epochs"], o["lr"], o["lr_scale"]) == ("huber2025", 2, 0.1, True), o
    assert (o["lr_schedule"], o["warmup_epochs"], o["lr_factor"], o["lr_patience"]) == ("plateau", 5, 0.5, 5), o
    assert (o["momentum"], o["weight_decay"]) == (0.9, 1e-4), o
    peak, updates = 0.1 * 32 / 256, 192 // 32
    for e in huber["epochs"]:  # warm-up from 0.1 to the peak
        at = (e["epoch"] - 1) + (updates - 1) / updates
        assert close(e["lr"], 0.1 + (peak - 0.1) * at / 5, 1e-9), e
        for key in ("loss", "top1", "top5"):
            assert e[f"eval_train_{key}"] == e[f"val_{key}"], e
    text = open(path).read()
    assert "recipe=huber2025" in text and text.count("phase-begin name=eval-train") == 4, text  # two of each rank
    assert text.count("metric name=eval_train_top1") == 2, text

    frey = done(*small, "--recipe", "frey2022", "--epochs", 1, "--momentum", 0.5, "--precision", "f32")
    o = frey["options"]
    assert (o["epochs"], o["local_batch"], o["momentum"], o["eval_train"]) == (1, 16, 0.5, False), o
    assert frey["epochs"][0]["lr"] == 1e-5 and frey["epochs"][0]["eval_train_loss"] is None, frey
    mixed = run(*small, "--recipe", "frey2022", "--epochs", 1, "--json")
    if mixed.returncode == 0:
        assert json.loads(mixed.stdout)["options"]["precision"] == "bf16", mixed.stdout
    else:  # a processor without bf16 says so
        assert "bf16" in mixed.stderr, mixed.stderr
    p = run(*small, "--recipe", "huber2025", "--epochs", 1)
    for words in ("recipe huber2025", "learning rate 0.1 x global batch/256", "warm-up over 5 epochs", "schedule plateau"):
        assert words in p.stdout, p.stdout
    for recipe, words in (("huber2025", ("recipe huber2025: ", "x global batch/256 = 0.0292969", "warm-up over 5 epochs",
                                         "plateau (x 0.5 after 5 epochs without improvement)", "momentum 0.9, weight decay 0.0001",
                                         "1 epoch of 2 updates of 75 images (42 of 192 dropped), f32",
                                         "the validation and the training set")),
                          ("frey2022", ("recipe frey2022: ", "learning rate 1e-05, schedule constant", "the validation set"))):
        p = run(*[a for a in small if a != "--quiet"], "--local-batch", 25, "--accumulation", 3, "--recipe", recipe,
                "--epochs", 1, "--precision", "f32")
        start = p.stderr[:p.stderr.index("epoch 1/1")]  # said before the first epoch
        assert p.returncode == 0 and all(w in start for w in words), p.stderr
    p = run(*small, "--recipe", "huber")
    assert p.returncode == 2 and "frey2022|huber2025" in p.stderr, p.stderr


main(parallel, models, precision, resume, interrupt, waiting, lost_rank, marks, choices_of_the_table, learns, recipes)
