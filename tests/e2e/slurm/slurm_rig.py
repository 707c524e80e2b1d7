"""A real Slurm of many nodes on this machine. By hand, as root: slurm_rig.py FOLDER NODES, then `export SLURM_CONF=FOLDER/slurm.conf`

Real nodes share neither host name nor /tmp nor /dev/shm nor a boot: each slurmd, and so each of its jobs, is in namespaces of its
own with those, and its fake GPUs have UUIDs of their own. Tests whose nodes share files and tell themselves apart by the
environment ask for nodes without namespaces (`separate=False`). The daemons have their own munged, key, ports and spools in FOLDER,
which has to be outside of /tmp and /dev/shm: a Slurm of this machine is not touched. All of it lives in a PID namespace (alone), and ends with it.
Packages: slurm-wlm, munge.
"""
import contextlib
import fcntl
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid

NEEDED = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "squeue", "scancel", "unshare")
PATIENCE_S = 120

CONF = """ClusterName=wattlaw
SlurmctldHost=localhost
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=2,batch_sched_delay=0,sched_interval=2
ReturnToService=2
KillWait=3
MpiDefault=none
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
SlurmdTimeout=10
TreeWidth=16
MaxJobCount=20000
MaxArraySize=100
"""

# What a job's environment must not have from the machine that submitted it, and what each node has of its own.
PROLOG = """#!/bin/sh
for name in TMPDIR WATTLAW_NODE_DIR XDG_RUNTIME_DIR; do echo "unset $name"; done
n=$(hostname)
mkdir -p /tmp/state
echo "export WATTLAW_STATE_DIR=/tmp/state"
echo "export WATTLAW_FAKE_NVML=gpus=2;board=${n#n};power=200"
"""


def why_not(separate=True):
    """Why no rig can be started here; None: one can."""
    missing = [name for name in NEEDED if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if missing:
        return f"{', '.join(missing)}: not installed"
    if os.geteuid() != 0:
        return "slurmd, and namespaces of its own, need root"
    if not separate:
        return None
    tried = subprocess.run(["unshare", "--uts", "--mount", "--ipc", "mount", "-t", "tmpfs", "tmpfs", "/tmp"], capture_output=True,
                           text=True, check=False)
    return f"no namespaces here: {tried.stderr.strip()}" if tried.returncode else None


def free_ports(n):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def alone():
    """Starts this program anew in a PID namespace: what ends it, SIGKILL too, ends all daemons, steps and jobs of its rigs, which may have
    sessions and parents of their own; and it sees no others. Where there can be none, it goes on as it is."""
    new = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.environ.pop("WATTLAW_RIG_ALONE", None) or subprocess.run([*new, "true"], capture_output=True, check=False).returncode:
        return
    os.environ["WATTLAW_RIG_ALONE"] = "1"
    sys.stdout.flush()
    # the shell is its first process, to which orphans come
    os.execvp(new[0], [*new, "sh", "-c", '"$@"; exit $?', "sh", sys.executable, *sys.argv])


PARENT, PREFIX = "/var/tmp", "wattlaw-slurm-"
held = []  # locks of this process


def new_folder():
    """Those of rigs that were killed are removed: nobody holds their lock."""
    for name in glob.glob(os.path.join(PARENT, PREFIX + "*", "lock")):
        with contextlib.suppress(OSError), open(name, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.dirname(name), ignore_errors=True)
    folder = tempfile.mkdtemp(prefix=PREFIX, dir=PARENT)
    held.append(open(os.path.join(folder, "new"), "wb"))
    fcntl.flock(held[-1], fcntl.LOCK_EX)
    os.rename(held[-1].name, os.path.join(folder, "lock"))  # locked from the first moment on
    return folder


class Rig:
    """munged, slurmctld and the slurmd of `nodes` nodes with two CPUs each; of separate ones the last two are in a partition of
    their own."""

    def __init__(self, nodes=8, folder=None, more="", separate=True, node_options="", prolog=PROLOG, wattlaw=None):
        """more: further lines of slurm.conf; node_options: of each node in it; wattlaw: a program, in /usr/local/bin of each node."""
        self.separate, self.wattlaw = separate, wattlaw
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.folder = folder or new_folder()
        os.makedirs(self.path("state"), exist_ok=True)
        self.write("munge.key", os.urandom(1024), 0o400)
        self.write("task-prolog", prolog.encode(), 0o755)
        if wattlaw:
            os.makedirs(self.path("bin"), exist_ok=True)
            os.symlink(wattlaw, self.path("bin", "wattlaw"))
        port, *ports = free_ports(nodes + 1)
        lines = [f"NodeName={n} NodeHostname=localhost NodeAddr=127.0.0.1 Port={p} CPUs=2 RealMemory=1000 {node_options}" for n, p in zip(self.nodes, ports)]
        for n in self.nodes:
            os.makedirs(self.path(n), exist_ok=True)
            self.write(f"{n}.boot", f"{uuid.uuid4()}\n".encode())
        self.write("hosts", ("127.0.0.1 localhost " + " ".join(self.nodes) + "\n").encode())
        partitions = [("main", self.nodes, "Default=YES")]
        if separate:
            partitions = [("main", self.nodes[:-2], "Default=YES"), ("spare", self.nodes[-2:], ""), ("short", self.nodes[:1], "MaxTime=1")]
            lines.append(f"TaskProlog={self.path('task-prolog')}")
        for name, members, more_of in partitions:
            lines.append(f"PartitionName={name} Nodes={','.join(members)} State=UP {more_of}")
        self.write("slurm.conf", (CONF.format(port=port, folder=self.folder) + more.replace("FOLDER", self.folder) + "\n".join(lines) + "\n").encode())
        self.env = {**os.environ, "SLURM_CONF": self.path("slurm.conf"), "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        self.daemons = {}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def disk(self, node):
        """What a node has at /mnt, and has again after it was lost, as its own disk."""
        os.makedirs(self.path(f"{node}.disk"), exist_ok=True)
        return self.path(f"{node}.disk")

    def write(self, name, data, mode=0o644):
        with open(self.path(name), "wb") as f:
            f.write(data)
        os.chmod(self.path(name), mode)

    def run(self, name, *command):
        with open(self.path("daemons.log"), "ab") as log:
            self.daemons[name] = subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                  start_new_session=True)

    def start_controller(self, *options):
        self.run("ctld", "slurmctld", "-D", *options)

    def mounts(self, node):
        """Shell that mounts what a node has besides, each command followed by &&."""
        return ""

    def start_node(self, node):
        if not self.separate:
            self.run(node, "slurmd", "-D", "-N", node)
            return
        boot = self.path(f"{node}.boot")
        install = f"mount --bind {self.path('bin')} /usr/local/bin && " if self.wattlaw else ""
        script = (f"hostname {node} && mount -t tmpfs -o size=256m tmpfs /tmp && mount -t tmpfs -o size=64m tmpfs /dev/shm && "
                  f"mount --bind {self.disk(node)} /mnt && mount --bind {boot} /proc/sys/kernel/random/boot_id && mount --bind {self.path('hosts')} /etc/hosts && "
                  f"{install}{self.mounts(node)}"
                  f"exec slurmd -D -N {node}")
        self.run(node, "unshare", "--uts", "--mount", "--ipc", "--propagation", "private", "sh", "-c", script)

    def start(self):
        self.run("munged", "munged", "--foreground", "--force", "--socket", self.path("munge"), "--key-file", self.path("munge.key"),
                 "--pid-file", self.path("munge.pid"), "--log-file", self.path("munge.log"), "--seed-file", self.path("seed"))
        self.wait(lambda: os.path.exists(self.path("munge")), "munged")
        self.start_controller("-c")
        for node in self.nodes:
            self.start_node(node)
        self.wait(lambda: len(set(self.ask("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split())) == len(self.nodes), "all nodes")
        return self

    def wait(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            ended = [name for name, p in self.daemons.items() if p.poll() is not None]
            if ended or time.monotonic() > end:
                raise RuntimeError(f"{what}: {ended} ended: {self.tail('daemons.log')} {self.tail('ctld.log')}")
            time.sleep(0.1)

    def kill(self, name, sig=signal.SIGKILL):
        """Ends a daemon; of a node also all of its jobs, as a machine that loses its power."""
        p = self.daemons.pop(name)
        if name in self.nodes and self.separate:
            for pid in self.processes_of(p.pid):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(p.pid, sig)
        p.wait(PATIENCE_S)

    def lose(self, node):
        """The same, and the controller, which would ping the node for most of a minute, knows it."""
        self.kill(node)
        self.ask("scontrol", "update", f"nodename={node}", "state=down", "reason=lost")

    @staticmethod
    def processes_of(pid):
        """Those with the host name of a slurmd: its namespaces are its machine."""
        with contextlib.suppress(OSError):
            machine = os.readlink(f"/proc/{pid}/ns/uts")
            found = []
            for other in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{other}/ns/uts") == machine:
                        found.append(int(other))
            return found
        return []

    def ask(self, *command):
        return subprocess.run(command, env=self.env, text=True, capture_output=True, check=False, timeout=PATIENCE_S).stdout.strip()

    def tail(self, name):
        with contextlib.suppress(OSError), open(self.path(name), encoding="utf-8", errors="replace") as f:
            return f.read()[-600:]
        return ""

    def end_jobs(self):
        """Of nodes without namespaces: steps outlive their slurmd."""
        self.ask("scancel", "--full", "--user=root")
        with contextlib.suppress(RuntimeError):
            self.wait(lambda: not self.ask("squeue", "-h"), "the end of all jobs")

    def stop(self):
        if not self.separate:
            self.end_jobs()
        for node in [n for n in self.nodes if n in self.daemons]:
            self.kill(node)
        for name in list(self.daemons):
            self.kill(name, signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


def started(nodes=8, files=None, **options):
    """files: of the rig's folder, name -> text; options: as of Rig."""
    def make():
        rig = Rig(nodes, **options)
        for name, text in (files or {}).items():
            rig.write(name, text.replace("FOLDER", rig.folder).encode(), 0o755)
        return rig

    return started_of(make)


def started_of(make, attempts=3):
    """A rig; another process may take one of its ports before its daemon does."""
    for attempt in range(attempts):
        rig = make()
        try:
            return rig.start()
        except RuntimeError as why:
            print(f"attempt {attempt + 1}: {why}", flush=True)
            rig.stop()
    sys.exit("no Slurm")


def by_hand(make, why):
    """A program FILE FOLDER NODES: a rig until it is ended. make(nodes, folder); why: there can be none."""
    if why:
        sys.exit(why)
    alone()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    rig = make(int(sys.argv[2]), os.path.abspath(sys.argv[1]))
    try:
        rig.start()
        print(f"export SLURM_CONF={rig.path('slurm.conf')}; Ctrl-C ends it", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        pass
    finally:
        rig.stop()


if __name__ == "__main__":
    by_hand(Rig, why_not())
