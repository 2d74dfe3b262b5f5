"""DeMo (Peng, Quesnelle, Kingma, 2024): the k largest DCT-II coefficients of every chunk, mean over those who sent each.

Sums are in double, over columns and then over rows, in ascending order."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

SETTINGS = [
    "demo k=1 workers=3 steps=1",
    "demo k=32 sign=0 workers=3",
    "demo k=4096 chunk=5 sign=0 workers=1",
    "demo k=3 chunk=8 sign=0 feedback=none",
]


def divisor(n, most):
    return max(i for i in range(1, min(n, most) + 1) if n % i == 0)


def table(n):
    """[i][u]: the u-th basis vector at i."""
    scale = lambda u: math.sqrt((2.0 if u > 0 else 1.0) / n)
    return np.array([[scale(u) * math.cos(math.pi * ((2 * i + 1) * u) / (2 * n)) for u in range(n)] for i in range(n)])


def transform(x, rows, columns):
    half = np.zeros_like(x)
    for j in range(x.shape[2]):
        half = half + x[:, :, j : j + 1] * columns[j]
    out = np.zeros_like(x)
    for i in range(x.shape[1]):
        out = out + rows[i][:, None] * half[:, i : i + 1, :]
    return out


class Layer:
    def __init__(self, case, layer):
        most = int(case.number("chunk", 64))
        self.n, rows = case.sizes[layer], case.rows[layer]
        self.h, self.w = divisor(rows, most), divisor(self.n // rows, most)
        self.down, self.across = rows // self.h, self.n // rows // self.w
        self.rows, self.columns = table(self.h), table(self.w)

    def chunks(self, x):
        return x.reshape(self.down, self.h, self.across, self.w).swapaxes(1, 2).reshape(-1, self.h, self.w)

    def whole(self, chunks):
        return chunks.reshape(self.down, self.across, self.h, self.w).swapaxes(1, 2).reshape(-1)

    def there(self, x):
        limit = float(np.finfo(np.float32).max)
        out = transform(self.chunks(x).astype(float), self.rows, self.columns)
        return np.clip(out, -limit, limit).astype(np.float32).reshape(-1, self.h * self.w)

    def back(self, coefficients):
        blocks = coefficients.reshape(-1, self.h, self.w).astype(float)
        return self.whole(transform(blocks, self.rows.T, self.columns.T).astype(np.float32))


def step(case, ps, t):
    k, workers = int(case.number("k", 32)), len(ps)
    total, rests, bits = np.zeros_like(ps[0]), [p.copy() for p in ps], [0] * workers
    for l, (a, b) in enumerate(zip(case.offset, case.offset[1:])):
        if b == a:
            continue
        if ("layer", l) not in case.memory:
            case.memory["layer", l] = Layer(case, l)
        layer = case.memory["layer", l]
        senders, mean = 0, np.float32(0)
        for w, p in enumerate(ps):
            coefficients = layer.there(p[a:b])
            order = np.argsort(-np.abs(coefficients), axis=1, kind="stable")[:, :k]
            sent = np.zeros(coefficients.shape, bool)
            np.put_along_axis(sent, order, True, axis=1)
            coefficients = np.where(sent, coefficients, np.float32(0))
            senders, mean = senders + sent, mean + coefficients
            rests[w][a:b] -= layer.back(coefficients)
            bits[w] += int(sent.sum()) * (32 + math.ceil(math.log2(layer.h * layer.w)))
        mean = np.where(senders > 0, mean / np.maximum(senders, 1).astype(np.float32), np.float32(0))
        x = layer.back(mean.astype(np.float32))
        total[a:b] = (np.sign(x) if case.number("sign", 1) else x) * np.float32(workers)
    return bits, total, rests
