"""The wheel of wattlaw: the Python package with the program inside, which meson builds from the source tree around this folder. A source
distribution has that tree in its folder source/.

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
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "source") if os.path.isdir(os.path.join(HERE, "source")) else os.path.dirname(HERE)
OPTIONS = "--buildtype=release -Dtrain=disabled -Dtests=disabled -Dprefer_static=true -Dblas=linked -Dserve=disabled -Dtop=disabled"


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


class Sources(sdist):
    """With all that git has of the tree, so that pip builds it without another file."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        if os.path.exists(os.path.join(SOURCE, ".git")):
            listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
            names = [name for name in listed.split("\0") if name and os.path.isfile(os.path.join(SOURCE, name))]
        else:  # an archive of it, or a source distribution
            names = [os.path.relpath(os.path.join(at, name), SOURCE) for at, _, here in os.walk(SOURCE) if ".egg-info" not in at and base_dir not in at
                     for name in here]
        for name in names:
            to = os.path.join(base_dir, "source", name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy2(os.path.join(SOURCE, name), to)


class Wheel(bdist_wheel):
    """For this platform, and any Python: the program does not link it."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Platform(Distribution):
    """It belongs where compiled modules do."""

    def has_ext_modules(self):
        return True


# The license is here, since setuptools before 77 takes none but a table from pyproject.toml, which newer ones deprecate.
setup(version=version(), license="Apache-2.0", packages=["wattlaw"], distclass=Platform, cmdclass={"build_py": Build, "sdist": Sources, "bdist_wheel": Wheel})
