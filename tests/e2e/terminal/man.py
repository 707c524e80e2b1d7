#!/usr/bin/env python3
"""There is a manual page for each command, and mandoc finds nothing to warn of: man.py SOURCE WATTLAW [WATTLAW_TRAIN]"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

source, *programs = (os.path.abspath(p) for p in sys.argv[1:])
wrong = []


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
    for program in programs:
        subprocess.run([os.path.join(source, "tools", "make-man"), program, os.path.join(source, "docs", "guide.md"), folder], check=True)
    pages = sorted(f for f in os.listdir(folder) if f.endswith(".1"))
    listed = re.findall(r"'([a-z0-9-]+)'", read(source, "docs", "man", "meson.build"))
    for page in pages:
        name = page[:-2].removeprefix("wattlaw-train-") if page.startswith("wattlaw-train-") else page[:-2].removeprefix("wattlaw-")
        if name not in listed and page not in ("wattlaw.1", "wattlaw-train.1"):
            wrong.append(f"docs/man/meson.build does not install {page}")
    sweep = read(folder, "wattlaw-sweep.1")
    for want in (".Dt WATTLAW-SWEEP 1", "dry-run", "override a key of the experiment", ".Sh GUIDE", "random order", ".Sh EXAMPLES"):
        if want not in sweep:
            wrong.append(f"wattlaw-sweep.1: no {want!r}")
    if os.path.dirname(programs[0]) in "".join(read(folder, page) for page in pages):
        wrong.append("a page names the build folder")
    for given, want in ("0", "January 1, 1970"), ("1735689599", "December 31, 2024"):
        date = subprocess.run([os.path.join(source, "tools", "version-date"), "0.1.0"], capture_output=True, text=True, check=True,
                              env={**os.environ, "SOURCE_DATE_EPOCH": given}).stdout.strip()
        if date != want:
            wrong.append(f"SOURCE_DATE_EPOCH={given}: {date}")
    if not re.match(r"\.Dd [A-Z][a-z]+ \d{1,2}, \d{4}\n", sweep):
        wrong.append(f"wattlaw-sweep.1: its date: {sweep[:40]!r}")
    mandoc = shutil.which("mandoc")
    for page in pages if mandoc else []:
        done = subprocess.run([mandoc, "-Tlint", "-Wwarning", page], cwd=folder, capture_output=True, text=True, check=False)
        if done.stdout or done.returncode:
            wrong.append(done.stdout)
        shown = subprocess.run([mandoc, "-Tutf8", page], cwd=folder, capture_output=True, text=True, check=False).stdout
        shown = re.sub(".\b", "", shown)  # bold is typed twice
        if "SYNOPSIS" not in shown or "SEE ALSO" not in shown:
            wrong.append(f"{page}: {shown[:300]}")
for line in wrong:
    print(line)
if not mandoc:
    print("SKIP: mandoc is not installed; the pages were made")
print(f"{len(pages)} pages, {len(wrong)} wrong")
sys.exit(1 if wrong else 0 if mandoc else 77)
