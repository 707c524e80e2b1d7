#!/usr/bin/env python3
"""The report of a CSV file of jobs without epochs, whose work is tokens: csv_file.py WATTLAW

Runs of unlike length are compared by the same work, nothing on the page calls that an epoch, and names that the columns carry
(labels of runs, unit and direction of the metric, precision) are on it. Of scattered runs the page says where the joint model and
the ratio of raw means disagree.
"""
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile

HEAD = "workload,workers,local_batch,run,epoch,time_s,energy_j,samples,updates,tokens,metric,metric_value,metric_unit,metric_better,precision"
TOKENS = {"night-a": 4e6, "night-b": 16e6}
PER_TOKEN_S = {1: {"night-a": 5e-6, "night-b": 5.2e-6}, 4: {"night-a": 1.5e-6, "night-b": 1.4e-6}}
WATTS = 300


def write(path):
    with open(path, "w") as f:
        f.write(HEAD + "\n")
        for workers, times in PER_TOKEN_S.items():
            for run, tokens in TOKENS.items():
                seconds = times[run] * tokens
                f.write(f"gpt,{workers},8,{run},,{seconds:.10g},{WATTS * workers * seconds:.10g},{tokens / 1024:.0f},"
                        f"{tokens / 8192 / workers:.6g},{tokens:.0f},elbo,-1.5,nats,larger,bf16\n")


def report(program, *arguments, status=0):
    done = subprocess.run([program, "report", *arguments], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done


def page_text(path):
    """Words of the page but for the definitions of formulas, which speak of epochs, and what is not shown."""
    with open(path) as f:
        page = f.read()
    page, figures = re.subn(r'<section id="metrics">.*?</section>', "", page, flags=re.S)[0], page
    page = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S)
    data = json.loads(re.search(r'id="figures">(.*?)</script>', figures, re.S).group(1))
    return re.sub(r"<[^>]*>", " ", page), data


def near(value, expected, what):
    assert math.isclose(float(value), expected, rel_tol=1e-6), (what, value, expected)


def check_tokens(program, folder):
    out = os.path.join(folder, "tokens")
    report(program, os.path.join(folder, "jobs.csv"), "--work", "tokens", "--formats", "html,csv", "--out", out)
    with open(os.path.join(out, "tables", "configurations.csv")) as f:
        rows = {int(row["workers"]): row for row in csv.DictReader(f)}
    for workers, times in PER_TOKEN_S.items():
        mean = math.sqrt(math.prod(times.values()))
        near(rows[workers]["time_s"], 1e9 * mean, "time of 10^9 tokens")
        near(rows[workers]["j_per_token"], WATTS * workers * mean, "J per token")
        assert rows[workers]["runs"] == "2", rows[workers]
    text, figures = page_text(os.path.join(out, "report.html"))
    titles = {f["id"]: (f["title"], f["y"]["title"]) for f in figures}
    assert titles["epoch-time"] == ("Time of 10^9 tokens against workers", "time of 10^9 tokens [s]"), titles
    assert titles["trade-off-gpt"][1] == "energy for 10^9 tokens [J]", titles
    assert titles["quality-elbo"][1] == "elbo [nats]", titles
    said = [m.group(0) for m in re.finditer(r".{30}\bepochs?\b.{30}", text) if "in formulas" not in m.group(0)]
    said += [s for f in figures for s in (f["title"], f["x"]["title"], f["y"]["title"], f["caption"] or "") if "epoch" in s]
    assert not said, said
    notes = next(f for f in figures if f["id"] == "epoch-time")["series"][0]["notes"]
    assert notes[0] == "run night-a", notes
    with open(os.path.join(out, "tables", "runs.csv")) as f:
        first = next(csv.DictReader(f))
    near(first["time_s"], 20, "a run lasts as long as it did")
    assert (first["label"], first["precision"], first["metric_unit"]) == ("night-a", "bf16", "nats"), first


def check_without(program, folder):
    """Whole runs are named so, and a refusal says what is missing."""
    jobs = os.path.join(folder, "jobs.csv")
    page = json.loads(report(program, jobs, "--formats", "md", "--out", os.path.join(folder, "runs"), "--json").stdout)
    assert any("No run has epochs" in w and "--work tokens" in w for w in page["warnings"]), page["warnings"]
    with open(jobs) as f, open(os.path.join(folder, "plain.csv"), "w") as g:
        g.write(f.read().replace(",tokens,", ",words,", 1))
    said = report(program, os.path.join(folder, "plain.csv"), "--work", "tokens", status=1).stderr
    assert "no row has tokens" in said, said
    said = report(program, jobs, "--work", "tokens", "--plan", "/proc/nowhere", status=2).stderr
    assert "--plan compares epochs" in said, said


# workers, cap: times of two runs each, which scatter by a third. Twice as fast: the same, but for the scatter.
SCATTERED = {(1, ""): (102.0, 72.1), (1, 200): (114.7, 127.2), (2, ""): (34.1, 59.0), (2, 200): (83.8, 76.0)}
STEADY = {(1, ""): (100.0, 101.0), (1, 200): (110.0, 111.0), (2, ""): (51.0, 50.5), (2, 200): (56.0, 55.5)}


def effect_of_the_cap(program, folder, times):
    path = os.path.join(folder, "caps.csv")
    with open(path, "w") as f:
        f.write("workload,workers,local_batch,power_cap_w,run,epoch,time_s,samples\n")
        for (workers, cap), runs in times.items():
            f.writelines(f"net,{workers},32,{cap},{i},1,{t},50000\n" for i, t in enumerate(runs))
    page = json.loads(report(program, path, "--formats", "md", "--out", os.path.join(folder, "caps"), "--json").stdout)
    rows = next(t for t in page["tables"] if t["id"] == "effects")["rows"]
    return next(row for row in rows if row["factor"] == "power cap"), page


def check_raw_means(program, folder):
    for times, beyond in ((SCATTERED, True), (STEADY, False)):
        row, page = effect_of_the_cap(program, folder, times)
        ln = [math.log(times[n, 200][i]) - math.log(times[n, ""][i]) for n in (1, 2) for i in (0, 1)]
        near(row["time_raw"], math.exp(sum(ln) / 4), "ratio of raw means")
        assert (not row["time_lo"] <= row["time_raw"] <= row["time_hi"]) == beyond, row
        said = f"of raw means {row['time_raw']:.3g} times" in " ".join(page["findings"])
        assert said == beyond and any(w.startswith("Runs scatter: ") for w in page["warnings"]) == beyond, page["findings"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "jobs.csv"))
        check_tokens(sys.argv[1], folder)
        check_without(sys.argv[1], folder)
        check_raw_means(sys.argv[1], folder)


if __name__ == "__main__":
    main()
