"""Top-k by a threshold that is found at every refresh-th step only (Gupta et al., KDD 2021)."""
# SPDX-License-Identifier: MIT

import numpy as np

from topk import share

SETTINGS = ["topk-reuse k=30 refresh=3 steps=7", "topk-reuse density=0.1 refresh=2 steps=4", "topk-reuse k=1 refresh=1"]


def compress(case, p, layer, worker, step):
    a, sent = np.abs(p), np.zeros_like(p)
    if len(p) and ((layer, worker) not in case.memory or step % int(case.number("refresh")) == 0):
        chosen = np.argsort(-a, kind="stable")[: share(case, len(p))]
        case.memory[layer, worker] = a[chosen[-1]]
    elif len(p):
        chosen = np.flatnonzero((a >= case.memory[layer, worker]) & (a > 0))
    else:
        chosen = []
    sent[chosen] = p[chosen]
    return sent, 64 * len(chosen)
