"""measure --stop-at: limits of energy, cost and time; and what else is kept of jobs."""

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
    contains(refused("--stop-at", "5USD", "--price", "0.2"), "--price is in EUR")
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


main([a_limit_of_energy_stops_the_job_and_is_forecast, a_cost_includes_the_pue, a_job_that_ignores_sigterm_is_killed_after_the_grace_time,
      a_job_that_ends_before_keeps_its_status, what_cannot_be_limited_is_refused_before_the_command_starts, the_slurm_job_is_kept])
