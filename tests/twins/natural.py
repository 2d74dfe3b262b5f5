"""Natural compression and natural dithering (Horváth et al., MSML 2022): powers of two, rounded at random."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

from common import CODE, EXAMPLE, draws, sum_squares, uniform, unit

SETTINGS = [
    "natural",
    "natural feedback=none workers=3",
    "natural-8",
    "natural-dithering",
    "natural-dithering levels=1 bucket=33 max-norm=1",
    "natural-dithering levels=20 bucket=4000 feedback=none",
]


def powers(x, u):
    """|x| = 2^a (1 + f) as 2^(a+1) where u < f, else 2^a; below 2^-126, 2^-126 where u < |x| / 2^-126, else 0."""
    m, e = np.frexp(x)
    up = u < 2 * m - 1
    normal = np.exp2(np.minimum(e - 1 + up, 127).astype(float))
    return np.where(x < 2.0**-126, np.where(u < x / 2.0**-126, 2.0**-126, 0), normal)


def dithering(x, u, s):
    """0 <= x <= 1 as one of 0, 2^(1-s) .. 1."""
    least = 2.0 ** (1 - s)
    m, e = np.frexp(x)
    high = np.exp2((e - 1 + (u < 2 * m - 1)).astype(float))
    return np.where(x < least, np.where(u < x / least, least, 0), high)


def compress(case, p, layer, worker, step):
    words = draws(case.seed, CODE, worker, step, case.offset[layer], len(p))
    x, sign = np.abs(p.astype(np.float64)), np.where(p < 0, -1.0, 1.0)
    if case.compressor != "natural-dithering":
        sent = powers(x, (words >> 9) * 2.0**-23)
        if case.compressor == "natural":
            return sign * sent, 9 * len(p)
        return sign * np.where(sent < 2.0**-108, 0, np.minimum(sent, 2.0**18)), 8 * len(p)
    s, bucket = int(case.number("levels", 7)), int(case.number("bucket", 512))
    sent, cost = np.zeros(len(p)), len(p) * (1 + math.ceil(math.log2(s + 1)))
    for at in range(0, len(p), bucket):
        some = x[at : at + bucket]
        norm = unit(float(some.max()) if case.number("max-norm", 0) else math.sqrt(sum_squares(some)), 1)
        cost += 32
        if norm > 0:
            sent[at : at + bucket] = norm * dithering(np.minimum(some / norm, 1), uniform(words[at : at + bucket]), s)
    return sign * sent, cost


def check():
    x, many = np.abs(EXAMPLE), (np.arange(4096) + 0.5) / 4096
    both = np.array([powers(x, u) for u in many])
    assert np.array_equal(np.mean(both > both.min(axis=0), axis=0), [0, 0.25, 0, 0, 0, 0.5, 0.25, 0.5])
    assert abs(np.sum(np.var(both, axis=0)) - 2) < 1e-9
