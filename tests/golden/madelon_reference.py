"""The stochastic madelon experiment in NumPy (double precision), independent of the library: what one should expect of
other splits and draws. 20 workers of 100 rows, one row a step, x0 = x* + 1e-4, gamma = 1/(L + l2), Algorithm 1 with Top-1
and with hard-threshold at 5e-4 on p = e + gamma g, 3000 steps, error norm (1/n) sum |e_i|^2 after every step.
usage: python3 tests/golden/madelon_reference.py FILE [SEEDS] > tests/golden/madelon_reference.txt
FILE: the unpacked LIBSVM text of madelon."""
# SPDX-License-Identifier: MIT
import datetime
import sys

import numpy as np

WORKERS, STEPS, OFFSET, THRESHOLD = 20, 3000, 1e-4, 5e-4


def read(path):
    labels, rows = [], []
    with open(path) as file:
        for line in file:
            label, *entries = line.split()
            row = np.zeros(500)
            for entry in entries:
                index, value = entry.split(":")
                row[int(index) - 1] = float(value)
            labels.append(float(label))
            rows.append(row)
    return np.array(rows), np.array(labels)


def optimum(a, y, l2):
    """Newton's method until the gradient no longer falls."""
    x, best = np.zeros(a.shape[1]), np.inf
    while True:
        tail = 1 / (1 + np.exp(y * (a @ x)))
        gradient = l2 * x - a.T @ (y * tail) / len(y)
        norm = np.linalg.norm(gradient)
        if not norm < best:
            return x
        best = norm
        hessian = (a.T * (tail * (1 - tail) / len(y))) @ a + l2 * np.eye(len(x))
        x = x - np.linalg.solve(hessian, gradient)


def top1(p):
    """The largest |p| of each worker, the first of equals."""
    worker = np.arange(len(p))
    sent = np.zeros_like(p)
    largest = np.argmax(np.abs(p), axis=1)
    sent[worker, largest] = p[worker, largest]
    return sent, 1.0


def hard_threshold(p):
    keep = np.abs(p) >= THRESHOLD
    return np.where(keep, p, 0), keep.sum() / len(p)


def run(compress, seed, a, y, l2, gamma, x):
    rng = np.random.default_rng(seed)
    shard = rng.permutation(len(y)).reshape(WORKERS, -1)
    e = np.zeros((WORKERS, a.shape[1]))
    norms, entries = [], 0.0
    for _ in range(STEPS):
        rows = shard[np.arange(WORKERS), rng.integers(0, shard.shape[1], WORKERS)]
        z = y[rows] * (a[rows] @ x)
        p = e + gamma * (l2 * x - (y[rows] / (1 + np.exp(z)))[:, None] * a[rows])
        sent, count = compress(p)
        e = p - sent
        x = x - sent.mean(axis=0)
        entries += count
        norms.append((e * e).sum() / WORKERS)
    return max(norms), 1 + int(np.argmax(norms)), sum(norms), 32 * entries


def main():
    a, y = read(sys.argv[1])
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    lipschitz = np.linalg.svd(a, compute_uv=False)[0] ** 2 / (4 * len(y))
    l2 = lipschitz / 10000
    gamma = 1 / (lipschitz + l2)
    start = optimum(a, y, l2) + OFFSET
    print(f"# Written by madelon_reference.py: {seeds} seeds, NumPy {np.__version__}, Python {sys.version.split()[0]}, "
          f"{datetime.date.today()}.")
    print("# method quantity mean min max")
    for name, compress in ("Top-1", top1), ("Hard-threshold", hard_threshold):
        results = np.array([run(compress, seed, a, y, l2, gamma, start) for seed in range(seeds)])
        for quantity, column in zip(("peak", "peak_step", "total_error", "bits_values"), results.T):
            print(f"{name} {quantity} {column.mean():.6g} {column.min():.6g} {column.max():.6g}")


main()
