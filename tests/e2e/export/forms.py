#!/usr/bin/env python3
"""wattlaw report --form: numbers are those of the runs that it names, what is missing says so: forms.py WATTLAW"""
import os
import re
import sys
import tempfile

from stores import NASTY, Program, check, make_nasty, make_store

KWH = 3.6e6


def form(program, name, *arguments, store="lab.db", status=0):
    return program.run("report", "--form", name, *arguments, store, status=status)


def table(text):
    """Rows of the first Markdown table, each {heading: cell}."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    heads = [head.strip() for head in lines[0]]
    return [dict(zip(heads, (cell.strip() for cell in line))) for line in lines[2:]]


def proposal(program):
    text = form(program, "proposal")
    rows = table(text)
    check([row["workers"] for row in rows] == ["1", "2"] and [float(row["time (s)"]) for row in rows] == [1, .5], rows)
    check(float(rows[1]["speed-up"]) == 2 and float(rows[1]["parallel efficiency (%)"]) == 100 and rows[1]["95 % from"] == "", rows)
    check([row["runs"] for row in rows] == ["1", "2"] and float(rows[0]["energy (J)"]) == 130, rows)
    for words in ("Strong scaling", "1 x V100 (nvml)", "wattlaw 0.1.0", "2023-11-14", "runs 1 to 2", "1 other run of the store", "Missing, for the author",
                  "0.0025 worker-hours"):  # 3 s of 1 worker and 3 s of 2
        check(words in text, words, text)


def model_card(program):
    text = form(program, "model-card", "--run=1", "--carbon=400", "--carbon-source=\"x\": y", "--pue=1.5", "--field", "training_type=fine-tuning")
    lines = text.splitlines()
    check(lines[0] == lines[-1] == "---" and "co2_eq_emissions:" in lines, text)
    values = dict(line.strip().split(": ", 1) for line in lines if line.startswith("  ") and not line.startswith("  #"))
    check(abs(float(values["emissions"]) - 250 / KWH * 400 * 1.5) < 1e-6, values)
    check(values["training_type"] == '"fine-tuning"' and values["hardware_used"] == '"1 x V100 (nvml)"', values)
    check("geographical_location: missing" in text and "run 1" in values["source"] and '\\"x\\": y' in values["source"], text)
    check(all(re.fullmatch(r'(---|# .*|co2_eq_emissions:|  (# )?\w+: .*)', line) for line in lines), text)
    both = form(program, "model-card", "--carbon=400", "--carbon-source=x")
    check("emissions: %.6g\n" % (500 / KWH * 400) in both and "runs 1 to 2" in both and "Not counted: 1 other run" in both, both)
    check("(simulated)" in form(program, "model-card", "--carbon=400", "--carbon-source=x", store="simulated.db"))
    check("carbon intensity" in form(program, "model-card", status=1))
    check("run 2 has no energy" in form(program, "model-card", "--carbon=400", "--carbon-source=x", store="partly.db", status=1))


def ai_act(program):
    text = form(program, "ai-act", "--pue=1.5")
    for words in ("Floating-point operations: missing", "Training time: 0.00166667 h", "Worker-hours: 0.0025", "139 mWh, measured (runs 1 to 2)",
                  "effectiveness of 1.5: 208 mWh", "Inference: missing", "1 other run"):
        check(words in text, words, text)
    check("1e18 (given by the author" in form(program, "ai-act", "--field", "floating_point_operations=1e18"))
    check("cooling and conversion: missing" in form(program, "ai-act"))
    simulated = form(program, "ai-act", store="simulated.db")
    check("simulated" in simulated and "measured (runs" not in simulated, simulated)
    partly = form(program, "ai-act", store="partly.db")
    check("69.4 mWh" in partly and "Missing in this sum: run 2" in partly, partly)
    none = form(program, "ai-act", store="none.db")
    check("missing: no run has an energy (runs 1 to 2)" in none and "kWh" not in none and "mWh" not in none, none)


def artifact(program):
    text = form(program, "artifact", "--field", "contribution=It scales", "--field", "artifact_url=https://doi.org/x")
    for words in ("C1: It scales", "Where: https://doi.org/x. License: missing", "    wattlaw-train resnet50\n", "Artifact execution: 0.1 minutes",
                  "Expected results", "Missing, for the author: how A1 supports C1"):
        check(words in text, words, text)


def hostile_names_are_text(program):
    for name, options in (("proposal", []), ("artifact", []), ("ai-act", ["--run=1"]), ("model-card", ["--run=1", "--carbon=1", "--carbon-source=" + NASTY])):
        text = form(program, name, *options, store="nasty.db")
        check("\x1b" not in text and "\u202e" not in text, name, text)


def wrong_use_is_refused(program):
    for arguments, words in [(["--form=proposl", "lab.db"], "proposl"), (["--form=proposal", "--out=x", "lab.db"], "--out"),
                             (["--form=proposal", "--field", "a=b", "lab.db"], "no fields"), (["--form=artifact", "--field", "licence=b", "lab.db"], "license"),
                             (["--field", "a=b", "lab.db"], "--form"), (["--form=proposal", "o.csv"], "needs a store")]:
        check(words in program.run("report", *arguments, status=2), arguments)
    check("no run 77" in form(program, "ai-act", "--run=77", status=1))
    check("compares runs" in form(program, "proposal", "--run=1", status=2))
    for name in ("ai-act", "model-card"):
        check("several workloads" in form(program, name, "--carbon=1", "--carbon-source=x", store="nasty.db", status=1))
    check("runs 1 to 2" in form(program, "ai-act", "--campaign=lab1") and "lab" in form(program, "ai-act", "--campaign=lab", status=1))


def main():
    with tempfile.TemporaryDirectory(prefix="wattlaw-e2e-") as folder:
        program = Program(sys.argv[1], folder)
        make_store(os.path.join(folder, "lab.db"))
        make_nasty(os.path.join(folder, "nasty.db"))
        make_store(os.path.join(folder, "simulated.db"), "UPDATE energy SET simulated = 1")
        make_store(os.path.join(folder, "partly.db"), "UPDATE energy SET energy_j = NULL WHERE run = 2")
        make_store(os.path.join(folder, "none.db"), "UPDATE energy SET energy_j = NULL")
        program.run("export", "lab.db", "-o", "o.csv")
        for test in (proposal, model_card, ai_act, artifact, hostile_names_are_text, wrong_use_is_refused):
            test(program)
    print("forms: passed")


main()
