"""Where runs are, and clocks and caps of jobs, in a real Slurm of four nodes with switches and GPUs: placement.py WATTLAW TOY FAKE_NVML_LIBRARY

n1 and n2 are on switch s1, n3 and n4 on s2. n2 is slow, and GPU 1 of n3 hot. What stands in for Slurm's plugin gpu/nvml, which is not
among the packages, is the prolog of tasks: it locks the clocks of --gpu-freq=1005, and ignores other ones without a word.
Skipped where Slurm is not installed, or its nodes cannot have namespaces of their own (not root)."""
import contextlib
import http.client
import json
import os
import re
import signal
import struct
import sys
import time

import harness
import slurm_rig
from harness import Campaign, check, contains, fake, toy, wattlaw

HERE = os.path.dirname(os.path.abspath(__file__))
CONTRIB = os.path.join(HERE, "..", "..", "..", "contrib")

CONF = """TopologyPlugin=topology/tree
GresTypes=gpu
Prolog=FOLDER/prolog
Epilog=FOLDER/epilog
TaskEpilog=FOLDER/task-epilog
PartitionName=all Nodes=n[1-4] State=UP
"""
TOPOLOGY = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=core Switches=s[1-2]\n"

TASK_PROLOG = """#!/bin/sh
for name in TMPDIR WATTLAW_NODE_DIR XDG_RUNTIME_DIR; do echo "unset $name"; done
n=$(hostname)
mkdir -p /tmp/state
lock='\\0\\0\\0\\0\\355\\003\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0' # 1005 MHz in a record of the simulated driver
case "$SLURMD_TRES_FREQ" in gpu:1005) printf "$lock$lock" >/tmp/gpus ;; esac
hot=0; test $n = n3 && hot=0,0.3
echo "export WATTLAW_STATE_DIR=/tmp/state"
echo "export WATTLAW_FAKE_NVML=gpus=2;board=${n#n};power=200;busy=90;thermal=$hot;state=/tmp/gpus"
"""
TASK_EPILOG = """#!/bin/sh
case "$SLURMD_TRES_FREQ" in gpu:*) rm -f /tmp/gpus ;; esac
"""
# what the guide asks a site to add where its state folder is another one, and the stand-in for the driver
HOOK = """#!/bin/sh
n=$(hostname)
export WATTLAW_STATE_DIR=/tmp/state "WATTLAW_FAKE_NVML=gpus=2;board=${n#n};state=/tmp/gpus"
exec sh %s >>FOLDER/hooks.log 2>&1
"""
SLOW_N2 = f"sh -c 'ms=250; test $(hostname) = n2 && ms=500; exec {toy} epochs=3 ms=$ms'"


def machine(rig, node, *path):
    """A file of a node, which has its own /tmp."""
    return os.path.join(f"/proc/{rig.daemons[node].pid}/root", *path)


def watts(rig, node):
    try:
        with open(machine(rig, node, "tmp/gpus"), "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return []
    return [struct.unpack_from("<I", data, i)[0] / 1000 for i in range(0, len(data) - 15, 16)]


def a_slow_node_and_a_hot_gpu(rig):
    c = Campaign(rig, "place", SLOW_N2, "workers = 1\nbatch = 1,2", 6, "exclusive = yes\npartition = all\nmax_in_queue = 16\nenv = BATCH={batch}")
    contains(c.sweep(), "12 of 12 runs")
    rows = c.rows("SELECT r.host, p.nodes, p.switches, p.queue_wait_s, p.other_jobs FROM run r JOIN placement p ON p.run = r.id")
    hosts = {r[0] for r in rows}  # other tests may hold a node for as long as this campaign takes
    check(len(rows) == 12 and len(hosts) >= 3 and {"n2", "n3"} <= hosts <= {"n1", "n2", "n3", "n4"}, rows)
    check(all(r[0] == r[1] and r[2] == ("s1" if r[0] in ("n1", "n2") else "s2") for r in rows), rows)
    check(all(0 <= r[3] < 300 for r in rows) and max(r[3] for r in rows) > 0, "whole seconds in the queue:", rows)
    check(all(r[4] == "" for r in rows), "exclusive:", rows)
    text = c.run("compare", "store", "--factor", "node", "--all")
    check(re.search(r"n2 is 1?[0-9.]+ % slower than the other nodes \(", text), text)
    found = json.loads(c.run("compare", "store", "--factor", "node", "--json"))
    time = found["quantities"][0]
    n2 = next(u for u in time["units"] if u["node"] == "n2")
    check(time["quantity"] == "time" and 60 < n2["percent"] < 160 and n2["p_holm"] < 0.01 and not n2["reference"], time)
    check([u["node"] for u in time["units"] if u["p_holm"] < 0.05 and abs(u["percent"]) > 5] == ["n2"], "and no other one:", time)
    contains(c.run("compare", "store", "--factor", "gpu"), "GPU 1 of n3: its temperature held the clock down 30 % of the time")
    gpus = json.loads(c.run("compare", "store", "--factor", "gpu", "--json"))
    hot = next(q for q in gpus["quantities"] if q["quantity"] == "thermal_capped_pct")
    check({u["gpu"] for u in hot["units"] if u["mean_pct"] > 20} == {"GPU 1 of n3"} and len({u["serial"] for u in hot["units"]}) == 2 * len(hosts), hot)
    contains(c.run("compare", "store", "--factor", "switch", "--all"), "switch: 2 of them in 12 runs")
    contains(c.run("show", "store", "--run", "1", "--all"), "placement nodes n", "switches s", "in the queue")
    shown = json.loads(c.run("show", "store", "--run", "1", "--json"))
    shown = shown.get("runs", [shown])[0]
    check(shown["placement"]["switches"] in (["s1"], ["s2"]) and shown["placement"]["other_jobs"] == [], shown["placement"])
    c.run("report", "store", "--formats", "html,csv", "--out", "page")
    with open(c.path("page/tables/nodes-compared.csv"), encoding="utf-8") as f:
        check(sum("n2 is" in line for line in f) == 1, "one node in the report")
    with open(c.path("page/report.html"), encoding="utf-8") as f:
        contains(f.read(), "Not all nodes are alike: n2 is")
    csv = c.run("export", "observations", "store")
    check({"node", "switches", "queue_wait_s"} <= set(csv.splitlines()[0].split(",")), csv.splitlines()[0])


def nodes_of_two_switches_and_other_jobs(rig):
    other = rig.ask("sbatch", "--parsable", "-p", "all", "-w", "n3", "-n", "1", "--output", "/dev/null", "--wrap", "sleep 300")
    c = Campaign(rig, "wide", f"srun -N {{nodes}} -n {{workers}} --overlap {{measure}} {toy} epochs=1 ms=300", "workers = 2",
                 launch="partition = all\nsbatch_options = --nodelist=n[2-3] --nodes=2\nworkers_per_node = 1")
    contains(c.sweep(), "1 of 1 runs")
    rig.ask("scancel", other)
    check(c.rows("SELECT nodes, switches, other_jobs FROM placement") == [("n2,n3", "s1,s2", other)], c.rows("SELECT * FROM placement"))
    contains(c.run("show", "store", "--run", "1", "--all"), f"other jobs on its nodes: {other}")
    with open(c.path("store/jobs/topology"), encoding="ascii") as f:
        contains(f.read(), "SwitchName=s2")


def clocks_by_slurm(rig):
    """One request that is followed, and one that is not: that run is flagged, and in no table of results."""
    c = Campaign(rig, "freq", f"srun {toy} epochs=2 ms=900\n[cap]\nsetter = slurm", "workers = 1\nclock_mhz = 1005, 1200",
                 launch="partition = all\ngpus_per_node = 1\nexclusive = yes")
    contains(c.sweep(), "2 of 2 runs")
    rows = dict(c.rows("SELECT s.clock_mhz, r.flag FROM run r JOIN setting s ON s.run = r.id WHERE r.status = 'done'"))
    check(rows.get(1005.0, "?") is None, rows)
    check("was at 1410 MHz while the job ran: the request to slurm for 1200 MHz had no effect" in (rows.get(1200.0) or ""), rows)
    check(c.rows("SELECT DISTINCT setter, requested, enforced FROM cap ORDER BY 2") == [("slurm", 1005, 1005), ("slurm", 1200, 1410)],
          c.rows("SELECT * FROM cap"))
    check({r[0] for r in c.rows("SELECT clock_mhz FROM observations")} == {1005.0}, "the other one does not count")
    contains(open(c.names("jobs/*.sh")[0], encoding="utf-8").read(), "#SBATCH --gpu-freq=1005\n")


def kill_whole_job(rig, node, job):
    """As a site's cgroups do: wattlaw, its guard and the job at once, none of which can restore anything."""
    pids = [p for p in rig.processes_of(rig.daemons[node].pid) if name_of(p).startswith("wattlaw")]
    check(len(pids) >= 2, "wattlaw and its guard:", [name_of(p) for p in pids])
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            os.kill(pid, sig)
    rig.ask("scancel", "--full", "-s", "KILL", job)
    rig.ask("scancel", job)


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


def capped_job(rig, store):
    job = rig.ask("sbatch", "--parsable", "-p", "all", "-w", "n4", "--exclusive", "--output", rig.path(f"{store}.out"), "--wrap",
                  f"{wattlaw} measure --quiet --sensors nvml --nvml-library {fake} --power-cap-w 250 --store /tmp/{store}.db -- sleep 600")
    rig.wait(lambda: watts(rig, "n4") == [250, 250], f"caps of a job: {rig.tail(f'{store}.out')}")
    return job


def caps_of_killed_jobs(rig):
    """The epilog restores them; without it the prolog of the next job does."""
    kill_whole_job(rig, "n4", capped_job(rig, "epilog"))
    rig.wait(lambda: watts(rig, "n4") == [400, 400], f"the epilog restores: {rig.tail('hooks.log')}")
    contains(rig.tail("hooks.log"), "restored to 400 W (was set to 250 W)")
    rig.wait(lambda: not rig.ask("squeue", "-h", "-w", "n4"), "it has ended")
    with open(rig.path("epilog"), "r+", encoding="ascii") as f:
        hook = f.read()
        f.seek(0)
        f.truncate()
        f.write("#!/bin/sh\nexit 0\n")
    job = capped_job(rig, "prolog")
    kill_whole_job(rig, "n4", job)
    rig.wait(lambda: not rig.ask("squeue", "-h", "-w", "n4"), "it has ended")
    check(watts(rig, "n4") == [250, 250], "nothing else restores them:", watts(rig, "n4"))
    rig.ask("srun", "-p", "all", "-w", "n4", "true")
    check(watts(rig, "n4") == [400, 400], "before the next job:", watts(rig, "n4"), rig.tail("hooks.log"))
    rig.write("epilog", hook.encode(), 0o755)


# ---- requests to a campaign whose jobs run on two nodes ----

TOKEN = "0123456789abcdef" * 2


@contextlib.contextmanager
def server(c):
    """Its port; it takes requests."""
    with open(os.open(c.path("token"), os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as f:
        f.write(TOKEN + "\n")
    process = c.start("serve", "store", "--port", "0", "--token-file", c.path("token"), "--allow-control")
    try:
        yield int(re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline()).group(1))
    finally:
        process.terminate()
        process.communicate(timeout=harness.PATIENCE_S)


def ask(port, **request):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/api/v1/control", json.dumps(request), {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"})
    answer = connection.getresponse()
    check(answer.status == 200, request, answer.status, answer.read())


def requests_to_jobs_on_two_nodes(rig):
    """Cancelled from the page, a run ends on both nodes, which have their caps back; paused, nothing is submitted; retried, it is measured."""
    c = Campaign(rig, "asked", f"srun -N {{nodes}} -n {{workers}} --overlap {{measure}} sh -c 'until test -e {rig.path('asked', 'go')}; do sleep .1; done; sleep 1'",
                 "workers = 2\npower_cap_w = 250", 2, "workers_per_node = 1\nexclusive = yes\npartition = all\nmax_in_queue = 1")
    watts_of_all = lambda: sorted(watt for node in rig.nodes for watt in watts(rig, node)[:1])  # noqa: E731
    free = watts_of_all()
    sweep = c.start("sweep", c.ini, "--quiet")
    c.until(lambda: watts_of_all().count(250) == 2, "two nodes have the cap")
    with server(c) as port:
        c.run("pause", "store")
        ask(port, action="cancel", campaign="asked", run="1-1")
        c.until(lambda: c.rows("SELECT status FROM run WHERE id = 1") == [("failed",)], "it is cancelled")
        c.until(lambda: 250 not in watts_of_all() and not rig.ask("squeue", "-h", "-n", "asked"), "it has ended on both nodes")
        contains(c.rows("SELECT error FROM run WHERE id = 1")[0][0], "cancelled")
        time.sleep(2)
        check(c.rows("SELECT count(*) FROM submission") == [(1,)], "submitted while it is paused")
        c.run("resume", "store")
        c.until(lambda: watts_of_all().count(250) == 2, "the second run has begun")
        ask(port, action="retry", campaign="asked", run="1-1")
    with open(c.path("go"), "w", encoding="ascii"):
        out, err = sweep.communicate(timeout=harness.PATIENCE_S)
    check(sweep.returncode == 0, sweep.returncode, out, err)
    check(c.rows("SELECT repeat, attempt, status FROM run ORDER BY 1, 2") == [(1, 1, "failed"), (1, 2, "done"), (2, 1, "done")], c.rows("SELECT * FROM run"))
    check(c.rows("SELECT count(DISTINCT n.host) FROM node n JOIN run r ON r.id = n.run WHERE r.status = 'done' GROUP BY r.id") == [(2,), (2,)],
          c.rows("SELECT run, host FROM node"))
    check(250 not in watts_of_all() and len(watts_of_all()) >= len(free), "caps are left", watts_of_all())


# These share the nodes; the last tests of the file have them to themselves.
TESTS = [caps_of_killed_jobs, clocks_by_slurm, nodes_of_two_switches_and_other_jobs]


def start():
    files = {"topology.conf": TOPOLOGY, "gres.conf": "Name=gpu File=FOLDER/gpu[0-1]\n", "gpu0": "", "gpu1": "", "task-epilog": TASK_EPILOG,
             "prolog": HOOK % os.path.join(CONTRIB, "slurm-prolog.sh"), "epilog": HOOK % os.path.join(CONTRIB, "slurm-epilog.sh")}
    return slurm_rig.started(4, files=files, more=CONF, node_options="Gres=gpu:2", prolog=TASK_PROLOG, wattlaw=wattlaw)


if __name__ == "__main__":
    sys.exit(harness.run(start, TESTS, last=[requests_to_jobs_on_two_nodes, a_slow_node_and_a_hot_gpu]))
