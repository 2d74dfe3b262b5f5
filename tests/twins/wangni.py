"""Gradient sparsification (Wangni, Wang, Liu, Zhang, NeurIPS 2018): the greedy algorithm for the probabilities."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

from common import COMPRESS, Stream
from topk import share

SETTINGS = ["wangni k=30", "wangni density=0.1 feedback=none", "wangni density=0.6 steps=1", "wangni k=1 steps=1"]
LARGEST, SMALLEST = float(np.finfo(np.float32).max), 2.0**-149


def probabilities(a, k):
    """That each is sent, such that k are expected, after at most 20 turns; and |x| / probability where that is below 1."""
    scale = sum(a) / k
    if scale == 0:
        return np.zeros_like(a), np.inf
    chance = np.minimum(1, a / scale)
    for _ in range(20):
        active = chance < 1
        rest = chance[active].sum()
        factor = (k - len(a) + active.sum()) / rest if rest > 0 else 0
        if factor <= 1:
            break
        chance[active] = np.minimum(1, factor * chance[active])
        scale = sum(a[active]) / (k - len(a) + active.sum())
    return chance, scale


def magnitude(a, k):
    """What is sent for a number that is not sure to be sent, in a float; the probabilities follow from it again."""
    scale = probabilities(a, k)[1]
    return np.float32(scale) if scale == np.inf else np.float32(min(max(scale, SMALLEST), LARGEST))


def message(case, layers, worker, step):
    rng, parts, bits = Stream(case.seed, COMPRESS, worker, step), [], 0
    for p in layers:
        u = np.array([(rng.u32() >> 8) * 2.0**-24 for _ in p])
        a, sent = np.abs(p).astype(np.float64), np.zeros_like(p)
        if len(p):
            m = magnitude(a, share(case, len(p)))
            chance = a / np.float64(m)
            chosen = u < chance
            sent[chosen] = np.where(chance >= 1, p, np.copysign(m, p))[chosen]
            sizes = np.abs(sent[chosen])
            exact = int((sizes != sizes.min()).sum()) if len(sizes) else 0
            count = len(sizes)
            bits += 32 * exact + (count - exact) + 32 * (count > 0) + count * math.ceil(math.log2(len(p)))
        parts.append(sent)
    return np.concatenate(parts), bits


def check():
    p = np.abs(np.array([0.5, -1.25, 2, -0.125, 0, 3, -2.5, 0.75]))
    right = [0.148148, 0.370370, 0.592593, 0.037037, 0, 0.888889, 0.740741, 0.222222]
    assert np.allclose(probabilities(p, 3)[0], right, atol=1e-6)
    chance = probabilities(p, 3)[0]
    assert abs((p[p > 0] ** 2 / chance[p > 0]).sum() - 34.171875) < 1e-6


check()
