"""The wheel of wattlaw: the Python package with the program inside, which meson builds from the source tree around this folder.

WATTLAW_MESON_OPTIONS replaces the options of that build: BLAS and LAPACK are in the program, as far as their archives are there.
packaging/build-wheel gives the wheel its manylinux tag.
"""

import os
import re
import shlex
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OPTIONS = "--buildtype=release -Dtrain=disabled -Dtests=disabled -Dprefer_static=true -Dblas=linked"


def version():
    with open(os.path.join(SOURCE, "meson.build"), encoding="utf-8") as f:
        return re.search(r"^ *version: '([^']+)'", f.read(), re.M).group(1)


class Build(build_py):
    """The program, and files to start from, beside the modules."""

    def run(self):
        super().run()
        package = os.path.join(self.build_lib, "wattlaw")
        build = os.path.abspath(os.path.join("build", "meson"))
        if not os.path.exists(os.path.join(build, "build.ninja")):
            subprocess.run(["meson", "setup", build, SOURCE, *shlex.split(os.environ.get("WATTLAW_MESON_OPTIONS", OPTIONS))], check=True)
        subprocess.run(["ninja", "-C", build, "src/cmd/wattlaw"], check=True)
        os.makedirs(os.path.join(package, "bin"), exist_ok=True)
        shutil.copy2(os.path.join(build, "src/cmd/wattlaw"), os.path.join(package, "bin"))
        subprocess.run(["strip", os.path.join(package, "bin", "wattlaw")], check=True)
        shutil.copy2(os.path.join(SOURCE, "LICENSE"), package)


class Wheel(bdist_wheel):
    """For this platform, and any Python: the program does not link it."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Platform(Distribution):
    """It belongs where compiled modules do."""

    def has_ext_modules(self):
        return True


setup(version=version(), packages=["wattlaw"], distclass=Platform, cmdclass={"build_py": Build, "bdist_wheel": Wheel})
