#!/usr/bin/env python3
"""What a training is planned with, end to end: --explain, recomputation, measured algorithms: planning.py PROGRAM CASE.
Exit 0: passed, 77: cannot run here, 1: failed."""
import signal

from images import *


def explain():
    """The plan of a full-size step without data, memory or training."""
    plan = done("resnet50", "--explain", "--local-batch", 64, "--conv", "direct")
    assert plan["parameters"] == 25557032, plan["parameters"]
    assert abs(plan["forward_flops_per_sample"] / 8.178e9 - 1) < 1e-3, plan["forward_flops_per_sample"]
    steps = [s for s in plan["steps"] if s["operation"] == "conv2d" and s["pass"] == "forward"]
    assert len(steps) == 53 and all(s["kernel"] and s["buffers"] for s in steps), steps
    memory = plan["memory"]
    assert sum(b["bytes"] for b in plan["buckets"]) == memory["gradient_bytes"]
    assert all(b["bytes"] == 4 << 20 for b in plan["buckets"][:-1]), plan["buckets"]
    assert 0 < memory["live_value_bytes"] <= memory["value_bytes"] < memory["unshared_value_bytes"], memory
    assert memory["in_place_bytes"] > 0, memory
    p = run("resnet50", "--explain", "--size", "tiny")
    assert p.returncode == 0, p.stderr
    for word in ("layer4.0.conv3", "backward weights", "activations share memory", "work in place",
                 "reduced after step"):
        assert word in p.stdout, f"{word} is not in\n{p.stdout}"

    # Winograd's algorithm along lines multiplies a few images a step.
    plan = done("inception3", "--explain", "--local-batch", 32, "--conv", "winograd", "--recompute", "yes")
    for again, total in ((False, plan["train_flops_per_sample"]), (True, plan["recompute"]["flops_per_sample"])):
        steps = [s["flops_per_sample"] or 0 for s in plan["steps"] if s["training"] and s["again"] == again]
        assert close(sum(steps), total, 1e-9), (again, sum(steps), total)


def by_op():
    """Where a step's time goes, beside the bounds of this machine."""
    images(train=16, val=4)
    tiny = [*TINY, "--explain", "--local-batch", 4, "--classes", 4]
    for how in ("class", "all"):
        r = done(*tiny, "--by-op", how, "--checkpoint-dir", f"{WORK}/none")
        rows, flop = r["operations"], done(*tiny, "--conv", "direct")["train_flops_per_sample"] * 4
        assert close(sum(o["flop"] or 0 for o in rows), flop, 1e-9) and close(r["sum"]["flop"], flop, 1e-9), r["sum"]
        assert close(sum(o["wall_s"] for o in rows), r["sum"]["wall_s"], 1e-6) and r["clock"] == "processor", r
        for o in rows:
            assert o["bound_s"] > 0 and close(o["time_per_bound"], o["cpu_s"] / o["bound_s"], 1e-6), o
            if o["bound_by"] == "flop":
                rates = [v for k, v in r["ceilings"].items() if k.startswith("flop_per_s_") and v]
                assert any(close(o["computed_flop"] / o["bound_s"], rate, 1e-6) for rate in rates) or o["steps"] > 1, o
    assert not os.path.exists(f"{WORK}/none")
    assert len(rows) == r["sum"]["steps"] and "layer4.0.conv3" in [o["name"] for o in rows], rows
    text = run(*tiny, "--by-op", "class").stdout
    for word in ("ceilings of", "measured on 1 thread", "time/bound", "conv2d 1x1 backward weights", "optimizer"):
        assert word in text, f"{word} is not in\n{text}"
    for words, message in (([*TINY, "--by-op", "all"], "--by-op all needs --explain"),
                           (["resnet50", "--explain", "--by-op", "class"], "--data is missing")):
        p = run(*words)
        assert p.returncode == 2 and message in p.stderr, p.stderr


def recompute():
    """Recomputation takes less memory and gives the same numbers; a memory limit is met with less work, or refused."""
    images()
    keeps, again = done(*TINY, "--epochs", 2), done(*TINY, "--epochs", 2, "--recompute", "yes")
    assert again["memory_bytes"] < again["keeping_bytes"] == keeps["memory_bytes"] == keeps["keeping_bytes"], again
    assert again["again_flops_per_sample"] > 0 == keeps["again_flops_per_sample"], again
    for one, other in zip(keeps["epochs"], again["epochs"]):
        for key in ("train_loss", "val_loss", "train_top1", "val_top1"):
            assert one[key] == other[key], (key, one, other)

    full = ["resnet50", "--explain", "--conv", "direct", "--local-batch", 16]
    plan, least = done(*full), done(*full, "--recompute", "yes")
    limit = (plan["memory"]["total_bytes"] + least["memory"]["total_bytes"]) / 2e9
    fit = done(*full, "--memory", limit)
    assert plan["recompute"]["segments"] == [] and plan["recompute"]["work_ratio"] == 1, plan["recompute"]
    for p in (least, fit):
        r = p["recompute"]
        assert p["memory"]["keeping_bytes"] == plan["memory"]["total_bytes"] > p["memory"]["total_bytes"]
        assert close(sum(s["flops_per_sample"] for s in r["segments"]), r["flops_per_sample"], 1e-9), r
        assert sum(s["again"] for s in p["steps"]) == sum(s["steps"] for s in r["segments"]) > 0, r
        assert close(r["work_ratio"], 1 + r["flops_per_sample"] / p["train_flops_per_sample"], 1e-9), r
    assert fit["memory"]["total_bytes"] <= limit * 1e9 and fit["recompute"]["work_ratio"] < least["recompute"]["work_ratio"]
    assert least["memory"]["value_bytes"] < plan["memory"]["value_bytes"] / 2, least["memory"]
    text = run("resnet50", "--explain", "--size", "tiny", "--recompute", "yes").stdout
    assert "are recomputed in the backward pass: " in text and " times the multiplications" in text, text
    p = run(*full, "--memory", 0.1)
    assert p.returncode == 1 and "the plan may take 100 MB at most: it takes 1.6" in p.stderr, p.stderr
    path = f"{WORK}/marks"
    done(*TINY, "--epochs", 1, "--memory", 0.5, env={"WATTLAW_MARKS": path})
    assert " recompute=no memory_gb=0.5 " in open(path).read()


def choices():
    """Convolution algorithms are measured once and cached; a damaged cache is reported and repaired."""
    images()
    file = f"{CACHE}/wattlaw/choices.txt"
    loud = [w for w in TINY if w != "--quiet"] + ["--epochs", 1, "--local-batch", 16, "--train-samples", 32]
    p = run(*loud, "--conv", "direct")
    assert p.returncode == 0 and not os.path.exists(file), p.stderr
    p = run(*loud, "--checkpoint-dir", f"{WORK}/a")
    assert p.returncode == 0, p.stderr
    if not os.path.exists(file):
        print("SKIP: the best back-end here has no Winograd convolutions")
        sys.exit(77)
    assert "measured in" in p.stderr and file in p.stderr and "Winograd" in p.stderr, p.stderr
    text = open(file).read()
    assert text.startswith("wattlaw-choices 1\n") and "\tconv2d backward weights f32 x [16," in text, text
    p = run(*loud, "--workers", 2)
    assert p.returncode == 0 and "measured" not in p.stderr and open(file).read() == text, p.stderr

    plan = done("resnet50", "--explain", "--size", "tiny", "--image-size", 32, "--local-batch", 16, "--classes", 4)
    chosen = [s["choice"] for s in plan["steps"] if "choice" in s]
    assert chosen and open(file).read() == text
    assert all({c["algorithm"], c["runner_up"]} == {"direct", "winograd"} for c in chosen), chosen

    # With the other algorithms a resumed training warns that rounding differs.
    turn = {"direct": "winograd", "winograd": "direct"}
    rows = [r.split("\t") for r in text.splitlines()]
    with open(file, "w") as f:
        f.writelines("\t".join(turn.get(w, w) for w in r) + "\n" for r in rows)
    more = ["--epochs", 2, "--checkpoint-dir", f"{WORK}/a", "--resume"]
    p = run(*loud, *more)
    assert p.returncode == 0 and f"{len(chosen)} passes use another algorithm" in p.stderr, p.stderr

    with open(file, "a") as f:
        f.write("half a li")
    p = run(*loud)
    assert p.returncode == 0 and f"{file}:{len(rows) + 1}: the last line is cut off" in p.stderr, p.stderr
    assert len(open(file).read().splitlines()) == len(rows)

    os.remove(file)
    os.rmdir(os.path.dirname(file))
    open(os.path.dirname(file), "w").close()
    p = run(*loud)
    assert p.returncode == 0 and "results not saved for later runs" in p.stderr, p.stderr


def address_space():
    """A limit of the address space (ulimit -v) gives a message wherever it is met, never a crash in oneDNN."""
    done("data", "wikitext", "--synthetic", "text", "--words", 20000, "--train-vocab", 400, "--sequence", 32)
    bert = ("bert", "--size", "tiny", "--data", "text", "--epochs", 1, "--local-batch", 96, "--train-samples", 96,
            "--val-samples", 1, "--backend", "cpu", "--quiet")
    if "not available" in run(*bert, "--explain").stderr:
        print("SKIP: this build has no oneDNN")
        sys.exit(77)
    said = ""
    for kilobytes in range(60000, 150000, 10000):
        p = run(*bert, before=["sh", "-c", f'ulimit -c 0; ulimit -v {kilobytes}; exec "$@"', "sh"])
        assert p.returncode not in (-signal.SIGSEGV, 128 + signal.SIGSEGV), f"ulimit -v {kilobytes}: {p.stderr}"
        said += p.stderr
    assert "of address space to make a kernel" in said or "the plan needs" not in said, said


main(explain, by_op, recompute, choices, address_space)
