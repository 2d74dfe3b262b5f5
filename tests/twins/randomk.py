"""Random-k (Stich, Cordonnier, Jaggi, NeurIPS 2018): a random subset of each layer, of a worker's own or of all workers;
unbiased, what is sent is scaled by n / k."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import COMPRESS, Stream
from topk import share

ALL_WORKERS = 2**24 - 1
SETTINGS = [
    "randomk k=30",
    "randomk density=0.1 shared=1",
    "randomk k=5 unbiased=1 feedback=none",
    "randomk density=0.2 unbiased=1 shared=1 feedback=none steps=1 workers=3",
    "randomk-grace density=0.3",
    "randomk-gravac k=30 shared=1",
]


def message(case, layers, worker, step):
    shared = case.number("shared", 0)
    rng = Stream(case.seed, COMPRESS, ALL_WORKERS if shared else worker, step)
    sent, count = [np.zeros_like(p) for p in layers], 0
    for p, out in zip(layers, sent):
        if len(p) == 0:
            continue
        k, n = share(case, len(p)), len(p)
        if case.compressor == "randomk":
            chosen = rng.subset(k, n)
        else:  # torch.randint(n, [k]), or torch.randint(0, n - 1, [k])
            chosen = sorted({rng.below(max(1, n - 1) if case.compressor == "randomk-gravac" else n) for _ in range(k)})
        factor = len(p) / len(chosen) if case.number("unbiased", 0) else 1
        out[chosen] = p[chosen] * np.float32(factor)
        count += len(chosen)
    return np.concatenate(sent), (32 if shared else 64) * count
