"""The archive of gpu-check: programs, tests, kernels, libraries, data sets and cpu's loss curves."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from gpu_check import curves
from gpu_check.programs import Programs, run

NAME, MAX_BYTES = "wattlaw-gpu-check", 60_000_000
PROGRAMS = ("src/cmd/wattlaw", "src/cmd/wattlaw-train", "bench/bench_train_step", "bench/bench_molecules",
            "bench/bench_gpu_limits")
GLIBC = re.compile(r"(ld-linux|libc\.so|libm\.so|libdl\.so|libpthread\.so|librt\.so|libresolv\.so|libutil\.so|libmvec\.so)")
TESTS = re.compile(r"gpu-((image-|sequence-)?ops|rows|bases|models)")  # of the build, which also run on a real GPU, without the fakes
DATA = {"images": ("imagenet", "--classes", 4, "--images", 160, "--val-images", 32, "--image-size", 64),
        "molecules": ("qm9", "--molecules", 200), "bench": ("qm9", "--molecules", 128),  # bench: as bench/gpu_step.py takes
         "tokens": ("wikitext", "--sequence", 32, "--words", 8000),
        "weather": ("era5", "--times", 180, "--years", 1, "--height", 16, "--width", 32)}


class Failure(Exception):
    pass


def capture(argv):
    r = run(argv, 600)
    if r.status:
        raise Failure(f"{os.path.basename(argv[0])}: {r.why()}")
    return r.out


def copy_program(stage, path):
    to = os.path.join(stage, "bin", os.path.basename(path))
    shutil.copy2(path, to)
    if shutil.which("strip"):
        run(["strip", "-g", to], 60)
    return to


def libraries(programs):
    """Paths of the shared libraries that the programs load."""
    found = {}
    for program in programs:
        for name, path in re.findall(r"(\S+) => (/\S+)", capture(["ldd", program])):
            found[name] = path
        loader = re.search(r"^\s*(/\S*ld-linux\S*)", capture(["ldd", program]), re.M)
        if loader:
            found[os.path.basename(loader.group(1))] = loader.group(1)
    return found


def copy_libraries(stage, programs):
    for name, path in libraries(programs).items():
        shutil.copy(path, os.path.join(stage, "lib", *(["glibc"] if GLIBC.match(name) else []), name))


def tests_of(build):
    """[{name, program, args, env, limit_s, small}], and the paths of their programs."""
    listed = json.loads(capture(["meson", "introspect", "--tests", build]))
    tests, paths = [], set()
    for t in listed:
        if not TESTS.fullmatch(t["name"]):
            continue
        program, *args = [x for x in t["cmd"] if os.path.basename(x) != "on-fakes"]
        paths.add(os.path.join(build, program))
        of_ops = program.endswith("test_ops")
        tests.append({"name": t["name"], "program": os.path.basename(program), "args": args + (["all"] if of_ops else []),
                      "env": t["env"], "limit_s": 4 * t["timeout"], "small": True, "smallest": args + (["1"] if of_ops else [])})
    return tests, sorted(paths)


def copy_kernels(stage, build):
    for folder, _, files in os.walk(build):
        if "kernels.fatbin" in files:
            shutil.copy(os.path.join(folder, "kernels.fatbin"), stage)
            return
    raise Failure(f"kernels.fatbin is missing below {build}: nvcc makes it (ninja -C {build} kernels)")


def make_data(programs, stage):
    """{name: path below data/}"""
    at = {}
    for name, (kind, *args) in DATA.items():
        folder = os.path.join(stage, "data", name)
        r = programs.run("wattlaw-train", "data", kind, "--synthetic", folder, *args, "--quiet", limit_s=300)
        if r.status:
            raise Failure(f"data set {name}: {r.why()}")
        packed = [f for f in os.listdir(folder) if f.endswith(".molecules")]
        at[name] = os.path.join(name, packed[0]) if packed else name
        for f in os.listdir(folder) if name == "molecules" else []:
            if f.endswith(".xyz"):  # packed
                os.unlink(os.path.join(folder, f))
    return at


def train(programs, args, what):
    loss, failed = curves.train(programs, args, 600)
    if failed:
        raise Failure(f"{what}: {failed.why()}")
    return loss


def make_curve(programs, stage, model, data):
    path, golden = os.path.join(stage, "data", data), {"model": model, "data": data, "loss": {}}
    for precision, more in (("f32", []), ("bf16", ["--allow-slow-bf16"])):
        golden["loss"][precision] = train(programs, [*curves.arguments(path, model, precision, "cpu"), *more], f"{model} {precision}")
    golden["checkpoint"] = os.path.join("checkpoints", model)
    folder = os.path.join(stage, golden["checkpoint"])
    constant = ["--lr-schedule", "constant", "--checkpoint-dir", folder]
    train(programs, [*curves.arguments(path, model, "f32", "cpu", 1), *constant], f"{model}, checkpoint")
    kept = tempfile.mkdtemp(prefix="gpu-check-")
    try:
        again = os.path.join(kept, "c")
        shutil.copytree(folder, again)
        resumed = [*curves.arguments(path, model, "f32", "cpu", 2), "--lr-schedule", "constant", "--checkpoint-dir", again, "--resume"]
        golden["resumed"] = train(programs, resumed, f"{model}, resumed")
    finally:
        shutil.rmtree(kept, ignore_errors=True)
    return golden


def copy_scripts(stage):
    tools = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    shutil.copy2(os.path.join(tools, "gpu-check"), stage)
    os.makedirs(os.path.join(stage, "gpu_check"))
    for name in os.listdir(os.path.join(tools, "gpu_check")):
        if name.endswith(".py"):
            shutil.copy(os.path.join(tools, "gpu_check", name), os.path.join(stage, "gpu_check"))
    bench = os.path.join(os.path.dirname(tools), "bench")
    os.makedirs(os.path.join(stage, "bench"))
    for name in ("gpu_step.py", "torch_gpu_step.py", "torch_models.py", "torch_bert.py", "torch_fourcastnet.py",
                 "molecules.py", "train_alternate.py"):
        shutil.copy(os.path.join(bench, name), os.path.join(stage, "bench"))
    os.makedirs(os.path.join(stage, "tools", "oracle"))  # where bench/molecules.py looks
    for name in ("molecules.py", "rules.py"):
        shutil.copy(os.path.join(tools, "oracle", name), os.path.join(stage, "tools", "oracle"))


def stage_all(stage, build):
    for folder in ("bin", "lib/glibc", "data", "checkpoints"):
        os.makedirs(os.path.join(stage, folder))
    copy_scripts(stage)
    tests, test_paths = tests_of(build)
    paths = [os.path.join(build, p) for p in PROGRAMS]
    for path in paths:
        if not os.path.exists(path):
            raise Failure(f"{path} is missing: build it first (ninja -C {build})")
    copied = [copy_program(stage, p) for p in paths + test_paths]
    copy_libraries(stage, copied)
    copy_kernels(stage, build)
    programs = Programs(stage)
    data = make_data(programs, stage)
    found = [make_curve(programs, stage, model, data[kind]) for model, kind in curves.MODELS.items()]
    manifest = {"version": 1, "wattlaw": capture([paths[0], "--version"]).strip(), "tests": tests, "curves": found}
    with open(os.path.join(stage, "manifest.json"), "w", encoding="utf-8") as f:
        json.dump(manifest, f, indent=1)
    return manifest


def main(out, build):
    top = tempfile.mkdtemp(prefix="gpu-check-")
    try:
        manifest = stage_all(os.path.join(top, NAME), os.path.abspath(build))
        with tarfile.open(out + ".new", "w:xz") as tar:
            tar.add(os.path.join(top, NAME), NAME)
        size = os.path.getsize(out + ".new")
        if size > MAX_BYTES:
            os.unlink(out + ".new")
            raise Failure(f"the archive would have {size / 1e6:.1f} MB, more than {MAX_BYTES / 1e6:.0f} MB")
        os.replace(out + ".new", out)
        print(f"{out}: {size / 1e6:.1f} MB, {len(manifest['tests'])} tests, {len(manifest['curves'])} models")
        return 0
    except (Failure, OSError, subprocess.SubprocessError) as error:
        print(f"gpu-check: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(top, ignore_errors=True)
