"""What both sides compute by themselves: random numbers, weights, inputs, dropout masks, signs of projections.

The same functions as src/base/random.c, src/nn/plan/state.c and src/nn/ref/dropout.c have, over numpy arrays, and as
tests/unit/models/oracle.c has for the inputs and signs. Integers and uniform numbers agree bit by bit; normal numbers
to the last bit of their logarithm, sine and cosine.
"""
import functools

import numpy as np

CHUNK = 1 << 21  # numbers drawn at once
DROP_STEPS, DROP_LANES, DROP_GROUP = 1 << 16, 16, 128
PROJECTIONS = 8


def hash_text(text):
    """FNV-1a, 64 bits."""
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def philox(key, stream, index):
    """Philox4x32-10 of an array of indices: four arrays of 32-bit words, in 64 bits."""
    low, high = np.uint64(0xffffffff), np.uint64(32)
    k0, k1 = key & 0xffffffff, key >> 32
    c0, c1 = index & low, index >> high
    c2, c3 = np.full_like(index, stream & 0xffffffff), np.full_like(index, stream >> 32)
    for _ in range(10):
        a, b = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = b >> high ^ c1 ^ np.uint64(k0), b & low, a >> high ^ c3 ^ np.uint64(k1), a & low
        k0, k1 = k0 + 0x9E3779B9 & 0xffffffff, k1 + 0xBB67AE85 & 0xffffffff
    return c0, c1, c2, c3


def by_chunks(draw):
    """draw(key, stream, from, n) for numbers [from, from + n) of a stream, in pieces that fit the cache."""
    @functools.wraps(draw)
    def all_of(key, stream, n, start=0):
        parts = [draw(key, stream, at, min(CHUNK, start + n - at)) for at in range(start, start + n, CHUNK)]
        return np.concatenate(parts) if parts else np.empty(0)
    return all_of


def words_of_pairs(key, stream, start, n):
    """Elements 2j and 2j + 1 share block j: the blocks' words, and which elements of them are wanted."""
    blocks = np.arange(start // 2, (start + n + 1) // 2, dtype=np.uint64)
    return philox(key, stream, blocks), slice(start % 2, start % 2 + n)


@by_chunks
def uniform(key, stream, start, n):
    """[0, 1)"""
    w, part = words_of_pairs(key, stream, start, n)
    bits = np.stack([w[0] << np.uint64(32) | w[1], w[2] << np.uint64(32) | w[3]], 1).ravel()[part] >> np.uint64(11)
    return bits.astype(np.float64) * 2.0 ** -53


@by_chunks
def normal(key, stream, start, n):
    w, part = words_of_pairs(key, stream, start, n)
    radius = np.sqrt(-2 * np.log((w[0].astype(np.float64) + 1) * 2.0 ** -32))
    angle = 2 * np.pi * (w[1].astype(np.float64) * 2.0 ** -32 + w[2].astype(np.float64) * 2.0 ** -64)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).ravel()[part]


def below(key, stream, n, start, limit):
    """n integers in [0, limit)."""
    w = philox(key, stream, np.arange(start, start + n, dtype=np.uint64))
    return np.array([(int(a) << 32 | int(b)) * limit >> 64 for a, b in zip(w[0], w[1])])


def inputs(seed, step, batch, pixels, classes):
    """Images [N,3,S,S] f32 and labels [N] of optimizer step `step`: noise over a pattern of the label's class, both
    uniform with variance 1."""
    count, root3 = 3 * pixels * pixels, np.sqrt(3.0)
    labels = below(seed, hash_text("labels"), batch, step * batch, classes)
    noise = (2 * uniform(seed, hash_text("noise"), batch * count, step * batch * count) - 1) * root3
    patterns = [2 * uniform(seed, hash_text("patterns"), count, label * count) - 1 for label in labels.tolist()]
    images = noise.reshape(batch, count) + np.stack(patterns) * root3
    return images.astype(np.float32).reshape(batch, 3, pixels, pixels), labels


def keep_mask(seed, name, update, batch, features, p):
    """Dropout's factors [N,F] of operation `name`: 0, or 1/(1 - p)."""
    w = philox(seed, hash_text(name), np.zeros(1, np.uint64))
    key, drop = int(w[0][0]) << 32 | int(w[1][0]), round(p * DROP_STEPS)
    j = np.arange(features)
    block = (j // DROP_GROUP * DROP_LANES + j % DROP_LANES).astype(np.uint64)
    k = j % DROP_GROUP // DROP_LANES
    rows = []
    for sample in range(batch):
        words = np.stack(philox(key, update, block + np.uint64(sample << 32)))
        half = words[k // 2, j] >> (k % 2 * 16).astype(np.uint64) & np.uint64(0xffff)
        rows.append(np.where(half < drop, 0.0, DROP_STEPS / (DROP_STEPS - drop)))
    return np.stack(rows)


def sign_bits(name, start, n):
    """splitmix64 of the element, from the name's hash on: bit p set means that projection p subtracts it."""
    i = np.arange(start + 1, start + 1 + n, dtype=np.uint64)
    z = np.uint64(hash_text(name)) + i * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def fingerprint(name, values, projections=PROJECTIONS):
    """L2 norm, and dot products with vectors of +-1. A vector of differences d has |d|^2 as the mean of the squares of
    its projections, so they tell how far two tensors lie apart, every element counted."""
    flat, squares, sums = np.asarray(values, np.float64).ravel(), 0.0, np.zeros(projections)
    for at in range(0, flat.size, CHUNK):
        part = flat[at:at + CHUNK]
        bits = sign_bits(name, at, part.size)
        squares += float(part @ part)
        for p in range(projections):
            sums[p] += part.sum() - 2 * part[(bits >> np.uint64(p) & np.uint64(1)).astype(bool)].sum()
    return [float(np.sqrt(squares)), *sums.tolist()]
