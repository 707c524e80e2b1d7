"""Caps of a campaign on several nodes, each with GPUs, journals and guards of its own: nodes.py WATTLAW FAKE_NVML_LIBRARY"""
import concurrent.futures
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from rig import PATIENCE_S, CpufreqRig, RaplRig, Rig, expect, guard_of, kill, wait_until

wattlaw, fake = map(os.path.abspath, sys.argv[1:3])
LAUNCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.py")


class Cluster:
    """Nodes of two GPUs each, and a folder that all of them see."""

    def __init__(self, found=((400, 400), (350, 360)), scripts=("", ""), machine=None):
        self.nodes = [machine(wattlaw, fake, f) if machine else Rig(wattlaw, fake, found_w=f, script=f"board={i}; {s}")
                      for i, (f, s) in enumerate(zip(found, scripts))]
        self.folder = tempfile.TemporaryDirectory(prefix="wattlaw-cluster-")
        self.path = self.folder.name
        self.before = [n.get() for n in self.nodes]
        names = ("WATTLAW_FAKE_NVML", "WATTLAW_STATE_DIR")
        for i, n in enumerate(self.nodes):
            with open(self.file(f"{i}.env"), "w", encoding="utf-8") as f:
                f.write("".join(f"{name}={n.env[name]}\n" for name in names) + f"LIMITS={n.limits}\n")
            if machine:
                os.symlink(n.root, self.file(f"root-{i}"))
        self.env = {k: v for k, v in self.nodes[0].env.items() if k not in names}
        self.env.update(LAUNCH_NODES=self.path, WATTLAW_STATE_DIR=self.file("sweep-state"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for n in self.nodes:
            n.folder.cleanup()
        self.folder.cleanup()

    def file(self, name):
        return os.path.join(self.path, name)

    def text(self, name):
        with open(self.file(name), encoding="utf-8") as f:
            return f.read()

    def ini(self, sweep, job, ranks=1, more=""):
        with open(self.file("exp.ini"), "w", encoding="utf-8") as f:
            f.write(f"[campaign]\nname = cluster\nrepeats = 1\norder = sequential\nstore = {self.file('store')}\n[sweep]\n"
                    f"nodes = {len(self.nodes)}\nworkers = {len(self.nodes) * ranks}\n{sweep}\n"
                    f"[measure]\nsensors = nvml\nnvml_library = {fake}\n{more}\n"
                    f"[launch]\noversubscribe = yes\ncommand = {sys.executable} {LAUNCH} {{nodes}} {ranks} {{measure}} {job}\n")
        return self.file("exp.ini")

    def start(self, *args):
        return subprocess.Popen([wattlaw, "sweep", "--quiet", *args], env=self.env, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def sweep(self, *args):
        with self.start(*args) as p:
            out, err = p.communicate(timeout=PATIENCE_S)
        return subprocess.CompletedProcess(p.args, p.returncode, out, err)

    def rows(self, sql):
        with sqlite3.connect(self.file("store/wattlaw.db")) as db:
            return db.execute(sql).fetchall()

    def caps_are_set(self, watts):
        return all(n.watts() == [watts] * 2 for n in self.nodes)

    def all_back(self):
        return [n.get() for n in self.nodes] == self.before and not any(n.journals() for n in self.nodes)

    def processes(self):
        """{pid: (words of its command, environment)} of all that the sweep has started."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().decode().split("\0")
                with open(f"/proc/{pid}/environ", "rb") as f:
                    env = dict(v.split("=", 1) for v in f.read().decode(errors="replace").split("\0") if "=" in v)
            except OSError:
                continue
            if env.get("LAUNCH_NODES") == self.path:
                found[int(pid)] = (words, env)
        return found

    def leaders(self):
        """The wattlaw that leads each node: the one with a guard over caps."""
        return {int(env["NODE"]): pid for pid, (words, env) in self.processes().items()
                if "--node-of" in words and "NODE" in env and guard_of(pid)}

    def launcher(self, sweep):
        return next(iter(q for p in children_of(sweep) for q in children_of(p)), 0)


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def caps_of_a_sweep_are_set_on_every_node():
    with Cluster() as f:
        job = f"sh -c 'cp $LIMITS {f.path}/seen-$NODE-$OMPI_COMM_WORLD_LOCAL_RANK; sleep 0.5'"
        r = f.sweep(f.ini("power_cap_w = 200, 250\nmem_clock_mhz = 810", job, ranks=2))
        expect(r.returncode == 0 and "2 of 2 runs" in r.stdout, "a sweep over caps on two nodes", r)
        seen = []
        for node in (0, 1):
            for rank in (0, 1):
                with open(f.file(f"seen-{node}-{rank}"), "rb") as s:
                    seen.append(int.from_bytes(s.read(4), "little"))
        expect(seen == [250000] * 4, f"each rank of each node found the caps set: {seen}")
        expect(f.all_back(), f"restored on both: {[n.get() for n in f.nodes]}")
        caps = f.rows("SELECT run, host, count(*), min(requested), min(found), max(found), min(at_end), max(at_end) FROM cap "
                      "WHERE kind = 'power_cap_w' GROUP BY run, host ORDER BY run, host")
        expect(caps == [(1, "n0", 2, 200, 400, 400, 200, 200), (1, "n1", 2, 200, 350, 360, 200, 200),
                        (2, "n0", 2, 250, 400, 400, 250, 250), (2, "n1", 2, 250, 350, 360, 250, 250)], f"caps: {caps}")
        expect(f.rows("SELECT DISTINCT acted FROM capped") == [(1,)], "all of them acted")
        runs = f.rows("SELECT r.status, s.nodes, s.power_cap_w, s.mem_clock_mhz, x.energy_j / x.mean_power_w > 0.4, "
                      "round(x.mean_power_w / s.power_cap_w) FROM run r JOIN setting s ON s.run = r.id "
                      "JOIN total x ON x.run = r.id AND x.epoch = 0 ORDER BY r.id")
        expect(runs == [("done", 2, 200, 810, 1, 4), ("done", 2, 250, 810, 1, 4)], f"four GPUs at their caps: {runs}")
        expect(f.rows("SELECT run, host, first FROM node ORDER BY run, host") ==
               [(1, "n0", 1), (1, "n1", 0), (2, "n0", 1), (2, "n1", 0)], "and the clocks of both nodes")
        again = f.sweep(f.file("exp.ini"))
        expect(again.returncode == 0 and "2 of 2 runs" in again.stdout, "nothing is run twice", again)


def marks_of_nodes_stay_apart():
    with Cluster() as f:
        mark = "echo $(date +%s%N | cut -c1-18)0 $OMPI_COMM_WORLD_RANK metric name=x value=1 >> $WATTLAW_MARKS"
        r = f.sweep(f.ini("power_cap_w = 200", f"sh -c '{mark}; sleep 0.3'"))
        expect(r.returncode == 0, "a run with marks", r)
        expect(f.rows("SELECT rank, count(*) FROM mark GROUP BY rank ORDER BY rank") == [(0, 1), (1, 1)], "each is stored once")


def a_node_that_cannot_set_its_caps_fails_the_trial():
    for script, text in (("fail=*:SetPowerManagementLimit:4", "no permission"), ("limits=100:220:220", "it takes 100 to 220 W")):
        with Cluster(scripts=("", script)) as f:
            r = f.sweep(f.ini("power_cap_w = 250", f"touch {f.path}/ran-{{nodes}}"))
            expect(r.returncode == 1 and "node n1: " in r.stdout and text in r.stdout, "the trial names the node and why", r)
            expect(not os.path.exists(f.file("ran-2")), "no rank has started")
            expect(f.all_back(), "all nodes are restored")
            expect(f.rows("SELECT status, error LIKE 'node n1: %' FROM run") == [("failed", 1)], "and the run says so")


def cpus_of_every_node_are_capped():
    for machine, axis, value, file, there in (
            (RaplRig, "power_cap_w", 150, "class/powercap/intel-rapl:0/constraint_1_power_limit_uw", "150000000"),
            (CpufreqRig, "clock_mhz", 2100, "devices/system/cpu/cpufreq/policy1/scaling_max_freq", "2100000")):
        with Cluster(found=(machine.defaults, tuple(v - 10**6 for v in machine.defaults)), machine=machine) as f:
            job = f"sh -c 'cp {f.path}/root-$NODE/sys/{file} {f.path}/seen-$NODE; sleep 0.3'"
            path = f.ini(f"{axis} = {value}", job, more=f"sensor_root = {f.path}/root-@NODE@")
            r = f.sweep(path, "--set", "measure.sensors=null")
            expect(r.returncode == 0, f"{axis} of CPUs on two nodes", r)
            for node in (0, 1):
                with open(f.file(f"seen-{node}"), encoding="ascii") as seen:
                    expect(seen.readline().strip() == there, f"node {node}")
            expect(f.all_back(), f"each has its own values back: {[n.get() for n in f.nodes]}")
            expect(f.rows("SELECT host, count(*) FROM cap GROUP BY host") == [("n0", 2), ("n1", 2)], "rows of both")


def mpirun_works_as_launcher():
    if not shutil.which("mpirun"):
        print("SKIP    mpirun is not installed")
        return
    with Cluster(found=((400, 400),), scripts=("",)) as f:
        path = f.ini("power_cap_w = 250", "")
        with open(path, encoding="ascii") as ini:
            text = ini.read()
        with open(path, "w", encoding="ascii") as ini:
            ini.write(text[:text.index("[launch]")].replace("workers = 1", "workers = 2")
                      + "[launch]\noversubscribe = yes\ncommand = {mpirun} {measure} sleep 0.4\n")
        f.env.update({name: f.nodes[0].env[name] for name in ("WATTLAW_FAKE_NVML", "WATTLAW_STATE_DIR")})
        r = f.sweep(path)
        expect(r.returncode == 0 and f.all_back(), "under Open MPI", r)
        expect(f.rows("SELECT count(*), min(at_end) FROM cap") == [(2, 250)], "capped once, by the leader")


def a_late_node_is_named():
    with Cluster(scripts=("", "hang=*:SetPowerManagementLimit:0:60")) as f:
        r = f.sweep(f.ini("power_cap_w = 250", f"touch {f.path}/ran", more="node_wait = 1s"), "--set", "launch.grace=0.5s")
        expect(r.returncode == 1 and "node n1 has not set its caps within 1 s" in r.stdout, "a timeout", r)
        expect(not os.path.exists(f.file("ran")), "no rank has started")
        expect(f.nodes[0].get() == f.before[0], "the other node is restored")


def a_dry_run_reports_each_node():
    with Cluster() as f:
        r = f.sweep(f.ini("power_cap_w = 200, 250", "true", ranks=2), "--cap-dry-run")
        lines = sorted(line for line in r.stdout.splitlines() if " asked, " in line)
        expect(r.returncode == 0 and len(lines) == 8, "one line per device and cap", r)
        expect(lines[0].startswith("n0: GPU-a0000000") and lines[-1].startswith("n1: GPU-a0000101"), f"by node: {lines}")
        expect("350 W found" in r.stdout and f.all_back() and not os.path.exists(f.file("store")), "nothing is set or stored", r)


def caps_of_another_campaign_on_a_node_stay():
    with Cluster() as f:
        other = f.nodes[1].start("--power-cap-w", "300")
        expect(wait_until(lambda: f.nodes[1].watts() == [300, 300]), "another run holds a node")
        r = f.sweep(f.ini("power_cap_w = 250", "sleep 0.3"))
        expect(r.returncode == 1 and f"node n1: " in r.stdout and f"in use by process {other.pid}" in r.stdout, "refused", r)
        expect(f.nodes[1].watts() == [300, 300] and f.nodes[0].get() == f.before[0], "and unchanged")
        kill(other.pid, signal.SIGTERM)
        other.communicate()
        expect(f.all_back(), "until it ends")
        r = f.sweep(f.file("exp.ini"), "--retry-failed")
        expect(r.returncode == 0 and "1 of 1 runs" in r.stdout, "then the node is free", r)


def the_end_of_the_sweep_is_noticed():
    """Its launcher outlives it, as srun's step does: the nodes stop by themselves."""
    with Cluster() as f:
        os.makedirs(f.file("run/nodes"))
        with open(f.file("run/nodes/alive"), "w", encoding="ascii") as alive:
            alive.write("7\n")
        n = f.nodes[0]
        p = subprocess.Popen([wattlaw, "measure", "--node-of", f.file("run"), "--nvml-library", fake, "--sensors", "null",
                              "--power-cap-w", "250", "--", "sleep", "600"], env={**n.env, "WATTLAW_HOST": "n0"}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect(wait_until(lambda: n.watts() == [250, 250]), "set")
        err = p.communicate()[1]
        expect(p.returncode != 0 and "the sweep that started this run has died" in err, f"noticed: {p.returncode} {err}")
        expect(n.get() == f.before[0] and not n.journals(), "and restored")


# ---- whatever dies ----

def kill_leader(f, sweep):
    kill(f.leaders().get(1), signal.SIGKILL)


def kill_guard(f, sweep):
    """The guard is replaced."""
    leader = f.leaders().get(1, 0)
    first = guard_of(leader)
    kill(first, signal.SIGKILL)
    wait_until(lambda: guard_of(leader) not in (0, first))


def kill_guard_and_leader(f, sweep):
    leader = f.leaders().get(1, 0)
    kill(guard_of(leader), signal.SIGKILL)
    kill(leader, signal.SIGKILL)


def kill_launcher(f, sweep):
    kill(f.launcher(sweep.pid), signal.SIGKILL)


def kill_sweep(f, sweep):
    kill(sweep.pid, signal.SIGKILL)


def kill_all_but_the_nodes(f, sweep):
    for pid in (f.launcher(sweep.pid), *children_of(sweep.pid), sweep.pid):
        kill(pid, signal.SIGKILL)


def ctrl_c(f, sweep):
    os.killpg(sweep.pid, signal.SIGINT)


# If nothing ends the job, it ends by itself.
JOB_GOES_ON = (kill_guard, kill_all_but_the_nodes)
CASES = (kill_leader, kill_guard, kill_guard_and_leader, kill_launcher, kill_sweep, kill_all_but_the_nodes, ctrl_c)


def killed(case, seed):
    """An error, or None and whether all was restored without `wattlaw restore`."""
    chance = random.Random(seed)
    found = [tuple(chance.randint(101, 349) for _ in range(2)) for _ in range(2)]
    with Cluster(found=found) as f:
        job = f"sh -c 'until [ -e {f.path}/released ]; do sleep 0.05; done'"
        sweep = f.start(f.ini("power_cap_w = 350\nclock_mhz = 900", job, ranks=chance.choice([1, 2])))
        was_set = wait_until(lambda: f.caps_are_set(350) and len(f.leaders()) == 2)
        time.sleep(chance.uniform(0, 0.05))
        case(f, sweep)
        if case in JOB_GOES_ON:
            open(f.file("released"), "w", encoding="ascii").close()
        sweep.communicate(timeout=PATIENCE_S)
        if not wait_until(lambda: not f.processes()):
            return f"{case.__name__} seed {seed}: still running: {f.processes()}", False
        restored_without = f.all_back()
        said = [n.run(wattlaw, "restore", env={"WATTLAW_HOST": f"n{i}"}) for i, n in enumerate(f.nodes)]
        if not was_set or not f.all_back() or any(r.returncode for r in said):
            return (f"{case.__name__} seed {seed}: set {was_set}; found {f.before}, now {[n.get() for n in f.nodes]}, journals "
                    f"{[n.journals() for n in f.nodes]}\n{said}"), False
        runs = f.rows("SELECT status FROM run") if os.path.exists(f.file("store/wattlaw.db")) else []
        fine = [("done",)] if case is kill_guard else [("failed",), ("interrupted",), ("running",)]
        return (f"{case.__name__} seed {seed}: {runs}" if runs[0] not in fine else None), restored_without


def found_caps_are_restored_whatever_dies(rounds=1):
    first = random.randrange(10**6)
    todo = [(case, first + i) for i, case in enumerate(CASES * rounds)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda t: killed(*t), todo))
    bad = [r[0] for r in results if r[0]]
    print(f"seeds from {first}: {len(results)} trials, {sum(r[1] for r in results)} restored without `wattlaw restore`; "
          f"{len(bad)} failed")
    if bad:
        sys.exit("\n".join(bad))


TESTS = (caps_of_a_sweep_are_set_on_every_node, marks_of_nodes_stay_apart, a_node_that_cannot_set_its_caps_fails_the_trial,
         cpus_of_every_node_are_capped, mpirun_works_as_launcher, a_late_node_is_named, a_dry_run_reports_each_node, caps_of_another_campaign_on_a_node_stay,
         found_caps_are_restored_whatever_dies)
SLOW = (the_end_of_the_sweep_is_noticed, lambda: found_caps_are_restored_whatever_dies(8))

if __name__ == "__main__":
    for test in SLOW if "slow" in sys.argv[3:] else TESTS:
        began = time.monotonic()
        test()
        print(f"ok      {getattr(test, '__name__', '')} ({time.monotonic() - began:.1f} s)", flush=True)
