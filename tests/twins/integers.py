"""Integers of few bits: Dettmers' 8 bits (ICLR 2016), int8 and int4 by blocks, places between least and largest (CGX)."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import CODE, EXAMPLE, draws, uniform, unit

SETTINGS = [
    "8bit",
    "8bit feedback=none",
    "8bit-grace",
    "int-block",
    "int-block bits=4 bucket=33 stochastic=1",
    "int-block bits=2 bucket=5000",
    "int-block bits=16 bucket=64 stochastic=1 feedback=none",
    "minmax",
    "minmax bits=8 bucket=100 stochastic=1",
    "minmax bits=2 bucket=5000 feedback=none",
]


def tree():
    """Decade j has 2^j cells from 1 to 4.5 and from 4.5 to 10; their middles, and one at each end."""
    middles = [1.5e-6]
    for j in range(6):
        for a, b in ((1, 4.5), (4.5, 10)):
            width = (b - a) / 2**j
            middles += [float("1e%d" % (j - 6)) * (a + width * (i + 0.5)) for i in range(2**j)]
    return np.array(middles + [0.99570298])


def rounded(a, words, case):
    if not case.number("stochastic", 0):
        return np.rint(a)
    return np.floor(a) + (uniform(words) < a - np.floor(a))


def int_block(x, words, case, b):
    """Multiples of the bucket's unit."""
    most = 2 ** (b - 1) - 1
    u = unit(float(np.abs(x).max()), most)
    return np.sign(x) * u * rounded(np.minimum(np.abs(x) / u, most), words, case) if u > 0 else np.zeros(len(x))


def minmax(x, words, case, b):
    """Places between the least and the largest."""
    u = (x.max() - x.min()) / (2**b - 1)
    a = (x - x.min()) / u if u > 0 else np.zeros(len(x))
    place = rounded(a, words, case) if case.number("stochastic", 0) else np.floor(a + 0.5)
    return x.min() + u * np.minimum(place, 2**b - 1)


def compress(case, p, layer, worker, step):
    x = p.astype(np.float64)
    if case.compressor.startswith("8bit"):
        t, s = tree(), np.abs(x).max() if len(p) else 0
        a = np.abs(x) / s if s > 0 else 0 * x
        if case.compressor == "8bit-grace":  # compressor/u8bit.py: bins between the fractions, number 0 without a sign
            bins = np.clip(np.searchsorted(t, a, side="right") - 1, 0, len(t) - 2)
            return np.sign(x) * s * np.where(bins > 0, t[bins], 0), 8 * len(p) + 32 * (len(p) > 0)
        at = np.searchsorted((t[:-1] + t[1:]) / 2, a)
        return np.where(x < 0, -s, s) * t[at], 8 * len(p) + 32 * (len(p) > 0)
    write, scalars, b, bucket = (int_block, 1, 8, 256) if case.compressor == "int-block" else (minmax, 2, 4, 512)
    b, bucket = int(case.number("bits", b)), int(case.number("bucket", bucket))
    words = draws(case.seed, CODE, worker, step, case.offset[layer], len(p))
    sent, cost = np.zeros(len(p)), b * len(p)
    for at in range(0, len(p), bucket):
        part = slice(at, at + bucket)
        sent[part] = write(x[part], words[part], case, b)
        cost += 32 * scalars
    return sent, cost


class Nearest:
    def number(self, key, preset):
        return preset


def check():
    for b, codes in ((8, [21, -53, 85, -5, 0, 127, -106, 32]), (4, [1, -3, 5, 0, 0, 7, -6, 2])):
        assert np.allclose(int_block(EXAMPLE, None, Nearest(), b), np.array(codes) * 3 / (2 ** (b - 1) - 1), rtol=1e-6)
    places = minmax(EXAMPLE, None, Nearest(), 2)
    assert np.allclose(places, -2.5 + np.array([2, 1, 2, 1, 1, 3, 0, 2]) * 5.5 / 3)
