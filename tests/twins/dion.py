"""Dion (Ahn et al., arXiv 2504.05295, algorithm 1, as its authors' dion_simple.py has it): for every matrix

    M_i <- M_i + g_i, which the library calls p        P = basis of mean M_i Q        R = mean M_i' P
    M_i <- M_i - (1 - mu) P R'                         Q = R, column by column over |R|        sum: P Q' for each worker

Vectors are sent as they are. Sums are in double and rounded once, in the order that kernels/sg_products.h states."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import START, Stream, f32

SETTINGS = [
    "dion rank=1 steps=3",
    "dion rank=3 mu=0.5 workers=3 steps=4",
    "dion rank=64 mu=0.9 workers=1 steps=3",
    "dion mu=0 steps=2",
    "dion rank=2 feedback=none steps=2",
]
one = np.float32


def dot(x, y):
    """16 interleaved sums, and then one after another."""
    product = np.zeros(-(-len(x) // 16) * 16)
    product[: len(x)] = x.astype(np.float64) * y.astype(np.float64)
    lane, total = np.zeros(16), 0.0
    for row in product.reshape(-1, 16):
        lane += row
    for v in lane:
        total += v
    return total


def basis(columns):
    """Gram-Schmidt, twice for every column; what lies in the span of the others becomes 0."""
    done = []
    for x in columns:
        whole = np.sqrt(dot(x, x))
        for _ in range(2):
            for q in done:
                x = (x.astype(np.float64) - dot(q, x) * q.astype(np.float64)).astype(one)
        norm = np.sqrt(dot(x, x))
        done.append((x.astype(np.float64) / norm).astype(one) if norm > 2.0**-20 * whole else np.zeros_like(x))
    return done


def outer(ps, qs):
    total = np.zeros((len(ps[0]), len(qs[0])))
    for p, q in zip(ps, qs):
        total += p.astype(np.float64)[:, None] * q.astype(np.float64)
    return total


def transposed(m, p):
    total = np.zeros(m.shape[1])
    for row, x in zip(m, p):
        total += row.astype(np.float64) * np.float64(x)
    return total.astype(one)


def start(case, rank):
    stream, out = Stream(case.seed, START, 0, 0), []
    for n, rows in zip(case.sizes, case.rows):
        columns = n // rows
        normals = np.array([f32(stream.normal()) for _ in range(n)], one)
        r = min(rank, rows, columns) if rows > 1 and columns > 1 else 0
        out.append([normals[k * columns : (k + 1) * columns] for k in range(r)])
    return out


def matrix(case, ms, qs):
    """The sum of directions, what P R' takes of each momentum, and Q for the next step."""
    sent = [[one(0) + np.array([dot(row, q) for row in m]).astype(one) for q in qs] for m in ms]
    ps = basis([sum(column, np.zeros(len(ms[0]), one)) for column in zip(*sent)])
    back = [sum((transposed(m, p) for m in ms), np.zeros(ms[0].shape[1], one)) for p in ps]
    workers, norms, left = float(case.workers), [], one(1 - case.number("mu", 0.95))
    for k, r in enumerate(back):
        if dot(r, r) > 0:
            qs[k] = r
        else:
            ps[k] = np.zeros_like(ps[k])
        norm = np.sqrt(dot(qs[k], qs[k])) / workers + 1e-8
        norms.append(one(norm))
        qs[k] = (qs[k].astype(np.float64) / workers / norm).astype(one)
    total = one(workers) * outer(ps, qs).astype(one)
    taken = outer(ps, [left * norm * q for norm, q in zip(norms, qs)])
    return total, taken


def step(case, ps, t):
    qs = case.memory.setdefault("q", start(case, int(case.number("rank", 4))))
    total, rests, cost = np.zeros_like(ps[0]), [np.zeros_like(p) for p in ps], 0
    for l, (n, rows, at) in enumerate(zip(case.sizes, case.rows, case.offset)):
        here = slice(at, at + n)
        cost += 32 * (len(qs[l]) * (rows + n // rows) if qs[l] else n)
        if not qs[l]:
            total[here] = sum((p[here] for p in ps), np.zeros(n, one))
            continue
        ms = [p[here].reshape(rows, -1) for p in ps]
        product, taken = matrix(case, ms, qs[l])
        total[here] = product.ravel()
        for rest, m in zip(rests, ms):
            rest[here] = (m.astype(np.float64) - taken).astype(one).ravel()
    return [cost] * len(ps), total, rests
