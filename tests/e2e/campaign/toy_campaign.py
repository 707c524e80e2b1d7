"""The campaign of toys that several tests run, and the states of its runs."""

BASIC = """
[campaign]
name = toy
repeats = 2
[sweep]
workload = toy
workers = 1,2
local_batch = 8,16
[measure]
sensors = proc,cpu_model
[launch]
command = toy epochs=2 ms=20 workers={workers} fail_if={local_batch}:none
oversubscribe = yes
grace = 200ms
"""


def states(bench, store="toy/wattlaw.db"):
    return dict(bench.rows(store, "SELECT status, count(*) FROM run GROUP BY status"))
