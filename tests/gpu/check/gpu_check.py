#!/usr/bin/env python3
"""tools/gpu-check run over the fake libcuda, on a folder like an unpacked archive with programs that are scripts, and one that is not:

    gpu_check.py GPU_CHECK FAKE_LIBCUDA BENCH_GPU_LIMITS

Each phase, one that fails in it, statuses, exit codes, time limits, and what is written when."""
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

CHECK, DRIVER, LIMITS = (os.path.abspath(x) for x in sys.argv[1:])
WORK = tempfile.mkdtemp(prefix="gpu-check-test-")
ROOT = os.path.join(WORK, "archive")

TRAIN = """
import os, sys
a = sys.argv[1:]
if "--help" in a:
    print("  --backend auto|cpu|gpu  x\\n  --precision f32|tf32|bf16  x")
    sys.exit(0)
if a[0] == "bert":
    print("error train: the GPU has fallen off the bus", file=sys.stderr)
    sys.exit(1)
if a[0] == "vgg16" and "f32" not in a:
    print("error train: A GPU has compute capability 7.5; " + a[a.index("--precision") + 1] + " needs 8.0", file=sys.stderr)
    sys.exit(1)
far = {"dimenet": 1.5, "inception3": 1.0005}.get(a[0], 1.00001)
with open(os.environ["WATTLAW_MARKS"], "w") as f:
    for step in range(1, 5):
        print(f"{step} 0 step step={step} samples=8 loss={far * 3 / step}", file=f)
"""
WATTLAW = """
import json, sys
if "--version" in sys.argv: print("wattlaw 0")
elif sys.argv[1] == "doctor": print("{}")
else:
    found = (("counter", 100), ("integral", 101 if "sleep" in sys.argv else 150))
    print(json.dumps({"energies": [{"scope": "gpu", "method": m, "energy_j": j} for m, j in found]}))
"""
# Two steps of a plan. The ceilings are 1e12 bytes and 1e14 flop a second.
STEPS = """
import json, sys
bits = 32 if "schnet" in sys.argv else 16
print(json.dumps({"library": "x"}))
for line in sys.stdin:
    steps = [{"name": "near", "time_s": 1.25e-3, "bytes": 1e9, "flop": 0}, {"name": "far", "time_s": 1e-2, "bytes": 1, "flop": 2e11}]
    print(json.dumps({"steps": [dict(s, operation="conv2d", kernel="k", bits=bits, **{"pass": "forward"}) for s in steps]}))
"""
CEILINGS = """
import json, sys
if "wrong" in sys.argv: sys.exit("no GPU memory")
open(sys.argv[1], "w").write("{}")
print(json.dumps({"machine": "m", "copy_bytes_per_s": 1e12, "bf16_flop_per_s": 1e14, "f32_flop_per_s": None}))
"""
SANITIZER = """
import sys
if sys.argv[2] == "racecheck" and sys.argv[-1] == "first": print("1 hazard"); sys.exit(9)
"""
STEP = """
import json, sys
model = sys.argv[sys.argv.index("--model") + 1]
if model == "vgg16": sys.exit("wattlaw: exit status 1: an illegal address")
print(json.dumps({"model": model, "wattlaw_ms": 5.0}))
"""
TESTS = {"passes": "pass", "fails": "import sys; print('conv2d: 3 differ', file=sys.stderr); sys.exit(1)",
         "hangs": "import time; time.sleep(60)", "skips": "import sys; sys.exit(77)",
         "sees_fakes": "import os, sys; sys.exit('WATTLAW_FAKE_GPU' in os.environ and os.environ['WATTLAW_FAKE_GPU'] == 'of the build')"}


def script(name, text, folder="bin"):
    path = os.path.join(ROOT, folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!{sys.executable}\n{text}")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def test_entry(name):
    return {"name": name, "program": name, "args": [], "env": {"WATTLAW_FAKE_GPU": "of the build"}, "limit_s": 1, "small": True, "smallest": ["first"]}


def curve(model):
    loss = [3.0 / step for step in range(1, 5)]
    return {"model": model, "data": "none", "loss": {"f32": loss, "bf16": loss}, "resumed": loss, "checkpoint": "checkpoints"}


def make_archive():
    tools = os.path.dirname(CHECK)
    for folder in ("bin", "bench", "checkpoints", "path"):
        os.makedirs(os.path.join(ROOT, folder))
    shutil.copy2(CHECK, ROOT)
    shutil.copytree(os.path.join(tools, "gpu_check"), os.path.join(ROOT, "gpu_check"), ignore=shutil.ignore_patterns("__pycache__"))
    script("wattlaw-train", TRAIN)
    script("wattlaw", WATTLAW)
    script("bench_train_step", STEPS)
    script("bench_molecules", STEPS)
    script("compute-sanitizer", SANITIZER, "path")
    script("gpu_step.py", STEP, "bench")
    for name, text in TESTS.items():
        script(name, text)


def write_manifest(tests, models, limits=()):
    with open(os.path.join(ROOT, "manifest.json"), "w", encoding="utf-8") as f:
        json.dump({"tests": [test_entry(t) for t in tests], "curves": [curve(m) for m in models], "limits": limits}, f)


def command(*args):
    return [sys.executable, os.path.join(ROOT, "gpu-check"), "run", "--out", os.path.join(WORK, "out"), *args]


def environment(driver=DRIVER):
    path = os.path.join(ROOT, "path") + os.pathsep + os.environ["PATH"]
    return dict(os.environ, CUDA_DRIVER_LIBRARY=driver, PYTHONDONTWRITEBYTECODE="1", PATH=path)


def run(*args, driver=DRIVER):
    p = subprocess.run(command(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                       env=environment(driver), cwd=WORK, timeout=60)
    return p.returncode, p.stdout + p.stderr


def report():
    with open(os.path.join(WORK, "out", "report.json"), encoding="utf-8") as f:
        return json.load(f)


def statuses(phase):
    return {c["name"]: c["status"] for p in report()["phases"] if p["name"] == phase for c in p["checks"]}


def expect(got, wanted, what):
    if got != wanted:
        sys.exit(f"{what}: {got}\nexpected {wanted}")


def no_gpu():
    status, said = run(driver="/proc/nowhere/libcuda.so.1")
    expect(status, 77, "exit status without a GPU")
    expect(len(said.splitlines()), 1, f"lines of '{said}'")
    expect("there is no GPU here: NVIDIA's driver is missing" in said, True, said)


def operations():
    write_manifest(TESTS, [])
    expect(run("--only", "operations", "--minutes", "1")[0], 1, "exit status")
    expect(statuses("operations"), {"passes": "passed", "fails": "failed", "hangs": "failed", "skips": "not available",
                                    "sees_fakes": "passed"}, "operations")
    text = open(os.path.join(WORK, "out", "report.txt"), encoding="utf-8").read()
    for words in ("conv2d: 3 differ", "no end within its limit of 1 s", "operations: failed", "gpus: "):
        expect(words in text, True, f"'{words}' in the report:\n{text}")


def phases_end_on_time():
    write_manifest(["hangs", "passes"], [])
    status, _ = run("--only", "operations", "--minutes", "0.002")
    expect(status, 1, "exit status")
    expect(statuses("operations"), {"hangs": "failed", "passes": "failed"}, "phase without time")


def models():
    write_manifest([], ["resnet50", "dimenet", "bert", "inception3", "vgg16"])
    expect(run("--only", "models")[0], 1, "exit status")
    found = statuses("models")
    for precision, inception3, vgg16 in ("f32", "failed", "passed"), ("tf32", "passed", "not available"):
        wanted = {"resnet50": "passed", "dimenet": "failed", "bert": "failed", "inception3": inception3, "vgg16": vgg16}
        expect({k: v for k, v in found.items() if k.endswith(f" {precision}")},
               {f"{model} {precision}": status for model, status in wanted.items()}, precision)
    expect(found["resnet50 bf16"], "passed", "bf16")
    expect(found["resnet50 bf16, autotuned"], "passed", "autotuned")
    details = {c["name"]: c["detail"] for c in report()["phases"][0]["checks"]}
    expect(details["vgg16 tf32"], "exit status 1: error train: A GPU has compute capability 7.5; tf32 needs 8.0", "an older GPU")
    expect(details["bert f32"], "exit status 1: error train: the GPU has fallen off the bus", "the reason")
    expect(found["resnet50 f16"], "not available", "a precision that --help does not list")
    expect(found["resnet50 from a checkpoint of cpu"], "passed", "resuming")


def sanitizer():
    write_manifest(["passes"], [])
    expect(run("--only", "sanitizer")[0], 1, "exit status of a hazard")
    expect(statuses("sanitizer"), {"memcheck passes": "passed", "racecheck passes": "failed"}, "compute-sanitizer")


def full_size():
    expect(run("--only", "full-size")[0], 1, "exit status of a model that fails")
    found = statuses("full-size")
    expect((len(found), found["resnet50 batch 256"], found["vgg16 batch 256"]), (7, "passed", "failed"), "full-size")


def ceilings():
    """By the real program, over the fakes."""
    shutil.copy(LIMITS, os.path.join(ROOT, "bin", "bench_gpu_limits"))
    write_manifest([], [], ["32", "1"])
    expect(run("--only", "facts")[0], 0, "exit status")
    expect(statuses("facts")["copy and matmul ceilings"], "passed", "ceilings")
    expect(statuses("facts")["cuDNN's description of the GPU"], "passed", "description")
    numbers = {c["name"]: c for c in report()["phases"][0]["checks"]}["copy and matmul ceilings"]["numbers"]
    for name in ("copy_bytes_per_s", "bf16_flop_per_s", "f32_flop_per_s"):
        expect(numbers[name] > 0, True, f"{name} {numbers[name]}")
    with open(os.path.join(WORK, "out", "device.json"), encoding="utf-8") as f:
        expect(json.load(f)["deviceVer"], 900, "cuDNN's description")


def roofline():
    script("bench_gpu_limits", CEILINGS)
    write_manifest([], [])
    expect(run("--only", "roofline")[0], 1, "exit status where a ceiling is not known")
    found = {c["name"]: c for c in report()["phases"][0]["checks"]}
    expect(found["schnet batch 128"]["status"], "failed", "no ceiling of f32, of a step with products of f32")
    numbers = found["resnet50 batch 256"]["numbers"]
    expect([k for k in numbers if k[1] == "."], ["1. far forward", "2. near forward"], "order")
    expect(round(numbers["share_of_roofline"], 3), round(3 / 11.25, 3), "share")
    expect("10.000 ms, at least 2.000 ms" in numbers["1. far forward"], True, numbers["1. far forward"])
    write_manifest([], [], ["wrong"])
    expect(run("--only", "facts,roofline")[0], 1, "exit status without ceilings")
    expect(statuses("facts")["copy and matmul ceilings"], "failed", "a program that fails")


def killed():
    """What was found before is whole."""
    write_manifest(["passes", "hangs"], [])
    p = subprocess.Popen(command("--only", "facts,operations"), env=environment(), cwd=WORK, stdout=subprocess.DEVNULL)
    wait_for(lambda: "operations" in [x["name"] for x in report()["phases"]] and statuses("operations").get("passes"))
    p.send_signal(signal.SIGKILL)
    p.wait()
    expect(report()["status"], "running", "status of what was killed")
    expect([x["status"] for x in report()["phases"]], ["passed", "running"], "phases")
    text = open(os.path.join(WORK, "out", "report.txt"), encoding="utf-8").read()
    expect("passed        passes" in text, True, text)


def wait_for(seen):
    end = time.monotonic() + 20
    while not seen():
        if time.monotonic() > end:
            sys.exit(f"nothing was seen: {report()}")
        time.sleep(0.02)


def nothing_passes_what_is_missing():
    write_manifest([], [])
    os.unlink(os.path.join(ROOT, "bin", "bench_gpu_limits"))
    expect(run("--only", "roofline,operations")[0], 1, "exit status where all is missing")
    expect(report()["status"], "not available", "status")
    status, said = run("--only", "facts,harness", "--minutes", "1")
    expect((status, report()["status"]), (0, "passed"), said + "exit status where some passes and the rest is missing")
    expect(statuses("harness"), {"idle": "passed", "under load": "not available"}, "harness")
    expect(statuses("facts")["doctor"], "passed", "doctor")
    write_manifest([], ["resnet50"])
    run("--only", "harness", "--minutes", "1")
    expect(statuses("harness"), {"idle": "passed", "under load": "failed"}, "a counter that is not the integral")


def wrong_use():
    status, said = run("--only", "fats")
    expect(status, 2, "exit status of a wrong --only")
    expect("expected some of facts, operations" in said, True, said)


try:
    make_archive()
    for case in (no_gpu, operations, phases_end_on_time, models, sanitizer, full_size, ceilings, roofline, killed, nothing_passes_what_is_missing, wrong_use):
        case()
        print(case.__name__)
finally:
    shutil.rmtree(WORK, ignore_errors=True)
