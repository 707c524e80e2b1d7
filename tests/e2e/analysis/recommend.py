#!/usr/bin/env python3
"""wattlaw recommend on a simulated campaign and on CSV files whose truth is known: recommend.py WATTLAW FREY2022"""
import csv
import itertools
import json
import math
import os
import random
import resource
import shlex
import subprocess
import sys
import tempfile

from answers import Command, says

WATTLAW, FREY = (os.path.abspath(path) for path in sys.argv[1:])
HUBER = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../../examples/huber2025/resnet50.csv"))
COLUMNS = ["workload", "workers", "local_batch", "global_batch", "power_cap_w", "run", "epoch", "time_s", "energy_j", "samples", "estimated",
           "metric", "metric_value", "peak_power_w", "precision", "peak_memory_bytes",
           "clock_mhz", "power_cap_acted_pct", "clock_acted_pct", "hardware", "mem_clock_mhz"]


def truth(n, cap, batch=32):
    """seconds and watts of a worker: Amdahl's law, a cap slows the compute alone"""
    speed = min(1, max(.05, (cap - 40) / 160)**.45) if cap else 1
    compute = 100 / n / speed * (1 + 8 / batch)
    time = compute + 1 + .3 * math.log2(n)
    return time, 60 + (min(cap or 220, 220) - 60) * compute / time


def rows(counts=(1, 2, 4, 8), caps=(100, 150, 200), batches=(32,), repeats=2, noise=.004, seed=1, epochs=3, **fixed):
    rng = random.Random(seed)
    for n, cap, b, r in itertools.product(counts, caps, batches, range(1, repeats + 1)):
        run_t, run_p = rng.gauss(0, noise), rng.gauss(0, noise / 2)
        for k in range(1, epochs + 1):
            t, p = truth(n, cap, b)
            t, p = t * math.exp(run_t), p * math.exp(run_p)
            row = dict(workload="net", workers=n, local_batch=b, global_batch=n * b, power_cap_w=cap or "", run=r, epoch=k, time_s=t,
                       energy_j=n * p * t, samples=6400)
            row.update({key: v(row) if callable(v) else v for key, v in fixed.items()})
            yield row


def write(name, table):
    with open(name, "w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, COLUMNS, restval="")
        out.writeheader()
        out.writerows(table)
    return name


command = Command(WATTLAW, "recommend")
run, answer, refused = command.run, command.answer, command.refused


def named(result, name):
    return next(s for s in result["settings"] if s["setting"] == name)


def known_truth():
    path = write("known.csv", rows())
    best = min(itertools.product((1, 2, 4, 8), (100, 150, 200)), key=lambda s: s[0] * math.prod(truth(*s)))
    fastest = ("--reference", "fastest")
    any_time = ("--max-slowdown", "none")
    got = answer(path, *fastest, *any_time)
    assert got["choice"] == f"{best[0]} worker{'s' * (best[0] > 1)}, cap {best[1]} W", (best, got["choice"])
    assert got["reference"] == "8 workers, cap 200 W" and got["trade_off"] == "energy" and got["knee"]
    for s in got["settings"]:
        t, p = truth(s["values"]["workers"], s["values"]["power_cap_w"])
        for value, interval, want in ((s["time_s"], s["time_interval95"], t), (s["energy_j"], s["energy_interval95"], s["values"]["workers"] * t * p)):
            assert abs(math.log(value / want)) < .012, (s, want)
            assert interval[0] < value < interval[1]
    n, cap = best
    ratio = n * math.prod(truth(n, cap)) / (8 * math.prod(truth(8, 200)))
    assert abs(math.log(got["over_reference"]["energy_ratio"] / ratio)) < .01
    # the slowdown that is allowed is kept, and a tighter limit never chooses a slower setting
    last = math.inf
    for most in (400, 100, 50, 25, 10, 5, 0):
        got = answer(path, "--max-slowdown", f"{most}%", *fastest)
        choice = named(got, got["choice"])
        w, c = choice["values"]["workers"], choice["values"]["power_cap_w"]
        assert truth(w, c)[0] <= (1 + most / 100) * truth(8, 200)[0] * 1.001, (most, got["choice"])
        assert choice["limit_probabilities"][0] >= .9 and choice["time_s"] <= last * 1.0001
        last = choice["time_s"]
    assert got["choice"] == "8 workers, cap 200 W" and got["over_reference"]["energy_ratio"] == 1
    text = run(path, "--max-slowdown", "20%", *fastest)[0]
    says(text, "net: Use 8 workers, cap ", "--max-slowdown 20% over 8 workers, cap 200 W: met with probability", "runner-up", "less energy", "wattlaw measure --power-cap-w")
    text = run(path, "--max-slowdown", "0%", *fastest)[0]
    says(text, "the only setting shown to be within the limits", "reference      the choice itself\n")
    # the choice over the setting that takes most, for those whose choice is the reference itself
    got, text = answer(path, "--minimize", "time", *fastest), run(path, "--minimize", "time", *fastest)[0]
    slowest = truth(1, 100)[0] / truth(8, 200)[0]
    assert got["choice"] == got["reference"] == "8 workers, cap 200 W" and got["worst"] == "1 worker, cap 100 W"
    assert abs(got["over_worst"] * slowest - 1) < .01 and got["over_worst_interval95"][0] < 1 / slowest < got["over_worst_interval95"][1]
    less = f"{100 * (1 - got['over_worst']):.1f} % less"
    says(text, f"the least expected time of 12 settings, {less} than 1 worker, cap 100 W.", f"against        1 worker, cap 100 W, the most time: {less} time (")

    # a saving that the interval does not show is not in the first line, only beside its interval
    path = write("unsure.csv", rows(counts=(4, 8), caps=(150,), noise=.4, seed=2))
    got, text = answer(path), run(path)[0]
    over = got["over_worst_interval95"] if got["choice"] == got["reference"] else got["over_reference"]["energy_ratio_interval95"]
    assert over[0] < 1 < over[1], over
    # a further run is proposed where it is worth it
    rough = write("rough.csv", rows(counts=(2, 4, 8), caps=(150, 200), noise=.4, seed=2))
    for table, args, worth in ((rough, any_time, True), ("known.csv", ("--max-slowdown", "20%"), False)):
        gains = [s["gain_of_a_run"] or 0 for s in answer(table, *args)["settings"]]
        assert (max(gains) >= .005) == worth == (answer(table, *args)["next_run"] is not None) == ("  next run " in run(table, *args)[0]), (table, gains)
    assert " % less than " not in text.splitlines()[0] and "  against  " in text, text
    own = got["choice"] == got["reference"]
    assert own != (f", but not shown to be less than that of {got['reference']}." in text.splitlines()[0]), text
    slower = run(path, "--reference", "workers=4" if "8" in got["choice"] else "workers=8")[0].splitlines()[0]
    assert ", but not shown to be less than that of " in slower, slower

def own_reference():
    """A slowdown is over the same setting without a cap: same workers, same batch."""
    path = write("own.csv", rows(caps=(None, 100, 150), batches=(32, 128)))
    got = answer(path, "--max-slowdown", "30%")
    for s in got["settings"]:
        n, b, cap = s["values"]["workers"], s["values"]["local_batch"], s["values"]["power_cap_w"]
        assert s["reference"] == f"{n} worker{'s' * (n > 1)}, local batch {b}, no power cap", s
        want = truth(n, cap, b)[0] / truth(n, None, b)[0]
        assert abs(math.log(s["slowdown"] / want)) < .02, (s["setting"], s["slowdown"], want)
        if abs(want / 1.3 - 1) > .02:
            assert s["allowed"] == (want < 1.3), (s["setting"], want)
    allowed = [s["values"] for s in got["settings"] if s["allowed"]]
    best = min(allowed, key=lambda v: v["workers"] * math.prod(truth(v["workers"], v["power_cap_w"], v["local_batch"])))
    choice = named(got, got["choice"])
    assert choice["values"] == best and got["reference"] == choice["reference"] and got["reference"] != got["choice"], (choice, best)
    assert abs(got["over_reference"]["time_ratio"] - choice["slowdown"]) < 1e-12
    # where it was not measured without a cap nothing is known; where no cap varied, the fastest is the reference
    some = [r for r in rows(counts=(1, 2, 4), caps=(None, 100)) if r["workers"] != 4 or r["power_cap_w"]]
    got = answer(write("some.csv", some), "--max-slowdown", "400%")
    four = named(got, "4 workers, cap 100 W")
    assert four["reference"] is None and four["slowdown"] is None and not four["allowed"] and four["limit_probabilities"] == [0]
    assert any("1 setting was not measured without a cap" in note for note in got["notes"])
    assert named(answer("some.csv", "--where", "workers=4", "--max-slowdown", "1%", status=1), "4 workers, cap 100 W")["reference"] is None
    says(run("some.csv", "--where", "workers=4", "--max-slowdown", "none")[0], "reference      unknown: the same setting was not measured without a cap")
    assert answer("some.csv", "--reference", "fastest")["reference"] == "2 workers, no power cap"  # 4 capped workers are faster
    assert answer(write("plain.csv", rows(caps=(150,))), "--max-slowdown", "5%")["reference"] == "8 workers"


def two_runs(table):
    """settings as (settings, s, J) with two runs each, 1 % apart"""
    for fixed, seconds, joules in table:
        for k in (1, 2):
            yield dict({"workload": "net", "workers": 1, "run": k, "time_s": seconds * (1 + k / 100), "energy_j": joules * (1 + k / 100)}, **fixed)


def reference_of_caps():
    """Caps of different axes, or of different hardware, are not compared."""
    tie = [({"power_cap_w": 300}, 100, 30e3), ({"power_cap_w": 200}, 120, 28e3), ({"mem_clock_mhz": 2600}, 150, 20e3)]
    for k in range(3):
        got = answer(write("tie.csv", two_runs(tie[k:] + tie[:k])), "--max-slowdown", "10%")
        assert got["choice"] == got["reference"] == "1 worker, cap 300 W, no memory clock limit", (k, got["choice"], got["reference"])
        assert any("capped on different axes, the fastest is the reference" in note for note in got["notes"]), got["notes"]
    got = answer(write("both.csv", two_runs(tie + [({"power_cap_w": 300, "mem_clock_mhz": 2600}, 155, 21e3)])), "--max-slowdown", "10%")
    assert got["reference"] == "1 worker, cap 300 W, no memory clock limit"  # the same with one cap more is not among them
    got = answer(write("none.csv", two_runs(tie + [({}, 99, 31e3)])), "--max-slowdown", "10%")
    assert got["reference"] == "1 worker, no power cap, no memory clock limit" and not any("different axes" in note for note in got["notes"])
    # of each kind of hardware its own largest
    cards = [({"hardware": "A100", "power_cap_w": 400}, 100, 40e3), ({"hardware": "V100", "power_cap_w": 250}, 110, 20e3)]
    got = answer(write("cards.csv", two_runs(cards)), "--max-slowdown", "10%")
    assert got["choice"] == got["reference"] == "1 worker, V100, cap 250 W" and all(s["slowdown"] == 1 for s in got["settings"]), got
    assert answer("cards.csv", "--reference", "fastest")["reference"] == "1 worker, A100, cap 400 W"
    # what the largest cap of the hardware would have taken is not known
    text = run(write("part.csv", two_runs(cards + [({"workers": 2, "hardware": "V100", "power_cap_w": 200}, 60, 18e3)])), "--max-slowdown", "10%")[0]
    row = next(line for line in text.splitlines() if line.startswith("2 workers, V100, cap 200 W"))
    assert "its slowdown is not known" in row and "misses a limit" not in row and " - " in row, row
    says(run("part.csv", "--max-slowdown", "10%", "--where", "workers=2", status=1)[0], "excluded       2 workers, V100, cap 200 W: its slowdown is not known")


def several_workloads():
    one, other = list(rows()), list(rows(seed=2, workload="other", time_s=lambda r: r["time_s"] * r["workers"]**.5))
    dark = list(rows(counts=(1, 2), caps=(150,), workload="dark", energy_j=""))
    write("both.csv", one + other)
    got = answer("both.csv", "--max-slowdown", "20%")
    assert set(got) == {"wattlaw", "source", "answers"} and [x["workload"] for x in got["answers"]] == ["net", "other"]
    for x, table in zip(got["answers"], (one, other)):
        alone = answer(write("alone.csv", table), "--max-slowdown", "20%")
        for key in ("choice", "reference", "runner_up", "next_run", "settings", "command", "over_reference"):
            assert x[key] == alone[key], (x["workload"], key, x[key], alone[key])
    text = run("both.csv")[0]
    says(text, "\nother: Use ", "net: Use ")
    assert answer("both.csv", "--where", "workload=other")["workload"] == "other"
    # one without an answer leaves the others theirs
    write("some_dark.csv", one + dark)
    assert [x["minimize"] for x in answer("some_dark.csv")["answers"]] == ["energy", "time"]
    says(run("some_dark.csv")[0], "dark: Use ", "the least expected time of", "note           no energy was measured: the fastest setting is chosen")
    by_energy = ("--minimize", "energy")
    got = answer("some_dark.csv", *by_energy, status=1)
    assert got["answers"][0]["choice"] and "no energy was measured" in got["answers"][1]["error"]
    says(run("some_dark.csv", *by_energy, status=1)[0], "net: Use ", "dark: no answer: ", "no energy was measured")
    refused("no energy was measured", write("all_dark.csv", dark + [dict(r, workload="darker") for r in dark]), *by_energy)
    refused('did you mean "workers"', "both.csv", "--where", "worker=3")
    # rows that name none are one more; its target is not reached by the runs of another
    path = write("unnamed.csv", [dict(r, metric="acc", metric_value=.9) for r in one] + [dict(r, workload="", metric="", metric_value="") for r in other])
    assert [x["workload"] for x in answer(path)["answers"]] == ["net", None]
    says(run(path)[0], "runs without a workload: Use ")
    got = answer(path, "--target", "acc=.5", status=1)["answers"]
    assert got[0]["choice"] and got[1]["error"] == f"{path}: no epoch has the metric acc", got[1]
    assert answer(write("nameless.csv", [dict(r, workload="", metric="acc", metric_value=.9) for r in one]), "--target", "acc=.5")["choice"]


def names_of_workloads():
    """Names of workloads are compared to the letter, and an error that all share is printed once."""
    numbers = write("numbers.csv", [dict(r, workload=name) for name in ("4", "4.0", "") for r in rows(counts=(1, 2), repeats=1)])
    assert [x["workload"] for x in answer(numbers)["answers"]] == ["4", "4.0", None]
    says(run(numbers)[0], "4: Use ", "\n4.0: Use ", "\nruns without a workload: Use ")
    for args, part in ((("--where", "worker=3"), '--where worker=3: numbers.csv: no column "worker"'), (("--reference", "worker=3"), '--reference worker=3: numbers.csv: no column "worker"'),
                       (("--reference", "workers=9"), "--reference: numbers.csv has no such setting"), (("--target", "acc=.5"), "numbers.csv: no epoch has the metric acc")):
        for more in ((), ("--json",)):
            out, err = run(numbers, *args, *more, status=1)
            assert not out and err.count(part) == 1, (args, out, err)
    bad = [dict(r, workload="bad", time_s="") for r in rows(counts=(1,))]
    got = answer(write("unusable.csv", bad + list(rows())), status=1)["answers"]
    assert got[0] == {"workload": "bad", "error": "unusable.csv: no run with a positive time and worker count"} and got[1]["choice"], got[0]
    valueless = write("valueless.csv", [dict(r, metric="val_top1") for r in rows()])
    refused("valueless.csv: no epoch has a value of the metric val_top1\n", valueless, "--target", "val_top1=.6")


def card_agrees(path):
    """The report's card and recommend, both without options, name the same setting for each workload; the number of workloads."""
    page = subprocess.run([WATTLAW, "report", path, "--out", "page", "--formats", "html,csv", "--json"], capture_output=True, text=True, check=True)
    sentences = json.loads(page.stdout)["choice"]
    got = answer(path)
    answers = got.get("answers", [got])
    for best in answers:
        name, by = best["workload"], best["minimize"]
        card = next(s for s in sentences if len(answers) == 1 or s.startswith(f"{name}: "))
        interval = best["over_reference"][f"{by}_ratio_interval95"]
        own = best["choice"] == best["reference"]
        if not own and interval[1] >= 1:  # what may save nothing is not advised
            assert f"No setting is shown to be better than {best['reference']}: {best['choice']} may " in card, (card, best["choice"])
        elif f"No setting is shown to be better than {best['choice']}: " not in card or not own:
            assert f"use {best['choice']}: " in card, (card, best["choice"])
        assert "simulated" in card or not best["simulated"] or own, card
        # the limit is said in both
        limits = best["limits"]
        assert [limit["most"] for limit in limits] == ([1.1] if by == "energy" else []) and all(limit["default"] for limit in limits), limits
    text = run(path)[0]
    if any(best["limits"] for best in answers):
        says(text, "limit          --max-slowdown 10% (default)")
        with open("page/report.html", encoding="utf-8") as f:
            says(f.read(), "Least energy within 10&nbsp;% of the time of the same setting without a cap")
    return len(answers)


def one_rule():
    """What is asked where nothing else is: recommend and the card have one rule."""
    caps = write("caps.csv", rows(caps=(None, 100, 150)))
    paths = (caps, write("workers.csv", rows(caps=(150,))), write("workloads.csv", list(rows()) + list(rows(seed=2, workload="other"))),
             write("dark.csv", rows(energy_j="")), os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases/tokens.csv"), HUBER)
    for path in paths:
        card_agrees(path)
    assert answer("dark.csv")["minimize"] == "time"
    # a limit that was given, and what has time in it, stand for themselves
    ten = answer(caps, "--max-slowdown", "10%")
    assert not ten["limits"][0]["default"] and ten["choice"] == answer(caps)["choice"] != answer(caps, "--max-slowdown", "none")["choice"]
    for args, limits in ((("--max-slowdown", "none"), 0), (("--minimize", "time"), 0), (("--minimize", "edp"), 0), (("--deadline", "3h"), 1), (("--budget", "1MWh"), 1),
                         (("--minimize", "cost", "--price", ".3"), 1), (("--minimize", "cost", "--price", ".3", "--price-worker-hour", "2"), 0)):
        got = answer(caps, *args)["limits"]
        assert len(got) == limits and sum(limit["default"] for limit in got) == (args[-1] == ".3"), (args, got)
    # a setting whose slowdown is not known is not chosen, and the text says how it would be
    text = run(write("alone.csv", [r for r in rows(counts=(1, 2), caps=(None, 100)) if r["workers"] == 1 or r["power_cap_w"]]), "--where", "workers=2", status=1)[0]
    says(text, "its slowdown is not known", "default        --max-slowdown 10%: --max-slowdown none does without it")
    assert answer("alone.csv", "--where", "workers=2", "--max-slowdown", "none")["choice"] == "2 workers, cap 100 W"


def simulated_store():
    subprocess.run([FREY, "simulate", "frey.db", "--repeats", "2", "--max-workers", "4"], check=True, capture_output=True)
    text = run("frey.db", "--max-slowdown", "25%")[0]
    for name in ("bert", "dimenet", "inception3", "resnet50", "schnet", "vgg16"):
        says(text, f"{name} (simulated): Use ")
    args = ["--where", "workload=vgg16", "--max-slowdown", "25%", "--reference", "workers=4"]
    text = run("frey.db", *args)[0]
    says(text, "vgg16 (simulated): Use ", "MJ (", "simulated)", "less energy", "wattlaw sweep EXPERIMENT.ini --set sweep.workers=", "sweep.clock_mhz=")
    for line in text.splitlines():
        if "MJ" in line or "kJ" in line or "% less energy (" in line:
            assert "simulated" in line, line
    assert card_agrees("frey.db") == 6
    table = subprocess.run([WATTLAW, "export", "observations", "frey.db", "--out", "frey.csv"], capture_output=True, text=True, check=False)
    assert table.returncode == 0, table.stderr
    store, exported = answer("frey.db", *args), answer("frey.csv", *args)
    assert store["simulated"] and len(store["settings"]) == 18
    assert store["choice"] == exported["choice"] and store["runner_up"] == exported["runner_up"]
    for a, b in zip(store["settings"], exported["settings"]):
        assert a["setting"] == b["setting"] and abs(math.log(a["energy_j"] / b["energy_j"])) < 1e-9


def card_of_own_reference():
    """The report's card, where the choice is the reference itself, says what it saves over the setting that takes most."""
    got = answer(HUBER, "--max-slowdown", "10%")
    assert got["choice"] == got["reference"] and got["over_worst_interval95"][1] < 1, got["choice"]
    page = subprocess.run([WATTLAW, "report", HUBER, "--out", "huber", "--formats", "csv", "--json"], capture_output=True, text=True, check=True)
    card = json.loads(page.stdout)["choice"][0]
    less = f"{100 * (1 - got['over_worst']):.2g} % less energy than with {got['worst']}, which uses the most"
    assert less in card and "beyond that, nothing: it is the fastest" in card, (less, card)


def objectives():
    path = write("objectives.csv", rows(peak_power_w=lambda r: 1.2 * r["workers"] * (r["power_cap_w"] or 220)))
    assert answer(path, "--minimize", "time")["choice"] == "8 workers, cap 200 W"
    assert answer(path, "--minimize", "cost", "--price", ".3")["choice"] == answer(path)["choice"]
    assert answer(path, "--minimize", "carbon", "--country", "DE")["choice"] == answer(path)["choice"]
    dear = answer(path, "--minimize", "cost", "--price", ".3", "--price-worker-hour", "5")
    assert dear["choice"] == "1 worker, cap 200 W"
    half = answer(path, "--minimize", "cost", "--price-worker-hour", "5", "--charging-factor", ".5")
    assert abs(named(half, "1 worker, cap 200 W")["cost"] / (named(half, "1 worker, cap 200 W")["time_s"] / 3600 * 2.5) - 1) < 1e-9
    assert answer(path, "--minimize", "ed2p")["choice"] == "8 workers, cap 200 W"
    assert answer(path, "--minimize", "zeus", "--zeus-eta", "1")["choice"] == answer(path, "--max-slowdown", "none")["choice"]
    for args, what in ((("--minimize", "carbon"), "cannot minimize carbon: no carbon intensity is given"),
                       (("--minimize", "cost"), "cannot minimize cost: no price is given"),
                       (("--minimize", "cost", "--price-node-hour", "1"), "cannot minimize cost: the number of nodes was not recorded"),
                       (("--budget", "5EUR"), "--budget 5EUR: no price is given")):
        refused(what, path, *args)
    for args, what in ((("--zeus-eta", ".3"), "--zeus-eta requires --minimize zeus"), (("--max-power", "300"), "--max-power requires --minimize zeus or --policy"),
                       (("--charging-factor", "2", "--price", ".3"), "--charging-factor requires --price-worker-hour or --price-node-hour")):
        refused(what, path, *args, status=2)
    # work
    one, ninety = answer(path), answer(path, "--epochs", "90")
    assert abs(ninety["settings"][0]["time_s"] / one["settings"][0]["time_s"] - 90) < 1e-9 and ninety["work"] == "for 90 epochs"
    some = answer(path, "--samples", "640")
    assert abs(some["settings"][0]["energy_j"] / one["settings"][0]["energy_j"] - .1) < 1e-9
    # machine and site
    got = answer(path, "--minimize", "time", "--node-size", "4", "--where", "power_cap_w=..150")
    assert got["choice"] == "8 workers, cap 150 W"
    assert named(got, "2 workers, cap 100 W")["excluded"] == "2 workers: not a multiple of --node-size 4"
    assert named(got, "8 workers, cap 200 W")["excluded"] == "not --where power_cap_w=..150"
    got = answer(path, "--minimize", "time", "--site-power", "1kW")
    assert got["choice"] == "8 workers, cap 100 W" and named(got, got["choice"])["peak_power_from"] == "measured"
    says(named(got, "8 workers, cap 150 W")["excluded"], "peak 1.44 kW is above --site-power 1 kW")
    got = answer(write("no_peak.csv", rows()), "--minimize", "time", "--site-power", "1.2kW")
    assert got["choice"] == "8 workers, cap 150 W" and named(got, got["choice"])["peak_power_from"] == "cap"
    big = write("big.csv", rows(batches=(32, 128), peak_memory_bytes=lambda r: "" if r["workers"] == 1 else 1e8 * r["local_batch"]))
    got = answer(big, "--device-memory", "8")
    assert {s["values"]["local_batch"] for s in got["settings"] if not s["excluded"]} == {32}
    assert named(got, "8 workers, local batch 128, cap 200 W")["excluded"] == "12.8 GB of memory are above --device-memory 8 GB"
    assert named(got, "1 worker, local batch 32, cap 200 W")["excluded"] == "its memory was not measured, for --device-memory"
    got = answer(path, "--global-batch", "128")
    assert [s["values"]["workers"] for s in got["settings"] if not s["excluded"]] == [4, 4, 4]


def target():
    def epochs(batch):
        return round(20 * (1 + batch / 256))

    def table(batches=(32, 128), reach=True):
        for row in rows(batches=batches, repeats=3, epochs=1):
            last = epochs(row["global_batch"]) if reach else 5
            for k in range(1, last + 1):
                yield dict(row, epoch=k, metric="val_top1", metric_value=.8 * k / epochs(row["global_batch"]))
    path = write("target.csv", table())
    got = answer(path, "--target", "val_top1=0.8")
    assert got["work"] == "to val_top1 = 0.8"
    for s in got["settings"]:
        n, b = s["values"]["workers"], s["values"]["local_batch"]
        want = truth(n, s["values"]["power_cap_w"], b)[0] * epochs(n * b)
        assert abs(math.log(s["time_s"] / want)) < .06, (s["setting"], s["time_s"], want)
    assert named(answer(path), "1 worker, local batch 128, cap 200 W")["time_s"] < named(answer(path), "1 worker, local batch 32, cap 200 W")["time_s"]
    with open("epochs.csv", "w", encoding="utf-8") as f:
        f.write("global_batch,epochs\n512,60\n32,20\n")
    got = answer(path, "--target", "val_top1=0.8", "--epochs-table", "epochs.csv")
    s = named(got, "4 workers, local batch 32, cap 200 W")
    assert abs(math.log(s["time_s"] / (truth(4, 200)[0] * 20 * 3**.5))) < .01
    says(named(got, "8 workers, local batch 128, cap 200 W")["excluded"], "global batch 1024 is not within --epochs-table")
    refused("no epoch has the metric val_top; did you mean val_top1?", path, "--target", "val_top=0.8")
    refused("no run reaches val_top1 = 0.95", path, "--target", "val_top1=0.95")
    refused("--epochs-table requires --target", path, "--epochs-table", "epochs.csv", status=2)
    with open("bad_epochs.csv", "w", encoding="utf-8") as f:
        f.write("global_batch,epochs\n512,-1\n")
    refused("bad_epochs.csv:2: global_batch 512, epochs -1: expected positive numbers", path, "--target", "val_top1=0.8", "--epochs-table", "bad_epochs.csv")


def infeasible():
    path = write("known.csv", rows())
    text = run(path, "--deadline", "5s", status=1)[0]
    says(text, "No setting of 12 meets the limits", "binding        --deadline 5", "nearest        8 workers, cap 200 W", "would do       17.")
    got = answer(path, "--deadline", "5s", status=1)
    assert got["choice"] is None and got["binding"].startswith("--deadline") and got["nearest"] == "8 workers, cap 200 W"
    needed = got["limits"][0]["needed"]
    assert answer(path, "--deadline", f"{needed * 1.001}")["choice"] == got["limits"][0]["needed_by"]
    # contradictory: each can be met, both cannot
    both = ("--deadline", "20s", "--budget", "20kJ")
    for part in (both[:2], both[2:]):
        answer(path, *part)
    got = answer(path, *both, status=1)
    assert got["choice"] is None and all(limit["needed"] > limit["most"] for limit in got["limits"])
    says(run(path, *both, status=1)[0], "would do")
    got = answer(path, "--where", "workers=3", status=1)
    assert got["nearest"] is None and got["binding"] is None
    says(run(path, "--where", "workers=3", status=1)[0], "excluded       1 worker, cap 100 W: not --where workers=3")
    refused("the low end is above the high end", path, "--where", "workers=16..4", status=2)


def poor_data():
    got = answer(write("one.csv", rows(counts=(4,), caps=(150,))))
    assert got["choice"] == "4 workers" and any("nothing to choose from" in note for note in got["notes"])
    says(run("one.csv")[0].splitlines()[0], "One setting was measured, 4 workers: wattlaw sweep measures others to choose from.")
    got = answer(write("single.csv", rows(counts=(4,), caps=(150,), repeats=1, epochs=1)))
    assert got["choice"] == "4 workers"
    got = answer(write("caps.csv", rows(counts=(4,), caps=(None, 100, 150, 200))), "--max-slowdown", "15%")
    assert got["reference"] == "4 workers, no power cap" and any("one worker count was measured (4)" in note for note in got["notes"])
    got = answer(write("once.csv", rows(repeats=1)))
    assert got["choice"] and any("repeat at least one setting" in note for note in got["notes"])
    path = write("no_energy.csv", rows(energy_j=""))
    refused("no_energy.csv: cannot minimize energy: no energy was measured", path, "--minimize", "energy")
    assert answer(path, "--minimize", "time")["choice"] == "8 workers, cap 200 W"
    says(run(path, "--minimize", "time")[0], "the least expected time of 12 settings")
    path = write("estimated.csv", rows(estimated=1))
    for line in run(path, "--max-slowdown", "20%")[0].splitlines():
        if " kJ" in line or "less energy" in line:
            assert "estimated" in line, line
    assert answer(path)["estimated"]
    # a run under two labels, runs of unlike work
    twice = [dict(r, run=label) for r in rows() for label in ([r["run"], "again"] if r["run"] == 2 else [r["run"]])]
    got = answer(write("twice.csv", twice))
    assert all(s["runs"] == 2 for s in got["settings"]) and any("excluded: 12 runs that have the same time" in note for note in got["notes"])
    got = answer(write("unlike.csv", rows(samples=lambda r: 3200 * r["run"], time_s=lambda r: r["time_s"] * r["run"])))
    assert any("12 settings have runs whose epochs differ in their samples" in note for note in got["notes"])
    # unknown samples, weak scaling
    assert any("samples of epochs are not known" in note for note in answer(write("no_samples.csv", rows(samples="")))["notes"])
    weak = answer(write("weak.csv", rows(samples=lambda r: 6400 * r["workers"])))
    assert weak["work"] == "for 51200 samples" and any("differ in their samples" in note for note in weak["notes"])
    # names are chosen among
    half = [dict(r, workload="net", time_s=r["time_s"] * (.8 if r["run"] > 2 else 1)) for r in rows(repeats=4)]
    with open("names.csv", "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f)
        out.writerow(COLUMNS[:10] + ["precision"])
        out.writerows([[r[c] for c in COLUMNS[:10]] + ["bf16" if r["run"] > 2 else "f32"] for r in half])
    assert answer("names.csv", "--minimize", "time")["choice"] == "8 workers, cap 200 W, bf16"
    assert answer("names.csv", "--minimize", "time", "--where", "precision=f32")["choice"] == "8 workers, cap 200 W, f32"


def bad_input():
    path = write("known.csv", rows())
    for args, part in ((("--max-slowdown", "ten"), "--max-slowdown ten: expected a percentage"),
                       (("--budget", "200"), '--budget 200: unknown unit ""'), (("--budget", "200kwh"), '--budget 200kwh: unknown unit "kwh"'),
                       (("--budget", "-5kWh"), "--budget -5kWh: expected a positive number"),
                       (("--site-power", "40"), "--site-power 40: expected a positive number with W, kW or MW"),
                       (("--where", "workers"), "--where workers: expected COLUMN=VALUE"),
                       (("--where", "workers=a..b"), "expected LOW..HIGH with numbers"),
                       (("--probability", "1.5"), "1.5"), (("--minimise", "time"), "did you mean --minimize"),
                       (("--epochs", "3", "--samples", "5"), "give one of --epochs, --samples, --tokens and --target"), (("more.csv",), "expected one store")):
        refused(part, path, *args, status=2)
    refused('did you mean "workers"', path, "--where", "worker=3")
    refused("--reference", path, "--reference", "workers=7")
    refused("nowhere.csv", "nowhere.csv")
    refused("no run with a positive time", write("bad.csv", [dict(r, time_s=-1) for r in rows()]))
    refused("matches --where workload", path, "--where", "workload=other")
    done = subprocess.run([WATTLAW, "measure", "--store", "failed.db", "--sensors", "null", "--", "false"], capture_output=True, text=True, check=False)
    assert done.returncode, done
    refused("no run is done yet", "failed.db")


def rows_that_do_not_count():
    """What cannot be measured is left out and counted: caps of 0 and -1 W, times and worker counts that are not positive."""
    good, more = list(rows()), list(rows(counts=(2,), caps=(150,), repeats=1))
    bad = [dict(r, power_cap_w=cap, run=f"{cap}") for r in more for cap in (0, -1)] + [dict(r, time_s=-1, run="t") for r in more]
    bad += [dict(r, workers=1e-320, run="w") for r in more]
    alone, both = answer(write("good.csv", good)), answer(write("mixed.csv", good + bad))
    assert both["choice"] == alone["choice"] and len(both["settings"]) == len(alone["settings"]), both
    text = run("mixed.csv")[0]
    says(text, "excluded: 6 rows without a positive time and worker count", "excluded: 2 runs with a power cap or clock that is not from 1 to 100000 W or MHz")
    # numbers that are positive but cannot be real
    huge = [dict(r, power_cap_w=cap, run=cap) for r in more for cap in ("1e308", "1e-308")] + [dict(r, time_s=t, run=t) for r in more for t in ("1e308", "1e-308")]
    huge += [dict(r, energy_j=j) for r, j in zip(more, ("1e308", "-1", "1e-308"))]
    good = list(rows(counts=(1, 4)))
    write("huge.csv", good + huge)
    for objective in ("energy", "time", "edp", "ed2p", "zeus"):
        got = answer("huge.csv", "--minimize", objective)
        assert "2 workers" in {s["setting"].split(",")[0] for s in got["settings"]}
        says("\n".join(got["notes"]), "excluded: 6 rows without a positive time", "excluded: 3 energies that are not from 1e-09 to 1e+18 J", "excluded: 2 runs with a power cap")
    refused("no row has workers; --map workers=COLUMN names their column", write("no_workers.csv", [dict(r, workers="") for r in good]))
    refused("no run with a positive time and worker count and caps that can be set", write("all_huge.csv", [dict(r, power_cap_w=f"1e30{r['run']}") for r in good]))
    says(run("good.csv", "--where", "workers=99", status=1)[0], "None of 12 settings may be chosen")


def caps_that_never_acted():
    """Power caps and clocks are named apart; one run in which the cap acted is enough."""
    acted = {100: (0, 100), 150: (100, 100), 200: (0, 0)}  # in run 1 and 2
    path = write("acted.csv", rows(clock_mhz=lambda r: 1410 - 400 * (r["power_cap_w"] == 100),
                                   clock_acted_pct=lambda r: 100 * (r["power_cap_w"] != 150),
                                   power_cap_acted_pct=lambda r: acted[r["power_cap_w"]][r["run"] - 1]))
    found = {s["values"]["power_cap_w"]: s["never_acted"] for s in answer(path)["settings"]}
    assert found == {100: [], 150: ["clock"], 200: ["power cap"]}, found
    says(run(path)[0], "clock never acted", "power cap never acted")


def peaks_of_a_store():
    """The peak of a run is the sum of its devices' highest readings, not of their means, nor the caps."""
    with open("power.csv", "w", encoding="utf-8") as f:
        f.write("t_s,device,quantity,value\n0,gpu0,power_w,100\n0.1,gpu0,power_w,300\n0.4,gpu0,power_w,300\n0.45,gpu0,power_w,60\n600,gpu0,power_w,60\n")
        f.write("0,gpu1,power_w,80\n600,gpu1,power_w,80\n")
    job = ("import os, time\nwith open(os.environ['WATTLAW_MARKS'], 'a') as f:\n"
           "    f.write(f'{time.monotonic_ns()} 0 start workload=net workers=2\\n')\ntime.sleep(1)")
    done = subprocess.run([WATTLAW, "measure", "--store", "peaks.db", "--sensors", "replay", "--replay-file", "power.csv", "--rate-hz", "50", "--",
                           sys.executable, "-c", job], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    s = named(answer("peaks.db"), "2 workers")
    mean = s["energy_j"] / s["time_s"]
    assert s["peak_power_from"] == "measured" and mean + 50 < s["peak_power_w"] <= 380, (s["peak_power_w"], mean)
    assert answer("peaks.db", "--site-power", "400W")["choice"] == "2 workers"
    says(run("peaks.db", "--site-power", f"{mean + 20:.0f}W", status=1)[0], "excluded       2 workers: peak ", "is above --site-power")


def hostile_names():
    """A name of a file that another person wrote is one word of the command line that runs the choice."""
    bad = "fast; touch stolen"
    table = list(rows(caps=(150,), precision="bf16")) + [dict(r, time_s=r["time_s"] / 2) for r in rows(caps=(150,), precision=bad)]
    got = answer(write("hostile.csv", table), "--minimize", "time")
    assert any(bad in word for word in shlex.split(got["command"])), got["command"]


def many_workloads():
    """Time and memory grow with the rows, not with their square."""
    table = [dict(r, workload=f"w{k}") for k in range(200) for r in two_runs([({"power_cap_w": 200}, 113 + k, 20e3), ({"power_cap_w": 300}, 100 + k, 27e3)])]
    path = write("many.csv", table)
    for args in (("--json",), ("--policy", path, "--max-slowdown", "15%")):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = run(*(args if path in args else (path, *args)))[0]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        assert seconds < 2, f"{args}: {seconds} s of processor time for 200 workloads"
        assert "w199" in out or "200 measured jobs" in out, out[:400]
    assert used.ru_maxrss < 400e3, f"{used.ru_maxrss} kB"


def size():
    path = write("large.csv", rows(counts=[1 << i for i in range(10)], caps=range(100, 250, 15), batches=(16, 64, 256), epochs=1))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    got = answer(path, "--max-slowdown", "20%")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    assert len(got["settings"]) == 300
    assert seconds < 2, f"{seconds} s of processor time for 300 settings"


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for test in (known_truth, own_reference, reference_of_caps, several_workloads, names_of_workloads, one_rule, simulated_store, card_of_own_reference, objectives, target, infeasible, poor_data, bad_input, rows_that_do_not_count, caps_that_never_acted, peaks_of_a_store, hostile_names):
        test()
    if os.environ.get("TEST_SANITIZER", "none") == "none":  # an instrumented program shows no time or memory
        many_workloads()
        size()
