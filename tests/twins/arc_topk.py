"""ARC-Top-K (Chen et al., arXiv 2510.26709): the rows of the workers' mean matrix whose sketch is the longest.

Sums over a row are in double, 16 interleaved ones that are then added one after another, and rounded once."""
# SPDX-License-Identifier: MIT

import numpy as np

import topk
from common import COMPRESS, Stream, f32

SETTINGS = [
    "arc-topk k=40 workers=3 steps=4",
    "arc-topk density=0.1 rank=2 workers=4 steps=3",
    "arc-topk density=0.5 rank=1",
    "arc-topk k=1 workers=1 feedback=none",
    "arc-topk density=0.2 rank=8",
]
ALL = (1 << 24) - 1


def dot(m, v):
    """Every row of m times v."""
    product = m.astype(np.float64) * v.astype(np.float64)
    lane = np.zeros((len(m), 16))
    for j in range(m.shape[1]):
        lane[:, j % 16] += product[:, j]
    total = np.zeros(len(m))
    for j in range(16):
        total += lane[:, j]
    return total.astype(np.float32)


def step(case, ps, t):
    rank, stream = int(case.number("rank", 4)), Stream(case.seed, COMPRESS, ALL, t)
    sent, sketched = np.ones(len(ps[0]), bool), 0
    for n, rows, at in zip(case.sizes, case.rows, case.offset):
        if n == 0 or rows == 1 or n // rows <= rank:
            continue
        columns = n // rows
        vs = [np.array([f32(stream.normal()) for _ in range(columns)], np.float32) for _ in range(rank)]
        sketch = np.zeros((rank, rows), np.float32)
        for p in ps:
            sketch += [dot(p[at : at + n].reshape(rows, columns), v) for v in vs]
        size = np.sqrt(sum(x.astype(np.float64) ** 2 for x in sketch)).astype(np.float32)
        k = max(1, topk.share(case, n) // columns)
        chosen = np.zeros(rows, bool)
        chosen[np.argsort(-size, kind="stable")[:k]] = True
        sent[at : at + n] = np.repeat(chosen, columns)
        sketched += rank * rows
    total = np.zeros_like(ps[0])
    for p in ps:
        total += np.where(sent, p, 0)
    return [32 * (sketched + int(sent.sum()))] * len(ps), total, [np.where(sent, 0, p) for p in ps]
