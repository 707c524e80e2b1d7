"""--stop-at of measure and sweep: limits of energy, cost and time; and what else is kept of jobs."""

import re

from harness import *

LIMIT = 124
# 100 W on one GPU for a minute, so that energies are exact.
POWER = "t_s,device,quantity,value\n" + "".join(f"{t / 10},gpu0,power_w,100\n" for t in range(601))
STEPS = ["--step-regex", "^step ([0-9]+)/([0-9]+)", "--step-fields", "step=1,total=2"]


def measure(bench, *args, status, command):
    bench.write("power.csv", POWER)
    r = bench.run("measure", "--sensors", "replay", "--replay-file", "power.csv", "--json-file", "s.json", *args, "--", *command, status=status)
    return r, json.loads(bench.read("s.json"))


def steps(bench, n, ms):
    bench.write("steps.py", "import sys, time\nfor i in range(1, int(sys.argv[1]) + 1):\n"
                "    time.sleep(int(sys.argv[2]) / 1e3)\n    print(f'step {i}/{sys.argv[1]}', flush=True)\n")
    return ["python3", "steps.py", str(n), str(ms)]


def a_limit_of_energy_stops_the_job_and_is_forecast(bench):
    r, s = measure(bench, "--stop-at", "0.5kJ,1h", *STEPS, status=LIMIT, command=steps(bench, 100, 100))
    energy, hour = s["stop_at"]
    check(s["status"] == "interrupted" and energy["reached"] and not hour["reached"], s)
    # the limit, and at most a tenth of a second and what a crowded machine adds
    check(500 <= energy["used"] < 900 and abs(energy["used"] - 100 * s["time_s"]) < 1, s)
    check(energy["simulated"] and energy["warned"] and not hour["warned"], s)
    check(energy["forecast"] > 900 and energy["forecast_lo"] <= energy["forecast"] <= energy["forecast_hi"], s)
    contains(r.stderr, "the job will reach its limit of 0.5kJ", "reached, the command was stopped", "of 100 steps done", "simulated")
    check(r.stderr.count("the job will reach") == 1, r.stderr)
    check(bench.rows("wattlaw.db", "SELECT status, stop_at FROM run") == [("interrupted", "0.5kJ, 1h")])
    (error,), = bench.rows("wattlaw.db", "SELECT error FROM run")
    contains(error, "stopped at its limit of 0.5kJ, after ", " of 100 steps")
    check(bench.rows("wattlaw.db", "SELECT count(*) FROM log WHERE area = 'limit'") == [(1,)])


def a_cost_includes_the_pue(bench):
    """100 W at PUE 2 and 36000 EUR/kWh are 2 EUR a second."""
    _, s = measure(bench, "--stop-at", "3EUR", "--price", "36000", "--pue", "2", status=LIMIT, command=["sleep", "60"])
    check(150 <= s["stop_at"][0]["used"] < 400 and s["stop_at"][0]["value"] == 150, s)


def a_job_that_ignores_sigterm_is_killed_after_the_grace_time(bench):
    r, s = measure(bench, "--stop-at", "0.5s", "--grace", "200ms", status=LIMIT, command=["toy", "deaf=1", "epochs=1", "ms=60000"])
    check(0.7 <= s["time_s"] < 30 and s["status"] == "interrupted", s)
    contains(r.stderr, "there is no forecast")


def a_job_that_ends_before_keeps_its_status(bench):
    r, s = measure(bench, "--stop-at", "10MJ", status=7, command=["toy", "epochs=1", "ms=20", "status=7"])
    check(s["status"] == "failed" and not s["stop_at"][0]["reached"], s)
    contains(r.stderr, "10MJ: not reached")


def what_cannot_be_limited_is_refused_before_the_command_starts(bench):
    def refused(*args, status=2):
        r = bench.run("measure", *args, "--", "touch", "ran", status=status)
        check(not os.path.exists(bench.path("ran")), args)
        return r.stderr

    for text in "5parsecs", "3", "-3h", "0J", "1e400kWh", "kWh":
        contains(refused(f"--stop-at={text}"), f"--stop-at '{text}': expected a positive number with a unit")
    contains(refused("--stop-at", "5EUR"), "requires --price")
    contains(refused("--stop-at", "5USD", "--price", "0.2"), "the price is in EUR")
    contains(refused("--stop-at", "9" * 308 + "EUR", "--price", "0.2"), "expected a positive number with a unit")
    contains(refused("--stop-at", "5J", "--sensors", "null", status=1), "nothing measures energy")
    ranks = {**bench.env, "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0",
             "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    r = bench.run("measure", "--stop-at", "1h", "--", "touch", "ran", status=2, env=ranks)
    contains(r.stderr, "put wattlaw before its launcher")
    check(not os.path.exists(bench.path("ran")))


def the_slurm_job_is_kept(bench):
    slurm = {"SLURM_JOB_ID": "4711", "SLURM_JOB_ACCOUNT": "physics", "SLURM_JOB_PARTITION": "gpu", "SLURM_CLUSTER_NAME": "lab"}
    bench.run("measure", "--quiet", "--", "true", env={**bench.env, **slurm})
    contains(bench.run("show", "--run", "1").stdout, "slurm job 4711, account physics, partition gpu, cluster lab")
    shown = json.loads(bench.run("show", "--run", "1", "--json").stdout)
    check(shown["slurm_job"] == {"id": "4711", "account": "physics", "partition": "gpu", "cluster": "lab"}, shown)
    bench.run("measure", "--quiet", "--", "true", env={k: v for k, v in bench.env.items() if not k.startswith("SLURM_")})
    check("slurm_job" not in json.loads(bench.run("show", "--run", "2", "--json").stdout))


def sum_of_two_jobs(bench, options, imports, step, saved):
    """Steps 1 to 5 and then 4 to 9 of a training of 9 steps, 4 samples and 40 tokens each: the first job fails two steps after its checkpoint,
    the second one finishes. `step`, `saved`: how the program reports them."""
    bench.write("train.py", f"import sys, time\n{imports}\nfor i in range(int(sys.argv[1]), int(sys.argv[2]) + 1):\n    time.sleep(.08)\n"
                f"    {step}\n    if i == 3: {saved}\nsys.exit(int(sys.argv[3]))\n")
    _, first = measure(bench, "--training", "gpt", *options, status=1, command=["python3", "train.py", "1", "5", "1"])
    shown, last = measure(bench, "--training", "gpt", *options, status=0, command=["python3", "train.py", "4", "9", "0"])
    bench.run("measure", "--quiet", "--", "true")  # of no training
    t = json.loads(bench.run("show", "--training", "gpt", "--json").stdout)
    check(t["jobs"] == 2 and t["done"] == 1 and t["failed"] == 1 and t["energy_complete"] and t["simulated"], t)
    check(abs(t["energy_j"] / (100 * t["time_s"]) - 1) < 1e-3 and t["time_s"] < t["first_to_last_s"] + 1e-3, t)
    check(abs(t["lost_j"] / (100 * t["lost_s"]) - 1) < 0.01 and 0.15 < t["lost_s"] < t["time_s"] - last["time_s"], t)
    check(t["steps"] == 4 + 5 and t["samples"] == 36 and t["tokens"] == 360, t)
    check(t["runs"][1]["lost_j"] == 0, t)
    # the part between the first and the last step mark, at 100 W
    steps, = (span for span in last["spans"] if span["kind"] == "steps")
    check(steps["tokens"] == 200 and steps["samples"] == 20 and abs(steps["energy_j"] / (100 * steps["time_s"]) - 1) < 0.01, steps)
    unsaved, = (span for span in first["spans"] if span["kind"] == "unsaved")
    check(unsaved["steps"] == 2 and unsaved["tokens"] == 80 and unsaved["energy_j"] == t["lost_j"], unsaved, t)
    check(abs(per_token(shown.stderr) / (steps["energy_j"] / 200) - 1) < 0.01, steps, shown.stderr)
    contains(bench.run("show", "--training", "gpt").stdout, "training gpt: 2 jobs, 1 done, 1 failed", "lost", "1 job that did not end well")
    contains(bench.run("show", "--run", "1").stdout, "training  gpt", "2 steps in ")


def per_token(text):
    """J per token, of the line that has it per 10^9."""
    value, prefix = re.search(r"; ([0-9.]+) ([kMG]?)J \(?.*per 10\^9 tokens", text).groups()
    return float(value) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[prefix] / 1e9


def a_training_is_the_sum_of_its_jobs(bench):
    sum_of_two_jobs(bench, [*STEPS, "--samples-per-step", "4", "--tokens-per-sample", "10", "--checkpoint-regex", "^saved ([0-9]+)"], "",
                    "print(f'step {i}/9', flush=True)", "print('saved 3', flush=True)")
    contains(bench.run("show", "--training", "gtp", status=1).stderr, "did you mean gpt?")
    contains(bench.run("show", "--training", "gpt", "--run", "1", status=2).stderr, "--training excludes")


def a_training_with_marks_of_python_is_the_same(bench):
    bench.env["PYTHONPATH"] = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3, "python")
    sum_of_two_jobs(bench, [], "from wattlaw import *", "step(i, samples=4, tokens=40, loss=1 / i, total=9)", "checkpoint(3)")
    marks = bench.rows("wattlaw.db", "SELECT fields FROM mark WHERE run = 1 AND word IN ('step', 'checkpoint') ORDER BY t_ns")
    check(marks[2:4] == [("step=3 samples=4 loss=0.333333333 tokens=40 total=9",), ("step=3",)], marks)


def a_loss_is_unknown_without_checkpoints(bench):
    contains(bench.run("measure", "--training", "", "--", "true", status=2).stderr, "--training: the name is empty")
    bench.run("measure", "--quiet", "--training", "t", "--", "false", status=1)
    contains(bench.run("show", "--training", "t").stdout, "lost      unknown: no job marked a checkpoint")
    check(json.loads(bench.run("show", "--training", "t", "--json").stdout)["lost_j"] is None)


def a_campaign_has_one_budget(bench):
    """100 W, three runs of about .4 s: at .15 s the first one is stopped, then it is repeated, then all go on."""
    bench.write("power.csv", POWER)
    bench.write("c.ini", "[campaign]\nname = c\nrepeats = 3\nstore = c.db\n[sweep]\nworkers = 1\n[measure]\nsensors = replay\n"
                "replay_file = power.csv\n[launch]\ncommand = toy epochs=2 ms=200\n")
    r = bench.run("sweep", "c.ini", "--stop-at", "0.15s", "--json", status=LIMIT)
    contains(r.stderr, "stopped at its limit of 0.15s", "0 of 3 runs are done", "a larger --stop-at goes on")
    first, = json.loads(r.stdout)["stop_at"]
    check(first["reached"] and 0.15 <= first["used"], first)
    check(bench.rows("c.db", "SELECT status FROM run ORDER BY id")[0] == ("interrupted",))
    # one run more leaves less than another one takes: that is not begun
    most = first["used"] + 0.6
    r = bench.run("sweep", "c.ini", "--stop-at", f"{most:.3f}s", "--json", status=LIMIT)
    contains(r.stderr, "stopped at its limit of")
    second, = json.loads(r.stdout)["stop_at"]
    done = json.loads(r.stdout)["done"]
    check(second["used"] > first["used"] + 0.3 and done <= 1, first, second)
    if done:  # unless the machine was so busy that the run itself was stopped
        contains(r.stderr, "the next run takes about", f"{done} of 3 runs are done")
        check(second["used"] < most < second["forecast"], second)
    r = bench.run("sweep", "c.ini", "--stop-at", "1MJ,1h", "--json")
    check(json.loads(r.stdout)["done"] == 3 and not any(v["reached"] or v["warned"] for v in json.loads(r.stdout)["stop_at"]), r.stdout)
    (joules,), = bench.rows("c.db", "SELECT sum(energy_j) FROM energy WHERE epoch IS NULL AND chosen")
    used = json.loads(r.stdout)["stop_at"][0]
    check(abs(used["used"] / joules - 1) < 1e-6 and used["simulated"], used, joules)
    contains(bench.run("sweep", "c.ini", "--stop-at", "5EUR", status=2).stderr, "--stop-at '5EUR' requires the key price of [measure]")


def a_campaign_has_one_budget_of_money(bench):
    """With a price and a PUE that make 100 W cost 2 EUR a second; the carbon of the site changes nothing."""
    def sweep(repeats, limit, status=0):
        r = bench.run("sweep", "c.ini", "--set", f"campaign.repeats={repeats}", "--stop-at", limit, "--json", status=status)
        state, = json.loads(r.stdout)["stop_at"]
        return r.stderr, state, json.loads(r.stdout)["done"]

    bench.write("power.csv", POWER)
    bench.write("c.ini", "[campaign]\nname = c\nstore = c.db\n[sweep]\nworkers = 1\n[measure]\nsensors = replay\nreplay_file = power.csv\n"
                "price = 36000\ncurrency = EUR\npue = 2\ncarbon = 400\ncarbon_source = a test\n[launch]\ncommand = toy epochs=1 ms=100\n")
    _, first, done = sweep(1, "1000EUR")
    (joules,), = bench.rows("c.db", "SELECT sum(energy_j) FROM energy WHERE epoch IS NULL AND chosen")
    check(done == 1 and abs(first["used"] / joules - 1) < 1e-6 and first["simulated"] and first["value"] == 50000, first, joules)
    # one and a half runs: a second one is not begun
    euro = joules / 50
    said, second, done = sweep(2, f"{1.5 * euro:.6f}EUR", status=LIMIT)
    used, expected = map(float, re.search(r"([0-9.]+) EUR[^,]* are used, and the next run takes about ([0-9.]+) EUR", said).groups())
    check(done == 1 and abs(used / euro - 1) < 0.01 and abs(expected / euro - 1) < 0.01, said, euro)
    check(second["reached"] and second["used"] == first["used"] and second["forecast"] == 2 * first["used"], first, second)
    check(bench.rows("c.db", "SELECT count(*) FROM run WHERE start_wall_ns IS NOT NULL") == [(1,)])
    contains(bench.run("sweep", "c.ini", "--stop-at", "5USD", status=2).stderr, "the price is in EUR", "or --set measure.currency=USD")


main([a_campaign_has_one_budget, a_campaign_has_one_budget_of_money, a_training_is_the_sum_of_its_jobs, a_training_with_marks_of_python_is_the_same, a_loss_is_unknown_without_checkpoints, a_limit_of_energy_stops_the_job_and_is_forecast, a_cost_includes_the_pue, a_job_that_ignores_sigterm_is_killed_after_the_grace_time,
      a_job_that_ends_before_keeps_its_status, what_cannot_be_limited_is_refused_before_the_command_starts, the_slurm_job_is_kept])
