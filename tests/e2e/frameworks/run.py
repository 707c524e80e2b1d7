#!/usr/bin/env python3
"""`measure --log hf` and `--log lightning` under the frameworks themselves, as PyPI has them today: run.py WATTLAW

The trainings (train_hf.py, train_lightning.py) write down what happens; the marks that wattlaw reads from their output must agree.
Exit status 0: passed, 1: failed, 77: the frameworks could not be installed."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import traceback

from environment import environment

HERE, WATTLAW = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[1])
PACKAGES = ["torch==2.13.0", "numpy", "transformers", "accelerate", "lightning", "rich"]
LATE_NS = 3e9  # what a line may take on a busy machine


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


class Job:
    """A run of a script under wattlaw, in a folder that jobs of one training share."""

    def __init__(self, env, folder, preset, *options, measure=(), status=0):
        os.makedirs(folder, exist_ok=True)
        truth = os.path.join(folder, f"truth-{len(os.listdir(folder))}.jsonl")
        script = os.path.join(HERE, {"hf": "train_hf.py", "lightning": "train_lightning.py"}[preset])
        r = subprocess.run([WATTLAW, "measure", "--sensors", "null", "--json-file", "summary.json", "--log", preset, *measure, "--", "python3", script,
                            truth, *options], cwd=folder, env=env, capture_output=True, text=True, timeout=900, check=False)
        self.folder, self.out, self.err = folder, r.stdout, r.stderr
        check(r.returncode == status, f"status {r.returncode}\n{r.stdout[-3000:]}\n{r.stderr[-3000:]}")
        with open(truth, encoding="utf-8") as f:
            self.truth = [json.loads(line) for line in f]
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as f:
            self.summary = json.load(f)
        with sqlite3.connect(os.path.join(folder, "wattlaw.db")) as db:
            rows = db.execute("SELECT t_ns, word, fields FROM mark WHERE run = (SELECT max(id) FROM run) ORDER BY t_ns, id").fetchall()
        self.marks = [(t, word, dict(field.split("=", 1) for field in fields.split())) for t, word, fields in rows]

    def of(self, word):
        return [(t, fields) for t, w, fields in self.marks if w == word]

    def facts(self, key):
        return [fact for fact in self.truth if key in fact]

    def sum(self, name):
        """Of the steps after the first one."""
        return sum(int(fields.get(name, 0)) for _, fields in self.of("step")[1:])

    def steps_agree(self, key, total=None):
        """Each step was marked after its end, and before that of the step after the next."""
        ends = {fact[key]: fact["t_ns"] for fact in self.facts(key)}
        numbers = [int(fields["step"]) for _, fields in self.of("step")]
        check(len(numbers) > 5 and numbers == sorted(numbers) and set(numbers) <= set(ends), numbers, sorted(ends))
        check(numbers[-1] == max(ends), "the last step", numbers[-1], max(ends))
        for t, fields in self.of("step"):
            n = int(fields["step"])
            check(ends[n] <= t <= ends.get(n + 2, ends[n]) + LATE_NS, "step", n, "ended at", ends[n], "marked at", t)
            check(total is None or int(fields["total"]) == total, fields)
        return numbers

    def checkpoints_agree(self):
        """Between the two: the end of the save, and the step or end before it."""
        saved = self.facts("saved")
        check([int(fields["step"]) for _, fields in self.of("checkpoint")] == [fact["saved"] for fact in saved], self.of("checkpoint"), saved)
        for (t, _), fact in zip(self.of("checkpoint"), saved):
            check(abs(t - fact["t_ns"]) < LATE_NS, t, fact)


def close(a, b, share):
    return abs(a - b) <= share * abs(b)


# ---- Hugging Face ----

def hf_as_it_comes(env, folder):
    """Log level warning: steps, tokens and losses; those of evaluations do not count; a checkpoint has no step of its own."""
    job = Job(env, folder, "hf")
    numbers = job.steps_agree("step", total=80)
    tokens = {fact["step"]: fact["tokens"] for fact in job.facts("step")}
    done = tokens[80] - tokens[numbers[0]]
    check(close(job.sum("tokens"), done, 0.02), job.sum("tokens"), done)
    losses = [float(fields["value"]) for _, fields in job.of("metric")]
    check(len(losses) == 16 and all(close(a, fact["loss"], 1e-3) for a, fact in zip(losses, job.facts("loss"))), losses)
    check(len(job.of("checkpoint")) >= len(job.facts("saved")) > 4, job.of("checkpoint"))
    steps = next(span for span in job.summary["spans"] if span["kind"] == "steps")
    check(steps["steps"] == 80 - numbers[0] and steps["tokens"] == job.sum("tokens"), steps)


def hf_with_an_evaluation_of_as_many_batches(env, folder):
    job = Job(env, folder, "hf", "sequences=16", "eval_steps=4", "save_strategy=no", "logging_steps=2", "num_train_epochs=1")
    check(int(job.of("step")[-1][1]["step"]) == 4, job.of("step"))
    check([int(f["step"]) for _, f in job.of("step")] == sorted(int(f["step"]) for _, f in job.of("step")), job.of("step"))


def hf_tokens_without_padding(env, folder):
    """Steps of unlike length: exact at each line that counts."""
    job = Job(env, folder, "hf", "include_num_input_tokens_seen=non_padding", "logging_steps=7", "num_train_epochs=1", "eval_strategy=no",
              "save_strategy=no")
    tokens = {fact["step"]: fact["tokens"] for fact in job.facts("step")}
    first = int(job.of("step")[0][1]["step"])
    check(len({b - a for a, b in zip(list(tokens.values()), list(tokens.values())[1:])}) > 3, "steps of unlike length:", tokens)
    check(close(job.sum("tokens"), tokens[40] - tokens[first], 0.02), job.sum("tokens"), tokens)


def hf_at_level_info_and_resumed(env, folder):
    """Two jobs of one training: the first one fails at step 40, after the checkpoint of step 30."""
    measure = ["--training", "net"]
    first = Job(env, folder, "hf", "level=info", "fail_at=40", measure=measure, status=1)
    numbers = first.steps_agree("step", total=80)
    check(first.sum("samples") == 4 * (40 - numbers[0]), first.of("step"))
    first.checkpoints_agree()
    second = Job(env, folder, "hf", "level=info", "resume=1", measure=measure)
    again = second.steps_agree("step", total=80)
    check(again[0] > 30 and second.sum("samples") == 4 * (80 - again[0]), again)
    second.checkpoints_agree()
    r = subprocess.run([WATTLAW, "show", "--training", "net", "--json"], cwd=folder, capture_output=True, text=True, check=True)
    t = json.loads(r.stdout)
    check(t["jobs"] == 2 and t["failed"] == 1 and t["steps"] == (40 - numbers[0]) + (80 - again[0]), t)
    since = (first.truth[-1]["t_ns"] - next(f["t_ns"] for f in first.facts("saved") if f["saved"] == 30)) / 1e9
    check(since - 0.5 < t["lost_s"] < since + 10, since, t)


def hf_without_a_bar(env, folder):
    job = Job(env, folder, "hf", "disable_tqdm=true", "num_train_epochs=1", "eval_strategy=no", "save_strategy=no")
    check(not job.of("step") and len(job.of("metric")) == 8, job.marks)
    check("--log hf: no step was found" in job.err and "disable_tqdm" in job.err, job.err[-2000:])


# ---- Lightning ----

def epochs_agree(job, n):
    """From the start of an epoch to its last batch, before its validation."""
    begin, end = ([t for t, _ in job.of(word)] for word in ("epoch-begin", "epoch-end"))
    check(len(begin) == len(end) == n, job.marks)
    starts, batches = [fact["t_ns"] for fact in job.facts("begin")], [fact["t_ns"] for fact in job.facts("batch")]
    for i in range(n):
        check(starts[i] - 5e7 <= begin[i] <= starts[i] + LATE_NS and batches[12 * i + 11] <= end[i], i, begin, end, job.truth)
        check(end[i] <= job.facts("end")[i]["t_ns"] + LATE_NS, i, end, job.facts("end"))


def losses_agree(job):
    """The bar has three digits."""
    truth = {fact["batch"]: fact["loss"] for fact in job.facts("batch")}
    found = {int(f["step"]): float(f["loss"]) for _, f in job.of("step") if "loss" in f}
    check(len(found) > 0.9 * len(truth) and all(close(v, truth[n], 6e-3) for n, v in found.items()), found, truth)


def lightning_as_it_comes(env, folder):
    job = Job(env, folder, "lightning", measure=["--samples-per-step", "4"])
    check(job.steps_agree("batch") == list(range(1, 37)), job.of("step"))
    epochs_agree(job, 3)
    losses_agree(job)
    check(job.sum("samples") == 4 * 35 and {f["samples"] for _, f in job.of("epoch-end")} == {"48"}, job.marks)
    check(len(job.summary["epochs"]) == 3, job.summary["epochs"])


def lightning_with_checkpoints_and_a_failure(env, folder):
    measure = ["--training", "net"]
    first = Job(env, folder, "lightning", "report_saves=1", "fail_at=30", measure=measure, status=1)
    check(first.steps_agree("batch") == list(range(1, 31)), first.of("step"))
    first.checkpoints_agree()
    second = Job(env, folder, "lightning", "report_saves=1", "resume=" + os.path.join(folder, "saved", sorted(os.listdir(folder + "/saved"))[-1]),
                 measure=measure)
    numbers = [int(fields["step"]) for _, fields in second.of("step")]
    check(numbers == list(range(25, 37)), numbers)
    r = subprocess.run([WATTLAW, "show", "--training", "net", "--json"], cwd=folder, capture_output=True, text=True, check=True)
    t = json.loads(r.stdout)
    check(t["steps"] == 29 + 11 and t["lost_s"] > 0.2, t)


def lightning_of_unknown_length(env, folder):
    job = Job(env, folder, "lightning", "unknown_length=1", "max_epochs=2")
    check(job.steps_agree("batch") == list(range(1, 25)), job.of("step"))
    check(len(job.of("epoch-end")) == 2, job.marks)


def lightning_validates_within_an_epoch(env, folder):
    job = Job(env, folder, "lightning", "val_check_interval=6", "max_epochs=2", "name=loss")
    check(job.steps_agree("batch") == list(range(1, 25)), job.of("step"))
    epochs_agree(job, 2)
    losses_agree(job)


def lightning_with_the_bar_of_rich(env, folder):
    job = Job(env, folder, "lightning", "own_bar=1", "max_epochs=1")
    check(not job.of("step") and "--log lightning: no step was found" in job.err and "TQDMProgressBar" in job.err, job.marks, job.err[-2000:])


TESTS = [hf_as_it_comes, hf_with_an_evaluation_of_as_many_batches, hf_tokens_without_padding, hf_at_level_info_and_resumed, hf_without_a_bar,
         lightning_as_it_comes, lightning_with_checkpoints_and_a_failure, lightning_of_unknown_length, lightning_validates_within_an_epoch,
         lightning_with_the_bar_of_rich]


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="wattlaw-frameworks-") as folder:
        env = environment(folder, PACKAGES)
        env["WATTLAW_STATE_DIR"] = folder + "/state"
        for test in TESTS:
            if sys.argv[2:] and not any(re.search(name, test.__name__) for name in sys.argv[2:]):
                continue
            try:
                test(env, os.path.join(folder, test.__name__))
                print("ok     ", test.__name__, flush=True)
            except Exception:
                failed += 1
                print("FAILED ", test.__name__)
                traceback.print_exc(file=sys.stdout)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
