"""SparseLoCo (Sarfi et al., 2025; its authors' code): the k largest of every tile in two bits each, scaled to the median of
the workers' norms, mean over the workers that sent each."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

import demo
import lookup

SETTINGS = [
    "sparseloco workers=3",
    "sparseloco k=3 chunk=8 workers=4 steps=3",
    "sparseloco k=5 chunk=5 clip=0 workers=2",
    "sparseloco k=4096 workers=1",
    "sparseloco k=3 feedback=none",
]


def step(case, ps, t):
    k, workers = int(case.number("k", 64)), len(ps)
    total, rests, bits = np.zeros_like(ps[0]), [p.copy() for p in ps], [0] * workers
    for l, (a, b) in enumerate(zip(case.offset, case.offset[1:])):
        if b == a:
            continue
        layer = case.memory.setdefault(("layer", l), demo.Layer(case, l))
        senders, each, norms = 0, [], []
        for w, p in enumerate(ps):
            tiles = layer.chunks(p[a:b]).reshape(-1, layer.h * layer.w)
            order = np.argsort(-np.abs(tiles), axis=1, kind="stable")[:, :k]
            sent = np.zeros(tiles.shape, bool)
            np.put_along_axis(sent, order, True, axis=1)
            values = np.zeros_like(tiles)
            values[sent] = lookup.read_back(tiles[sent])
            rests[w][a:b] -= layer.whole(values)
            norms.append(math.sqrt(lookup.total(values[sent].astype(float) ** 2)))
            each.append(values)
            senders = senders + sent
            bits[w] += int(sent.sum()) * (2 + math.ceil(math.log2(layer.h * layer.w))) + 160
        middle, mean = sorted(norms)[(workers - 1) // 2], np.zeros_like(each[0])
        for values, norm in zip(each, norms):
            factor = middle / (norm + 1e-8)
            clips = case.number("clip", 1) and factor < 1
            mean += (np.float32(factor) if clips else np.float32(1)) * values
        mean = np.where(senders > 0, mean / np.maximum(senders, 1).astype(np.float32) * np.float32(workers), np.float32(0))
        total[a:b] = layer.whole(mean.astype(np.float32))
    return bits, total, rests
