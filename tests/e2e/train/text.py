#!/usr/bin/env python3
"""Text end to end: text.py PROGRAM GOLDEN CASE. Exit 0: passed, 1: failed."""
import array
import hashlib
import lzma
import math

from harness import *

GOLDEN = sys.argv[2]
HEAD = 128  # bytes before the first token


def put(name, content):
    with open(os.path.join(WORK, name), "wb") as f:
        f.write(content if isinstance(content, bytes) else content.encode())
    return name


def golden(name):
    with lzma.open(os.path.join(GOLDEN, name)) as f:
        return put(name[:-3], f.read())


def synthetic(to, words=20000, vocab=400):
    done("data", "wikitext", "--synthetic", to, "--words", words, "--train-vocab", vocab, "--sequence", 32)


def tensors(path):
    """Name -> shape and bytes of a safetensors file."""
    raw = open(os.path.join(WORK, path), "rb").read()
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8:8 + size])
    head.pop("__metadata__")
    return {k: (v["shape"], raw[8 + size + v["data_offsets"][0]:8 + size + v["data_offsets"][1]]) for k, v in head.items()}


def write_tensors(path, content):
    head, data = {}, b""
    for name, (shape, raw) in content.items():
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    put(path, len(text).to_bytes(8, "little") + text + data)


def tokens(path):
    raw = open(os.path.join(WORK, path), "rb").read()
    assert raw[:8] == b"WLTOKEN\n"
    out = array.array("H", raw[HEAD:])
    if sys.byteorder == "big":
        out.byteswap()
    return out


def reference():
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


def learned():
    """A vocabulary trained on a text covers it, and is read back as written."""
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


def messages():
    """Missing or unsuitable input is reported in one line."""
    vocab = put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    text, empty, other = put("text", "a b a b\n" * 100), put("empty", ""), put("other", "xyz\n" * 100)
    short = put("short.txt", "a\nb\n")
    data = ("data", "wikitext")
    out = ("--sequence", 8, "--to", "out")
    refused(2, "--text is missing", *data, *out)
    refused(2, "--to is missing", *data, "--text", text)
    refused(2, "no vocabulary: give --vocab FILE, or --train-vocab N to train one", *data, "--text", text, *out)
    refused(2, "give one of them", *data, "--text", text, *out, "--vocab", vocab, "--train-vocab", 10)
    refused(2, "do not go with --synthetic", *data, "--text", text, "--synthetic", "x")
    refused(1, "the text nowhere", *data, "--text", "nowhere", "--vocab", vocab, *out)
    refused(1, "nowhere.txt", *data, "--text", text, "--vocab", "nowhere.txt", *out)
    refused(1, "the vocabulary of 2 tokens lacks [PAD] [UNK] [CLS] [SEP] [MASK]", *data, "--text", text, "--vocab",
            short, *out)
    refused(1, "empty: contains no text", *data, "--text", empty, "--vocab", vocab, *out)
    refused(1, "every word is [UNK]: the vocabulary does not fit", *data, "--text", other, "--vocab", vocab, *out)
    refused(1, "a vocabulary of 10 tokens is too small", *data, "--text", golden("sample.txt.xz"), "--train-vocab", 10,
            *out)
    done(*data, "--text", text, "--vocab", vocab, *out)
    refused(1, "out: token files exist already", *data, "--text", text, "--vocab", vocab, *out)


def bert():
    """Perplexity falls on synthetic text; loss, perplexity and tokens are reported; a resumed training is the same."""
    synthetic("text")
    bert = ("bert", "--size", "tiny", "--data", "text", "--warmup-updates", 20, "--local-batch", 4)
    r = done(*bert, "--epochs", 4, "--lr-schedule", "constant", "--vocab", "text/vocab.txt")
    values = [epoch["val_perplexity"] for epoch in r["epochs"]]
    last = r["epochs"][-1]
    assert values == sorted(values, reverse=True) and values[-1] < 0.9 * values[0] < 0.3 * r["vocabulary"], values
    assert abs(math.exp(last["val_loss"]) - last["val_perplexity"]) < 1e-6 * last["val_perplexity"]
    assert 0 < last["val_masked_accuracy"] < 1 and 0 < last["train_masked_accuracy"] < 1
    assert abs(r["tokens_per_s"] / r["samples_per_s"] - 32) < 1e-9 and r["sequence"] == 32
    units = {m["name"]: (m["unit"], m["better"]) for m in r["metrics"]}
    assert units == {"loss": ("nat", "smaller"), "perplexity": ("1", "smaller"), "masked_accuracy": ("1", "larger")}, units
    part = (*bert, "--checkpoint-dir", "kept", "--train-samples", 200)
    one = done(*bert, "--train-samples", 200, "--epochs", 2, "--lr-schedule", "constant")
    done(*part, "--epochs", 1, "--lr-schedule", "constant")
    two = done(*part, "--epochs", 2, "--lr-schedule", "constant", "--resume")
    assert two["epochs"][-1]["val_loss"] == one["epochs"][-1]["val_loss"], (one["epochs"], two["epochs"])
    synthetic("other", vocab=300)
    refused(1, "was made with vocabulary", *bert, "--data", "other", "--checkpoint-dir", "kept", "--resume", "--quiet")


def workers():
    """Two workers get the same masks as one that accumulates two local batches."""
    synthetic("text")
    bert = ("bert", "--size", "tiny", "--data", "text", "--epochs", 1, "--train-samples", 160, "--drop", 0.1)
    two = done(*bert, "--local-batch", 4, "--workers", 2)["epochs"][0]
    one = done(*bert, "--local-batch", 4, "--accumulation", 2)["epochs"][0]
    for key in ("train_loss", "val_loss"):
        assert abs(two[key] - one[key]) < 1e-5 * one[key], (key, two, one)
    again = done(*bert, "--local-batch", 4, "--workers", 2, "--loader-threads", 0)["epochs"][0]
    assert again["val_loss"] == two["val_loss"]


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def forge(name, at, number):
    """Another 4-byte number in the header of a token file, with a checksum that fits."""
    path = os.path.join(WORK, name)
    raw = bytearray(open(path, "rb").read())
    raw[at:at + 4] = number.to_bytes(4, "little")
    raw[HEAD - 4:HEAD] = crc32c(raw[:HEAD - 4]).to_bytes(4, "little")
    put(name, bytes(raw))


def parts():
    """What validation could not read is refused before the first update: token files that do not go together."""
    synthetic("text")
    bert = ("bert", "--size", "tiny", "--data", "text", "--epochs", 1, "--train-samples", 16, "--quiet")
    whole = open(f"{WORK}/text/val.tokens", "rb").read()
    forge("text/val.tokens", 32, 401)
    refused(1, "train.tokens and text/val.tokens were made with different vocabularies: 400 tokens with hash", *bert)
    put("text/val.tokens", whole)
    forge("text/val.tokens", 40, 7)
    refused(1, "train.tokens and text/val.tokens have different special tokens: number 1 is 0, and 7", *bert)
    put("text/val.tokens", whole)
    forge("text/train.tokens", 32, 401)
    refused(1, "was made with another vocabulary", *bert, "--no-validate", "--vocab", "text/vocab.txt")


def weights():
    """Weights are saved with the names of bert-base-uncased and loaded, also with older names; unsuitable files are refused."""
    synthetic("text")
    none = ("bert", "--size", "tiny", "--data", "text", "--epochs", 1, "--train-samples", 16, "--val-samples", 32, "--lr", 0)
    first = done(*none, "--save", "a.safetensors")
    a = tensors("a.safetensors")
    assert a["bert.encoder.layer.1.attention.self.key.weight"][0] == [128, 128] and len(a) == 42
    assert sum(len(raw) for _, raw in a.values()) == 4 * first["parameters"]
    assert done(*none, "--seed", 9, "--init", "a.safetensors", "--save", "b.safetensors")
    assert tensors("b.safetensors") == a
    old = {k.removeprefix("bert.").replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
           for k, v in a.items() if not k.startswith("cls.")}
    write_tensors("old.safetensors", {**old, "embeddings.position_ids": ([1, 4], bytes(16)), "pooler.dense.bias": ([2], bytes(8))})
    p = run(*none, "--seed", 9, "--init", "old.safetensors", "--save", "c.safetensors")
    assert p.returncode == 0, p.stderr
    assert "lacks 5 parameters, which keep their first values: cls.predictions" in p.stderr, p.stderr
    assert "has 1 tensors that this network has no use for: pooler.dense.bias" in p.stderr, p.stderr
    c = tensors("c.safetensors")
    assert all(c[k] == a[k] for k in a if k.startswith("bert.")) and c["cls.predictions.bias"][0] == [first["vocabulary"]]

    synthetic("other", vocab=300)
    short = dict(a, **{"bert.embeddings.position_embeddings.weight": ([2, 128], bytes(1024))})
    write_tensors("short.safetensors", short)
    write_tensors("foreign.safetensors", {"conv1.weight": ([1], bytes(4))})
    put("text.safetensors", "no weights at all\n")
    other = (*none, "--quiet", "--data", "other")
    refused(1, "is for a vocabulary of", *other, "--init", "a.safetensors")
    refused(1, "position_embeddings.weight is [2,128] there and [512,128] in this network", *none, "--quiet", "--init",
            "short.safetensors")
    refused(1, "none of its 1 tensors is of this network", *none, "--quiet", "--init", "foreign.safetensors")
    refused(1, "not a safetensors file", *none, "--quiet", "--init", "text.safetensors")
    refused(1, "was made with another vocabulary", *none, "--quiet", "--vocab", "other/vocab.txt")
    refused(1, "expected 1 to 512, its number of positions", "bert", "--size", "tiny", "--data", "text", "--local-batch", 1, "--sequence", 600)
    refused(1, "--save nowhere/x", *none, "--quiet", "--save", "nowhere/x")
    refused(1, "the tokens nothing/train.tokens", *none, "--quiet", "--data", "nothing")


main(reference, learned, messages, bert, workers, parts, weights)
