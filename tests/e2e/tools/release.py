#!/usr/bin/env python3
"""packaging/release in a small repository of its own: release.py SOURCE WATTLAW"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

source, wattlaw = map(os.path.abspath, sys.argv[1:3])
NEWS = "# News\n\n## 1.2.3 ({})\n\n- A thing.\n\n### Fixed\n\n- Another.\n\n## 1.2.2 (2026-01-01)\n\n- Of old.\n"
for tool in ("git", "dpkg-query"):
    if not shutil.which(tool):
        print(f"SKIP: no {tool}")
        sys.exit(77)


def run(*command, status=0):
    r = subprocess.run(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if r.returncode != status:
        sys.exit(f"{' '.join(command)}: status {r.returncode}, expected {status}\n{r.stdout}")
    return r.stdout


def write(name, text):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)


def commit():
    run("git", "add", "-A")
    run("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "t")


def refused(expected, *arguments):
    out = run("packaging/release", *arguments, "out", status=1)
    if expected not in out or os.path.exists("out"):
        sys.exit(f"expected a refusal with '{expected}':\n{out}")


def digest(name):
    with open(name, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name in ("packaging/release", "packaging/sbom", "tools/lib.sh"):
        os.makedirs(os.path.dirname(name), exist_ok=True)
        shutil.copy(os.path.join(source, name), name)
    write("meson.build", "project('wattlaw', 'c',\n  version: '1.2.3',\n)\n")
    write("NEWS.md", NEWS.format("not released"))
    write(".gitignore", "/build/\n/out/\n/dist-results/\n")
    run("git", "init", "-q", ".")
    commit()
    refused("build/src/cmd/wattlaw is missing", "--draft")
    os.makedirs("build/src/cmd")
    os.symlink(wattlaw, "build/src/cmd/wattlaw")
    refused("not released")
    write("NEWS.md", NEWS.format("2026-12-01"))
    refused("not committed")
    commit()
    os.mkdir("dist-results")
    write("dist-results/wattlaw.whl", "a wheel")
    sums = []
    for _ in range(2):
        run("packaging/release", "dist-results")
        sums.append(digest("dist-results/SHA256SUMS"))
        os.utime("NEWS.md")
    if sums[0] != sums[1]:
        sys.exit("a second release of the same commit differs")
    os.chdir("dist-results")
    run("sha256sum", "--check", "--strict", "SHA256SUMS")
    with open("SHA256SUMS", encoding="utf-8") as f:
        listed = sorted(line.split("  ")[1].strip() for line in f)
    expected = ["NOTES.md", "wattlaw-1.2.3.spdx.json", "wattlaw-1.2.3.tar.gz", "wattlaw.whl"]
    if listed != expected or sorted(os.listdir(".")) != sorted(expected + ["SHA256SUMS"]):
        sys.exit(f"SHA256SUMS lists {listed}; there are {os.listdir('.')}")
    with open("NOTES.md", encoding="utf-8") as f:
        notes = f.read()
    if not notes.startswith("- A thing.") or "Another" not in notes or "Of old" in notes:
        sys.exit(f"NOTES.md is not the section of 1.2.3:\n{notes}")
    with tarfile.open("wattlaw-1.2.3.tar.gz") as tar:
        if not {"wattlaw-1.2.3/packaging/release", "wattlaw-1.2.3/ui/chart.min.js"} <= set(tar.getnames()):
            sys.exit(f"the archive has {tar.getnames()}")
    with open("wattlaw-1.2.3.spdx.json", encoding="utf-8") as f:
        sbom = json.load(f)
    packages = {p["name"]: p for p in sbom["packages"]}
    for name in ("libsqlite3-0", "libjansson4", "liblapacke", "libjs-chart.js"):
        have = run("dpkg-query", "-W", "-f", "${Version}", name)
        if packages[name]["versionInfo"] != have:
            sys.exit(f"SBOM: {name} {packages[name]['versionInfo']}, installed {have}")
    if "Expat" not in packages["libjansson4"]["licenseComments"]:
        sys.exit(packages["libjansson4"])
    ids = {p["SPDXID"] for p in sbom["packages"]} | {"SPDXRef-DOCUMENT"}
    loose = [r for r in sbom["relationships"] if not {r["spdxElementId"], r["relatedSpdxElement"]} <= ids]
    programs = [p for p in sbom["packages"] if p.get("checksums")]
    if loose or [p["checksums"][0]["checksumValue"] for p in programs] != [digest(wattlaw)]:
        sys.exit(f"SBOM: {loose} {programs}")
    os.chdir("..")
    write("meson.build", "project('wattlaw', 'c',\n  version: '2.0.0',\n)\n")
    refused("no section '## 2.0.0'", "--draft")
    print("release: archive, SBOM, notes and checksums")
    os.chdir("/")
