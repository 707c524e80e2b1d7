"""wattlaw demo: a sweep of power caps on simulated GPUs, with every number marked so: demo.py WATTLAW INI"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

wattlaw, ini = map(os.path.abspath, sys.argv[1:3])
ENV = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "WATTLAW_SIMULATOR")}


def expect(condition, *what):
    if not condition:
        sys.exit("\n".join(map(str, what)))


def run(folder, *args, status=0):
    r = subprocess.run([wattlaw, *args], cwd=folder, env=ENV, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    expect(r.returncode == status, args, r.returncode, r.stdout, r.stderr)
    return r


def an_interrupted_demo_leaves_its_experiment(folder):
    p = subprocess.Popen([wattlaw, "demo"], cwd=folder, env=ENV, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         start_new_session=True)
    for line in p.stdout:
        if line.startswith("1/27 "):
            break
    os.killpg(p.pid, signal.SIGINT)
    out = p.communicate(timeout=120)[0]
    expect(p.returncode == 130, p.returncode, out)
    with open(os.path.join(folder, "wattlaw-demo", "demo.ini"), encoding="utf-8") as f:
        written = f.read()
    with open(ini, encoding="utf-8") as f:
        source = f.read()
    expect("SIMULATOR/" not in written and "/libnvidia-ml-fake.so" in written, written)
    expect(re.sub(r"[^ ]*/(libnvidia|fake-load)", r"SIMULATOR/\1", written) == source, written)
    return written


def a_small_demo_is_simulated_throughout(folder, text):
    """A folder with an experiment is continued: here a smaller one."""
    os.mkdir(os.path.join(folder, "small"))
    for old, new in (("repeats = 3", "repeats = 2"), ("workers = 1,2,4", "workers = 4"), ("200,300,400", "200,400"), ("epochs = 3", "epochs = 2")):
        text = text.replace(old, new)
    with open(os.path.join(folder, "small", "demo.ini"), "w", encoding="utf-8") as f:
        f.write(text)
    out = run(folder, "demo", "--folder", "small").stdout
    expect("4 of 4 runs of campaign demo are done" in out and "simulated (simulated): Use 4 workers" in out, out)
    for line in out.splitlines():
        expect(not re.search(r"\d (k|m)?[JW]\b", re.sub(r"cap \d+ W", "", line)) or "simulated" in line, "an amount that is not marked simulated:", line)
    shown = json.loads(run(folder, "show", "small/results", "--json").stdout)
    expect(len(shown["runs"]) == 4 and all(r["simulated"] and r["energy_j"] > 0 for r in shown["runs"]), shown)
    expect(not os.path.exists(os.path.join(folder, "wattlaw.db")), os.listdir(folder))


def other_folders_are_left_alone(folder):
    os.mkdir(os.path.join(folder, "mine"))
    r = run(folder, "demo", "--folder", "mine", status=1)
    expect("mine exists and is not the folder of a demo" in r.stderr and not os.listdir(os.path.join(folder, "mine")), r.stderr)
    r = run(folder, "demo", "--folder", "a b", status=1)
    expect("does not work in a path with ' '" in r.stderr, r.stderr)
    run(folder, "demo", "now", status=2)
    theirs = os.path.join(folder, "theirs")  # an experiment runs commands
    os.mkdir(theirs)
    with open(os.path.join(theirs, "demo.ini"), "w", encoding="utf-8") as f:
        f.write("[launch]\ncommand = touch ran\n")
    os.chmod(theirs, 0o777)
    r = run(folder, "demo", "--folder", "theirs", status=1)
    expect("theirs/demo.ini: other users can write to it" in r.stderr and os.listdir(theirs) == ["demo.ini"], r.stderr)


with tempfile.TemporaryDirectory(prefix="wattlaw-demo-") as at:
    begin = time.monotonic()
    other_folders_are_left_alone(at)
    a_small_demo_is_simulated_throughout(at, an_interrupted_demo_leaves_its_experiment(at))
    print(f"demo: {time.monotonic() - begin:.1f} s")
