#!/usr/bin/env python3
"""What `meson install` installs is whole and runs without the build folder: install.py SOURCE BUILD"""
import glob
import os
import re
import subprocess
import sys
import tempfile

source, build = map(os.path.abspath, sys.argv[1:3])
WANTED = ["bin/wattlaw", "include/wattlaw/mark.h", "share/pkgconfig/wattlaw.pc", "lib/tmpfiles.d/wattlaw.conf", "share/wattlaw/slurm-epilog.sh",
          "share/wattlaw/cards/h100-sxm5.json", "share/wattlaw/examples/pytorch_ddp.py", "share/wattlaw/examples/huber2025/resnet50.csv"]
NOT_INSTALLED = {"simulated-caps.ini",  # its simulated driver is in the build folder alone
                 "demo.ini"}  # part of the program


def run(*command, **options):
    r = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    if r.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout}")
    return r.stdout


def option(name):
    return re.search(rf'"name": "{name}".*?"value": "([^"]*)"', OPTIONS, re.S).group(1)


OPTIONS = run("meson", "introspect", "--buildoptions", build)
with tempfile.TemporaryDirectory() as stage:
    run("meson", "install", "-C", build, "--no-rebuild", "--destdir", stage)
    prefix = stage + option("prefix")
    missing = [name for name in WANTED if not os.path.exists(os.path.join(prefix, name))]
    made = {os.path.basename(p) for p in glob.glob(source + "/experiments/*.ini")} - NOT_INSTALLED
    installed = {os.path.basename(p) for p in glob.glob(prefix + "/share/wattlaw/experiments/*.ini")}
    missing += [f"experiments/{name}" for name in made ^ installed]
    # units of the cap service: what setup would write, word for word
    image = os.path.join(stage, "image")
    os.makedirs(image)
    run(prefix + "/bin/wattlaw", "setup", "--system", "--yes", "--root", image, "--program", option("prefix") + "/bin/wattlaw")
    for name in "wattlaw-caps.service", "wattlaw-caps.socket":
        with open(f"{prefix}/lib/systemd/system/{name}", encoding="utf-8") as a, open(f"{image}/etc/systemd/system/{name}", encoding="utf-8") as b:
            if a.read() != b.read():
                sys.exit(f"{name} is not what wattlaw setup --system writes")
    modules = glob.glob(prefix + "/lib*/python3*/*-packages/wattlaw/__init__.py")
    if missing or len(modules) != 1:
        sys.exit(f"not as it should be installed: {missing}, modules {modules}")
    for name in glob.glob(prefix + "/share/wattlaw/experiments/*.ini"):
        with open(name, encoding="utf-8") as f:
            if re.search(r"^[^#\n]*\bbuild/", f.read(), re.M):
                sys.exit(f"{name} names the build folder")
    programs = glob.glob(prefix + "/bin/wattlaw*")
    for program in programs:
        if build in run("readelf", "-d", program):
            sys.exit(f"{program} looks for libraries in the build folder")
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "WATTLAW_FAKE_NVML")}
    env |= {"PATH": prefix + "/bin:" + os.environ["PATH"], "PYTHONPATH": os.path.dirname(os.path.dirname(modules[0])),
            "PKG_CONFIG_PATH": prefix + "/share/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": stage, "HOME": stage}
    train = ["--train"] if os.path.exists(prefix + "/bin/wattlaw-train") else []
    print(run(source + "/packaging/try-installed", *train, env=env).splitlines()[-1], *programs)
