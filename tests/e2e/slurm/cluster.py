"""Campaigns on a Slurm with accounting: cluster.py WATTLAW TOY FAKE_NVML_LIBRARY CLOCK_AHEAD_LIBRARY [TEST...]

Of a Slurm with accounting. Skipped where Slurm, slurmdbd or MariaDB is not installed, or its nodes cannot have namespaces of their own (not root)."""
import collections
import contextlib
import copy
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
import slurm_accounting
from harness import PATIENCE_S, Campaign, check, contains, fake, first_attempt_waits, toy, until_it_waits, wattlaw

clock_ahead = os.path.abspath(sys.argv[4])
COUNTED = ("sbatch", "squeue", "sacct", "scontrol", "scancel")


# ---- what only the database knows ----

def forget(rig):
    """A controller that has lost its state knows no job."""
    rig.kill("ctld", signal.SIGTERM)
    rig.start_controller("-c")
    rig.wait(lambda: rig.succeeds("squeue", "-h") and not rig.ask("squeue", "-h", "-t", "all"), "an empty queue")


def states(rig, jobs):
    return sorted(line.split()[0] for line in rig.ask("sacct", "-nXP", "-j", ",".join(jobs), "--format=State").splitlines())


def a_controller_that_has_forgotten(rig):
    """Nobody has followed two jobs: one has failed, one was cancelled before it began, of which there is not even an output. While the
    database is down it is waited for: the cancelled job would else count as lost, and be submitted again."""
    c = Campaign(rig, "forgotten", f"{toy} epochs=1 ms=20 status={{workers}}", "workers = 1,2")
    rig.ask("scontrol", "update", "partitionname=main", "state=down")
    contains(c.sweep("--detach"), "2 jobs in the queue")
    jobs = [c.rows(f"SELECT job FROM submission WHERE script LIKE '%workers-{n}.%'")[0][0] for n in (1, 2)]
    rig.ask("scancel", jobs[0])
    rig.ask("scontrol", "update", "partitionname=main", "state=up")
    c.until(lambda: states(rig, jobs) == ["CANCELLED", "FAILED"], "both have ended")
    forget(rig)
    rig.kill("dbd", signal.SIGTERM)
    p = c.start("sweep", c.ini, "--quiet")
    said = next(line for line in p.stderr if "waiting for the batch system" in line)
    contains(said, "sacct")
    rig.start_dbd()
    out, err = p.communicate(timeout=PATIENCE_S)
    contains(out + err, f"job {jobs[0]} was cancelled", "exit status 2")
    got = dict(c.rows("SELECT job, outcome || ' ' || coalesce(nodes, '-') FROM submission"))
    check(got[jobs[0]] == "cancelled -" and re.fullmatch(r"failed n\d", got[jobs[1]]), got)


# ---- beside other jobs ----

def an_account_that_is_not_known(rig):
    c = Campaign(rig, "account", "true", launch="account = nobody")
    contains(c.sweep(status=1), "was refused", "Invalid account", "account = nobody")
    check(c.rows("SELECT status FROM run") == [("planned",)], "it runs once the account is right")
    with open(c.ini, encoding="ascii") as f:
        text = f.read()
    with open(c.ini, "w", encoding="ascii") as f:
        f.write(text.replace("account = nobody", "account = lab"))
    contains(c.sweep(), "1 of 1 runs")
    check(c.rows("SELECT slurm_account FROM run") == [("lab",)], c.rows("SELECT * FROM run"))


def a_limit_of_the_site_on_submitted_jobs(rig):
    """Of an account that may have two jobs in the queue: the others are submitted as these end, with no call in vain between."""
    rig.ask("sacctmgr", "-i", "add", "account", "small")
    rig.ask("sacctmgr", "-i", "add", "user", "root", "account=small", "maxsubmitjobs=2")
    counted, path = with_counted_calls(rig, "small")
    c = Campaign(counted, "small", f"{toy} epochs=1 ms=300", repeats=6, launch="account = small\npartition = main")
    text = c.sweep()
    contains(text, "6 of 6 runs", "waiting for room in the queue", "AssocMaxSubmitJobLimit")
    check(c.rows("SELECT count(*), count(DISTINCT repeat) FROM run WHERE slurm_account = 'small'") == [(6, 6)], c.rows("SELECT * FROM run"))
    check(calls_of(path)["sbatch"] <= 13, calls_of(path))


def stores_of(c, node):
    """Of the campaign, on the node's disk: what their targets name is below its folder."""
    found = []
    for target in glob.glob(os.path.join(c.rig.disk(node), "wattlaw-jobs-*", "*", "target")):
        with contextlib.suppress(FileNotFoundError), open(target, encoding="utf-8") as f:
            if c.folder + "/" in f.read():
                found.append(os.path.dirname(target))
    return found


def samples(c, run, what="count(*)"):
    return c.rows(f"SELECT {what} FROM sample s JOIN channel c ON c.id = s.channel JOIN device d ON d.id = c.device WHERE c.run = {run}")[0][0]


def a_lost_node_comes_back(rig):
    """What a job had measured is on the disk of the node that died. Its run was closed without it, and gets it later."""
    c = Campaign(rig, "back", first_attempt_waits(rig, "back"), launch="partition = spare\nlocal_dir = /mnt")
    lost, other = rig.nodes[-2:]
    rig.ask("scontrol", "update", f"nodename={other}", "state=drain", "reason=test")
    p = c.start("sweep", c.ini, "--quiet")
    until_it_waits(c)
    time.sleep(2.5)  # readings reach the spool twice
    rig.lose(lost)
    check(len(stores_of(c, lost)) == 1, "the disk of the node has the store:", stores_of(c, lost))
    c.until(lambda: c.rows("SELECT status FROM run WHERE id = 1") == [("interrupted",)], "it is given up")
    check(samples(c, 1) == 0, "nothing of it is there")
    with open(c.path("again"), "w", encoding="ascii"):
        rig.start_node(lost)
    rig.ask("scontrol", "update", f"nodename={lost}", "state=resume")
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0, out, err)
    got = c.rows("SELECT status, attempt, error FROM run ORDER BY id")
    check([row[:2] for row in got] == [("interrupted", 1), ("done", 2)], got)
    contains(got[0][2], "was lost", "NODE_FAIL")
    check(samples(c, 1) > 20, "its readings came with the next job on the node:", samples(c, 1), out, err)
    check(c.rows("SELECT count(shard) FROM submission") == [(2,)] and not stores_of(c, lost), stores_of(c, lost))
    rig.ask("scontrol", "update", f"nodename={other}", "state=resume")


def parts_of_a_cancelled_run(rig):
    """Each node measures on its own disk; what they have when the job is cancelled becomes the run's."""
    c = Campaign(rig, "parts", f"srun -N {{nodes}} -n {{workers}} --overlap {{measure}} {toy} epochs=1 ms=60000", "workers = 2",
                 launch="workers_per_node = 1\nlocal_dir = /mnt\npartition = main")
    p = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: sum(len(stores_of(c, node)) for node in rig.nodes[:-2]) == 3, "a store of the job, and of each of its nodes")
    time.sleep(2.5)
    check(not c.names("runs/*/nodes/*.db"), "none is on the shared disk:", c.names("runs/*/nodes/*"))
    c.run("cancel", c.ini)
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 1, out, err)
    contains(c.rows("SELECT error FROM run")[0][0], "was cancelled")
    check(samples(c, 1, "count(DISTINCT d.host)") == 2 and samples(c, 1) > 40, samples(c, 1), out, err)
    check(not any(stores_of(c, node) for node in rig.nodes[:-2]), "nothing stays on the nodes")


def a_part_whose_wattlaw_was_killed(rig):
    """The run keeps the part of the other node. This one is on the disk of its node until another wattlaw measures there."""
    c = Campaign(rig, "dead", f"srun -N {{nodes}} -n {{workers}} --overlap {{measure}} {toy} epochs=1 ms=60000", "workers = 2",
                 launch="workers_per_node = 1\nlocal_dir = /mnt\npartition = main")
    p = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: len(c.names("runs/*/nodes/*/1/marks")) == 2, "both nodes measure")
    time.sleep(2.5)
    host = c.rows("SELECT nodes FROM submission")[0][0]
    second = rig.ask("scontrol", "show", "hostnames", host).split()[1]
    measures = subprocess.run(["pgrep", "-f", f"^{wattlaw} measure .*--node-of {c.path('store')}"], text=True, capture_output=True, check=True)
    of_second = set(map(int, measures.stdout.split())) & set(rig.processes_of(rig.daemons[second].pid))
    for pid in of_second:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    time.sleep(1)
    c.run("cancel", c.ini)
    out, err = p.communicate(timeout=PATIENCE_S)
    check(samples(c, 1, "count(DISTINCT d.host)") == 1 and samples(c, 1) > 20, samples(c, 1), out, err)
    log = rig.ask("srun", "-w", second, "sh", "-c", f"{wattlaw} measure --quiet --sensors nvml --nvml-library {fake} --local-dir /mnt "
                  f"--node-of {c.path('other')} -- true 2>&1")
    contains(log, "was killed: what it has measured is in", "/nodes/" + second)
    check(len(c.names(f"runs/*/nodes/{second}.*.db")) == 1 and len(c.names("runs/*/nodes/*.db")) == 2, c.names("runs/*/nodes/*"))


def with_a_clock_ahead(rig, name, seconds, ms):
    """Of the second node, for wattlaw and its command alone."""
    ahead = f"env LD_PRELOAD={clock_ahead} CLOCK_AHEAD_S={seconds}"
    return Campaign(rig, name, f"srun -N {{nodes}} -n {{workers}} --overlap sh -c 'test $SLURM_PROCID = 0 || set -- {ahead} \"$@\"; exec \"$@\"' sh "
                    f"{{measure}} {toy} epochs=1 ms={ms}", "workers = 2", launch="workers_per_node = 1\npartition = main")


def clocks_that_differ(rig):
    """Times of two nodes cannot be related. A run that is shorter than the difference is refused, a longer one has a flag."""
    longer = with_a_clock_ahead(rig, "longer", 6, 8000)
    p = longer.start("sweep", longer.ini, "--quiet")
    contains(with_a_clock_ahead(rig, "clocks", 300, 300).sweep(status=1), "the clocks of the nodes differ", "NTP", "one node ended 29")
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0, out, err)
    contains(longer.rows("SELECT flag FROM run")[0][0], "by their clocks, which seem to differ", "after")


def with_counted_calls(rig, name):
    """The same Slurm, whose programs write down that they were called."""
    folder = rig.path(f"{name}-programs")
    os.mkdir(folder)
    for program in COUNTED:
        with open(os.path.join(folder, program), "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\necho {program} >>{folder}/calls\nexec {shutil.which(program)} \"$@\"\n")
        os.chmod(f.name, 0o755)
    counted = copy.copy(rig)
    counted.env = {**rig.env, "PATH": folder + ":" + rig.env["PATH"]}
    return counted, os.path.join(folder, "calls")


def calls_of(path):
    with open(path, encoding="ascii") as f:
        return collections.Counter(f.read().split())


def few_calls_of_the_controller(rig):
    """Of a job: one sbatch, and what wattlaw asks in it, squeue twice. Of a sweep: what the site allows, which its jobs read too, and one
    question for all jobs, less and less often while nothing changes."""
    jobs = 10
    counted, path = with_counted_calls(rig, "calls")
    begun = rig.path("calls-begun")
    with open(begun, "w", encoding="ascii"):
        pass
    c = Campaign(counted, "calls", f"sh -c 'echo begun >>{begun}; while ! test -e {rig.path('calls', 'go')}; do sleep 0.1; done'", repeats=jobs)
    p = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: c.rows("SELECT count(*) FROM submission WHERE job IS NOT NULL") == [(jobs,)], "all are submitted")
    c.until(lambda: c.rows("SELECT count(*) FROM submission WHERE state = 'running'") == [(8,)], "as many run as can")
    c.until(lambda: calls_of(begun)["begun"] == 8, "and have asked where they are")
    before = calls_of(path)["squeue"]
    time.sleep(5)
    waiting = calls_of(path)["squeue"] - before
    with open(c.path("go"), "w", encoding="ascii"):
        pass
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0, out, err)
    calls = calls_of(path)
    print(f"     {jobs} jobs: {dict(calls)}; {sum(calls.values()) / jobs:.1f} calls a job", flush=True)
    check(waiting <= 6, f"{waiting} questions in 5 s, though nothing has changed")
    check(calls["sbatch"] == jobs and calls["scontrol"] <= 2 and calls["scancel"] == 0, calls)
    check(calls["sacct"] <= calls["squeue"] and calls["squeue"] < (2 + 3) * jobs, calls)


# ---- by hand: what a job costs besides Slurm ----

def overhead(rig):
    """The same command 48 times, by sbatch alone and by sweep, twice in turns."""
    jobs, command = 48, f"{toy} epochs=1 ms=20"
    for i in range(2):
        begin = time.monotonic()
        for _ in range(jobs):
            subprocess.run(["sbatch", "-o", "/dev/null", "--wrap", command], env=rig.env, check=True, capture_output=True)
        rig.wait(lambda: not rig.ask("squeue", "-h"), "all jobs")
        plain_s = time.monotonic() - begin
        counted, path = with_counted_calls(rig, f"overhead{i}")
        c = Campaign(counted, f"overhead{i}", command, repeats=jobs)
        begin = time.monotonic()
        contains(c.sweep(), f"{jobs} of {jobs} runs")
        ours_s, calls = time.monotonic() - begin, calls_of(path)
        print(f"     {jobs} jobs: {plain_s / jobs:.2f} s a job by sbatch alone, {ours_s / jobs:.2f} s by sweep; calls {dict(calls)}, "
              f"{sum(calls.values()) / jobs:.2f} a job", flush=True)


BESIDE_OTHERS = [a_lost_node_comes_back, few_calls_of_the_controller, a_part_whose_wattlaw_was_killed, parts_of_a_cancelled_run, clocks_that_differ,
                 an_account_that_is_not_known, a_limit_of_the_site_on_submitted_jobs]


if __name__ == "__main__":
    sys.exit(harness.run(lambda: slurm_accounting.started(6), BESIDE_OTHERS, [overhead], first=[a_controller_that_has_forgotten],
                         why=slurm_accounting.why_not(), arguments=4, workers=3))
