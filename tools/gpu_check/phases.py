"""What gpu-check checks, phase by phase. A phase is a generator of checks: (name, function of the seconds left that returns
(status, detail, numbers))."""
import json
import math
import os
import platform
import shutil
import signal
import sys
import time

from gpu_check import curves, programs, roofline
from gpu_check.report import FAILED, MISSING, NO_GPU, PASSED, Report

MEASURE_S, APART = 12, 0.1
FULL = {"resnet50": 256, "vgg16": 256, "inception3": 256, "bert512": 8, "fourcastnet720": 1, "schnet": 128, "dimenet": 128}


class Box:
    """What the phases share."""

    def __init__(self, root, folder):
        self.programs, self.folder = programs.Programs(root), folder
        self.programs.env["WATTLAW_BENCH_CHOICES"] = os.path.join(folder, "choices", "autotune")
        self.manifest = {}
        path = os.path.join(root, "manifest.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.manifest = json.load(f)
        self.choices = curves.choices(self.programs)
        self.limits = None  # (what the GPU attains, why that is not known), once it is measured


def missing(why):
    return lambda left_s: (MISSING, why, {})


def keep_log(box, name, result):
    """All that a program said, where the report has one line."""
    with open(os.path.join(box.folder, name.replace(" ", "-") + ".log"), "w", encoding="utf-8") as f:
        f.write(result.out + result.err)


# ---- the phases ----


def keep_output(box, name, argv, env=None):
    def check(left_s):
        r = programs.run(argv, min(left_s, 20), env)
        if r.status:
            return FAILED, r.why(), {}
        with open(os.path.join(box.folder, name), "w", encoding="utf-8") as f:
            f.write(r.out)
        return PASSED, name, {}
    return check


def facts(box):
    smi = shutil.which("nvidia-smi")
    yield "driver", keep_output(box, "nvidia-smi.txt", [smi, "-q"]) if smi else missing("this machine has no nvidia-smi")
    yield "doctor", keep_output(box, "doctor.json", box.programs.command("wattlaw", "doctor", "--json"), box.programs.env)
    usable = box.programs.has("bench_gpu_limits")
    absent = missing("the archive has no bin/bench_gpu_limits")
    yield "copy and matmul ceilings", roofline.ceilings(box) if usable else absent
    yield "cuDNN's description of the GPU", roofline.description(box) if usable else absent


def one_test(box, test):
    def check(left_s):
        env = {k: v.replace("{root}", box.programs.root) for k, v in test["env"].items() if k not in programs.FAKES}
        args = [a.replace("{root}", box.programs.root) for a in test["args"]]
        r = box.programs.run(test["program"], *args, limit_s=min(left_s, test["limit_s"]), env=env, cwd=box.folder)
        keep_log(box, test["name"], r)
        if r.status == NO_GPU:
            return MISSING, r.why(), {}
        return (PASSED, "", {}) if r.status == 0 else (FAILED, r.why(), {})
    return check


def operations(box):
    tests = box.manifest.get("tests", [])
    for test in tests:
        yield test["name"], one_test(box, test)
    if not tests:
        yield "operations against nn/ref", missing("the archive has no tests of operations that run on a GPU")


def training(box):
    for golden in box.manifest.get("curves", []):
        for precision in curves.TOLERANCE:
            yield (f"{golden['model']} {precision}",
                   lambda left_s, g=golden, p=precision: curves.check(box, g, p, left_s))
    if not box.manifest.get("curves"):
        yield "curves", missing("the archive has no loss curves of the cpu back-end")


def resuming(box):
    for golden in box.manifest.get("curves", []):
        yield f"{golden['model']} from a checkpoint of cpu", lambda left_s, g=golden: curves.check_resume(box, g, left_s)


def models(box):
    yield from training(box)
    yield from resuming(box)
    for golden in box.manifest.get("curves", [])[:1]:
        yield f"{golden['model']} bf16, autotuned", lambda left_s, g=golden: curves.check(box, g, "bf16", left_s, "auto")


def sanitizer(box):
    tool = shutil.which("compute-sanitizer")
    tests = [t for t in box.manifest.get("tests", []) if t.get("small")]
    for kind in ("memcheck", "racecheck"):
        if not tool:
            yield kind, missing("this machine has no compute-sanitizer")
        elif not tests:
            yield kind, missing("the archive has no test of kernels of small shapes")
        for test in tests if tool else []:
            argv = [tool, "--tool", kind, "--error-exitcode", "9"]
            argv += box.programs.command(test["program"], *test.get("smallest", test["args"]))
            yield f"{kind} {test['name']}", (lambda left_s, a=argv, n=f"{kind} {test['name']}": sanitized(box, n, a, left_s))


def sanitized(box, name, argv, left_s):
    r = programs.run(argv, left_s, box.programs.env, box.folder)
    keep_log(box, name, r)
    return (PASSED, "", {}) if r.status == 0 else (FAILED, r.why(), {})


def full_size(box, model, batch):
    def check(left_s):
        argv = [sys.executable, box.programs.path("bench", "gpu_step.py"), "--own", box.programs.path("bin"), "--model", model,
                "--batch", str(batch), "--json", os.path.join(box.folder, f"step-{model}.json")]
        argv += ["--prefix=" + " ".join(box.programs.prefix)] if box.programs.prefix else []
        r = programs.run(argv, left_s, box.programs.env, box.folder)
        if r.status:
            return (MISSING if r.status == NO_GPU else FAILED), r.why(), {}
        return PASSED, "", json.loads(r.out.splitlines()[-1])
    return check


def full_sizes(box):
    """Ours alone, or in turns with PyTorch where python3 has it with CUDA."""
    usable = "gpu" in box.choices["backend"] and os.path.exists(box.programs.path("bench", "gpu_step.py"))
    for model, batch in FULL.items():
        yield f"{model} batch {batch}", (full_size(box, model, batch) if usable else
                                         missing("this build has no back-end gpu, or the archive no bench/gpu_step.py"))


def rooflines(box):
    """The times of a full-size model's steps, by events, against what the GPU attains."""
    for model, batch in FULL.items():
        argv = roofline.program(box, model, batch)
        usable = "gpu" in box.choices["backend"] and all(box.programs.has(x) for x in ("bench_gpu_limits", argv[0]))
        yield f"{model} batch {batch}", (roofline.timed_steps(box, model, argv) if usable else
                                         missing(f"this build has no back-end gpu, or the archive no bin/{argv[0]}"))


def measured(box, name, command):
    """A run of `wattlaw measure`; it sets no caps."""
    def check(left_s):
        store = os.path.join(box.folder, f"measure-{name}.db")
        r = box.programs.run("wattlaw", "measure", "--json", "--store", store, "--", *command, limit_s=min(left_s, 4 * MEASURE_S))
        if r.status:
            return FAILED, r.why(), {}
        with open(os.path.join(box.folder, f"measure-{name}.json"), "w", encoding="utf-8") as f:
            f.write(r.out)
        return judge_energy(json.loads(r.out[r.out.index("{"):]))
    return check


def judge_energy(found):
    """The counter of the GPUs against the integral of their power."""
    by = {e["method"]: e for e in found.get("energies", []) if e.get("scope") == "gpu"}
    numbers = {f"{method}_j": float(e["energy_j"]) for method, e in by.items() if is_energy(e.get("energy_j"))}
    if not numbers:
        return FAILED, "no energy of GPUs was measured: " + "; ".join(str(e.get("why")) for e in by.values()), {}
    epochs = [e for e in found.get("epochs", []) if is_energy(e.get("energy_j")) and e.get("samples")]
    if epochs:
        numbers["joules_a_sample"] = sum(e["energy_j"] for e in epochs) / sum(e["samples"] for e in epochs)
    if "counter_j" not in numbers or "integral_j" not in numbers:
        return PASSED, f"by {' and '.join(by)} alone", numbers
    apart = abs(numbers["counter_j"] - numbers["integral_j"]) / numbers["counter_j"]
    return (PASSED if apart <= APART else FAILED), f"counter and integral of power are {100 * apart:.1f} % apart", numbers


def is_energy(value):
    return isinstance(value, (int, float)) and math.isfinite(value) and value > 0


def harness(box):
    yield "idle", measured(box, "idle", ["sleep", str(MEASURE_S)])
    golden = next(iter(box.manifest.get("curves", [])), None)
    if golden and "gpu" in box.choices["backend"]:
        yield "under load", measured(box, "load", curves.load(box, golden))
    else:
        yield "under load", missing("this build has no back-end gpu")


# Shares of the time, of 10 minutes together. Of phases in EVEN no check takes more than twice its share of what is left.
PHASES = {"facts": (facts, 0.3), "operations": (operations, 1.7), "models": (models, 2.0), "sanitizer": (sanitizer, 0.7),
          "full-size": (full_sizes, 3.5), "roofline": (rooflines, 0.9), "harness": (harness, 0.9)}

EVEN = ("models", "full-size", "roofline")


def time_for(left_s, checks, even):
    return min(left_s, 2 * left_s / checks) if even else left_s


def run_phase(report, box, name, limit_s):
    """Checks that the time does not reach have failed: a report without them would look better than it is."""
    end = time.monotonic() + limit_s
    report.begin(name, limit_s)
    checks = list(PHASES[name][0](box))
    for number, (check, made) in enumerate(checks):
        start = time.monotonic()
        left_s = time_for(end - start, len(checks) - number, name in EVEN)
        try:
            status, detail, numbers = made(left_s) if left_s > 0 else (FAILED, "not reached: the phase's time was over", {})
        except Exception as error:  # whatever is wrong with one check, the others are made
            status, detail, numbers = FAILED, f"{type(error).__name__}: {error}", {}
        report.add(check, status, detail, time.monotonic() - start, numbers)
    return report.end()


def main(root, minutes, only, folder):
    unknown = [x for x in only if x not in PHASES]
    if unknown:
        print(f"gpu-check: --only {unknown[0]}: expected some of {', '.join(PHASES)}", file=sys.stderr)
        return 2
    box_programs = programs.Programs(root)
    names, why = programs.gpus(box_programs.env)
    if not names:
        print(f"gpu-check: there is no GPU here: {why}", file=sys.stderr)
        return NO_GPU
    if not box_programs.has("wattlaw-train"):
        print(f"gpu-check: {root} is not an unpacked archive of `gpu-check pack`: bin/wattlaw-train is missing", file=sys.stderr)
        return 2
    folder = os.path.abspath(folder or f"gpu-check-{platform.node()}-{time.strftime('%Y%m%d-%H%M%S')}")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # ends what runs, too
    report = Report(folder, {"host": platform.node(), "system": platform.platform(), "gpus": ", ".join(names)})
    box = Box(root, folder)
    for name in only or PHASES:
        phase = run_phase(report, box, name, 60 * PHASES[name][1] * minutes / 10)
        print(f"{name}: {phase['status']} ({phase['time_s']:.1f} s)", flush=True)
    status = report.finish()
    print(f"gpu-check: {report.all['status']}; {folder}/report.txt")
    return status
