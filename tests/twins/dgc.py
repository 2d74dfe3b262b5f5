"""Deep gradient compression's selection (Lin, Han, Mao, Wang, Dally, ICLR 2018), as the authors' code does it."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

from common import COMPRESS, Stream

SETTINGS = ["dgc density=0.05", "dgc k=20", "dgc density=0.1 sample=0.4", "dgc density=0.3 steps=1 workers=1"]
SETTINGS += ["dgc-grace density=0.03", "dgc-grace density=0.002 sample=0.2", "dgc-tf density=0.05"]
SETTINGS += ["dgc-tf k=30 sample=0.3 steps=1"]


def sample_of(n, ratio, share):
    """The stride of the sample, and how many numbers it has at least; stride 1 is the whole layer."""
    most, least = math.ceil(n * share), math.ceil(2 / ratio)
    if n <= least:
        return 1
    stride = math.ceil(n / max(most, least) / 32) * 32 + 1
    while n // stride < max(most, least):
        stride -= 8
    return stride


def grace(p, ratio, share, rng, tf):
    """GRACE's compressor/dgc.py: torch, or tensorflow."""
    n, a = len(p), np.abs(p)
    sample = a[[rng.below(n) for _ in range(max(1, int(n * share)))]]
    threshold = np.sort(sample)[::-1][min(len(sample), max(1, int(n * ratio * share))) - 1]
    target = max(1, int(n * ratio)) if tf else n * ratio
    high, low, up, down, turns = (1.25, 0.8, 1.25, 0.9, 20) if tf else (1.3, 0.7, 1.3, 0.7, 10)
    mask = lambda: a > threshold if tf else a >= threshold
    for _ in range(turns):
        if low * target <= mask().sum() <= high * target:
            break
        threshold = threshold * np.float32(up if mask().sum() > high * target else down)
    if tf and mask().sum() < 1:
        threshold = threshold * np.float32(0.8)
    return np.flatnonzero(mask())


def chosen_of(case, p, rng):
    n = len(p)
    if n == 0:
        return []
    ratio = case.number("density") or min(1, case.number("k") / n)
    if case.compressor != "dgc":
        ratio = case.number("density") or case.number("k") / n
        return grace(p, ratio, case.number("sample", 0.01), rng, case.compressor == "dgc-tf")
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
