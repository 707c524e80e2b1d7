"""Campaigns whose runs are jobs of a real Slurm of eight nodes: campaign.py WATTLAW TOY FAKE_NVML_LIBRARY [long|TEST...]

Skipped where Slurm is not installed, or its nodes cannot have namespaces of their own (not root)."""
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
import slurm_rig
from harness import PATIENCE_S, Campaign, check, contains, first_attempt_waits, touched, toy, until_it_waits, wattlaw


def check_order(c):
    """Jobs are submitted in the order of the plan: repeat after repeat, each in an order of its own, so that a drift of the machine does not
    look like scaling."""
    order = c.rows("SELECT r.repeat, r.position, r.trial FROM submission s JOIN run r ON r.id = s.run WHERE r.attempt = 1 AND s.state <> 'refused' "
                   "GROUP BY r.id ORDER BY min(s.id)")
    check([o[0] for o in order] == sorted(o[0] for o in order), "repeat after repeat:", order)
    repeats = [[o[2] for o in order if o[0] == repeat] for repeat in (1, 2)]
    check(repeats[0] != repeats[1] and sorted(repeats[0]) == sorted(repeats[1]), "each in its own order:", repeats)
    return [o[1] for o in order]


def everything_once_though_all_are_killed(rig):
    """The login process dies at any instant, the controller restarts: each run is made once."""
    c = Campaign(rig, "once", f"{toy} epochs=2 ms=300 workers={{workers}} touch={rig.path('once', 'ended')}", "workers = 1,2\nbatch = 1,2,3", 2,
                 "env = BATCH={batch}\nmax_in_queue = 8\narray = 2")
    dice = random.Random(5)
    for i in range(6):
        p = c.start("sweep", c.ini, "--quiet")
        time.sleep(dice.uniform(0.05, 1.5))
        p.kill()
        p.communicate()
        if i == 2:
            rig.kill("ctld", signal.SIGTERM)
            down = c.start("sweep", c.ini, "--quiet")
            time.sleep(1)
            rig.start_controller()
            time.sleep(0.5)
            down.kill()
            down.communicate()
    text = c.sweep()
    contains(text, "12 of 12 runs")
    check_order(c)
    kinds = c.rows("SELECT sum(job LIKE '%!_%' ESCAPE '!') > 0, sum(job NOT LIKE '%!_%' ESCAPE '!') > 0 FROM submission")
    check(kinds == [(1, 1)], "arrays and single jobs:", c.rows("SELECT job FROM submission"))
    check(c.rows("SELECT status, count(*), count(DISTINCT trial || ' ' || repeat) FROM run GROUP BY status") == [("done", 12, 12)],
          c.rows("SELECT * FROM run"))
    check(touched(c) == 12, "no finished run is repeated:", touched(c))
    hosts = c.rows("SELECT count(DISTINCT host), count(DISTINCT boot_id), min(host) FROM run")[0]
    check(hosts[0] > 1 and hosts[0] == hosts[1] and hosts[2].startswith("n"), "nodes of their own:", hosts)
    check(c.rows("SELECT count(DISTINCT uuid) FROM device WHERE sensor = 'nvml'")[0][0] == 2 * hosts[0], "GPUs of their own")
    check(c.rows("SELECT count(*) FROM observations WHERE energy_j > 0 AND simulated") == [(24,)], "two epochs each")
    check(len(c.names("shards/*")) == 12 and c.rows("SELECT count(DISTINCT shard) FROM submission") == [(12,)], c.names("shards/*"))
    again = c.sweep("--json")
    contains(again, '"done_before": 12', '"in_queue": 0')


def scripts_can_be_submitted_by_hand(rig):
    c = Campaign(rig, "hand", f"sh -c 'test $FROM_SETUP$IN_CONTAINER = yesyes && exec {toy} epochs=1 ms=50 touch={rig.path('hand', 'ended')}'", repeats=2,
                 launch="setup = export FROM_SETUP=yes\ncontainer = env IN_CONTAINER=yes")
    contains(c.sweep("--dry-run"), "scripts in")
    check(not os.path.exists(c.path("store/wattlaw.db")), "a dry run makes no store")
    scripts = c.names("jobs/*.sh")
    check(len(scripts) == 2, scripts)
    rig.ask("sbatch", "--wait", scripts[0])
    rig.ask("sbatch", "--wait", scripts[0])
    said = [open(name, encoding="utf-8").read() for name in c.names("jobs/*.out")]
    check(sum("done already" in text for text in said) == 1 and touched(c) == 1, said)
    contains(c.sweep(), "2 of 2 runs")
    check(touched(c) == 2, touched(c))
    contains(c.run("logs", "store", "1"), "==> the command")
    subprocess.run(["bash", scripts[1]], env=rig.env, capture_output=True, check=True)
    check(touched(c) == 2, "nor outside of Slurm")


def detached(rig):
    c = Campaign(rig, "detached", f"{toy} epochs=1 ms=300 workers={{workers}}", "workers = 1,2", 2, "max_in_queue = 3")
    contains(c.sweep("--detach"), "3 jobs in the queue, 1 run not submitted")
    contains(c.run("status", "store"), "not submitted", "collect and go on")
    c.until(lambda: len(c.names("shards/*.done.*")) == 3, "three shards without any wattlaw on the login node")
    contains(c.sweep("--detach"), "3 of 4 runs", "1 job in the queue, 0 runs not submitted")
    contains(c.sweep(), "4 of 4 runs")
    order = c.rows("SELECT r.position FROM submission s JOIN run r ON r.id = s.run ORDER BY s.id")
    check(order == sorted(order), "in the order of the plan:", order)


def failures_are_facts(rig):
    c = Campaign(rig, "failures", f"{toy} epochs=1 ms=20 fail_if={{workers}}:2", "workers = 1,2")
    contains(c.sweep(status=1), "exit status 7", "1 of 2 runs")
    contains(c.sweep(status=1), "1 of 2 runs")
    check(c.rows("SELECT status, count(*) FROM run GROUP BY status ORDER BY 1") == [("done", 1), ("failed", 1)], c.rows("SELECT * FROM run"))
    contains(c.sweep("--retry-failed", status=1), "1 of 2 runs")
    check(c.rows("SELECT count(*), max(attempt) FROM run WHERE status = 'failed'") == [(2, 2)], "another attempt")


def nothing_works(rig):
    """A program that is missing on the nodes costs the jobs that are in the queue, not all; once it is there, the campaign goes on."""
    program = rig.path("late-wattlaw")
    c = Campaign(rig, "nothing", f"{toy} epochs=1 ms=20 workers={{workers}}", "workers = 1,2\nbatch = 1,2,3", 2,
                 f"env = BATCH={{batch}}\nwattlaw = {program}\nmax_in_queue = 3")
    text = c.sweep(status=1)
    contains(text, "campaign nothing is stopped: no run has succeeded, and", "failed alike", "late-wattlaw", ".out)", "--retry-failed")
    before = c.rows("SELECT count(*) FROM submission")[0][0]
    check(3 <= before <= 6, "of 12:", before)
    contains(c.sweep("--detach", status=1), "is stopped", ".out)")
    check(c.rows("SELECT count(*) FROM submission") == [(before,)], "nothing more is submitted")
    os.symlink(wattlaw, program)
    c.sweep("--retry-failed", status=None)  # those that were in the queue may have failed meanwhile
    contains(c.sweep("--retry-failed"), "12 of 12 runs")


def cancelled_stays_cancelled(rig):
    c = Campaign(rig, "cancelled", f"{toy} epochs=2 ms=60000 workers={{workers}}", "workers = 1,2")
    p = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: sum(os.path.getsize(n) > 0 for n in c.names("runs/*/marks")) == 2, "both have marked that they run")
    contains(c.run("logs", "store", "1"), "==> the command: ", "/log <==")
    contains(c.run("cancel", c.ini, "1"), "1 job cancelled")
    contains(c.run("cancel", c.ini, "7", status=1), "run 7 has no job in the queue")
    c.until(lambda: c.rows("SELECT count(*) FROM run WHERE status = 'failed'") == [(1,)], "one is closed")
    c.run("cancel", c.ini)
    out = " ".join(p.communicate(timeout=PATIENCE_S))
    check(p.returncode == 1 and out.count("was cancelled") >= 2, out)
    check(c.rows("SELECT status, count(*), sum(error LIKE '%was cancelled%') FROM run GROUP BY status") == [("failed", 2, 2)],
          c.rows("SELECT status, error FROM run"))
    check(c.rows("SELECT count(*) > 0 FROM sample") == [(1,)], "what was measured until then is kept")
    contains(c.sweep(status=1), "0 of 2 runs")


def a_killed_job_leaves_what_it_has(rig):
    c = Campaign(rig, "killed", first_attempt_waits(rig, "killed"))
    p = c.start("sweep", c.ini, "--quiet")
    until_it_waits(c)
    time.sleep(2.5)  # readings reach the spool twice
    with open(c.path("again"), "w", encoding="ascii"):
        pid = int(subprocess.run(["pgrep", "-f", f"^{wattlaw} job --folder {c.path('store')}"], text=True, capture_output=True,
                                 check=True).stdout.split()[0])
    os.kill(pid, signal.SIGKILL)
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0, out, err)
    check(c.rows("SELECT status, attempt FROM run ORDER BY id") == [("interrupted", 1), ("done", 2)], c.rows("SELECT * FROM run"))
    contains(c.rows("SELECT error FROM run WHERE id = 1")[0][0], "ended without closing the run")
    kept = c.rows("SELECT count(*) FROM sample s JOIN channel c ON c.id = s.channel WHERE c.run = 1")[0][0]
    check(kept > 20, "readings of the killed one:", kept)
    check(len(c.names("shards/*.interrupted.*")) == 1, "salvaged by its script, or by the next job on the node:", c.names("shards/*"))


def lose_its_node(rig, c, attempt):
    until_it_waits(c)
    c.until(lambda: c.rows("SELECT count(nodes) FROM submission") == [(attempt,)], "its node is known")
    node = c.rows("SELECT nodes FROM submission ORDER BY id DESC")[0][0]
    rig.lose(node)
    return node


def a_node_that_fails_twice_is_excluded(rig):
    """The first two attempts have no other node."""
    c = Campaign(rig, "lost", first_attempt_waits(rig, "lost"), launch="partition = spare")
    rig.ask("scontrol", "update", "nodename=n8", "state=drain", "reason=test")
    p = c.start("sweep", c.ini, "--quiet")
    for attempt in (1, 2):
        check(lose_its_node(rig, c, attempt) == "n7", "only n7 is there")
        if attempt == 2:
            with open(c.path("again"), "w", encoding="ascii"):
                rig.ask("scontrol", "update", "nodename=n8", "state=resume")
        rig.start_node("n7")
        rig.ask("scontrol", "update", "nodename=n7", "state=resume")
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0, out, err)
    check(c.rows("SELECT status, host FROM run ORDER BY id") == [("interrupted", "n7"), ("interrupted", "n7"), ("done", "n8")],
          c.rows("SELECT * FROM run"))
    contains(c.rows("SELECT error FROM run WHERE id = 1")[0][0], "was lost", "NODE_FAIL", "n7")
    contains(open(c.names("jobs/*.sh")[0], encoding="utf-8").read(), "#SBATCH --exclude=n7\n")


def bad_shards_are_named_and_left(rig):
    c = Campaign(rig, "shards", f"{toy} epochs=1 ms=30 workers={{workers}}", "workers = 1,2")
    other = Campaign(rig, "foreign", f"{toy} epochs=1 ms=30")
    contains(c.sweep(), "2 of 2 runs")
    other.sweep()
    first, second = (os.path.basename(n) for n in c.names("shards/*"))
    foreign = os.path.basename(other.names("shards/*")[0])
    before = c.rows("SELECT count(*) FROM sample")
    shutil.copy(other.path("store/shards", foreign), c.path("store/shards", foreign.replace(foreign[:16], "0" * 16)))
    shutil.copy(c.path("store/shards", first), c.path("store/shards", re.sub(r"\.r1\.[^.]*\.", ".r1.999.", first)))
    with open(c.path("store/shards", re.sub(r"\.r1\.[^.]*\.", ".r1.998.", second)), "wb") as f:
        f.write(open(c.path("store/shards", second), "rb").read()[:5000])
    with open(c.path("store/shards/notes.txt"), "w", encoding="ascii") as f:
        f.write("mine")
    os.mkfifo(c.path("store/shards", re.sub(r"\.r1\.[^.]*\.", ".r1.997.", second)))  # nobody writes into it
    text = c.sweep()
    contains(text, "is done already", "truncated or damaged", "it is of campaign foreign, not of shards", "notes.txt: left where it is")
    check(text.count("left where it is") == 5, text)
    check(c.rows("SELECT count(*) FROM run") == [(2,)] and c.rows("SELECT count(*) FROM sample") == before, "nothing was taken twice")
    check(len(c.names("shards/*")) == 7, c.names("shards/*"))


def refusals_are_said(rig):
    c = Campaign(rig, "refused", "true", launch="partition = nowhere")
    contains(c.sweep(status=1), "was refused", "invalid partition", "jobs/")
    check(c.rows("SELECT status FROM run") == [("planned",)] and c.rows("SELECT state FROM submission") == [("refused",)], "nothing runs")
    c = Campaign(rig, "too-long", "true", launch="partition = short\nsbatch_options = --time=10")
    p = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: c.rows("SELECT count(*) FROM submission WHERE why LIKE '%TimeLimit%'") == [(1,)], "the reason is stored")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=PATIENCE_S)
    contains(err, "PartitionTimeLimit", "stays in the queue")
    c.run("cancel", c.ini)
    c.until(lambda: not rig.ask("squeue", "-h", "-p", "short"), "gone")
    contains(c.sweep(status=1), "was cancelled")


def arrays_are_independent_tasks(rig):
    """One task fails, one is cancelled by hand, one by wattlaw; the others are none the wiser."""
    ended = rig.path("array", "ended")
    c = Campaign(rig, "array", f"sh -c 'test {{batch}} = 4 && exec sleep 600; exec {toy} epochs=1 ms=20 fail_if={{batch}}:2 touch={ended}'",
                 "workers = 1\nbatch = 1,2,3,4,5", 2, "array = yes\nmax_in_queue = 20")
    p = c.start("sweep", c.ini, "--quiet")
    sleepers = ("SELECT s.job, s.run FROM submission s JOIN run r ON r.id = s.run JOIN trial t ON t.id = r.trial WHERE t.key LIKE '%batch%4%' "
                "AND s.state = 'running' ORDER BY r.repeat")
    c.until(lambda: len(c.rows(sleepers) or []) == 2, "both sleep")
    (by_hand, _), (_, run) = c.rows(sleepers)
    rig.ask("scancel", by_hand)
    contains(c.run("cancel", c.ini, str(run)), "1 job cancelled")
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 1 and out.count("was cancelled") == 2 and out.count("exit status 7") == 2, out, err)
    check(c.rows("SELECT status, count(*), max(attempt) FROM run GROUP BY status ORDER BY 1") == [("done", 6, 1), ("failed", 4, 1)],
          c.rows("SELECT * FROM run"))
    arrays = c.rows("SELECT r.repeat, count(*), count(DISTINCT substr(s.job, 1, instr(s.job, '_') - 1)), group_concat(substr(s.job, instr(s.job, '_') + 1)) "
                    "FROM submission s JOIN run r ON r.id = s.run GROUP BY r.repeat")
    check(arrays == [(1, 5, 1, "0,1,2,3,4"), (2, 5, 1, "0,1,2,3,4")], arrays)
    check(check_order(c) == sorted(check_order(c)), check_order(c))
    contains(c.run("logs", "store", str(run)), "==> the job")
    check(touched(c) == 8, touched(c))
    contains(c.sweep(status=1), "6 of 10 runs")
    script = c.names("jobs/array.r1.*.sh")[0]
    task = c.rows("SELECT min(substr(s.job, instr(s.job, '_') + 1)) FROM submission s JOIN run r ON r.id = s.run WHERE r.repeat = 1 AND r.status = 'done'")[0][0]
    for _ in range(2):
        rig.ask("sbatch", "--wait", f"--array={task}", script)
    said = [open(n, encoding="utf-8").read() for n in c.names(f"jobs/array.r1.*_{task}.out")]
    check(len(said) == 3 and sum("done already" in text for text in said) == 2 and touched(c) == 8, said)


def a_task_is_cancelled_while_it_waits(rig):
    """Slurm forgets such a task at once."""
    c = Campaign(rig, "waits", f"{toy} epochs=1 ms=20", "workers = 1\nbatch = 1,2,3", 1, "array = yes\nsbatch_options = --hold\nenv = B={batch}")
    p = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: c.rows("SELECT count(job) FROM submission") == [(3,)], "they wait")
    array = c.rows("SELECT job FROM submission")[0][0].split("_")[0]
    rig.ask("scancel", f"{array}_1")
    c.until(lambda: c.rows("SELECT count(*) FROM run WHERE error LIKE '%was cancelled'") == [(1,)], "one is closed")
    rig.ask("scontrol", "release", array)
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 1 and "2 of 3 runs" in out + err, out, err)
    check(c.rows("SELECT job, outcome FROM submission ORDER BY id") == [(f"{array}_{i}", "cancelled" if i == 1 else "done") for i in range(3)],
          c.rows("SELECT * FROM submission"))


def large_arrays_are_split(rig):
    """MaxArraySize is 100."""
    c = Campaign(rig, "split", "true", "workers = 1,2\nbatch = " + ",".join(map(str, range(120))), 1, "array = yes\nmax_in_queue = 7\nenv = B={batch} W={workers}")
    contains(c.sweep("--dry-run"), "scripts in")
    tasks = [re.search(r"--array=(\S+)\n", open(n, encoding="utf-8").read()).group(1) for n in c.names("jobs/array.*.sh")]
    check(sorted(tasks) == ["0-19%7", "0-19%7", "0-99%7", "0-99%7"], tasks)
    alone = subprocess.run(["bash", c.names("jobs/array.*.sh")[0]], env=rig.env, capture_output=True, text=True, check=False)
    check(alone.returncode == 1 and "not a task of this array" in alone.stderr, alone)


SBATCH = """#!/bin/sh
# A site's limit on the submitted jobs of an association, as slurmdbd has it.
for script; do :; done
new=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\)%.*/\\1/p' "$script")
echo call >>{folder}/calls
if [ $(( $(squeue -h -r -t PD,R,CG -o %j | grep -c '^limited\\.') + ${{new:-0}} + 1 )) -gt 3 ]; then
    echo "sbatch: error: AssocMaxSubmitJobLimit" >&2
    echo "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" >&2
    exit 1
fi
exec {sbatch} "$@"
"""


def a_limit_on_submitted_jobs_is_waited_for(rig):
    c = Campaign(rig, "limited", f"{toy} epochs=1 ms=1000 touch={rig.path('limited', 'ended')}", "workers = 1\nbatch = 1,2,3,4,5,6,7", 1,
                 "array = yes\nenv = B={batch}")
    os.mkdir(c.path("bin"))
    with open(c.path("bin", "sbatch"), "w", encoding="ascii") as f:
        f.write(SBATCH.format(folder=c.folder, sbatch=shutil.which("sbatch")))
    os.chmod(c.path("bin", "sbatch"), 0o755)
    c.env = {**rig.env, "PATH": c.path("bin") + ":" + rig.env["PATH"]}
    text = c.sweep()
    contains(text, "7 of 7 runs", "waiting for room in the queue", "AssocMaxSubmitJobLimit")
    check(touched(c) == 7 and c.rows("SELECT count(*) FROM run") == [(7,)], touched(c))
    calls = open(c.path("calls"), encoding="ascii").read().count("\n")
    check(calls <= 12, "sbatch is not called in a loop:", calls)
    check(c.rows("SELECT count(*) > 0 FROM submission WHERE job LIKE '%!_2' ESCAPE '!'") == [(1,)], "as large an array as there was room for")


def limits_are_predicted(rig):
    c = Campaign(rig, "predicted", f"{toy} epochs=1 ms=20", repeats=2, launch="time_limit = 10m\nmax_in_queue = 1")
    short = Campaign(rig, "clamped", f"{toy} epochs=1 ms=20", launch="partition = short\ntime_limit = 10m")
    contains(c.sweep(), "2 of 2 runs")
    limits = c.rows("SELECT time_limit_s FROM submission ORDER BY id")
    check(limits[0] == (600,) and 120 < limits[1][0] < 180, limits)
    said = [m for (m,) in c.rows("SELECT message FROM log WHERE message LIKE 'time limit%' ORDER BY run")]
    contains(said[0], "the key time_limit")
    contains(said[1], "2 times", "the longest of 1 finished run of these settings")
    contains(short.sweep(), "time_limit = 10m00s is above the limit of partition short: the jobs ask for 60.0 s", "1 of 1 runs")
    check(short.rows("SELECT time_limit_s FROM submission") == [(60,)], "never above it")


def warned_of_its_limit(rig, name, launch, start="", workers=1):
    again = rig.path(name, "again")
    return Campaign(rig, name, f"{start} sh -c 'test -e {again} && exec {toy} epochs=1 ms=1000; exec {toy} epochs=600 ms=100 trap=20'",
                    f"workers = {workers}", launch="signal_before = 30s\n" + launch)


def a_signal_before_the_limit(rig):
    """The command ends at the signal that Slurm sends before the time limit: it did not end its work. `scancel --batch` is how Slurm
    sends it; it is sent here at once."""
    c = warned_of_its_limit(rig, "warned", "time_limit = 1m")
    short = warned_of_its_limit(rig, "warned-short", "partition = short\ntime_limit = 1m")
    nodes = warned_of_its_limit(rig, "warned-nodes", "workers_per_node = 2\ntime_limit = 1m", "srun -N {nodes} -n {workers} --overlap {measure}", 4)
    sweeps = [(x, x.start("sweep", x.ini, "--quiet")) for x in (c, short, nodes)]
    for x, _ in sweeps:
        x.until(lambda x=x: sum("epoch-end" in open(n, encoding="ascii").read() for n in glob.glob(x.path("store/runs/**/marks"), recursive=True))
                >= (2 if x == nodes else 1), "it trains")
        contains(open(x.names("jobs/*.sh")[0], encoding="utf-8").read(), "#SBATCH --signal=B:USR1@30\n")
        with open(x.path("again"), "w", encoding="ascii"):
            rig.ask("scancel", "--batch", "--signal=USR1", x.rows("SELECT job FROM submission")[0][0])
    (out, err), (short_out, short_err), (nodes_out, nodes_err) = [p.communicate(timeout=PATIENCE_S) for _, p in sweeps]
    check(sweeps[0][1].returncode == 0, out, err)
    check(c.rows("SELECT status, attempt FROM run ORDER BY id") == [("interrupted", 1), ("done", 2)], c.rows("SELECT * FROM run"))
    contains(c.rows("SELECT error FROM run WHERE id = 1")[0][0], "reached its time limit of 60.0 s")
    check(c.rows("SELECT time_limit_s, outcome FROM submission ORDER BY id") == [(60, "timeout"), (120, "done")], c.rows("SELECT * FROM submission"))
    contains(c.rows("SELECT message FROM log WHERE run = 2 AND message LIKE 'time limit%'")[0][0], "2 times the limit of 60.0 s, which was reached")
    check(c.rows("SELECT count(*) > 0 FROM sample s JOIN channel c ON c.id = s.channel WHERE c.run = 1") == [(1,)], "its readings are kept")
    check(c.rows("SELECT count(*) > 0 FROM epoch WHERE run = 1") == [(1,)], "and its epochs")
    check(sweeps[1][1].returncode == 1, short_out, short_err)
    contains(short.rows("SELECT error FROM run")[0][0], "reached its time limit of 60.0 s, the longest that partition short allows")
    check(sweeps[2][1].returncode == 0, nodes_out, nodes_err)
    check(nodes.rows("SELECT status, (SELECT count(*) FROM node n WHERE n.run = r.id) FROM run r ORDER BY id") == [("interrupted", 2), ("done", 2)],
          "what both nodes have measured is kept:", nodes.rows("SELECT * FROM run"))
    check(nodes.rows("SELECT count(*) > 0 FROM epoch WHERE run = 1") == [(1,)], "and their epochs")


def two_nodes_are_one_run(rig):
    c = Campaign(rig, "nodes", f"srun -N {{nodes}} -n {{workers}} --overlap {{measure}} {toy} epochs=2 ms=300", "workers = 2,4",
                 launch="workers_per_node = 2")
    contains(c.sweep(), "2 of 2 runs")
    got = c.rows("SELECT s.workers, s.nodes, (SELECT count(*) FROM node n WHERE n.run = r.id), (SELECT count(DISTINCT boot_id) FROM node n "
                 "WHERE n.run = r.id) FROM run r JOIN setting s ON s.run = r.id ORDER BY 1")
    check(got == [(2, 1, 1, 1), (4, 2, 2, 2)], got)
    watts = c.rows("SELECT round(x.mean_power_w / 10) FROM total x JOIN setting s ON s.run = x.run WHERE x.epoch = 0 ORDER BY s.workers")
    check(watts == [(40,), (80,)], "two and four GPUs of 200 W:", watts)


def a_full_disk_on_a_node(rig):
    c = Campaign(rig, "full", "true", launch="local_dir = /dev/shm\nsetup = mount -t tmpfs -o size=4m tmpfs /dev/shm", repeats=1)
    text = c.sweep(status=1)
    contains(text, "0 of 1 runs")
    contains(c.rows("SELECT log_tail FROM run")[0][0], "local_dir has less than 64 MB")
    rig.ask("srun", "-w", c.rows("SELECT host FROM run")[0][0], "umount", "/dev/shm")


def a_reached_time_limit_is_doubled(rig):
    """Slurm counts in minutes, and looks twice a minute."""
    c = Campaign(rig, "limit", first_attempt_waits(rig, "limit"), launch="time_limit = 1m")
    p = c.start("sweep", c.ini, "--quiet")
    until_it_waits(c)
    with open(c.path("again"), "w", encoding="ascii"):
        out, err = p.communicate(timeout=2 * PATIENCE_S)
    check(p.returncode == 0, out, err)
    check(c.rows("SELECT status, attempt FROM run ORDER BY id") == [("interrupted", 1), ("done", 2)], c.rows("SELECT * FROM run"))
    contains(c.rows("SELECT error FROM run WHERE id = 1")[0][0], "reached its time limit of 60.0 s")
    check(c.rows("SELECT time_limit_s, outcome FROM submission ORDER BY id") == [(60, "timeout"), (120, "done")], c.rows("SELECT * FROM submission"))
    check(c.rows("SELECT count(*) > 500 FROM sample s JOIN channel c ON c.id = s.channel WHERE c.run = 1") == [(1,)], "and its readings are kept")


def hundreds_of_jobs(rig):
    c = Campaign(rig, "many", f"{toy} epochs=1 ms=20 workers={{workers}} touch={rig.path('many', 'ended')}",
                 "workers = 1,2\nbatch = " + ",".join(map(str, range(75))), 2, "array = 20\nenv = B={batch}")
    dice = random.Random(7)
    for _ in range(12):
        p = c.start("sweep", c.ini, "--quiet")
        time.sleep(dice.uniform(0.2, 4))
        p.kill()
        p.communicate()
    contains(c.sweep(), "300 of 300 runs")
    check(touched(c) == 300 and len(c.names("shards/*")) == 300, touched(c), len(c.names("shards/*")))
    check(c.rows("SELECT count(*), count(DISTINCT trial || ' ' || repeat) FROM run") == [(300, 300)], "each once")


def slurm_itself_sends_the_signal(rig):
    """Slurm looks twice a minute, and sends it up to a minute early."""
    c = Campaign(rig, "itself", f"sh -c 'test -e {rig.path('itself', 'again')} && exit 0; touch {rig.path('itself', 'begun')}; "
                                f"exec {toy} epochs=6000 ms=100 trap=20'",
                 launch="time_limit = 2m\nsignal_before = 30s")
    p = c.start("sweep", c.ini, "--quiet")
    until_it_waits(c)
    with open(c.path("again"), "w", encoding="ascii"):
        out, err = p.communicate(timeout=2 * PATIENCE_S)
    check(p.returncode == 0, out, err)
    check(c.rows("SELECT status, attempt, exit_status FROM run ORDER BY id") == [("interrupted", 1, 21), ("done", 2, 0)], c.rows("SELECT * FROM run"))
    check(c.rows("SELECT outcome, why FROM submission ORDER BY id")[0] == ("timeout", "signal_before"), c.rows("SELECT * FROM submission"))


def a_requeued_task(rig):
    """Slurm starts it again under its id; the other one has ended long before."""
    c = Campaign(rig, "requeued", f"sh -c 'test {{batch}} = 1 || exit 0; {first_attempt_waits(rig, 'requeued')[7:-1]}'", "workers = 1\nbatch = 1,2",
                 1, "array = yes\nsbatch_options = --requeue")
    p = c.start("sweep", c.ini, "--quiet")
    until_it_waits(c)
    c.until(lambda: c.rows("SELECT count(*) FROM submission WHERE state = 'ended'") == [(1,)], "the other has ended")
    job = c.rows("SELECT job FROM submission WHERE state <> 'ended'")[0][0]
    with open(c.path("again"), "w", encoding="ascii"):
        rig.ask("scontrol", "requeue", job)
    c.until(lambda: rig.ask("squeue", "-h", "-r", "-j", job, "-o", "%T") == "PENDING", "it waits again")
    rig.ask("scontrol", "update", f"jobid={job}", "starttime=now")
    out, err = p.communicate(timeout=2 * PATIENCE_S)
    check(p.returncode == 0, out, err)
    check(c.rows("SELECT status, attempt FROM run") == [("done", 1), ("done", 1)], c.rows("SELECT * FROM run"))


def a_full_queue_is_waited_for(_):
    """MaxJobCount counts jobs that have ended, too, for MinJobAge; sbatch would sleep for two minutes."""
    rig = slurm_rig.Rig(3, more="MaxJobCount=6\nMinJobAge=2\n")
    with rig:
        c = Campaign(rig, "full-queue", f"{toy} epochs=1 ms=200 touch={rig.path('full-queue', 'ended')}", "workers = 1\nbatch = 1,2,3,4,5,6,7,8,9", 1,
                     "array = yes\nenv = B={batch}")
        begin = time.monotonic()
        text = c.sweep()
        contains(text, "9 of 9 runs", "waiting for room in the queue")
        check(touched(c) == 9 and time.monotonic() - begin < 100, touched(c), time.monotonic() - begin)


def a_preempted_task_is_attempted_again(_):
    rig = slurm_rig.Rig(3, more="PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nPartitionName=urgent Nodes=n1 PriorityTier=9\n")
    with rig:
        waits = first_attempt_waits(rig, "preempted")[7:-1]
        c = Campaign(rig, "preempted", f"sh -c 'test {{batch}} = 1 || exit 0; {waits}'", "workers = 1\nbatch = 1,2", 1, "array = yes")
        p = c.start("sweep", c.ini, "--quiet")
        until_it_waits(c)
        c.until(lambda: c.rows("SELECT count(*) FROM run WHERE status = 'done'") == [(1,)], "the other is done")
        with open(c.path("again"), "w", encoding="ascii"):
            rig.ask("sbatch", "--partition=urgent", "--exclusive", "--output=/dev/null", "--wrap", "sleep 2")
        out, err = p.communicate(timeout=PATIENCE_S)
        check(p.returncode == 0, out, err)
        check(c.rows("SELECT status, attempt FROM run ORDER BY attempt, status") == [("done", 1), ("interrupted", 1), ("done", 2)], c.rows("SELECT * FROM run"))
        contains(c.rows("SELECT error FROM run WHERE status = 'interrupted'")[0][0], "was lost: PREEMPTED")


def a_killed_rig_leaves_nothing(_):
    """Its daemons have sessions of their own, and slurmstepd is nobody's child."""
    folder = slurm_rig.new_folder()
    p = subprocess.Popen([sys.executable, slurm_rig.__file__, folder, "3"], text=True, stdout=subprocess.PIPE)
    contains(p.stdout.readline(), "export SLURM_CONF=")
    env = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}
    subprocess.run(["sbatch", "-o", f"{folder}/out", "--wrap", f"exec -a {folder}/job sleep 600"], env=env, check=True, capture_output=True)

    def running():
        return subprocess.run(["pgrep", "-f", folder], text=True, capture_output=True, check=False).stdout.split()

    harness.until(lambda: len(running()) >= 4, "munged, the daemons and the job", running)
    p.kill()
    p.wait()
    harness.until(lambda: not running(), "all have ended", running)
    slurm_rig.held.pop().close()
    check(folder not in slurm_rig.new_folder() and not os.path.exists(folder), "the next rig removes its folder")


# The longest first; each has a campaign of its own, and they share the eight nodes.
TESTS = [a_node_that_fails_twice_is_excluded, everything_once_though_all_are_killed, a_killed_job_leaves_what_it_has, cancelled_stays_cancelled,
         refusals_are_said, scripts_can_be_submitted_by_hand, failures_are_facts, nothing_works, detached, bad_shards_are_named_and_left,
         two_nodes_are_one_run, a_full_disk_on_a_node, arrays_are_independent_tasks, a_limit_on_submitted_jobs_is_waited_for,
         a_task_is_cancelled_while_it_waits, a_signal_before_the_limit, limits_are_predicted, large_arrays_are_split,
         a_killed_rig_leaves_nothing]


LONG = [a_reached_time_limit_is_doubled, slurm_itself_sends_the_signal, hundreds_of_jobs, a_requeued_task, a_full_queue_is_waited_for,
        a_preempted_task_is_attempted_again]


if __name__ == "__main__":
    sys.exit(harness.run(lambda: slurm_rig.started(8), TESTS, LONG))
