"""The singular triplets of each layer's matrix above tau; layers that are no matrices as they are."""
# SPDX-License-Identifier: MIT

import numpy as np

SETTINGS = ["svd-threshold tau=20 steps=1", "svd-threshold tau=45", "svd-threshold tau=0.3 steps=1 workers=1 feedback=none"]
LARGEST = float(np.finfo(np.float32).max)


def triplets(p, rows):
    """Left vectors, singular values, and right vectors times these, all as columns; the scaled ones are the longer."""
    x = p.reshape(rows, -1).astype(np.float64)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    if x.shape[0] <= x.shape[1]:
        return u, s, (u.T @ x).T, True
    return vt.T, s, x @ vt.T, False


def product(short, long, wide):
    """The sum of products of floats, in double, one triplet after another."""
    total = np.zeros((len(short), len(long)))
    for a, b in zip(short.astype(np.float32).T, long.astype(np.float32).T):
        total += np.outer(a.astype(np.float64), b.astype(np.float64))
    return (total if wide else total.T).astype(np.float32).ravel()


def encoded(p, rows, chosen, scale, random=False):
    """What the triplets stand for and cost; where they are no smaller, numbers: the matrix, or the sum of triplets."""
    short, s, long, wide = triplets(p, rows)
    rank, columns = len(chosen), len(p) // rows
    if rank * (rows + columns) >= len(p) or (s[chosen] * scale).sum() > LARGEST / 2:
        total = short[:, chosen] @ (long[:, chosen] * scale).T
        total = np.clip(total if wide else total.T, -LARGEST, LARGEST)
        return total.astype(np.float32).ravel() if random else p, 32 * len(p)
    return product(short[:, chosen], long[:, chosen] * scale, wide), 32 * rank * (rows + columns) + 8


def compress(case, p, layer, worker, step):
    rows = case.rows[layer]
    if rows == 1 or rows == len(p) or len(p) == 0:
        return p, 32 * len(p)
    chosen = np.flatnonzero(triplets(p, rows)[1] > case.number("tau"))
    return encoded(p, rows, chosen, np.ones(len(chosen)))


def check():
    p = np.array([0.5, -1.25, 2, -0.125, 0, 3, -2.5, 0.75], np.float32)
    short, s, long, wide = triplets(p, 2)
    assert np.allclose(s, [4.579934, 0.815370], atol=1e-6)
    assert abs(((p - product(short[:, :1], long[:, :1], wide)) ** 2).sum() - 0.664829) < 1e-5


check()
