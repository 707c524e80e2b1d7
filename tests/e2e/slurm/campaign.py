"""Campaigns whose runs are jobs of a real Slurm of eight nodes: campaign.py WATTLAW TOY FAKE_NVML_LIBRARY [long|TEST...]

Skipped where Slurm is not installed, or its nodes cannot have namespaces of their own (not root)."""
import concurrent.futures
import contextlib
import glob
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback

import slurm_rig

SKIP = 77
PATIENCE_S = 150
wattlaw, toy, fake = map(os.path.abspath, sys.argv[1:4])


class Campaign:
    """An experiment in a folder of its own, and its store."""

    def __init__(self, rig, name, command, sweep="workers = 1", repeats=1, launch="", launcher="slurm"):
        self.rig, self.folder = rig, rig.path(name)
        os.mkdir(self.folder)
        self.ini = self.path("exp.ini")
        with open(self.ini, "w", encoding="ascii") as f:
            f.write(f"[campaign]\nname = {name}\nrepeats = {repeats}\nstore = store\n[sweep]\nworkload = toy\n{sweep}\n"
                    f"[measure]\nsensors = nvml\nnvml_library = {fake}\n"
                    f"[launch]\nlauncher = {launcher}\ngrace = 1s\npoll = 500ms\noversubscribe = yes\n{launch}\ncommand = {command}\n")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, *args):
        return subprocess.Popen([wattlaw, *args], cwd=self.folder, env=self.rig.env, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def run(self, *args, status=0):
        with self.start(*args) as p:
            out, err = p.communicate(timeout=PATIENCE_S)
        check(status is None or p.returncode == status, f"{args}: status {p.returncode}, not {status}\n{out}\n{err}")
        return out + err

    def sweep(self, *args, status=0):
        return self.run("sweep", self.ini, "--quiet", *args, status=status)

    def rows(self, sql):
        """None: there is no store yet."""
        if not os.path.exists(self.path("store/wattlaw.db")):
            return None
        with contextlib.closing(sqlite3.connect(self.path("store/wattlaw.db"), timeout=20)) as db:
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'submission'").fetchall():
                return None
            return db.execute(sql).fetchall()

    def names(self, pattern):
        return sorted(glob.glob(self.path("store", pattern)))

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{what}: {self.rig.ask('squeue', '-t', 'all')} {self.names('*/*')}")
            time.sleep(0.05)


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def contains(text, *parts):
    for part in parts:
        check(part in text, f"'{part}' is not in:\n{text}")


def first_attempt_waits(rig, name):
    """A command that ends at once if the file `again` is there, and else says that it has begun, and waits."""
    folder = rig.path(name)
    return f"sh -c 'test -e {folder}/again && exit 0; touch {folder}/begun; sleep 600'"


def until_it_waits(c):
    c.until(lambda: os.path.exists(c.path("begun")), "it runs")
    os.remove(c.path("begun"))


def touched(c):
    """How often the command of each run has ended: one line each."""
    with contextlib.suppress(FileNotFoundError), open(c.path("ended"), encoding="ascii") as f:
        return f.read().count("\n")
    return 0


def everything_once_though_all_are_killed(rig):
    """The login process dies at any instant, the controller restarts: each run is made once."""
    c = Campaign(rig, "once", f"{toy} epochs=2 ms=300 workers={{workers}} touch={rig.path('once', 'ended')}", "workers = 1,2\nbatch = 1,2,3", 2,
                 "env = BATCH={batch}\nmax_in_queue = 8")
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
    c = Campaign(rig, "hand", f"{toy} epochs=1 ms=50 touch={rig.path('hand', 'ended')}", repeats=2)
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


def failures_are_facts(rig):
    c = Campaign(rig, "failures", f"{toy} epochs=1 ms=20 fail_if={{workers}}:2", "workers = 1,2")
    contains(c.sweep(status=1), "exit status 7", "1 of 2 runs")
    contains(c.sweep(status=1), "1 of 2 runs")
    check(c.rows("SELECT status, count(*) FROM run GROUP BY status ORDER BY 1") == [("done", 1), ("failed", 1)], c.rows("SELECT * FROM run"))
    contains(c.sweep("--retry-failed", status=1), "1 of 2 runs")
    check(c.rows("SELECT count(*), max(attempt) FROM run WHERE status = 'failed'") == [(2, 2)], "another attempt")


def cancelled_stays_cancelled(rig):
    c = Campaign(rig, "cancelled", f"{toy} epochs=2 ms=60000 workers={{workers}}", "workers = 1,2")
    p = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: sum(os.path.getsize(n) > 0 for n in c.names("runs/*/marks")) == 2, "both have marked that they run")
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
    text = c.sweep()
    contains(text, "is done already", "truncated or damaged", "it is of campaign foreign, not of shards", "notes.txt: left where it is")
    check(text.count("left where it is") == 4, text)
    check(c.rows("SELECT count(*) FROM run") == [(2,)] and c.rows("SELECT count(*) FROM sample") == before, "nothing was taken twice")
    check(len(c.names("shards/*")) == 6, c.names("shards/*"))


def refusals_are_said(rig):
    c = Campaign(rig, "refused", "true", launch="partition = nowhere")
    contains(c.sweep(status=1), "was refused", "invalid partition", "jobs/")
    check(c.rows("SELECT status FROM run") == [("planned",)] and c.rows("SELECT state FROM submission") == [("refused",)], "nothing runs")
    c = Campaign(rig, "too-long", "true", launch="partition = short\ntime_limit = 10m")
    p = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: c.rows("SELECT count(*) FROM submission WHERE why LIKE '%TimeLimit%'") == [(1,)], "the reason is stored")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=PATIENCE_S)
    contains(err, "PartitionTimeLimit", "stays in the queue")
    c.run("cancel", c.ini)
    c.until(lambda: not rig.ask("squeue", "-h", "-p", "short"), "gone")
    contains(c.sweep(status=1), "was cancelled")


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
    c = Campaign(rig, "many", f"{toy} epochs=1 ms=20 workers={{workers}} touch={rig.path('many', 'ended')}", "workers = 1,2", 150)
    dice = random.Random(7)
    for _ in range(12):
        p = c.start("sweep", c.ini, "--quiet")
        time.sleep(dice.uniform(0.2, 4))
        p.kill()
        p.communicate()
    contains(c.sweep(), "300 of 300 runs")
    check(touched(c) == 300 and len(c.names("shards/*")) == 300, touched(c), len(c.names("shards/*")))
    check(c.rows("SELECT count(*), count(DISTINCT trial || ' ' || repeat) FROM run") == [(300, 300)], "each once")


# The longest first; each has a campaign of its own, and they share the eight nodes.
TESTS = [a_node_that_fails_twice_is_excluded, everything_once_though_all_are_killed, a_killed_job_leaves_what_it_has, cancelled_stays_cancelled,
         refusals_are_said, scripts_can_be_submitted_by_hand, failures_are_facts, detached, bad_shards_are_named_and_left,
         two_nodes_are_one_run, a_full_disk_on_a_node]


LONG = [a_reached_time_limit_is_doubled, hundreds_of_jobs]


def attempt(test, rig):
    begin = time.monotonic()
    try:
        test(rig)
        print(f"ok   {test.__name__} ({time.monotonic() - begin:.1f} s)", flush=True)
        return True
    except Exception:
        print(f"FAIL {test.__name__}\n{traceback.format_exc()}", flush=True)
        return False


def main():
    why = slurm_rig.why_not()
    if why:
        print("SKIP:", why)
        return SKIP
    names = sys.argv[4:]
    tests = LONG if names == ["long"] else [t for t in TESTS + LONG if t.__name__ in names] if names else TESTS
    rig = slurm_rig.started(8)
    try:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return 0 if all(list(pool.map(lambda t: attempt(t, rig), tests))) else 1
    finally:
        rig.stop()


if __name__ == "__main__":
    sys.exit(main())
