"""Top-k (Stich, Cordonnier, Jaggi, NeurIPS 2018): the k largest magnitudes, of equal ones those with the lower index."""
# SPDX-License-Identifier: MIT

import numpy as np

SETTINGS = ["topk k=1", "topk k=40", "topk density=0.1", "topk density=1", "topk k=40 feedback=none steps=1"]


def share(case, n):
    """How many of n elements are sent."""
    if "k" in case.param:
        return min(n, int(case.param["k"]))
    return min(n, max(1, int(np.floor(float(case.param["density"]) * n))))


def compress(case, p, layer, worker, step):
    k = share(case, len(p))
    largest = np.argsort(-np.abs(p), kind="stable")[:k]
    sent = np.zeros_like(p)
    sent[largest] = p[largest]
    return sent, 64 * k
