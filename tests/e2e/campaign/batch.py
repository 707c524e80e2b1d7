"""Runs as jobs of a batch system that a site's own commands reach, and every way in which such a job can end."""

import glob
import sqlite3

from harness import *

SITE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "site.py")


def experiment(bench, name, command, sweep="workers = 1", repeats=1, launch=""):
    bench.env["TMPDIR"] = bench.world
    site = f"{sys.executable} {SITE} {bench.path('site')}"
    os.makedirs(bench.path("site"), exist_ok=True)
    return bench.write(f"{name}.ini", f"""
[campaign]
name = {name}
repeats = {repeats}
[sweep]
workload = toy
{sweep}
[measure]
sensors = proc,cpu_model
[launch]
launcher = command
command = {command}
grace = 200ms
poll = 100ms
oversubscribe = yes
submit_command = {site} submit {{script}} {{output}} {{name}}
states_command = {site} states {{jobs}}
cancel_command = {site} cancel {{jobs}}
job_variable = SITE_JOB
{launch}
""")


def site(bench, *words):
    subprocess.run([sys.executable, SITE, bench.path("site"), *words], check=True, env=bench.env)


def states(bench, name):
    return bench.rows(f"{name}/wattlaw.db", "SELECT status, attempt FROM run ORDER BY id")


def marks(bench, name, n=1):
    return lambda: len(glob.glob(bench.path(name, "runs", "*", "marks"))) >= n


def a_campaign_through_a_site(bench):
    ini = experiment(bench, "lab", f"toy epochs=1 ms=20 workers={{workers}} touch={bench.path('ended')}", "workers = 1,2", 2, "max_in_queue = 2")
    r = bench.run("sweep", ini, "--json", "--quiet")
    check(json.loads(r.stdout)["done"] == 4, r.stdout, r.stderr)
    check(bench.read("ended").count("\n") == 4, "each run once")
    rows = bench.rows("lab/wattlaw.db", "SELECT count(DISTINCT job), min(launcher), sum(outcome = 'done'), sum(shard IS NOT NULL) FROM submission")
    check(rows == [(4, "command", 4, 4)], rows)
    check(bench.rows("lab/wattlaw.db", "SELECT count(*) FROM observations WHERE energy_j > 0 AND estimated") == [(4,)], "with energies")
    contains(bench.run("show", "lab").stdout, "done")
    bench.run("rebuild", "lab")
    ini = experiment(bench, "lab", f"toy epochs=1 ms=20 workers={{workers}} touch={bench.path('ended')}", "workers = 1,2,3", 2)
    contains(bench.run("sweep", ini, "--quiet").stdout, "6 of 6 runs")


def jobs_that_all_fail_alike_are_not_submitted_for_ever(bench):
    """Those in the queue are left there."""
    ini = experiment(bench, "alike", "toy epochs=1 ms=5 workers={workers}", "workers = 1,2,3,4,5,6", 1, "max_in_queue = 3\nwattlaw = /proc/nowhere/wattlaw")
    r = bench.run("sweep", ini, "--quiet", status=1)
    contains(r.stderr, "campaign alike is stopped", "3 failed alike", "/proc/nowhere/wattlaw", ".out)", "--retry-failed")
    count = lambda: bench.rows("alike/wattlaw.db", "SELECT count(*) FROM submission")[0][0]
    check(count() == 3, count())
    bench.run("sweep", ini, "--quiet", "--detach", status=1)
    check(count() == 3, "nothing more is submitted:", count())
    contains(bench.run("sweep", ini, "--quiet", "--retry-failed", "--set", "launch.wattlaw=" + os.path.abspath(sys.argv[1])).stdout, "6 of 6 runs")


def no_more_nodes_than_allowed(bench):
    ini = experiment(bench, "wide", "toy epochs=1 ms=20", repeats=4, launch="max_nodes = 2")
    bench.write("site/slow", "")
    for _ in range(2):
        r = json.loads(bench.run("sweep", ini, "--detach", "--quiet", "--json").stdout)
        check((r["in_queue"], r["not_submitted"]) == (2, 2), r)
    os.remove(bench.path("site/slow"))
    contains(bench.run("sweep", ini, "--quiet").stdout, "4 of 4 runs")


def ends_that_are_not_the_runs_own(bench):
    """A time limit doubles; a lost job is repeated; both end after so many retries."""
    ini = experiment(bench, "ends", f"sh -c 'test -e {bench.path('go')} || sleep 600'", launch="time_limit = 10m\nretries = 2")
    p = bench.start("sweep", ini, "--quiet")
    for attempt, outcome in enumerate(("timeout", "lost"), 1):
        bench.wait_until(f"attempt {attempt}", marks(bench, "ends", attempt))
        bench.wait_until("its id is known", lambda: bench.rows("ends/wattlaw.db", "SELECT count(*) FROM submission WHERE job IS NOT NULL")[0][0] == attempt)
        site(bench, "end", f"{attempt}.site", outcome)
    bench.wait_until("attempt 3", marks(bench, "ends", 3))
    site(bench, "end", "3.site", "timeout")
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 1, out, err)
    contains(out, "reached its time limit of 20m", "attempt 3", "retries = 2")
    check(states(bench, "ends") == [("interrupted", 1), ("interrupted", 2), ("failed", 3)], states(bench, "ends"))
    limits = bench.rows("ends/wattlaw.db", "SELECT time_limit_s, outcome FROM submission ORDER BY id")
    check(limits == [(600, "timeout"), (1200, "lost"), (1200, "timeout")], limits)
    contains(bench.rows("ends/wattlaw.db", "SELECT error FROM run WHERE attempt = 2")[0][0], "was lost")
    bench.write("go", "")
    contains(bench.run("sweep", ini, "--quiet", "--retry-failed").stdout, "1 of 1 runs")


def a_command_that_was_warned_has_not_ended_its_work(bench):
    """SIGUSR1 announces the time limit: what exits cleanly then has written a checkpoint."""
    command = f"sh -c 'test -e {bench.path('go')} && exit 0; trap \"exit 0\" USR1; touch {bench.path('trapped')}; while :; do sleep .02; done'"
    ini = experiment(bench, "warned", command, launch="time_limit = 10m")
    p = bench.start("sweep", ini, "--quiet")
    bench.wait_until("it runs", lambda: os.path.exists(bench.path("trapped")))
    bench.wait_until("its id is known", lambda: bench.rows("warned/wattlaw.db", "SELECT count(*) FROM submission WHERE job IS NOT NULL") == [(1,)])
    bench.write("go", "")
    job = subprocess.run(["pgrep", "-P", bench.read("site", "1.site.pid")], text=True, capture_output=True, check=True).stdout
    os.kill(int(job), signal.SIGUSR1)
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0, out, err)
    check(states(bench, "warned") == [("interrupted", 1), ("done", 2)], states(bench, "warned"))
    limits = bench.rows("warned/wattlaw.db", "SELECT time_limit_s, outcome FROM submission ORDER BY id")
    check(limits == [(600, "timeout"), (1200, "done")], limits)
    contains(bench.rows("warned/wattlaw.db", "SELECT message FROM log WHERE run = 2 AND message LIKE 'time limit%'")[0][0],
             "time limit 20m00s: 2 times the limit of 10m00s, which was reached")
    os.remove(bench.path("go"))


def a_batch_system_that_does_not_answer(bench):
    ini = experiment(bench, "down", "toy epochs=1 ms=20")
    bench.write("site/down", "")
    r = bench.run("sweep", ini, "--detach", "--quiet", status=1)
    contains(r.stderr, "cannot connect to server")
    p = bench.start("sweep", ini, "--quiet")
    line = p.stderr.readline()
    while "waiting for the batch system" not in line:
        check(line, "it does not say that it waits")
        line = p.stderr.readline()
    os.remove(bench.path("site/down"))
    out, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0, out, err)
    contains(out, "1 of 1 runs")
    check(states(bench, "down") == [("done", 1)], states(bench, "down"))


def forget_job(bench, outcome):
    """The batch system no longer knows its only job, once that has ended so and nothing writes its state."""
    file = bench.path("site", "1.site")
    bench.wait_until("ended", lambda: os.path.exists(file) and open(file, encoding="ascii").read() == outcome)
    for name in glob.glob(file + "*"):
        os.remove(name)


def a_job_that_vanishes(bench):
    ini = experiment(bench, "vanished", "toy epochs=1 ms=20", launch="retries = 1")
    text = open(ini, encoding="utf-8").read().replace(f"submit {{script}}", "submit /dev/null")
    bench.write("vanished.ini", text)
    bench.run("sweep", ini, "--detach", "--quiet")
    forget_job(bench, "done")
    for missed in (1, 2):  # a controller that has just begun may list nothing yet
        r = bench.run("sweep", ini, "--detach", "--quiet", "--json")
        check(json.loads(r.stdout)["in_queue"] == 1, r.stdout)
        row = bench.rows("vanished/wattlaw.db", "SELECT state <> 'ended', outcome, why FROM submission")
        check(row == [(1, None, "the batch system does not list it")], row)
    with sqlite3.connect(bench.path("vanished", "wattlaw.db")) as db:
        db.execute("UPDATE submission SET ended_wall_ns = ended_wall_ns - 30000000000")
    r = bench.run("sweep", ini, "--detach", "--quiet", "--json")
    row = bench.rows("vanished/wattlaw.db", "SELECT state, outcome FROM submission")
    check(row == [("ended", "unknown")], row)


def a_cancelled_job_that_is_forgotten(bench):
    """Nobody says any more that it was cancelled, and it is not repeated."""
    ini = experiment(bench, "gone", "sleep 600")
    bench.run("sweep", ini, "--detach", "--quiet")
    bench.wait_until("it runs", marks(bench, "gone"))
    bench.run("sweep", ini, "--detach", "--quiet")
    contains(bench.run("status", "gone").stdout, "1 running in jobs")
    contains(bench.run("cancel", "gone", status=2).stderr, "gone: expected the numbers of the runs to cancel")
    with sqlite3.connect(bench.path("gone", "wattlaw.db")) as db:  # what a store says is not run
        db.execute("INSERT INTO experiment(campaign, created_wall_ns, version, text) SELECT campaign, created_wall_ns + 1, version, "
                   "replace(text, 'cancel_command = ', 'cancel_command = touch pwned; ') FROM experiment")
    check(bench.rows("gone/wattlaw.db", "SELECT count(*) FROM experiment WHERE text LIKE '%cancel_command = touch pwned%'") == [(1,)])
    contains(bench.run("cancel", "gone.ini").stdout, "1 job cancelled")
    check(not os.path.exists(bench.path("pwned")), "a command of the store was run")
    forget_job(bench, "cancelled")
    contains(bench.run("sweep", ini, "--quiet", status=1).stdout, "was cancelled")
    check(states(bench, "gone") == [("failed", 1)], states(bench, "gone"))
    contains(bench.run("logs", "gone", "1").stdout, "==> the job", "interrupted")


def what_people_ask_the_sweep_for(bench):
    """A paused campaign submits nothing; the sweep cancels a job for who cannot reach the batch system; a retry is submitted."""
    ini = experiment(bench, "asked", f"sh -c 'until [ -e {bench.path('go')} ]; do sleep .02; done; exec toy epochs=1 ms=20 workers={{workers}}'", "workers = 1,2", launch="max_in_queue = 1")
    asked = lambda: bench.rows("asked/wattlaw.db", "SELECT action, acted_wall_ns IS NOT NULL, outcome FROM control ORDER BY id")  # noqa: E731
    sweep = bench.start("sweep", ini, "--quiet")
    bench.wait_until("a job runs", marks(bench, "asked"))
    bench.run("pause", "asked")
    bench.wait_until("the sweep knows", lambda: asked() == [("pause", 1, None)])
    (run,), = bench.rows("asked/wattlaw.db", "SELECT run FROM submission")
    contains(bench.run("cancel", "asked", str(run)).stdout, f"the sweep cancels the job of run {run}")
    bench.wait_until("the run is closed", lambda: asked()[1:] == [("cancel", 1, "failed")])
    contains(bench.run("retry", "asked").stdout, "once the campaign is resumed")
    time.sleep(0.5)  # some rounds
    check(bench.rows("asked/wattlaw.db", "SELECT count(*) FROM submission") == [(1,)], "a job was submitted while paused")
    bench.write("go", "")
    bench.run("resume", "asked")
    out, err = sweep.communicate(timeout=PATIENCE_S)
    check(sweep.returncode == 0 and "2 of 2 runs" in out, out, err)
    check(sorted(states(bench, "asked")) == [("done", 1), ("done", 2), ("failed", 1)], states(bench, "asked"))


def what_cannot_be_salvaged_is_in_nobodys_way(bench):
    """Measurements of a campaign whose folder is gone stay on the node; a job of the same name is measured beside them."""
    ini = experiment(bench, "salvage", "toy epochs=1 ms=20")
    bench.env["TMPDIR"] = bench.path("disk")
    os.mkdir(bench.path("disk"))
    bench.run("sweep", ini, "--detach", "--quiet")
    bench.wait_until("its shard", lambda: glob.glob(bench.path("salvage", "shards", "*.done.*")))
    trial = os.path.basename(glob.glob(bench.path("salvage", "shards", "*"))[0])[:16]
    forget_job(bench, "done")
    for name in glob.glob(bench.path("salvage", "shards", "*")):
        os.remove(name)
    left = bench.path("disk", f"wattlaw-jobs-{os.geteuid()}", f"{trial}.r1.1_site")
    os.mkdir(left)
    with open(f"{left}/target", "w", encoding="ascii") as f:
        f.write(f"{bench.path('nowhere')}\n{trial}\n1\n1_site\n")
    with open(f"{left}/wattlaw.db", "w", encoding="ascii") as f:
        f.write("something that was measured")
    script = glob.glob(bench.path("salvage", "jobs", "*.sh"))[0]
    r = subprocess.run(["bash", script], env={**bench.env, "SITE_JOB": "1.site"}, text=True, capture_output=True, check=False)
    check(r.returncode == 0 and "job 1_site was killed" in r.stderr, r.stdout, r.stderr)
    check(bench.read("disk", f"wattlaw-jobs-{os.geteuid()}", f"{trial}.r1.1_site", "wattlaw.db") == "something that was measured", "kept")
    check(len(os.listdir(os.path.dirname(left))) == 1, os.listdir(os.path.dirname(left)))
    contains(bench.run("sweep", ini, "--quiet").stdout, "1 of 1 runs")


def by_hand(bench, script, job):
    """The script of a run as another job of the batch system, or as the same one that it has started again."""
    return subprocess.Popen(["bash", script], env={**bench.env, "SITE_JOB": job}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            start_new_session=True)


def a_late_measurement_is_of_its_own_attempt(bench):
    """Two more jobs of a run are killed after its attempt was closed: the next attempt, which waits to be submitted, is not theirs."""
    ini = experiment(bench, "older", "sleep 600")
    bench.run("sweep", ini, "--detach", "--quiet")
    bench.wait_until("it runs", marks(bench, "older"))
    script = glob.glob(bench.path("older", "jobs", "*.sh"))[0]
    others = [by_hand(bench, script, job) for job in ("1.site", "hand")]
    bench.wait_until("all run", marks(bench, "older", 3))
    site(bench, "end", "1.site", "lost")
    bench.wait_until("its shard", lambda: len(glob.glob(bench.path("older", "shards", "*.interrupted.*"))) == 1)
    refused = ["sweep", ini, "--detach", "--quiet", "--set", "launch.submit_command=false"]
    contains(bench.run(*refused, status=1).stderr, "was refused")
    check(states(bench, "older") == [("interrupted", 1), ("planned", 2)], states(bench, "older"))
    for p in others:
        os.killpg(p.pid, signal.SIGTERM)
        p.wait(PATIENCE_S)
    err = bench.run(*refused, status=1).stderr
    contains(err, "job 1_site was submitted for run 1, attempt 1, which has ended", "it is of an attempt that was given up since")
    check(states(bench, "older") == [("interrupted", 1), ("planned", 2)], states(bench, "older"))


def what_a_launcher_needs(bench):
    ini = experiment(bench, "keys", "toy")
    r = bench.run("sweep", ini, "--set", "launch.launcher=slrm", "--dry-run", status=1)
    contains(r.stderr, "did you mean slurm")
    text = bench.read("keys.ini")
    bench.write("no.ini", "".join(line + "\n" for line in text.splitlines() if not line.startswith("job_variable")))
    contains(bench.run("sweep", "no.ini", "--dry-run", status=1).stderr, "launcher = command requires job_variable")
    bench.write("bad.ini", text.replace("{jobs}", "{job}"))
    contains(bench.run("sweep", "bad.ini", "--quiet", "--detach", "--set", "campaign.name=bad", "--set", "launch.states_command=x {job}").stdout, "1 job")
    contains(bench.run("sweep", "bad.ini", "--quiet", "--detach", "--set", "campaign.name=bad", "--set", "launch.states_command=x {job}", status=1).stderr,
             "states_command: {job} is not a placeholder: expected {jobs}")
    contains(bench.run("sweep", ini, "--set", "launch.workers_per_node=2", "--set", "sweep.workers=4", "--set",
                       "launch.command=toy {workers}", "--dry-run", status=1).stderr, "put {measure} after its launcher")
    for value, said in (("array=yes", "only launcher = slurm has job arrays"), ("signal_before=2m", "only launcher = slurm sends such a signal"),
                        ("array=some", "array = 'some': expected yes, no or a number of tasks from 2 on"),
                        ("partition=gpu\ntouch pwned", "[launch] partition = 'gpu\\ntouch pwned': expected one line"),
                        ("time_margin=0.5", "time_margin = 0.5: expected 0 or at least 1")):
        contains(bench.run("sweep", ini, "--set", f"launch.{value}", "--dry-run", status=1).stderr, said)
    contains(bench.run("sweep", ini, "--stop-at", "1h", status=2).stderr, "--stop-at: not with launcher = command")
    contains(bench.run("sweep", ini, "--set", "launch.launcher=local", "--detach", status=2).stderr, "--detach: not with launcher = local")
    contains(bench.run("job", "--folder", ".", "--experiment", "keys.ini", "--trial", "0" * 16, status=1).stderr, "has no trial 0000")
    contains(bench.run("cancel", status=2).stderr, "expected the experiment file")
    contains(bench.run("logs", "bad", "9", status=1).stderr, "no run 9")


main([a_campaign_through_a_site, jobs_that_all_fail_alike_are_not_submitted_for_ever, no_more_nodes_than_allowed, ends_that_are_not_the_runs_own, a_command_that_was_warned_has_not_ended_its_work, a_batch_system_that_does_not_answer, a_job_that_vanishes, a_cancelled_job_that_is_forgotten, what_people_ask_the_sweep_for,
      what_cannot_be_salvaged_is_in_nobodys_way, a_late_measurement_is_of_its_own_attempt,
      what_a_launcher_needs])
