"""An induced compressor (Horvath, Richtarik, ICLR 2021): Top-k, and an unbiased random-k of what it leaves."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import COMPRESS, Stream
from topk import share

SETTINGS = ["induced k=20", "induced density=0.05 rest=3.3 feedback=none", "induced k=40 rest=0.1 steps=1"]
LARGEST = np.finfo(np.float32).max


def message(case, layers, worker, step):
    rng, sent, count = Stream(case.seed, COMPRESS, worker, step), [], 0
    for p in layers:
        n = len(p)
        sent.append(np.zeros_like(p))
        if n == 0:
            continue
        k = share(case, n)
        order = np.argsort(-np.abs(p), kind="stable")
        rest = np.sort(order[k:])
        drawn = min(n - k, max(1, int(np.floor(case.number("rest", 1) * k))))
        sent[-1][order[:k]] = p[order[:k]]
        if drawn:
            chosen = rest[rng.subset(drawn, n - k)]
            sent[-1][chosen] = np.clip(p[chosen] * np.float32((n - k) / drawn), -LARGEST, LARGEST)
        count += k + drawn
    return np.concatenate(sent), 64 * count
