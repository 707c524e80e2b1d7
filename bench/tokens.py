#!/usr/bin/env python3
"""Text to tokens by wattlaw-train and by Hugging Face's tokenizers: tokens.py WATTLAW_TRAIN FILE [--vocab 30522] [--threads N]

    bench/tokens.py build/src/cmd/wattlaw-train wiki.train.raw --python V/bin/python

Each side trains a vocabulary on the file, and writes a file of 16-bit tokens with the vocabulary that wattlaw-train trained:
[CLS] line [SEP], for each line. PYTHON needs tokenizers and numpy; its side is written for speed (the
lines of 64 thousand at a time in encode_batch_fast). Times are of reading, work and writing, in turns, medians; imports do not
count.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def peer_learn(path, vocab, size):
    from tokenizers import BertWordPieceTokenizer
    start = time.perf_counter()
    trainer = BertWordPieceTokenizer()
    trainer.train([path], vocab_size=size, show_progress=False)
    trainer.save_model(os.path.dirname(vocab), "peer")
    return {"learn_s": time.perf_counter() - start}


def peer_tokens(path, vocab, out):
    import numpy as np
    from tokenizers import BertWordPieceTokenizer
    tokenizer, total = BertWordPieceTokenizer(vocab), 0
    start = time.perf_counter()
    with open(path, encoding="utf-8", errors="replace", newline="\n") as f, open(out, "wb") as to:
        while lines := f.readlines(8 << 20):
            for i in range(0, len(lines), 65536):
                for e in tokenizer._tokenizer.encode_batch_fast(lines[i:i + 65536]):
                    ids = np.array(e.ids, dtype=np.uint16)
                    total += len(ids)
                    to.write(ids.tobytes())
    return {"time_s": time.perf_counter() - start, "tokens": total}


def ours(program, path, out, threads, *vocab):
    shutil.rmtree(out, ignore_errors=True)
    p = subprocess.run([program, "data", "wikitext", "--text", path, "--to", out, "--threads", str(threads), "--json", "--quiet",
                        *map(str, vocab)], capture_output=True, text=True, check=True)
    return json.loads(p.stdout)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("file")
    p.add_argument("--vocab", type=int, default=30522)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--python", default=sys.executable)
    a = p.parse_args()
    work = tempfile.mkdtemp(prefix="wl-bench-tokens-")
    out, vocab = os.path.join(work, "out"), os.path.join(work, "vocab.txt")
    env = dict(os.environ, RAYON_NUM_THREADS=str(a.threads), TOKENIZERS_PARALLELISM="true")

    def peer(what, *args):
        run = subprocess.run([a.python, os.path.abspath(__file__), "--peer", what, *map(str, args)], env=env,
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    rows = {"learn_s": ([], []), "time_s": ([], [])}
    for _ in range(a.repeats):
        rows["learn_s"][0].append(ours(a.program, a.file, out, a.threads, "--train-vocab", a.vocab)["learn_s"])
        rows["learn_s"][1].append(peer("learn", a.file, vocab, a.vocab)["learn_s"])
        shutil.copy(os.path.join(out, "vocab.txt"), vocab)
        mine = ours(a.program, a.file, out, a.threads, "--vocab", vocab)
        theirs = peer("tokens", a.file, vocab, os.path.join(work, "peer.tokens"))
        assert mine["text_tokens"] == theirs["tokens"], "the two sides count different tokens"
        rows["time_s"][0].append(mine["time_s"])
        rows["time_s"][1].append(theirs["time_s"])
    tokens = mine["text_tokens"]
    print(f"{mine['text_bytes'] / 1e6:.1f} MB, {tokens} tokens, vocabulary of {mine['vocabulary']}, {a.threads} threads, "
          f"{a.repeats} repeats")
    for key, words in (("learn_s", "learning a vocabulary"), ("time_s", "text to tokens")):
        x, y = (statistics.median(v) for v in rows[key])
        rate = f", {tokens / x / 1e6:.1f} and {tokens / y / 1e6:.2f} million tokens/s" if key == "time_s" else ""
        print(f"{words}: wattlaw-train {x:.2f} s, tokenizers {y:.2f} s, ratio {y / x:.1f}{rate}")
    shutil.rmtree(work)


if len(sys.argv) > 2 and sys.argv[1] == "--peer":
    action = {"learn": lambda path, vocab, size: peer_learn(path, vocab, int(size)), "tokens": peer_tokens}[sys.argv[2]]
    print(json.dumps(action(*sys.argv[3:])))
else:
    main()
