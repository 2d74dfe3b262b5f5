"""Global Top-k over a binomial tree (Shi et al., ICDCS 2019), by dense vectors with a mask of what is in a list."""
# SPDX-License-Identifier: MIT

import numpy as np

import topk

SETTINGS = [
    "gtopk k=1 workers=4 steps=3",
    "gtopk k=40 workers=8 steps=1",
    "gtopk k=40 workers=5 steps=2",
    "gtopk k=40 workers=5 steps=3 conserve=1",
    "gtopk density=0.1 workers=7 conserve=1",
    "gtopk density=1 workers=3 conserve=1",
    "gtopk k=3 workers=1",
    "gtopk k=40 workers=6 feedback=none",
]


def largest(case, values, mask):
    """Which of the masked elements are the k largest of each layer, of equal ones those with the lower index."""
    taken = np.zeros_like(mask)
    for a, b in zip(case.offset, case.offset[1:]):
        where = a + np.flatnonzero(mask[a:b])
        if len(where):
            order = np.argsort(-np.abs(values[where]), kind="stable")
            taken[where[order[: topk.share(case, b - a)]]] = True
    return taken


def step(case, ps, t):
    workers = len(ps)
    masks = [largest(case, p, np.ones(len(p), bool)) for p in ps]
    own = list(masks)
    values = [np.where(m, p, np.float32(0)) for m, p in zip(masks, ps)]
    dropped = [[] for p in ps]  # what a worker leaves out of each sum of two lists
    span = 1
    while span < workers:
        for r in range(0, workers - span, 2 * span):
            both = values[r] + values[r + span]
            union = masks[r] | masks[r + span]
            masks[r] = largest(case, both, union)
            values[r] = np.where(masks[r], both, np.float32(0))
            dropped[r].append(np.where(union & ~masks[r], both, np.float32(0)))
        span *= 2
    bits = [64 * int(m.sum()) for m in own]
    rests = []
    for r, (p, mine) in enumerate(zip(ps, own)):
        if case.number("conserve", 0):
            rest = np.where(mine, np.float32(0), p)
            for loss in dropped[r]:
                rest = rest + loss
        else:
            rest = np.where(mine & masks[0], np.float32(0), p)
        rests.append(rest)
    return bits, values[0], rests
