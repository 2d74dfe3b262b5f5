"""vqSGD with the cross-polytope (Gandikota, Kane, Maity, Mazumdar, AISTATS 2021): k of its 2n vertices, drawn at random."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

from common import COMPRESS, EXAMPLE, Stream, sum_squares
from topk import share

SETTINGS = ["vqsgd k=3 feedback=none", "vqsgd k=60 feedback=none", "vqsgd density=0.1 feedback=none steps=3"]
SETTINGS += ["vqsgd k=20 least-error=1", "vqsgd density=1 least-error=1 steps=2"]
LARGEST = float(np.finfo(np.float32).max)


def chances(x):
    """That one draw is each vertex: n positive ones, then n negative ones; and the radius of the polytope."""
    x = np.asarray(x, np.float64)
    n, norm = len(x), math.sqrt(sum_squares(x))
    rest = max(0, 1 - np.abs(x).sum() / (norm * math.sqrt(n)))
    positive, negative = np.maximum(x, 0), np.maximum(-x, 0)
    return np.concatenate([positive, negative]) / (norm * math.sqrt(n)) + rest / (2 * n), norm * math.sqrt(n)


def message(case, layers, worker, step):
    rng, parts, bits = Stream(case.seed, COMPRESS, worker, step), [], 0
    for p in layers:
        n, net = len(p), np.zeros(len(p))
        bits += 32 * (n > 0)
        radius = 0
        if p.any():
            k = share(case, n)
            chance, _ = chances(p)
            radius = math.sqrt(n * sum_squares(p)) / (k * (1 + (n - 1) / k if case.number("least-error", 0) else 1))
            axis = chance[:n] + chance[n:]
            at = np.sort([rng.uniform() for _ in range(k)])
            where = np.minimum(np.searchsorted(np.cumsum(axis), at, side="right"), n - 1)
            for i in where:
                same = max(chance[i], chance[n + i])
                net[i] += (1 if rng.uniform() * axis[i] < same else -1) * (-1 if p[i] < 0 else 1)
            bits += k * (1 + math.ceil(math.log2(n)))
        parts.append(np.clip(net * radius, -LARGEST, LARGEST).astype(np.float32))
    return np.concatenate(parts), bits


def check():
    chance, radius = chances(EXAMPLE)
    n = len(EXAMPLE)
    assert abs(chance.sum() - 1) < 1e-12
    assert np.allclose(radius * (chance[:n] - chance[n:]), EXAMPLE, atol=1e-12)
    assert abs(radius**2 - (EXAMPLE**2).sum() - (n - 1) * (EXAMPLE**2).sum()) < 1e-9  # omega = n - 1 for one draw
