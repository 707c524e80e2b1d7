"""Several nodes on one machine: each measures itself into a shard, and the shards become one run."""

import uuid

from harness import *

# 100 W on one node, 200 W on the other. A busy machine delays readings: counters are correct all the same, and at two readings per
# second half a second late is not a gap.
def power(watts):
    return "t_s,device,quantity,value\n" + "".join(f"{t / 100},gpu0,energy_j,{watts * t / 100}\n" for t in range(40000))


def start_nodes(bench, nodes, ranks, command, *options):
    """ranks wattlaws on each of the nodes, as `mpirun --map-by ppr:ranks:node` starts them."""
    job, started = str(uuid.uuid4()), []
    for node in range(nodes):
        for local in range(ranks):
            env = {**bench.env, "WATTLAW_HOST": f"n{node}", "PMIX_NAMESPACE": job, "NODE": str(node),
                   "WATTLAW_STATE_DIR": f"{bench.env['WATTLAW_STATE_DIR']}-{node}",
                   "OMPI_COMM_WORLD_RANK": str(node * ranks + local), "OMPI_COMM_WORLD_SIZE": str(nodes * ranks),
                   "OMPI_COMM_WORLD_LOCAL_RANK": str(local), "OMPI_COMM_WORLD_LOCAL_SIZE": str(ranks)}
            started.append(bench.start("measure", "--sensors", "replay", "--replay-file", f"{node}.csv", "--rate-hz", "2",
                                       *options, "--", *command(node), env=env))
    return started


def ends(started):
    results = [(*p.communicate(timeout=PATIENCE_S), p.returncode) for p in started]
    return [r[2] for r in results], [r[1] for r in results]


def two_nodes_are_one_run(bench):
    bench.write("0.csv", power(100))
    bench.write("1.csv", power(200))
    status, errors = ends(start_nodes(bench, 2, 2, lambda node: ["toy", "epochs=2", "ms=500"]))
    check(status == [0] * 4, status, errors)
    check(sum("merged       run 1" in e and "2 nodes" in e for e in errors) == 1, errors)
    rows = bench.rows("wattlaw.db", "SELECT status, host, energy_j, (stop_mono_ns - start_mono_ns) / 1e9 FROM run JOIN total "
                                    "ON total.run = run.id AND epoch = 0")
    check(len(rows) == 1 and rows[0][:2] == ("done", "n0"), rows)
    check(rows[0][2] and abs(rows[0][2] / (300 * rows[0][3]) - 1) < 0.05, "100 W and 200 W:", rows)
    check(bench.rows("wattlaw.db", "SELECT host FROM device ORDER BY host") == [("n0",), ("n1",)])
    check(bench.rows("wattlaw.db", "SELECT count(DISTINCT rank), count(*) - count(DISTINCT rank || ' ' || t_ns || word || fields) FROM mark")
          == [(4, 0)], "marks of all ranks, each once")
    check(bench.rows("wattlaw.db", "SELECT nodes, workload FROM setting") == [(2, "toy")])
    stamps = bench.rows("wattlaw.db", "SELECT host, first, shift_ns, drift_s, stop_mono_ns - start_mono_ns > 4e8, "
                                      "stop_wall_ns - start_wall_ns > 4e8 FROM node ORDER BY host")
    check(stamps == [("n0", 1, 0, 0.0, 1, 1), ("n1", 0, 0, 0.0, 1, 1)], "one boot, one clock:", stamps)
    epochs = bench.rows("wattlaw.db", "SELECT energy_j, time_s FROM observations")
    check(len(epochs) == 2 and all(j and abs(j / (300 * s) - 1) < 0.1 for j, s in epochs), epochs)


def shards_can_be_merged_by_hand(bench):
    bench.write("0.csv", power(100))
    bench.write("1.csv", power(200))
    status, errors = ends(start_nodes(bench, 2, 1, lambda node: ["sh", "-c", f"sleep 0.5; exit {node * 3}"],
                                      "--merge-wait", "0s", "--quiet"))
    check(status == [0, 3], status, errors)
    shards = sorted(os.path.join(folder, name) for folder, _, names in os.walk(bench.path("wattlaw-shards"))
                    for name in names if name.endswith(".db"))
    check([os.path.basename(s) for s in shards] == ["n0.1-of-2.db", "n1.1-of-2.db"], shards)
    r = bench.run("merge", "--store", "all.db", *reversed(shards))
    contains(r.stdout, "run 1 in all.db: 2 nodes")
    rows = bench.rows("all.db", "SELECT status, error, exit_status FROM run")
    check(rows == [("failed", "n1: exit status 3", 3)], rows)
    contains(bench.run("merge", shards[0], shards[0], status=1).stderr, "are from the same node, n0")
    contains(bench.run("merge", "all.csv", status=1).stderr, "all.csv")
    contains(bench.run("merge", status=2).stderr, "expected the STOREs of the nodes")


def a_merged_run_keeps_every_cap(bench):
    caps = {"power_cap_w": 250, "module_cap_w": 600, "clock_mhz": 900, "mem_clock_mhz": 810}
    options = [word for name, value in caps.items() for word in ("--" + name.replace("_", "-"), str(value))]
    bench.write("0.csv", power(100))
    bench.write("1.csv", power(200))
    status, errors = ends(start_nodes(bench, 2, 1, lambda node: ["sleep", "0.5"], "--cap-setter", "null", *options))
    check(status == [0, 0], status, errors)
    columns = ", ".join(caps)
    for table in ("trial", "setting"):
        rows = bench.rows("wattlaw.db", f"SELECT {columns} FROM {table}")
        check(rows == [tuple(caps.values())], table, rows)
    kinds = bench.rows("wattlaw.db", "SELECT kind, requested, count(*) FROM cap GROUP BY kind ORDER BY kind")
    check(kinds == [(name, value, 2) for name, value in sorted(caps.items())], "a row of each node:", kinds)


def a_campaign_adds_up_its_nodes(bench):
    """One run of 100 W and 200 W on two nodes; at a limit of one and a half of it a second one is not begun."""
    launch = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "cap", "launch.py")
    for node, watts in enumerate((100, 200)):
        bench.write(f"{node}.csv", power(watts))
        bench.write(f"{node}.env", f"WATTLAW_STATE_DIR={bench.env['WATTLAW_STATE_DIR']}-{node}\n")
    bench.env["LAUNCH_NODES"] = bench.folder
    bench.write("c.ini", "[campaign]\nname = c\nstore = c.db\n[sweep]\nnodes = 2\nworkers = 2\n[measure]\nsensors = replay\n"
                f"replay_file = {bench.folder}/@NODE@.csv\nrate_hz = 2\n[launch]\noversubscribe = yes\n"
                f"command = {sys.executable} {launch} {{nodes}} 1 {{measure}} toy epochs=1 ms=300\n")

    def sweep(repeats, limit, status):
        r = bench.run("sweep", "c.ini", "--set", f"campaign.repeats={repeats}", "--stop-at", limit, "--json", status=status)
        state, = json.loads(r.stdout)["stop_at"]
        return state, json.loads(r.stdout)["done"]

    first, done = sweep(1, "1MJ", 0)
    (seconds,), = bench.rows("c.db", "SELECT (stop_mono_ns - start_mono_ns) / 1e9 FROM run")
    check(done == 1 and abs(first["used"] / (300 * seconds) - 1) < 0.05, "100 W and 200 W:", first, seconds)
    second, done = sweep(2, f"{1.5 * first['used']:.3f}J", 124)
    check(done == 1 and second["reached"] and second["used"] == first["used"], first, second)
    check(bench.rows("c.db", "SELECT count(*) FROM run WHERE start_mono_ns IS NOT NULL") == [(1,)])


main([a_campaign_adds_up_its_nodes, two_nodes_are_one_run, shards_can_be_merged_by_hand, a_merged_run_keeps_every_cap])
