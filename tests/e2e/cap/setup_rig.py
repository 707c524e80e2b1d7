"""`wattlaw setup --system` in the tree of a small system image."""
import os
import subprocess
import sys
import tempfile

from rig import PATIENCE_S

wattlaw = os.path.abspath(sys.argv[1])
PROGRAM = "/usr/bin/wattlaw"
UNITS = "/etc/systemd/system"
RECORD = "/etc/wattlaw/setup.json"


def setup(root, *options, stdin=""):
    return subprocess.run([wattlaw, "setup", "--system", "--root", root, "--program", PROGRAM, *options], input=stdin, text=True, capture_output=True,
                          umask=0o077, check=False, timeout=PATIENCE_S)


def tree(root):
    """Every path with its type, mode and content."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            text = os.readlink(path) if os.path.islink(path) else open(path, encoding="utf-8").read() if os.path.isfile(path) else None
            found[path] = (mode, text)
    return found


class Image:
    """A small system image; `files` are there before."""

    def __init__(self, **files):
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-image-")
        self.path = os.path.join(self.folder.name, "image")
        os.makedirs(os.path.join(self.path, "etc/systemd/system"))
        for path, text in files.items():
            self.write(path, text)

    def write(self, path, text):
        path = self.path + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()
