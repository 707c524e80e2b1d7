#!/usr/bin/env python3
"""tools/gpu-check run over the fake libcuda, on a folder like an unpacked archive with programs that are scripts:

    gpu_check.py GPU_CHECK FAKE_LIBCUDA

Statuses, exit codes, time limits, and what is written when."""
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

CHECK, DRIVER = (os.path.abspath(x) for x in sys.argv[1:])
WORK = tempfile.mkdtemp(prefix="gpu-check-test-")
ROOT = os.path.join(WORK, "archive")

TRAIN = """
import os, sys
a = sys.argv[1:]
if "--help" in a:
    print("  --backend auto|cpu|gpu  x\\n  --precision f32|bf16  x")
    sys.exit(0)
if a[0] == "vgg16":
    print("wattlaw-train: relu: back-end gpu does not have this operation yet; back-end cpu has it", file=sys.stderr)
    sys.exit(1)
if a[0] == "bert":
    print("error train: the GPU has fallen off the bus", file=sys.stderr)
    sys.exit(1)
far = 1.5 if a[0] == "dimenet" else 1.00001
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
TESTS = {"passes": "pass", "fails": "import sys; print('conv2d: 3 differ', file=sys.stderr); sys.exit(1)",
         "hangs": "import time; time.sleep(60)", "skips": "import sys; sys.exit(77)",
         "sees_fakes": "import os, sys; sys.exit('WATTLAW_FAKE_GPU' in os.environ and os.environ['WATTLAW_FAKE_GPU'] == 'of the build')"}


def script(name, text):
    path = os.path.join(ROOT, "bin", name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!{sys.executable}\n{text}")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def test_entry(name):
    return {"name": name, "program": name, "args": [], "env": {"WATTLAW_FAKE_GPU": "of the build"}, "limit_s": 1, "small": True}


def curve(model):
    loss = [3.0 / step for step in range(1, 5)]
    return {"model": model, "data": "none", "loss": {"f32": loss, "bf16": loss}, "resumed": loss, "checkpoint": "checkpoints"}


def make_archive():
    tools = os.path.dirname(CHECK)
    for folder in ("bin", "checkpoints"):
        os.makedirs(os.path.join(ROOT, folder))
    shutil.copy2(CHECK, ROOT)
    shutil.copytree(os.path.join(tools, "gpu_check"), os.path.join(ROOT, "gpu_check"), ignore=shutil.ignore_patterns("__pycache__"))
    script("wattlaw-train", TRAIN)
    script("wattlaw", WATTLAW)
    for name, text in TESTS.items():
        script(name, text)


def write_manifest(tests, models):
    with open(os.path.join(ROOT, "manifest.json"), "w", encoding="utf-8") as f:
        json.dump({"tests": [test_entry(t) for t in tests], "curves": [curve(m) for m in models]}, f)


def run(*args, driver=DRIVER):
    env = dict(os.environ, CUDA_DRIVER_LIBRARY=driver, PYTHONDONTWRITEBYTECODE="1")
    p = subprocess.run([sys.executable, os.path.join(ROOT, "gpu-check"), "run", "--out", os.path.join(WORK, "out"), *args],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=env, cwd=WORK, timeout=60)
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
    write_manifest([], ["resnet50", "vgg16", "dimenet", "bert"])
    expect(run("--only", "models")[0], 1, "exit status")
    found = statuses("models")
    expect({k: v for k, v in found.items() if "f32" in k}, {"resnet50 f32": "passed", "vgg16 f32": "not available",
                                                            "dimenet f32": "failed", "bert f32": "failed"}, "f32")
    expect(found["resnet50 bf16"], "passed", "bf16")
    expect(found["resnet50 f16"], "not available", "a precision that --help does not list")
    expect(found["resnet50 from a checkpoint of cpu"], "passed", "resuming")


def nothing_passes_what_is_missing():
    write_manifest([], [])
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
    for case in (no_gpu, operations, phases_end_on_time, models, nothing_passes_what_is_missing, wrong_use):
        case()
        print(case.__name__)
finally:
    shutil.rmtree(WORK, ignore_errors=True)
