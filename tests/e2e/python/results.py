#!/usr/bin/env python3
"""wattlaw.open against what the program itself prints: results.py SOURCE WATTLAW. Standard library only; DataFrames where pandas is."""
import csv
import importlib.util
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import xml.dom.minidom

SOURCE, WATTLAW = sys.argv[1], os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "python"))
import wattlaw  # noqa: E402
from checks import check, raised  # noqa: E402
from wattlaw import results  # noqa: E402

JOB = """
import sys, time
sys.path.insert(0, sys.argv[1])
import wattlaw
wattlaw.start(workload="<b>toy</b>", workers=int(sys.argv[2]), local_batch=8)
for n in (1, 2):
    with wattlaw.epoch(n) as e:
        time.sleep(.12 / int(sys.argv[2]))
        e.samples = 80
wattlaw.stop()
"""


def program(*arguments):
    return subprocess.run([WATTLAW, *arguments], stdout=subprocess.PIPE, check=True).stdout.decode()


def make_store(path):
    for workers in (1, 2, 4):
        command = [sys.executable, "-c", JOB, os.path.join(SOURCE, "python"), str(workers)]
        subprocess.run([WATTLAW, "measure", "--sensors=proc,cpu_model", "--store", path, "--", *command], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def runs(path):
    table = wattlaw.open(path).runs()
    said = json.loads(program("show", "--json", path))["runs"]
    check(len(table) == 3 and [row["run"] for row in table] == [1, 2, 3], table)
    for row, run in zip(table, said):
        check(row["workers"] == run["settings"]["workers"] and row["time_s"] == run["time_s"] and row["energy_j"] == run["energy_j"])
        check(row["estimated"] is True and row["idle_j"] is None, row)  # marked; missing, not zero
    check(wattlaw.open(path).run(2) == json.loads(program("show", "--json", "--run=2", path)))


def epochs(path):
    table = wattlaw.open(path).epochs()
    said = list(csv.DictReader(io.StringIO(program("export", "observations", path))))
    check(len(table) == len(said) == 6, len(table))
    for row, line in zip(table, said):
        check(row["epoch"] == int(line["epoch"]) and row["time_s"] == float(line["time_s"]) and row["samples"] == 80, row, line)


def blocks(folder):
    """A block of Python has no count of workers: the columns are there all the same, empty."""
    path = os.path.join(folder, "block.db")
    with wattlaw.measure("block", store=path, sensors="proc,cpu_model"):
        pass
    for table in (wattlaw.open(path).runs(), wattlaw.open(path).epochs()):
        check(len(table) == 1 and table[0]["workload"] == "block" and table[0]["time_s"] > 0, table)
        check([table[0][name] for name in ("workers", "local_batch", "global_batch", "power_cap_w")] == [None] * 4, table.columns)


def samples(path):
    table = wattlaw.open(path).samples(run=3)
    said = list(csv.DictReader(io.StringIO(program("export", "samples", "--run=3", path))))
    check(len(table) == len(said) > 0 and table.columns == list(said[0]), table.columns)
    for row, line in zip(table, said):
        check(row["value"] == float(line["value"]) and row["run"] == 3 and row["device"] == line["device"], row, line)
        check(row["variant"] == (line["variant"] or None) and isinstance(row["host"], str), row)


def answers(path):
    lab = wattlaw.open(path)
    check(lab.fit(by="workload")["groups"] == json.loads(program("fit", "--json", "--by=workload", path))["groups"])
    said = lab.predict(at=["workers=8", "workers=16"])
    check("16" in json.dumps(said), said)
    # no law of one worker count: an answer, though the exit status is 1
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
        f.write("workload,workers,time_s\na,1,1\na,1,1.1\n")
        f.flush()
        check(wattlaw.open(f.name).fit()["rows"]["read"] == 2)


def options():
    """Keywords as the command's options."""
    given = results.options_as_words({"by": "a,b", "exclude_busy": True, "all": False, "map": None, "at": ["workers=4", "workers=8"], "drop_epochs": 0})
    check(given == ["--by=a,b", "--exclude-busy", "--at=workers=4", "--at=workers=8", "--drop-epochs=0"], given)


def long_tables():
    page = results.Table({"n": n, "nothing": None, "once": n or None} for n in range(results.SHOWN + 5))._repr_html_()
    check(page.count("<tr>") == results.SHOWN + 1 and "5 more rows" in page, page[-80:])
    check("nothing" not in page and page.count("<td>-</td>") == 1, page)  # without a value in any row; in one row


def pages(path, folder):
    lab = wattlaw.open(path)
    said = lab.report(os.path.join(folder, "out"), formats=["html", "csv"])
    check(any(p.endswith("report.html") for p in said["paths"]) and os.path.exists(said["paths"][0]), said["paths"])
    figures = lab.figures()
    check("epoch-time" in figures, figures.keys())
    for name, text in figures.items():
        check(xml.dom.minidom.parseString(text).documentElement.tagName == "svg", name)
    page = lab._repr_html_()
    items = [item.split("</li>")[0].rstrip(".") for item in page.split("<li>")[1:]]
    check(not any(a != b and a in b for a in items for b in items), "said twice", items)
    check(page.count("<svg") == len(figures) and "&lt;b&gt;toy" in page and "<b>toy" not in page, page[:400])
    table = lab.runs()._repr_html_()
    check(table.count("<tr>") == 4 and "&lt;b&gt;toy" in table and "<b>toy" not in table, table[:400])


def frames(path):
    table = wattlaw.open(path).runs()
    if importlib.util.find_spec("pandas") is None:
        raised(ImportError, table.frame, "pip install pandas")
        return
    frame = table.frame()
    check(list(frame.columns) == table.columns and len(frame) == 3 and math.isclose(frame["time_s"].sum(), sum(r["time_s"] for r in table)))


def parquet(path, folder):
    """The files themselves are read by tests/e2e/export/others.py."""
    if importlib.util.find_spec("pyarrow") is None:
        raised(ImportError, lambda: wattlaw.open(path).to_parquet(os.path.join(folder, "p")), "pip install pyarrow")
        check(not os.path.exists(os.path.join(folder, "p")), "a folder that nothing was written to")


def errors(path, folder):
    lab = wattlaw.open(path)
    error = raised(wattlaw.ProgramError, lambda: lab.fit(nonsense=1), "unknown option --nonsense")
    check(error.status == 2, error.status)
    raised(FileNotFoundError, lambda: wattlaw.open(os.path.join(folder, "missing")))
    raised(wattlaw.ProgramError, lambda: wattlaw.open(folder).runs(), "no store")
    raised(wattlaw.ProgramError, lambda: wattlaw.open(path, campaign="other").runs(), "other")
    raised(AttributeError, lambda: wattlaw.nothing, "nothing")
    os.chdir(folder)
    os.symlink(path, "--json")  # a name, not an option
    check(len(wattlaw.open("--json").runs()) == 3)
    os.environ["WATTLAW_PROGRAM"] = "/nonexistent/wattlaw"
    raised(wattlaw.ProgramError, lambda: lab.runs(), "/nonexistent/wattlaw")
    del os.environ["WATTLAW_PROGRAM"]
    os.environ["PATH"] = folder
    raised(wattlaw.ProgramError, lambda: wattlaw.open(path), "WATTLAW_PROGRAM")


def main():
    os.environ["WATTLAW_PROGRAM"] = WATTLAW
    options()
    long_tables()
    for module in ("wattlaw.results", "wattlaw.program", "json", "subprocess"):  # marks load nothing that they do not need
        code = "import sys; sys.path.insert(0, sys.argv[1]); import wattlaw; sys.exit(sys.argv[2] in sys.modules)"
        check(subprocess.run([sys.executable, "-S", "-c", code, os.path.join(SOURCE, "python"), module], check=False).returncode == 0, module)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lab.db")
        make_store(path)
        for test in (runs, epochs, samples, answers, frames):
            test(path)
        blocks(folder)
        pages(path, folder)
        parquet(path, folder)
        errors(path, folder)
    print("results: passed")


main()
