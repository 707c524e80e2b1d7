"""A folder with a store, for tests of import."""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile


def pandas_or_skip():
    """The module with which a test reads the same files independently."""
    try:
        import pandas
    except ImportError:
        print("SKIP: no pandas (Debian: python3-pandas)")
        sys.exit(77)
    return pandas


def expect(condition, what, run=None):
    if not condition:
        sys.exit(what if run is None else f"{what}\nexit {run.returncode}\n{run.stdout}\n{run.stderr}")


class Workspace:
    def __init__(self, wattlaw):
        self.wattlaw = os.path.abspath(wattlaw)
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-import-")
        self.path = self.folder.name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def at(self, name):
        return os.path.join(self.path, name)

    def write(self, name, content):
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return name

    def run(self, *args, env=None, **options):
        return subprocess.run([self.wattlaw, *map(str, args)], cwd=self.path, env={**os.environ, **(env or {})}, text=True, capture_output=True, check=False, **options)

    def imported(self, *args, **options):
        """What `import --json` says, as a dict, and the finished process."""
        r = self.run("import", "--json-file", "i.json", *args, **options)
        expect(r.returncode == 0, f"import {args}", r)
        with open(self.at("i.json"), encoding="utf-8") as f:
            return json.load(f), r

    def refused(self, *args, why, status=1, **options):
        r = self.run("import", *args, **options)
        expect(r.returncode == status and why in r.stderr, f"import {args}: expected exit {status} and: {why}", r)
        return r

    def rows(self, sql, store="wattlaw.db"):
        with sqlite3.connect(self.at(store)) as db:
            return db.execute(sql).fetchall()
