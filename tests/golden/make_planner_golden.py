#!/usr/bin/env python3
"""Writes planner_values.csv: time and energy of random jobs by the formulas of docs/adr/119, in plain Python.

    python3 tests/golden/make_planner_golden.py

Written from the formulas, not from src/planner: it shares no code and no structure with it. Needs Python alone.
"""
import csv
import math
import os
import random
from statistics import NormalDist

random.seed(119)
apart = random.Random(2104)  # so that the other numbers stay
HERE = os.path.dirname(os.path.abspath(__file__))


def log_uniform(low, high):
    return math.exp(random.uniform(math.log(low), math.log(high)))


def draw():
    clock = random.uniform(900, 2000)
    idle = random.uniform(20, 80)
    highest = random.uniform(200, 700)
    limited = random.choice(["none", "cap", "clock", "both"])
    return {
        "workers": random.choice([1, 2, 3, 8, 17, 64, 416, 5000, 100000]), "per_node": random.choice([1, 2, 4, 8]),
        "collective": random.choice(["best", "ring", "tree", "hierarchical"]), "latency_s": log_uniform(1e-6, 1e-4),
        "network_gb_s": log_uniform(.5, 100), "node_gb_s": log_uniform(2, 400), "straggler_cv": random.uniform(0, .2),
        "input_exponent": random.uniform(1, 6), "storage_gb_s": log_uniform(.1, 50), "node_input_gb_s": log_uniform(.05, 20),
        "idle_w": idle, "max_w": highest, "power_exponent": random.uniform(1, 3.2), "spin_share": random.uniform(0, 1),
        "host_w": random.uniform(100, 800), "network_w": random.uniform(0, 100), "clock_mhz": clock,
        "lowest_mhz": random.uniform(.1, .5) * clock, "epoch_overhead_s": random.uniform(0, 20),
        "negotiation_s": random.choice([0, log_uniform(1e-7, 1e-4)]), "bucket_mb": log_uniform(1, 100),
        "samples": math.floor(log_uniform(1e3, 1e7)), "local_batch": random.choice([1, 8, 32, 128, 256]),
        "accumulation": random.choice([1, 1, 2, 5]), "drop_last": random.choice([0, 1]), "step_time_s": log_uniform(1e-3, 2),
        "step_batch": random.choice([8, 32, 256]), "parameters": log_uniform(1e5, 1e10), "gradient_bytes": random.choice([2, 4]),
        "tensors": random.choice([10, 161, 400]), "sample_kb": log_uniform(1, 1000), "memory_share": random.uniform(0, .9),
        "load": random.uniform(.2, 1), "validation_samples": random.choice([0, 5000, 1e6]),
        "checkpoint_gb": random.choice([0, 1.5]), "sharding": random.choice(["none", "none", "full"]),
        "cap_w": random.uniform(.1, 1.1) * highest if limited in ("cap", "both") else "",
        "lock_mhz": random.uniform(.05, 1.1) * clock if limited in ("clock", "both") else "",
    }


def draw_parallel(n):
    """Half of the jobs are data-parallel alone; of the others some split each network over tensor x stages workers."""
    tensor = apart.choice([t for t in (1, 2, 4, 8) if n % t == 0])
    stages = apart.choice([q for q in (1, 2, 5, 16) if n % (tensor * q) == 0])
    if apart.random() < .5:
        tensor = stages = 1
    return {"tensor_parallel": tensor, "pipeline_stages": stages, "pipeline_chunks": apart.choice([1, 1, 2, 3]),
            "layers": apart.choice([48, 80, 96]), "activation_mb": math.exp(apart.uniform(math.log(.01), math.log(100)))}


def clock_of(j):
    """Relative clock, and whether cap and lock can be enforced."""
    wanted, good = 1.0, True
    dynamic = j["load"] * (j["max_w"] - j["idle_w"])
    if j["lock_mhz"] != "":
        wanted = min(1.0, j["lock_mhz"] / j["clock_mhz"])
        good = j["lock_mhz"] <= j["clock_mhz"]
    if j["cap_w"] != "":
        room = min(j["cap_w"], j["idle_w"] + dynamic) - j["idle_w"]
        wanted = min(wanted, (max(room, 0) / dynamic) ** (1 / j["power_exponent"]))
        good = good and j["cap_w"] <= j["max_w"]
    floor = j["lowest_mhz"] / j["clock_mhz"]
    return (wanted, good) if wanted >= floor else (floor, False)


def all_reduce(j, n, size, g=None, sharing=1):
    """Over n of which g are in each node; `sharing` such groups use a node's link at the same time."""
    if n == 1:
        return 0.0
    g, a = g or j["per_node"], j["latency_s"]
    inside, between = j["node_gb_s"] * 1e9, j["network_gb_s"] * 1e9 / sharing
    slow = inside if n <= g else between if g == 1 else min(inside, between)
    ring = 2 * (n - 1) * a + 2 * (n - 1) / n * size / slow
    tree = 2 * math.ceil(math.log2(n)) * a + 2 * size / slow
    local, nodes = min(n, g), math.ceil(n / g)
    parts = 2 * (local - 1) * a + 2 * (local - 1) / local * size / inside
    parts += 2 * (nodes - 1) * a + 2 * (nodes - 1) / nodes * size / between
    return {"ring": ring, "tree": tree, "hierarchical": parts, "best": min(ring, tree, parts)}[j["collective"]]


def evaluate(j):
    n, b, k = j["workers"], j["local_batch"], j["accumulation"]
    split = j["tensor_parallel"] * j["pipeline_stages"]
    copies = n // split
    phi, enforceable = clock_of(j)
    micro = j["step_time_s"] * b / j["step_batch"] * (j["memory_share"] + (1 - j["memory_share"]) / phi) / split
    exact = j["samples"] / (b * k * copies)
    steps = max(1, math.floor(exact) if j["drop_last"] else math.ceil(exact))
    slowest = 1 + (j["straggler_cv"] * NormalDist().inv_cdf((n - .375) / (n + .25)) if n > 1 else 0)
    sent = b * j["activation_mb"] * 1e6
    in_layers = 4 * j["layers"] / j["pipeline_stages"] * all_reduce(j, j["tensor_parallel"], sent) if j["tensor_parallel"] > 1 else 0
    pipeline = 0
    if j["pipeline_stages"] > 1:
        if split <= j["per_node"]:
            hop = j["latency_s"] + sent / j["tensor_parallel"] / (j["node_gb_s"] * 1e9)
        else:
            hop = j["latency_s"] + sent * max(1, j["per_node"] / j["tensor_parallel"]) / (j["network_gb_s"] * 1e9)
        idle = j["pipeline_stages"] - 1
        pipeline = idle / j["pipeline_chunks"] * (micro + in_layers) + 2 * (k * j["pipeline_chunks"] + idle) * hop
    compute = k * micro * slowest + k * in_layers + pipeline
    read = b * k * j["sample_kb"] * 1e3
    of_a_node = min(copies, max(1, j["per_node"] / split))
    feed = max(read * copies / (j["storage_gb_s"] * 1e9), read * of_a_node / (j["node_input_gb_s"] * 1e9))
    p = j["input_exponent"]
    together = math.exp(math.log(max(compute, feed)) + math.log1p((min(compute, feed) / max(compute, feed)) ** p) / p)
    size = j["parameters"] * j["gradient_bytes"] / split
    buckets = max(1, math.ceil(size / (j["bucket_mb"] * 1e6)))
    mine = max(1, j["per_node"] // split)
    one = all_reduce(j, copies, size / buckets, mine, j["per_node"] / mine)
    hidden = (micro + in_layers) * 2 / 3
    if j["sharding"] == "full":
        one, hidden = 1.5 * one, micro + in_layers
    exposed = max(one, buckets * one - hidden * (buckets - 1) / buckets) if copies > 1 else 0
    coordinate = j["negotiation_s"] * copies * j["tensors"] / j["pipeline_stages"] if copies > 1 else 0
    step = together + exposed + coordinate
    validate = math.ceil(j["validation_samples"] / (b * copies)) * micro / 3
    overhead = j["epoch_overhead_s"] + validate + j["checkpoint_gb"] / j["storage_gb_s"]
    epoch = steps * step + overhead
    busy = steps * k * micro + validate
    waiting = steps * (compute - k * micro + exposed + coordinate)
    dynamic = j["load"] * (j["max_w"] - j["idle_w"]) * phi ** j["power_exponent"]
    nodes = math.ceil(n / j["per_node"])
    energy = n * (j["idle_w"] * epoch + dynamic * (busy + j["spin_share"] * waiting))
    energy += nodes * (j["host_w"] + j["network_w"]) * epoch
    return {"phi": phi, "enforceable": int(enforceable), "steps": steps, "step_s": step, "exposed_s": exposed,
            "pipeline_s": pipeline, "tensor_s": k * in_layers,
            "epoch_s": epoch, "energy_j": energy, "power_w": energy / epoch / n}


rows = []
for _ in range(120):
    job = draw()
    job.update(draw_parallel(job["workers"]))
    rows.append({**job, **{"want_" + k: v for k, v in evaluate(job).items()}})
with open(os.path.join(HERE, "planner_values.csv"), "w", newline="") as f:
    writer = csv.DictWriter(f, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: repr(v) if isinstance(v, float) else v for k, v in row.items()})
