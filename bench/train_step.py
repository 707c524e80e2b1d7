#!/usr/bin/env python3
"""Training steps: bench_train_step and PyTorch in turns, and their ratios.

    bench/train_step.py build/bench/bench_train_step --python python3 --python VENV/bin/python [--model resnet50,vgg16]
        [--precision f32,bf16] [--batch 16,32] [--on t1,t2,r2] [--only WORDS] [--compiled] [--rounds 5] [--json FILE]
    bench/train_step.py --markdown FILE...          the table of docs/performance.md from such files

A row is a network, a precision, a local batch, and what it runs on: t1 and t2 are one process of one or two threads, r2
two ranks of one thread (ours against DistributedDataParallel over gloo). Every contestant of a row is a process that
builds its network once and is stopped (SIGSTOP) outside of its turn. A round is one step of each, in an order that
rotates; the first round is dropped. bert128 and bert512 are BERT-base on sequences of so many tokens, fourcastnet360 and
fourcastnet720 FourCastNet on 20 channels of 360 x 720 and 720 x 1440 points. Each --python is a peer, named by the
version of its PyTorch, in its default environment and in a tuned one (huge pages, freed memory kept, AVX-512 kernels,
the optimizer in one pass), with plain images and with channels_last, or with the networks of torch_bert.py and
torch_fourcastnet.py. The best one counts. --compiled adds torch.compile, as a column of its own. --earlier adds a build of an earlier commit.

Rows take time: --only "tuned channels_last" keeps the peers whose names hold all these words, and rows of one name in
several files are put together, each ratio taken within its run. With --require the exit status is 1 where a target is
missed. Needs a quiet machine; where other jobs share the cores the ratio of processor times (--clock cpu) says more.
"""
import argparse
import itertools
import json
import re
import sys
import time

import train_alternate
import train_table

MODELS, OTHERS = ("resnet50", "vgg16", "inception3"), ("bert128", "bert512", "fourcastnet360", "fourcastnet720")
PRECISIONS, BATCHES, PLACES = ("f32", "bf16"), "16,32", "t1,t2,r2"


def machine():
    with open("/proc/cpuinfo") as f:
        lines = [line.split(":")[1].strip() for line in f if line.startswith("model name")]
    return f"{len(lines)} x {lines[0]}" if lines else "unknown"


def measure(args, row):
    """One row: a dictionary for the JSON file."""
    contest = train_alternate.Contest(args.binary, args.python, row, args.only.split(), args.compiled,
                                      args.earlier)
    with contest:
        for turn in range(args.rounds):
            contest.round(turn)
        return {"row": ":".join(row), "date": time.strftime("%Y-%m-%d"), "machine": machine(),
                "rounds": args.rounds - 1, "contestants": contest.results()}


def chosen_rows(args):
    """Tuples of network, precision, batch, place."""
    rows = ([tuple(r.split(":")) for r in args.rows.split(",")] if args.rows else
            list(itertools.product(*(x.split(",") for x in (args.model, args.precision, args.batch, args.on)))))
    for row in rows:
        known = len(row) == 4 and row[0] in MODELS + OTHERS and row[1] in PRECISIONS
        if not known or not re.fullmatch(r"[1-9]\d*", row[2]) or not re.fullmatch(r"[tr][1-9]\d*", row[3]):
            raise train_alternate.Failure(f"row {':'.join(row)}: NETWORK:PRECISION:BATCH:PLACE is expected, as in "
                                        "resnet50:f32:16:t1 (networks " + ", ".join(MODELS + OTHERS) + ")")
    return rows


def run(args):
    rows = []
    for row in chosen_rows(args):
        rows.append(measure(args, row))
        print(train_table.text(rows[-1], args.clock), flush=True)
        if args.json:
            with open(args.json, "a") as f:
                f.write(json.dumps(rows[-1]) + "\n")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?", help="bench_train_step")
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help="an interpreter with PyTorch")
    parser.add_argument("--rows", metavar="resnet50:f32:16:t1,...", help="these rows instead of the product of:")
    parser.add_argument("--model", default=",".join(MODELS))
    parser.add_argument("--precision", default=",".join(PRECISIONS))
    parser.add_argument("--batch", default=BATCHES)
    parser.add_argument("--on", default=PLACES)
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--earlier", metavar="PATH", help="bench_train_step of an earlier build, another contestant")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="append the rows, a line of JSON each")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--markdown", nargs="+", metavar="FILE")
    parser.add_argument("--require", action="store_true")
    args = parser.parse_args()
    if args.rounds < 2:
        parser.error("--rounds: at least 2, since the first is dropped")
    if args.markdown:
        rows = train_table.merge(args.markdown)
        print(train_table.markdown(rows, args.clock))
    elif args.binary:
        try:
            rows = run(args)
        except train_alternate.Failure as failure:
            sys.exit(f"train_step.py: {failure}")
    else:
        parser.error("bench_train_step's path, or --markdown with files")
    missed = train_table.missed(rows, args.clock) if args.require else []
    for line in missed:
        print("missed:", line)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
