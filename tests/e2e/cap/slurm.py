"""Caps under a real Slurm of two nodes on this machine: slurm.py WATTLAW FAKE_NVML_LIBRARY

Two slurmd act as nodes; each has its own fake GPUs, journals and guards. The daemons listen on free ports of the loopback
interface, with their own munged, key, configuration and spool: a Slurm of this machine is not touched, and nothing is left
afterwards. Skipped if Slurm is not installed or the user is not root."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from nodes import Cluster, expect, wattlaw
from rig import PATIENCE_S, kill, wait_until

SKIP = 77
STARTS = 3  # another process may take a port before the daemon does
NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "sinfo")


def skip(why):
    print("SKIP:", why)
    sys.exit(SKIP)


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class Slurm:
    """munged, slurmctld and two slurmd in a folder, separate from the system's."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="wattlaw-slurm-")
        self.started = []
        for name in ("state", "n1", "n2"):
            os.mkdir(os.path.join(self.folder, name))
        with open(self.path("munge.key"), "wb") as f:
            f.write(os.urandom(1024))
        os.chmod(self.path("munge.key"), 0o400)
        ctld, n1, n2 = free_ports(3)
        with open(self.path("slurm.conf"), "w", encoding="ascii") as f:
            f.write(f"""ClusterName=wattlaw
SlurmctldHost=localhost
SlurmctldPort={ctld}
AuthType=auth/munge
AuthInfo=socket={self.path("munge")}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={self.path("state")}
SlurmdSpoolDir={self.folder}/%n
SlurmctldPidFile={self.path("ctld.pid")}
SlurmdPidFile={self.folder}/slurmd-%n.pid
SlurmctldLogFile={self.path("ctld.log")}
SlurmdLogFile={self.folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
MessageTimeout=60
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=localhost Port={n1} CPUs=2 RealMemory=1000
NodeName=n2 NodeHostname=localhost Port={n2} CPUs=2 RealMemory=1000
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
""")
        self.env = {**os.environ, "SLURM_CONF": self.path("slurm.conf")}

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command):
        with open(self.path("daemons.log"), "ab") as log:
            self.started.append(subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 start_new_session=True))

    def __enter__(self):
        self.run("munged", "--foreground", "--force", "--socket", self.path("munge"), "--key-file", self.path("munge.key"),
                 "--pid-file", self.path("munge.pid"), "--log-file", self.path("munge.log"), "--seed-file", self.path("seed"))
        wait_until(lambda: os.path.exists(self.path("munge")) or self.one_has_ended())
        self.run("slurmctld", "-D", "-c")
        for node in ("n1", "n2"):
            self.run("slurmd", "-D", "-N", node)
        wait_until(lambda: self.idle() or self.one_has_ended())
        if not self.idle():
            why = self.tail("daemons.log") + self.tail("ctld.log")
            self.__exit__()
            raise RuntimeError(f"Slurm does not start: {why}")
        return self

    def idle(self):
        return self.ask("sinfo", "-h", "-t", "idle", "-o", "%D") == "2"

    def one_has_ended(self):
        return any(p.poll() is not None for p in self.started)

    def ask(self, *command):
        return subprocess.run(command, env=self.env, text=True, capture_output=True, check=False).stdout.strip()

    def tail(self, name):
        with contextlib.suppress(OSError), open(self.path(name), encoding="utf-8", errors="replace") as f:
            return f.read()[-600:]
        return ""

    def __exit__(self, *_):
        if not self.one_has_ended():
            self.ask("scancel", "--full", "--user=root")
            wait_until(lambda: not self.ask("squeue", "-h"))  # steps outlive their slurmd
        for p in reversed(self.started):
            p.terminate()
        for p in self.started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                p.wait(PATIENCE_S / 10)
            p.kill()
            p.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def started():
    for attempt in range(STARTS):
        try:
            return Slurm().__enter__()
        except RuntimeError as why:
            print(f"attempt {attempt + 1}: {why}", flush=True)
    sys.exit("no Slurm")


def prepare(f, slurm, job, ranks=2):
    """A campaign whose launcher is srun; `node` gives each node the environment of its rig, as nodes.env says."""
    node = f.file("node")
    with open(node, "w", encoding="ascii") as script:
        script.write(f"#!/bin/sh\nset -a\n. {f.path}/sh-$SLURM_NODEID.env\nexec \"$@\"\n")
    os.chmod(node, 0o755)
    for i, n in enumerate(f.nodes):
        with open(f.file(f"sh-{i}.env"), "w", encoding="ascii") as env:
            env.write(f"WATTLAW_HOST=n{i + 1}\nNODE={i}\nLIMITS='{n.limits}'\n"
                      + "".join(f"{name}='{n.env[name]}'\n" for name in ("WATTLAW_FAKE_NVML", "WATTLAW_STATE_DIR")))
    f.env.update(SLURM_CONF=slurm.path("slurm.conf"))
    path = f.ini("power_cap_w = 250", "")
    with open(path, encoding="ascii") as ini:
        text = ini.read()
    head = text[:text.index("[launch]")].replace("workers = 2", f"workers = {2 * ranks}")
    with open(path, "w", encoding="ascii") as ini:
        ini.write(f"{head}[launch]\noversubscribe = yes\ncommand = srun -N {{nodes}} -n {{workers}} {node} {{measure}} {job}\n")
    return path


def caps_of_a_sweep_under_srun(slurm):
    with Cluster() as f:
        job = f"sh -c 'cp $LIMITS {f.path}/seen-$SLURM_PROCID; sleep 0.6'"
        r = f.sweep(prepare(f, slurm, job))
        expect(r.returncode == 0 and "1 of 1 runs" in r.stdout, "a sweep over two nodes of Slurm", r)
        for rank in range(4):
            with open(f.file(f"seen-{rank}"), "rb") as s:
                expect(int.from_bytes(s.read(4), "little") == 250000, f"rank {rank} found its cap set")
        expect(f.all_back(), "restored on both nodes")
        expect(f.rows("SELECT host, count(*), min(acted) FROM capped GROUP BY host") == [("n1", 2, 1), ("n2", 2, 1)], "both capped")
        expect(f.rows("SELECT s.nodes, round(x.mean_power_w) FROM setting s JOIN total x ON x.run = s.run AND x.epoch = 0") ==
               [(2, 1000)], "four GPUs at 250 W")


def a_node_that_refuses_under_srun(slurm):
    with Cluster(scripts=("", "fail=*:SetPowerManagementLimit:4")) as f:
        r = f.sweep(prepare(f, slurm, f"touch {f.path}/ran"))
        expect(r.returncode == 1 and "node n2: " in r.stdout and "no permission" in r.stdout, "named", r)
        expect(not os.path.exists(f.file("ran")) and f.all_back(), "nothing ran, nothing stays")


def an_srun_that_is_killed(slurm):
    """Slurm ends its step with SIGKILL for every process of it, guards too: the journals are what remains."""
    with Cluster() as f:
        sweep = f.start(prepare(f, slurm, "sleep 600"))
        expect(wait_until(lambda: f.caps_are_set(250)), "set")
        kill(f.launcher(sweep.pid), signal.SIGKILL)
        out, err = sweep.communicate()
        expect(sweep.returncode == 1 and "signal 9" in out, f"the run has failed: {out}{err}")
        expect(wait_until(lambda: f.all_back() or not f.leaders()), f"the nodes go on: {f.leaders()}")
        for i, n in enumerate(f.nodes):
            r = n.run(wattlaw, "restore", env={"WATTLAW_HOST": f"n{i + 1}"})
            expect(r.returncode == 0, "what an epilog does", r)
        expect(f.all_back(), f"restored: {[n.get() for n in f.nodes]}")


def a_step_that_is_cancelled(slurm):
    """Slurm kills all of a step on both nodes at once: the sweep says where caps may be left, and `restore` restores them."""
    with Cluster() as f:
        sweep = f.start(prepare(f, slurm, "sleep 600"))
        expect(wait_until(lambda: f.caps_are_set(250)), "set")
        step = slurm.ask("squeue", "-s", "-h", "-o", "%i").split()[-1]
        slurm.ask("scancel", "-s", "KILL", step)
        out, err = sweep.communicate()
        expect(sweep.returncode == 1 and f.caps_are_set(250), f"step {step} was killed with its guards: {out}{err}")
        expected = "caps may be left on n1, n2, which did not report restoring them: run `wattlaw restore` there"
        expect(expected in err and f.rows("SELECT level, message FROM log WHERE area = 'cap'") == [("error", expected)], f"said: {out}{err}")
        for i, n in enumerate(f.nodes):
            n.run(wattlaw, "restore", env={"WATTLAW_HOST": f"n{i + 1}"})
        expect(f.all_back(), f"restored: {[n.get() for n in f.nodes]}")


def a_batch_job_that_is_cancelled(slurm):
    """scancel ends a sweep in a batch job: SIGTERM reaches all its wattlaws, which restored."""
    with Cluster() as f:
        with open(f.file("job.sh"), "w", encoding="ascii") as script:
            script.write(f"#!/bin/sh\n#SBATCH -N2 -n4 -o {f.file('out')}\nexec {wattlaw} sweep --quiet {prepare(f, slurm, 'sleep 600')}\n")
        subprocess.run(["sbatch", f.file("job.sh")], env=f.env, check=True, capture_output=True)
        expect(wait_until(lambda: f.caps_are_set(250)), f"set: {slurm.tail('ctld.log')}")
        slurm.ask("scancel", "--user=root")
        expect(wait_until(f.all_back), f"restored: {[n.get() for n in f.nodes]}")
        expect(wait_until(lambda: f.rows("SELECT status FROM run") == [("interrupted",)]), "the run is interrupted")
        expect(wait_until(lambda: "the same command resumes with the rest" in f.text("out")), f.text("out"))
        expect("caps may be left" not in f.text("out"), f.text("out"))


def main():
    missing = [p for p in NEEDED if not shutil.which(p)]
    if missing:
        skip(f"{', '.join(missing)} not installed (Debian: slurm-wlm munge)")
    if os.geteuid() != 0:
        skip("slurmd needs root")
    slurm = started()
    try:
        for test in (caps_of_a_sweep_under_srun, a_node_that_refuses_under_srun, an_srun_that_is_killed, a_step_that_is_cancelled,
                     a_batch_job_that_is_cancelled):
            began = time.monotonic()
            test(slurm)
            print(f"ok      {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
    finally:
        slurm.__exit__()


main()
