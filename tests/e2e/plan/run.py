#!/usr/bin/env python3
"""wattlaw plan as a user meets it: run.py SOURCE WATTLAW [WATTLAW_TRAIN]

Numbers are recomputed from the JSON or from what was planted; messages must name file, line, value and what was expected.
"""
import csv
import json
import math
import os
import re
import resource
import subprocess
import sys

SOURCE, WATTLAW, *TRAIN = (os.path.abspath(p) for p in sys.argv[1:])
FREY = os.path.join(SOURCE, "examples", "frey2022", "plan.ini")
LAB = """[plan]
workers = 1,2,4,8
[machine old]
network_bandwidth = 5
node_bandwidth = 20
devices_per_node = 2
idle_power = 50
max_power = 300
clock = 1400
host_power = 100
worker_hour_price = 2
[workload net]
samples = 100000
local_batch = 50
step_time = 100ms
parameters = 20e6
flops = 10
dtype = bf16
"""
failed = 0


def check(what, holds, text=""):
    global failed
    if not holds:
        failed += 1
        print(f"FAILED: {what}\n{text}")


def close(a, b, tolerance=1e-9):
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12)


def run(*args):
    return subprocess.run([WATTLAW, *args], capture_output=True, text=True, check=False)


def plan(text, *options, name="lab.ini"):
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)
    return run("plan", name, *options)


def answer(text, *options):
    done = plan(text, "--json", *options)
    check(f"plan {options} succeeds", done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def points(j, workload=0, machine=0):
    return j["machines"][machine]["workloads"][workload]["points"]


def exponents_and_identity():
    done = run("plan", FREY)
    check("the six networks are planned", done.returncode == 0 and done.stdout.count("published 0.") == 6, done.stderr)
    check("estimates say so", done.stdout.count("(estimated)") >= 12 and "not calibrated" in done.stdout, done.stdout)
    check("the identity is printed", done.stdout.count("workers x 208 / speed-up") == 5, done.stdout)
    j = json.loads(run("plan", FREY, "--json").stdout)
    for w in j["machines"][0]["workloads"]:
        check(f"{w['workload']}: exponent", abs(w["exponent"] - w["reference_exponent"]) < .2, str(w["exponent"]))
        first = w["points"][0]
        for p in w["points"]:
            ratio = p["workers"] / first["workers"] / (first["time_s"] / p["time_s"]) * (p["power_w"] / first["power_w"])
            check("energy ratio = workers ratio / speed-up x power ratio", close(ratio, p["energy_j"] / first["energy_j"]))
            check("and the printed difference is that", abs(p["identity_difference"]) < 1e-12)
            parts = sum(v for k, v in p["parts"].items() if k != "step_s")
            check("parts of a step", close(parts, p["parts"]["step_s"]))
            check("steps and overhead", close(p["steps"] * p["parts"]["step_s"] + p["overhead_s"], p["time_s"]))
            for key in ("time", "energy", "power"):
                low, high = p[f"{key}_interval95"]
                value = p[{"time": "time_s", "energy": "energy_j", "power": "power_w"}[key]]
                check(f"{key} in its interval", low < value < high, str(p))
    numbers = j["machines"][0]["card"]["numbers"]
    check("every number of the card has a source", all(n["source"] for n in numbers.values()), str(numbers))
    check("bands repeat", j == json.loads(run("plan", FREY, "--json").stdout))


def at_and_scale():
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    counts = [min(2 ** i, 100000) for i in range(18)]
    j = json.loads(run("plan", FREY, "--json", "--at", "workers=" + ",".join(map(str, counts))).stdout)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    check("--at replaces the worker counts", [p["workers"] for p in points(j)] == counts)
    check("100,000 workers in a second", spent < 1, f"{spent} s")
    text = LAB.replace("workers = 1,2,4,8", "workers = 8,2,8,4000,1")
    check("worker counts in order, each once", [p["workers"] for p in points(answer(text))] == [1, 2, 8, 4000])
    check("--at in order, each once", [p["workers"] for p in points(answer(text, "--at", "workers=9,3,9"))] == [3, 9])
    note = "net: from 4000 workers on the global batch (200000) is more than the 100000 samples of an epoch: one step, in part padding"
    done = plan(text)
    check("a batch beyond the data", note in done.stdout and note in answer(text)["notes"] and not answer(LAB)["notes"], done.stdout)
    check("the summary is of the largest count", "  at 4000" in done.stdout and "training   4000 workers" in done.stdout, done.stdout)
    one = plan(LAB.replace("workers = 1,2,4,8", "workers = 1").replace("samples = 100000", "samples = 40")).stdout
    check("one step, one worker", re.search(r"at 1 +1 step of ", one) and "training   1 worker, " in one and "1 steps" not in one, one)
    check("more nodes than there are", not points(j)[17]["fits"] and points(j)[0]["fits"])


def caps_and_clocks():
    j = answer(LAB.replace("[machine", "power_caps = 60,150\nclocks = 700\n[machine", 1))
    settings = [(p["power_cap_w"], p["clock_mhz"]) for p in points(j)]
    check("settings", settings == [(None, None)] * 4 + [(60, None)] * 4 + [(150, None)] * 4 + [(None, 700)] * 4, str(settings))
    free, capped, locked = points(j)[0], points(j)[8], points(j)[12]
    check("a cap slows down and saves", capped["time_s"] > free["time_s"] and capped["power_w"] < free["power_w"])
    done = plan(LAB.replace("[machine", "power_caps = 40,400\nclocks = 700,2000\n[machine", 1))
    rows = [line for line in done.stdout.splitlines() if "cap" in line or "clock" in line]
    check("what a device cannot do", len(rows) == 16 and all(("not enforceable" in r) == ("clock 700" not in r) for r in rows), done.stdout)
    check("an unknown time is not a number", not re.search(r"\bnan|inf\b", done.stdout) and done.returncode == 0, done.stdout)
    check("half the clock: mu + (1 - mu) 2", close(locked["parts"]["device_s"] / free["parts"]["device_s"], .3 + .7 * 2))


def assumed_numbers():
    """Of the cards, with their reasons, unless the plan gives others."""
    text = LAB.replace("[machine old]\n", "[machine old]\ncard = a100-sxm4-80gb\n") + "[machine new]\ncard = h100-sxm5\nnetwork_bandwidth = 50\n"
    for options in (("--machine", "new"), ("--compare", "machines")):
        done = plan(text, *options)
        check(f"an assumed number of a card is marked, {options}", done.stdout.count("is assumed") == 1
              and "new: lowest_clock of the card h100-sxm5, 345 MHz, is assumed: that of an H100 NVL" in done.stdout, done.stdout + done.stderr)
    done = plan(text + "lowest_clock = 300\n", "--machine", "new")
    check("the plan's own number is not", done.returncode == 0 and "is assumed" not in done.stdout, done.stdout + done.stderr)
    cpu = text.replace("step_time = 100ms\n", "").replace("bf16", "f32") + "[machine cpu]\ncard = xeon-platinum-8480\nnetwork_bandwidth = 5\n"
    check("an assumed peak is marked where a workload has its type", "peak_f32 of the card" in plan(cpu, "--machine", "cpu").stdout)


def machines():
    text = LAB + "[machine new]\ncard = h100-sxm5\nnetwork_bandwidth = 50\n"
    done = plan(text.replace("[machine old]\n", "[machine old]\ncard = a100-sxm4-80gb\n"), "--compare", "machines")
    check("machines are compared", done.returncode == 0 and "new" in done.stdout and "unknown: needs idle_power of [machine new]"
          in done.stdout, done.stdout + done.stderr)
    j = answer(text.replace("[machine old]\n", "[machine old]\ncard = a100-sxm4-80gb\n"), "--compare", "machines")
    old, new = points(j)[0], points(j, machine=1)[0]
    check("a step scales by the rooflines", close(old["parts"]["device_s"] / new["parts"]["device_s"], 989 / 312, 1e-6),
          f"{old['parts']['device_s']} {new['parts']['device_s']}")
    check("energy without idle power is missing", new["energy_j"] is None and old["energy_j"] > 0)
    hours = points(j)[3]["training"][0]
    check("worker-hours have a price", close(hours["hour_cost"], hours["hours"] * 8 * 2), str(hours))
    chosen = answer(text, "--machine", "old")
    check("--machine", chosen["machines"][0]["machine"] == "old")


def sites():
    with open("grid.csv", "w", encoding="utf-8") as f:
        f.write("timestamp,carbon_intensity\n")
        for hour in range(48):
            f.write(f"{1767225600 + 3600 * hour},{300 if hour % 24 < 12 else 100}\n")
    text = (LAB.replace("[plan]", "[plan]\nepochs = 200") + "[site home]\ncountry = DE\nprice = 0.3\npue = 1.5\n"
            "[site grid]\ncarbon_csv = grid.csv\ncurrency = USD\nprice = 0.1\n")
    done = plan(text, "--compare", "sites")
    check("sites are compared", done.returncode == 0 and "lowest from 2026-01-01T12:00:00Z" in done.stdout, done.stdout + done.stderr)
    j = answer(text, "--compare", "sites")
    last = points(j)[3]
    home, grid = last["training"]
    kwh = last["energy_j"] * 200 / 3.6e6
    check("energy at the meter", close(home["kwh"], 1.5 * kwh) and close(grid["kwh"], kwh))
    check("carbon and money of a place", close(home["carbon_g"], home["kwh"] * j["sites"][0]["carbon_g_per_kwh"])
          and close(home["energy_cost"], .3 * home["kwh"]))
    check("the training takes between 1 and 12 hours", 1 < grid["hours"] < 12, str(grid))
    check("the best hour", grid["best_start"] == "2026-01-01T12:00:00Z" and close(grid["best_g_per_kwh"], 100), str(grid))
    check("the worst hour", grid["worst_start"] == "2026-01-01T00:00:00Z" and close(grid["worst_g_per_kwh"], 300), str(grid))
    long = answer(text.replace("epochs = 200", "epochs = 20000"))
    check("a grid that does not cover the training", points(long)[3]["training"][1]["carbon_g"] is None)


def prices():
    """A grid that is clean by day and cheap at night; a price below 0 in one hour."""
    with open("grid.csv", "w", encoding="utf-8") as f, open("price.csv", "w", encoding="utf-8") as g:
        f.write("timestamp,carbon_intensity\n")
        g.write("timestamp,Day-ahead Price [EUR/MWh]\n")
        for hour in range(72):
            t = 1767225600 + 3600 * hour
            f.write(f"{t},{400 if hour % 24 < 12 else 100}\n")
            g.write(f"{t},{50 if hour % 24 < 12 else -20 if hour == 40 else 300}\n")
    text = LAB.replace("[plan]", "[plan]\nepochs = 200") + "[site grid]\ncarbon_csv = grid.csv\nprice_csv = price.csv\n"
    done = plan(text, "--compare", "sites")
    for words in ("lowest from 2026-01-01T12:00:00Z: 100 g/kWh", "lowest price from 2026-01-01T00:00:00Z: 0.05 EUR/kWh",
                  "cleanest start, 2026-01-01T12:00:00Z:", "cheapest start, 2026-01-01T00:00:00Z:"):
        check(f"when to run: {words}", words in done.stdout, done.stdout + done.stderr)
    bill = points(answer(text))[3]["training"][0]
    check("the mean of all starts", .05 < bill["price_per_kwh"] < .3 and close(bill["energy_cost"], bill["kwh"] * bill["price_per_kwh"]))
    check("the cleanest start has a price", close(bill["best_price_per_kwh"], .3) and close(bill["best_g_per_kwh"], 100), str(bill))
    check("the cheapest start has an intensity", close(bill["cheapest_price_per_kwh"], .05) and close(bill["cheapest_g_per_kwh"], 400))
    check("the dearest start", bill["dearest_start"] == "2026-01-01T12:00:00Z" and close(bill["dearest_price_per_kwh"], .3))
    short = points(answer(text.replace("epochs = 200", "epochs = 10")))[3]["training"][0]
    check("a price below 0", short["cheapest_start"] == "2026-01-02T16:00:00Z" and close(short["cheapest_price_per_kwh"], -.02), str(short))
    alone = answer(text.replace("carbon_csv = grid.csv\n", ""))
    bill = points(alone)[3]["training"][0]
    check("prices alone", bill["carbon_g"] is None and bill["best_start"] is None and bill["cheapest_g_per_kwh"] is None
          and bill["currency"] == "EUR" and alone["sites"][0]["price_csv"] == "./price.csv", str(bill))
    long = plan(text.replace("epochs = 200", "epochs = 20000"), "--compare", "sites")
    check("prices that do not cover the training", "price.csv does not cover" in long.stdout, long.stdout)
    for change, message in (("price_csv = price.csv\nprice = 1", "[site grid] price_csv: a file replaces price: give one or the other"),
                            ("price_csv = price.csv\ncurrency = USD", "'Day-ahead Price [EUR/MWh]' is in EUR: expected the currency of the site, USD"),
                            ("price_csv = grid.csv", "no column of prices with their unit"),
                            ("price_csv = none.csv", "none.csv")):
        done = plan(text.replace("price_csv = price.csv", change))
        check(f"exit 1 and: {message}", done.returncode == 1 and "lab.ini:2" in done.stderr and message in done.stderr, done.stderr)
    with open("price.csv", "w", encoding="utf-8") as f:
        f.write("time,price_eur_per_kwh\n" + "".join(f"1970-01-{1 + h // 24:02}T{h % 24:02}:00Z,{.1 + .01 * (h >= 24)}\n" for h in range(72)))
    alone = text.replace("carbon_csv = grid.csv\n", "")
    bill = points(answer(alone))[3]["training"][0]
    done = plan(alone, "--compare", "sites")
    check("a start at the epoch of the clock", bill["cheapest_start"] == "1970-01-01T00:00:00Z" and close(bill["cheapest_price_per_kwh"], .1)
          and "lowest price from 1970-01-01T00:00:00Z" in done.stdout, f"{bill}\n{done.stdout}")
    with open("price.csv", "w", encoding="utf-8") as f:
        f.write("time,price_eur_per_kwh\n" + "".join(f"{1767225600 + 3600 * h},0.31\n" for h in range(72)))
    done = plan(text, "--compare", "sites")
    check("a constant price has no best hour", "price 0.31 EUR/kWh, whenever the training starts" in done.stdout
          and "lowest price" not in done.stdout and "cheapest start" not in done.stdout and "cleanest start" in done.stdout, done.stdout)


def split_networks():
    text = (LAB.replace("workers = 1,2,4,8", "workers = 8,16,64").replace("devices_per_node = 2", "devices_per_node = 8")
            + "tensor_parallel = 4\npipeline_stages = 2\nlayers = 24\nactivation = 10\naccumulation = 16\n")
    j = answer(text)
    check("replicas", [p["replicas"] for p in points(j)] == [1, 2, 8] and points(j)[1]["global_batch"] == 2 * 16 * 50, str(points(j)))
    for p in points(j):
        check("parts of a step of a split network", close(sum(v for k, v in p["parts"].items() if k != "step_s"), p["parts"]["step_s"]))
        check("a bubble of (2 - 1)/16 and more", p["parts"]["pipeline_s"] > p["parts"]["device_s"] / 16)
        check("the identity holds", abs(p["identity_difference"]) < 1e-12)
    done = plan(text)
    check("what splitting costs is printed", "parallel   8 replicas of 8 workers: tensor parallel " in done.stdout, done.stdout + done.stderr)
    for change, message in (("workers = 8,12", "[workload net]: 12 workers: expected a multiple of tensor_parallel x pipeline_stages = 8"),
                            ("workers = 8\nseed = 2", "")):
        done = plan(text.replace("workers = 8,16,64", change))
        check(f"split: {message}", (done.returncode != 0) == bool(message) and message in done.stderr, done.stderr)
    done = plan(text.replace("layers = 24\n", ""))
    check("layers are needed", "needs layers of [workload net], which is missing" in done.stderr, done.stderr)
    done = plan(text.replace("layers = 24", "layers = 3").replace("pipeline_stages = 2", "pipeline_stages = 2\npipeline_chunks = 2"))
    check("stages need layers", "[workload net] layers = 3: expected at least pipeline_stages x pipeline_chunks = 4" in done.stderr, done.stderr)


def write_runs(path, j, slower=1.0):
    """The plan's own times as three runs each, 2 % apart, with energies."""
    with open(path, "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(["workload", "workers", "local_batch", "run", "epoch", "time_s", "energy_j"])
        for p in points(j):
            for n, factor in enumerate([.98, 1, 1.02]):
                for epoch in (1, 2):
                    t = p["time_s"] * factor * slower * (1.5 if epoch == 1 else 1)
                    out.writerow(["net", p["workers"], 50, f"{p['workers']}-{n}", epoch, t, t * p["power_w"] * p["workers"]])


def calibration():
    base = LAB.replace("workers = 1,2,4,8", "workers = 1,2,4,8,16,32,64") + "[framework f]\nepoch_overhead = 2s\n"
    planted = base.replace("step_time = 100ms", "step_time = 120ms").replace("epoch_overhead = 2s", "epoch_overhead = 4s")
    write_runs("runs.csv", answer(planted))
    text = base.replace("[plan]", "[plan]\ncalibrate = runs.csv")
    done = plan(text)
    check("a calibrated plan", done.returncode == 0 and "calibrated from ./runs.csv: 7 configurations" in done.stdout
          and "accuracy   fitted to 6 configurations of at most 32 workers" in done.stdout, done.stdout + done.stderr)
    j = answer(text)
    constants = {c["key"]: c for c in j["machines"][0]["constants"]}
    for key, truth in (("step_time", .12), ("epoch_overhead", 4)):
        low, high = constants[key]["interval95"]
        check(f"{key} is recovered", low < truth < high and abs(constants[key]["value"] / truth - 1) < .15, str(constants[key]))
    check("the first epochs are left out", abs(points(j)[0]["time_s"] / (2000 * .12 + 4) - 1) < .03, str(points(j)[0]["time_s"]))
    check("what is known is narrower", constants["step_time"]["sd_ratio"] < .6, str(constants["step_time"]))
    check("accuracy is reported", j["accuracy"]["tested"] == 1 and j["accuracy"]["median_error"] < .1, str(j["accuracy"]))
    with open("runs.csv", encoding="utf-8") as f, open("made.csv", "w", encoding="utf-8") as g:
        for n, line in enumerate(f):
            g.write(line.rstrip() + (",1" if n else ",simulated") + "\n")
    made = plan(text.replace("runs.csv", "made.csv")).stdout
    check("simulated measurements make simulated plans", made.count("(estimated, simulated)") >= 2 and "simulated" not in done.stdout, made)
    before = answer(base)
    def width(x):
        low, high = points(x)[6]["time_interval95"]
        return math.log(high / low)
    check("measurements narrow the band", width(j) < .5 * width(before), f"{width(j)} {width(before)}")
    done = plan(text.replace("network_bandwidth = 5\n", ""))
    check("measurements that need a missing number", done.returncode == 1
          and "network_bandwidth of [machine old] is missing: the measurement of net with 4 workers needs it" in done.stderr, done.stderr)
    done = plan(text.replace("[workload net]", "[workload nets]"))
    check("measurements of other workloads", done.returncode == 1 and "no run of a workload of lab.ini" in done.stderr, done.stderr)


def workload_cards():
    if not TRAIN:
        print("SKIP of workload cards: wattlaw-train, which writes them, is not part of this build")
        return
    for model in ("resnet50", "vgg16", "inception3", "bert", "fourcastnet", "schnet", "dimenet"):
        explained = subprocess.run([*TRAIN, model, "--size", "tiny", "--explain", "--json"], capture_output=True, text=True, check=False)
        check(f"{model} is explained", explained.returncode == 0, explained.stderr)
        with open(f"{model}.json", "w", encoding="utf-8") as f:
            f.write(explained.stdout)
        card = json.loads(explained.stdout)
        text = ("[plan]\nworkers = 1,8\n[machine m]\ncard = a100-sxm4-80gb\n[workload w]\nsamples = 1000\n"
                f"card = {model}.json\n")
        if card["train_flops_per_sample"] is None:
            done = plan(text)
            check(f"{model}: flops of molecules are missing", "needs step_time, or flops, of [workload w]" in done.stderr, done.stderr)
            text += "step_time = 10ms\n"
        j = answer(text)
        batch = card["options"]["local_batch"]
        check(f"{model}: local batch of the card", points(j)[0]["global_batch"] == batch, str(points(j)[0]))
        if card["train_flops_per_sample"] is not None:
            least = batch * card["train_flops_per_sample"] / (.4 * 19.5e12)
            check(f"{model}: no faster than its flops", points(j)[0]["parts"]["device_s"] >= least * (1 - 1e-9))


def card_sources():
    with open(os.path.join(SOURCE, "docs", "reference", "planning.md"), encoding="utf-8") as f:
        text = f.read()
    for name in sorted(os.listdir(os.path.join(SOURCE, "cards"))):
        with open(os.path.join(SOURCE, "cards", name), encoding="utf-8") as f:
            card = json.load(f)
        numbers = card["numbers"].items()
        assumed = [f"`{key}`" for key, n in numbers if "assumed" in n]
        derived = sum(n.get("source", "").startswith("derived: ") for _, n in numbers)
        row = f"| {card['name']} | {len(numbers) - len(assumed) - derived} | {derived} | {', '.join(assumed) or '-'} |"
        check(f"{name}: its row of the table of sources", row in text, row)
    numbers = answer(LAB.replace("[machine old]\n", "[machine old]\ncard = grace-superchip\n"))["machines"][0]["card"]["numbers"]
    assumed, published = numbers["devices_per_node"], numbers["max_power"]
    check("an assumed number says so", assumed["source"] is None and assumed["assumed"] and not published["assumed"], str(numbers))
    check("a published number has its document", published["source"] and published["url"].startswith("https://"), str(published))


def mistakes():
    cases = [
        (LAB.replace("network_bandwidth", "network_bandwith"),
         "lab.ini:4: unknown key network_bandwith; did you mean network_bandwidth?"),
        (LAB.replace("samples = 100000", "samples = -5"), "lab.ini:13: samples = -5: expected a number from 1 to"),
        (LAB.replace("100ms", "100 parsecs"), "lab.ini:15: step_time = 100 parsecs: expected a time such as 10s, 200ms or 3m"),
        (LAB + "[machine new]\ncard = h100\n", "lab.ini:20: [machine new] card: no hardware card h100"),
        (LAB + "[machine new]\ncard = own.json\n", "[machine new] card: ./own.json: max_power: unknown unit Watts: expected W, mW, kW"),
        (LAB + "[site s]\ncountry = Germny\n", "lab.ini:20: [site s] country: 'Germny' is not in the table of countries"),
        (LAB + "[site s]\npruce = 1\n", "lab.ini:20: unknown key pruce; did you mean price?"),
        (LAB + "[workload net]\nsamples = 1\n", "lab.ini:20: duplicate key samples in [workload net]"),
        (LAB.replace("workers = 1,2,4,8", "seed = 1"), "no worker counts: give workers in [plan], or --at workers=N"),
        (LAB.replace("network_bandwidth = 5\n", ""),
         "lab.ini:12: [workload net]: the time of 4 workers needs network_bandwidth of [machine old], which is missing"),
        (LAB.replace("[plan]", "[plan]\ncalibrate = nothing.csv"), "nothing.csv"),
        (LAB.replace("[plan]", "[plan]\nclocks = 500").replace("clock = 1400\n", ""),
         "the time of 1 worker under a cap or clock lock needs clock of [machine old]"),
        ("hello\n", "lab.ini:1"),
        ("", "lab.ini: no [machine NAME]: expected at least one"),
    ]
    with open("own.json", "w", encoding="utf-8") as f:
        json.dump({"name": "own", "title": "x", "kind": "gpu",
                   "numbers": {"max_power": {"value": 300, "unit": "Watts", "source": "label"}}}, f)
    for text, message in cases:
        done = plan(text)
        check(f"exit 1 and: {message}", done.returncode == 1 and message in done.stderr and not done.stdout,
              f"{done.returncode} {done.stderr}")
    for options, status, message in [
            (["--at", "workers=-1"], 2, "expected workers=N with a positive number"),
            (["--at", "64"], 2, "expected workers=N"),
            (["--machine", "olt"], 2, "--machine olt: there is no [machine olt] in lab.ini; did you mean old?"),
            (["--compare", "hours"], 2, "expected one of machines|sites"),
            (["--compare", "sites"], 1, "no [site NAME] to compare"),
            (["--jsn"], 2, "did you mean --json?")]:
        done = plan(LAB, *options)
        check(f"exit {status} and: {message}", done.returncode == status and message in done.stderr, done.stderr)
    check("no plan", run("plan").returncode == 2)
    done = run("plan", "nowhere.ini")
    check("a missing plan", done.returncode == 1 and "nowhere.ini" in done.stderr, done.stderr)
    done = run("report", "nowhere", "--plan", "nowhere.ini")
    check("a missing plan of a report", done.returncode == 1 and "nowhere.ini" in done.stderr, done.stderr)
    keys = run("plan", "--keys").stdout
    check("--keys has every section", all(f"[{s}" in keys for s in ("plan]", "machine NAME]", "workload NAME]", "priors]", "site NAME]")))


def main():
    os.chdir(os.environ["TMPDIR"]) if "TMPDIR" in os.environ else None
    for part in (exponents_and_identity, at_and_scale, caps_and_clocks, machines, assumed_numbers, sites, prices, split_networks, calibration,
                 workload_cards, card_sources, mistakes):
        part()
    print("plan: all held" if not failed else f"plan: {failed} failed")
    return 1 if failed else 0


sys.exit(main())
