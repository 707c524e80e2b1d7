"""The campaign of Frey et al. 2022 (arXiv:2201.12423), simulated, as jobs of a real Slurm in which everything is killed:

    frey.py WATTLAW FAKE_NVML_LIBRARY FAKE_LOAD [--full] [--nodes N] [--workloads N] [--caps N] [--repeats N] ...

Six workloads on 2 to 424 workers under power caps, two simulated GPUs on each node. Meanwhile the login process is killed, the
controller restarted, nodes lose their power, jobs are cancelled and requeued. At the end each trial has its repeats once, no
finished run was made twice, and no cap is left. --full is 864 of the paper's 3,402 jobs on 212 nodes, by hand, as root: about an
hour on a machine of its own. Prints the controller's calls for a job, and the time that wattlaw adds to a job.
Exit status 0: passed, 1: failed, 77: no Slurm here."""
import argparse
import collections
import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

import slurm_rig

SKIP = 77
PATIENCE_S = 600
WORKLOADS = {"resnet50": 1200, "vgg16": 2000, "inception3": 1600, "bert": 2400, "dimenet": 900, "schnet": 600}  # ms of a step on one GPU
WORKERS = (2, 4, 8, 16, 32, 64, 128, 256)
CAPS_W = (250, 150, 200, 175)  # a V100-SXM2 takes 150 W or more
GPUS_OF_A_NODE = 2
# Experiments that are run one after another into one store: the most workers, and repeats. A run of 424 workers takes these cores as long
# as forty of 8, so that only the smaller ones have many.
FULL = ((424, 1), (128, 2), (32, 6))

# One rank of a node loads its GPUs, once those of all nodes have met. Only the first of all writes marks.
JOB = """#!/bin/sh
# job.sh LOAD WORKLOAD WORKERS
[ "$SLURM_LOCALID" = 0 ] || exit 0
[ "$SLURM_PROCID" = 0 ] || unset WATTLAW_MARKS
case $2 in %s esac
step=$SLURM_JOB_ID.${SLURM_RESTART_COUNT:-0}.$SLURM_STEP_ID
exec "$1" barrier="$(dirname "$0")/met/$step" nodes=$SLURM_NNODES workload=$2 workers=2 epochs=2 updates=5 step_ms=$((ms * 2 / $3)) overhead_ms=100 rate=0.1
"""

PROLOG = """#!/bin/sh
for name in TMPDIR WATTLAW_NODE_DIR XDG_RUNTIME_DIR; do echo "unset $name"; done
n=$(hostname)
mkdir -p /tmp/state
echo "export WATTLAW_STATE_DIR=/tmp/state"
echo "export WATTLAW_FAKE_NVML=gpus=2;board=${n#n};seed=${n#n};profile=V100;world=/tmp/world;state=/tmp/limits"
"""


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("programs", nargs=3, metavar="PROGRAM", type=os.path.abspath)
    p.add_argument("--full", action="store_true", help="212 nodes, 864 jobs and all that is killed in the hour")
    p.add_argument("--nodes", type=int, default=12)
    p.add_argument("--workloads", type=int, default=2)
    p.add_argument("--caps", type=int, default=2)
    p.add_argument("--repeats", type=int, default=2)
    p.add_argument("--logins", type=int, default=4, help="times that the login process is killed")
    p.add_argument("--controllers", type=int, default=1, help="times that slurmctld is restarted")
    p.add_argument("--losses", type=int, default=1, help="nodes that lose their power")
    p.add_argument("--cancelled", type=int, default=2, help="jobs that are cancelled; their runs are made by --retry-failed")
    p.add_argument("--requeued", type=int, default=2, help="jobs that an administrator requeues")
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    for program in o.programs:
        if not os.path.exists(program):
            p.error(f"{program}: no such file")
    o.experiments = ((GPUS_OF_A_NODE * o.nodes, o.repeats),)
    if o.full:
        vars(o).update(nodes=212, workloads=6, caps=4, experiments=FULL, logins=20, controllers=3, losses=5, cancelled=10, requeued=10)
    return o


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


class Campaign:
    def __init__(self, rig, o):
        self.rig, self.o = rig, o
        self.wattlaw, self.nvml, self.load = o.programs
        self.folder = rig.path("frey")
        os.makedirs(self.path("met"))
        self.workers = sorted({w for w in WORKERS if w < GPUS_OF_A_NODE * o.nodes} | {GPUS_OF_A_NODE * o.nodes})
        self.repeats = {w: max(n for most, n in o.experiments if w <= most) for w in self.workers}
        self.workloads = dict(list(WORKLOADS.items())[:o.workloads])
        self.jobs = o.workloads * o.caps * sum(self.repeats.values())
        self.sweep = self.follower = None
        self.calls = collections.Counter()
        self.write(*o.experiments[0])

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, most_workers, repeats):
        workers = [w for w in self.workers if w <= most_workers]
        with open(self.path("job.sh"), "w", encoding="ascii") as f:
            f.write(JOB % " ".join(f"{name}) ms={ms} ;;" for name, ms in WORKLOADS.items()))
        with open(self.path("exp.ini"), "w", encoding="ascii") as f:
            f.write(f"[campaign]\nname = frey\nstore = store\nrepeats = {repeats}\n[sweep]\n"
                    f"workload = {','.join(self.workloads)}\nworkers = {','.join(map(str, workers))}\n"
                    f"power_cap_w = {','.join(map(str, CAPS_W[:self.o.caps]))}\n[measure]\nsensors = nvml\nnvml_library = {self.nvml}\n"
                    f"node_wait = 5m\n[launch]\nlauncher = slurm\npartition = all\nexclusive = yes\nworkers_per_node = {GPUS_OF_A_NODE}\n"
                    f"time_limit = 30m\nretries = 20\nmax_in_queue = 60\npoll = 1s\n"
                    f"command = srun -N {{nodes}} -n {{workers}} --overlap {{measure}} sh {self.path('job.sh')} {self.load} "
                    f"{{workload}} {{workers}}\n")

    def run(self, *args, status=0):
        r = subprocess.run([self.wattlaw, *args], cwd=self.folder, env=self.rig.env, text=True, capture_output=True, stdin=subprocess.DEVNULL,
                           check=False, timeout=PATIENCE_S)
        check(status is None or r.returncode == status, args, r.returncode, r.stdout, r.stderr)
        return r.stdout + r.stderr

    def start(self, *more):
        with open(self.path("sweep.log"), "a", encoding="utf-8") as log:
            self.sweep = subprocess.Popen([self.wattlaw, "sweep", self.path("exp.ini"), "--quiet", *more], cwd=self.folder, env=self.rig.env,
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def shards(self, status):
        with contextlib.suppress(FileNotFoundError):
            return [n for n in os.listdir(self.path("store/shards")) if f".{status}." in n]
        return []

    def rows(self, sql):
        with contextlib.closing(sqlite3.connect(self.path("store/wattlaw.db"), timeout=60)) as db:
            return db.execute(sql).fetchall()

    def follow(self):
        """Is started once there is a store, sees the whole experiment, and ends when no run is left."""
        if self.follower or not os.path.exists(self.path("store/wattlaw.db")):
            return
        with open(self.path("followed"), "a", encoding="utf-8") as out:
            self.follower = subprocess.Popen([self.wattlaw, "status", "store", "--follow", "--json"], cwd=self.folder, env=self.rig.env,
                                             stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    # ---- what happens meanwhile ----

    def note_calls(self):
        """A controller that is started anew counts from 0."""
        text = self.rig.ask("sdiag")
        for name, n in re.findall(r"^\s+((?:REQUEST|MESSAGE)_\w+)\s+\(\s*\d+\) count:(\d+)", text, re.M):
            self.calls[name] += int(n)

    def kill_login(self, dice):
        self.sweep.kill()
        self.sweep.wait()
        time.sleep(dice.uniform(0, 3))
        self.start()

    def restart_controller(self, dice):
        self.note_calls()
        self.rig.kill("ctld", dice.choice((signal.SIGTERM, signal.SIGKILL)))
        time.sleep(dice.uniform(1, 5))
        self.rig.start_controller()
        self.rig.wait(lambda: "up" in self.rig.ask("scontrol", "ping").lower(), "the controller")
        self.rig.ask("scontrol", "reconfigure")  # the nodes report what has ended meanwhile, which they else do after minutes

    def running(self):
        """(job, first node)"""
        lines = self.rig.ask("squeue", "-h", "-t", "running", "-o", "%i %B").splitlines()
        return [tuple(line.split()) for line in lines if len(line.split()) == 2]

    def lose_node(self, dice):
        found = self.running()
        if not found:
            return False
        node = dice.choice(found)[1]
        self.rig.lose(node)
        time.sleep(dice.uniform(1, 4))
        self.rig.start_node(node)
        self.rig.ask("scontrol", "update", f"nodename={node}", "state=resume")
        return True

    def cancel(self, dice):
        found = self.running()
        if found:
            self.rig.ask("scancel", dice.choice(found)[0])
        return bool(found)

    def requeue(self, dice):
        found = self.running()
        if not found:
            return False
        job = dice.choice(found)[0]
        self.rig.ask("scontrol", "update", f"jobid={job}", "requeue=1")
        self.rig.ask("scontrol", "requeue", job)
        return True

    def everything(self):
        """Runs all experiments; each event comes when its share of the runs is done."""
        o, dice = self.o, random.Random(self.o.seed)
        events = ([self.kill_login] * o.logins + [self.restart_controller] * o.controllers + [self.lose_node] * o.losses +
                  [self.cancel] * o.cancelled + [self.requeue] * o.requeued)
        dice.shuffle(events)
        happened = collections.Counter()
        for experiment in o.experiments:
            self.write(*experiment)
            self.follower = None
            self.start()
            for _ in range(20):
                self.run_with(events, happened, dice)
                if self.sweep.returncode == 0:
                    break
                self.start("--retry-failed")
            check(self.follower.wait(PATIENCE_S) == 0, "status --follow")
        check(sum(happened.values()) == len(events), "not everything happened before the end:", happened)
        return happened

    def run_with(self, events, happened, dice):
        while self.sweep.poll() is None:
            time.sleep(0.3)
            self.follow()
            at = sum(happened.values())
            if at < len(events) and len(self.shards("done")) >= 0.6 * self.jobs * at / len(events) and events[at](dice) is not False:
                happened[events[at].__name__] += 1

    # ---- what has to be so at the end ----

    def check_runs(self):
        runs = self.rows("SELECT count(*), count(DISTINCT trial || ' ' || repeat) FROM run WHERE status = 'done'")
        check(runs == [(self.jobs, self.jobs)], "each repeat of each trial once:", runs, self.rows("SELECT status, error, count(*) FROM run GROUP BY 1, 2"))
        done = [tuple(n.split(".")[:2]) for n in self.shards("done")]
        twice = [n for n, k in collections.Counter(done).items() if k > 1]
        check(not twice, "finished runs that were made twice:", twice)
        check(len(done) == self.jobs, len(done), "finished shards")
        capped = self.rows("SELECT count(*), sum(c.enforced = c.requested) FROM cap c JOIN run r ON r.id = c.run WHERE r.status = 'done'")
        gpus = sum(w * n for w, n in self.repeats.items()) * self.o.workloads * self.o.caps
        check(capped == [(gpus, gpus)], "each GPU of each run was capped:", capped, gpus)
        check(self.rows("SELECT count(*) FROM observations WHERE energy_j > 0 AND simulated") == [(2 * self.jobs,)], "energies of all epochs")

    def check_followed(self):
        with open(self.path("followed"), encoding="utf-8") as f:
            seen = [json.loads(line)["campaigns"][0] for line in f]
        done = [o["runs"]["done"] for o in seen]
        check(done == sorted(done) and seen[-1]["runs"]["left"] == 0 and done[-1] >= self.jobs - self.o.cancelled, seen[-1])
        known = [o for o in seen if o["left_s"] is not None and o["runs"]["left"]]
        check(known and all(o["queue_rate"]["runs_ended"] >= 5 for o in known), "the time left is known, from five ends on")

    def check_caps(self):
        """The limits of each node's GPUs are 0, which is never set, or the default; no journal is left."""
        for node in self.rig.nodes:
            root = f"/proc/{self.rig.daemons[node].pid}/root"
            with contextlib.suppress(FileNotFoundError):
                with open(f"{root}/tmp/limits", "rb") as f:
                    limits = [int.from_bytes(f.read(16)[:4], "little") for _ in range(GPUS_OF_A_NODE)]
                check(all(mw in (0, 300000) for mw in limits), "a cap is left on", node, limits)

    def print_numbers(self, seconds, happened):
        print(f"{self.jobs} runs on {self.o.nodes} nodes in {seconds:.0f} s; {dict(happened)}")
        print(f"the controller's calls for a run: {sum(self.calls.values()) / self.jobs:.1f}")
        for name, n in self.calls.most_common(12):
            print(f"    {name:40} {n / self.jobs:8.2f}")

    def script_of(self, workers):
        """Of the first workload, under the cap that changes nothing; its second comment names the trial."""
        wanted = re.compile(rf"^# campaign frey: (?=.*\bworkers={workers}\b)(?=.*\bpower_cap_w={CAPS_W[0]}\b).*repeat 1\.", re.M)
        for name in sorted(os.listdir(self.path("store/jobs"))):
            path = self.path("store/jobs", name)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            if name.endswith(".sh") and wanted.search(text) and ("workload=" not in text or f"workload={list(WORKLOADS)[0]}" in text):
                return path
        raise AssertionError(f"no script of {workers} workers")

    def print_overhead(self):
        """The scripts of single runs under the cap that changes nothing, by hand on an idle cluster, beside their commands without wattlaw."""
        self.run("sweep", self.path("exp.ini"), "--dry-run")
        print("seconds of a job by itself, with wattlaw, and more:")
        for workers in self.workers:
            nodes = max(1, workers // GPUS_OF_A_NODE)
            script = self.script_of(workers)
            bare = f"srun -N {nodes} -n {workers} --overlap sh {self.path('job.sh')} {self.load} {list(WORKLOADS)[0]} {workers}"
            timed = f"bash {script} >{self.path('first')} 2>&1; a=$(date +%s%N); {bare}; b=$(date +%s%N); rm -f {self.path('store/shards')}/*; " \
                    f"bash {script} >/dev/null 2>&1; c=$(date +%s%N); rm -f {self.path('store/shards')}/*; echo $((b - a)) $((c - b))"
            text = self.rig.ask("salloc", "-Q", "-p", "all", "-N", str(nodes), "-n", str(workers), "--exclusive", "bash", "-c", timed)
            alone, with_wattlaw = (int(n) / 1e9 for n in text.splitlines()[-1].split())
            print(f"    {workers:4} workers {alone:8.2f} {with_wattlaw:8.2f} {with_wattlaw - alone:+8.2f}")


def campaign(rig, o):
    c = Campaign(rig, o)
    c.print_overhead()
    rig.ask("sdiag", "-r")
    begin = time.monotonic()
    happened = c.everything()
    seconds = time.monotonic() - begin
    c.note_calls()
    c.check_followed()
    c.check_runs()
    c.check_caps()
    c.run("fit", "store")
    c.run("report", "store")
    c.print_numbers(seconds, happened)


def main():
    o = options()
    why = slurm_rig.why_not()
    if why:
        print("SKIP:", why)
        return SKIP
    slurm_rig.alone()
    rig = slurm_rig.Rig(o.nodes, more="PartitionName=all Nodes=ALL State=UP\nSlurmdTimeout=60\nMessageTimeout=60\n")
    rig.write("task-prolog", PROLOG.encode(), 0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        rig.start()
        campaign(rig, o)
        return 0
    finally:
        rig.stop()


if __name__ == "__main__":
    sys.exit(main())
