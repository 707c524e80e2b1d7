"""Ranks of one node, each under `wattlaw measure`: one of them measures, each exits as its command does."""

import contextlib
import shutil
import sqlite3
import uuid

from harness import *

# A busy machine delays readings: a counter gives 100 W all the same, and at two readings per second half a second late is not a gap.
POWER = "t_s,device,quantity,value\n" + "".join(f"{t / 100},gpu0,energy_j,{t}\n" for t in range(40000))
REPLAY = ["--sensors", "replay,proc", "--replay-file", "power.csv", "--rate-hz", "2"]


def rank_env(bench, rank, ranks, job, **more):
    """What Open MPI's mpirun sets."""
    return {**bench.env, "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(ranks),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(rank), "OMPI_COMM_WORLD_LOCAL_SIZE": str(ranks), "PMIX_NAMESPACE": job,
            **more}


def start_ranks(bench, n, args, command, envs=None):
    """command(rank): the command of a rank."""
    job = str(uuid.uuid4())
    return [bench.start("measure", *args, "--", *command(rank), stdin=subprocess.DEVNULL,
                        env=rank_env(bench, rank, n, job, **(envs[rank] if envs else {}))) for rank in range(n)]


def ends(ranks):
    results = [(*p.communicate(timeout=PATIENCE_S), p.returncode) for p in ranks]
    return [r[2] for r in results], [r[1] for r in results], [r[0] for r in results]


def eight_ranks_are_one_run(bench):
    """The energy is that of one measurement, whether ranks start wattlaw or wattlaw starts ranks."""
    bench.write("power.csv", POWER)
    status, errors, _ = ends(start_ranks(bench, 8, REPLAY, lambda rank: ["toy", "epochs=2", "ms=800", "say=epoch"]))
    check(status == [0] * 8, status, errors)
    check(sum("wattlaw measure" in e for e in errors) == 1, errors)
    bench.run("measure", *REPLAY, "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do toy epochs=2 ms=800 & done; wait")
    runs = bench.rows("wattlaw.db", "SELECT status, energy_j, (stop_mono_ns - start_mono_ns) / 1e9 FROM run JOIN total "
                                    "ON total.run = run.id AND epoch = 0 ORDER BY id")
    check(len(runs) == 2 and all(r[0] == "done" for r in runs), runs)
    check(all(r[1] and abs(r[1] / (100 * r[2]) - 1) < 0.05 for r in runs), "100 W for the time of each:", runs)
    check(bench.rows("wattlaw.db", "SELECT count(DISTINCT rank) FROM mark WHERE run = 1") == [(8,)], "marks of all ranks")
    check(bench.rows("wattlaw.db", "SELECT count(*) FROM epoch WHERE run = 1") == [(2,)])
    cpu = bench.rows("wattlaw.db", "SELECT run, max(value) FROM channel JOIN sample ON channel = channel.id "
                                   "WHERE quantity = 'cpu_time_s' GROUP BY run")
    check(len(cpu) == 2, "the CPU time of all ranks is measured:", cpu)


def output_marks_carry_the_rank(bench):
    status, errors, _ = ends(start_ranks(bench, 3, ["--epoch-regex", "^epoch ([0-9]+)", "--quiet"],
                                         lambda rank: ["toy", "epochs=2", "ms=100", "say=epoch"]))
    check(status == [0] * 3, status, errors)
    check(bench.rows("wattlaw.db", "SELECT DISTINCT rank FROM mark WHERE word = 'epoch-end' ORDER BY 1") == [(0,), (1,), (2,)])


def each_rank_exits_as_its_command(bench):
    status, errors, _ = ends(start_ranks(bench, 3, ["--quiet"], lambda rank: ["sh", "-c", f"exit {rank * 5}"]))
    check(status == [0, 5, 10], status, errors)
    rows = bench.rows("wattlaw.db", "SELECT status, exit_status, error FROM run")
    check(len(rows) == 1 and rows[0][0] == "failed" and rows[0][1] in (5, 10), rows)
    status, errors, _ = ends(start_ranks(bench, 2, ["--quiet"], lambda rank: ["no-such-command-here"]))
    check(status == [127, 127], status, errors)


def another_rank_continues_the_run_of_a_killed_leader(bench):
    bench.write("power.csv", POWER)
    ranks = start_ranks(bench, 3, REPLAY, lambda rank: ["toy", "epochs=30", "ms=100", "wait=go"])

    def sampled():
        with contextlib.suppress(sqlite3.OperationalError):  # the tables are not there yet
            return bench.rows("wattlaw.db", "SELECT pid FROM run WHERE status = 'running' AND EXISTS (SELECT 1 FROM sample)")
        return []
    bench.wait_until("samples are stored", sampled)
    leader = sampled()[0][0]
    dead = next(i for i, p in enumerate(ranks) if p.pid == leader)
    os.kill(leader, signal.SIGKILL)
    bench.write("go", "")
    status, errors, _ = ends(ranks)
    check(status == [-signal.SIGKILL if i == dead else 0 for i in range(3)], status, errors)
    rows = bench.rows("wattlaw.db", "SELECT status, error, energy_j, coverage FROM run JOIN total ON total.run = run.id "
                                    "AND epoch = 0")
    check(len(rows) == 1 and rows[0][:2] == ("failed", f"rank {dead}: its wattlaw was killed"), rows, errors)
    check(bench.rows("wattlaw.db", "SELECT count(*) FROM log WHERE message LIKE 'the wattlaw of rank%died%'") == [(1,)])
    gap = bench.rows("wattlaw.db", "SELECT count(*) FROM sample JOIN channel ON channel = channel.id WHERE value IS NULL "
                                   "AND quantity = 'energy_j'")
    check(gap == [(1,)], "the gap is in the store:", gap)
    twice = bench.rows("wattlaw.db", "SELECT t_ns, rank, word, fields FROM mark GROUP BY 1, 2, 3, 4 HAVING count(*) > 1")
    check(not twice, "marks are stored once:", twice)
    check(bench.rows("wattlaw.db", "SELECT count(*) > 20 FROM mark WHERE word = 'epoch-end'") == [(1,)])


def a_job_that_calls_twice_makes_two_runs(bench):
    """Rank 0 may be at its second command before rank 1 is at its first."""
    job = str(uuid.uuid4())
    def both(rank):
        text = f"sleep {rank * 0.3}; {bench.wattlaw} measure --quiet -- sleep 0.2; {bench.wattlaw} measure --quiet -- true"
        return subprocess.Popen(["sh", "-c", text], cwd=bench.folder, env=rank_env(bench, rank, 2, job))
    ranks = [both(0), both(1)]
    check([p.wait(PATIENCE_S) for p in ranks] == [0, 0])
    check(bench.rows("wattlaw.db", "SELECT status FROM run") == [("done",), ("done",)])


def two_jobs_at_once_are_two_runs(bench):
    jobs = [start_ranks(bench, 2, ["--quiet"], lambda rank: ["sh", "-c", "while ! test -e go; do sleep 0.05; done"])
            for _ in range(2)]
    bench.wait_until("both are running", lambda: os.path.exists(bench.path("wattlaw.db")) and sum(
        c.startswith("sh -c while") for _, c in bench.processes()) == 4)
    time.sleep(1)  # several checks by each
    bench.write("go", "")
    check([ends(j)[0] for j in jobs] == [[0, 0]] * 2)
    check(bench.rows("wattlaw.db", "SELECT status FROM run") == [("done",), ("done",)])
    check(bench.rows("wattlaw.db", "SELECT count(DISTINCT run) FROM log WHERE message LIKE 'shared node: another run%'") ==
          [(2,)], "both note that they were not alone")


def a_nested_wattlaw_is_not_a_rank(bench):
    nested = f"{bench.wattlaw} measure --quiet --store nested-$OMPI_COMM_WORLD_RANK.db -- true"
    status, errors, _ = ends(start_ranks(bench, 2, ["--quiet"], lambda rank: ["sh", "-c", nested]))
    check(status == [0, 0], status, errors)
    for rank in (0, 1):
        check(bench.rows(f"nested-{rank}.db", "SELECT status FROM run") == [("done",)])


def ranks_meet_in_the_named_folder(bench):
    """In a folder that all of them see, but not in one where others may write."""
    status, errors, _ = ends(start_ranks(bench, 2, ["--quiet"], lambda rank: ["true"]))
    check(status == [0, 0] and bench.rows("wattlaw.db", "SELECT count(*) FROM run") == [(1,)], status, errors)
    folder = os.path.join(bench.node, f"wattlaw-{os.geteuid()}")
    check(os.listdir(bench.node) == [os.path.basename(folder)] and sorted(os.listdir(folder)) == ["lock", "measuring"],
          os.listdir(bench.node))
    open_to_all = bench.path("open")
    os.mkdir(open_to_all)
    os.chmod(open_to_all, 0o777)
    refusal = f"WATTLAW_NODE_DIR: {open_to_all}: others can write in it, and its sticky bit is not set"
    status, errors, _ = ends(start_ranks(bench, 2, [], lambda rank: ["true"], [{"WATTLAW_NODE_DIR": open_to_all}] * 2))
    check(status == [1, 1] and all(refusal in e for e in errors), status, errors)
    alone = bench.run("measure", "--", "true", env={**bench.env, "WATTLAW_NODE_DIR": open_to_all})
    contains(alone.stderr, "another run on this node would not be noticed: " + refusal)


def all_ranks_refuse_if_the_leader_does(bench):
    os.mkdir(bench.path("ro"))
    with read_only(bench.path("ro")):
        status, errors, _ = ends(start_ranks(bench, 3, ["--store", "ro/x.db"],
                                             lambda rank: ["toy", "touch=" + bench.path("ran")]))
    check(status == [1, 1, 1] and not os.path.exists(bench.path("ran")), status, errors)
    check(all("ro/x.db" in e for e in errors), errors)


def mpirun_and_measure_nest_either_way(bench):
    mpirun = shutil.which("mpirun")
    if not mpirun:
        raise Skip("mpirun is not installed")
    bench.write("power.csv", POWER)
    env = {**bench.env, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    inner = subprocess.run([mpirun, "-np", "4", bench.wattlaw, "measure", *REPLAY, "--", "toy", "epochs=1", "ms=500"],
                           cwd=bench.folder, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    check(inner.returncode == 0, inner.stderr)
    bench.run("measure", *REPLAY, "--", mpirun, "-np", "4", "toy", "epochs=1", "ms=500", env=env)
    epochs = bench.rows("wattlaw.db", "SELECT energy_j, time_s FROM observations ORDER BY run")
    check(len(epochs) == 2 and all(j and abs(j / (100 * s) - 1) < 0.05 for j, s in epochs), epochs)


main([eight_ranks_are_one_run, output_marks_carry_the_rank, each_rank_exits_as_its_command,
      another_rank_continues_the_run_of_a_killed_leader, a_job_that_calls_twice_makes_two_runs, two_jobs_at_once_are_two_runs,
      a_nested_wattlaw_is_not_a_rank, ranks_meet_in_the_named_folder, all_ranks_refuse_if_the_leader_does,
      mpirun_and_measure_nest_either_way])
