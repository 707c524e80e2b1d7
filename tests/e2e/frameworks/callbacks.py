#!/usr/bin/env python3
"""The callbacks of python/wattlaw under the frameworks themselves, as PyPI has them today, and the examples that use them: callbacks.py SOURCE
WATTLAW

Exit status 0: passed, 1: failed, 77: the frameworks could not be installed."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from environment import environment

HERE, SOURCE, WATTLAW = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

PACKAGES = ["torch==2.13.0", "numpy", "transformers", "accelerate", "lightning", "keras", "pandas", "nbclient", "nbformat", "ipykernel"]


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def train(env, folder, *arguments):
    """The marks of a training under `wattlaw measure`: word and fields; and the epochs that were measured."""
    store = os.path.join(folder, "-".join(arguments) + ".db")
    script = os.path.join(HERE, "train_callback.py")
    done = subprocess.run([WATTLAW, "measure", "--sensors=null", "--store", store, "--", "python3", script, *arguments], cwd=folder, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, check=False)
    check(done.returncode == 0, done.stdout[-3000:])
    with sqlite3.connect(store) as db:
        marks = [(word, dict(field.split("=", 1) for field in fields.split())) for word, fields in
                 db.execute("SELECT word, fields FROM mark ORDER BY t_ns, id")]
    return marks, store


def of(marks, word):
    return [fields for w, fields in marks if w == word]


def words(marks, *wanted):
    return [word[0] + word[-1] + fields.get("epoch", "") for word, fields in marks if word in wanted]


def metrics(marks):
    return [(m["name"], m.get("epoch")) for m in of(marks, "metric")]


WHOLE = ["en1", "ed1", "en2", "ed2"]  # begin, end of epochs 1 and 2


def transformers(env, folder):
    marks, _ = train(env, folder, "transformers")
    check(words(marks, "epoch-begin", "epoch-end") == WHOLE, marks)
    check(all(e["samples"] == "40" and e["updates"] == "5" for e in of(marks, "epoch-end")), marks)
    steps = of(marks, "step")
    check([int(s["step"]) for s in steps] == list(range(1, 11)), steps)
    check(all(s["samples"] == "8" and s["tokens"] == "128" and s["total"] == "10" for s in steps), steps)
    check(metrics(marks) == [("train_loss", "1"), ("val_loss", "1"), ("train_loss", "2"), ("val_loss", "2")], metrics(marks))
    check([c["step"] for c in of(marks, "checkpoint")] == ["5", "10"], marks)
    check(of(marks, "start")[0]["global_batch"] == "8" and marks[-1] == ("stop", {"status": "ok"}), marks)
    marks, _ = train(env, folder, "transformers", "7")  # the second epoch has no end
    check(words(marks, "epoch-begin", "epoch-end") == WHOLE[:3], marks)
    check(metrics(marks) == [("train_loss", "1"), ("val_loss", "1"), ("val_loss", None)], metrics(marks))


def lightning(env, folder):
    marks, _ = train(env, folder, "lightning")
    check(words(marks, "epoch-begin", "epoch-end") == WHOLE, marks)
    check(all(e["samples"] == "42" and e["updates"] == "3" for e in of(marks, "epoch-end")), marks)
    check([(s["step"], s["samples"]) for s in of(marks, "step")] == [("1", "16"), ("2", "16"), ("3", "10"), ("4", "16"), ("5", "16"), ("6", "10")],
          marks)
    check(sorted(metrics(marks)) == [("train_loss", "1"), ("train_loss", "2"), ("val_loss", "1"), ("val_loss", "2")], metrics(marks))
    order = [word for word, _ in marks if word in ("epoch-end", "phase-begin", "epoch-begin")]
    check(order == ["phase-begin", "epoch-begin", "epoch-end", "phase-begin", "epoch-begin", "epoch-end", "phase-begin"], order)
    check([c["step"] for c in of(marks, "checkpoint")] == ["3", "6"], marks)
    marks, _ = train(env, folder, "lightning", "4")  # the second epoch has neither an end nor metrics
    check(words(marks, "epoch-begin", "epoch-end") == WHOLE[:3], marks)
    check({epoch for _, epoch in metrics(marks)} == {"1"}, metrics(marks))
    marks, _ = train(env, folder, "lightning", "-1", "0.5")  # validations inside of epochs are phases of them
    check(words(marks, "epoch-begin", "epoch-end") == WHOLE and len(of(marks, "phase-begin")) == 5, marks)
    marks, _ = train(env, folder, "lightning", "-1", "2")  # an epoch without validation has no older one's metric
    check(("val_loss", "1") not in metrics(marks) and ("val_loss", "2") in metrics(marks), metrics(marks))


def keras(env, folder):
    marks, store = train(env, folder, "keras")
    check(words(marks, "epoch-begin", "epoch-end") == WHOLE, marks)
    check(all(e["samples"] == "40" and e["updates"] == "5" for e in of(marks, "epoch-end")), marks)
    check(metrics(marks) == [("train_loss", "1"), ("val_loss", "1"), ("train_loss", "2"), ("val_loss", "2")], metrics(marks))
    code = ("import wattlaw, sys; lab = wattlaw.open(sys.argv[1]); epochs = lab.epochs().frame(); runs = lab.runs().frame();"
            "print(len(epochs), epochs['samples'].sum(), epochs['time_s'].gt(0).all(), runs['workload'][0], runs['energy_j'].isna()[0])")
    said = subprocess.run(["python3", "-c", code, store], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    check(said.split() == ["2", "80", "True", "tiny", "True"], said)


def examples(env, folder):
    for name, samples in (("train_lightning", 20000), ("train_hf", 400)):
        store = os.path.join(folder, name + ".db")
        done = subprocess.run(["python3", os.path.join(SOURCE, "examples", name + ".py"), store], cwd=folder, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=900, check=False)
        check(done.returncode == 0 and "<wattlaw run 1: " in done.stdout, done.stdout[-3000:])
        shown = json.loads(subprocess.run([WATTLAW, "show", "--json", "--run", "1", store], stdout=subprocess.PIPE, check=True).stdout)
        check(shown["status"] == "done" and [e["samples"] for e in shown["epochs"]] == [samples] * len(shown["epochs"]) and shown["epochs"], shown)


def notebook(env, folder):
    """Each cell runs, tables and the report's figures are shown."""
    for name in ("notebook.ipynb", "huber2025"):
        path = os.path.join(SOURCE, "examples", name)
        shutil.copytree(path, os.path.join(folder, name)) if os.path.isdir(path) else shutil.copy(path, folder)
    code = ("import json, nbclient, nbformat; book = nbformat.read('notebook.ipynb', 4); nbclient.NotebookClient(book, timeout=300).execute();"
            "print(json.dumps([[output.get('data', {}) for output in cell.outputs] for cell in book.cells if cell.cell_type == 'code']))")
    done = subprocess.run(["python3", "-c", code], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900, check=False)
    check(done.returncode == 0, done.stderr[-3000:])
    outputs = json.loads(done.stdout)
    check(len(outputs) == 7 and outputs[1][0]["text/plain"].startswith("<wattlaw run 1: "), outputs[:2])
    check(outputs[2][0]["text/html"].count("<tr>") == 4 and "<table" in outputs[3][0]["text/html"], outputs[2:4])
    check("local_batch 32" in outputs[5][0]["text/plain"] and outputs[6][0]["text/html"].count("<svg") >= 3, outputs[5])


def main():
    with tempfile.TemporaryDirectory() as folder:
        env = environment(folder, PACKAGES)
        env.update(PYTHONPATH=os.path.join(SOURCE, "python"), WATTLAW_PROGRAM=WATTLAW)
        for test in (transformers, lightning, keras, examples, notebook):
            test(env, folder)
            print(test.__name__ + ": passed", flush=True)


main()
