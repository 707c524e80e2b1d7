"""Processes that a killed wattlaw sweep and its guard left are ended by the next one, and only those."""

import contextlib
import sqlite3
import tempfile

from harness import *
from toy_campaign import BASIC, states


def stopped(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0] == "T"


def kill_with_its_guard(bench, p):
    """SIGKILL for a sweep and the guard of its job, neither of which sees the other die."""
    guard = [pid for pid, c in bench.processes() if pid != p.pid and "sweep" in c]
    check(len(guard) == 1, bench.processes())
    p.send_signal(signal.SIGSTOP)
    bench.wait_until("the sweep has stopped", lambda: stopped(p.pid))
    os.kill(guard[0], signal.SIGKILL)
    p.kill()
    p.communicate()


def a_job_whose_guard_was_killed_is_ended(bench):
    bench.write("a.ini", BASIC)
    sweep = ["sweep", "a.ini", "--set", "launch.args=epochs=1 ms=60000 stray=1 deaf=1", "--set", "campaign.repeats=1"]
    env = {**bench.env, "WATTLAW_CGROUP": "no"}
    p = bench.start(*sweep, env=env)
    bench.wait_until("both toys run", lambda: sum(c.startswith("toy") for _, c in bench.processes()) == 2)
    bench.wait_until("the store has it running", lambda: states(bench).get("running") == 1)
    kill_with_its_guard(bench, p)
    check(sum(c.startswith("toy") for _, c in bench.processes()) == 2, bench.processes())
    p = bench.start(*sweep, env=env)
    said = next(line for line in p.stderr if "of an interrupted run ended" in line)
    contains(said, "2 processes")
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=PATIENCE_S)


def a_store_does_not_end_processes_of_another_campaign(bench):
    """A store from somebody else may name any folder as that of an interrupted run."""
    bench.write("a.ini", BASIC)
    sweep = ["sweep", "a.ini", "--set", "launch.args=epochs=1 ms=1"]
    bench.run(*sweep)
    theirs = bench.path("other/runs/1")
    with contextlib.closing(sqlite3.connect(bench.path("toy/wattlaw.db"))) as db:
        for (trigger,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            db.execute(f"DROP TRIGGER {trigger}")
        db.execute("UPDATE run SET status = 'interrupted', folder = ? WHERE id = 1", (theirs,))
        db.commit()
    with subprocess.Popen(["sleep", "600"], env={**bench.env, "WATTLAW_RUN_DIR": theirs}) as job:
        r = bench.run(*sweep)
        lives = job.poll() is None
        job.kill()
    check(lives, "the process was ended", r.stderr)
    check(states(bench)["interrupted"] == 1, states(bench))


RUNAWAY = """
[campaign]
name = a
repeats = 1
[launch]
command = sh -c 'echo $$ > {run_dir}/first; env -i sh -c "trap : TERM; echo \\$\\$ > {run_dir}/pid; until test -e %s; do sleep 0.05; done" & wait; until test -e %s; do sleep 0.05; done'
grace = 100ms
"""


def gone(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:  # it ends while it is read, too
        return True


def runaway_of(bench, sweep):
    """The process of the running job that has cleared its environment: neither session, parent nor TMPDIR identifies it."""
    path = bench.path("a", "runs", "1", "pid")
    bench.wait_until("it has cleared its environment", lambda: os.path.exists(path) and open(path).read().endswith("\n"))
    bench.wait_until("the store has it running", lambda: states(bench, "a/wattlaw.db").get("running") == 1)
    return int(open(path).read())


def write_runaway(bench):
    bench.write("a.ini", RUNAWAY % (bench.path("go"), bench.path("go")))
    return ["sweep", "a.ini", "--quiet"]


def a_process_that_cleared_its_environment_ends_with_the_guard(bench):
    for cgroup in ({"WATTLAW_CGROUP": "no"}, {}):
        sweep = write_runaway(bench)
        p = bench.start(*sweep, env={**bench.env, **cgroup})
        pid = runaway_of(bench, p)
        guard = [q for q, c in bench.processes() if q != p.pid and "sweep" in c]
        os.kill(guard[0], signal.SIGKILL)
        _, err = p.communicate(timeout=PATIENCE_S)
        left = not gone(pid)
        bench.write("go", "")
        check(not left, f"{pid} has outlived the guard of its job: {err}")
        contains(bench.run("status", "a").stdout + err, "guard of the job was killed")
        for name in ("go", "a"):
            subprocess.run(["rm", "-r", bench.path(name)], check=True)


@contextlib.contextmanager
def own_cgroups(bench):
    """A cgroup for the cgroups of our jobs: any other wattlaw of the machine ends what it finds left next to its own."""
    machine = json.loads(bench.run("doctor", "--json").stdout)["machine"]
    if not machine["job_cgroups"]:
        raise Skip(machine["no_job_cgroups"])
    folder = tempfile.mkdtemp(prefix="test-leftovers-", dir=machine["job_cgroups"])
    try:
        yield folder
    finally:
        bench.wait_until("its cgroup is empty", lambda: not open(f"{folder}/cgroup.procs").read())
        for inner in filter(os.path.isdir, [f"{folder}/{name}" for name in os.listdir(folder)]):
            os.rmdir(inner)
        os.rmdir(folder)


def a_process_that_cleared_its_environment_is_ended_by_the_next_sweep(bench):
    with own_cgroups(bench) as parent:
        next_sweep_ends_it(bench, parent)


def next_sweep_ends_it(bench, parent):
    sweep, env = write_runaway(bench), {**bench.env, "WATTLAW_CGROUP": parent}
    p = bench.start(*sweep, env=env)
    pid = runaway_of(bench, p)
    with open(f"/proc/{pid}/cgroup") as f:
        ours = [line.strip().partition("::")[2] for line in f if "wattlaw-job-" in line]
    kill_with_its_guard(bench, p)
    check(not gone(pid), "it ended by itself")
    again = bench.start(*sweep, env=env)
    bench.wait_until("it has ended", lambda: gone(pid))
    bench.write("go", "")
    _, err = again.communicate(timeout=PATIENCE_S)
    contains(err, "of a job whose wattlaw had been killed")
    check(ours and not os.path.exists(f"{parent}/{os.path.basename(ours[0])}"), "its cgroup is left:", ours)


main([a_job_whose_guard_was_killed_is_ended,
      a_store_does_not_end_processes_of_another_campaign,
      a_process_that_cleared_its_environment_ends_with_the_guard,
      a_process_that_cleared_its_environment_is_ended_by_the_next_sweep])
