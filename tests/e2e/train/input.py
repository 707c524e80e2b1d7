#!/usr/bin/env python3
"""Input of a training, end to end: options and data, good and bad. input.py PROGRAM CASE. Exit 0: passed,
1: failed."""
import re

from images import *


def shards():
    """The same training from folders and from TFRecord shards of the same images; problems with shards are reported."""
    images()
    shards = f"{WORK}/shards"
    images(to=shards, options=["--format", "tfrecord", "--shards", 5])
    names = [f"train-{i:05}-of-00005" for i in range(5)]
    assert sorted(os.listdir(shards)) == ["labels.txt", *names, "validation-00000-of-00001", "wattlaw-synthetic.ini"]
    from_shards = ["resnet50", "--data", shards, *TINY[3:], "--epochs", 1]
    one, two = done(*TINY, "--epochs", 1), done(*from_shards, "--workers", 2, "--local-batch", 16)
    again = done(*from_shards)
    assert one["data_format"] == "folders" and again["data_format"] == "TFRecord shards"
    for key in ("train_loss", "val_loss", "val_top1"):
        assert again["epochs"][0][key] == one["epochs"][0][key], (key, again, one)
    assert two["samples"] == 192, two

    def refused(*words, args=from_shards):
        p = run(*args)
        assert p.returncode == 1 and p.stderr.count("error") == 1 and p.stdout == "", p.stderr
        assert all(w in p.stderr for w in words), (p.stderr, words)

    refused("labels.txt", "4 class names", "3 classes", args=[*from_shards, "--classes", 3])
    os.remove(f"{shards}/labels.txt")
    refused("--classes", "labels.txt")
    few = [*from_shards, "--classes", 2]
    refused(names[0][:6], "record", "label", "expected 1 to 2", args=few)
    os.rename(f"{shards}/{names[3]}", f"{shards}/aside")
    refused("1 of 5 shards", names[3], args=few)
    os.rename(f"{shards}/aside", f"{shards}/{names[3]}")
    with open(f"{shards}/{names[2]}", "r+b") as f:
        f.truncate(os.path.getsize(f.name) - 3)
    refused(names[2], "truncated", args=few)


def options():
    """Each workload and each data set has its own options besides the shared ones, in help, results and suggestions."""
    images()
    listed = run("--help").stdout
    for name in ("resnet50", "vgg16", "inception3", "data"):
        assert re.search(rf"^  {name}  ", listed, re.M), listed
    own = run("resnet50", "--help").stdout
    for name in ("--data", "--image-size", "--recipe", "--epochs", "--optimizer", "--resume"):
        assert len(re.findall(rf"^  {name} ", own, re.M)) == 1, f"{name} is not once in\n{own}"
    assert "wattlaw-train resnet50 --size tiny" in own, own
    sets = run("data", "--help")
    assert sets.returncode == 0 and re.search(r"^  imagenet  ", sets.stdout, re.M), sets.stdout
    assert run("data").returncode == 2
    p = run("data", "imagenet", "--help")
    assert p.returncode == 0 and "--classes" in p.stdout and "--optimizer" not in p.stdout, p.stdout
    p = run("data", "imagenet", "--synthetic", DATA, "--clases", 3)
    assert p.returncode == 2 and "did you mean --classes?" in p.stderr, p.stderr

    adam = ["--optimizer", "adamw", "--lr", 0.003, "--weight-decay", 0.01, "--decay-weights-only", "--beta2", 0.99]
    warm = done(*TINY, *adam, "--epochs", 2, "--lr-schedule", "linear", "--warmup-updates", 3, "--local-batch", 32)
    o, updates = warm["options"], 192 // 32
    assert (o["optimizer"], o["beta1"], o["beta2"], o["eps"], o["image_size"]) == ("adamw", 0.9, 0.99, 1e-8, 32), o
    for e in warm["epochs"]:  # three updates up, nine down to 0
        at = e["epoch"] * updates - 1
        assert close(e["lr"], 0.003 * (2 * updates - at) / (2 * updates - 3), 1e-9), e
    assert [m["name"] for m in warm["metrics"]] == ["loss", "top1", "top5"], warm["metrics"]
    p = run(*TINY, "--warmup-updates", 3, "--warmup-epochs", 1)
    assert p.returncode == 2 and "give one of them" in p.stderr, p.stderr


def bad_input():
    """One clear message and the right exit status for each error."""
    images()
    empty, other = f"{WORK}/empty", f"{WORK}/other"
    os.makedirs(f"{empty}/train/a")
    os.makedirs(f"{empty}/train/b")
    os.makedirs(f"{empty}/val/a")
    shutil.copytree(DATA, other)
    torn = f"{other}/train/{sorted(os.listdir(f'{other}/train'))[0]}"
    torn += "/" + sorted(os.listdir(torn))[0]
    open(f"{WORK}/file", "w").close()
    with open(torn, "r+b") as f:
        f.truncate(200)
    tiny = ["--size", "tiny", "--image-size", 32, "--quiet"]
    expect = [
        (2, ["did you mean resnet50"], ["resnet5"]),
        (2, ["--data"], ["resnet50"]),
        (2, ["did you mean", "local-batch"], [*TINY, "--local-bach", 4]),
        (2, ["--epochs", "0", "1"], [*TINY, "--epochs", 0]),
        (2, ["--size", "small", "full|tiny"], [*TINY, "--size", "small"]),
        (2, ["--checkpoint-dir"], [*TINY, "--resume"]),
        (2, ["extra"], [*TINY, "extra"]),
        (1, [f"{WORK}/nowhere"], ["resnet50", "--data", f"{WORK}/nowhere", *tiny]),
        (1, [empty], ["resnet50", "--data", empty, *tiny]),
        (1, ["192", "1000"], [*TINY, "--local-batch", 1000]),
        (1, ["192", "96"], [*TINY, "--local-batch", 96, "--accumulation", 3]),
        (1, [f"{DATA}/train", "4 class folders", "3 classes (--classes)"], [*TINY, "--classes", 3]),
        (1, ["192", "500"], [*TINY, "--train-samples", 500]),
        (1, [f"{WORK}/file"], [*TINY, "--checkpoint-dir", f"{WORK}/file/x"]),
        (1, ["16 pixels"], [*TINY, "--image-size", 16]),
        (1, [torn], ["resnet50", "--data", other, *tiny, "--epochs", 1]),
        (1, ["loss", "learning rate"], [*TINY, "--lr", 1e6, "--epochs", 3]),
        (2, ["imagenet"], ["data", "imagnet", "--synthetic", f"{WORK}/x"]),
        (2, ["--synthetic"], ["data", "imagenet"]),
        (1, [other], ["data", "imagenet", "--synthetic", other, "--classes", 7, "--quiet"]),
    ]
    for status, words, args in expect:
        for workers in ([], ["--workers", "2"]) if args[0] == "resnet50" else ([],):
            p = run(*args, *workers)
            what = f"{args} {workers}: status {p.returncode}: {p.stderr}"
            assert p.returncode == status and p.stderr.count("error") == 1, what
            assert all(w in p.stderr for w in words), f"{what}: wanted {words}"
            assert p.stdout == "", what
    if shutil.which("mpirun"):
        p = run(*TINY, "--local-bach", 4, before=MPIRUN)
        assert p.returncode == 2 and p.stderr.count("did you mean") == 1, p.stderr
        p = run(*TINY, "--local-batch", 1000, before=MPIRUN)
        assert p.returncode == 1 and p.stderr.count("error: ") == 1, p.stderr
    p = run(*TINY, "--image-size", 64, "--epochs", 1, "--local-batch", 16, "--workers", 2)
    assert p.returncode == 0 and p.stderr.count("40 x 40 pixels, smaller than the requested 64 x 64") == 2, p.stderr  # train, val
    kept = done("resnet50", "--data", other, *tiny, "--epochs", 1, "--local-batch", 16, "--skip-bad")
    assert kept["bad_images"] == 1 and kept["samples"] == 192, kept


def odd_data():
    """Real-world folders: unusable files are named with what was expected, oddities are logged once."""
    images(train=64, val=16)
    tiny = ["--size", "tiny", "--image-size", 32, "--epochs", 1, "--local-batch", 8, "--quiet"]
    fixtures = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fixtures/data")
    first = sorted(os.listdir(f"{DATA}/train/class0002"))[0]

    def changed(name, change):
        shutil.copytree(DATA, f"{WORK}/{name}")
        change(f"{WORK}/{name}")
        return ["resnet50", "--data", f"{WORK}/{name}", *tiny]

    def write(path, data):
        with open(path, "wb") as f:
            f.write(data)

    def refused(args, *words, **how):
        p = run(*args, **how)
        assert p.returncode == 1 and p.stderr.count("error") == 1 and p.stdout == "", (args, p.returncode, p.stderr)
        assert all(w in p.stderr for w in words), (p.stderr, words)

    def said(args, words, times=1):
        for workers in ([], ["--workers", 2]):
            p = run(*args, *workers)
            assert p.returncode == 0 and p.stderr.count(words) == times, (p.stderr, words)

    png = changed("png", lambda d: write(f"{d}/train/class0002/{first}", b"\x89PNG\r\n\x1a\n12345678"))
    refused(png, first, "not a JPEG (begins with 0x8950, expected 0xffd8)", "--skip-bad")
    said([*png, "--skip-bad"], "skipped: ")
    cut = changed("cut", lambda d: os.truncate(f"{d}/train/class0002/{first}", 900))
    refused(cut, first, "cannot be decoded", "--skip-bad")
    refused(changed("hollow", lambda d: write(f"{d}/train/class0002/{first}", b"")), first, "the file is empty", "--skip-bad")
    refused(changed("none", lambda d: [os.remove(f"{d}/val/class0001/{n}") for n in os.listdir(f"{d}/val/class0001")]),
            "val/class0001: the class folder has no JPEG")
    refused(changed("noval", lambda d: shutil.rmtree(f"{d}/val") or os.mkdir(f"{d}/val")),
            "noval/val: no images; expected", "val/<class>/<name>.JPEG")
    refused(changed("zebra", lambda d: os.rename(f"{d}/val/class0003", f"{d}/val/zebra")),
            "val/zebra: this class is not one of the 4 in", "zebra/train")
    refused(changed("lost", lambda d: shutil.rmtree(f"{d}/train/class0000")), "val/class0000: this class is not one of the 3")
    refused(["resnet50", "--data", f"{DATA}/train/class0002/{first}", *tiny], first, "not a folder")
    said(changed("fewer", lambda d: shutil.rmtree(f"{d}/val/class0003")), "images of 3 classes, but the training set has 4")
    said(["resnet50", "--data", DATA, *tiny, "--classes", 9], "4 classes, fewer than the network's 9 (--classes)")
    colours = changed("colours", lambda d: [shutil.copy(f"{fixtures}/{n}.JPEG", f"{d}/train/class0000") for n in ("grey", "cmyk")])
    assert done(*colours)["train_samples"] == 66

    if os.getuid() == 0:  # root may read everything, so another user runs these
        nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
        os.chmod(WORK, 0o755)
        if not shutil.which("setpriv") or run("--version", before=nobody).returncode:
            print("SKIP of the rest: setpriv is missing, or another user cannot start " + TRAIN)
            return
    else:
        nobody = []
    for name, closed in (("closed1", ""), ("closed2", "train"), ("closed3", "train/class0001"),
                         ("closed4", f"train/class0002/{first}")):
        args = changed(name, lambda d: os.chmod(os.path.join(d, closed), 0))
        refused(args, os.path.join(f"{WORK}/{name}", closed).rstrip("/"), "Permission denied", before=nobody)
        os.chmod(os.path.join(f"{WORK}/{name}", closed), 0o755)


main(shards, options, bad_input, odd_data)
