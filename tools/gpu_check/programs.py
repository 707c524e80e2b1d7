"""How gpu-check runs programs: with a time limit, as groups that are killed whole, and from an archive with its own libraries."""
import ctypes
import os
import signal
import subprocess
import sys
import time

LOADER = os.path.join("lib", "glibc", "ld-linux-x86-64.so.2")
# Variables that lead tests of the build to its fakes; a real GPU needs none.
FAKES = ("CUDA_DRIVER_LIBRARY", "FAKE_LIBCUDA", "WATTLAW_KERNELS", "WATTLAW_CUDA_PATH",
         "WATTLAW_FAKE_GPU", "WATTLAW_FAKE_NCCL", "WATTLAW_FAKE_CUDA", "WATTLAW_FAKE_NVML")
TAIL = 400  # characters of a message
PR_SET_PDEATHSIG = 1  # linux/prctl.h
LIBC = ctypes.CDLL(None)


class Result:
    def __init__(self, status, out, err, time_s, timed_out):
        self.status, self.out, self.err, self.time_s, self.timed_out = status, out, err, time_s, timed_out

    def why(self):
        """One line: how it ended."""
        if self.timed_out:
            return f"no end within its limit of {self.time_s:.0f} s"
        said = " ".join((self.err.strip() or self.out.strip()).split())
        how = f"signal {-self.status}" if self.status < 0 else f"exit status {self.status}"
        return f"{how}: ...{said[-TAIL:]}" if len(said) > TAIL else f"{how}: {said}" if said else how


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def die_with(parent):
    """In a child: a program that outlived gpu-check, killed, would keep the GPU busy."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # killed before


def run(argv, limit_s, env=None, cwd=None, text=""):
    """`text`: its standard input."""
    start, me = time.monotonic(), os.getpid()
    try:
        p = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             universal_newlines=True, errors="replace", start_new_session=True,
                             preexec_fn=lambda: die_with(me))
    except OSError as error:
        return Result(127, "", str(error), 0.0, False)
    try:
        out, err = p.communicate(text, timeout=max(limit_s, 0.01))
        return Result(p.returncode, out, err, time.monotonic() - start, False)
    except subprocess.TimeoutExpired:
        kill_group(p)
        out, err = p.communicate()
        return Result(-signal.SIGKILL, out, err, time.monotonic() - start, True)
    except BaseException:
        kill_group(p)
        raise


class Programs:
    """Those of an archive."""

    def __init__(self, root):
        self.root = root
        self.env = dict(os.environ, OMP_WAIT_POLICY="passive", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        kernels = self.path("kernels.fatbin")
        if os.path.exists(kernels) and "WATTLAW_KERNELS" not in self.env:
            self.env["WATTLAW_KERNELS"] = kernels
        self.prefix = []
        if os.path.isdir(self.path("lib")):
            self.choose_libraries()

    def path(self, *names):
        return os.path.join(self.root, *names)

    def choose_libraries(self):
        """The machine's C library where it is as new as ours, else the archive's, through its loader."""
        self.env["LD_LIBRARY_PATH"] = self.path("lib")
        if run([self.path("bin", "wattlaw"), "--version"], 10, self.env).status == 0:
            return
        del self.env["LD_LIBRARY_PATH"]
        self.prefix = [self.path(LOADER), "--library-path", f"{self.path('lib', 'glibc')}:{self.path('lib')}"]

    def has(self, name):
        return os.access(self.path("bin", name), os.X_OK)

    def command(self, name, *args):
        return [*self.prefix, self.path("bin", name), *map(str, args)]

    def run(self, name, *args, limit_s, env=None, cwd=None, text=""):
        return run(self.command(name, *args), limit_s, {**self.env, **(env or {})}, cwd, text)


DRIVER = """
import ctypes, os, sys
try:
    cuda = ctypes.CDLL(os.environ.get("CUDA_DRIVER_LIBRARY") or "libcuda.so.1")
except OSError as error:
    sys.exit(f"NVIDIA's driver is missing: {error}")
rc, n = cuda.cuInit(0), ctypes.c_int(0)
if rc:
    sys.exit(f"libcuda: cuInit gives {rc}")
rc = cuda.cuDeviceGetCount(ctypes.byref(n))
if rc or not n.value:
    sys.exit(f"libcuda: cuDeviceGetCount gives {rc} and {n.value} GPUs")
for i in range(n.value):
    name, device = ctypes.create_string_buffer(96), ctypes.c_int(0)
    cuda.cuDeviceGet(ctypes.byref(device), i)
    cuda.cuDeviceGetName(name, 96, device)
    print(name.value.decode())
"""


def gpus(env):
    """(names, why there are none): asked in a process of its own, as a driver may hang."""
    found = run([sys.executable, "-c", DRIVER], 30, env)
    if found.status or found.timed_out:
        return [], found.err.strip().splitlines()[-1] if found.err.strip() and not found.timed_out else found.why()
    return found.out.split("\n")[:-1], ""
