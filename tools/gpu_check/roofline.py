"""What the GPU attains at most, and the steps of the full-size models that are furthest from it."""
import json
import os

from gpu_check.report import FAILED, MISSING, PASSED

SHOWN, WARMUP, RUNS = 10, 2, 3


def measure_limits(box, left_s):
    """(limits, why there are none): measured once. device.json gets cuDNN's description of the GPU."""
    if box.limits is None:
        r = box.programs.run("bench_gpu_limits", os.path.join(box.folder, "device.json"), *box.manifest.get("limits", []),
                             limit_s=left_s, cwd=box.folder)
        box.limits = (json.loads(r.out), "") if r.status == 0 else ({}, r.why())
    return box.limits


def ceilings(box):
    def check(left_s):
        limits, why = measure_limits(box, left_s)
        if why:
            return FAILED, why, {}
        return PASSED, limits["machine"], {k: v for k, v in limits.items() if isinstance(v, (int, float))}
    return check


def description(box):
    def check(left_s):
        limits, why = measure_limits(box, left_s)
        if os.path.exists(os.path.join(box.folder, "device.json")):
            return PASSED, "device.json", {}
        return MISSING, limits.get("description_missing") or why, {}
    return check


def floor_s(step, limits):
    """A step's bytes and its flop, the slower of both: at least that long at the measured ceilings."""
    flop_per_s = limits["bf16_flop_per_s" if step["bits"] == 16 else "f32_flop_per_s"]
    return max(step["bytes"] / limits["copy_bytes_per_s"], step["flop"] / flop_per_s if step["flop"] else 0)


def fastest(runs):
    """The steps of all runs with the least time of each."""
    best = {}
    for steps in runs:
        for number, s in enumerate(steps):
            key = (number, s["name"], s["pass"])
            if key not in best or s["time_s"] < best[key]["time_s"]:
                best[key] = s
    return list(best.values())


def line(step):
    return (f"{1e3 * step['time_s']:.3f} ms, at least {1e3 * step['floor_s']:.3f} ms ({step['bytes'] / 1e6:.1f} MB, "
            f"{step['flop'] / 1e9:.2f} Gflop): {step['operation']}, {step['kernel']}")


def judge(box, model, runs, limits):
    steps = fastest(runs)
    if not steps:
        return FAILED, "no step has a time", {}
    for s in steps:
        s["floor_s"] = floor_s(s, limits)
    with open(os.path.join(box.folder, f"steps-{model}.json"), "w", encoding="utf-8") as f:
        json.dump(steps, f, indent=1)
    time_s, least_s = sum(s["time_s"] for s in steps), sum(s["floor_s"] for s in steps)
    furthest = sorted(steps, key=lambda s: s["floor_s"] - s["time_s"])[:SHOWN]
    numbers = {"time_ms": 1e3 * time_s, "roofline_ms": 1e3 * least_s, "share_of_roofline": least_s / time_s}
    numbers.update({f"{n + 1}. {s['name']} {s['pass']}": line(s) for n, s in enumerate(furthest)})
    return PASSED, f"{len(steps)} steps, the {len(furthest)} furthest from the roofline first", numbers


def timed_steps(box, model, argv):
    def check(left_s):
        limits, why = measure_limits(box, left_s / 2)
        if why:
            return FAILED, f"ceilings: {why}", {}
        r = box.programs.run(*argv, limit_s=left_s, cwd=box.folder, text="step\n" * (WARMUP + RUNS))
        if r.status:
            return FAILED, r.why(), {}
        answers = [json.loads(x) for x in r.out.splitlines()[1 + WARMUP:]]
        return judge(box, model, [a["steps"] for a in answers], limits)
    return check


def program(box, model, batch):
    """Its command line, as bench/gpu_step.py has it."""
    molecules = box.programs.path("data", "bench", "qm9.molecules")
    if model in ("schnet", "dimenet"):
        return ("bench_molecules", model, molecules, "1", "gpu", "times")
    return ("bench_train_step", model, "bf16", str(batch), "1", "1", "auto", "keep", "gpu", "times")
