"""Two real users and root cap the GPUs of one machine through one state folder: for tests that run as root."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys

from rig import GPU, PATIENCE_S, Rig, crash, expect, guard_of, wait_until

SKIP = 77
USERS = (61001, 61002)  # no accounts


class UsersRig(Rig):
    """The state folder is writable for all, as created by tmpfiles.d; so are the limits of the GPUs."""

    def __init__(self, wattlaw, fake, place_mode=0o1777, **how):
        super().__init__(wattlaw, fake, **how)
        for path, mode in ((self.path, 0o755), (self.limits, 0o666), (self.state, place_mode)):
            os.chmod(path, mode)
        for user in USERS:
            os.mkdir(self.home(user))
            os.chown(self.home(user), user, user)

    def home(self, user):
        return os.path.join(self.path, f"home{user}")

    def of(self, user, gpus=None):
        env = {**self.env, "HOME": self.home(user) if user else "/root", "WATTLAW_NODE_DIR": os.path.join(self.home(user), "node") if user else "/proc/nowhere"}
        return {**env, "CUDA_VISIBLE_DEVICES": gpus} if gpus else env

    def who(self, user):
        return {"user": user, "group": user, "extra_groups": []} if user else {}

    def words(self, user, *options, job):
        store = os.path.join(self.home(user), "s.db")
        return [self.wattlaw, "measure", "--nvml-library", self.fake, "--sensors", "null", "--quiet", "--store", store, *options, "--", *job]

    def cap(self, user, watts, job=("true",), gpus=None, more=(), umask=0o022):
        return subprocess.run(self.words(user, "--power-cap-w", str(watts), *more, job=job), env=self.of(user, gpus), cwd=self.home(user),
                              umask=umask, text=True, capture_output=True, check=False, timeout=PATIENCE_S, **self.who(user))

    def begin(self, user, watts, job=("sleep", "300"), gpus=None, more=()):
        return subprocess.Popen(self.words(user, "--power-cap-w", str(watts), *more, job=job), env=self.of(user, gpus), cwd=self.home(user),
                                text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, **self.who(user))

    def begin_and_see(self, user, watts, **how):
        p = self.begin(user, watts, **how)
        seen = wait_until(lambda: (self.watts() == [watts] * 2 and guard_of(p.pid)) or p.poll() is not None)
        expect(seen and p.poll() is None, f"{user} sets {watts} W: {self.watts()}" + (p.stderr.read() if p.poll() is not None else ""))
        return p

    def leave(self, user, watts):
        """Leaves caps without a wattlaw and without a guard."""
        p = self.begin_and_see(user, watts)
        crash(p)
        expect(self.watts() == [watts] * 2, "caps are set")

    def end(self, p):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGINT)
        return p.communicate(timeout=PATIENCE_S)[1]

    def back(self, user, *options, env=None):
        """wattlaw restore of a user, 0 for root, who names the driver."""
        driver = () if user else ("--nvml-library", self.fake)
        return subprocess.run([self.wattlaw, "restore", *driver, *options], env={**self.of(user), **(env or {})}, cwd="/", text=True,
                              capture_output=True, check=False, timeout=PATIENCE_S, **self.who(user))

    def plant(self, user, name, text, mode=0o644):
        """A file of a user, in the state folder or in a folder of it."""
        path = os.path.join(self.state, name)
        if os.path.dirname(name) and not os.path.isdir(os.path.dirname(path)):
            os.mkdir(os.path.dirname(path))
            os.chown(os.path.dirname(path), user, user)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)
        os.chown(path, user, user)
        return path

    def claim(self, watts, found=400, **change):
        """A forged journal: process 1 holds GPU 0."""
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            boot = f.read().strip()
        holder = {"pid": 4194300, "started": 1, "boot_id": boot, "pid_ns": os.readlink("/proc/self/ns/pid"), "host": os.uname().nodename}
        cap = {"kind": "power_cap_w", "setter": "nvml", "device": GPU % 0, "found": found, "set": watts}
        options = {}
        for part in (holder, cap):
            part.update({k: v for k, v in change.items() if k in part})
        options.update({k: v for k, v in change.items() if k in ("command", "restore", "nvml_library", "root")})
        return json.dumps({"wattlaw_caps": 1, "holder": holder, "options": options, "caps": [cap]})


def skip_unless_root(wattlaw, fake):
    why = None
    if os.geteuid() != 0:
        why = "only root can become two users"
    elif subprocess.run(["head", "-c", "1", wattlaw, fake], user=USERS[0], group=USERS[0], extra_groups=[], capture_output=True,
                        check=False).returncode:
        why = "other users cannot read what is tested"
    elif not shutil.which("sleep"):
        why = "no sleep"
    if why:
        print("SKIP:", why)
        sys.exit(SKIP)
