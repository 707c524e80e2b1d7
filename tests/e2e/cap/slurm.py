"""Caps under a real Slurm of two nodes on this machine: slurm.py WATTLAW FAKE_NVML_LIBRARY

Two slurmd act as nodes (../slurm/slurm_rig.py); each has its own fake GPUs, journals and guards. Skipped if Slurm is not
installed or the user is not root."""
import os
import signal
import subprocess
import sys
import time

from nodes import Cluster, expect, wattlaw
from rig import kill, wait_until

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "slurm"))
import slurm_rig  # noqa: E402  pylint: disable=wrong-import-position

SKIP = 77


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
    why = slurm_rig.why_not(separate=False)
    if why:
        print("SKIP:", why)
        sys.exit(SKIP)
    slurm_rig.alone()
    slurm = slurm_rig.started(2, separate=False)
    try:
        for test in (caps_of_a_sweep_under_srun, a_node_that_refuses_under_srun, an_srun_that_is_killed, a_step_that_is_cancelled,
                     a_batch_job_that_is_cancelled):
            began = time.monotonic()
            test(slurm)
            print(f"ok      {test.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
    finally:
        slurm.stop()


main()
