"""Deep gradient compression's selection (Lin, Han, Mao, Wang, Dally, ICLR 2018), as the authors' code does it."""

import math

import numpy as np

from common import COMPRESS, Stream

SETTINGS = ["dgc density=0.05", "dgc k=20", "dgc density=0.1 sample=0.4", "dgc density=0.3 steps=1 workers=1"]


def sample_of(n, ratio, share):
    """The stride of the sample, and how many numbers it has at least; stride 1 is the whole layer."""
    most, least = math.ceil(n * share), math.ceil(2 / ratio)
    if n <= least:
        return 1
    stride = math.ceil(n / max(most, least) / 32) * 32 + 1
    while n // stride < max(most, least):
        stride -= 8
    return stride


def chosen_of(case, p, rng):
    n = len(p)
    if n == 0:
        return []
    ratio = case.number("density") or min(1, case.number("k") / n)
    k = min(n, math.ceil(n * ratio)) if "density" in case.param else min(n, int(case.number("k")))
    a = np.abs(p)
    stride = sample_of(n, ratio, case.number("sample", 0.01))
    sample = a[rng.below(stride) :: stride]
    threshold = np.sort(sample)[::-1][math.ceil(n // stride * ratio) - 1]
    for _ in range(10):
        if stride == 1 or (a >= threshold).sum() >= 0.8 * k:
            break
        threshold *= np.float32(0.8)
    if (a >= threshold).sum() > 1.3 * k:
        return np.argsort(-a, kind="stable")[:k]
    return np.flatnonzero(a >= threshold)[:k]


def message(case, layers, worker, step):
    rng, sent, count = Stream(case.seed, COMPRESS, worker, step), [], 0
    for p in layers:
        chosen = chosen_of(case, p, rng)
        sent.append(np.zeros_like(p))
        sent[-1][chosen] = p[chosen]
        count += len(chosen)
    return np.concatenate(sent), 64 * count
