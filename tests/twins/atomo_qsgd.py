"""QSGD as the code of ATOMO rounds (Wang et al., NeurIPS 2018): up where the draw is above the fraction, not below."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import CODE, draws, sum_squares, unit

SETTINGS = ["qsgd-atomo", "qsgd-atomo levels=3 bucket=100 feedback=none", "qsgd-atomo levels=7 max-norm=1 steps=1"]


def message(case, layers, worker, step):
    levels, bucket = int(case.number("levels", 15)), int(case.number("bucket", 512))
    at, sent, bits = 0, [], 0
    for p in layers:
        word = draws(case.seed, CODE, worker, step, at, len(p)) >> 8
        at += len(p)
        for start in range(0, len(p), bucket):
            x, u = p[start : start + bucket], word[start : start + bucket].astype(np.float32)
            norm = np.abs(x).max() if case.number("max-norm", 0) else np.sqrt(sum_squares(x))
            size = np.float32(unit(float(norm), levels))
            a = np.minimum(np.abs(x) / size, np.float32(levels)) if size > 0 else np.zeros_like(x)
            level = np.floor(a) + (u > (a - np.floor(a)) * np.float32(2**24))
            level[(x == 0) | (level > levels)] = 0
            sent.append(np.copysign(np.float32(level) * size, x))
            bits += 32 + len(x) * (1 + int(np.ceil(np.log2(levels + 1))))
    return np.concatenate(sent), bits


def check():
    """The mean square of the error is about 1.15 of that of a normal vector, not 0.38, with s = 15 and 512 numbers."""
    class Example:
        seed = 1

        def number(self, key, preset):
            return preset

    p = np.random.default_rng(1).normal(size=5120).astype(np.float32)
    sent, _ = message(Example(), [p], 0, 0)
    assert 1.0 < ((sent - p) ** 2).sum() / (p**2).sum() < 1.3
