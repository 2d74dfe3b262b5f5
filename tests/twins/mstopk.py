"""MSTopk (Shi et al., MLSys 2021): what reaches a threshold found by bisection, and a random run of what is just below."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import COMPRESS, Stream
from topk import share

SETTINGS = ["mstopk density=0.1", "mstopk k=20 rounds=3", "mstopk density=0.3 rounds=1 workers=1", "mstopk density=0.02 rounds=100"]


def chosen_of(case, p, rng):
    n = len(p)
    if n == 0:
        return []
    k = share(case, n)
    a = np.abs(p).astype(np.float64)
    mean, most, low, high = a.mean(), a.max(), 0.0, 1.0
    sure, many = np.zeros(n, bool), np.ones(n, bool)
    for _ in range(int(case.number("rounds", 30))):
        rho = low + (high - low) / 2
        reach = a >= mean + rho * (most - mean)
        if reach.sum() <= k:
            high = rho
            sure = reach if reach.sum() > sure.sum() else sure
        else:
            low = rho
            many = reach if reach.sum() < many.sum() else many
    between, missing = np.flatnonzero(many & ~sure), k - sure.sum()
    first = rng.below(int(len(between) - missing + 1)) if 0 < missing < len(between) else 0
    return np.sort(np.concatenate([np.flatnonzero(sure), between[first : first + missing]]))


def message(case, layers, worker, step):
    rng, sent, count = Stream(case.seed, COMPRESS, worker, step), [], 0
    for p in layers:
        chosen = chosen_of(case, p, rng)
        sent.append(np.zeros_like(p))
        sent[-1][chosen] = p[chosen]
        count += len(chosen)
    return np.concatenate(sent), 64 * count
