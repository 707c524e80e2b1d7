#!/usr/bin/env python3
"""wattlaw export in every format but the bundle: formats.py WATTLAW

Each text is read back by a checker of its own format, and its numbers are those of the store."""
import csv
import io
import json
import os
import sys
import tempfile

import checkers
from stores import NASTY, Program, check, make_nasty, make_store

FIELDS = ["task.taskFamily=image classification", "task.dataset.dataType=image", "infrastructure.infraType=onPremise"]


def rows(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def observations_are_read_back(program):
    """CSV -> the reader of wattlaw -> the same CSV, to the byte; hostile names, too."""
    for store in ("lab.db", "nasty.db"):
        first = program.run("export", "observations", store)
        with open(os.path.join(program.folder, "o.csv"), "w", encoding="utf-8", newline="") as f:
            f.write(first)
        check(program.run("export", "observations", "o.csv") == first, "not the same after reading", store)
        check(program.run("export", "--format=csv-wide", store) == first == program.run("export", store))
        said = [{k: v for k, v in row.items() if v != ""} for row in rows(first)]
        lines = [json.loads(line) for line in program.run("export", "--format=jsonl", store).splitlines()]
        check([set(line) for line in lines] == [set(row) for row in said], "columns of JSON Lines")
        for line, row in zip(lines, said):
            for key, value in line.items():
                text = row[key][1:] if row[key].startswith("'") else row[key]
                check(value == float(text) if isinstance(value, (int, float)) else value == text, key, value, row[key])


def long_form_has_each_value(program):
    wide, long = rows(program.run("export", "lab.db")), rows(program.run("export", "--format=csv-long", "lab.db"))
    check(list(long[0])[-5:] == ["quantity", "unit", "value", "estimated", "simulated"], list(long[0]))
    found = {(row["run"], row["epoch"], row["quantity"]): (float(row["value"]), row["unit"]) for row in long}
    check(len(found) == len(long), "a value twice")
    for row in wide:
        at = (row["run"], row["epoch"])
        check(found[(*at, "time_s")] == (float(row["time_s"]), "s") and found[(*at, "energy_j")] == (float(row["energy_j"]), "J"))
        check(found[(*at, row["metric"])] == (float(row["metric_value"]), ""), row["metric"])
        check((*at, "idle_j") not in found, "a missing value has a line")
    check(all(row["workers"] and row["size"] == "tiny" for row in long), "settings are keys")


def wide_samples_are_the_long_ones(program):
    long = [row for row in rows(program.run("export", "samples", "lab.db"))]
    wide = rows(program.run("export", "samples", "--format=csv-wide", "lab.db"))
    check(list(wide[0]) == ["run", "t_s", "GPU-0 gpu power_w instant", "GPU-0 gpu sm_util_pct"], list(wide[0]))
    check("" in [r["value"] for r in long], "a failed reading")
    check([(r["run"], r["t_s"], r["value"] or "NaN") for r in long] == [(r["run"], r["t_s"], r["GPU-0 gpu power_w instant"]) for r in wide])


def tables_are_for_papers(program):
    text = program.run("export", "--format=md", "lab.db")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    check(len(lines) == 2 + 4 and len({line.count("|") for line in lines}) == 1, text)
    check("energy_j (J)" in text.replace("\\", "") and "idle_j" not in text.replace("\\", ""), text)
    text = program.run("export", "--format=tex", "lab.db")
    check(text.count("\\\\") == 5 and "\\toprule" in text and "energy\\_j" in text, text)
    check("\x1b" not in program.run("export", "--format=md", "nasty.db"))


def metrics_are_openmetrics(program):
    samples = checkers.openmetrics(program.run("export", "--format=openmetrics", "lab.db"))

    def value(name, **labels):
        found = [v for (n, pairs), v in samples.items() if n == "wattlaw_" + name and labels.items() <= dict(pairs).items()]
        check(len(found) == 1, name, labels, found)
        return found[0]

    check(value("run_energy_joules", run="1", provenance="measured") == 250 and value("run_duration_seconds", run="2") == 3)
    check(value("run_mean_power_watts", run="1") == 125 and value("run_start_time_seconds", run="1") == 1700000000)
    check(value("epoch_energy_joules", run="1", epoch="2", provenance="measured") == 130)
    check(value("epoch_metric", run="1", epoch="1", metric="val_top1") == .25)
    check(value("device_energy_joules", run="2", device="GPU-0", method="counter", counted="true") == 250)
    check(value("run_info", run="2", campaign="lab1", workload="resnet50", workers="2", local_batch="16", size="tiny", status="done") == 1)
    check(not any(n == "wattlaw_run_energy_lower_joules" for n, _ in samples), "a missing value has a sample")
    check(not any(("run", "3") in pairs for _, pairs in samples), "a failed run")
    nasty = checkers.openmetrics(program.run("export", "--format=openmetrics", "--run=9", "forged.db"))
    info = dict(next(pairs for name, pairs in nasty if name == "wattlaw_run_info"))
    check(info["workload"] == NASTY and info["a_b"] == "x" and info["a_b_2"] == "y" and info["run"] == "9" and info["run_2"] == "mine", info)
    check(info["setting_9"] == "z" and info["setting___name__"] == "n", info)


def traces_open(program):
    events = checkers.trace(program.run("export", "--format=trace", "lab.db"))
    at = {(e["pid"], e["name"]): e for e in events if e["ph"] == "X"}
    check(at[1, "run 1"]["ts"] == 0 and at[1, "run 1"]["dur"] == 3e6 and at[1, "run 1"]["args"]["energy_j"] == 250, at[1, "run 1"])
    check(at[1, "epoch 2"]["ts"] == 1100000 and at[1, "epoch 2"]["dur"] == 1e6 and at[1, "epoch 2"]["args"]["energy_j"] == 130)
    phases = [(e["name"], e["ts"], e["dur"]) for e in events if e.get("cat") == "phase"]
    check(sorted(phases) == [("input", 300000, 200000), ("load", 200000, 200000), ("load", 1200000, 100000)], phases)
    power = [(e["ts"], e["args"]["W"]) for e in events if e["ph"] == "C" and e["pid"] == 1]
    check(power == [(0, 100), (2000000, 150.5)], "the failed reading is a gap", power)
    check({e["pid"] for e in events} == {1, 2})
    checkers.trace(program.run("export", "--format=trace", "nasty.db"))


def zeus_windows(program):
    text = program.run("export", "--format=zeus", "lab.db")
    check(text.splitlines()[0] == "start_time,window_name,elapsed_time,gpu0_energy", text)
    found = [(row["window_name"], float(row["start_time"]), float(row["elapsed_time"]), float(row["gpu0_energy"])) for row in rows(text)]
    check(found == [("run1_epoch1", 1.1, 1, 120), ("run1_epoch2", 2.1, 1, 130), ("run2_epoch1", 1.1, .5, 120), ("run2_epoch2", 2.1, .5, 130)], found)
    check("run1_epoch1_simulated" in program.run("export", "--format=zeus", "simulated.db"))
    program.run("export", "--format=zeus", "--run=9", "nasty.db", status=1)  # no energy of a GPU


def benchmarks(program):
    found = {b["name"]: b for b in json.loads(program.run("export", "--format=github-action-benchmark", "repeated.db"))}
    for b in found.values():
        check(set(b) <= {"name", "unit", "value", "range", "extra"} and isinstance(b["value"], (int, float)) and b["unit"] in ("s", "J"), b)
    one = found["resnet50 hardware=V100 workers=1 local_batch=16 size=tiny: energy of a run"]
    check(one["value"] == 200 and one["range"] == "± 70.71" and one["extra"] == "mean of 2 runs: 1, 4", one)
    check("range" not in found["resnet50 hardware=V100 workers=2 local_batch=16 size=tiny: energy of a run"])
    names = [b["name"] for b in json.loads(program.run("export", "--format=github-action-benchmark", "simulated.db"))]
    check(any(name.endswith("energy of a run (simulated)") for name in names), names)


def boamps_reports(program):
    given = [word for field in FIELDS for word in ("--field", field)]
    text = program.run("export", "--format=boamps", "--run=1", *given, "lab.db", env={"SOURCE_DATE_EPOCH": "1700000000"})
    report = checkers.boamps(json.loads(text))
    measure = report["measures"][0]
    check(abs(measure["powerConsumption"] * 3.6e6 - 250) < 1e-9 and measure["measurementDuration"] == 3 and measure["gpuTrackingMode"] == "nvml")
    check(measure["averageUtilizationGpu"] == .88 and measure["measurementDateTime"] == "2023-11-14 22:13:20", measure)
    check(report["header"]["reportDatetime"] == "2023-11-14 22:13:20" and report["task"]["dataset"][0]["dataQuantity"] == 640)
    check(report["infrastructure"]["components"] == [{"componentName": "V100", "componentType": "gpu", "nbComponent": 1}], report)
    more = [*given, "--field=environment.country=Germany", "--field=header.publisher.name=Lab", "--field=software.language=python",
            "--field=task.algorithms.parametersNumber=0.025", "--field=header.reportStatus=final"]
    checkers.boamps(json.loads(program.run("export", "--format=boamps", "--run=1", *more, "lab.db")))
    error = program.run("export", "--format=boamps", "--run=1", "lab.db", status=1)
    check(all(name.split("=")[0] in error for name in FIELDS), error)
    check("one of" in program.run("export", "--format=boamps", "--run=1", *given, "--field=header.reportStatus=done", "lab.db", status=2))
    check("taskFamily" in program.run("export", "--format=boamps", "--field=task.taskFamly=x", "lab.db", status=2), "did you mean")
    check("--run" in program.run("export", "--format=boamps", *given, "lab.db", status=2), "of one run")


def wrong_use_is_refused(program):
    for arguments, words in [(["--format=trace", "samples", "lab.db"], "leave out"), (["--format=md", "samples", "lab.db"], "only --format csv"),
                             (["--format=trace", "--field=a=b", "lab.db"], "has no fields"), (["--format=csv", "--field=a=b", "lab.db"], "has no fields"),
                             (["--format=trace", "--map=a=b", "lab.db"], "--map"), (["--run=1", "lab.db"], "--run"), (["--format=xml", "lab.db"], "xml")]:
        error = program.run("export", *arguments, status=2)
        check(words in error, arguments, error)
    check("no run 77" in program.run("export", "--format=trace", "--run=77", "lab.db", status=1))
    check("flagged" in program.run("export", "--format=openmetrics", "flagged.db", status=1))
    checkers.openmetrics(program.run("export", "--format=openmetrics", "--run=1", "flagged.db"))
    for name in ("openmetrics", "trace", "zeus"):
        check(program.run("export", "--format=" + name, "lab.db", "-o", "/dev/full", status=1), name)


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        program = Program(sys.argv[1], folder)
        at = lambda name: os.path.join(folder, name)  # noqa: E731
        make_store(at("lab.db"))
        make_nasty(at("nasty.db"))
        make_nasty(at("forged.db"), ', "run": "mine"')  # an axis that no campaign may have
        make_store(at("simulated.db"), "UPDATE energy SET simulated = 1")
        make_store(at("flagged.db"), "DROP TRIGGER run_closed", "UPDATE run SET flag = 'warm' WHERE status = 'done'")
        make_store(at("repeated.db"), "CREATE TEMP TABLE r AS SELECT * FROM run WHERE id = 1", "UPDATE r SET id = 4, repeat = 5",
                   "INSERT INTO run SELECT * FROM r", "INSERT INTO actual(run, hardware) VALUES (4, 'V100')",
                   "INSERT INTO energy(run, device, scope, method, energy_j, mean_power_w, coverage, chosen) VALUES (4, 1, 'gpu', 'counter', 150, 50, 1, 1)")
        for test in (observations_are_read_back, long_form_has_each_value, wide_samples_are_the_long_ones, tables_are_for_papers,
                     metrics_are_openmetrics, traces_open, zeus_windows, benchmarks, boamps_reports, wrong_use_is_refused):
            test(program)
    print("formats: passed")


main()
