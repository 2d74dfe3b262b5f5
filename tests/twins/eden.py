"""DRIVE (Vargaftik et al., NeurIPS 2021) and EDEN (ICML 2022): a random rotation, and the nearest of 2^b levels.

Sums are in double: those over a block from left to right, the transform's from neighbours to halves."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import CODE, EXAMPLE, draws

SETTINGS = [
    "eden",
    "eden bits=2 block=100",
    "eden bits=3 block=4096 feedback=none",
    "eden bits=1 block=64 least-error=1",
    "eden bits=3 block=1",
]
LEVELS = {1: [1], 2: [0.45278, 1.51042], 3: [0.24509, 0.75601, 1.34391, 2.15195]}


def hadamard(y):
    n, half = len(y), 1
    while half < n:
        y = y.reshape(-1, 2, half)
        y = np.stack([y[:, 0] + y[:, 1], y[:, 0] - y[:, 1]], axis=1).ravel()
        half *= 2
    return y * (1 / np.sqrt(n))


def total(x):
    return np.add.accumulate(x)[-1]


def scale_and_levels(y, bits, least_error):
    """S and c for a rotated block."""
    c = np.array(LEVELS[bits])
    square = total(y * y)
    if square == 0:
        return np.float32(0), np.zeros(len(y))
    z = np.abs(y) * (np.sqrt(len(y)) / np.sqrt(square))
    c = c[np.searchsorted((c[:-1] + c[1:]) / 2, z)]
    product = total(c * np.abs(y))
    s = product / total(c * c) if least_error else square / product
    return np.float32(min(s, float(np.finfo(np.float32).max))), np.where(y < 0, -c, c)


def compress(case, p, layer, worker, step):
    bits, block = int(case.number("bits", 1)), 1 << (int(case.number("block", 1024)) - 1).bit_length()
    low, high = (int(x) for x in draws(case.seed, CODE, worker, step, 0, 2))
    signs = np.where(draws(high << 32 | low, CODE, 0, 0, case.offset[layer], len(p)) >> 31, -1.0, 1.0)
    sent, cost = np.zeros(len(p)), 0
    for at in range(0, len(p), block):
        some = signs[at : at + block] * p[at : at + block]
        padded = 1 << (len(some) - 1).bit_length()
        y = hadamard(np.concatenate([some, np.zeros(padded - len(some))]))
        s, c = scale_and_levels(y, bits, case.number("least-error", 0))
        back = hadamard(float(s) * c)[: len(some)]
        sent[at : at + block] = signs[at : at + block] * back
        cost += bits * padded + 32
    most = float(np.finfo(np.float32).max)
    return np.clip(sent, -most, most), cost


def check():
    for least_error, scale, lost in ((0, 2.424116, 25.370085), (1, 1.115904, 11.678711)):
        s, c = scale_and_levels(hadamard(EXAMPLE), 1, least_error)
        assert abs(s - scale) < 2e-6 and abs(np.sum((EXAMPLE - hadamard(s * c)) ** 2) - lost) < 1e-5
