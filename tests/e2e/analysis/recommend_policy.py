#!/usr/bin/env python3
"""wattlaw recommend --policy on jobs whose truth is known, and on a simulated campaign: recommend_policy.py WATTLAW FREY2022"""
import csv
import itertools
import math
import os
import random
import re
import subprocess
import sys
import tempfile

from answers import Command, says

WATTLAW, FREY = (os.path.abspath(path) for path in sys.argv[1:])
COLUMNS = ["workload", "hardware", "workers", "local_batch", "power_cap_w", "clock_mhz", "run", "time_s", "energy_j", "peak_power_w", "simulated"]
CAPS = (150, 200, 250)


def curve(share, cap):
    """slowdown and watts under a cap, by the share of the time that the cap slows"""
    speed = min(1, (cap or 250) / 240)**.75
    slow = share / speed + 1 - share
    return slow, 60 + 170 * share * speed**2


def rows(workloads=10, bound=(.1, .2, .25, .3, .35, .98), workers=(1, 4), caps=CAPS, repeats=2, noise=.005, seed=1, **fixed):
    """Jobs: workloads x workers; every workload has one of the shares `bound`."""
    rng = random.Random(seed)
    for w, n, cap, r in itertools.product(range(workloads), workers, caps, range(repeats)):
        slow, watts = curve(bound[w % len(bound)], cap)
        t, p = 100 / n * slow * math.exp(rng.gauss(0, noise)), watts * math.exp(rng.gauss(0, noise))
        row = dict(workload=f"net{w}", hardware="V100", workers=n, local_batch=32, power_cap_w=cap or "", run=r, time_s=t, energy_j=n * p * t)
        row.update({key: v(row) if callable(v) else v for key, v in fixed.items()})
        yield row


def write(name, table):
    with open(name, "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, COLUMNS, restval="")
        out.writeheader()
        out.writerows(table)
    return name


command = Command(WATTLAW, "recommend", "--policy")
run, answer, refused = command.run, command.answer, command.refused


def cap_of(got, value):
    return next(c for c in got["caps"] if c["value"] == value)


def known_truth():
    path = write("jobs.csv", rows(peak_power_w=lambda r: r["workers"] * (r["power_cap_w"] - 5)))
    got = answer(path, "--max-slowdown", "10%", "--jobs", "85%", "--devices", "200")
    jobs = [.1, .2, .25, .3, .35, .98] + [.1, .2, .25, .3]
    for cap in CAPS[:-1]:
        kept = sum(curve(b, cap)[0] <= 1.1 for b in jobs) / len(jobs)
        c = cap_of(got, cap)
        low, high = c["share"]["interval90"]
        assert low <= kept <= high and abs(c["share"]["mean"] - kept) < .06, (cap, kept, c)
        outer = c["share_of_other_workloads"]["interval90"]
        assert outer[1] - outer[0] >= high - low - 1e-9, c  # 10 workloads say less than 20 jobs
        ratio = sum(curve(b, cap)[0] * curve(b, cap)[1] / curve(b, 250)[0] / curve(b, 250)[1] for b in jobs) / len(jobs)
        assert abs(c["energy_ratio"] - ratio) < .01, (cap, c["energy_ratio"], ratio)
        watts = sum(curve(b, 250)[1] - curve(b, cap)[1] for b in jobs) / len(jobs)
        assert abs(c["mean_power_saved_kw"] - watts * 200 / 1e3) < .3, (cap, c, watts)
        assert abs(c["peak_power_saved_kw"] - (250 - cap) * 200 / 1e3) < 1e-9 and c["peak_power_from"] == "measured", c
    assert got["choice"] == 200 and got["reference"] == 250 and got["saves"] and len(got["jobs"]) == 20 and got["workloads"] == 10, (got["choice"], got["workloads"], len(got["jobs"]))
    assert .002 < got["time_noise_sd"] < .012 and not got["noise_assumed"], got["time_noise_sd"]
    slow = [j["job"] for j in got["jobs"] if j["time_ratio"] > 1.1]
    assert slow == ["net5: 1 worker", "net5: 4 workers"], slow
    for j in got["jobs"]:
        want = curve(jobs[int(j["workload"][3:])], 200)[0]
        assert abs(math.log(j["time_ratio"] / want)) < .015 and j["time_ratio_interval90"][0] <= j["time_ratio"] <= j["time_ratio_interval90"][1], (j, want)
    text = run(path, "--max-slowdown", "10%", "--jobs", "85%")[0]
    says(text, "Set a power cap of 200 W on each device: ", "of the next 100 jobs", "rebound        cheaper hours invite more jobs: with ",
         "2 of 20 measured jobs are expected to exceed", "net5: 4 workers: ", "by the highest peak of any job", "a mean over many jobs")
    # a stricter share needs a larger cap, and what few jobs cannot show is said
    assert answer(path, "--max-slowdown", "10%", "--jobs", "95%")["choice"] == 250
    says(run(path, "--max-slowdown", "10%", "--jobs", "99%")[0], "Leave 250 W: no lower power cap", "for 99 % measure at least 49")
    assert answer(path, "--max-slowdown", "60%", "--jobs", "50%")["choice"] == 150


def several_sources():
    table = list(rows())
    whole = answer(write("whole.csv", table), "--max-slowdown", "10%", "--jobs", "85%")
    halves = [write("odd.csv", table[:len(table) // 2]), write("even.csv", table[len(table) // 2:])]
    parts = answer(*halves, "--max-slowdown", "10%", "--jobs", "85%")
    assert parts["sources"] == halves and parts["choice"] == whole["choice"] and len(parts["jobs"]) == len(whole["jobs"])
    for a, b in zip(whole["caps"], parts["caps"]):
        assert abs(a["share"]["mean"] - b["share"]["mean"]) < .02 and abs(a["energy_ratio"] - b["energy_ratio"]) < .002
    says(run(*halves, "--max-slowdown", "10%", "--jobs", "85%")[0], "net5: 4 workers: ", ", even.csv")
    some = answer(*halves, "--max-slowdown", "10%", "--jobs", "85%", "--where", "workers=4")
    assert len(some["jobs"]) == 10 and all("4 workers" in j["job"] for j in some["jobs"])
    # jobs that were not measured at every cap
    sparse = [r for r in table if not (r["workload"] in ("net1", "net7") and r["power_cap_w"] == 200)]
    got = answer(write("sparse.csv", sparse), "--max-slowdown", "10%", "--jobs", "85%")
    assert got["choice"] == 200 and sorted({j["workload"] for j in got["jobs"] if not j["measured"]}) == ["net1", "net7"]


def copies():
    """A run counts once, whichever sources have it: a file given twice, a history that contains another source."""
    table = list(rows())
    lab, limits = write("lab.csv", table), ("--max-slowdown", "10%", "--jobs", "85%")
    alone = answer(lab, *limits)
    twice = answer(lab, "./lab.csv", lab, *limits)
    assert twice["caps"] == alone["caps"] and len(twice["jobs"]) == len(alone["jobs"]) == 20, twice
    assert [n for n in twice["notes"] if "excluded: 120 runs" in n] == ["./lab.csv: excluded: 120 runs with the times and energies of an earlier source",
                                                                        "lab.csv: excluded: 120 runs with the times and energies of an earlier source"], twice["notes"]
    more = list(rows(workloads=2, bound=(.15, .9), workers=(2,), seed=2))
    history = write("history.csv", [dict(r, run=f"old-{k}") for k, r in enumerate(table + more)])
    both = answer(lab, history, *limits)
    assert len(both["jobs"]) == 22 and sum(j["source"] == history for j in both["jobs"]) == 2, both["jobs"]
    whole = answer(history, *limits)
    assert both["choice"] == whole["choice"] and abs(cap_of(both, 200)["share"]["mean"] - cap_of(whole, 200)["share"]["mean"]) < 1e-9


def one_source_each():
    """Caps that were measured in sources of their own are not joined, and the message says so."""
    paths = [write(f"only{cap}.csv", rows(caps=(cap,))) for cap in (200, 250)]
    refused("no power cap or clock was varied within one source: there is nothing to choose from", *paths, "--max-slowdown", "10%")
    refused("no power cap or clock was varied: there is nothing to choose from", paths[0], "--max-slowdown", "10%")
    refused("no group of runs has two values of the power cap within one source", *paths, "--max-slowdown", "10%", "--cap", "power_cap_w")
    single = write("single.csv", rows(workers=(8,), caps=(200,)))
    says(run("lab.csv", single, "--max-slowdown", "10%", "--jobs", "85%")[0], "left out: 10 groups of runs with one value of the power cap within one source")


def options():
    """Each option acts or is refused, with --policy and without it."""
    shown = subprocess.run([WATTLAW, "recommend", "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  (?:-\w, )?--(?:\[no-\])?([a-z-]+)", shown, re.M)
    both = {"max-slowdown": "10%", "where": "workers=4", "max-power": "300", "drop-epochs": "0", "all": None, "map": "run=run", "json": None, "color": "never"}
    policy = {"jobs": "95%", "cap": "power_cap_w", "devices": "100"}
    values = {"minimize": "energy", "deadline": "8h", "budget": "500EUR", "target": "a=1", "epochs-table": "t.csv", "reference": "fastest", "site-power": "40kW",
              "carbon-kind": "average", "carbon-range": "1,2", "country": "DE", "probability": ".5"}
    path = write("jobs.csv", rows())
    assert len(names) > 35 and set(both) | set(policy) <= set(names), names
    for mode in [], ["--policy", "--max-slowdown", "9%"]:
        done = subprocess.run([WATTLAW, "recommend", path, *mode, "--exclude-busy"], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "--exclude-busy needs a store" in done.stderr, done
    for name in set(names) - {"policy", "help", "exclude-busy"}:
        value = both.get(name, policy.get(name, values.get(name, "1")))
        words = [f"--{name}"] + ([] if value is None else [value])
        if name not in both:
            part, mode = (f"--{name} requires --policy", []) if name in policy else (f"--{name} is not for --policy", ["--policy", "--max-slowdown", "9%"])
            done = subprocess.run([WATTLAW, "recommend", path, *mode, *words], capture_output=True, text=True, check=False)
            assert done.returncode == 2 and part in done.stderr, (words, done)


def words():
    """Shares that are too small are said to be below the asked one; nothing is 0 % or -0.0."""
    flat = [dict(r, energy_j=r["workers"] * 200 * r["time_s"]) for r in rows(bound=(0, 0), noise=1e-4)]
    text = run(write("flat.csv", flat), "--max-slowdown", "10%", "--jobs", "85%")[0]
    assert "-0.0" not in text and not re.search(r"[^\d.]0(\.0)? % (less|more)", text), text
    text = run("jobs.csv", "--max-slowdown", "10%", "--jobs", "92.5%")[0]
    says(text, "below 92.5 %")
    assert "-0.0" not in text and "too few" not in text, text


def no_cap():
    path = write("none.csv", rows(caps=(150, 200, None)))
    got = answer(path, "--max-slowdown", "10%", "--jobs", "85%")
    assert got["reference"] is None and got["choice"] == 200 and got["caps"][-1]["value"] is None and got["caps"][0]["peak_power_w"] is None
    says(run(path, "--max-slowdown", "10%", "--jobs", "85%")[0], "longer than with no power cap", "peak power     unknown", "--max-power")
    got = answer(path, "--max-slowdown", "10%", "--jobs", "85%", "--max-power", "250")
    assert got["choice"] == 200 and abs(cap_of(got, 200)["peak_power_saved_kw"] - 5) < 1e-9 and cap_of(got, 200)["peak_power_from"] == "cap"


def few_data():
    got = answer(write("once.csv", rows(repeats=1)), "--max-slowdown", "10%", "--jobs", "80%")
    assert got["noise_assumed"] and any("nothing was measured twice" in note for note in got["notes"])
    one = [r for r in rows() if r["workload"] == "net0" or r["power_cap_w"] == 250]
    got = answer(write("single.csv", one), "--max-slowdown", "10%")
    assert len(got["jobs"]) == 2 and not got["saves"] and got["prolog"] is None
    notes = " ".join(got["notes"])
    says(notes, "18 groups of runs with one value of the power cap", "2 jobs can show a mean share of 83.3 % at most", "one workload was measured")
    path = write("energy.csv", [dict(r, energy_j="") if r["workload"] == "net3" else r for r in rows()])
    says(run(path, "--max-slowdown", "10%", "--jobs", "80%")[0], "left out: 2 groups of runs without the energy")


def scripts():
    """The scripts set and reset what they say, on each GPU of the job, and never fail."""
    os.mkdir("bin")
    with open("bin/nvidia-smi", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho \"$@\" >> calls\ncase \"$*\" in *query-gpu*) echo 250.00;; *--id=1*) exit 1;; esac\n")
    os.chmod("bin/nvidia-smi", 0o755)
    with open("bin/logger", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho \"$@\" >> log\n")
    os.chmod("bin/logger", 0o755)
    power = answer(write("jobs.csv", rows()), "--max-slowdown", "10%", "--jobs", "85%")
    clocks = [dict(r, clock_mhz={150: 700, 200: 1100, 250: 1400}[r["power_cap_w"]], power_cap_w="") for r in rows()]
    clock = answer(write("clocks.csv", clocks), "--max-slowdown", "10%", "--jobs", "85%")
    assert clock["cap"] == "clock_mhz" and clock["choice"] == 1100
    for got, sets, resets in ((power, "--power-limit=200", "--power-limit=250.00"), (clock, "--lock-gpu-clocks=1100", "--reset-gpu-clocks")):
        for key, option in (("prolog", sets), ("epilog", resets)):
            script = got[key].replace("PATH=/usr/bin", "PATH=bin:/usr/bin")
            assert script != got[key], got[key]
            for name in ("calls", "log"):
                open(name, "w", encoding="utf-8").close()
            subprocess.run(["bash", "-c", script], check=True, env={"SLURM_JOB_GPUS": "0,1"})
            with open("calls", encoding="utf-8") as f:
                calls = [line.strip() for line in f if "query-gpu" not in line]
            assert calls == [f"--id={gpu} {option}" for gpu in (0, 1)], (calls, option)
            with open("log", encoding="utf-8") as f:
                assert "GPU 1: " in f.read()
    says(run("jobs.csv", "--max-slowdown", "10%", "--jobs", "85%")[0], *power["prolog"].splitlines())


def simulated_store():
    subprocess.run([FREY, "simulate", "frey.db", "--repeats", "2", "--max-workers", "16"], check=True, capture_output=True)
    text = run("frey.db", "--max-slowdown", "10%", "--jobs", "85%")[0]
    says(text, "Set a power cap of 200 W on each device (simulated)", "24 measured jobs", "than the 6 measured")
    for line in text.splitlines():
        if " kW" in line or "per job" in line and "energy" in line:
            assert "simulated" in line, line
    got = answer("frey.db", "--max-slowdown", "90%", "--jobs", "85%", "--cap", "clock_mhz")
    assert got["simulated"] and got["cap"] == "clock_mhz" and got["choice"] == 735 and len(got["jobs"]) == 24


def bad_input():
    path = write("jobs.csv", rows())
    for args, part in (((), "--policy requires --max-slowdown"), (("--max-slowdown", "10%", "--jobs", "100%"), "--jobs 100%: expected a percentage from 0 to 99.9"),
                       (("--max-slowdown", "x"), "--max-slowdown x: expected a percentage"), (("--max-slowdown", "9%", "--deadline", "8h"), "--deadline is not for --policy"),
                       (("--max-slowdown", "9%", "--minimize", "time"), "--minimize is not for --policy"), (("--max-slowdown", "9%", "--cap", "volts"), "volts")):
        refused(part, path, *args, status=2)
    refused("expected one or more stores, campaign folders or CSV files", "--max-slowdown", "10%", status=2)
    refused("expected one or more stores, campaign folders or CSV files", "--devices", "5", "--max-slowdown", "5%", status=2)
    refused("expected one or more stores, campaign folders or CSV files", status=2)
    done = subprocess.run([WATTLAW, "recommend", path, "--devices", "9"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--devices requires --policy" in done.stderr, done
    late = ("--max-slowdown", "10%")
    refused("nowhere.csv", path, "nowhere.csv", *late)
    refused("no group of runs has two values of the clock", path, *late, "--cap", "clock_mhz")
    refused("no power cap or clock was varied", write("plain.csv", rows(caps=(200,))), *late)
    refused("no group of runs has two values of the power cap with a time and an energy", write("dark.csv", rows(energy_j="")), *late)
    refused("V100 and A40: one power cap cannot serve", path, write("a40.csv", rows(hardware="A40")), *late)
    refused("70 values of the power cap", write("many.csv", rows(workloads=1, caps=range(100, 170))), *late)
    for where in ("workload=other", "hardware=A100", "workload=net1,hardware=A100"):
        refused("no run matches --where " + where.replace(",", " --where "), path, *late, "--where", where)
    refused("no run with a positive time and worker count", write("untimed.csv", rows(time_s=-1)), *late)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for test in (known_truth, several_sources, copies, one_source_each, options, words, no_cap, few_data, scripts, simulated_store, bad_input):
        test()
