"""Some elements as their signs: Strom (Interspeech 2015), sign-Top-k (Basu et al., NeurIPS 2019), and the means of the
largest positive and negative elements (Dryden et al., MLHPC 2016)."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import COMPRESS, Stream
from signs import read_back
from topk import share

SETTINGS = ["strom tau=0.5 steps=4", "strom tau=1e-44", "strom tau=2 feedback=none"]
SETTINGS += ["signtopk k=1", "signtopk k=40 steps=3", "signtopk density=0.1", "signtopk density=1 feedback=none"]
SETTINGS += ["dryden density=0.01", "dryden density=0.3 steps=3", "dryden density=1"]
SETTINGS += ["dryden-grace density=0.05", "dryden-grace density=0.4 steps=1 workers=3"]


def position_bits(n):
    """To name one of n positions."""
    return int(np.ceil(np.log2(n))) if n else 0


def largest(x, among, k):
    """Which k of the elements that are `among` x are the largest in magnitude, of equal ones the first."""
    at = np.flatnonzero(among)
    chosen = np.zeros(len(x), bool)
    chosen[at[np.argsort(-np.abs(x[at]), kind="stable")[:k]]] = True
    return chosen


def top_signs(case, p):
    chosen = largest(p, p == p, share(case, len(p))) if len(p) else np.zeros(0, bool)
    return written("signs", p, chosen)


def written(code, p, chosen, magnitude=None):
    """The chosen elements in a code, and the bits."""
    sent = np.zeros_like(p)
    sent[chosen], bits = read_back(code, p[chosen], magnitude)
    return sent, bits + position_bits(len(p)) * int(chosen.sum())


def grace(p, side, share, rng):
    """One side by tensorflow/compressor/adaq.py."""
    some, share, f = np.abs(p[side]), np.float32(share), np.float32
    aim, size = np.ceil(f(len(some)) * share), f(len(some)) * f(0.01)
    sample = some[[rng.below(len(some)) for _ in range(int(np.ceil(size)))]]
    threshold = np.sort(sample)[::-1][int(np.ceil(size * share)) - 1] if len(some) else f(np.inf)
    count = (some > threshold).sum()
    for _ in range(20):
        if f(0.8) * aim <= count <= f(1.25) * aim:
            break
        threshold = threshold * f(1.25 if count > f(1.25) * aim else 0.9)
        count = (some >= threshold).sum()
    return side & (np.abs(p) > (threshold if count else f(0.8) * threshold))


def compress(case, p, layer, worker, step):
    if case.compressor == "strom":
        tau = np.float32(case.number("tau"))
        return written("signs-fixed", p, np.abs(p) >= tau, tau)
    if case.compressor == "signtopk":
        return top_signs(case, p)
    chosen = np.zeros(len(p), bool)
    if case.compressor == "dryden-grace":
        if layer == 0:
            case.memory["rng"] = Stream(case.seed, COMPRESS, worker, step)
        for side in (p > 0, p < 0):
            chosen |= grace(p, side, case.number("density"), case.memory["rng"])
        return written("two-means", p, chosen)
    for side in (p > 0, p < 0):
        chosen |= largest(p, side, max(1, int(np.floor(case.number("density") * side.sum()))))
    return written("two-means", p, chosen)
