"""Spectral ATOMO (Wang et al., NeurIPS 2018): singular triplets drawn in proportion to their values."""

import numpy as np

from common import COMPRESS, Stream
from svd_threshold import encoded, triplets
from wangni import magnitude

TOLERANCE = 1e-6
SETTINGS = ["atomo rank=2 feedback=none", "atomo rank=5 steps=1 workers=1", "atomo rank=1 steps=1"]


def message(case, layers, worker, step):
    rng, parts, bits = Stream(case.seed, COMPRESS, worker, step), [], 0
    for p, rows in zip(layers, case.rows):
        if rows == 1 or rows == len(p) or len(p) == 0:
            parts.append(p)
            bits += 32 * len(p)
            continue
        s = np.minimum(triplets(p, rows)[1], np.finfo(np.float32).max).astype(np.float32).astype(np.float64)
        s[s < 2.0**-40 * s.max()] = 0
        level = np.float64(magnitude(s, min(len(s), int(case.number("rank")))))
        chance = np.minimum(1, s / level)
        chosen = np.flatnonzero(np.array([(rng.u32() >> 8) * 2.0**-24 for _ in s]) < chance)
        sent, cost = encoded(p, rows, chosen, 1 / chance[chosen], random=True)
        parts.append(sent)
        bits += cost
    return np.concatenate(parts), bits
