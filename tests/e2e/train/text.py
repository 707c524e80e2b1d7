#!/usr/bin/env python3
"""Text end to end: text.py PROGRAM GOLDEN CASE. Exit 0: passed, 1: failed."""
import array
import hashlib
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile

TRAIN, GOLDEN = os.path.abspath(sys.argv[1]), sys.argv[2]
WORK = tempfile.mkdtemp(prefix="wl-text-")
HEAD = 128  # bytes before the first token


def run(*args):
    return subprocess.run([TRAIN, *map(str, args)], capture_output=True, text=True, timeout=120, cwd=WORK)


def done(*args):
    """The JSON that a command printed."""
    p = run(*args, "--json", "--quiet")
    assert p.returncode == 0, f"status {p.returncode}: {p.stderr}"
    return json.loads(p.stdout)


def refused(status, words, *args):
    p = run(*args)
    assert p.returncode == status and words in p.stderr, f"status {p.returncode}: {p.stderr}\nexpected {words}"
    assert status == 2 or len(p.stderr.splitlines()) == 1, f"more than one message: {p.stderr}"


def put(name, content):
    with open(os.path.join(WORK, name), "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    return name


def golden(name):
    with lzma.open(os.path.join(GOLDEN, name)) as f:
        return put(name[:-3], f.read())


def tokens(path):
    raw = open(os.path.join(WORK, path), "rb").read()
    assert raw[:8] == b"WLTOKEN\n"
    out = array.array("H", raw[HEAD:])
    if sys.byteorder == "big":
        out.byteswap()
    return out


def case_reference():
    """1.2 MB of mixed text give the tokens that Hugging Face's tokenizers give."""
    text, vocab = golden("sample.txt.xz"), golden("vocab.txt.xz")
    want = json.load(open(os.path.join(GOLDEN, "tokens.json")))
    made = done("data", "wikitext", "--text", text, "--val-text", text, "--vocab", vocab, "--sequence", 16, "--to", "out")
    ids = tokens("out/train.tokens")
    assert len(ids) == want["tokens"], (len(ids), want["tokens"])
    assert made["unknown_tokens"] == 2 * want["unknown"], made
    for i, expected in enumerate(want["sha256"]):
        part = ids[i * want["each"]:(i + 1) * want["each"]]
        if sys.byteorder == "big":
            part.byteswap()
        assert hashlib.sha256(part.tobytes()).hexdigest()[:8] == expected, f"tokens from {i * want['each']} on differ"
    assert tokens("out/val.tokens") == ids


def case_learned():
    """A vocabulary learned from a text covers it, and is read back as it was written."""
    text = golden("sample.txt.xz")
    made = done("data", "wikitext", "--text", text, "--train-vocab", 4000, "--sequence", 64, "--to", "one")
    again = done("data", "wikitext", "--text", text, "--vocab", "one/vocab.txt", "--sequence", 64, "--to", "two",
                 "--threads", 1)
    assert made["vocabulary"] == again["vocabulary"] == 4000 and again["learn_s"] is None
    for name in ("vocab.txt", "train.tokens", "val.tokens"):
        assert open(f"{WORK}/one/{name}", "rb").read() == open(f"{WORK}/two/{name}", "rb").read(), name
    sequences = (made["train_tokens"] + made["val_tokens"]) // 64
    assert made["val_tokens"] // 64 == int(sequences * 0.05), made
    assert made["unknown_tokens"] < 0.1 * made["text_tokens"], made


def case_messages():
    """What is missing or does not fit is said in one line."""
    vocab = put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    text, empty, other = put("text", "a b a b\n" * 100), put("empty", ""), put("other", "xyz\n" * 100)
    short = put("short.txt", "a\nb\n")
    data = ("data", "wikitext")
    out = ("--sequence", 8, "--to", "out")
    refused(2, "--text is missing", *data, *out)
    refused(2, "--to is missing", *data, "--text", text)
    refused(2, "no vocabulary: --vocab FILE names one, --train-vocab N learns one", *data, "--text", text, *out)
    refused(2, "give one of them", *data, "--text", text, *out, "--vocab", vocab, "--train-vocab", 10)
    refused(2, "without --text", *data, "--text", text, "--synthetic", "x")
    refused(1, "the text nowhere", *data, "--text", "nowhere", "--vocab", vocab, *out)
    refused(1, "nowhere.txt", *data, "--text", text, "--vocab", "nowhere.txt", *out)
    refused(1, "the vocabulary of 2 tokens lacks [PAD] [UNK] [CLS] [SEP] [MASK]", *data, "--text", text, "--vocab",
            short, *out)
    refused(1, "empty: holds no text", *data, "--text", empty, "--vocab", vocab, *out)
    refused(1, "every word is [UNK]: the vocabulary does not fit", *data, "--text", other, "--vocab", vocab, *out)
    refused(1, "a vocabulary of 10 tokens has no room", *data, "--text", golden("sample.txt.xz"), "--train-vocab", 10,
            *out)
    done(*data, "--text", text, "--vocab", vocab, *out)
    refused(1, "out: holds tokens already", *data, "--text", text, "--vocab", vocab, *out)


try:
    globals()["case_" + sys.argv[3]]()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
