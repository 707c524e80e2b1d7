"""Shared by the end-to-end tests of wattlaw-train, SCRIPT PROGRAM [...] CASE: a temporary folder, in which they run,
the program, its JSON output and its error messages. Exit 0: passed, 77: cannot run here, 1: failed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TRAIN = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp(prefix="wl-train-")
CACHE = os.path.join(WORK, "cache")
ENV = dict(os.environ, XDG_CACHE_HOME=CACHE, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
           PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe", PRTE_MCA_hwloc_default_binding_policy="none")
# Open MPI unloads its plug-ins before the leak check, so their leaks cannot be distinguished from ours.
MPIRUN = ["env", "LSAN_OPTIONS=detect_leaks=0", "mpirun", "-np", "2"]


def run(*args, before=(), env=None):
    """The finished process of wattlaw-train with these arguments."""
    return subprocess.run([*before, TRAIN, *map(str, args)], capture_output=True, text=True, cwd=WORK,
                          env=dict(ENV, **(env or {})))


def done(*args, **how):
    """The JSON that a command printed."""
    p = run(*args, "--json", **how)
    assert p.returncode == 0, f"status {p.returncode}: {p.stderr}"
    return json.loads(p.stdout)


def refused(status, words, *args):
    """It ends with this status and a message with these words, the only line unless it is a usage error."""
    p = run(*args)
    assert p.returncode == status and words in p.stderr, f"status {p.returncode}: {p.stderr}\nexpected {words}"
    assert status == 2 or len(p.stderr.splitlines()) == 1, f"more than one message: {p.stderr}"


def close(a, b, rel=1e-5):
    return abs(a - b) <= rel * abs(b)


def main(*cases):
    try:
        next(c for c in cases if c.__name__ == sys.argv[-1])()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
