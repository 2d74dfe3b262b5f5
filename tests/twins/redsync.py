"""RedSync (Fang et al., JPDC 2019): a threshold between the mean and the largest magnitude, by bisection or in steps."""
# SPDX-License-Identifier: MIT

import numpy as np

from topk import share

SETTINGS = [
    "redsync density=0.1",
    "redsync k=3 epsilon=0.01",
    "redsync density=0.02 trim=1",
    "redsync density=0.01 trim=1 epsilon=0.07",
]


def compress(case, p, layer, worker, step):
    n = len(p)
    if n == 0:
        return p, 0
    k, epsilon = share(case, n), case.number("epsilon", 0.2)
    a = np.abs(p).astype(np.float64)
    mean, most = a.mean(), a.max()

    def above(rho):
        return a > mean + rho * (most - mean)

    if case.number("trim", 0):
        for step in range(1, int(1 / epsilon) + 2):
            if 1 - step * epsilon < 0:
                break
            chosen = above(1 - step * epsilon)
            if chosen.sum() >= k:
                break
    else:
        low, high = 0.0, 1.0
        while high - low > epsilon:
            rho = low + (high - low) / 2
            chosen = above(rho)
            if k < chosen.sum() < 2 * k:
                break
            if chosen.sum() < k / 2:
                high = rho
            else:
                low = rho
    return np.where(chosen, p, np.float32(0)), 64 * int(chosen.sum())
