"""A simulated machine with GPUs whose limits live in a file, for the tests of caps."""
import os
import struct
import subprocess
import tempfile
import time

GPU = "GPU-a000000%d-0000-4000-8000-fa4e00000000"
RECORD = struct.Struct("<III")  # power limit mW, SM clock MHz, memory clock MHz; 0: not set


class Rig:
    def __init__(self, wattlaw, fake, gpus=2, found_w=(400, 400), script=""):
        self.wattlaw, self.fake = wattlaw, fake
        fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-cap-", dir=fast)
        self.path = self.folder.name
        self.state = os.path.join(self.path, "state")
        self.limits = os.path.join(self.path, "gpus")
        self.put([(w * 1000, 0, 0) for w in found_w])
        self.env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "NVML_LIBRARY")}
        self.env.update(WATTLAW_FAKE_NVML=f"gpus={gpus}; state={self.limits}; power=300; {script}",
                        WATTLAW_STATE_DIR=self.state)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def put(self, records):
        with open(self.limits, "wb") as f:
            f.write(b"".join(RECORD.pack(*r) for r in records))

    def get(self):
        with open(self.limits, "rb") as f:
            data = f.read()
        return [RECORD.unpack_from(data, i) for i in range(0, len(data) - RECORD.size + 1, RECORD.size)]

    def watts(self):
        return [r[0] / 1000 for r in self.get()]

    def command(self, *options, job=("sleep", "0.1")):
        store = os.path.join(self.path, "store.db")
        return [self.wattlaw, "measure", "--nvml-library", self.fake, "--sensors", "null", "--store", store,
                *options, "--", *job]

    def start(self, *options, job=("sleep", "30"), env=None):
        return subprocess.Popen(self.command(*options, job=job), env={**self.env, **(env or {})}, text=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)

    def run(self, *command, env=None):
        return subprocess.run(command, env={**self.env, **(env or {})}, text=True, capture_output=True, check=False)

    def measure(self, *options, job=("true",), env=None):
        return self.run(*self.command(*options, job=job), env=env)

    def restore(self, *options):
        return self.run(self.wattlaw, "restore", *options)

    def journals(self):
        names = os.listdir(self.state) if os.path.isdir(self.state) else []
        return [os.path.join(self.state, n) for n in names if n.endswith(".caps")]


def wait_until(what, seconds=10):
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


def guard_of(pid):
    """The guard of the caps of a wattlaw, 0: it has none now."""
    return next((p for p in children(pid) if name_of(p) == "wattlaw-caps"), 0)


def kill(pid, sig):
    try:
        if pid:
            os.kill(pid, sig)
    except ProcessLookupError:
        pass
