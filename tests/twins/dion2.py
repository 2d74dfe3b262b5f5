"""Dion2 (Ahn, Amsel, Langford, arXiv 2512.16928, as its authors' dion2.py has it): of every matrix the rows, or the
columns if they are fewer, whose magnitudes add up to the most over workers:

    M_i <- M_i + g_i, which the library calls p        K: the largest of sum |row|_1
    sum: polar(mean M_i[K]) for each worker            M_i[K] <- mu M_i[K]

polar is Polar Express (Amsel et al., arXiv 2505.16932) of five steps, in float32. Vectors are sent as they are. Sums are in
double and rounded once, in the order that kernels/sg_products.h states."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

from arc_topk import dot
from common import sum_squares

SETTINGS = [
    "dion2 steps=3",
    "dion2 fraction=0.6 mu=0.5 workers=3 steps=4",
    "dion2 fraction=1 mu=0.9 workers=1 steps=3",
    "dion2 fraction=0 mu=0 steps=2",
    "dion2 fraction=0.4 steps=2 feedback=none",
]
POLYNOMIALS = (
    (8.156554524902461, -22.48329292557795, 15.878769915207462),
    (4.042929935166739, -2.808917465908714, 0.5000178451051316),
    (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
    (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
    (2.3465413258596377, -1.7097828382687081, 0.42323551169305323),
)
one, two = np.float32, np.float64


def polar(x, workers):
    """Directions of a matrix that is at most as high as wide, x the sum over workers."""
    factor = 1 / (1.02 * math.sqrt(sum_squares(x.ravel())) + 1e-8 * workers)
    x = (factor * x.astype(two)).astype(one)
    for a, b, c in POLYNOMIALS:
        g = np.array([dot(x, row) for row in x])
        gg = np.array([dot(g, row) for row in g])
        g = (b * g.astype(two) + c * gg.astype(two)).astype(one)
        y = np.zeros(x.shape)
        for i, row in enumerate(x):
            y += row.astype(two) * g[:, i].astype(two)[:, None]
        x = (a * x.astype(two) + y.astype(one).astype(two)).astype(one)
    return x


def step(case, ps, t):
    fraction, left = case.number("fraction", 0.25), one(case.number("mu", 0.95))
    total, rests, cost = sum(ps, np.zeros_like(ps[0])), [p.copy() for p in ps], 0
    for n, rows, at in zip(case.sizes, case.rows, case.offset):
        here = slice(at, at + n)
        if n == 0 or rows == 1 or rows == n:
            cost += 32 * n
            for rest in rests:
                rest[here] = 0
            continue
        turned = rows > n // rows
        ms = [p[here].reshape(rows, -1).T if turned else p[here].reshape(rows, -1) for p in ps]
        norms = np.zeros(len(ms[0]), one)
        for m in ms:
            norms += np.add.accumulate(np.abs(m.astype(two)), axis=1)[:, -1].astype(one)
        k = max(1, math.ceil(fraction * len(ms[0])))
        chosen = np.sort(np.argsort(-norms, kind="stable")[:k])
        cost += 32 * (len(norms) + k * ms[0].shape[1])
        direction = np.zeros(ms[0].shape, one)
        mean = sum((m[chosen] for m in ms), np.zeros((k, ms[0].shape[1]), one))
        direction[chosen] = one(case.workers) * polar(mean, case.workers)
        total[here] = (direction.T if turned else direction).ravel()
        for rest, m in zip(rests, ms):
            m = m.copy()
            m[chosen] = left * m[chosen]
            rest[here] = (m.T if turned else m).ravel()
    return [cost] * len(ps), total, rests
