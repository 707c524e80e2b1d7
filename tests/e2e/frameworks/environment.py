"""A Python environment with training frameworks from PyPI, for the tests of this folder."""
import os
import subprocess
import sys


def environment(folder, packages):
    """PATH with a python3 that has the packages, and nothing that tunes numerical libraries for this machine. Ends the test
    with status 77 where they cannot be installed."""
    subprocess.run([sys.executable, "-m", "venv", folder + "/venv"], check=True)
    pip = [folder + "/venv/bin/pip", "--disable-pip-version-check"]
    installed = subprocess.run([*pip, "install", "--quiet", *packages], capture_output=True, text=True, check=False)
    if installed.returncode:
        print("SKIP: the frameworks cannot be installed:", installed.stderr.strip().splitlines()[-1])
        sys.exit(77)
    names = {package.split("==")[0] for package in packages} | {"tqdm"}
    freeze = subprocess.run([*pip, "freeze"], capture_output=True, text=True, check=True).stdout
    print(*(line for line in freeze.split() if line.split("==")[0] in names))
    left_out = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONUNBUFFERED")
    env = {name: value for name, value in os.environ.items() if name not in left_out}
    return dict(env, PATH=folder + "/venv/bin:" + env["PATH"], TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")
