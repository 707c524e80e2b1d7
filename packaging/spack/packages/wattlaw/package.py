# From the folder of an unpacked release:  spack repo add packaging/spack; spack dev-build wattlaw@main
# How far it has been run: packaging/README.md.
from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:  # before Spack 1.0 it was in spack.package
    pass


class Wattlaw(MesonPackage):
    """Measures data-parallel training jobs (time, joules, utilisation), fits scaling laws and recommends settings."""

    license("Apache-2.0")

    version("main")  # of a published release: version("0.1.0", sha256=...) and its url

    variant("train", default=True, description="wattlaw-train and its engine")
    variant("mpi", default=True, when="+train", description="ranks on several nodes")
    variant("onednn", default=True, when="+train", description="the engine's cpu back-end")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("sqlite@3.37:")
    depends_on("libinih")
    depends_on("utf8proc")
    depends_on("jansson")
    depends_on("cminpack")
    depends_on("netlib-lapack+lapacke")  # opened at the first fit: found by the program's RPATH
    with when("+train"):
        depends_on("hdf5")
        depends_on("libjpeg-turbo")
    depends_on("mpi", when="+mpi")
    depends_on("onednn cpu_runtime=omp", when="+onednn")

    def meson_args(self):
        def feature(name, variant):
            return "-D%s=%s" % (name, "enabled" if self.spec.satisfies(variant) else "disabled")

        return [feature("train", "+train"), feature("mpi", "+mpi"), feature("dnnl", "+onednn"), "-Dgpu=disabled", "-Dtests=disabled",
                "-Dpython.purelibdir=" + self.modules()]

    def modules(self):
        """The module is for any Python, and found whatever layout the one in use has."""
        return join_path(self.prefix.lib, "python")

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.modules())
