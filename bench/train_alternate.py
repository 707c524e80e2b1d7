"""Processes that take turns at training steps, for bench/train_step.py."""
import json
import os
import signal
import subprocess

import torch_bert

HERE = os.path.dirname(os.path.abspath(__file__))
TUNED = {"ATEN_CPU_CAPABILITY": "avx512", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "MALLOC_MMAP_MAX_": "0",
         "MALLOC_TRIM_THRESHOLD_": "68719476736"}
UNTUNED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # a machine's settings that the tuned environment lacks
WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "5000"}  # as wattlaw-train has it
OWN, ALONE, EARLIER = "wattlaw", "wattlaw, two alone", "wattlaw, earlier build"
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]  # a stopped process would not notice that its stdin was closed


class Failure(Exception):
    pass


def memory_field(path, field):
    with open(path) as f:
        return next((int(line.split()[1]) * 1024 for line in f if line.startswith(field)), 0)


class Contestant:
    """One or more processes that begin each step together. They start alongside the others and are `ready` when their
    networks are built."""

    def __init__(self, name, command, env, processes=1):
        self.name, self.wall_s, self.cpu_s, self.matrix_share, self.kinds_s = name, [], [], [], []
        self.groups = [subprocess.Popen(DIE_WITH_PARENT + command, env=env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, start_new_session=True) for _ in range(processes)]
        self.made = {}

    def ready(self):
        self.made = [self.answer(group) for group in self.groups][0]
        self.signal(signal.SIGSTOP)

    def answer(self, group):
        line = group.stdout.readline()
        if not line:
            raise Failure(f"{self.name}: ended with status {group.wait()}")
        return json.loads(line)

    def signal(self, which):
        """To the leaders; their other ranks wait for them, and end when they do."""
        for group in self.groups:
            os.kill(group.pid, which)

    def step(self, keep):
        self.signal(signal.SIGCONT)
        for group in self.groups:
            group.stdin.write("step\n")
            group.stdin.flush()
        answers = [self.answer(group) for group in self.groups]
        self.signal(signal.SIGSTOP)
        if not keep:
            return
        slowest = max(answers, key=lambda a: a["wall_s"])
        self.wall_s.append(slowest["wall_s"])
        self.cpu_s.append(sum(a["cpu_s"] for a in answers))
        if "matrix_s" in slowest:
            self.matrix_share.append(slowest["matrix_s"] / slowest["wall_s"])
            self.kinds_s.append(slowest["kinds_s"])

    def peak_bytes(self):
        """Of all its processes; what they share counts in each."""
        leaders, total = {group.pid for group in self.groups}, 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.getpgid(int(pid)) in leaders:
                    total += memory_field(f"/proc/{pid}/status", "VmHWM")
            except OSError:  # it ended meanwhile
                continue
        return total

    def result(self):
        return {"name": self.name, **self.made, "wall_s": self.wall_s, "cpu_s": self.cpu_s,
                "matrix_share": self.matrix_share, "kinds_s": self.kinds_s, "peak_bytes": self.peak_bytes()}

    def end(self):
        for group in self.groups:
            try:
                os.killpg(group.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            group.wait()


def version(python, package="torch"):
    """Of the interpreter's PyTorch, or of another package; "" where it has not that one."""
    ask = ("import importlib.metadata as m; "
           f"print(next((d.version.split('+')[0] for d in m.distributions(name='{package}')), ''))")
    try:
        found = subprocess.run([python, "-c", ask], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
        if not found and package == "torch":
            raise Failure(f"{python}: no PyTorch there")
        return found
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"{python}: no PyTorch there ({error})") from error


def layouts_of(model, python):
    if model.startswith("fourcastnet"):
        return ["plain"]
    if not model.startswith("bert"):
        return ["plain", "channels_last"]
    return [kind for kind in torch_bert.KINDS if kind != "transformers" or version(python, "transformers")]


def peers(pythons, model, on, compiled):
    """(name, interpreter, arguments, tuned) of each."""
    for python in pythons:
        known = version(python)
        hows = ["eager"] + (["compiled"] if compiled and on[0] == "t" and int(known.split(".")[0]) >= 2 else [])
        for how in hows:
            for where in ("default", "tuned"):
                for layout in layouts_of(model, python):
                    name = f"PyTorch {known} {where} {layout}" + (" compiled" if how == "compiled" else "")
                    yield name, python, [layout, how, where], where == "tuned"


class Contest:
    """The contestants of a row, in memory side by side."""

    def __init__(self, binary, pythons, row, only, compiled, earlier=None):
        self.contestants = []
        model, precision, batch, on = row
        threads, ranks = (on[1:], "1") if on[0] == "t" else ("1", on[1:])
        shape, env = [model, precision, batch], {**os.environ, "OMP_NUM_THREADS": threads}
        own_env = {**env, **WAITING}
        try:
            self.add(OWN, [binary, *shape, threads, ranks], own_env)
            if ranks == "2":
                self.add(ALONE, [binary, *shape, "1", "1"], own_env, processes=2)
            if earlier:
                self.add(EARLIER, [earlier, *shape, threads, ranks], own_env)
            for name, python, how, tuned in peers(pythons, model, on, compiled):
                if not all(word in name.split() for word in only):
                    continue
                tuned_env = {**{k: v for k, v in env.items() if k not in UNTUNED}, **TUNED}
                command = [python, os.path.join(HERE, "torch_step.py"), *shape, threads, ranks, *how]
                self.add(name, command, tuned_env if tuned else env)
            self.warm_up()
        except BaseException:
            self.end()
            raise

    def add(self, *how, **more):
        self.contestants.append(Contestant(*how, **more))

    def warm_up(self):
        """The first step takes all of a contestant's memory."""
        for contestant in self.contestants:
            contestant.ready()
        largest = 0
        for i, contestant in enumerate(self.contestants):
            if memory_field("/proc/meminfo", "MemAvailable") < 1.2 * largest:
                raise Failure(f"{contestant.name}: no memory for it beside {i} others; choose fewer with --only")
            contestant.step(keep=False)
            largest = max(largest, contestant.peak_bytes())

    def round(self, turn):
        first = turn % len(self.contestants)
        for contestant in self.contestants[first:] + self.contestants[:first]:
            contestant.step(keep=turn > 0)

    def results(self):
        return [c.result() for c in self.contestants]

    def end(self):
        for contestant in self.contestants:
            contestant.end()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.end()
