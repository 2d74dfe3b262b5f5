"""TernGrad (Wen et al., NeurIPS 2017): the sign times the layer's largest magnitude s with the probability |p| / s, or 0.
With clipping at so many standard deviations first."""

import numpy as np

from common import CODE, Stream

SETTINGS = ["terngrad feedback=none", "terngrad clip=2.5", "terngrad clip=0.5 workers=1 steps=1"]


def total(x):
    lanes = np.concatenate([x, np.zeros(-len(x) % 16)]).reshape(-1, 16)
    return float(np.add.accumulate(np.add.accumulate(lanes, axis=0)[-1])[-1])


def clipped(p, clip):
    y = p.astype(np.float64)
    y -= total(y) / len(y)
    most = np.float32(min(clip * np.sqrt(total(y * y) / len(y)), 3.4028234663852886e38))
    return np.clip(p, -most, most)


def message(case, layers, worker, step):
    draws = Stream(case.seed, CODE, worker, step)
    sent, bits = [], 0
    for p in layers:
        if len(p) == 0:
            continue
        p = clipped(p, case.number("clip")) if "clip" in case.param else p
        s = np.max(np.abs(p))
        u = np.array([draws.u32() >> 8 for _ in p], np.float64) * 2.0**-24
        share = np.abs(p) / s if s > 0 else np.zeros_like(p)
        sent.append(np.where(u < share, np.copysign(s, p), np.float32(0)))
        bits += 2 * len(p) + 32
    return np.concatenate(sent), bits
