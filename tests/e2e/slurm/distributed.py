"""Programs of several ranks on several nodes of a real Slurm: distributed.py WATTLAW TOY FAKE_NVML_LIBRARY WATTLAW_TRAIN SOURCE [long|TEST...]

wattlaw-train by srun and by mpirun, and the experiments for PyTorch: with stand-ins for it that check what it would find, and in the
suite `long` with PyTorch itself, Debian's python3-torch. Skipped where Slurm is not installed, or its nodes cannot have namespaces of their own."""
import os
import shutil
import subprocess
import sys

import harness
import slurm_rig
from harness import PATIENCE_S, Campaign, check, contains, fake, toy, wattlaw

HERE = os.path.dirname(os.path.abspath(__file__))
train, source = map(os.path.abspath, sys.argv[4:6])
LOSSES = "SELECT m.name, m.epoch, m.value FROM metric m JOIN run r ON r.id = m.run WHERE r.status = 'done' AND m.name LIKE '%loss' ORDER BY 1, 2"

# ---- wattlaw-train ----


def images(rig):
    """Made once for all tests."""
    folder = rig.path("images")
    if not os.path.exists(folder):
        subprocess.run([train, "data", "imagenet", "--synthetic", folder, "--classes", "4", "--images", "64", "--val-images", "32", "--image-size",
                        "64", "--quiet"], check=True)
    return f"resnet50 --data {folder} --size tiny --image-size 64 --local-batch 8 --train-samples 64 --epochs 1 --lr 0.01 --seed 1 --quiet"


def training(rig, name, launcher, launch="workers_per_node = 1"):
    c = Campaign(rig, name, f"{launcher} {train} {images(rig)}", "workers = 4", launch=launch)
    contains(c.sweep(), "1 of 1 runs")
    return c


def check_losses(c, one, nodes):
    found = c.rows(LOSSES)
    check(len(found) == len(one) == 2 and [r[:2] for r in found] == [r[:2] for r in one], found, one)
    check(all(abs(x[2] - y[2]) <= 1e-5 * abs(y[2]) for x, y in zip(found, one)), "other losses than on one node:", found, one)
    hosts = c.rows("SELECT count(DISTINCT host), count(DISTINCT boot_id) FROM node")
    check(hosts == [(nodes, nodes)], "on so many nodes:", hosts)


def on_one_node(rig, name):
    """By mpirun, and without Slurm."""
    c = Campaign(rig, name, f"mpirun -np {{workers}} {train} {images(rig)}", "workers = 4", launcher="local")
    contains(c.sweep("--set", "measure.sensors=proc,cpu_model"), "1 of 1 runs")
    return c.rows(LOSSES)


def trains_on_four_nodes_by_srun(rig):
    """The same losses as by mpirun on one."""
    one = on_one_node(rig, "one")
    c = training(rig, "pmix", "srun --mpi=pmix -N {nodes} -n {workers} --overlap {measure}")
    check_losses(c, one, 4)


def trains_on_four_nodes_by_mpirun(rig):
    """Open MPI starts its daemons by srun, and its ranks have a wattlaw each."""
    one = on_one_node(rig, "mpirun-one")
    c = training(rig, "mpirun", "mpirun -np {workers} {measure}")
    check_losses(c, one, 4)


# ---- PyTorch ----


class Experiment(Campaign):
    """One of experiments/, in a folder in which its program is another one."""

    def __init__(self, rig, name, program, path=None):
        super().__init__(rig, name.replace("_", "-"), "true")
        shutil.copy(os.path.join(source, "experiments", f"{name}.ini"), self.ini)
        os.mkdir(self.path("examples"))
        shutil.copy(program, self.path("examples", "pytorch_ddp.py"))
        os.symlink(os.path.join(source, "python"), self.path("python"))
        self.met = self.path("met")
        self.env = {**rig.env, "RANKS_MET": self.met, "PYTHONPATH": os.path.join(source, "python"), "GLOO_SOCKET_IFNAME": "lo",
                    "PATH": f"{path}:{rig.env['PATH']}" if path else rig.env["PATH"]}

    def start(self, *args):
        return subprocess.Popen([wattlaw, *args], cwd=self.folder, env=self.env, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def sweep(self, *sets):
        words = ["campaign.store=store", "launch.workers_per_node=2", "launch.poll=500ms", "measure.sensors=nvml", f"measure.nvml_library={fake}", *sets]
        return super().sweep(*(word for s in words for word in ("--set", s)))


def check_meetings(c, trials):
    """(ranks, nodes) of each run; jobs that run at the same time do not meet."""
    with open(c.met, encoding="ascii") as f:
        met = [line.split() for line in f]
    check(sorted((int(size), int(nodes)) for *_, size, nodes in met) == sorted(trials), met)
    check(len({job for job, *_ in met}) == len({port for _, port, *_ in met}) == len(trials), "a port of its own for each job:", met)
    got = c.rows("SELECT s.workers, s.nodes, (SELECT count(*) FROM node n WHERE n.run = r.id), (SELECT count(*) FROM epoch e WHERE e.run = r.id) "
                 "FROM run r JOIN setting s ON s.run = r.id WHERE r.status = 'done' ORDER BY 1")
    check(got == [(ranks, nodes, nodes, 1) for ranks, nodes in sorted(trials)], "nodes and epochs:", got)


def pytorch_by_srun(rig):
    c = Experiment(rig, "pytorch_ddp_srun", os.path.join(HERE, "ranks.py"))
    contains(c.sweep("campaign.repeats=1", "sweep.workers=1,2,4"), "3 of 3 runs")
    check_meetings(c, [(1, 1), (2, 1), (4, 2)])


def pytorch_by_torchrun(rig):
    c = Experiment(rig, "pytorch_ddp_torchrun", os.path.join(HERE, "ranks.py"), HERE)
    contains(c.sweep("campaign.repeats=1", "sweep.workers=1,2,4"), "3 of 3 runs")
    check_meetings(c, [(1, 1), (2, 1), (4, 2)])


# With Python 3.11 the torchrun of PyTorch 1.13 (Debian 12) finds no member of Std for 0, and starts no worker.
STARTS_WORKERS = "from torch.distributed.elastic.multiprocessing import Std; raise SystemExit(Std.from_str('0') is None)"


def torch_folder(rig):
    """A folder of programs with a python3 and a torchrun that have PyTorch: $TORCH_BIN, else Debian's, which belongs to /usr/bin/python3."""
    if os.environ.get("TORCH_BIN"):
        return os.environ["TORCH_BIN"]
    folder = rig.path("torch")
    os.makedirs(folder, exist_ok=True)
    for name, words in (("python3", ""), ("torchrun", "-m torch.distributed.run ")):
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\nexec /usr/bin/python3 {words}"$@"\n')
        os.chmod(f"{folder}/{name}", 0o755)
    return folder


def with_torch(rig, name, needs):
    folder = torch_folder(rig)
    if subprocess.run([f"{folder}/python3", "-c", needs], capture_output=True, check=False).returncode:
        print(f"SKIP: {name}: the PyTorch of {folder}/python3 is missing, or starts no worker (TORCH_BIN names another folder)")
        return
    c = Experiment(rig, name, os.path.join(source, "examples", "pytorch_ddp.py"), folder)
    contains(c.sweep("campaign.repeats=1", "sweep.workers=1,2,4", "data.samples=256", "sweep.epochs=2"), "3 of 3 runs")
    got = c.rows("SELECT s.workers, s.nodes, (SELECT count(*) FROM node n WHERE n.run = r.id), (SELECT count(*) FROM epoch e WHERE e.run = r.id) "
                 "FROM run r JOIN setting s ON s.run = r.id WHERE r.status = 'done' ORDER BY 1")
    check(got == [(1, 1, 1, 2), (2, 1, 1, 2), (4, 2, 2, 2)], got)


def torch_itself_by_srun(rig):
    with_torch(rig, "pytorch_ddp_srun", "import torch.distributed")


def torch_itself_by_torchrun(rig):
    with_torch(rig, "pytorch_ddp_torchrun", STARTS_WORKERS)


# ---- many runs in one allocation ----


def allocated(c, nodes, command, status=0):
    r = subprocess.run(["salloc", "-Q", "-N", str(nodes), "-n", str(2 * nodes), "bash", "-c", command], cwd=c.folder, env=c.rig.env, text=True,
                       stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE_S)
    check(r.returncode == status, r.returncode, r.stdout, r.stderr)
    return r.stdout + r.stderr


def packing(rig, name, pack, repeats=2):
    return Campaign(rig, name, f"srun -N {{nodes}} -w {{nodelist}} -n {{workers}} --overlap {{measure}} {toy} epochs=2 ms=400 touch={rig.path(name, 'ended')}",
                    "workers = 1,2,4", repeats, f"workers_per_node = 2\npack = {pack}", launcher="allocation")


def spans(c):
    """(begin, end, nodes that it was given, nodes that it was on) of each run that is done."""
    return [(begin, end, set(given.split(",")), set(on.split(",")))
            for begin, end, given, on in c.rows(
                "SELECT start_wall_ns, stop_wall_ns, s.nodes, (SELECT group_concat(n.host) FROM node n WHERE n.run = r.id) FROM run r "
                "JOIN submission s ON s.run = r.id WHERE r.status = 'done' AND s.state = 'ended' AND s.outcome = 'done'")]


def pairs_at_once(c):
    """The runs that overlapped, which had no node in common."""
    runs = spans(c)
    check(all(given == on for _, _, given, on in runs), "a run is on the nodes that it was given:", runs)
    found = [(x, y) for i, x in enumerate(runs) for y in runs[:i] if x[0] < y[1] and y[0] < x[1]]
    check(all(not x[3] & y[3] for x, y in found), "two runs on one node:", found)
    return len(found)


def ended(c):
    with open(c.path("ended"), encoding="ascii") as f:
        return f.read().count("\n")


def side_by_side(rig):
    """On nodes of their own, and each run once though the sweep is killed."""
    c = packing(rig, "fill", "fill")
    text = allocated(c, 4, f"{wattlaw} sweep {c.ini} --quiet & sleep 1.5; kill -9 $!; wait; {wattlaw} sweep {c.ini} --quiet")
    contains(text, "6 of 6 runs")
    check(len(spans(c)) == 6 and pairs_at_once(c) >= 2, spans(c))
    check(ended(c) == 2 * (1 + 2 + 4), "each rank of each run once:", ended(c))
    check(c.rows("SELECT count(*), count(DISTINCT trial || ' ' || repeat) FROM run") == [(6, 6)], c.rows("SELECT * FROM run"))
    contains(c.run("show", "store"), "beside ")
    contains(c.run("status", "store"), "runs had neighbours in their allocation")


def one_after_the_other(rig):
    c = packing(rig, "alone", "alone", 1)
    contains(c.run("sweep", c.ini, "--quiet", "--set", "launch.command=srun -n {workers} {measure} x", status=1), "srun needs the nodes of the run")
    contains(c.run("sweep", c.ini, "--quiet", status=1), "start the sweep in one, as in salloc -N 8")
    contains(allocated(c, 1, f"{wattlaw} sweep {c.ini} --quiet", 1), "it takes 2 nodes, and allocation", "has 1")
    contains(allocated(c, 2, f"{wattlaw} sweep {c.ini} --quiet"), "3 of 3 runs")
    check(len(spans(c)) == 3 and pairs_at_once(c) == 0, spans(c))
    check("beside" not in c.run("show", "store") + c.run("status", "store"), "nothing was beside them")


def ends_in_an_allocation(rig):
    """A run that is cancelled stays so; one whose step is killed, or whose allocation ends, is attempted again."""
    c = Campaign(rig, "ends", f"sh -c 'test -e {rig.path('ends', 'go')} && exit 0; touch {rig.path('ends', 'begun')}; sleep 600'", repeats=2,
                 launch="pack = fill", launcher="allocation")
    p = subprocess.Popen(["salloc", "-Q", "-N", "1", wattlaw, "sweep", c.ini, "--quiet"], cwd=c.folder, env=rig.env, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    c.until(lambda: os.path.exists(c.path("begun")), "it runs")
    os.remove(c.path("begun"))
    contains(c.run("cancel", c.ini, "1"), "1 job cancelled")
    c.until(lambda: c.rows("SELECT status FROM run WHERE id = 1") == [("failed",)], "it has failed")
    c.until(lambda: os.path.exists(c.path("begun")), "the second runs")
    allocation = c.rows("SELECT substr(job, 1, instr(job, '_') - 1) FROM submission ORDER BY id DESC LIMIT 1")[0][0]
    os.remove(c.path("begun"))
    steps = rig.ask("squeue", "-s", "-h", "-j", allocation, "-o", "%i").split()
    rig.ask("scancel", "-s", "KILL", next(s for s in steps if s.split(".")[1].isdigit()))
    c.until(lambda: os.path.exists(c.path("begun")), "its second attempt runs")
    rig.ask("scancel", allocation)
    p.communicate(timeout=PATIENCE_S)
    with open(c.path("go"), "w", encoding="ascii"):
        contains(allocated(c, 1, f"{wattlaw} sweep {c.ini} --quiet", 1), "1 of 2 runs", "was cancelled")
    first, second = (c.rows(f"SELECT status FROM run WHERE repeat = {r} ORDER BY attempt") for r in (1, 2))
    check(first == [("failed",)] and second[-1] == ("done",) and set(second[:-1]) == {("interrupted",)} and len(second) > 2, first, second)
    check(c.rows("SELECT count(*) FROM submission WHERE outcome = 'lost' AND why = 'exit status 137'") == [(1,)], c.rows("SELECT * FROM submission"))


TESTS = [side_by_side, one_after_the_other, ends_in_an_allocation, trains_on_four_nodes_by_srun, pytorch_by_srun, pytorch_by_torchrun]
LONG = [trains_on_four_nodes_by_mpirun, torch_itself_by_srun, torch_itself_by_torchrun]


def start():
    rig = slurm_rig.started(6)
    images(rig)
    return rig


if __name__ == "__main__":
    sys.exit(harness.run(start, TESTS, LONG, arguments=5, workers=3))
