"""A simulated machine with GPUs whose limits are kept in a file, for the tests of caps."""
import contextlib
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

GPU = "GPU-a000000%d-0000-4000-8000-fa4e00000000"
PATIENCE_S = 300  # for what takes a second on an idle machine
RECORD = struct.Struct("<IIII")  # power limit mW, SM clock MHz, memory clock MHz, power limit of the module mW; 0: not set


class Rig:
    def __init__(self, wattlaw, fake, gpus=2, found_w=(400, 400), script=""):
        self.wattlaw, self.fake = wattlaw, fake
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-cap-")
        self.path = self.folder.name
        self.state = os.path.join(self.path, "state")
        os.mkdir(self.state)  # as tmpfiles.d does
        os.chmod(self.state, 0o755)  # whatever the umask
        self.limits = os.path.join(self.path, "gpus")
        self.put([(w * 1000, 0, 0, 0) for w in found_w])
        self.env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
        self.env.update(WATTLAW_FAKE_NVML=f"gpus={gpus}; state={self.limits}; power=300; {script}",
                        WATTLAW_STATE_DIR=self.state, WATTLAW_NODE_DIR=os.path.join(self.path, "node"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def put(self, records):
        with open(self.limits, "wb") as f:
            f.write(b"".join(RECORD.pack(*r) for r in records))

    def change(self, watts):
        """Somebody else sets a limit, at once: a reader never sees a part of the file."""
        with open(self.limits, "r+b") as f:
            f.write(b"".join(RECORD.pack(round(watts * 1000), *r[1:]) for r in self.get()))

    def get(self):
        with open(self.limits, "rb") as f:
            data = f.read()
        return [RECORD.unpack_from(data, i) for i in range(0, len(data) - RECORD.size + 1, RECORD.size)]

    def watts(self):
        return [r[0] / 1000 for r in self.get()]

    def ask(self, watts):
        """The options that set this cap, and a function: is it set?"""
        return ("--power-cap-w", str(watts)), lambda: self.watts() == [watts] * len(self.get())

    def recover(self):
        """Ends the hanging."""

    def boot(self, devices):
        """The driver starts with its default. Devices that no journal names had been restored: a boot
        does not change them, since nobody would undo that."""
        self.put([(400000, 0, 0, 0) if GPU % i in devices else r for i, r in enumerate(self.get())])

    def until_released(self):
        """A job that ends once release() is called."""
        return "sh", "-c", f"until [ -e {self.path}/released ]; do sleep 0.02; done"

    def release(self):
        open(os.path.join(self.path, "released"), "w", encoding="ascii").close()

    def command(self, *options, job=("sleep", "0.1")):
        store = os.path.join(self.path, "store.db")
        return [self.wattlaw, "measure", "--nvml-library", self.fake, "--sensors", "null", "--store", store,
                *options, "--", *job]

    def start(self, *options, job=("sleep", "30"), env=None):
        """With the default SIGHUP, as on a terminal: under nohup it is ignored, which measure inherits."""
        command = ["env", "--default-signal=HUP", *self.command(*options, job=job)]
        return subprocess.Popen(command, env={**self.env, **(env or {})}, text=True, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, start_new_session=True)

    def run(self, *command, env=None):
        return subprocess.run(command, env={**self.env, **(env or {})}, text=True, capture_output=True, check=False)

    def measure(self, *options, job=("true",), env=None):
        return self.run(*self.command(*options, job=job), env=env)

    def restore(self, *options):
        return self.run(self.wattlaw, "restore", *options)

    def journals(self):
        return [os.path.join(folder, n) for folder, _, names in os.walk(self.state) for n in names if n.endswith(".caps")]


class HangingRig(Rig):
    """Two GPUs; a call for the second one does not return during the seconds of each process's life that `hang` names ("0:1"), until
    recover()."""

    def __init__(self, wattlaw, fake, hang="0", call="SetPowerManagementLimit", **how):
        super().__init__(wattlaw, fake, **how)
        self.call = call
        self.script = os.path.join(self.path, "script")
        self.plain = self.env["WATTLAW_FAKE_NVML"]
        self.env["WATTLAW_FAKE_NVML"] = f"@{self.script}"
        self.hang(hang)

    def hang(self, when):
        self.write(f"{self.plain}; hang=1:{self.call}:{when}")

    def recover(self):
        self.write(self.plain)

    def write(self, text):
        with open(self.script + ".new", "w", encoding="ascii") as f:
            f.write(text)
        os.rename(self.script + ".new", self.script)

    def command(self, *options, job=("sleep", "0.1")):
        return super().command("--cap-wait", "0.3s", *options, job=job)


class SysRig(Rig):
    """A machine without GPUs, whose limits are files of a fake /sys; `found` are their values in the kernel's units."""

    def __init__(self, wattlaw, fake, found):
        super().__init__(wattlaw, fake)
        self.root = os.path.join(self.path, "root")
        self.files = [self.make(i, v) for i, v in enumerate(found)]
        self.env["WATTLAW_FAKE_NVML"] = "init=9"  # no driver

    def make(self, i, value):
        raise NotImplementedError

    def file(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(f"{text}\n")
        return path

    def command(self, *options, job=("sleep", "0.1")):
        return super().command("--sensor-root", self.root, *options, job=job)

    def get(self):
        return [int(open(path, encoding="ascii").readline() or -1) for path in self.files]

    def boot(self, _):
        for path, value in zip(self.files, self.defaults):
            with open(path, "w", encoding="ascii") as f:
                f.write(str(value))


class RaplRig(SysRig):
    """One package with both of its limits, uW."""
    defaults = (200_000_000, 240_000_000)

    def make(self, i, value):
        zone = "sys/class/powercap/intel-rapl:0/"
        self.file(zone + "name", "package-0")
        self.file(zone + "enabled", 1)
        self.file(zone + f"constraint_{i}_name", ("long_term", "short_term")[i])
        self.file(zone + f"constraint_{i}_max_power_uw", 400_000_000)
        return self.file(zone + f"constraint_{i}_power_limit_uw", value)

    def ask(self, watts):
        return ("--power-cap-w", str(watts)), lambda: self.get() == [watts * 1_000_000] * 2


class CpufreqRig(SysRig):
    """Two policies, kHz."""
    defaults = (3_500_000, 3_500_000)

    def make(self, i, value):
        policy = f"sys/devices/system/cpu/cpufreq/policy{i}/"
        self.file(policy + "cpuinfo_min_freq", 800_000)
        self.file(policy + "cpuinfo_max_freq", 3_500_000)
        return self.file(policy + "scaling_max_freq", value)

    def ask(self, watts):
        mhz = 10 * watts
        return ("--clock-mhz", str(mhz)), lambda: self.get() == [mhz * 1000] * 2


def expect(condition, what, run=None):
    if not condition:
        sys.exit(what if run is None else f"{what}\nexit {run.returncode}\n{run.stdout}\n{run.stderr}")


def wait_until(what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def guards_in(folder):
    """All guards of journals below a folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as f:
            if name_of(pid) == "wattlaw-caps" and os.fsencode(folder) in f.read():
                found.append(int(pid))
    return found


def guard_of(pid):
    """The guard of the caps of a wattlaw, 0: none."""
    return next((p for p in children(pid) if name_of(p) == "wattlaw-caps"), 0)


def kill(pid, sig):
    try:
        if pid:
            os.kill(pid, sig)
    except ProcessLookupError:
        pass


def crash(process):
    """Kills a measure with its guard, which leaves its caps as they are."""
    kill(guard_of(process.pid), signal.SIGKILL)
    kill(process.pid, signal.SIGKILL)
    process.communicate()
