"""wattlaw sweep: a grid becomes runs; what is missing is run, and no run is repeated."""

import contextlib
import glob
import re
import sqlite3
import time

from harness import *
from toy_campaign import BASIC, states

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "store")
sys.path.insert(0, FIXTURES)
import past  # noqa: E402

# The campaign of sweep-15.sql.
STORED_AXES = ["zeta = b", "precision = f32, bf16", "workload = toy", "epochs = 2, 1", "workers = 1, 2", "local_batch = 8",
               "mem_clock_mhz = 810", "power_cap_w = 187.5", "alpha = 0.1"]


def stored_campaign(axes):
    return "\n".join(["[campaign]", "name = toy", "repeats = 1", "scaling = weak", "[sweep]", *axes, "[data]", "samples = 50",
                      "[measure]", "sensors = null", "[cap]", "setter = null", "[launch]", "launcher = null", "oversubscribe = yes",
                      "command = toy {zeta} {precision} {epochs} {workers} {local_batch} {alpha} {samples}", ""])


def stored_keys():
    return sorted(f'workload=toy workers={w} local_batch=8 global_batch={8 * w} accumulation=1 epochs={e} power_cap_w=187.5 '
                  f'mem_clock_mhz=810 extra={{"alpha": "0.1", "precision": "{p}", "samples": "{50 * w}", "zeta": "b"}}'
                  for w in (1, 2) for e in (1, 2) for p in ("bf16", "f32"))


def a_dry_run_shows_and_does_nothing(bench):
    bench.write("a.ini", BASIC)
    r = bench.run("sweep", "a.ini", "--dry-run", "--set", "sweep.workers=1,100000", "--set", "launch.oversubscribe=no")
    contains(r.stdout, "campaign toy: 2 trials x 2 repeats = 4 runs; 2 trials cannot be run here",
             "skipped  local_batch=8 workers=100000: 100000 workers, but", "toy epochs=2 ms=20 workers=1 fail_if=8:none")
    check(os.listdir(bench.folder) == ["a.ini"], os.listdir(bench.folder))
    plan = json.loads(bench.run("sweep", "a.ini", "--dry-run", "--json").stdout)
    check(len(plan["runs"]) == 8, plan)
    check(plan["trials"][1] == {"trial": "local_batch=8 workers=2", "workload": "toy", "workers": 2, "local_batch": 8,
                                "global_batch": 16, "accumulation": 1, "threads": 1, "skipped": None}, plan)
    again = json.loads(bench.run("sweep", "a.ini", "--dry-run", "--json").stdout)
    check(plan == again)


def a_grid_becomes_observations(bench):
    bench.write("a.ini", BASIC)
    r = bench.run("sweep", "a.ini")
    contains(r.stdout, "8 of 8 runs of campaign toy are done: toy/wattlaw.db")
    rows = bench.rows("toy/wattlaw.db", "SELECT workload, workers, local_batch, global_batch, count(*), count(time_s), "
                                        "count(energy_j), sum(samples) FROM observations GROUP BY workers, local_batch")
    check(rows == [("toy", w, b, w * b, 4, 4, 4, 400) for w in (1, 2) for b in (8, 16)], rows)
    check(len(glob.glob(bench.path("toy", "runs", "*", "log"))) == 8)
    before = bench.rows("toy/wattlaw.db", "SELECT * FROM run")
    contains(bench.run("sweep", "a.ini").stdout, "8 of 8")
    check(bench.rows("toy/wattlaw.db", "SELECT * FROM run") == before)


def more_repeats_and_values_add_what_is_missing(bench):
    bench.write("a.ini", BASIC)
    bench.run("sweep", "a.ini", "--set", "campaign.repeats=1", "--set", "sweep.workers=1")
    first = bench.rows("toy/wattlaw.db", "SELECT * FROM run ORDER BY id")
    check(len(first) == 2)
    bench.run("sweep", "a.ini")
    rows = bench.rows("toy/wattlaw.db", "SELECT * FROM run ORDER BY id")
    check(rows[:2] == first and states(bench) == {"done": 8}, rows)


def another_command_needs_another_campaign(bench):
    bench.write("a.ini", BASIC)
    bench.run("sweep", "a.ini", "--set", "campaign.repeats=1")
    r = bench.run("sweep", "a.ini", "--set", "launch.args=epochs=3", status=1)
    contains(r.stderr, "made differently", "args = epochs=3", "another name or store")
    long = ["--set", "campaign.name=long", "--set", "campaign.store=long", "--set", "campaign.repeats=1", "--set"]
    bench.run("sweep", "a.ini", *long, f"launch.args=say={300 * 'x'}one{300 * 'y'}")
    r = bench.run("sweep", "a.ini", *long, f"launch.args=say={300 * 'x'}two{300 * 'y'}", status=1)
    contains(r.stderr, "stored '...xxx", "xxxoneyyy", "yyy...', now '...xxx", "xxxtwoyyy")
    check(states(bench) == {"done": 4})
    bench.run("sweep", "a.ini", "--set", "launch.args=epochs=3", "--set", "campaign.name=other", "--set",
              "campaign.store=toy", "--set", "campaign.repeats=1")
    check(states(bench) == {"done": 8})


def a_sweep_with_a_value_that_no_file_can_hold_resumes(bench):
    """' ;' would start a comment in a file; --set may give it."""
    bench.write("a.ini", BASIC)
    odd = ["sweep", "a.ini", "--set", "launch.command=sh -c 'toy ms=1 workers={workers} ; : {local_batch}'"]
    bench.run(*odd, "--set", "campaign.repeats=1")
    bench.run(*odd)
    check(states(bench) == {"done": 8}, states(bench))


def ctrl_c_stops_the_job_and_the_next_call_resumes(bench):
    bench.write("a.ini", BASIC)
    slow = ["sweep", "a.ini", "--set", "campaign.repeats=1", "--set", "launch.grace=50ms", "--set",
            "launch.command=toy epochs=2 ms=20 wait=go stray=1 workers={workers} fail_if={local_batch}:n"]
    for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        p = bench.start(*slow)
        bench.wait_until("a toy runs", lambda: sum(c.startswith("toy") for _, c in bench.processes()) == 2)
        p.send_signal(sig)
        _, err = p.communicate(timeout=PATIENCE_S)
        check(p.returncode == 130, p.returncode, err)
        contains(err, "of 4 runs are done and stored in toy/wattlaw.db; the same command resumes", "stopped by the user")
        bench.all_gone()
    check(states(bench)["interrupted"] == 3, states(bench))
    check(bench.rows("toy/wattlaw.db", "PRAGMA integrity_check") == [("ok",)])
    bench.write("go", "")
    bench.run(*slow)
    check(states(bench) == {"done": 4, "interrupted": 3}, states(bench))
    check(bench.rows("toy/wattlaw.db", "SELECT count(DISTINCT run) FROM observations") == [(4,)])


def a_signal_to_all_may_end_the_command_first(bench):
    """As of a batch system, whose signal reaches the sweep a moment after the command: the run has not failed."""
    bench.write("a.ini", BASIC)
    p = bench.start("sweep", "a.ini", "--set", "campaign.repeats=1", "--set",
                    "launch.command=toy epochs=2 ms=20 wait=go workers={workers} fail_if={local_batch}:n")
    toys = lambda: [pid for pid, c in bench.processes() if c.startswith("toy")]
    bench.wait_until("a toy runs", toys)
    os.kill(int(toys()[0]), signal.SIGTERM)
    time.sleep(.05)
    p.send_signal(signal.SIGTERM)
    _, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 130 and states(bench).get("interrupted") == 1 and "failed" not in states(bench), p.returncode, states(bench), err)


def nohup_is_respected(bench):
    bench.write("a.ini", BASIC)
    p = bench.start("sweep", "a.ini", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    bench.wait_until("a toy runs", lambda: any(c.startswith("toy") for _, c in bench.processes()))
    p.send_signal(signal.SIGHUP)
    p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 0 and states(bench) == {"done": 8}, p.returncode, states(bench))


def a_second_ctrl_c_does_not_wait(bench):
    bench.write("a.ini", BASIC)
    p = bench.start("sweep", "a.ini", "--set", "launch.command=toy deaf=1 epochs=1 ms=60000 say={workers}{local_batch}",
                    "--set", "launch.grace=1h")
    toys = lambda: [pid for pid, c in bench.processes() if c.startswith("toy")]
    bench.wait_until("a deaf toy runs", lambda: any(has_signal(pid, "SigIgn", signal.SIGTERM) for pid in toys()))
    p.send_signal(signal.SIGINT)
    bench.wait_until("the first one has been handled", lambda: not has_signal(p.pid, "ShdPnd", signal.SIGINT))
    time.sleep(0.2)
    check(p.poll() is None)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 130, p.returncode)


def a_failed_run_is_reported_and_does_not_stop_the_others(bench):
    bench.write("a.ini", BASIC)
    fails = ["sweep", "a.ini", "--set", "launch.command=toy epochs=1 ms=10 say={workers} tail=reason fail_if={local_batch}:16"]
    r = bench.run(*fails, status=1)
    contains(r.stdout, "4 of 8 runs", "failed  run", "local_batch=16 workers=2, repeat 2: exit status 7: reason (", "/log)",
             "--retry-failed")
    contains(r.stderr, "repeat 2: exit status 7: reason\n")
    rows = bench.rows("toy/wattlaw.db", "SELECT DISTINCT exit_status, error, log_tail LIKE '%reason%' FROM run "
                                        "WHERE status = 'failed'")
    check(rows == [(7, "exit status 7", 1)], rows)
    result = json.loads(bench.run(*fails, "--json", status=1).stdout)
    check({f["last_line"] for f in result["failed"]} == {"reason"}, result)
    check(len(result["failed"]) == 4 and result["done"] == 4 and states(bench) == {"done": 4, "failed": 4}, result)
    bench.run(*fails, "--retry-failed", status=1)
    check(states(bench) == {"done": 4, "failed": 8}, states(bench))


def a_campaign_in_which_nothing_works_stops(bench):
    """Not because of one setting, nor of what ran out of memory, nor of failures of several kinds."""
    def sweep(name, shell, *options, status=1, repeats=2):
        axes = ["--axis", "workers=1,2,3", "--axis", "batch=1,2", "--set", f"campaign.name={name}", "--set", f"campaign.repeats={repeats}",
                "--set", "launch.oversubscribe=yes", "--set", "measure.sensors=null"]
        r = bench.run("sweep", *axes, *options, "--", "sh", "-c", shell, "{workers}", "{batch}", status=status)
        return r, bench.rows(f"{name}/wattlaw.db", "SELECT sum(status = 'failed'), sum(status = 'planned') FROM run")[0]

    gone = "echo \"/opt/$$/x: line $0: toy: not found\"; exit 127"
    r, n = sweep("gone", gone)
    check(n == (3, 9) or n == (4, 8), "as soon as they have no value in common:", n)
    contains(r.stderr, "campaign gone is stopped: no run has succeeded, and", "failed alike: exit status 127: /opt/", "toy: not found", "/log)",
             "--retry-failed", "launch.stop_after_failures=0")
    check(sweep("gone", gone)[1] == n, "again: nothing is run")
    mended = f"test -e {bench.path('there')} && exit 0; {gone}"
    sweep("mended", mended)
    bench.write("there", "")
    contains(sweep("mended", mended, "--retry-failed", status=0)[0].stdout, "12 of 12 runs")
    for name, shell, options in (("all", gone, ["--set", "launch.stop_after_failures=0"]),
                                 ("memory", "echo CUDA out of memory; exit 1", []),
                                 ("kinds", "echo failed; exit $((3 * $0 + $1))", [])):
        check(sweep(name, shell, *options, repeats=1)[1] == (6, 0), name)
    check(sweep("one", "exit $((2 - $1))", "--set", "campaign.order=sequential", repeats=1)[1] == (3, 0), "batch 1 fails, 2 does not")


def a_run_that_takes_too_long_fails(bench):
    bench.write("a.ini", BASIC)
    r = bench.run("sweep", "a.ini", "--set", "launch.command=toy deaf=1 epochs=1 ms=60000 say={workers}{local_batch}",
                  "--set", "launch.timeout=300ms", "--set", "campaign.repeats=1", "--set", "sweep.workers=1",
                  "--set", "sweep.local_batch=1", "--set", "launch.grace=100ms", status=1)
    contains(r.stdout, "took longer than 0.3 s and was stopped")


def invalid_marks_do_no_harm(bench):
    bench.write("a.ini", BASIC)
    r = bench.run("sweep", "a.ini", "--set", "launch.args=broken=1", "--set", "campaign.repeats=1")
    contains(r.stderr, "marks:", "no-such-word")
    check(bench.rows("toy/wattlaw.db", "SELECT count(*) FROM epoch") == [(8,)])


def numbers_that_no_store_holds_end_no_sweep(bench):
    """Each trial writes another number that is none: its setting is missing, and the other runs are run and read."""
    starts = ["workers=-3", "threads=-1", "workers=2.5", "workers=1e300", "local_batch=99999999999999999999", "epochs=0"]
    others = ["epoch-end epoch=9 samples=9223372036854775807", "metric name=x value=1 epoch=9223372036854775807",
              "step step=1 samples=99999999999999999999"]
    bench.write("job", "#!/bin/sh\necho \"$1 0 $2\" >> $WATTLAW_MARKS\nexec toy epochs=1 ms=10\n")
    os.chmod(bench.path("job"), 0o755)
    lines = [f"1:start~{text}" for text in starts] + [f"1:{text.replace(' ', '~')}" for text in others]
    lines += ["4611686018427387905:stop", "9223372036854775807:stop"]
    bench.write("a.ini", "[campaign]\nname = toy\nrepeats = 1\n[sweep]\nline = " + ", ".join(lines) +
                "\n[measure]\nsensors = proc\n[launch]\n"
                "command = sh -c 'set -- $(echo {line} | tr : \" \"); exec ./job $1 \"$(echo $2 | tr \\~ \" \")\"'\n")
    r = bench.run("sweep", "a.ini")
    contains(r.stdout, f"{len(lines)} of {len(lines)} runs of campaign toy are done")
    for text in starts:
        contains(r.stderr, f"marks:1: start: {text}: expected a whole number from 1 to ")
    contains(r.stderr, "samples=9223372036854775807: expected a whole number from 0 to ", "time '4611686018427387905'")
    check(states(bench) == {"done": len(lines)}, states(bench))
    check(bench.rows("toy/wattlaw.db", "SELECT count(*) FROM log WHERE area = 'mark'") == [(len(lines),)])
    shown = json.loads(bench.run("show", "toy", "--json").stdout)
    check(len(shown["runs"]) == len(lines), shown)
    bench.run("rebuild", "toy")


def a_run_whose_numbers_cannot_be_stored_fails_and_the_sweep_goes_on(bench):
    """Another program has added a trigger to the file that refuses epochs, and removes it before the next run."""
    bench.write("job", "import sqlite3, sys\n"
                "db = sqlite3.connect('toy/wattlaw.db', timeout=60)\n"
                "if sys.argv[1] == '1':\n"
                "    db.execute(\"CREATE TRIGGER t BEFORE INSERT ON epoch BEGIN SELECT raise(ABORT, 'no epochs today'); END\")\n"
                "else:\n    db.execute('DROP TRIGGER t')\ndb.commit()\n")
    bench.write("a.ini", BASIC.replace("command = toy", "command = sh -c 'python3 job {n}; exec toy \"$@\"' toy")
                .replace("local_batch = 8,16", "n = 1,2").replace("workers = 1,2", "workers = 1")
                .replace("{local_batch}", "{n}").replace("repeats = 2", "repeats = 1\norder = sequential"))
    r = bench.run("sweep", "a.ini", status=1)
    contains(r.stdout, "1 of 2 runs", "its epochs and energies cannot be stored", "no epochs today")
    check("INSERT" not in r.stdout + r.stderr, r.stderr)
    check(states(bench) == {"done": 1, "failed": 1}, states(bench))
    rows = bench.rows("toy/wattlaw.db", "SELECT s.workload, r.error LIKE 'its epochs%', r.stop_mono_ns > r.start_mono_ns "
                                        "FROM run r JOIN setting s ON s.run = r.id WHERE r.status = 'failed'")
    check(rows == [("toy", 1, 1)], rows)
    bench.run("sweep", "a.ini", status=1)
    check(states(bench) == {"done": 1, "failed": 1}, states(bench))


def epochs_come_from_the_log(bench):
    bench.write("a.ini", BASIC)
    bench.run("sweep", "a.ini", "--set", "campaign.repeats=1", "--set", "measure.epoch_regex=^Epoch ([0-9]+)",
              "--set", "launch.env=WATTLAW_MARKS=/dev/null", "--set", "launch.args=say=Epoch tail=end")
    check(bench.rows("toy/wattlaw.db", "SELECT count(*), min(epoch), max(epoch) FROM epoch") == [(8, 1, 2)])
    check(bench.read("toy", "runs", "1", "log") == "Epoch 1\nEpoch 2\nend\n")


def what_is_missing_is_reported_before_anything_starts(bench):
    bench.write("a.ini", BASIC)
    r = bench.run("sweep", "a.ini", "--set", "launch.command=no-such {workers}{local_batch}", status=1)
    contains(r.stderr, "no-such: command not found")
    bench.write("b.ini", BASIC.replace("name = toy", "name = b"))
    r = bench.run("sweep", "b.ini", "--set", "data.path=missing", status=1)
    contains(r.stderr, bench.path("missing"), "does not exist", "prepare")
    check("the same command resumes" not in r.stderr, r.stderr)
    r = bench.run("sweep", "b.ini", "--set", "data.path=new", "--set", "data.prepare=wattlaw-train data {data}",
                  env={**bench.env, "PATH": os.path.dirname(bench.toy) + ":/usr/bin:/bin"}, status=1)
    contains(r.stderr, "wattlaw-train: command not found; write {train} for")
    bench.write("slurm.conf", "")  # of no cluster; for a file that does not exist, each program of Slurm waits a minute
    nowhere = {**bench.env, "SLURM_CONF": bench.path("slurm.conf")}
    contains(bench.run("sweep", "b.ini", "--set", "launch.launcher=slurm", env=nowhere, status=1).stderr, "sbatch: ")
    contains(bench.run("sweep", "b.ini", "--set", "launch.launcher=locl", status=1).stderr, "did you mean local?")
    contains(bench.run("sweep", "b.ini", "--set", "measure.sensors=rapll", status=1).stderr, "did you mean rapl?")
    contains(bench.run("sweep", "no.ini", status=1).stderr, "no.ini")
    contains(bench.run("sweep", status=2).stderr, "experiment file is missing")
    check(all(not bench.rows(s, "SELECT * FROM run WHERE status <> 'planned'") for s in glob.glob(bench.path("*/*.db"))))
    bench.run("sweep", "a.ini", "--set", "campaign.repeats=1")  # with the mistakes corrected
    check(states(bench) == {"done": 4})


def a_campaign_of_skipped_trials_fails(bench):
    bench.write("a.ini", BASIC)
    r = bench.run("sweep", "a.ini", "--set", "sweep.power_cap_w=100", status=1)
    contains(r.stderr, "skipped  ", "none of its trials can be run here")
    check(r.stdout == "", r.stdout)


def data_are_prepared_once_and_whole(bench):
    bench.write("make.sh", "#!/bin/sh\necho made >> calls\nmkdir $1\n[ -e ok ] || { echo no ok; exit 3; }\necho x > $1/file\n")
    os.chmod(bench.path("make.sh"), 0o755)
    bench.write("a.ini", BASIC.replace("[launch]", "[data]\npath = in/data\nprepare = ./make.sh {data}\n[launch]\n"
                                                   "cwd = /\nargs = touch={data}/file\n"))
    r = bench.run("sweep", "a.ini", status=1)
    contains(r.stderr, "[data] prepare: exit status 3: no ok")
    check(not os.path.exists(bench.path("in", "data")))
    bench.write("ok", "")
    bench.run("sweep", "a.ini")
    check(bench.read("calls") == "made\nmade\n" and bench.read("in", "data", "file") == "x\n" + 8 * "done\n")
    check(os.listdir(bench.path("in")) == ["data"])


def user_axes_and_weak_scaling_reach_the_command(bench):
    bench.write("a.ini", BASIC.replace("local_batch = 8,16", "lr = 0.1, very small\nlocal_batch = 8")
                .replace("fail_if={local_batch}:none", "'say={lr} {samples} {seed} {repeat} {global_batch}'")
                .replace("[measure]", "[data]\nsamples = 50\n[measure]").replace("name = toy", "name = toy\nscaling = weak\nseed = 5"))
    bench.run("sweep", "a.ini")
    said = sorted(bench.read("toy", "runs", str(i), "log").splitlines()[0] for i in range(1, 9))
    check(said == sorted(f"{lr} {50 * w} {4 + r} {r} {8 * w} 1" for lr in ("0.1", "very small") for w in (1, 2)
                         for r in (1, 2)), said)
    extra = bench.rows("toy/wattlaw.db", "SELECT DISTINCT json_extract(extra, '$.lr') FROM trial ORDER BY 1")
    check(extra == [("0.1",), ("very small",)], extra)


def keys_of_trials(bench):
    return [key for key, in bench.rows("toy/wattlaw.db", "SELECT t.key FROM trial t JOIN campaign c ON c.id = t.campaign "
                                                         "WHERE c.name = 'toy' ORDER BY t.key")]


def a_trial_is_stored_under_the_same_key_in_any_order_of_axes(bench):
    """A key that changes loses the trial: the runs would be made again."""
    bench.write("a.ini", stored_campaign(STORED_AXES))
    bench.write("b.ini", stored_campaign(reversed(STORED_AXES)))
    bench.run("sweep", "a.ini", "--quiet")
    check(keys_of_trials(bench) == stored_keys(), keys_of_trials(bench))
    bench.run("sweep", "b.ini", "--quiet")
    check(keys_of_trials(bench) == stored_keys() and states(bench) == {"done": 8}, keys_of_trials(bench), states(bench))


def a_store_of_an_older_version_resumes(bench):
    """Its trials are found by their keys: only the run that is missing is made."""
    bench.write("a.ini", stored_campaign(STORED_AXES))
    os.mkdir(bench.path("toy"))
    past.make(bench.path("toy", "wattlaw.db"), 15)
    with open(os.path.join(FIXTURES, "sweep-15.sql")) as f, contextlib.closing(sqlite3.connect(bench.path("toy", "wattlaw.db"))) as db:
        db.executescript(f.read())
    check(keys_of_trials(bench) == stored_keys(), "the fixture:", keys_of_trials(bench))
    before = bench.rows("toy/wattlaw.db", "SELECT * FROM run")
    contains(bench.run("sweep", "a.ini").stdout, "8 of 8 runs of campaign toy are done")
    runs = bench.rows("toy/wattlaw.db", "SELECT * FROM run")
    runs = [row[:len(before[0])] for row in runs]  # newer versions add columns
    check(set(before) < set(runs) and len(runs) == len(before) + 1, len(before), len(runs))
    check(bench.rows("toy/wattlaw.db", "SELECT status FROM run WHERE trial = 14") == [("done",)])
    check(keys_of_trials(bench) == stored_keys(), keys_of_trials(bench))


def settings_that_the_command_does_not_get_are_unknown(bench):
    """The workload reports three workers; the experiment has no workers, batches or threads."""
    bench.write("a.ini", "[campaign]\nname = toy\nrepeats = 1\n[launch]\ncommand = toy epochs=1 ms=10 workers=3\n")
    bench.run("sweep", "a.ini")
    rows = bench.rows("toy/wattlaw.db", "SELECT workload, workers, local_batch, global_batch FROM observations")
    check(rows == [("toy", 3, None, None)], rows)
    check(bench.rows("toy/wattlaw.db", "SELECT key, threads, accumulation FROM trial") == [("", None, None)])


def a_run_reports_carbon_cost_and_rules(bench):
    """`energy` and `report` use the campaign's keys unless options override them; the keys may change between two calls."""
    now = time.time()
    bench.write("grid.csv", f"timestamp,carbon_intensity\n{now - 3600},400\n{now + 3600},500\n")
    bench.write("a.ini", BASIC.replace("[launch]", "pue = 1.5\ncountry = DE\nprice = 1000\nrules = mlperf\n[launch]")
                .replace("workers = 1,2", "workers = 1").replace("repeats = 2", "repeats = 1"))
    err = bench.run("sweep", "a.ini").stderr
    contains(err, "g CO2e (", "EUR (", ", estimated), 2 epochs\n", "MLPerf's rules broken: ", "at least 60 s (")
    check(len([line for line in err.splitlines() if "MLPerf's rules broken: " in line]) == 2, err)

    run = bench.rows("toy/wattlaw.db", "SELECT max(id) FROM run")[0][0]
    contains(bench.run("show", "toy", "--run", str(run)).stdout, "MLPerf rule", "BROKEN  at least 60 s ")
    shown = json.loads(bench.run("show", "toy", "--run", str(run), "--json").stdout)["rules"]
    asked = bench.run("show", "toy", "--run", str(run), "--rules", "mlperf", "--json", status=1).stdout
    check(shown == json.loads(asked) and not shown["kept"], shown, asked)

    def footprint(*args):
        f = json.loads(bench.run("energy", "toy", "--json", *args).stdout)["footprint"]
        return f, f["groups"][0]
    f, group = footprint()
    check((f["pue"], f["carbon_g_per_kwh"], f["price_per_kwh"]) == (1.5, 342.06, 1000), f)
    check(abs(group["carbon_g"] / group["cost"] - 342.06 / 1000) < 1e-9, group)
    f, own = footprint("--price", "500", "--currency", "CHF")
    check(f["currency"] == "CHF" and own["carbon_g"] == group["carbon_g"] and own["cost"] == group["cost"] / 2, f)
    f, own = footprint("--carbon-csv", "grid.csv", "--pue", "1")
    check(abs(own["carbon_g"] / (group["carbon_g"] / 342.06 / 1.5 * 400) - 1) < 1e-9, own, group)

    cleaner = ["--set", "measure.country=FR", "--set", "measure.rules=mlperf"]
    contains(bench.run("sweep", "a.ini", *cleaner).stdout, "2 of 2 runs")
    check(footprint()[0]["carbon_g_per_kwh"] == 44.18)
    bench.run("report", "toy", "--formats", "csv")
    table = bench.read("toy", "report", "tables", "footprint.csv")
    contains(table, "44.18")
    bench.run("sweep", "a.ini", "--set", "campaign.name=other", "--set", "campaign.store=toy")
    f = footprint()[0]
    check(f["carbon_g_per_kwh"] is None and "differ" in f["notes"][0], f)
    contains(bench.run("report", "toy", "--formats", "csv").stderr, "differ in carbon")

    bench.write("old.csv", "timestamp,carbon_intensity\n2020-01-01T00:00Z,300\n2020-01-01T01:00Z,310\n")
    bench.write("b.ini", bench.read("a.ini").replace("country = DE", "carbon_csv = old.csv").replace("name = toy", "name = old"))
    contains(bench.run("sweep", "b.ini").stderr, "b.ini:12: [measure] carbon_csv: ",
             "old.csv has no intensity for now, 20", "carbon unknown, ")


def a_removed_store_stops_the_campaign(bench):
    bench.write("a.ini", BASIC)
    p = bench.start("sweep", "a.ini", "--set", "launch.args=epochs=30 ms=100 wait=go")
    bench.wait_until("a toy runs", lambda: any(c.startswith("toy") for _, c in bench.processes()))
    bench.wait_until("it is stored", lambda: bench.rows("toy/wattlaw.db", "SELECT 1 FROM run WHERE status = 'running'"))
    for name in os.listdir(bench.path("toy")):
        if name.startswith("wattlaw.db"):
            os.unlink(bench.path("toy", name))
    bench.write("go", "")
    _, err = p.communicate(timeout=PATIENCE_S)
    check(p.returncode == 1, p.returncode, err)
    contains(err, "the store was removed or replaced while it was in use")


def one_sweep_per_campaign_at_a_time(bench):
    bench.write("a.ini", BASIC)
    slow = ["sweep", "a.ini", "--set", "launch.args=epochs=1 ms=20 wait=go"]
    p = bench.start(*slow)
    bench.wait_until("a toy runs", lambda: any(c.startswith("toy") for _, c in bench.processes()))
    contains(bench.run(*slow, status=1).stderr, "another wattlaw is running this campaign")
    other = ["--set", "campaign.name=other", "--set", "campaign.store=toy"]
    contains(bench.run(*slow, *other, status=1).stderr, "another campaign of this store is running")
    bench.run("measure", "--store", "toy", "--", "true")
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=PATIENCE_S)


def a_read_only_folder_is_reported(bench):
    bench.write("a.ini", BASIC)
    os.mkdir(bench.path("ro"))
    with read_only(bench.path("ro")):
        r = bench.run("sweep", "a.ini", "--set", "campaign.store=ro/toy", status=1)
    contains(r.stderr, "ro/toy")


def a_full_disk_stops_the_sweep_and_loses_nothing(bench):
    with small_disk(bench.path("small"), 8000):
        bench.write("a.ini", BASIC)
        args = ["sweep", "a.ini", "--set", "campaign.store=small", "--set", "campaign.repeats=3", "--set",
                "launch.command=toy ms=100 epochs=2 workers={workers} local_batch={local_batch}"]
        p = bench.start(*args)
        bench.wait_until("a run is done", lambda: os.path.exists(bench.path("small", "runs", "2", "marks")))
        fill(bench.path("small", "fill"))
        _, err = p.communicate(timeout=PATIENCE_S)
        check(p.returncode == 1, p.returncode, err)
        contains(err, "small/wattlaw.db", "the same command resumes")
        os.unlink(bench.path("small", "fill"))
        check(bench.rows("small/wattlaw.db", "PRAGMA integrity_check") == [("ok",)])
        done = bench.rows("small/wattlaw.db", "SELECT id FROM run WHERE status = 'done'")
        check(done)
        bench.run(*args)
        check(set(done) <= set(bench.rows("small/wattlaw.db", "SELECT id FROM run WHERE status = 'done'")))
        check(states(bench, "small/wattlaw.db")["done"] == 12)


def a_dry_run_fails_where_the_sweep_would(bench):
    bench.write("a.ini", "[campaign]\nname = a\nrepeats = 1\n[launch]\ncommand = toy epochs=1\n")
    bench.write("held.ini", "[campaign]\nname = held\nstore = a\nrepeats = 1\n[launch]\ncommand = sh -c 'until test -e go; do sleep 0.05; done'\n")
    bench.write("file", "")

    def both(*sets, name="a.ini"):
        words = [w for s in sets for w in ("--set", s)]
        before = sorted(os.listdir(bench.folder))
        dry = bench.run("sweep", name, "--dry-run", *words, status=None)
        check(sorted(os.listdir(bench.folder)) == before, "a dry run has created", sorted(os.listdir(bench.folder)))
        real = bench.run("sweep", name, *words, status=None)
        error = [line for line in real.stderr.splitlines() if line.startswith("error: ")]
        check(real.returncode != 0 and len(error) == 1, real.stderr)
        check(dry.returncode == real.returncode and error[0] in dry.stderr.splitlines(), sets, error, dry.returncode, dry.stderr)

    for reasons in (["launch.launcher=locl"], ["launch.command=no-such-command"],
                    ["launch.cwd=/proc", "launch.command=./toy"], ["data.path=/proc/nowhere"],
                    ["data.path=/proc/nowhere", "data.prepare=no-such-command {data}"], ["sweep.workers=100000"],
                    ["measure.sensors=nvml", "measure.nvml_library=/proc/nowhere"], ["campaign.store=file/a"],
                    ["measure.sampler_cpu=100000"]):
        both(*reasons)
    bench.run("sweep", "a.ini", "--dry-run")
    check(not os.path.exists(bench.path("a", "wattlaw.db")) or not bench.rows("a/wattlaw.db", "SELECT id FROM run WHERE status = 'done'"),
          "a dry run has run the campaign")
    bench.run("sweep", "a.ini")
    both("launch.command=toy epochs=2")  # the store has runs made differently
    bench.run("sweep", "a.ini", "--dry-run", "--set", "campaign.repeats=2")
    holder = bench.start("sweep", "held.ini", "--quiet")
    bench.wait_until("the other campaign is running", lambda: bench.rows("a/wattlaw.db", "SELECT id FROM run WHERE status = 'running'"))
    both("campaign.repeats=2")
    both(name="held.ini")
    bench.write("go", "")
    holder.communicate()


def the_null_launcher_starts_nothing(bench):
    bench.write("a.ini", BASIC)
    bench.run("sweep", "a.ini", "--set", "launch.launcher=null", "--set", "campaign.repeats=50")
    check(states(bench) == {"done": 200}, states(bench))
    check(bench.rows("toy/wattlaw.db", "SELECT count(*) FROM observations") == [(0,)])


RANKS = """import os, random, sys
dice = random.Random(int(sys.argv[1]))
with open(os.environ["WATTLAW_MARKS"], "a") as marks:
    now = int(float(open("/proc/uptime").read().split()[0]) * 1e9)
    for rank in range(4):
        marks.write(f"{now} {rank} start workload=w workers=4 host=n{rank // 2} pid=1\\n")
    for epoch in (1, 2, 3):
        marks.write(f"{now} 0 epoch-begin epoch={epoch}\\n")
        for rank in range(4):  # the first epoch is a warm-up, in which another one is slow
            s = dice.gauss(10, .05) * (1.2 if rank == 2 and epoch > 1 else 9 if rank == 1 and epoch == 1 else 1)
            marks.write(f"{now} {rank} phase name=compute time_s={s} epoch={epoch}\\n")
        marks.write(f"{now + 10**7} 0 epoch-end epoch={epoch}\\n")
"""


def ranks_say_how_long_they_compute(bench):
    bench.write("ranks.py", RANKS)
    bench.run("sweep", "--axis", "workers=4", "--set", "campaign.repeats=4", "--set", "campaign.name=ranks", "--set", "launch.oversubscribe=yes", "--set",
              "measure.sensors=proc,cpu_model", "--", sys.executable, "ranks.py", "{repeat}", "{workers}")
    found = json.loads(bench.run("compare", "ranks", "--factor", "rank", "--json").stdout)
    table = next(q for q in found["quantities"] if q["quantity"] == "compute_within_run")
    check(found["runs"] == 4 and table["n_blocks"] == 4 and table["blocks"] == "runs", table)
    check([u["rank"] for u in table["units"] if u["p_holm"] < .05] == ["rank 2"], table)
    slow = next(u for u in table["units"] if u["rank"] == "rank 2")
    check(slow["ci95"][0] < 20 < slow["ci95"][1] and 15 < slow["percent"] < 25, slow)
    contains(bench.run("compare", "ranks", "--factor", "rank").stdout, "rank: 4 of them in 4 runs", "rank 2 computes", "longer than the other ranks in the same run")
    bench.run("sweep", "--axis", "workers=1", "--set", "campaign.name=silent", "--set", "campaign.repeats=1", "--", "true", "{workers}")
    contains(bench.run("compare", "silent", "--factor", "rank", status=1).stderr, "no rank said how long it computed", "phase name=compute")


def a_grid_of_a_command_needs_no_file(bench):
    bench.write("train.sh", "for e in 1 2; do echo \"epoch $e\"; done\necho \"got $1 [$2]\"\n")
    axes = ["--axis", "workers=1,2", "--axis", "lr=it's 1,0.2", "--epoch-regex", "epoch ([0-9]+)"]
    rest = ["--set", "campaign.repeats=1", "--set", "launch.oversubscribe=yes", "--", "sh", "train.sh", "{workers}", "{lr}"]
    said = bench.run("sweep", *axes, *rest).stdout
    contains(said, "4 of 4 runs of campaign train-sweep are done", "next: wattlaw recommend train-sweep/wattlaw.db")
    logs = sorted(bench.read("train-sweep", "runs", str(i), "log").splitlines()[-1] for i in range(1, 5))
    check(logs == ["got 1 [0.2]", "got 1 [it's 1]", "got 2 [0.2]", "got 2 [it's 1]"], logs)
    check(bench.rows("train-sweep/wattlaw.db", "SELECT DISTINCT workers, count(*) FROM observations WHERE epoch > 0 GROUP BY 1") == [(1, 4), (2, 4)])
    contains(bench.run("sweep", *axes, "--axis", "lr=it's 1,0.2,3", *rest).stdout, "6 of 6 runs")  # the last one counts, and it resumes
    # Without a worker count, settings are compared as they are, and the choice comes with its command.
    plain = bench.run("sweep", "--axis", "lr=1,it's 2", "--set", "campaign.name=plain", *rest[:2], "--", "sh", "train.sh", "1", "{lr}").stdout
    contains(plain, "2 of 2 runs of campaign plain are done")
    chosen = bench.run("recommend", "plain", "--minimize", "time").stdout
    check(re.match(r"Use lr (1|it's 2): the least expected time of 2 settings", chosen), chosen)
    check(re.search(r"  run it         wattlaw measure -- sh train.sh 1 (1|'it'\\''s 2')\n", chosen), chosen)
    contains(chosen, "the runs have no worker count, neither from an axis nor from marks: each counts as one whole")
    check(bench.rows("plain/wattlaw.db", "SELECT DISTINCT workers FROM observations") == [(None,)])
    wrong = ["--axis", "workers=1,2", "--epoch-regex", "Epoch ([0-9]+)", "--set", "campaign.name=wrong", *rest[:-1]]
    said = bench.run("sweep", *wrong, "1").stderr  # all runs miss the expression: said after the first
    check(said.count("warning campaign: run 1: --epoch-regex 'Epoch ([0-9]+)' matches no line of the output") == 1, said)
    check(said.count("matches no line") == 1, said)
    for options, why in ((["--axis", "workers", "--", "true"], "--axis workers: expected KEY=VALUES"),
                         (["--axis", "batch-size=1,2", "--", "true", "{batch-size}"], "a key has letters, digits and _: --axis batch_size=1,2, and {batch_size} in COMMAND"),
                         (["--axis", "rate=1,2", "--", "true", "{rte}"], "{rte} is not a placeholder; did you mean {rate}? A key of your own needs"),
                         (["--axis", "workers=0", "--", "true", "{workers}"], "--set sweep.workers=0: workers = 0: expected"),
                         (["--axis", "lr=1,2", "--", "true"], "{lr} does not occur"), (["--axis", "lr=1"], "--axis requires -- COMMAND"),
                         (["--epoch-regex", "x", "a.ini"], "--epoch-regex requires -- COMMAND"), (["a.ini", "--", "true"], "not both"),
                         ([], "experiment file is missing, or -- COMMAND")):
        r = bench.run("sweep", *options, status=None)
        check(r.returncode in (1, 2) and why in r.stderr, options, r)


main([a_dry_run_shows_and_does_nothing, a_grid_of_a_command_needs_no_file, ranks_say_how_long_they_compute, a_grid_becomes_observations, more_repeats_and_values_add_what_is_missing,
      another_command_needs_another_campaign, a_sweep_with_a_value_that_no_file_can_hold_resumes,
      ctrl_c_stops_the_job_and_the_next_call_resumes, a_signal_to_all_may_end_the_command_first, nohup_is_respected, a_second_ctrl_c_does_not_wait,
      a_failed_run_is_reported_and_does_not_stop_the_others, a_campaign_in_which_nothing_works_stops, a_run_that_takes_too_long_fails, invalid_marks_do_no_harm,
      numbers_that_no_store_holds_end_no_sweep, a_run_whose_numbers_cannot_be_stored_fails_and_the_sweep_goes_on,
      epochs_come_from_the_log, what_is_missing_is_reported_before_anything_starts, a_campaign_of_skipped_trials_fails,
      data_are_prepared_once_and_whole, user_axes_and_weak_scaling_reach_the_command,
      settings_that_the_command_does_not_get_are_unknown, a_trial_is_stored_under_the_same_key_in_any_order_of_axes,
      a_store_of_an_older_version_resumes, a_run_reports_carbon_cost_and_rules,
      one_sweep_per_campaign_at_a_time, a_removed_store_stops_the_campaign, a_read_only_folder_is_reported,
      a_full_disk_stops_the_sweep_and_loses_nothing, the_null_launcher_starts_nothing, a_dry_run_fails_where_the_sweep_would])
