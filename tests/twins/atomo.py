"""Spectral ATOMO (Wang et al., NeurIPS 2018): singular triplets drawn in proportion to their values."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import COMPRESS, Stream
from svd_threshold import encoded, triplets
from wangni import magnitude

TOLERANCE = 1e-6
SETTINGS = ["atomo rank=2 feedback=none", "atomo rank=5 steps=1 workers=1", "atomo rank=1 steps=1"]
SETTINGS += ["atomo-authors rank=1", "atomo-epfml rank=2 workers=1"]


def released(s, rank, rng, exact):
    """src/codings/svd.py of ATOMO, and AtomoReducer of PowerSGD's paper-code: which triplets, and their probabilities."""
    chance = np.minimum(1, rank * s / s.sum()) if s.sum() > 0 else 0 * s
    for _ in range(1001):
        chosen = np.flatnonzero(np.array([(rng.u32() >> 8) * 2.0**-24 for _ in s]) < chance)
        if (len(chosen) == rank if exact else len(chosen) > 0) or s.sum() == 0:
            break
    return chosen, chance


def message(case, layers, worker, step):
    rng, parts, bits = Stream(case.seed, COMPRESS, worker, step), [], 0
    for p, rows in zip(layers, case.rows):
        if rows == 1 or rows == len(p) or len(p) == 0:
            parts.append(p)
            bits += 32 * len(p)
            continue
        s = np.minimum(triplets(p, rows)[1], np.finfo(np.float32).max).astype(np.float32).astype(np.float64)
        s[s < 2.0**-40 * s.max()] = 0
        rank = min(len(s), int(case.number("rank")))
        if case.compressor == "atomo":
            chance = np.minimum(1, s / np.float64(magnitude(s, rank)))
            chosen = np.flatnonzero(np.array([(rng.u32() >> 8) * 2.0**-24 for _ in s]) < chance)
        else:
            chosen, chance = released(s, rank, rng, case.compressor == "atomo-epfml")
        sent, cost = encoded(p, rows, chosen, 1 / chance[chosen], random=True)
        parts.append(sent)
        bits += cost
    return np.concatenate(parts), bits
