"""Gaussian-k (Shi, Chu, Cheung, See, 2019): the quantile of a normal distribution, corrected at most three times."""
# SPDX-License-Identifier: MIT

from statistics import NormalDist

import numpy as np

from topk import share

SETTINGS = ["gaussian-k density=0.1", "gaussian-k k=3", "gaussian-k density=0.02 magnitudes=1", "gaussian-k density=1 steps=1",
            "gaussian-k-signed density=0.05"]


def compress(case, p, layer, worker, step):
    n = len(p)
    if n == 0:
        return p, 0
    k = share(case, n)
    a = np.abs(p).astype(np.float64)
    x = a if case.number("magnitudes", 0) else p.astype(np.float64)
    deviation = x.std(ddof=1) if n > 1 else 0.0
    mean = x.mean() if case.compressor == "gaussian-k-signed" else abs(x.mean())
    threshold = mean - NormalDist().inv_cdf(k / n / 2) * deviation
    for _ in range(3):
        chosen = a > threshold
        count = int(chosen.sum())
        if count < 2 * k / 3:
            threshold *= 0.5
        elif count > 4 * k / 3:
            threshold *= 1.5
        else:
            break
    return np.where(chosen, p, np.float32(0)), 64 * count
